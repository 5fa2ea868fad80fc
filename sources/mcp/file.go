package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/regular"
)

// mostFile is the largest size of a file that names servers, in bytes.
const mostFile = 1 << 20

// row is a server in a file.
type row struct {
	Type, Command, Cwd, URL string
	Args                    []string
	Env, Headers            map[string]string
	Disabled                bool
}

// ReadFile reads the servers that a file of another program names: an object with mcpServers, or with servers as VS Code
// has it, comments allowed. Disabled ones are left out. ${NAME}, ${env:NAME} and ${NAME:-default} stand for variables of
// the environment, of which only those may be used whose names are given.
//
// A row that cannot be used is left out, and a note says why. The error is about the file as a whole. A row is a command:
// read only files that you would run.
func ReadFile(path string, variables ...string) (servers Servers, notes []string, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("mcp: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err == nil && len(data) > mostFile {
		err = fmt.Errorf("more than %d bytes", mostFile)
	}
	var file struct {
		MCPServers, Servers map[string]json.RawMessage
	}
	if err == nil {
		err = json.Unmarshal(withoutComments(data), &file)
	}
	if err == nil && file.MCPServers == nil && file.Servers == nil {
		err = errors.New("it names no servers: give an object with mcpServers or servers")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("mcp: %s: %w", path, err)
	}
	for _, rows := range []map[string]json.RawMessage{file.MCPServers, file.Servers} {
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			var r row
			err := json.Unmarshal(rows[name], &r)
			if err == nil && r.Disabled {
				continue
			}
			var s *Server
			if err == nil {
				s, err = r.server(name, variables)
			}
			if err == nil && slices.ContainsFunc(servers, func(o *Server) bool { return o.Name == name }) {
				err = errors.New("another row has the name")
			}
			if err != nil {
				notes = append(notes, fmt.Sprintf("%s: server %q left out: %v", path, plaintext.OneLine(name, 100), err))
				continue
			}
			servers = append(servers, s)
		}
	}
	return servers, notes, nil
}

// server returns the server of a row.
func (r row) server(name string, variables []string) (*Server, error) {
	var missing error
	fill := func(text string) string {
		filled, err := filled(text, variables)
		missing = errors.Join(missing, err)
		return filled
	}
	s := &Server{Name: name, Command: fill(r.Command), Dir: fill(r.Cwd), URL: fill(r.URL), Env: map[string]string{}, Headers: map[string]string{}}
	for _, a := range r.Args {
		s.Args = append(s.Args, fill(a))
	}
	for to, from := range map[*map[string]string]map[string]string{&s.Env: r.Env, &s.Headers: r.Headers} {
		for name, value := range from {
			(*to)[name] = fill(value)
		}
	}
	kind := strings.ToLower(strings.ReplaceAll(r.Type, "-", ""))
	s.SSE = kind == "sse"
	switch {
	case missing != nil:
		return nil, missing
	case !slices.Contains([]string{"", "stdio", "http", "streamablehttp", "sse"}, kind):
		return nil, fmt.Errorf("type %q is not known: give stdio, http or sse", plaintext.OneLine(r.Type, 100))
	case (s.Command == "") == (s.URL == ""), kind == "stdio" && s.Command == "", kind != "" && kind != "stdio" && s.URL == "":
		return nil, errors.New("give a command, or a url, as its type says")
	}
	return s, nil
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// filled returns a text with its variables replaced.
func filled(text string, variables []string) (string, error) {
	var missing error
	text = variable.ReplaceAllStringFunc(text, func(match string) string {
		name, otherwise, has := strings.Cut(match[2:len(match)-1], ":-")
		name = strings.TrimPrefix(name, "env:")
		value := os.Getenv(name)
		switch allowed := slices.Contains(variables, name); {
		case allowed && value != "":
			return value
		case has:
			return otherwise
		case allowed:
			missing = fmt.Errorf("the variable %s is not set", name)
		default:
			missing = fmt.Errorf("it uses %s, which is not among the variables that are allowed", plaintext.OneLine(match, 100))
		}
		return ""
	})
	return text, missing
}

// comment and lastComma match a string, or else a comment, or a comma with the end that follows it.
var (
	comment   = regexp.MustCompile(`(?s)("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/`)
	lastComma = regexp.MustCompile(`(?s)("(?:\\.|[^"\\])*")|,\s*([}\]])`)
)

// withoutComments returns JSON without comments, and without commas before an end.
func withoutComments(data []byte) []byte {
	return lastComma.ReplaceAll(comment.ReplaceAll(data, []byte("$1 ")), []byte("$1$2"))
}
