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

const (
	deepest  = 10_000 // nesting, as in encoding/json
	levels   = 32     // of nesting that are shown
	distinct = 4      // values of a path that are listed
	trailing = 200    // bytes that may follow what was cut off: a mark that says so
)

// A shape is what stands at one path of a text, in all objects and arrays on the way: "items[].name".
type shape struct {
	path, name  string
	keys        []*shape // and elements, named "[]"
	index       map[string]*shape
	full        bool     // there was no room for more keys
	values      []string // distinct ones; "object" and "array" are two
	times       []int    // of values
	others      int      // values that are not listed
	first, last string
}

func (s *shape) add(value string) {
	if i := slices.Index(s.values, value); i >= 0 {
		s.times[i]++
	} else if len(s.values) < distinct {
		s.values, s.times = append(s.values, value), append(s.times, 1)
	} else {
		s.others++
	}
}

func (s *shape) String() string {
	var parts []string
	for i, value := range s.values {
		if s.times[i] > 1 {
			value += fmt.Sprintf(" ×%d", s.times[i])
		}
		parts = append(parts, value)
	}
	if s.others > 0 {
		parts = append(parts, fmt.Sprintf("%d others", s.others))
	}
	if len(s.keys) > 1 {
		parts = append(parts, fmt.Sprintf("%d keys", len(s.keys)))
	}
	if s.full {
		parts = append(parts, "and more")
	}
	return strings.Join(parts, ", ")
}

var newLine = regexp.MustCompile(`\n\s*`)

// list returns the lines of a shape. Their rank is their depth, and so what fits is shown breadth first.
func (s *shape) list(name string, depth, width int) []line {
	if len(s.values) == 1 && len(s.keys) == 1 && s.keys[0].name == "[]" {
		return s.keys[0].list(name+"[]", depth, width)
	}
	indent := strings.Repeat("  ", depth)
	lines := []line{{rank: depth, text: indent + cut(name+": "+s.String(), 2*width)}}
	if strings.HasSuffix(name, "[]") && strings.Count(s.path, "[]") < 2 && s.first != s.last && len(s.keys)+s.others > 0 {
		for _, end := range []string{"  first: " + s.first, "  last: " + s.last} {
			end = newLine.ReplaceAllString(cut(end, 3*width), " ")
			lines = append(lines, line{rank: depth + 2, text: indent + cut(end, width)})
		}
	}
	for _, key := range s.keys {
		lines = append(lines, key.list(cut(key.name, width), depth+1, width)...)
	}
	return lines
}

// A reader reads JSON into shapes.
type reader struct {
	*json.Decoder
	text  string
	depth int
	room  [levels]int // for shapes, by depth
	none  *shape      // what there was no room for
	*facts
}

// ofJSON outlines a JSON object or array, or several of them one after the other.
func ofJSON(text string, limit int) []line {
	if start := strings.TrimLeft(text, " \t\r\n"); start == "" || start[0] != '{' && start[0] != '[' {
		return nil
	}
	r := &reader{Decoder: json.NewDecoder(strings.NewReader(text)), text: text, none: &shape{}, facts: newFacts(limit)}
	for i := range r.room {
		r.room[i] = limit/8 + 1
	}
	r.UseNumber()
	var err error
	root, title := &shape{index: map[string]*shape{}}, "JSON"
	for err == nil && r.More() {
		err = r.value(root)
	}
	read := strings.TrimSpace(text[:r.InputOffset()])
	after := strings.TrimLeft(text[strings.Index(text, read)+len(read):], " \t\r")
	rest := strings.TrimSpace(after)
	switch cutOff := r.depth > 0; {
	case cutOff && len(root.keys) == 0, slices.ContainsFunc(root.values, func(v string) bool { return v != "object" && v != "array" }):
		return nil
	case rest == "" || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
	case len(rest) > min(trailing, len(read)/8) || !cutOff && after[0] != '\n':
		return nil
	}
	if r.depth > 0 {
		title += ", cut off"
	} else if root.times[0] > 1 {
		title += " values[]"
	}
	lines := slices.Insert(root.list(title, 0, r.width), 1, r.lines...)
	if rest != "" && len(rest) <= trailing {
		lines = append(lines, line{rank: 1, text: "  then: " + newLine.ReplaceAllString(rest, " ")})
	}
	return lines
}

// value reads a value into a shape.
func (r *reader) value(s *shape) error {
	before := r.InputOffset()
	token, err := r.Token()
	if err != nil {
		return err
	}
	raw := strings.TrimLeft(r.text[before:r.InputOffset()], " \t\r\n,:")
	if delim, opens := token.(json.Delim); opens {
		start := r.InputOffset() - 1
		s.add(map[json.Delim]string{'{': "object", '[': "array"}[delim])
		if r.depth++; r.depth > deepest {
			return errors.New("nested too deeply")
		}
		for r.More() {
			name := "[]"
			if delim == '{' {
				key, err := r.Token()
				if err != nil {
					return err
				}
				name = key.(string)
			}
			if err := r.value(r.child(s, name)); err != nil {
				return err
			}
		}
		if _, err := r.Token(); err != nil {
			return err
		}
		r.depth--
		raw = r.text[start:r.InputOffset()]
	} else {
		s.add(cut(raw, r.width))
		r.note(s, token, raw)
	}
	s.first, s.last = cmp.Or(s.first, raw), raw
	return nil
}

// child returns the shape of a key or of elements.
func (r *reader) child(s *shape, name string) *shape {
	child := s.index[name]
	if child == nil && s != r.none && r.depth <= levels && r.room[r.depth-1] > 0 {
		r.room[r.depth-1]--
		child = &shape{path: s.path + name, name: name, index: map[string]*shape{}}
		if s.path != "" && name != "[]" {
			child.path = s.path + "." + name
		}
		s.index[name], s.keys = child, append(s.keys, child)
	}
	if child == nil {
		s.full = true
		return r.none
	}
	return child
}

// culprit matches keys whose values say what went wrong.
var culprit = regexp.MustCompile(`(?i)^(errors?|failed|failures?|exit_?(code|status))$`)

// note records what a scalar says of a failure.
func (r *reader) note(s *shape, token json.Token, raw string) {
	text, _ := token.(string)
	if culprit.MatchString(s.name) && !slices.Contains([]string{"null", "false", "0", `""`}, raw) {
		r.add(s.path+": ", raw, 1)
		return
	}
	for part := range strings.Lines(text) {
		if failed(part) {
			r.add(s.path+": ", part, 1)
		}
	}
}
