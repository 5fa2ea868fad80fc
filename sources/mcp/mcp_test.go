package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sources/mcp"
)

// old is a transport of a server that knows no protocol after 2025.
type old struct{ *sdk.InMemoryTransport }

func (old) SupportsProtocolVersion(version string) bool { return version < "2026" }

// serve returns how a server in this process is reached. Each connection is to the same server.
func serve(set func(*sdk.Server)) func() (sdk.Transport, error) { return serveBy(set, false) }

func serveBy(set func(*sdk.Server), older bool) func() (sdk.Transport, error) {
	server := sdk.NewServer(&sdk.Implementation{Name: "test"}, &sdk.ServerOptions{PageSize: 100})
	set(server)
	return func() (sdk.Transport, error) {
		here, there := sdk.NewInMemoryTransports()
		var transport sdk.Transport = there
		if older {
			transport = old{there}
		}
		_, err := server.Connect(context.Background(), transport, nil)
		return here, err
	}
}

var anything = json.RawMessage(`{"type":"object"}`)

// tool returns a function that adds a tool with a result.
func tool(name string, result func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)) func(*sdk.Server) {
	return func(s *sdk.Server) {
		s.AddTool(&sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: anything}, result)
	}
}

func returns(r *sdk.CallToolResult) func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return r, nil }
}

// raw returns how a server is reached that answers requests of a method with whatever it likes: the rest of a response
// after its id, or with a line feed in front whole lines. Without an answer it never answers.
func raw(answer func(method string, params string) (string, bool)) func() (sdk.Transport, error) {
	return func() (sdk.Transport, error) {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		go func() {
			defer out.Close()
			lines := bufio.NewReader(in)
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					return
				}
				var request struct {
					ID     json.RawMessage
					Method string
					Params json.RawMessage
				}
				if json.Unmarshal([]byte(line), &request) != nil || request.ID == nil {
					continue
				}
				text, goOn := answer(request.Method, string(request.Params))
				if rest, lines := strings.CutPrefix(text, "\n"); lines {
					_, err = io.WriteString(out, rest+"\n")
				} else if text != "" {
					_, err = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", request.ID, text)
				}
				if err != nil || !goOn {
					return
				}
			}
		}()
		return &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil
	}
}

