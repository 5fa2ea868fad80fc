package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/marks"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// The limits of a result, beside Server.MaxResult.
const (
	mostPictures = 20
	mostPicture  = 5 << 20 // bytes of a picture or document
	mostKept     = 4 << 20 // bytes of a part that is kept in the session
)

// content collects what of a server's answer the model sees.
type content struct {
	s        *Server
	call     chat.ToolCall
	parts    chat.Parts
	left     int // bytes of text
	pictures int
	err      error // of the session
}

func (s *Server) content(call chat.ToolCall) *content {
	return &content{s: s, call: call, left: cmp.Or(max(0, s.MaxResult), 1<<20)}
}

// text adds a text on lines of its own.
func (c *content) text(text string) {
	if len(text) > c.left {
		head := text[:plaintext.Align(text, c.left)]
		text = head + plaintext.CutHere(len(text)-len(head), "bytes", "")
	}
	c.left = max(0, c.left-len(text))
	if n := len(c.parts) - 1; n >= 0 {
		if last, ok := c.parts[n].(chat.Text); ok {
			c.parts[n] = last + "\n" + chat.Text(text)
			return
		}
	}
	c.parts = append(c.parts, chat.Text(text))
}

// note adds a mark for something that is left out, with how it is read.
func (c *content) note(what, handle string) { c.text(plaintext.LeftOut(what, handle)) }

// result returns the answer of a tool as the result of a call.
func (s *Server) result(ctx context.Context, call chat.ToolCall, r *sdk.CallToolResult) (chat.Message, error) {
	c := s.content(call)
	var texts []string
	for _, part := range r.Content {
		if forUser(part) {
			c.keep(ctx, "a part for the user", part)
			continue
		}
		switch p := part.(type) {
		case *sdk.TextContent:
			texts = append(texts, p.Text)
			c.text(s.hide(p.Text))
		case *sdk.ImageContent:
			c.blob(ctx, p.MIMEType, p.Data, part)
		case *sdk.AudioContent:
			c.blob(ctx, p.MIMEType, p.Data, part)
		case *sdk.ResourceLink:
			c.link(p)
		case *sdk.EmbeddedResource:
			c.resource(ctx, p.Resource, part)
		default:
			c.keep(ctx, fmt.Sprintf("content of a form that is not known (%T)", part), part)
		}
	}
	if r.StructuredContent != nil && !slices.ContainsFunc(texts, func(text string) bool { return says(text, r.StructuredContent) }) {
		data, _ := plainjson.Marshal(r.StructuredContent) // it was decoded
		c.text(s.hide(string(data)))
		if inexact(r.StructuredContent) {
			c.note("the last digits of numbers above 2^53", "")
		}
	}
	if len(c.parts) == 0 {
		c.text("The tool returned nothing.")
	}
	return chat.Message{Role: chat.RoleTool, ToolCallID: call.ID, Content: c.parts, IsError: r.IsError}, c.err
}

// says reports whether a text is a JSON value, or the only field of an object that is.
func says(text string, value any) bool {
	var read any
	if json.Unmarshal([]byte(text), &read) == nil && reflect.DeepEqual(read, value) {
		return true
	}
	object, _ := value.(map[string]any)
	for _, only := range object {
		return len(object) == 1 && (only == any(text) || read != nil && reflect.DeepEqual(read, only))
	}
	return false
}

// inexact reports whether a JSON value holds numbers that the SDK may have rounded.
func inexact(value any) bool {
	switch v := value.(type) {
	case float64:
		return math.Abs(v) >= 1<<53
	case []any:
		return slices.ContainsFunc(v, inexact)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), inexact)
	}
	return false
}

// forUser reports whether content is for the user alone.
func forUser(part sdk.Content) bool {
	var a *sdk.Annotations
	switch p := part.(type) {
	case *sdk.TextContent:
		a = p.Annotations
	case *sdk.ImageContent:
		a = p.Annotations
	case *sdk.AudioContent:
		a = p.Annotations
	case *sdk.ResourceLink:
		a = p.Annotations
	case *sdk.EmbeddedResource:
		a = p.Annotations
	}
	return a != nil && len(a.Audience) > 0 && !slices.Contains(a.Audience, "assistant")
}

// blob adds bytes of a media type: pictures, PDF files and texts as what they are. Anything else is kept.
func (c *content) blob(ctx context.Context, media string, data []byte, whole any) {
	media, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(media)), ";")
	if is := http.DetectContentType(data); strings.HasPrefix(media, "image/") && strings.HasPrefix(is, "image/") {
		media = is // no matter what the server says
	} else if strings.HasPrefix(media, "image/") {
		media = "a damaged picture"
	}
	seen := len(data) > 0 && len(data) <= mostPicture && c.pictures < mostPictures
	switch {
	case seen && slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, media):
		c.pictures++
		c.parts = append(c.parts, chat.NewImage(media, data))
	case seen && media == "application/pdf":
		c.pictures++
		c.parts = append(c.parts, chat.NewDocument(media, data))
	case isText(media) && utf8.Valid(data):
		c.text(c.s.hide(string(data)))
	default:
		c.keep(ctx, fmt.Sprintf("%s of %d bytes", cmp.Or(c.s.line(media), "data of no type"), len(data)), whole)
	}
}

func isText(media string) bool {
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "json") || strings.HasSuffix(media, "xml") || strings.HasSuffix(media, "yaml")
}

// keep adds a line about a part that the model does not see, and keeps the part in the session.
func (c *content) keep(ctx context.Context, what string, part any) {
	data, err := plainjson.Marshal(part)
	if c.s.Session == nil || c.err != nil || err != nil || len(data) > mostKept {
		c.note(what, "")
		return
	}
	kept, err := c.s.Session.Add(ctx, entry.Entry{Body: entry.Custom{Name: marks.SourceName + "mcp", Of: c.call.ID, Data: data}})
	if err != nil {
		c.err = err
		return
	}
	c.note(what+", kept as entry "+kept[0].ID, "")
}

// link adds a link, with how it is read.
func (c *content) link(l *sdk.ResourceLink) {
	what := "the resource " + c.s.line(cmp.Or(l.Title, l.Name, l.URI))
	if l.MIMEType != "" {
		what += ", " + c.s.line(l.MIMEType)
	}
	if l.Size != nil {
		what += fmt.Sprintf(", %d bytes", *l.Size)
	}
	if l.Description != "" {
		what += ", " + c.s.line(l.Description)
	}
	c.note(what, c.s.handle(l.URI, 0))
}

// resource adds the contents of a resource.
func (c *content) resource(ctx context.Context, r *sdk.ResourceContents, whole any) {
	switch {
	case r == nil:
		c.note("an empty resource", "")
	case r.Blob != nil:
		c.text("The resource " + c.s.line(r.URI) + ":")
		c.blob(ctx, r.MIMEType, r.Blob, whole)
	default:
		c.text(plaintext.ResourceTag.Around(c.s.hide(r.Text), "uri", c.s.hide(r.URI)))
	}
}
