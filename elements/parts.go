package elements

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
)

// Image is a picture in a message. It is counted by the provider's formula, at the upper bound unless its size is
// known, and is kept or dropped whole. When it is dropped, its message is counted again.
type Image struct {
	Props
	// Source is a URL, or the picture itself in base64. Base64 of a JPEG, PNG, GIF or WebP file is recognised by its
	// first bytes and sent as a data URL.
	Source string
	// Detail asks for a resolution. Defaults to the provider's choice.
	Detail chat.ImageDetail
	// MediaType such as "image/png", if the source does not state it.
	MediaType string
	// Children are metadata and references that go with the image. None by default; anything else in them is an error.
	Children Nodes
}

// Part returns the finished part.
func (i Image) Part() chat.Part {
	return chat.Image{URL: imageURL(i.Source), Detail: i.Detail, MediaType: i.MediaType}
}

// imageURL turns base64 of a known kind of picture into a data URL.
func imageURL(source string) string {
	for _, known := range [...]struct{ prefix, mediaType string }{
		{"/9j/", "image/jpeg"},
		{"iVBOR", "image/png"},
		{"R0lGOD", "image/gif"},
		{"UklGR", "image/webp"},
	} {
		if strings.HasPrefix(source, known.prefix) {
			return "data:" + known.mediaType + ";base64," + source
		}
	}
	return source
}

// Document is a file in a message, such as a PDF, for models that read such files. Its count is an estimate. A text
// file is cheaper as a [TextChunk], which can also be pruned in parts.
type Document struct {
	Props
	// Data of the file, in base64.
	Data string
	// MediaType such as "application/pdf".
	MediaType string
	// Children are metadata and references that go with the document. None by default; anything else in them is an
	// error.
	Children Nodes
}

// Part returns the finished part.
func (d Document) Part() chat.Part { return chat.Document{Data: d.Data, MediaType: d.MediaType} }

// Thinking is a model's thinking, sent back to it unchanged. It belongs in an [AssistantMessage], and is kept or
// dropped whole, because providers refuse incomplete thinking. The elements of package history include it
// automatically.
type Thinking struct {
	Props
	Thought chat.Thinking
}

// Part returns the finished part.
func (t Thinking) Part() chat.Part { return t.Thought }

// Opaque is a part that only its provider understands. It is left out for other providers. Its Tokens count whenever
// pieces are counted one by one. If its Priority is nil, it takes that of the element around it, or the highest in a
// [TextChunk].
type Opaque struct {
	Priority *int
	// Value as the provider wrote it.
	Value json.RawMessage
	// Tokens that the value takes, if known. A negative number counts as 0, and more than 2^31−1 counts as that.
	Tokens int
}

// Part returns the finished part.
func (o Opaque) Part() chat.Part { return chat.Opaque{Value: o.Value, Tokens: o.Tokens} }

// CacheBreakpoint marks the end of a prefix that is worth caching. It must be a direct child of a message: put it after
// content that stays the same. Pruning takes nothing before it as long as it can take enough from what stands behind it
// without the last message; if it cannot, it goes on as if there were no breakpoints, and the report says so
// (render.Report.CacheLost). It costs no tokens, but providers charge more for tokens that they write to their cache
// (sizing.Prices).
type CacheBreakpoint struct {
	// Type as the provider names it, such as "ephemeral".
	Type string
	// Lifetime requested of the cache. Defaults to the provider's own.
	Lifetime time.Duration
}

// Part returns the finished part.
func (b CacheBreakpoint) Part() chat.Part { return chat.CacheBreakpoint(b) }

// Render returns nothing: the part is the whole element.
func (i Image) Render(context.Context, Sizing) (Node, error) { return nil, nil }

// Render returns nothing: the part is the whole element.
func (d Document) Render(context.Context, Sizing) (Node, error) { return nil, nil }

// Render returns nothing: the part is the whole element.
func (t Thinking) Render(context.Context, Sizing) (Node, error) { return nil, nil }

// Render returns nothing: the part is the whole element.
func (o Opaque) Render(context.Context, Sizing) (Node, error) { return nil, nil }

// Render returns nothing: the part is the whole element.
func (b CacheBreakpoint) Render(context.Context, Sizing) (Node, error) { return nil, nil }

// Transferred is a tree of content rendered elsewhere, by render.Transfer or by prompt-tsx, in another process or
// another language. A tool returns one if its answer should be pruned piece by piece. It belongs in a message, takes no
// part in layout, and is pruned like any other content.
//
// Malformed data is an error that says where it is malformed.
type Transferred struct {
	// Data in the transfer form, {"node": …}.
	Data json.RawMessage
}

// Render returns the tree itself to the renderer.
func (t Transferred) Render(context.Context, Sizing) (Node, error) { return t, nil }
