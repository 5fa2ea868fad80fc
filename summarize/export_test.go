package summarize

// ShortenRequest is for a summary that is too long.
var ShortenRequest = shortenRequest

// QuirksOf returns what a model of a name needs.
func QuirksOf(a Ask, model string) Quirk { return a.quirks(model) }

// TitleOf is a summary's title.
var TitleOf = titleOf
