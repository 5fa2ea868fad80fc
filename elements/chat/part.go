package chat

import (
	"encoding/base64"
	"encoding/json"
	"time"
)

// Part is one piece of a message's content: [Text], [Image], [Document], [Thinking], [Opaque] or [CacheBreakpoint]. No
// other type implements it, so a switch over these is complete.
type Part interface{ part() }

// Parts is a message's content, in order.
type Parts []Part

// Text is plain text.
type Text string

// Image is a picture, by address or inline.
type Image struct {
	// URL of the image: https, or a data URL that holds it in base64.
	URL string `json:"url"`
	// Original is the URL of the image that was made smaller to what is sent, "" if it was not.
	Original string `json:"original,omitempty"`
	// Detail is the resolution that the provider is asked for. Defaults to the provider's own choice.
	Detail ImageDetail `json:"detail,omitempty"`
	// MediaType such as "image/png", if the URL does not say it.
	MediaType string `json:"mediaType,omitempty"`
}

// NewImage returns a picture with these bytes, of a media type such as "image/png".
func NewImage(mediaType string, data []byte) Image {
	return Image{URL: "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data)}
}

// ImageDetail is the resolution at which a provider looks at an image.
type ImageDetail string

// The details that providers know. The zero value leaves the choice to the provider.
const (
	DetailLow  ImageDetail = "low"
	DetailHigh ImageDetail = "high"
	DetailAuto ImageDetail = "auto"
)

// Document is a file such as a PDF, inline.
type Document struct {
	// Data of the file, in base64.
	Data string `json:"data"`
	// MediaType such as "application/pdf".
	MediaType string `json:"mediaType"`
}

// NewDocument returns a document with these bytes.
func NewDocument(mediaType string, data []byte) Document {
	return Document{Data: base64.StdEncoding.EncodeToString(data), MediaType: mediaType}
}

// Thinking is a model's thinking before an answer, with the data that its provider needs to take it back. It is kept
// byte for byte: a provider refuses a thinking block in which a single letter was changed.
type Thinking struct {
	// Text of the thought, empty if the provider hid it.
	Text string `json:"text,omitempty"`
	// Signature by which the provider recognises the text as its model's.
	Signature string `json:"signature,omitempty"`
	// Encrypted is the thought in a form that only the provider can read.
	Encrypted string `json:"encrypted,omitempty"`
}

// Opaque is a part that only its provider understands. It is passed on byte for byte.
type Opaque struct {
	// Value as the provider wrote it.
	Value json.RawMessage `json:"value"`
	// Tokens that the value takes, if known. No tokenizer can count it.
	Tokens int `json:"tokens,omitempty"`
}

// CacheBreakpoint marks the end of a prefix that is worth caching because it is sent unchanged again.
type CacheBreakpoint struct {
	// Type as the provider names it, such as "ephemeral".
	Type string `json:"cacheType,omitempty"`
	// Lifetime requested of the cache. Defaults to the provider's own.
	Lifetime time.Duration `json:"lifetime,omitempty"`
}

func (Text) part()            {}
func (Image) part()           {}
func (Document) part()        {}
func (Thinking) part()        {}
func (Opaque) part()          {}
func (CacheBreakpoint) part() {}
