package summarize

// BreadcrumbTool and Breadcrumb are what stands beside a summary.
var (
	BreadcrumbTool = breadcrumbTool
	Breadcrumb     = Transcript.breadcrumb
)

// ShortenRequest and CutToSection are for a summary that is too long.
var (
	ShortenRequest = shortenRequest
	CutToSection   = cutToSection
)

// QuirksOf returns what a model of a name needs.
func QuirksOf(a Ask, model string) Quirk { return a.quirks(model) }

// TitleOf is a summary's title.
var TitleOf = titleOf
