package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/promptree-go/promptree/internal/plainjson"
)

// The names of the kinds of parts in JSON.
const (
	kindText            = "text"
	kindImage           = "image"
	kindDocument        = "document"
	kindThinking        = "thinking"
	kindOpaque          = "opaque"
	kindCacheBreakpoint = "cacheBreakpoint"
)

// bytesJSON carries a text, in base64 if it is not valid UTF-8, which a JSON string cannot hold, or a value as it is if
// JSON leaves it unchanged, else in base64.
type bytesJSON struct {
	Type   string          `json:"type"`
	Text   *string         `json:"text,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Raw    []byte          `json:"base64,omitempty"`
	Tokens int             `json:"tokens,omitempty"`
}

// MarshalJSON writes each part as an object that names its type.
func (ps Parts) MarshalJSON() ([]byte, error) {
	list := make([]any, len(ps))
	for i, p := range ps {
		v, err := partJSON(p)
		if err != nil {
			return nil, fmt.Errorf("chat: part %d: %w", i, err)
		}
		list[i] = v
	}
	return plainjson.Marshal(list)
}

// partJSON returns the form in which a part is encoded.
func partJSON(p Part) (any, error) {
	switch p := p.(type) {
	case Text:
		if utf8.ValidString(string(p)) {
			return bytesJSON{Type: kindText, Text: (*string)(&p)}, nil
		}
		return bytesJSON{Type: kindText, Raw: []byte(p)}, nil
	case Image:
		return struct {
			Type string `json:"type"`
			Image
		}{kindImage, p}, nil
	case Document:
		return struct {
			Type string `json:"type"`
			Document
		}{kindDocument, p}, nil
	case Thinking:
		return struct {
			Type string `json:"type"`
			Thinking
		}{kindThinking, p}, nil
	case Opaque:
		if plain, err := plainJSON(p.Value); err == nil && bytes.Equal(plain, p.Value) {
			return bytesJSON{Type: kindOpaque, Value: p.Value, Tokens: p.Tokens}, nil
		}
		return bytesJSON{Type: kindOpaque, Raw: p.Value, Tokens: p.Tokens}, nil
	case CacheBreakpoint:
		return struct {
			Type string `json:"type"`
			CacheBreakpoint
		}{kindCacheBreakpoint, p}, nil
	case nil:
		return nil, errors.New("the part is nil")
	default:
		return nil, fmt.Errorf("unknown type %T", p)
	}
}

// oneText is the start of parts of which most are: one text.
const oneText = `[{"type":"text","text":"`

// UnmarshalJSON reads what MarshalJSON writes. A part of an unknown type or with an unknown field is an error, so that
// nothing is lost.
func (ps *Parts) UnmarshalJSON(data []byte) error {
	if start := len(oneText) - 1; bytes.HasPrefix(data, []byte(oneText)) {
		if end := plainjson.TextEnd(data, start); string(data[end:]) == "}]" {
			if text, ok := plainjson.UnquotePlain(data[start:end]); ok { // twice as fast
				*ps = Parts{Text(text)}
				return nil
			}
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data)) // reads the list one part at a time, without a second copy
	switch start, err := dec.Token(); {
	case err != nil:
		return fmt.Errorf("chat: content: %w", err)
	case start == nil:
		*ps = nil
		return nil
	case start != json.Delim('['):
		return errors.New("chat: content: not a list of parts")
	}
	dec.DisallowUnknownFields() // an unknown field would be lost
	parts := Parts{}
	var fields partFields
	for dec.More() {
		fields = partFields{}
		err := dec.Decode(&fields)
		var p Part
		if err == nil {
			p, err = fields.part()
		}
		if err != nil {
			return fmt.Errorf("chat: part %d: %w", len(parts), err)
		}
		parts = append(parts, p)
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("chat: content: %w", err)
	}
	*ps = parts
	return nil
}

// partFields are the fields of a part of any type.
type partFields struct {
	bytesJSON
	URL       string        `json:"url"`
	Original  string        `json:"original"`
	Detail    ImageDetail   `json:"detail"`
	MediaType string        `json:"mediaType"`
	Data      string        `json:"data"`
	Signature string        `json:"signature"`
	Encrypted string        `json:"encrypted"`
	CacheType string        `json:"cacheType"`
	Lifetime  time.Duration `json:"lifetime"`
}

// part returns the part with these fields.
func (f *partFields) part() (Part, error) {
	text := ""
	if f.Text != nil {
		text = *f.Text
	}
	switch f.Type {
	case kindText:
		if f.Text == nil {
			return Text(f.Raw), nil
		}
		return Text(text), nil
	case kindImage:
		return Image{URL: f.URL, Original: f.Original, Detail: f.Detail, MediaType: f.MediaType}, nil
	case kindDocument:
		return Document{Data: f.Data, MediaType: f.MediaType}, nil
	case kindThinking:
		return Thinking{Text: text, Signature: f.Signature, Encrypted: f.Encrypted}, nil
	case kindOpaque:
		if f.Raw != nil || f.Value == nil {
			return Opaque{Value: f.Raw, Tokens: f.Tokens}, nil
		}
		value, err := plainJSON(f.Value)
		return Opaque{Value: value, Tokens: f.Tokens}, err
	case kindCacheBreakpoint:
		return CacheBreakpoint{Type: f.CacheType, Lifetime: f.Lifetime}, nil
	default:
		return nil, fmt.Errorf("unknown type %q", f.Type)
	}
}

// plainJSON returns a value without white space and without the escapes for HTML, both of which [json.Marshal] and
// [json.Indent] may add when the message is encoded. A value that was plain when it was written is restored from any
// form of it.
func plainJSON(value []byte) ([]byte, error) {
	if !utf8.Valid(value) {
		return nil, errors.New("not UTF-8")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return nil, err
	}
	return []byte(htmlUnescaper.Replace(compact.String())), nil
}

// htmlUnescaper undoes the escapes for HTML of encoding/json. An escaped backslash does not start one.
var htmlUnescaper = strings.NewReplacer(
	`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028", `\u2029`, "\u2029",
)
