package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/promptree-go/promptree/internal/callback"
)

const (
	// mostReceived is how many requests and notifications a server may send after a request until the next.
	mostReceived = 10_000
	// mostBytes is the size of an answer over HTTP, as the SDK limits others.
	mostBytes = 16 << 20
	// closing is how long a server has to end before it is killed.
	closing = 2 * time.Second
	// earlier is the protocol with which a server is tried that ends at the first request of the latest.
	earlier = "2025-11-25"
)

var errClosed = errors.New("mcp: the server was closed")

// connection is a connection to a server, with its process if it has one.
type connection struct {
	ctx      context.Context // of all that runs by it
	cancel   context.CancelFunc
	session  *sdk.ClientSession
	command  *exec.Cmd
	stderr   tail
	status   atomic.Int32    // of the latest answer over HTTP
	received atomic.Int32    // requests and notifications
	changed  atomic.Bool     // the list of tools is not up to date
	ended    context.Context // over once the session is

	once       sync.Once
	priorities map[string]float64 // of resources, by their addresses
}

func (c *connection) alive() bool { return c.ended.Err() == nil }

// request returns the context of a request, which ends with the connection, too.
func (c *connection) request(ctx context.Context) (context.Context, context.CancelFunc) {
	c.received.Store(0)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// close ends the connection and the process, whatever the server does.
func (c *connection) close() {
	c.cancel()
	if c.session != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 3*closing)
		defer cancel()
		_ = callback.Do(ctx, func(context.Context) error { return c.session.Close() })
	}
	if c.command != nil && c.command.Process != nil {
		killGroup(c.command)
	}
}

// why returns what is known of the end of a connection.
func (c *connection) why(err error) string {
	if c.received.Load() > mostReceived {
		return fmt.Sprintf("it sent more than %d messages", mostReceived)
	}
	return strings.TrimSpace(err.Error() + " " + c.stderr.String())
}

// refresh connects, unless that failed a short time ago, and brings the list of tools up to date.
func (s *Server) refresh(ctx context.Context) {
	s.mu.Lock()
	wait := s.closed || s.conn == nil && time.Since(s.tried) < s.pause
	s.mu.Unlock()
	if !wait {
		_, _ = s.connected(ctx) // the error is among the notes
	}
}

// connected returns the connection, made if there is none, with the list of tools up to date. The end of the context ends
// the waiting, not the attempt to connect, which others may wait for.
func (s *Server) connected(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	c := s.conn
	s.mu.Unlock()
	if c != nil && c.alive() && !c.changed.Load() {
		return c, nil
	}
	select {
	case r := <-s.connecting.DoChan("", func() (any, error) { return s.attempt(context.WithoutCancel(ctx)) }):
		c, _ = r.Val.(*connection)
		return c, r.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("mcp: %s: not connected yet: %w", s.line(s.Name), context.Cause(ctx))
	}
}

