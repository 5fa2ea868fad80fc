package entry

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/internal/plainjson"
)

// maxDepth is the maximum number of levels of objects and arrays in a line that is written, its own object included.
// Some readers of JSON refuse more than 1,000 (those of Python and Jackson), and encoding/json refuses more than
// 10,000. Half of the former leaves room for programs that wrap a line in values of their own. Deeper lines that are
// already in a store are read.
const maxDepth = 500

// DepthError is returned for an entry, or a header, whose JSON is nested too deep to be read back everywhere. Nothing
// is written.
type DepthError struct {
	// Path in the line's JSON of the first value that is too deep, such as "custom.data.a[0].b". A long path is
	// shortened in its middle.
	Path string
	// Depth of the line in levels of objects and arrays, and the maximum.
	Depth, Max int
}

func (e *DepthError) Error() string {
	return fmt.Sprintf("its JSON is nested %d levels deep, more than %d: at %s: flatten the value, or keep it as text", e.Depth, e.Max, e.Path)
}

// unencodable returns an error that names the JSON value that is too deep or invalid in what could not be encoded, or
// err if there is none.
func unencodable(err error, visit func(*visitor)) error {
	visit(&visitor{value: func(path string, value []byte) []byte {
		depth, at := plainjson.Depth(value, maxDepth)
		if depth > maxDepth {
			above := 1 + strings.Count(path, ".") + strings.Count(path, "[") // the line's object, and the levels that the path leads through
			err = &DepthError{Path: path + pathTo(value, at), Depth: above + depth, Max: maxDepth}
		} else if len(value) > 0 && !json.Valid(value) {
			err = fmt.Errorf("%s is not valid JSON: %w", path, err)
		}
		return value
	}})
	return err
}

// CheckDepth returns a [*DepthError] if a line is nested too deep to be written.
func CheckDepth(line []byte) error {
	depth, at := plainjson.Depth(line, maxDepth)
	if depth <= maxDepth {
		return nil
	}
	return &DepthError{Path: strings.TrimPrefix(pathTo(line, at), "."), Depth: depth, Max: maxDepth}
}

// pathTo returns the path to the token at a place in a value, such as ".a[0].b". In a long path the middle is left out.
func pathTo(value []byte, at int) string {
	const head, tail = 8, 2
	var steps []string // the last step to the current place in each container around it
	var index []int    // the index of the current place in an array, -1 in an object
	var text []byte    // the last string, with its quotes
	for i, end := range plainjson.Tokens(value) {
		if i == at {
			break
		}
		top := len(index) - 1
		switch value[i] {
		case '{':
			steps, index = append(steps, ""), append(index, -1)
		case '[':
			steps, index = append(steps, "[0]"), append(index, 0)
		case '}', ']':
			steps, index = steps[:max(0, top)], index[:max(0, top)]
		case '"':
			text = value[i:end]
		case ':':
			if top >= 0 && len(text) > 1 { // otherwise it is not valid JSON
				steps[top] = keyStep(text)
			}
		case ',':
			if top >= 0 && index[top] >= 0 {
				index[top]++
				steps[top] = fmt.Sprintf("[%d]", index[top])
			}
		}
	}
	if n := len(steps); n > head+tail {
		return strings.Join(steps[:head], "") + "…" + strings.Join(steps[n-tail:], "")
	}
	return strings.Join(steps, "")
}

// keyStep returns the step of a path to a key, given as a JSON string.
func keyStep(quoted []byte) string {
	const longest = 40
	key := string(quoted[1 : len(quoted)-1])
	if len(key) > longest {
		key = strings.ToValidUTF8(key[:longest], "") + "…"
	}
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return strings.ContainsRune(" .[]\\", r) || r == utf8.RuneError }) {
		return `["` + key + `"]`
	}
	return "." + key
}
