package marks

// SourceName begins the names of the custom entries of promptree's own sources.
const SourceName = "promptree "
