package summarize

// Untagged is what the engine makes of a summary.
var Untagged = untagged
