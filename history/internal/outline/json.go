package outline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// levels of nesting that are shown.
const levels = 32

// A shape is what stands at one path of a text, in all objects and arrays on the way: ".items[].name".
type shape struct {
	path   string
	depth  int
	values tally // scalars, objects, and empty arrays
	keys   int
	full   bool // there was no room for more keys
}

// A reader reads JSON into shapes.
type reader struct {
	*json.Decoder
	text   string
	room   int         // shapes of one depth
	used   [levels]int // shapes, by depth
	index  map[string]*shape
	shapes []*shape
	*facts
}

// ofJSON outlines a JSON object or array, or several of them one after the other. A short text may follow: a mark that
// says what was cut off, or the status of a command. Paths are listed breadth first.
func ofJSON(text string, limit int) []string {
	const short = 200
	r := &reader{Decoder: json.NewDecoder(strings.NewReader(text)), text: text, room: limit/8 + 1, index: map[string]*shape{}, facts: newFacts(limit)}
	r.UseNumber()
	root := &shape{}
	r.shapes = []*shape{root}
	var err error
	for err == nil && r.More() && strings.IndexByte("{[", text[r.InputOffset()]) >= 0 {
		err = r.value(root)
	}
	read := int(r.InputOffset())
	rest := strings.TrimSpace(text[read:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		rest = ""
	}
	if read == 0 || len(rest) > min(short, read/8) || err != nil && len(r.shapes) == 1 {
		return nil
	}
	title := "JSON"
	if err != nil {
		title += ", cut off"
	}
	lines := append([]string{title}, r.lines...)
	if rest != "" {
		lines = append(lines, "  then: "+strings.Join(strings.Fields(rest), " "))
	}
	slices.SortStableFunc(r.shapes, func(a, b *shape) int { return a.depth - b.depth })
	for _, s := range r.shapes {
		text := s.values.String()
		if s.keys > 1 {
			text += fmt.Sprintf(", %d keys", s.keys)
		}
		if s.full {
			text += ", and more"
		}
		if text != "" {
			lines = append(lines, "  "+cut(cmp.Or(s.path, "."), r.width)+": "+cut(text, r.width))
		}
	}
	return lines
}

// value reads a value into a shape.
func (r *reader) value(s *shape) error {
	if s.depth == levels {
		s.full = true
		return r.Decode(new(json.RawMessage))
	}
	before := r.InputOffset()
	token, err := r.Token()
	if err != nil {
		return err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		raw := strings.TrimLeft(r.text[before:r.InputOffset()], " \t\r\n,:")
		s.values.add(cut(raw, r.width))
		r.note(s, token, raw)
		return nil
	}
	if delim == '{' {
		s.values.add("object")
	} else if !r.More() {
		s.values.add("[]")
	}
	for r.More() {
		name := "[]"
		if delim == '{' {
			key, err := r.Token()
			if err != nil {
				return err
			}
			name = "." + key.(string)
		}
		if err := r.value(r.child(s, name)); err != nil {
			return err
		}
	}
	_, err = r.Token()
	return err
}

// child returns the shape of a key or of elements.
func (r *reader) child(s *shape, name string) *shape {
	path := s.path + name
	child := r.index[path]
	if child == nil {
		child = &shape{path: path, depth: s.depth + 1}
		if s.full = s.full || r.used[s.depth] == r.room; !s.full {
			r.used[s.depth]++
			s.keys++
			r.index[path], r.shapes = child, append(r.shapes, child)
		}
	}
	return child
}

// culprit matches a path and a value that say what went wrong.
var culprit = regexp.MustCompile(`(?i)\.(?:errors?|failed|failures?|exit_?(?:code|status)): (?:t|-?[1-9]|"[^"])`)

// note records what a scalar says of a failure.
func (r *reader) note(s *shape, token json.Token, raw string) {
	label := s.path + ": "
	if culprit.MatchString(label + raw[:min(len(raw), 2)]) {
		r.add(label, raw)
		return
	}
	text, _ := token.(string)
	for part := range strings.Lines(text) {
		if failed(part) {
			r.add(label, part)
		}
	}
}
