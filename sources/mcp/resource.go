package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
)

const (
	readDescription = `Read a resource of this server by its address, or list the resources if no address is given. A long one is read in parts; each part ends with the call that reads the next.`

	readSchema = `{"type":"object","properties":{` +
		`"uri":{"type":"string","description":"address of the resource"},` +
		`"from":{"type":"integer","description":"first byte; 0 if left out"},` +
		`"bytes":{"type":"integer","description":"how many at most; 20000 if left out"}}}`

	usualPart, mostPart = 20_000, 200_000 // bytes
	mostListed          = 100
)

// reader is the name of the tool that reads the server's resources.
func (s *Server) reader() string { return s.prefix() + "read_resource" }

// handle returns the call that reads a resource from a byte on, "" if none can.
func (s *Server) handle(uri string, from int) string {
	s.mu.Lock()
	can := s.listed.resources
	s.mu.Unlock()
	if !can {
		return ""
	}
	arguments, _ := json.Marshal(struct {
		URI  string `json:"uri"`
		From int    `json:"from,omitempty"`
	}{uri, from})
	return s.reader() + " " + plaintext.Outside(s.hide(string(arguments)))
}

// read answers a call of the tool that reads resources.
func (s *Server) read(ctx context.Context, c *connection, call chat.ToolCall) (chat.Message, error) {
	var r struct {
		URI         string
		From, Bytes int
	}
	if json.Unmarshal([]byte(cmp.Or(strings.TrimSpace(call.Arguments), "{}")), &r) != nil || r.From < 0 || r.Bytes < 0 {
		return chat.Message{}, chat.WrongArguments("mcp", chat.NotAnObject)
	}
	bound, end := c.request(ctx)
	defer end()
	out, err := s.content(call), error(nil)
	if r.URI == "" {
		err = out.list(bound, c)
	} else {
		err = out.part(bound, c, r.URI, r.From, min(cmp.Or(r.Bytes, usualPart), mostPart))
	}
	if err != nil {
		return s.failed(ctx, c, call, err)
	}
	return chat.Message{Role: chat.RoleTool, ToolCallID: call.ID, Content: out.parts}, out.err
}

// list adds a line for each resource of a server, and for each form of their addresses.
func (c *content) list(ctx context.Context, to *connection) error {
	resources, err := to.session.ListResources(ctx, nil)
	if err != nil {
		return err
	}
	for n, one := range resources.Resources {
		if n == mostListed || one == nil {
			c.note(fmt.Sprintf("%d more resources", len(resources.Resources)-n), "")
			break
		}
		c.text(c.s.line(one.URI + " " + one.Name + " " + one.MIMEType + " " + one.Description))
	}
	templates, err := to.session.ListResourceTemplates(ctx, nil)
	for n := 0; err == nil && n < min(mostListed, len(templates.ResourceTemplates)); n++ {
		if one := templates.ResourceTemplates[n]; one != nil {
			c.text(c.s.line(one.URITemplate + " " + one.Name + " (fill in the braces) " + one.Description))
		}
	}
	if len(c.parts) == 0 {
		c.text("There are no resources.")
	}
	return nil // a server need not know templates
}

// part adds at most so many bytes of a resource, from a byte on, with the call that reads the next.
func (c *content) part(ctx context.Context, to *connection, uri string, from, most int) error {
	answer, err := to.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return err
	}
	before, next := 0, from // bytes of the texts before, and of what was shown
	for _, one := range answer.Contents {
		switch {
		case one == nil || one.Blob != nil:
			if from == 0 {
				c.resource(ctx, one, one)
			}
			continue
		case next < before+len(one.Text) && next-from < most:
			start, end := plaintext.Align(one.Text, next-before), plaintext.Align(one.Text, min(len(one.Text), from+most-before))
			c.text(plaintext.ResourceTag.Around(c.s.hide(one.Text[start:end]), "uri", c.s.hide(one.URI)))
			if next = before + end; end < len(one.Text) {
				most = 0
			}
		}
		before += len(one.Text)
	}
	if next < before {
		c.text(plaintext.CutHere(before-next, "bytes", c.s.handle(uri, next)))
	}
	if len(c.parts) == 0 {
		c.text("The resource is empty.")
	}
	return nil
}

// Resource shows a resource of a server, read at each step. Place it in a message. While it cannot be read, what was read
// last stays, or a line says so. Its priority, unless one is set, is a thousand times that of the server's annotation; it
// competes with the siblings of the element.
type Resource struct {
	elements.Props
	Server *Server
	URI    string
}

// ElementProps returns the properties, with PassPriority if no priority is set.
func (r Resource) ElementProps() elements.Props {
	r.Props.PassPriority = r.Props.PassPriority || r.Props.Priority == nil
	return r.Props
}

// IgnoresBudget marks the element as one whose size does not depend on its share of the budget.
func (r Resource) IgnoresBudget() {}

// Render reads the resource.
func (r Resource) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	if r.Server == nil || r.URI == "" {
		return nil, errors.New("mcp: Resource.Server or URI is not set: set both")
	}
	now, err := r.Server.resource(ctx, r.URI)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := r.Server.content(chat.ToolCall{})
	if now.contents == nil {
		out.note("the resource "+r.Server.line(r.URI)+" cannot be read: "+r.Server.line(fmt.Sprint(err)), "")
	} else {
		for _, one := range now.contents {
			out.resource(ctx, one, one)
		}
	}
	props := elements.Props{Required: r.Required}
	if r.Props.Priority == nil && now.priority > 0 {
		props.Priority = new(int(min(now.priority, 1) * 1000))
	}
	var nodes elements.Nodes
	for _, p := range out.parts {
		if text, ok := p.(chat.Text); ok {
			nodes = append(nodes, elements.TextChunk{Children: elements.Nodes{elements.Text(text)}})
			continue
		}
		nodes = append(nodes, elements.Part(p))
	}
	return elements.Chunk{Props: props, Children: nodes}, nil
}

// shown is what a prompt shows of a resource.
type shown struct {
	contents []*sdk.ResourceContents
	priority float64 // of the server's annotation
}

// resource returns what a resource holds, or held when it could be read last; the error says why.
func (s *Server) resource(ctx context.Context, uri string) (shown, error) {
	within, cancel := context.WithTimeout(ctx, min(s.timeout(), 20*time.Second))
	defer cancel()
	s.refresh(within)
	s.mu.Lock()
	c, last := s.conn, s.rendered[uri]
	s.mu.Unlock()
	if c == nil {
		return last, errors.New(strings.Join(s.Notes(), "; "))
	}
	within, end := c.request(within)
	defer end()
	answer, err := c.session.ReadResource(within, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		if ctx.Err() == nil && (within.Err() != nil || !c.alive()) {
			s.drop(c)
			s.mu.Lock()
			defer s.mu.Unlock()
			_ = s.down(err)
		}
		return last, err
	}
	now := shown{answer.Contents, c.priority(within, uri)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rendered == nil {
		s.rendered = map[string]shown{}
	}
	s.rendered[uri] = now
	return now, nil
}

// priority returns the priority that the server gives a resource in its list, 0 for none.
func (c *connection) priority(ctx context.Context, uri string) float64 {
	c.once.Do(func() {
		c.priorities = map[string]float64{}
		for one, err := range c.session.Resources(ctx, nil) {
			if err != nil || len(c.priorities) >= mostTools {
				return
			}
			if one != nil && one.Annotations != nil {
				c.priorities[one.URI] = one.Annotations.Priority
			}
		}
	})
	return c.priorities[uri]
}
