// Package breadcrumb writes the pointer to the transcript that is placed beside a summary.
package breadcrumb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/toolname"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Text returns a text that says where the full transcript is and how to read it, "" for nowhere: the tools of package
// recall; or its path and number of lines, the folder with the texts of long entries, the tool with which the agent reads
// files, and an example of a call ([Find]).
func Text(b policy.Breadcrumb) string {
	of, how := "", ""
	switch {
	case b.Recall:
		how = "search it with " + history.SearchTool + `({"query":"…"}) and read an entry with ` + history.ReadTool + `({"entry":"…"}).`
	case b == (policy.Breadcrumb{}):
		return ""
	default:
		of = "path=" + quotedPath(b.Path) + " "
		how = "look it up in the full transcript"
		if b.Tool != "" {
			how += " with the tool " + plaintext.OneLine(plaintext.Name(b.Tool), 100)
		}
		if b.Example != "" {
			how += ", for example:\n" + plaintext.Outside(call(b.Path, b.Lines, b.Example))
		} else {
			how += "."
		}
		if b.Texts != "" {
			how += "\nEntries too long for a line are also in " + quotedPath(b.Texts) + ", a text file each, by id."
		}
	}
	return fmt.Sprintf(`<%s %slines="%d">
The summary leaves things out. Where you need something from before it word for word (code, error messages, tool
results, what you wrote yourself), %s
</%[1]s>`, plaintext.TranscriptTag, of, b.Lines, how)
}

// Placeholders in an example.
const (
	pathPlaceholder = "{path}"
	fromPlaceholder = "{from}"
	toPlaceholder   = "{to}"
	exampleLines    = 20
)

// call returns the example with the transcript's values filled in.
func call(path string, lines int, example string) string {
	from := max(1, lines-exampleLines)
	return strings.NewReplacer(
		pathPlaceholder, quotedPath(path), fromPlaceholder, strconv.Itoa(from), toPlaceholder, strconv.Itoa(max(from, lines)),
	).Replace(example)
}

// quotedPath returns a path as a JSON string without what begins a tag or a mark. Decoded, it is the path.
func quotedPath(path string) string {
	quoted, _ := plainjson.Marshal(path) // strings always encode
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "[", `\u005b`, "＜", `\uff1c`, "［", `\uff3b`).Replace(string(quoted))
}

// Arguments of tools that read files, by their names in lower case without separators.
var (
	pathParameters  = []string{"path", "filepath", "filename", "file", "targetfile", "absolutepath", "target"}
	startParameters = []string{"offset", "startline", "start", "linestart", "fromline", "startlineonebased", "from"}
	limitParameters = []string{"limit", "maxlines", "numlines", "linecount", "count"}
	endParameters   = []string{"endline", "end", "lineend", "toline", "endlineonebased", "to"}
)

// Find returns the name of the tool with which the agent reads files, "" if there is none: the preferred one if it is
// declared, else the first that reads files by its name, if possible one whose schema shows how. The example is a call of
// it with the arguments in its schema, in which {path}, {from} and {to} stand for values that [Text] fills in; it is "" if
// the schema has no argument for a path.
func Find(tools []chat.Tool, preferred string) (name, example string) {
	for _, t := range tools {
		if preferred != "" && t.Name == preferred {
			return t.Name, exampleOf(t)
		}
	}
	for _, t := range tools {
		if !toolname.Is(t.Name, toolname.Read) && !toolname.Is(t.Name, toolname.Editor) {
			continue
		}
		if shown := exampleOf(t); name == "" || example == "" && shown != "" {
			name, example = t.Name, shown
		}
	}
	return name, example
}

// exampleOf returns a call that reads some lines of a file, "" if the tool's schema does not show how.
func exampleOf(tool chat.Tool) string {
	var schema struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(tool.Schema(), &schema) != nil {
		return ""
	}
	find := func(names []string, types ...string) string {
		for _, name := range names {
			found := ""
			for property, is := range schema.Properties {
				typed := len(is.Type) == 0 || slices.ContainsFunc(types, func(t string) bool { return strings.Contains(string(is.Type), `"`+t+`"`) })
				if toolname.Fold(property) == name && typed && (found == "" || property < found) {
					found = property
				}
			}
			if found != "" {
				return found
			}
		}
		return ""
	}
	path := find(pathParameters, "string")
	if path == "" {
		return ""
	}
	arguments := []string{fmt.Sprintf("%q: %s", path, pathPlaceholder)}
	if toolname.Is(tool.Name, toolname.Editor) {
		arguments = slices.Insert(arguments, 0, `"command": "view"`)
	}
	if start := find(startParameters, "integer", "number"); start != "" {
		arguments = append(arguments, fmt.Sprintf("%q: %s", start, fromPlaceholder))
		if limit := find(limitParameters, "integer", "number"); limit != "" {
			arguments = append(arguments, fmt.Sprintf("%q: %d", limit, exampleLines))
		} else if end := find(endParameters, "integer", "number"); end != "" {
			arguments = append(arguments, fmt.Sprintf("%q: %s", end, toPlaceholder))
		}
	}
	return tool.Name + "({" + strings.Join(arguments, ", ") + "})"
}
