package anthropic

// Write converts a request whether it is valid or not, so that tests see a server refuse it.
var Write = write
