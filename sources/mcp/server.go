package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/singleflight"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/callback"
)

// Server is a server and how it is reached: by a process (Command), at an address (URL), or by a Transport. It is a
// [chat.Toolbox] of the server's tools, connected at the first step and again when the connection is lost. Set the fields
// before use. It is safe for concurrent use and must not be copied.
type Server struct {
	// Name of the server, with which the names of its tools begin.
	Name string

	// Command is a program that speaks the protocol over its standard input and output, with its Args. Its environment is
	// PATH, HOME and Env. Dir is its working directory, the caller's by default.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string

	// URL of a server that speaks the protocol over HTTP, and Headers of the requests to it. They are sent to no other
	// host. SSE says that it speaks the older protocol of that name.
	URL     string
	Headers map[string]string
	SSE     bool
	// HTTPClient of the requests. Defaults to a client of its own.
	HTTPClient *http.Client
	// OAuth, if set, authorises the requests when the server asks for it.
	OAuth auth.OAuthHandler

	// Transport, if set, is called for each connection.
	Transport func() (sdk.Transport, error)

	// Session, if set, keeps what no model reads, such as audio, as custom entries.
	Session *history.Session
	// ConnectTimeout is how long a connection may take. Defaults to 30 seconds.
	ConnectTimeout time.Duration
	// Timeout of a call. Defaults to 2 minutes.
	Timeout time.Duration
	// MaxResult is the size, in bytes, to which the text of a result is cut. Defaults to 1 MiB.
	MaxResult int

	// OnProgress, if set, is called when the server reports the progress of a call; not for a report that comes as late as its answer.
	OnProgress func(Progress)
	// Ask, if set, answers a question of the server's to the user. Without it, questions are declined. It is called once at
	// a time; what is asked meanwhile is declined.
	Ask func(ctx context.Context, question *sdk.ElicitParams) (*sdk.ElicitResult, error)

	connecting singleflight.Group
	asking     sync.Mutex // held by a question
	calls      sync.Map   // calls that run, by their ids

	mu       sync.Mutex // guards what follows
	conn     *connection
	listed   list
	notes    []string // of the latest attempt to connect
	tried    time.Time
	pause    time.Duration // after the latest attempt, in which steps do not connect
	stop     func()        // ends the latest attempt
	closed   bool
	rendered map[string]shown // resources, by their addresses
}

// Progress is what a server reports of a call.
type Progress struct {
	Server  *Server
	Call    chat.ToolCall
	Message string
	// Done of Total, in units of the server's. A Total of 0 is not known.
	Done, Total float64
}

// Servers are servers of one agent.
type Servers []*Server

// Toolboxes returns the servers as toolboxes, for [tools.Deferred].Toolboxes or an agent.
//
// [tools.Deferred]: https://pkg.go.dev/github.com/promptree-go/promptree/sources/tools#Deferred
func (s Servers) Toolboxes() (list []chat.Toolbox) {
	for _, one := range s {
		list = append(list, one)
	}
	return list
}

// Connect connects to all servers at once, so that the first step need not wait for one after the other. What fails is in
// the notes, and is tried again.
func (s Servers) Connect(ctx context.Context) { s.each(func(one *Server) { one.refresh(ctx) }) }

// Close closes all servers.
func (s Servers) Close() { s.each((*Server).Close) }

func (s Servers) each(do func(*Server)) {
	var all sync.WaitGroup
	for _, one := range s {
		all.Go(func() { do(one) })
	}
	all.Wait()
}

// Declared returns the tools of the latest list, nothing before the first.
func (s *Server) Declared() []chat.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed.tools
}

// DeclaredFor brings the list of tools up to date and returns it. A server that cannot be reached is no error: its latest
// list stays, and [Server.Notes] says what is wrong.
func (s *Server) DeclaredFor(ctx context.Context, _ elements.Sizing) ([]chat.Tool, error) {
	s.refresh(ctx)
	return s.Declared(), context.Cause(ctx)
}

// Notes says what is wrong with the server: why it cannot be reached, and which of its tools are left out or changed.
func (s *Server) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.notes, s.listed.notes)
}

// Close ends the connection and the process, within a few seconds. The server cannot be used any more.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	c, stop := s.conn, s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
	s.drop(c)
}

