package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/postgrestest"
)

var cluster *postgrestest.Cluster // nil without PostgreSQL

func TestMain(m *testing.M) {
	os.Exit(postgrestest.Main(func(c *postgrestest.Cluster) { cluster = c }, func() int { return testAll(m) }))
}

// testAll fails if a goroutine outlives the tests.
func testAll(m *testing.M) int {
	before := runtime.NumGoroutine()
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && code == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "goroutines are left:\n%s\n", stacks[:runtime.Stack(stacks, true)])
			return 1
		}
	}
	return code
}

// log collects the log of a process.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// begin starts the program on a new, empty schema for two tenants. The client is acme's.
func begin(t *testing.T, args ...string) *replica {
	t.Helper()
	return inSchema(t)(time.Minute, append(args, "-migrate")...)
}

// inSchema returns a function that starts a process on a new, empty schema. An answer may continue for finish after a
// stop begins.
func inSchema(t *testing.T) func(finish time.Duration, args ...string) *replica {
	t.Helper()
	postgrestest.Needs(t, cluster)
	schema := postgrestest.Name()
	pool, err := pgxpool.New(context.Background(), cluster.URL)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "CREATE SCHEMA "+schema)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := pool.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE")
		require.NoError(t, err)
		pool.Close()
	})
	at, err := url.Parse(cluster.URL)
	require.NoError(t, err)
	query := at.Query()
	query.Set("search_path", schema)
	at.RawQuery = query.Encode()
	return func(finish time.Duration, args ...string) *replica { return start(t, at.String(), finish, args...) }
}

// replica is a running program.
type replica struct {
	client
	log  *log
	stop func() error // stops it and waits for its end
}

func start(t *testing.T, database string, finish time.Duration, args ...string) *replica {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("acme acme-token\nother other-token\n"), 0o600))
	o, err := parse(append([]string{"-listen", "localhost:0", "-tokens", file, "-database", database}, args...), io.Discard)
	require.NoError(t, err)
	o.finish = finish
	ctx, cancel := context.WithCancel(context.Background())
	out, stdout := io.Pipe()
	r := &replica{log: &log{}}
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, o, stdout, r.log)
		stdout.CloseWithError(io.EOF)
		ended <- err
	}()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		require.NoError(t, r.stop())
		if t.Failed() {
			t.Log(r.log)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		require.NoError(t, r.stop())
	}
	r.client = client{t: t, url: strings.TrimPrefix(strings.TrimSpace(line), "listening on "), token: "acme-token"}
	return r
}

// client is a client of one tenant.
type client struct {
	t          *testing.T
	url, token string
}

// as returns the client with another token.
func (c client) as(token string) client {
	c.token = token
	return c
}

// object is a JSON object.
type object = map[string]any

// send sends a request. A string body is sent unchanged.
func (c client) send(ctx context.Context, method, path string, body any) *http.Response {
	c.t.Helper()
	text, is := body.(string)
	if !is && body != nil {
		data, err := json.Marshal(body)
		require.NoError(c.t, err)
		text = string(data)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(text))
	require.NoError(c.t, err)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(c.t, err)
	return response
}

// do sends a request and returns the status and the object of the answer.
func (c client) do(method, path string, body any) (int, object) {
	c.t.Helper()
	response := c.send(c.t.Context(), method, path, body)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	var out object
	if len(data) > 0 && response.Header.Get("Content-Type") == "application/json" {
		require.NoError(c.t, json.Unmarshal(data, &out), string(data))
	} else {
		out = object{"text": string(data)}
	}
	return response.StatusCode, out
}

// ok sends a request that must succeed.
func (c client) ok(method, path string, body any) object {
	c.t.Helper()
	status, out := c.do(method, path, body)
	require.Less(c.t, status, 300, out)
	return out
}

// refused sends a request that must fail, and returns the status and the type of the error.
func (c client) refused(method, path string, body any) (int, string) {
	c.t.Helper()
	status, out := c.do(method, path, body)
	require.GreaterOrEqual(c.t, status, 400, out)
	wrong, _ := out["error"].(object)
	require.NotEmpty(c.t, wrong["message"], out)
	return status, wrong["type"].(string)
}

// sseEvent is an event of a stream.
type sseEvent struct {
	name string
	data object
}

// events reads a stream. If the answer is not a stream, it returns one event named "status".
func (c client) events(response *http.Response) (list []sseEvent) {
	c.t.Helper()
	defer response.Body.Close()
	if response.Header.Get("Content-Type") != "text/event-stream" {
		data, _ := io.ReadAll(response.Body)
		return []sseEvent{{"status", object{"code": response.StatusCode, "body": string(data)}}}
	}
	for next := range scan(c.t, response.Body) {
		list = append(list, next)
	}
	return list
}

// scan reads events one by one.
func scan(t *testing.T, body io.Reader) func(yield func(sseEvent) bool) {
	return func(yield func(sseEvent) bool) {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 8<<20)
		var e sseEvent
		for lines.Scan() {
			line := lines.Text()
			if name, is := strings.CutPrefix(line, "event: "); is {
				e.name = name
			}
			if data, is := strings.CutPrefix(line, "data: "); is {
				require.NoError(t, json.Unmarshal([]byte(data), &e.data))
			}
			if line == "" && e.name != "" {
				if !yield(e) {
					return
				}
				e = sseEvent{}
			}
		}
	}
}

// say sends a message and returns the events of the answer.
func (c client) say(session, text string) []sseEvent {
	c.t.Helper()
	return c.events(c.send(c.t.Context(), "POST", session+"/messages", object{"text": text}))
}

// answered sends a message that must be answered, and returns the last event.
func (c client) answered(session, text string) object {
	c.t.Helper()
	list := c.say(session, text)
	last := list[len(list)-1]
	require.Equal(c.t, "answer", last.name, list)
	require.Equal(c.t, true, last.data["done"])
	return last.data
}

// named returns the events with a name.
func named(list []sseEvent, name string) (found []object) {
	for _, e := range list {
		if e.name == name {
			found = append(found, e.data)
		}
	}
	return found
}

// transcript reads a whole session, page by page.
func (c client) transcript(session string) (list []object) {
	c.t.Helper()
	for after := ""; ; {
		entries := c.ok("GET", session+"?after="+after, nil)["entries"].([]any)
		if len(entries) == 0 {
			return list
		}
		for _, e := range entries {
			list = append(list, e.(object))
		}
		after = list[len(list)-1]["entry"].(string)
	}
}

// texts returns the messages of a transcript, each with its role.
func texts(list []object) (said []string) {
	for _, e := range list {
		said = append(said, fmt.Sprintf("%s: %s", e["role"], e["text"]))
	}
	return said
}
