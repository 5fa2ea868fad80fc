// Package contents reads the contents of Gemini's API: their parts, as answers, requests and recordings hold them.
//
//	part                          in package chat
//	text                          Text; one of white space only, or with more fields, is Opaque
//	inlineData, fileData          Image, or Document; other files are Opaque
//	functionCall                  ToolCall, and an Opaque that marks its place if other parts follow
//	functionResponse              a message of role tool
//	thoughtSignature              the signature of the call; of another part an Opaque after it
//	thought, and any other        Opaque, as it was written
//
// A thought is not a Thinking, because Gemini signs the answer and not the thought, and other providers refuse unsigned
// thinking.
package contents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/wire"
)

// Decoder reads the parts of a content, one after the other.
type Decoder struct {
	// Model says that a model wrote the content, which then has calls and no responses.
	Model bool
	// Lenient reads a call without an id, and gives each call a unique one, as [chat.WithCallIDs] does. Without it such a
	// call is malformed.
	Lenient bool
	// Key is a field under which arguments may be a text as the model wrote them. None by default.
	Key string
	// Results are messages of role tool, whose ids and names are those of the responses.
	Results []chat.Message
	// Content and ToolCalls are those of the message.
	Content   chat.Parts
	ToolCalls []chat.ToolCall
	// Left is what has no place in the messages.
	Left wire.Leftovers
	// Malformed is the error of the first part that has not the form that its kind has. It is kept as it was written.
	Malformed error

	ids    chat.CallIDs
	placed int // calls whose place is marked
}

// Part reads the next part.
func (d *Decoder) Part(p *wire.Object) {
	switch {
	case d.Model && p.Is("functionCall", wire.KindObject):
		d.call(p)
	case !d.Model && p.Is("functionResponse", wire.KindObject):
		d.result(p)
	default:
		d.add(d.other(p)...)
	}
	d.Malformed = cmp.Or(d.Malformed, p.Err())
}

// add adds parts, after the marks of calls that have none.
func (d *Decoder) add(parts ...chat.Part) {
	if len(parts) == 0 {
		return
	}
	for ; d.placed < len(d.ToolCalls); d.placed++ {
		d.Content = append(d.Content, PlaceNote(d.ToolCalls[d.placed].ID))
	}
	d.Content = append(d.Content, parts...)
}

// Text adds a text that is no part of its own.
func (d *Decoder) Text(s string) {
	if s == "" {
		d.Left.Add(wire.Empty, "content.text")
		return
	}
	d.add(chat.Text(s))
}

// Inline adds a part of inline data alone, in base64.
func (d *Decoder) Inline(mediaType, data string) { d.add(inline(mediaType, data)) }

// call reads a call.
func (d *Decoder) call(p *wire.Object) {
	f := p.Object("functionCall")
	c := chat.ToolCall{ID: f.Peek("id"), Name: f.Peek("name"), Signature: p.OptionalText("thoughtSignature")}
	if !d.Lenient {
		c.ID, c.Name = f.Text("id"), f.Text("name")
	}
	if args := f.Inside("args"); args != nil && d.Key != "" && args.Is(d.Key, wire.KindText) && len(args.Rest()) == 1 {
		c.Arguments = args.Text(d.Key)
		f.Skip("args")
	}
	c.Arguments = cmp.Or(c.Arguments, f.Compact("args"), "{}")
	if p.Err() != nil {
		d.add(chat.Opaque{Value: p.Source()})
		return
	}
	if d.Lenient {
		f.Skip("id", "name")
		c.ID = d.ids.Next(c.ID)
	}
	d.Left.Rest("content.functionCall", f)
	d.Left.Rest("content", p)
	d.ToolCalls = append(d.ToolCalls, c)
}

// known are the fields of a part that say more about what it holds, and hold nothing themselves.
var known = []string{"thought", "mediaResolution", "videoMetadata", "partMetadata", "audioTranscription", "mediaProcessing", "speechMetadata"}