// CallRules says that resources may be read again. What a tool does is not known, whatever the server says of it.
func (s *Server) CallRules(call chat.ToolCall) chat.CallRules {
	return chat.CallRules{Again: call.Name == s.reader()}
}

// Answer returns the result of a call, and false if its name does not begin with the server's. The error is a
// [*chat.ArgumentError], that of the session, the end of the context, or says that the server cannot be reached, ended,
// was too slow or sent too much. After each of these the server is connected anew for the next call.
func (s *Server) Answer(ctx context.Context, call chat.ToolCall) (result chat.Message, ok bool, err error) {
	if _, known := s.tool(call.Name); !known && !strings.HasPrefix(call.Name, s.prefix()) {
		return result, false, nil
	}
	arguments := json.RawMessage(cmp.Or(strings.TrimSpace(call.Arguments), "{}"))
	if object := (map[string]json.RawMessage{}); json.Unmarshal(arguments, &object) != nil {
		return result, true, chat.WrongArguments("mcp", chat.NotAnObject)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	c, err := s.connected(ctx)
	if err != nil {
		return result, true, err
	}
	if call.Name == s.reader() {
		result, err = s.read(ctx, c, call)
		return result, true, err
	}
	name, known := s.tool(call.Name)
	if !known { // asked again, because it may be the first connection
		return chat.FailedResult(call.ID, "The server "+s.line(s.Name)+" has no such tool any more."), true, nil
	}
	params := &sdk.CallToolParams{Name: name, Arguments: arguments}
	if s.OnProgress != nil {
		s.calls.Store(call.ID, call)
		defer s.calls.Delete(call.ID)
		params.SetProgressToken(call.ID)
	}
	bound, end := c.request(ctx)
	defer end()
	answer, err := c.session.CallTool(bound, params)
	if err != nil {
		result, err = s.failed(ctx, c, call, err)
		return result, true, err
	}
	result, err = s.result(ctx, call, answer)
	return result, true, err
}

func (s *Server) timeout() time.Duration { return cmp.Or(max(0, s.Timeout), 2*time.Minute) }

// failed returns the result of a call that the server refused, or the error of one that it did not answer.
func (s *Server) failed(ctx context.Context, c *connection, call chat.ToolCall, err error) (chat.Message, error) {
	_, refused := errors.AsType[*jsonrpc.Error](err)
	broken := c.ctx.Err() != nil || errors.Is(err, sdk.ErrConnectionClosed)
	if !broken && !refused {
		select { // the SDK says so a little later
		case <-c.ended.Done():
			broken = true
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	why := s.line(strings.TrimPrefix(c.why(err), `calling "tools/call": `))
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return chat.Message{}, fmt.Errorf("mcp: %s: no answer within %v: the call was cancelled, and whether it did anything is not known", s.line(s.Name), s.timeout())
	case ctx.Err() != nil:
		return chat.Message{}, context.Cause(ctx)
	case broken:
		s.drop(c)
		return chat.Message{}, fmt.Errorf("mcp: %s: the server ended during the call, and whether it did anything is not known; it is started again for the next call: %s", s.line(s.Name), why)
	case refused:
		out := s.content(call)
		out.text(cmp.Or(s.hide(strings.TrimPrefix(err.Error(), `calling "tools/call": `)), "The tool failed."))
		return chat.Message{Role: chat.RoleTool, ToolCallID: call.ID, Content: out.parts, IsError: true}, nil
	}
	return chat.Message{}, fmt.Errorf("mcp: %s: the answer cannot be read: %s", s.line(s.Name), why)
}

// progress passes on what the server reports of a call that runs.
func (s *Server) progress(ctx context.Context, p *sdk.ProgressNotificationParams) {
	if call, running := s.calls.Load(p.ProgressToken); running {
		_ = callback.Do(ctx, func(context.Context) error {
			s.OnProgress(Progress{s, call.(chat.ToolCall), s.line(p.Message), p.Progress, p.Total})
			return nil
		})
	}
}

// ask answers a question of the server's.
func (s *Server) ask(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	if s.Ask == nil || !s.asking.TryLock() {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	defer s.asking.Unlock()
	return callback.Call(ctx, func(ctx context.Context) (*sdk.ElicitResult, error) { return s.Ask(ctx, r.Params) })
}