// attempt connects if there is no connection, and reads the list of tools. It ends by [Server.ConnectTimeout], or when the server is
// closed.
func (s *Server) attempt(ctx context.Context) (*connection, error) {
	limit := cmp.Or(max(0, s.ConnectTimeout), 30*time.Second)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.mu.Lock()
	c, closed := s.conn, s.closed
	s.stop = cancel
	s.mu.Unlock()
	var err error
	switch {
	case closed:
		return nil, errClosed
	case c == nil || !c.alive():
		s.drop(c)
		c, err = s.connect(ctx, limit)
	}
	var found list
	if err == nil {
		c.changed.Store(false) // before it is read
		found, err = s.list(ctx, c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		err = errClosed
	case err == nil:
		s.conn, s.listed, s.notes, s.pause = c, found, nil, 0
		return c, nil
	case ctx.Err() != nil:
		err = s.down(fmt.Errorf("no answer within %v", limit))
	default:
		err = s.down(err)
	}
	if s.conn = nil; c != nil {
		c.close()
	}
	return nil, err
}

// down records that the server does not answer, with a pause in which steps leave it alone.
func (s *Server) down(err error) error {
	s.tried, s.pause = time.Now(), min(max(2*s.pause, 10*time.Second), 10*time.Minute)
	s.notes = []string{fmt.Sprintf("%s: cannot be reached: %s", s.line(s.Name), s.line(err.Error()))}
	return errors.New("mcp: " + s.notes[0])
}

// drop closes the connection, unless there is another by now.
func (s *Server) drop(c *connection) {
	s.mu.Lock()
	is := c != nil && s.conn == c
	if is {
		s.conn = nil
	}
	s.mu.Unlock()
	if is {
		c.close()
	}
}

// connect makes a connection.
func (s *Server) connect(ctx context.Context, limit time.Duration) (c *connection, err error) {
	for _, version := range []string{"", earlier} {
		c = &connection{}
		c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
		if err = s.open(ctx, c, version, limit); err == nil {
			return c, nil
		}
		c.close()
		if c.status.Load() == http.StatusUnauthorized {
			return nil, fmt.Errorf("%s asks for authorisation (401): set Headers, HTTPClient or OAuth", s.URL)
		}
		if err = errors.New(c.why(err)); ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

func (s *Server) open(ctx context.Context, c *connection, version string, limit time.Duration) error {
	transport, err := s.transport(c)
	if err != nil {
		return err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "promptree", Version: "1"}, &sdk.ClientOptions{
		Capabilities:                &sdk.ClientCapabilities{}, // no roots
		ElicitationHandler:          s.ask,
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { c.changed.Store(true) },
		ProgressNotificationHandler: func(ctx context.Context, r *sdk.ProgressNotificationClientRequest) { s.progress(ctx, r.Params) },
	})
	client.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method == "server/discover" { // which an older server may never answer
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit/4)
				defer cancel()
			}
			return next(ctx, method, r)
		}
	})
	client.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if n := c.received.Add(1); n > mostReceived {
				if n == mostReceived+1 {
					go s.drop(c) // which waits for this
				}
				return nil, errors.New("too many messages")
			}
			return next(ctx, method, r)
		}
	})
	stop := context.AfterFunc(ctx, c.cancel) // some transports hold the context for good
	c.session, err = client.Connect(c.ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	ended, end := context.WithCancel(context.Background())
	c.ended = ended
	go func() { // ends with the connection
		_ = c.session.Wait()
		end()
	}()
	return nil
}

// transport returns what the SDK connects by.
func (s *Server) transport(c *connection) (sdk.Transport, error) {
	switch {
	case s.Transport != nil:
		return s.Transport()
	case s.Command != "":
		c.command = exec.Command(s.Command, s.Args...)
		c.command.Dir, c.command.Stderr, c.command.WaitDelay = s.Dir, &c.stderr, closing
		c.command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
		for name, value := range s.Env {
			c.command.Env = append(c.command.Env, name+"="+value)
		}
		ownGroup(c.command)
		return &sdk.CommandTransport{Command: c.command, TerminateDuration: closing / 2}, nil
	}
	at, err := http.NewRequest(http.MethodPost, s.URL, nil)
	if err != nil || at.URL.Host == "" {
		return nil, errors.New("no Command, valid URL or Transport is set: set one")
	}
	client := *cmp.Or(s.HTTPClient, &http.Client{})
	client.Transport = roundTripper{cmp.Or(client.Transport, http.DefaultTransport), s.Headers, c, at}
	if s.SSE {
		return &sdk.SSEClientTransport{Endpoint: s.URL, HTTPClient: &client}, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &client, OAuthHandler: s.OAuth, MaxRetries: 1}, nil
}

// roundTripper adds the headers of a server, to requests to its own host only, and limits the size of its answers.
type roundTripper struct {
	next    http.RoundTripper
	headers map[string]string
	c       *connection
	at      *http.Request
}

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == t.at.URL.Host && r.URL.Scheme == t.at.URL.Scheme {
		r = r.Clone(r.Context())
		for name, value := range t.headers {
			r.Header.Set(name, value)
		}
	}
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	t.c.status.Store(int32(response.StatusCode))
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") { // the SDK limits each event
		response.Body = http.MaxBytesReader(nil, response.Body, mostBytes)
	}
	return response, nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text string
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += string(p[max(0, len(p)-1000):])
	t.text = t.text[max(0, len(t.text)-1000):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text
}