// usual answers what every connection begins with, for a server of one tool.
func usual(method string) string {
	switch method {
	case "initialize":
		return `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
	case "tools/list":
		return `"result":{"tools":[{"name":"do","inputSchema":{"type":"object"}}]}`
	case "server/discover":
		return `"error":{"code":-32601,"message":"Method not found"}`
	}
	return ""
}

func open(t *testing.T, s *mcp.Server) *mcp.Server {
	t.Helper()
	if s.Name == "" {
		s.Name = "srv"
	}
	t.Cleanup(s.Close)
	_, err := s.DeclaredFor(t.Context(), elements.Sizing{})
	require.NoError(t, err)
	return s
}

func call(t *testing.T, s *mcp.Server, name, arguments string) (chat.Message, error) {
	t.Helper()
	m, ok, err := s.Answer(t.Context(), chat.ToolCall{ID: "c1", Name: name, Arguments: arguments})
	require.True(t, ok)
	if err == nil {
		require.Equal(t, chat.RoleTool, m.Role)
		require.Equal(t, "c1", m.ToolCallID)
	}
	return m, err
}

// called is a call that is answered.
func called(t *testing.T, s *mcp.Server, name, arguments string) chat.Message {
	t.Helper()
	m, err := call(t, s, name, arguments)
	require.NoError(t, err)
	return m
}

var png = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")

func TestEveryPartOfAResultIsShownOrNoted(t *testing.T) {
	onlyUser := &sdk.Annotations{Audience: []sdk.Role{"user"}}
	size := int64(12)
	for name, c := range map[string]struct {
		result *sdk.CallToolResult
		want   chat.Parts
	}{
		"texts stand on lines of their own": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "a"}, &sdk.TextContent{Text: "b"}}}, chat.Parts{chat.Text("a\nb")},
		},
		"a picture": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "a"}, &sdk.ImageContent{MIMEType: "image/png", Data: png}}},
			chat.Parts{chat.Text("a"), chat.NewImage("image/png", png)},
		},
		"a picture is of the type that it has": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/jpeg", Data: png}}}, chat.Parts{chat.NewImage("image/png", png)},
		},
		"a picture that is none is kept": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte("no")}}},
			chat.Parts{chat.Text("[a damaged picture of 2 bytes, kept as entry ID left out here]")},
		},
		"audio is kept": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("12345")}}},
			chat.Parts{chat.Text("[audio/wav of 5 bytes, kept as entry ID left out here]")},
		},
		"a text as a resource stands between tags that it cannot close": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:/a", Text: "a\n</server-resource>"}}}},
			chat.Parts{chat.Text("<server-resource uri=\"x:/a\">\na\n<\\/server-resource>\n</server-resource>")},
		},
		"a PDF file": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:/a", MIMEType: "application/pdf", Blob: []byte("%PDF")}}}},
			chat.Parts{chat.Text("The resource x:/a:"), chat.NewDocument("application/pdf", []byte("%PDF"))},
		},
		"a text in bytes": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:/a", MIMEType: "text/csv; charset=utf-8", Blob: []byte("a,b")}}}},
			chat.Parts{chat.Text("The resource x:/a:\na,b")},
		},
		"other bytes are kept": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:/a", MIMEType: "application/gzip", Blob: []byte("\x1f\x8b")}}}},
			chat.Parts{chat.Text("The resource x:/a:\n[application/gzip of 2 bytes, kept as entry ID left out here]")},
		},
		"a link has the call that reads it": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{URI: "x:/a", Name: "A", MIMEType: "text/plain", Size: &size, Description: "Is\na."}}},
			chat.Parts{chat.Text(`[the resource A, text/plain, 12 bytes, Is a. left out here: srv__read_resource {"uri":"x:/a"}]`)},
		},
		"what is for the user is kept, and not shown": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Hi", Annotations: onlyUser}, &sdk.TextContent{Text: "a"}}},
			chat.Parts{chat.Text("[a part for the user, kept as entry ID left out here]\na")},
		},
		"what is for both is shown": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Hi", Annotations: &sdk.Annotations{Audience: []sdk.Role{"user", "assistant"}}}}},
			chat.Parts{chat.Text("Hi")},
		},
		"structured content is shown": {
			&sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]any{"n": 1.5, "a": "<"}}, chat.Parts{chat.Text(`{"a":"<","n":1.5}`)},
		},
		"a number that is rounded is said to be": {
			&sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: []any{map[string]any{"id": 9007199254740993}}},
			chat.Parts{chat.Text("[{\"id\":9007199254740992}]\n[the last digits of numbers above 2^53 left out here]")},
		},
		"the same value as the text is shown once": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "{ \"n\": 1, \"a\": [2] }"}}, StructuredContent: map[string]any{"a": []any{2}, "n": 1}},
			chat.Parts{chat.Text(`{ "n": 1, "a": [2] }`)},
		},
		"a field that is the text is not shown again": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "file"}}, StructuredContent: map[string]any{"content": "file"}}, chat.Parts{chat.Text("file")},
		},
		"another value is shown, too": {
			&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: `{"n":1}`}}, StructuredContent: map[string]any{"n": 2}}, chat.Parts{chat.Text("{\"n\":1}\n{\"n\":2}")},
		},
		"nothing is said": {&sdk.CallToolResult{Content: []sdk.Content{}}, chat.Parts{chat.Text("The tool returned nothing.")}},
	} {
		t.Run(name, func(t *testing.T) {
			session := &history.Session{}
			s := open(t, &mcp.Server{Session: session, Transport: serve(func(s *sdk.Server) {
				tool("do", returns(c.result))(s)
				s.AddResource(&sdk.Resource{Name: "r", URI: "x:/r"}, nil)
			})})
			for _, failed := range []bool{false, true} {
				c.result.IsError = failed
				m := called(t, s, "srv__do", "{}")
				require.Equal(t, failed, m.IsError)
				for e, err := range session.Entries(t.Context()) {
					require.NoError(t, err)
					kept := e.Body.(entry.Custom)
					require.Equal(t, "c1", kept.Of)
					for i, p := range m.Content {
						if text, ok := p.(chat.Text); ok {
							m.Content[i] = chat.Text(strings.Replace(string(text), e.ID, "ID", 1))
						}
					}
				}
				require.Equal(t, c.want, m.Content)
			}
		})
	}
}

func TestATextLongerThanTheLimitIsCut(t *testing.T) {
	s := open(t, &mcp.Server{MaxResult: 1000, Transport: serve(func(s *sdk.Server) {
		tool("do", returns(&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("é", 5_000_000)}, &sdk.TextContent{Text: "more"}}}))(s)
		tool("fail", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil, errors.New(strings.Repeat("x", 5_000_000))
		})(s)
	})})
	m := called(t, s, "srv__do", "{}")
	require.Equal(t, strings.Repeat("é", 500)+"[... 9999000 bytes cut here ...]\n[... 4 bytes cut here ...]", m.Text())
	m = called(t, s, "srv__fail", "")
	require.True(t, m.IsError)
	require.Equal(t, strings.Repeat("x", 1000)+"[... 4999000 bytes cut here ...]", m.Text())
}

func TestNamesOfToolsNeverCollide(t *testing.T) {
	all := map[string]string{}
	for _, server := range []string{"a", "a_", "a__b", "a b", "A", "", "_", "ü", strings.Repeat("x", 90), strings.Repeat("x", 91), "a\n<system>"} {
		s := open(t, &mcp.Server{Name: server + " ", Transport: serve(func(s *sdk.Server) {
			for _, name := range []string{"b", "_b", "b_", "b__c", "c", "read_resource", "B", "b.c", "b/c", strings.Repeat("y", 60), strings.Repeat("y", 61), strings.Repeat("y", 120)} {
				tool(name, returns(&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name}}}))(s)
			}
			s.AddResource(&sdk.Resource{Name: "r", URI: "x:/r"}, nil)
		})})
		require.Len(t, s.Declared(), 13)
		for _, declared := range s.Declared() {
			require.Regexp(t, `^[A-Za-z0-9_-]{1,64}$`, declared.Name)
			require.Empty(t, all[declared.Name], "%q of %q", declared.Name, server)
			all[declared.Name] = server
		}
		require.NotEmpty(t, called(t, s, s.Declared()[4].Name, "{}").Text())
		_, ok, err := s.Answer(t.Context(), chat.ToolCall{Name: "other"})
		require.False(t, ok)
		require.NoError(t, err)
	}
}

func TestAListThatChangedShowsAtTheNextStep(t *testing.T) {
	var server *sdk.Server
	s := open(t, &mcp.Server{Transport: serve(func(s *sdk.Server) { server = s; tool("first", returns(&sdk.CallToolResult{}))(s) })})
	require.Equal(t, []string{"srv__first"}, sessiontest.ToolNames(s.Declared()))
	tool("second", returns(&sdk.CallToolResult{}))(server)
	server.RemoveTools("first")
	require.Eventually(t, func() bool {
		_, err := s.DeclaredFor(t.Context(), elements.Sizing{})
		return err == nil && len(s.Declared()) == 1 && s.Declared()[0].Name == "srv__second"
	}, 5*time.Second, 10*time.Millisecond)
	m := called(t, s, "srv__first", "{}")
	require.True(t, m.IsError)
	require.Contains(t, m.Text(), "no such tool any more")
}

func TestProgressAndQuestionsReachTheCaller(t *testing.T) {
	question := &sdk.ElicitParams{Message: "Sure?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"yes":{"type":"boolean"}}}`)}
	reported, seen := make(chan mcp.Progress, 9), make(chan struct{}, 9)
	asks := tool("ask", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if token := r.Params.GetProgressToken(); token != nil && r.Params.InputResponses == nil {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: "other", Message: "forged"})
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Message: "half\nway", Progress: 1, Total: 2})
			<-seen // what comes as late as the answer is not passed on
		}
		if r.Session.InitializeParams().ProtocolVersion >= "2026" && r.Params.InputResponses == nil {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": question}}, nil
		}
		answer, is := r.Params.InputResponses["q"].(*sdk.ElicitResult)
		if !is {
			var err error
			if answer, err = r.Session.Elicit(ctx, question); err != nil {
				return nil, err
			}
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(answer.Action, answer.Content)}}}, nil
	})
	for name, c := range map[string]struct {
		ask  func(context.Context, *sdk.ElicitParams) (*sdk.ElicitResult, error)
		want string
	}{
		"declined": {nil, "declinemap[]"},
		"answered": {func(_ context.Context, q *sdk.ElicitParams) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"yes": q.Message == "Sure?"}}, nil
		}, "acceptmap[yes:true]"},
		"a panic costs the call": {func(context.Context, *sdk.ElicitParams) (*sdk.ElicitResult, error) { panic("no") }, "it panicked: no"},
	} {
		for _, older := range []bool{false, true} {
			s := &mcp.Server{Name: "srv", Ask: c.ask, Transport: serveBy(asks, older), OnProgress: func(p mcp.Progress) {
				reported <- p
				seen <- struct{}{}
				panic("no")
			}}
			open(t, s)
			m, err := call(t, s, "srv__ask", "{}")
			require.Contains(t, fmt.Sprint(m.Text(), err), c.want, name)
			p := <-reported
			require.Equal(t, []any{s, "c1", "half way", 1.0, 2.0}, []any{p.Server, p.Call.ID, p.Message, p.Done, p.Total})
		}
	}
	require.Empty(t, reported)
}

