package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The kinds of parts as they are named in JSON.
const (
	kindText            = "text"
	kindImage           = "image"
	kindDocument        = "document"
	kindThinking        = "thinking"
	kindOpaque          = "opaque"
	kindCacheBreakpoint = "cacheBreakpoint"
)

// textJSON carries a text. JSON strings cannot hold invalid UTF-8, so such text goes in base64.
type textJSON struct {
	Type string  `json:"type"`
	Text *string `json:"text,omitempty"`
	Raw  []byte  `json:"base64,omitempty"`
}

// opaqueJSON carries a value as it is where JSON lets it through unchanged, else in base64.
type opaqueJSON struct {
	Type   string          `json:"type"`
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
	return marshal(list)
}

// partJSON is the part in the form in which it is encoded.
func partJSON(p Part) (any, error) {
	switch p := p.(type) {
	case Text:
		if utf8.ValidString(string(p)) {
			return textJSON{Type: kindText, Text: (*string)(&p)}, nil
		}
		return textJSON{Type: kindText, Raw: []byte(p)}, nil
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
			return opaqueJSON{Type: kindOpaque, Value: p.Value, Tokens: p.Tokens}, nil
		}
		return opaqueJSON{Type: kindOpaque, Raw: p.Value, Tokens: p.Tokens}, nil
	case CacheBreakpoint:
		return struct {
			Type string `json:"type"`
			CacheBreakpoint
		}{kindCacheBreakpoint, p}, nil
	case nil:
		return nil, fmt.Errorf("it is nil")
	default:
		return nil, fmt.Errorf("unknown type %T", p)
	}
}

// UnmarshalJSON reads what MarshalJSON writes. A part of an unknown type is an error: dropping it would lose it.
func (ps *Parts) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("chat: content: %w", err)
	}
	if list == nil {
		*ps = nil
		return nil
	}
	parts := make(Parts, len(list))
	for i, raw := range list {
		p, err := parsePart(raw)
		if err != nil {
			return fmt.Errorf("chat: part %d: %w", i, err)
		}
		parts[i] = p
	}
	*ps = parts
	return nil
}

func parsePart(raw json.RawMessage) (Part, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	switch head.Type {
	case kindText:
		var t textJSON
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, err
		}
		if t.Text != nil {
			return Text(*t.Text), nil
		}
		return Text(t.Raw), nil
	case kindImage:
		return parseAs[Image](raw)
	case kindDocument:
		return parseAs[Document](raw)
	case kindThinking:
		return parseAs[Thinking](raw)
	case kindOpaque:
		var o opaqueJSON
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, err
		}
		if o.Raw != nil {
			return Opaque{Value: o.Raw, Tokens: o.Tokens}, nil
		}
		if o.Value == nil {
			return Opaque{Tokens: o.Tokens}, nil
		}
		value, err := plainJSON(o.Value)
		return Opaque{Value: value, Tokens: o.Tokens}, err
	case kindCacheBreakpoint:
		return parseAs[CacheBreakpoint](raw)
	default:
		return nil, fmt.Errorf("unknown type %q", head.Type)
	}
}

func parseAs[P Part](raw json.RawMessage) (Part, error) {
	var p P
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	return p, nil
}

// errNotUTF8 tells that a value is no JSON text, for it is not UTF-8.
var errNotUTF8 = errors.New("not UTF-8")

// plainJSON is a value without white space and without the escapes of HTML, which whoever encodes the message may add,
// as [json.Marshal] and [json.Indent] do. So what was plain when it was written can be had back from any form of it.
func plainJSON(value []byte) ([]byte, error) {
	if !utf8.Valid(value) {
		return nil, errNotUTF8
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return nil, err
	}
	return []byte(htmlUnescaper.Replace(compact.String())), nil
}

// htmlUnescaper undoes the escapes that encoding/json makes so that a text may stand in HTML. A backslash that is
// escaped itself begins none.
var htmlUnescaper = strings.NewReplacer(
	`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028", `\u2029`, "\u2029",
)

// marshal encodes without escaping HTML: transcripts are read by people and models.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