// other reads a part that any content may have. If a [chat.Part] would lose anything, it is opaque as a whole.
func (d *Decoder) other(p *wire.Object) chat.Parts {
	whole := chat.Parts{chat.Opaque{Value: p.Source()}}
	signature := p.Peek("thoughtSignature")
	if p.Is("text", wire.KindText) && string(p.Look("text")) == `""` {
		p.Skip("text")
	}
	if string(p.Look("thought")) == "false" {
		p.Skip("thought")
	}
	signedThought := p.Has("thought") && signature != ""
	p.Skip("thoughtSignature")
	kinds := p.Rest()
	if !signedThought && !slices.ContainsFunc(kinds, func(name string) bool { return !slices.Contains(known, name) }) {
		switch {
		case signature != "" && d.Model:
			return chat.Parts{SignatureNote(signature)}
		case signature == "":
			d.Left.Add(wire.Empty, "content")
		}
		return nil
	}
	if len(kinds) != 1 || signature != "" && !d.Model {
		return whole
	}
	var part chat.Part
	switch {
	case p.Is("text", wire.KindText):
		if s := p.Text("text"); strings.TrimSpace(s) != "" {
			part = chat.Text(s)
		}
	case p.Is("inlineData", wire.KindObject):
		if b := p.Inside("inlineData"); b.Peek("data") != "" && b.Peek("mimeType") != "" && len(b.Rest()) == 2 {
			part = inline(b.Text("mimeType"), b.Text("data"))
		}
	case !d.Model && p.Is("fileData", wire.KindObject):
		if f := p.Inside("fileData"); strings.HasPrefix(f.Peek("mimeType"), "image/") && f.Peek("fileUri") != "" && len(f.Rest()) == 2 {
			part = chat.Image{URL: f.Text("fileUri"), MediaType: f.Text("mimeType")}
		}
	}
	switch {
	case part == nil:
		return whole
	case signature != "":
		return chat.Parts{part, SignatureNote(signature)}
	}
	return chat.Parts{part}
}

// inline returns an image, or a document of any other type.
func inline(mediaType, data string) chat.Part {
	if strings.HasPrefix(mediaType, "image/") && !strings.ContainsAny(mediaType, ",;") {
		return chat.Image{URL: "data:" + mediaType + ";base64," + data, MediaType: mediaType}
	}
	return chat.Document{Data: data, MediaType: mediaType}
}

// result reads a function's response: its output or its error, or else all of it as JSON, and its media.
func (d *Decoder) result(p *wire.Object) {
	f := p.Object("functionResponse")
	m := chat.Message{Role: chat.RoleTool, ToolCallID: f.OptionalText("id"), Name: f.OptionalText("name")}
	said := f.Compact("response")
	if response, err := wire.Parse(json.RawMessage(said)); err == nil {
		m.IsError = response.Is("error", wire.KindText)
		for _, field := range []string{"output", "error"} {
			if response.Is(field, wire.KindText) && len(response.Rest()) == 1 {
				said = response.Text(field)
				if said == "" {
					d.Left.Add(wire.Empty, "functionResponse.response."+field)
				}
				break
			}
		}
		if err := response.Err(); err != nil {
			p.Fail(fmt.Errorf("functionResponse: response: %w", err))
		}
	}
	media := Decoder{Left: d.Left}
	if said != "" {
		media.Part(wire.Of("text", wire.Marshal(said)))
	}
	if f.Given("parts") {
		f.Each("parts", media.Part)
	}
	if p.Err() != nil {
		d.add(chat.Opaque{Value: p.Source()})
		return
	}
	m.Content, d.Left = media.Content, media.Left
	d.Left.Rest("functionResponse", f)
	d.Left.Rest("content", p)
	d.Results = append(d.Results, m)
}

// SignatureNote returns a part that stores the thought signature of the part before it, in base64.
func SignatureNote(signature string) chat.Opaque {
	return encode(map[string]string{"thoughtSignature": signature})
}

// PlaceNote returns a part that marks the place of a call.
func PlaceNote(callID string) chat.Opaque {
	return encode(map[string]map[string]string{"functionCall": {"id": callID}})
}

func encode(v any) chat.Opaque {
	value, _ := plainjson.Marshal(v) // maps of strings always encode
	return chat.Opaque{Value: value}
}