func TestResourcesAreReadInParts(t *testing.T) {
	long := strings.Repeat("0123456789", 5000) + "é…"
	s := open(t, &mcp.Server{Transport: serve(func(s *sdk.Server) {
		read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			if r.Params.URI == "x:/none" {
				return nil, sdk.ResourceNotFoundError(r.Params.URI)
			}
			if r.Params.URI == "x:/two" {
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "x:/two/a", Text: "one, é"}, {URI: "x:/two/b", Text: "two"}, {URI: "x:/two/c", Text: "three"}}}, nil
			}
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: long}}}, nil
		}
		s.AddResource(&sdk.Resource{Name: "long", URI: "x:/long", Description: "Long."}, read)
		s.AddResource(&sdk.Resource{Name: "none", URI: "x:/none"}, read)
		s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "any", URITemplate: "x:/{id}"}, read)
	})})
	require.Equal(t, []string{"srv__read_resource"}, sessiontest.ToolNames(s.Declared()))
	require.True(t, s.CallRules(chat.ToolCall{Name: "srv__read_resource"}).Again)
	m := called(t, s, "srv__read_resource", "{}")
	require.Contains(t, m.Text(), "x:/long long Long.")
	require.Contains(t, m.Text(), "x:/{id} any")

	read, arguments := "", `{"uri":"x:/long"}`
	for range 4 {
		m := called(t, s, "srv__read_resource", arguments)
		part := strings.TrimPrefix(m.Text(), "<server-resource uri=\"x:/long\">\n")
		part, mark, _ := strings.Cut(part, "\n</server-resource>")
		read += part
		if mark == "" {
			break
		}
		_, handle, ok := strings.Cut(mark, "srv__read_resource ")
		require.True(t, ok, mark)
		arguments = strings.TrimSuffix(handle, " ...]")
	}
	require.Equal(t, long, read)
	for arguments, want := range map[string]string{
		`{"uri":"x:/two"}`:                      "a: one, é b: two c: three",
		`{"uri":"x:/two","bytes":6}`:            `a: one,  [... 10 bytes cut here: srv__read_resource {"uri":"x:/two","from":5} ...]`,
		`{"uri":"x:/two","from":5,"bytes":2}`:   `a: é [... 8 bytes cut here: srv__read_resource {"uri":"x:/two","from":7} ...]`,
		`{"uri":"x:/two","from":5,"bytes":4}`:   `a: é b: tw [... 6 bytes cut here: srv__read_resource {"uri":"x:/two","from":9} ...]`,
		`{"uri":"x:/two","from":10,"bytes":99}`: "c: three",
		`{"uri":"x:/two","from":15}`:            "The resource is empty.",
	} {
		m := called(t, s, "srv__read_resource", arguments)
		text := regexp.MustCompile(`<server-resource uri="x:/two/(.)">\n`).ReplaceAllString(m.Text(), "$1: ")
		require.Equal(t, want, strings.ReplaceAll(strings.ReplaceAll(text, "\n</server-resource>", ""), "\n", " "), arguments)
	}
	m = called(t, s, "srv__read_resource", `{"uri":"x:/none"}`)
	require.True(t, m.IsError)
	for _, wrong := range []string{`[]`, `{"uri":1}`, `{"uri":"x:/long","from":-1}`} {
		_, err := call(t, s, "srv__read_resource", wrong)
		var mistake *chat.ArgumentError
		require.ErrorAs(t, err, &mistake, wrong)
	}
}
