package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// tokenizers holds the tokenizers made so far, by name.
type tokenizers map[string]chat.Tokenizer

func newTokenizers() tokenizers {
	return tokenizers{
		"chars":   chars{plain{text: utf16Length, overhead: 3}},
		"words":   plain{text: words},
		"consume": plain{text: consumed},
	}
}

// named returns a tokenizer for a tree with or without opaque values. Some opaque values join the text beside them, so
// that counts do not add up there.
func (ts tokenizers) named(name string, opaque bool) (chat.Tokenizer, error) {
	name = cmp.Or(name, "cl100k")
	key := fmt.Sprintf("%s, opaque: %v", name, opaque)
	for _, key := range []string{name, key} {
		if t := ts[key]; t != nil {
			return t, nil
		}
	}
	c, err := tiktoken.New(name + "_base")
	if err != nil {
		return nil, fmt.Errorf("unknown tokenizer %q", name)
	}
	if opaque {
		ts[key] = chatObject{c}
	} else {
		ts[key] = joining{chatObject{c}}
	}
	return ts[key], nil
}

// chars is a tokenizer whose counts add up everywhere.
type chars struct{ plain }

func (chars) SafeCut(before, after rune) bool { return true }

func (c chars) CountFrame(chat.Message) (int, bool) { return c.overhead, true }

// joining counts trees without opaque values.
type joining struct{ chatObject }

func (j joining) SafeCut(before, after rune) bool { return j.counter.SafeCut(before, after) }

func (j joining) CountFrame(m chat.Message) (tokens int, joined bool) {
	joined = m.Role == chat.RoleSystem || m.Role == chat.RoleAssistant ||
		!slices.ContainsFunc(m.Content, func(p chat.Part) bool { _, image := p.(chat.Image); return image })
	frame := m
	frame.Content = slices.Clone(m.Content)
	for i, p := range frame.Content {
		if _, text := p.(chat.Text); text {
			frame.Content[i] = chat.Text("")
		}
	}
	return j.CountMessage(frame), joined
}

// plain counts texts with a function, and messages by their joined text.
type plain struct {
	text     func(string) int
	overhead int
}

func (p plain) CountText(s string) int { return p.text(s) }

// CountPart counts a part that is not a text as an empty text, which with words is 1.
func (p plain) CountPart(part chat.Part) int {
	t, _ := part.(chat.Text)
	return p.text(string(t))
}

func (p plain) CountMessage(m chat.Message) int { return p.text(m.Text()) + p.overhead }

func (p plain) CountTools([]chat.Tool) int { return 0 }

func utf16Length(s string) int { return len(utf16.Encode([]rune(s))) }

// white is JavaScript's white space.
const white = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"

var (
	spaces  = regexp.MustCompile("[" + white + "]+")
	consume = regexp.MustCompile(`consume=(\d+)`)
)

// words returns 1 for a blank text, and for any other the number of pieces between runs of white space.
func words(s string) int {
	if strings.Trim(s, white) == "" {
		return 1
	}
	return len(spaces.Split(s, -1))
}

func consumed(s string) int {
	total := 0
	for _, m := range consume.FindAllStringSubmatch(s, -1) {
		n, _ := strconv.Atoi(m[1])
		total += n
	}
	return total
}

// chatObject counts messages as OpenAI's chat message objects, including images and opaque values. Unlike its
// tokenizer, it counts an image's URL as text, as the reference does.
type chatObject struct{ counter *tiktoken.Counter }

func (t chatObject) CountText(s string) int { return t.counter.CountText(s) }

func (t chatObject) CountTools(tools []chat.Tool) int { return t.counter.CountTools(tools) }

func (t chatObject) CountPart(part chat.Part) int {
	if text, ok := part.(chat.Text); ok {
		return t.CountText(string(text))
	}
	return 0
}

func (t chatObject) CountMessage(m chat.Message) int {
	frame := m
	frame.Content = nil
	tokens, _ := t.counter.CountFrame(frame)
	return tokens + t.content(m)
}

// content counts a single string if all parts are text, and otherwise a list of parts.
func (t chatObject) content(m chat.Message) int {
	if m.Role == chat.RoleSystem || m.Role == chat.RoleAssistant {
		return t.CountText(m.Text())
	}
	var joined strings.Builder
	parts, onlyText := 0, true
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			joined.WriteString(string(p))
			parts += t.CountText("text") + t.CountText(string(p))
		case chat.Image:
			onlyText = false
			parts += t.CountText("image_url") + t.CountText(p.URL) + t.CountText(string(p.Detail)) + t.CountText(p.MediaType)
		case chat.Opaque:
			var value any
			if json.Unmarshal(p.Value, &value) != nil || falsy(value) {
				continue
			}
			if object, ok := value.(map[string]any); ok && object["type"] == "text" {
				if s := object["text"]; s != nil {
					joined.WriteString(fmt.Sprint(s))
				}
			} else {
				onlyText = false
			}
			parts += t.value(value)
		}
	}
	if onlyText {
		return t.CountText(joined.String())
	}
	return parts
}

// falsy reports whether JavaScript treats a JSON value as false: the reference skips such opaque values.
func falsy(v any) bool { return v == nil || v == false || v == 0.0 || v == "" }

// value counts the strings in a JSON value, and 1 for each name.
func (t chatObject) value(v any) int {
	n := 0
	switch v := v.(type) {
	case string:
		n = t.CountText(v)
	case []any:
		for _, e := range v {
			n += t.value(e)
		}
	case map[string]any:
		for key, e := range v {
			n += t.value(e)
			if key == "name" && !falsy(e) {
				n++
			}
		}
	}
	return n
}
