package entry

import (
	"encoding/json"
	"fmt"
	"strings"

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
	// Path in the line's JSON of the value that is too deep, such as "custom.data".
	Path string
	// Depth of the line in levels of objects and arrays, and the maximum.
	Depth, Max int
}

func (e *DepthError) Error() string {
	return fmt.Sprintf("its JSON is nested %d levels deep, more than %d: in %s: flatten the value, or keep it as text", e.Depth, e.Max, e.Path)
}

// levels returns the depth of a line that has a value at a path.
func levels(path string, value []byte) int {
	return 1 + strings.Count(path, ".") + strings.Count(path, "[") + plainjson.Depth(value)
}

// unencodable returns an error that names the JSON value that is too deep or invalid in what could not be encoded, or
// err if there is none.
func unencodable(err error, visit func(*visitor)) error {
	visit(&visitor{value: func(path string, value []byte) []byte {
		if depth := levels(path, value); depth > maxDepth {
			err = &DepthError{Path: path, Depth: depth, Max: maxDepth}
		} else if len(value) > 0 && !json.Valid(value) {
			err = fmt.Errorf("%s is not valid JSON: %w", path, err)
		}
		return value
	}})
	return err
}

// CheckDepth returns a [*DepthError] if the entry's line is nested too deep to be written.
func (e Entry) CheckDepth(line []byte) error {
	return checkDepth(line, func(v *visitor) { v.body(e.Body) })
}

// CheckDepth does for a header what [Entry.CheckDepth] does for an entry.
func (h Header) CheckDepth(line []byte) error {
	return checkDepth(line, func(v *visitor) { v.header(h) })
}

func checkDepth(line []byte, visit func(*visitor)) error {
	depth := plainjson.Depth(line)
	if depth <= maxDepth {
		return nil
	}
	tooDeep := &DepthError{Depth: depth, Max: maxDepth}
	visit(&visitor{value: func(path string, value []byte) []byte {
		if levels(path, value) == depth {
			tooDeep.Path = path
		}
		return value
	}})
	return tooDeep
}
