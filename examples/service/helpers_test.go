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

	"github.com/promptree-go/promptree/internal/postgrestest"
)

// programEnv is the environment variable that makes the test binary run as the program.
const programEnv = "PROMPTREE_SERVICE_PROGRAM"

var cluster *postgrestest.Cluster // nil without PostgreSQL

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		main()
	}
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

// place is the flags that select a store of sessions.
type place []string

func inFiles(t *testing.T) place { return place{"-dir", t.TempDir()} }

// inPostgres returns a place with a new, empty schema.
func inPostgres(t *testing.T) place {
	t.Helper()
	if cluster == nil {
		t.Skip(postgrestest.ErrNone)
	}
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
	return place{"-database", at.String()}
}

// inDatabase creates a database in the cluster and returns its URL, with another address if one is given.
func inDatabase(t *testing.T, address string) string {
	t.Helper()
	name := postgrestest.Name()
	pool, err := pgxpool.New(context.Background(), cluster.URL)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := pool.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
		require.NoError(t, err)
		pool.Close()
	})
	at, err := url.Parse(address)
	require.NoError(t, err)
	at.Path = "/" + name
	return at.String()
}

// everywhere runs a test on files and on PostgreSQL.
func everywhere(t *testing.T, f func(t *testing.T, at place)) {
	t.Run("files", func(t *testing.T) { t.Parallel(); f(t, inFiles(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); f(t, inPostgres(t)) })
}

// replica is a running program.
type replica struct {
	client
	log  *log
	stop func() error // stops it and waits for its end
}

// tokenFile is a file of tokens for two tenants.
const tokenFile = "# TENANT TOKEN\nacme acme-token\n\nother/../x other-token\nacme acme-second-token\n"

// begin starts the program for the two tenants of tokenFile. The client is acme's.
func begin(t *testing.T, at place, args ...string) *replica {
	t.Helper()
	return beginFor(t, time.Minute, at, args...)
}

// beginFor is begin with a time for which steps may continue after a stop begins.
func beginFor(t *testing.T, finish time.Duration, at place, args ...string) *replica {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte(tokenFile), 0o600))
	o, err := parse(append(append([]string{"-listen", "localhost:0", "-tokens", file}, at...), args...), io.Discard)
	require.NoError(t, err)
	o.finish = finish
	ctx, cancel := context.WithCancel(context.Background())
	out, stdout := io.Pipe()
	r := &replica{log: &log{}}
	ended := make(chan error, 1)
	go func() {
		err := work(ctx, o, stdout, r.log)
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
	go io.Copy(io.Discard, out)
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	require.Equal(t, o.serve, ok, line)
	r.client = client{t: t, url: address, token: "acme-token"}
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

// session creates a session and returns its address.
func (c client) session() string {
	c.t.Helper()
	return "/v1/sessions/" + c.ok("POST", "/v1/sessions", object{})["session"].(string)
}

// streamed is an event of a stream.
type streamed struct {
	name string
	data object
}

// events reads a stream. If the answer is not a stream, it returns one event named "status".
func (c client) events(response *http.Response) (list []streamed) {
	c.t.Helper()
	defer response.Body.Close()
	if response.Header.Get("Content-Type") != "text/event-stream" {
		data, _ := io.ReadAll(response.Body)
		return []streamed{{"status", object{"code": response.StatusCode, "body": string(data)}}}
	}
	for next := range scan(c.t, response.Body) {
		list = append(list, next)
	}
	return list
}

// scan reads events one by one.
func scan(t *testing.T, body io.Reader) func(yield func(streamed) bool) {
	return func(yield func(streamed) bool) {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 8<<20)
		var e streamed
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
				e = streamed{}
			}
		}
	}
}

// say sends a message and returns the events of the answer.
func (c client) say(session, text string) []streamed {
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
func named(list []streamed, name string) (found []object) {
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
		page := c.ok("GET", session+"?limit=7&after="+after, nil)
		for _, e := range page["entries"].([]any) {
			list = append(list, e.(object))
		}
		next, more := page["next"].(string)
		if !more {
			return list
		}
		after = next
	}
}

// texts returns the messages of a transcript, each with its role.
func texts(list []object) (said []string) {
	for _, e := range list {
		said = append(said, fmt.Sprintf("%s: %s", e["role"], e["text"]))
	}
	return said
}

// metric returns the value of a metric.
func (c client) metric(name string) string {
	c.t.Helper()
	for line := range strings.Lines(c.ok("GET", "/metrics", nil)["text"].(string)) {
		if value, is := strings.CutPrefix(line, name+" "); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// until waits until a metric has a value.
func (c client) until(name, value string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool { return c.metric(name) == value }, 10*time.Second, 2*time.Millisecond, "%s is not %s", name, value)
}
