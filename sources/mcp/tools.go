package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider"
)

// The limits of a list of tools.
const (
	mostTools       = 5000
	mostPages       = 200
	mostDescription = 8 << 10  // bytes
	mostSchema      = 64 << 10 // bytes
)

// list is what a server offers.
type list struct {
	tools     []chat.Tool
	names     map[string]string // the server's names of tools, by those that are declared
	notes     []string
	resources bool
}

// tool returns the server's name of a tool that is declared under a name.
func (s *Server) tool(declared string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := s.listed.names[declared]
	return name, ok
}

// form is that of names which all APIs take.
var form = provider.Words(64, "_-")

// prefix begins the names of a server's tools. It holds no other double underscore, so that the names of two servers are
// never the same.
func (s *Server) prefix() string { return plain(s.Name, 24) + "__" }

// name returns the name under which a tool of the server's is declared.
func (s *Server) name(tool string) string {
	name := s.prefix() + plain(tool, form.Max)
	if form.Fix(name) != name || name == s.reader() {
		name = form.Name(s.prefix() + tool + " ") // whose digest no other has
	}
	return name
}

// plain returns a name with letters, digits, hyphens and single underscores between others; one that ends in a digest if
// it is another than the name that is given.
func plain(name string, most int) string {
	fixed := strings.Trim(provider.Words(most, "_-").Fix(name), "_")
	for strings.Contains(fixed, "__") {
		fixed = strings.ReplaceAll(fixed, "__", "_")
	}
	if fixed == name && name != "" {
		return name
	}
	digest := form.Name(name + " ")
	return strings.Trim(fixed[:min(len(fixed), most-9)], "_") + "-" + digest[len(digest)-8:]
}

// list asks the server for its tools.
func (s *Server) list(ctx context.Context, c *connection) (list, error) {
	l := list{names: map[string]string{}}
	l.resources = capable(c).Resources != nil
	if l.resources {
		l.add(s, &sdk.Tool{Description: readDescription}, chat.Tool{Name: s.reader(), Parameters: json.RawMessage(readSchema)})
	}
	if capable(c).Tools == nil {
		return l, nil
	}
	params, seen := &sdk.ListToolsParams{}, map[string]bool{}
	for range mostPages {
		page, err := c.session.ListTools(ctx, params)
		if err != nil {
			return l, err
		}
		for _, t := range page.Tools {
			l.add(s, t, chat.Tool{Name: s.name(t.Name)})
		}
		if params.Cursor = page.NextCursor; params.Cursor == "" || seen[params.Cursor] || len(l.tools) >= mostTools {
			break
		}
		seen[params.Cursor] = true
	}
	return l, nil
}

func capable(c *connection) sdk.ServerCapabilities {
	if r := c.session.InitializeResult(); r != nil && r.Capabilities != nil {
		return *r.Capabilities
	}
	return sdk.ServerCapabilities{}
}

// add adds a tool as it is declared: a name that providers take, a text of some length, and the schema of an object.
func (l *list) add(s *Server, t *sdk.Tool, as chat.Tool) {
	note := func(format string, args ...any) {
		if len(l.notes) < 20 {
			l.notes = append(l.notes, fmt.Sprintf("%s: tool %q: ", s.line(s.Name), s.line(t.Name))+fmt.Sprintf(format, args...))
		}
	}
	if _, twice := l.names[as.Name]; twice || len(l.tools) >= mostTools {
		note("left out: there is another of its name, or there are more than %d", mostTools)
		return
	}
	as.Description = cmp.Or(plaintext.Cut(s.hide(plaintext.Plain(t.Description)), mostDescription), s.line(t.Title))
	if as.Parameters == nil {
		var object struct {
			Type       string
			Properties map[string]any
			Required   []string
		}
		schema, err := plainjson.Marshal(t.InputSchema)
		if err != nil || len(schema) > mostSchema || json.Unmarshal(schema, &object) != nil || object.Type != "object" {
			note("its schema is not one of an object, or has more than %d bytes: it takes any object", mostSchema)
			schema = []byte(`{"type":"object"}`)
		}
		as.Parameters = schema
	}
	l.names[as.Name] = t.Name
	l.tools = append(l.tools, as)
}
