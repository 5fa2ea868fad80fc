// Package providertest holds tests that every adapter of a provider must pass.
package providertest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/provider/refusal"
)

// Secrets of a [Hostile] model: its key, and a parameter of its URL named "key".
const (
	Key      = "sk-Hostile0123456789/abc+DEF="
	QueryKey = "query-Key-9876543210"
)

// origin of the server that a hostile model asks.
const origin = "https://api.example.com:8443"

// Hostile is an adapter on a server that may answer anything.
type Hostile struct {
	// Model returns a model that asks the server at a URL through a client, with [Key] as its key, and with
	// "key="+[QueryKey] in the query if its SDK can add it.
	Model func(t testing.TB, client *http.Client, url string) chat.Model
	// Answer and Stream are whole answers of the provider with the text "Well.", Stream as events.
	Answer, Stream string
	// OnlyStreams is set if the model always asks for a stream.
	OnlyStreams bool
	// Bodies are further bodies that are not an answer, by name.
	Bodies map[string]string
	// Own reports whether an error is of a type of the SDK or the adapter.
	Own func(error) bool
	// Count is an answer to CountTokens. Empty if the model does not have it.
	Count string
	// Packages of which no goroutine may be left after the test.
	Packages []string
}

// statuses are the statuses of servers, gateways and proxies, and one that does not exist.
var statuses = []int{
	200, 201, 202, 204, 206, 300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 418, 422, 425, 429,
	500, 501, 502, 503, 504, 507, 520, 529, 599, 999,
}

// statusesFor returns the statuses to test a body with: fewer for long bodies, and with -short.
func statusesFor(body string) []int {
	switch long := len(body) > 5_000; {
	case long && testing.Short():
		return []int{200, 500}
	case long || testing.Short():
		return []int{200, 302, 400, 429, 500}
	}
	return statuses
}

// escaped is the key in JSON's escapes.
var escaped = func() string {
	var b strings.Builder
	for _, c := range Key {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}()

// anError is an error in the forms of all providers at once.
const anError = `{"type":"error","object":"error","message":"No.","code":"nope","error":{"type":"rate_limit_error","message":"No.","code":"nope","status":"RESOURCE_EXHAUSTED","param":null,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3s"}]},"request_id":"r1"}`

// bodies are bodies that are no provider's answer, by name.
var bodies = map[string]string{
	"nothing": "", "white space": " \r\n\t", "null": "null", "true": "true", "an array": "[]", "an object": "{}", "a string": `"text"`, "a number": "1e999",
	"cut off": `{"choices":[{"message":{"content":"We`, "HTML": "<!DOCTYPE html><html><body>502 Bad Gateway</body></html>",
	"an error": anError, "an error as a text": `{"error":"No."}`, "an error of null": `{"error":null}`, "an error as a number": `{"error":7}`, "an error as a list": `{"error":[null]}`,
	"errors in errors": `{"error":{"error":{"error":{"message":{"error":"No."}}}}}`, "an error of numbers": `{"error":{"message":1,"type":2,"code":3,"details":4,"status":5}}`,
	"null choices":  `{"choices":null,"output":null,"content":null,"candidates":null,"summary":null}`,
	"lists of null": `{"choices":[null],"output":[null],"content":[null],"candidates":[null],"summary":[null]}`,
	"invalid UTF-8": "{\"error\":{\"message\":\"\xff\xfe\"}}\xff", "NUL": "\x00\x00{\"error\":\x00}",
	"deep": strings.Repeat(`{"error":[`, 9_000), "deep and whole": strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
	"too deep":      strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000),
	"a long number": `{"choices":` + strings.Repeat("1", 30_000) + `,"candidates":` + strings.Repeat("1", 30_000) + `,"summary":` + strings.Repeat("1", 30_000) + `}`,
	"a long error":  `{"error":{"message":"` + strings.Repeat("No. ", 30_000) + `","code":"` + strings.Repeat("c", 30_000) + `"}}`,
	"a long page":   strings.Repeat("<p>No.</p>", 30_000),
	"many errors":   `{"error":{"details":[` + strings.Repeat(`{"a":"No."},`, 5_000) + `{}]}}`,
	"no event":      "hello\n\n", "an event of null": "data: null\n\n", "an event of an array": "data: []\n\n", "an event cut off": "data: {\n\n",
	"an event without data": "event: message_start\n\n", "an end": "data: [DONE]\n\n", "an event that is an error": "event: error\ndata: " + anError + "\n\n",
	"a long error as an event": "event: error\ndata: {\"error\":{\"message\":\"" + strings.Repeat("No. ", 30_000) + "\",\"code\":\"" + strings.Repeat("c", 30_000) + "\"}}\n\n",
	"a line without end":       "data: " + strings.Repeat("x", 1<<20),
	"the key":                  "You sent " + Key + " and " + url.QueryEscape(Key) + " and " + QueryKey,
	"the key in an error":      `{"error":{"message":"Bad key ` + Key + `","code":"` + Key + `","type":"` + QueryKey + `","` + Key + `":1},"message":"` + Key + `"}`,
	"the key in escapes":       `{"error":{"message":"` + escaped + `","code":"` + escaped + `"},"summary":{"a":"` + escaped + `"}}`,
	"the key often":            strings.Repeat(Key+" ", 60_000),
	"the key as an event":      "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"" + escaped + " " + Key + "\",\"code\":\"" + Key + "\"}}\n\n",
	"the key as no event":      Key + ": " + Key + "\n\n",
	"the key as data":          "data: " + Key + "\n\n",
	"the headers":              "POST / HTTP/1.1\r\nAuthorization: Bearer " + Key + "\r\nX-Api-Key: " + Key + "\r\n",
}

// memoryServer is a server in memory, as a transport. It cannot be reached where answer returns nil.
type memoryServer struct {
	answer func(*http.Request) *http.Response
	asked  []*http.Request
	bytes  int64 // of the bodies of all requests
}

// RoundTrip implements [http.RoundTripper].
func (m *memoryServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		n, _ := io.Copy(io.Discard, r.Body)
		m.bytes += n
	}
	m.asked = append(m.asked, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	res := m.answer(r)
	if res == nil {
		return nil, cmp.Or[error](r.Context().Err(), &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	}
	res.Proto, res.ProtoMajor, res.ProtoMinor, res.Request = "HTTP/1.1", 1, 1, r
	if res.Body == nil {
		res.Body = http.NoBody
	}
	return res, nil
}

// respond returns a response that echoes the key in its status and headers.
func respond(status int, body io.Reader, header ...string) *http.Response {
	h := http.Header{
		"Content-Type": {"application/json"}, "Request-Id": {Key + strings.Repeat("x", 5_000)}, "X-Request-Id": {Key}, "Anthropic-Workspace-Id": {Key},
	}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprintf("%d Bad key %s", status, Key), Header: h, Body: io.NopCloser(body), ContentLength: -1}
}

// text returns a server that always answers with this status and body.
func text(status int, body string) func(*http.Request) *http.Response {
	kind := "application/json"
	if strings.HasPrefix(body, "<") {
		kind = "text/html; key=" + Key
	}
	return func(*http.Request) *http.Response {
		return respond(status, strings.NewReader(body), "Content-Type", kind)
	}
}

// ask sends a request to a server, and checks the error, if any.
func (h Hostile) ask(ctx context.Context, t testing.TB, w *memoryServer, streamed bool) (chat.Response, error) {
	t.Helper()
	req := chat.Request{Messages: []chat.Message{chat.UserMessage("<b>Well</b>?\n\"é\"")}}
	if streamed {
		req.Stream = func(chat.Delta) {}
	}
	r, err := h.Model(t, &http.Client{Transport: w}, origin).Generate(ctx, req)
	h.check(t, err)
	return r, err
}

// check checks that an error has one of the documented types and a bounded length, and shows no secret.
func (h Hostile) check(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	require.LessOrEqual(t, len(err.Error()), provider.MaxErrorText)
	var walk func(error)
	walk = func(err error) {
		for _, form := range [...]string{"%s", "%v", "%+v", "%#v", "%q"} {
			said := fmt.Sprintf(form, err)
			require.LessOrEqual(t, len(said), 2*provider.MaxErrorText, "%T %s", err, form)
			for _, secret := range [...]string{Key, url.QueryEscape(Key), QueryKey, Key[:20]} {
				if strings.Contains(said, secret) {
					t.Fatalf("%T tells a secret in %s: %s", err, form, said)
				}
			}
		}
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				walk(inner)
			}
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				walk(inner)
			}
		}
	}
	walk(err)
	transient, passes := errors.AsType[*chat.TransientError](err)
	_, large := errors.AsType[*chat.ContextLimitError](err)
	_, answer := errors.AsType[*chat.AnswerError](err)
	_, redirect := errors.AsType[*chat.RedirectError](err)
	require.True(t, passes || large || answer || redirect || h.Own(err) || errors.Is(err, errEnough), "%T %v", err, err)
	if passes {
		require.GreaterOrEqual(t, transient.RetryAfter, time.Duration(0))
		require.LessOrEqual(t, transient.RetryAfter, provider.MaxWait)
	}
}

// errEnough is the cause with which the tests cancel contexts.
var errEnough = errors.New("enough of this")

// modes returns whether to stream, by a suffix for the names of tests.
func (h Hostile) modes() map[string]bool {
	return map[string]bool{"": false, " streamed": true}
}

// whole returns a whole answer, as a stream if the model asks for one.
func (h Hostile) whole(streamed bool) string {
	if streamed || h.OnlyStreams {
		return h.Stream
	}
	return h.Answer
}

// Test asks a server that answers all that a server may answer, streamed or not. There must be no panic, no request to
// another server and no unbounded read, and the result must be a valid answer or an error with a documented type, a
// bounded length and no secret.
func (h Hostile) Test(t *testing.T) {
	all := maps.Clone(bodies)
	maps.Copy(all, h.Bodies)
	for mode, streamed := range h.modes() {
		t.Run("a body that is not an answer is an error with any status"+mode, func(t *testing.T) {
			for name, body := range all {
				for _, status := range statusesFor(body) {
					_, err := h.ask(t.Context(), t, &memoryServer{answer: text(status, body)}, streamed)
					require.Error(t, err, "%d %s", status, name)
				}
			}
		})
		t.Run("an answer counts only with a status of success"+mode, func(t *testing.T) {
			for _, status := range statuses {
				w := &memoryServer{answer: text(status, h.whole(streamed))}
				r, err := h.ask(t.Context(), t, w, streamed)
				if status == 200 || status < 300 && err == nil {
					require.NoError(t, err)
					require.EqualValues(t, w.bytes, r.RequestBytes)
					require.Equal(t, "Well.", r.Message.Text())
				} else {
					require.Error(t, err, status)
				}
			}
		})
		t.Run("any value may be at any place of the JSON"+mode, func(t *testing.T) {
			for _, body := range mutants(h.whole(streamed)) {
				_, _ = h.ask(t.Context(), t, &memoryServer{answer: text(200, body)}, streamed) // some are valid, such as one with other usage
			}
			for _, body := range mutants(anError) {
				for _, status := range [...]int{400, 401, 429, 529} {
					_, err := h.ask(t.Context(), t, &memoryServer{answer: text(status, body)}, streamed)
					require.Error(t, err, body)
				}
				_, err := h.ask(t.Context(), t, &memoryServer{answer: text(200, "event: error\ndata: "+body+"\n\n")}, streamed)
				require.Error(t, err, body)
			}
		})
		t.Run("a body that breaks off or does not end is an error"+mode, func(t *testing.T) { h.testEnds(t, streamed) })
		t.Run("a bounded part of an endless body is read"+mode, func(t *testing.T) { h.testBounds(t, streamed) })
		t.Run("only redirects to the same server are followed"+mode, func(t *testing.T) { h.testRedirects(t, streamed) })
		t.Run("an error states a bounded wait"+mode, func(t *testing.T) { h.testWaits(t, streamed) })
	}
	if h.Count != "" {
		t.Run("a count is a count or an error", h.testCounts)
	}
	requireNoGoroutineOf(t, h.Packages...)
}

// mutants returns copies of a body, each with another value at one place of its JSON, or of one event of a stream.
func mutants(body string) []string {
	wrong := [...]string{`null`, `true`, `-1`, `9e99`, `""`, `"x"`, `[]`, `{}`, `[null]`, `[[]]`, `{"a":null}`}
	var all []string
	lines := strings.SplitAfter(body, "\n")
	for i, line := range lines {
		start := strings.IndexAny(line, "{")
		if start < 0 {
			continue
		}
		d := json.NewDecoder(strings.NewReader(line[start:]))
		var value any
		if d.Decode(&value) != nil {
			continue
		}
		for _, changed := range changes(value, wrong[:]) {
			other := slices.Clone(lines)
			other[i] = line[:start] + changed + "\n"
			all = append(all, strings.Join(other, ""))
		}
	}
	return all
}

// changes returns encodings of a value, each with another value at one place.
func changes(value any, wrong []string) []string {
	all := slices.Clone(wrong)
	encode := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	switch v := value.(type) {
	case []any:
		for i, inner := range v {
			for _, changed := range changes(inner, wrong) {
				other := slices.Clone(v)
				other[i] = json.RawMessage(changed)
				all = append(all, encode(other))
			}
		}
	case map[string]any:
		for key, inner := range v {
			for _, changed := range changes(inner, wrong) {
				other := maps.Clone(v)
				other[key] = json.RawMessage(changed)
				all = append(all, encode(other))
			}
			other := maps.Clone(v)
			delete(other, key)
			all = append(all, encode(other))
		}
	}
	return all
}

// readFunc is a reader that calls a function.
type readFunc func([]byte) (int, error)

// Read implements [io.Reader].
func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func (h Hostile) testEnds(t *testing.T, streamed bool) {
	whole := h.whole(streamed)
	none := func(*http.Request) *http.Response { return nil }
	_, err := h.ask(t.Context(), t, &memoryServer{answer: none}, streamed)
	require.ErrorAs(t, err, new(*chat.TransientError), "a server that cannot be reached: %v", err)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for range 2 { // before the answer, and before the request
		_, err := h.ask(ctx, t, &memoryServer{answer: func(*http.Request) *http.Response { cancel(errEnough); return nil }}, streamed)
		require.Equal(t, errEnough, err)
	}
	for _, status := range [...]int{200, 401, 503} {
		for _, n := range [...]int{0, 1, len(whole) / 2} {
			broken := io.MultiReader(strings.NewReader(whole[:n]), readFunc(func([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }))
			_, err := h.ask(t.Context(), t, &memoryServer{answer: func(*http.Request) *http.Response { return respond(status, broken) }}, streamed)
			require.Error(t, err)
			_, transient := errors.AsType[*chat.TransientError](err)
			require.Equal(t, status != 401, transient, "%d %v", status, err)

			ctx, cancel := context.WithCancelCause(t.Context())
			hanging := func(r *http.Request) *http.Response {
				return respond(status, io.MultiReader(strings.NewReader(whole[:n]), readFunc(func([]byte) (int, error) {
					cancel(errEnough)
					<-r.Context().Done()
					return 0, r.Context().Err()
				})))
			}
			_, err = h.ask(ctx, t, &memoryServer{answer: hanging}, streamed)
			require.Equal(t, errEnough, err)
		}
	}
	for _, event := range [...]string{": ping\n\n", "data: {}\n\n", "event: ping\ndata: {\"type\":\"ping\"}\n\n", "\n"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		read := 0
		endless := func(r *http.Request) *http.Response {
			return respond(200, readFunc(func(p []byte) (int, error) {
				if read++; read > 20 {
					cancel(errEnough)
					return 0, context.Canceled
				}
				return copy(p, strings.Repeat(event, 1+len(p)/len(event))), nil
			}))
		}
		_, err := h.ask(ctx, t, &memoryServer{answer: endless}, streamed)
		require.Error(t, err)
		cancel(nil)
	}
}

func (h Hostile) testBounds(t *testing.T, streamed bool) {
	const slack = 1 << 20 // for buffers that read ahead
	x := strings.Repeat("x", 64<<10)
	for _, tt := range []struct {
		rule, begin, again string
	}{
		{"a text", `{"id":"`, x},
		{"white space", ``, strings.Repeat(" ", 64<<10)},
		{"a line", "data: ", x},
		{"an event of many lines", "", "data: " + x + "\n"},
		{"comments", "", ": " + x + "\n\n"},
		{"the key", "", Key},
	} {
		for _, status := range [...]int{200, 302, 400, 500} {
			var read int64
			body := io.MultiReader(strings.NewReader(tt.begin), readFunc(func(p []byte) (int, error) {
				n := copy(p, tt.again[int(read)%len(tt.again):])
				read += int64(n)
				return n, nil
			}))
			_, err := h.ask(t.Context(), t, &memoryServer{answer: func(*http.Request) *http.Response { return respond(status, body) }}, streamed)
			require.Error(t, err)
			most := int64(provider.MaxAnswer)
			switch {
			case status != 200:
				most = 1 << 20
			case (streamed || h.OnlyStreams) && tt.rule == "comments":
				most = provider.MaxStream
			case streamed || h.OnlyStreams:
				most = provider.MaxEvent
			}
			require.LessOrEqual(t, read, most+slack, "%s with status %d", tt.rule, status)
		}
	}
	// A body whose Content-Length is too large is not read at all.
	_, err := h.ask(t.Context(), t, &memoryServer{answer: func(*http.Request) *http.Response {
		res := respond(200, readFunc(func([]byte) (int, error) { t.Error("read"); return 0, io.EOF }))
		res.ContentLength = 300 << 20
		return res
	}}, streamed)
	require.Error(t, err)
}

func (h Hostile) testRedirects(t *testing.T, streamed bool) {
	for _, tt := range []struct {
		rule, location, to string
	}{
		{"the same server", "/other", ""},
		{"the same server in full", origin + "/other?a=b", ""},
		{"itself", "", origin},
		{"another host", "https://evil.example.com/x", "https://evil.example.com"},
		{"a host below it", "https://x.api.example.com:8443/x", "https://x.api.example.com:8443"},
		{"another port", "https://api.example.com/x", "https://api.example.com"},
		{"another scheme", "http://api.example.com:8443/x", "http://api.example.com:8443"},
		{"another host without a scheme", "//evil.example.com/x", "https://evil.example.com"},
		{"a host named as the key", "https://" + QueryKey + ".example.com/x", "https://[secret].example.com"},
		{"a URL with the key", "https://evil.example.com/" + url.QueryEscape(Key), "https://evil.example.com"},
		{"no network", "file:///etc/passwd", "file://"},
		{"a long host", "https://" + strings.Repeat("x", 30_000) + "/", "https://" + strings.Repeat("x", 292) + "…"},
		{"no URL", "://" + Key, "-"},
	} {
		for _, status := range [...]int{301, 302, 303, 307, 308} {
			w := &memoryServer{}
			w.answer = func(r *http.Request) *http.Response {
				switch {
				case r.URL.Path == "/other":
					return respond(200, strings.NewReader(h.whole(streamed)))
				case tt.location == "":
					return respond(status, strings.NewReader(h.whole(streamed)), "Location", r.URL.String())
				}
				return respond(status, strings.NewReader(h.whole(streamed)), "Location", tt.location)
			}
			req := chat.Request{Messages: []chat.Message{chat.UserMessage("Well?")}}
			if streamed {
				req.Stream = func(chat.Delta) {}
			}
			_, err := h.Model(t, &http.Client{Transport: w}, origin).Generate(t.Context(), req)
			for _, asked := range w.asked {
				require.Equal(t, origin, asked.URL.Scheme+"://"+asked.URL.Host, "%d to %s", status, tt.rule)
			}
			require.LessOrEqual(t, len(w.asked), 10)
			switch tt.to {
			case "":
				require.NoError(t, err, "%d to %s", status, tt.rule)
				continue
			case "-":
				require.Error(t, err)
				require.NotContains(t, err.Error(), Key)
				continue
			}
			h.check(t, err)
			redirect, ok := errors.AsType[*chat.RedirectError](err)
			require.True(t, ok, "%d to %s: %v", status, tt.rule, err)
			strip := strings.NewReplacer(strings.Repeat("x", 50), "")
			require.Equal(t, strip.Replace(tt.to), strip.Replace(redirect.To))
			require.Equal(t, origin, redirect.From)
		}
	}
	for _, status := range [...]int{300, 301, 304, 307} { // without a Location
		_, err := h.ask(t.Context(), t, &memoryServer{answer: text(status, h.whole(streamed))}, streamed)
		require.Error(t, err)
	}
}

func (h Hostile) testWaits(t *testing.T, streamed bool) {
	for _, tt := range []struct {
		header, value string
		least, most   time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second, 7 * time.Second},
		{"Retry-After", "0.5", time.Second / 2, time.Second / 2},
		{"Retry-After-Ms", "250", 250 * time.Millisecond, 250 * time.Millisecond},
		{"Retry-After", time.Now().Add(10 * time.Hour).UTC().Format(http.TimeFormat), 9 * time.Hour, 10 * time.Hour},
		{"Retry-After", time.Now().Add(-10 * time.Hour).UTC().Format(http.TimeFormat), 0, 0},
		{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", provider.MaxWait, provider.MaxWait},
		{"Retry-After", "1e300", provider.MaxWait, provider.MaxWait},
		{"Retry-After", "Inf", provider.MaxWait, provider.MaxWait},
		{"Retry-After", "-7", 0, 0}, {"Retry-After", "NaN", 0, 0}, {"Retry-After", "soon", 0, 0}, {"Retry-After", "1e999", 0, provider.MaxWait},
		{"Retry-After", strings.Repeat("9", 2_000), 0, provider.MaxWait}, {"Retry-After-Ms", "-NaN", 0, 0},
	} {
		for _, status := range [...]int{408, 429, 500, 503, 529} {
			w := &memoryServer{answer: func(*http.Request) *http.Response {
				return respond(status, strings.NewReader(`{"error":{"message":"Slow down."}}`), tt.header, tt.value)
			}}
			_, err := h.ask(t.Context(), t, w, streamed)
			transient, ok := errors.AsType[*chat.TransientError](err)
			require.True(t, ok, "%d %v", status, err)
			require.GreaterOrEqual(t, transient.RetryAfter, tt.least, "%d %s: %s", status, tt.header, tt.value)
			require.LessOrEqual(t, transient.RetryAfter, tt.most, "%d %s: %s", status, tt.header, tt.value)
		}
	}
}

// TestErrors asks a server whose errors are those of the providers, or of gateways and proxies before them.
func (h Hostile) TestErrors(t *testing.T) {
	for mode, streamed := range h.modes() {
		t.Run("an error in the place of an answer is classified by its words"+mode, func(t *testing.T) { h.testRefusals(t, streamed) })
		t.Run("what a server says about the size of a request can be told from the error"+mode, func(t *testing.T) { h.testSizes(t, streamed) })
	}
}

// testRefusals asks a server that sends errors with status 200.
func (h Hostile) testRefusals(t *testing.T, streamed bool) {
	const wrongKey, tooLong = "Incorrect API key provided", "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
	answer, transient, limit := new(chat.AnswerError), new(chat.TransientError), new(chat.ContextLimitError)
	for _, tt := range []struct {
		rule, body string
		want       error    // of this type
		said       []string // parts of its text
	}{
		{"a message and a code", `{"error":{"message":"` + wrongKey + `","code":"invalid_api_key"}}`, answer, []string{wrongKey, "invalid_api_key"}},
		{"a message and a type", ` {"type":"error","error":{"type":"authentication_error","message":"` + wrongKey + `"}}`, answer, []string{wrongKey, "authentication_error"}},
		{"a message and a status", `{"error":{"message":"` + wrongKey + `","code":401,"status":"UNAUTHENTICATED"}}`, answer, []string{wrongKey, "401", "UNAUTHENTICATED"}},
		{"a text", `{"error":"` + wrongKey + `"}`, answer, []string{wrongKey}},
		{"a text and a message", `{"error":"Unauthorized","message":"` + wrongKey + `","statusCode":401}`, answer, []string{wrongKey, "Unauthorized", "401"}},
		{"a message without an error", `{"message":"` + wrongKey + `"}`, answer, []string{wrongKey}},
		{"a message with an empty answer", `{"choices":null,"content":[],"candidates":[],"output":[],"message":"` + wrongKey + `","code":"401"}`, answer, []string{wrongKey, "401"}},
		{"an error in a list", `[{"error":{"message":"` + wrongKey + `","code":401}}]`, answer, []string{wrongKey}},
		{"an error over lines", "{\n  \"error\": {\n    \"message\": \"" + wrongKey + "\"\n  }\n}\n", answer, []string{wrongKey}},
		{"an account without money", `{"error":{"message":"No quota.","type":"insufficient_quota","code":429}}`, answer, []string{"No quota."}},
		{"a key", `{"error":{"message":"Wrong key ` + Key + `","code":"` + Key + `"}}`, answer, []string{"Wrong key [secret]"}},
		{"a key in escapes", `{"error":{"message":"Wrong key ` + escaped + `"}}`, answer, []string{"Wrong key [secret]"}},
		{"a key where a long message is cut", `{"error":{"message":"` + strings.Repeat("x", 985) + Key + `"}}`, answer, []string{"xxx"}},
		{"a status of rates", `{"error":{"message":"Slow down.","code":429}}`, transient, []string{"Slow down."}},
		{"a status of rates as a text", `{"error":{"message":"Slow down.","code":"429"}}`, transient, []string{"Slow down."}},
		{"a status of the server", `{"message":"Busy.","status":503}`, transient, []string{"Busy.", "503"}},
		{"a type of rates", `{"error":{"message":"Slow down.","type":"rate_limit_error"}}`, transient, []string{"Slow down.", "rate_limit_error"}},
		{"the context limit", `{"error":{"message":"` + tooLong + `"}}`, &chat.ContextLimitError{Limit: 8192, Tokens: 9000}, []string{tooLong}},
		{"the context limit with a status", `{"error":{"message":"` + tooLong + `","code":400}}`, &chat.ContextLimitError{Limit: 8192, Tokens: 9000}, []string{tooLong}},
		{"the context limit in the words of a server behind it", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"` + tooLong + `\"}}","provider_name":"x"}}}`,
			&chat.ContextLimitError{Limit: 8192, Tokens: 9000}, []string{"Provider returned error: " + tooLong}},
		{"the words of a server behind it", `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"x is limited upstream."}}}`, transient, []string{"Provider returned error: x is limited upstream."}},
		{"MiniMax's error", `{"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`, answer, []string{"insufficient balance (1008)"}},
		{"MiniMax's limit", `{"choices":null,"base_resp":{"status_code":2013,"status_msg":"invalid params, context window exceeds limit"}}`, limit, []string{"(2013)"}},
		{"MiniMax's rate", `{"choices":null,"base_resp":{"status_code":1002,"status_msg":"rate limit"}}`, transient, []string{"rate limit (1002)"}},
		{"a status of too large requests", `{"error":{"message":"Too much.","code":413}}`, limit, []string{"Too much."}},
		{"no words", `{}`, transient, nil},
		{"an empty answer without words", `{"choices":[],"content":[],"candidates":[],"output":[],"error":null,"message":""}`, transient, nil},
		{"a message that is not a text", `{"message":{"role":"assistant","content":"Well."}}`, transient, nil},
	} {
		if tt.said == nil && streamed { // not an event
			continue
		}
		_, err := h.ask(t.Context(), t, &memoryServer{answer: text(200, tt.body)}, streamed)
		for _, said := range tt.said {
			require.ErrorContains(t, err, said, tt.rule)
		}
		require.IsType(t, tt.want, err, "%s: %v", tt.rule, err)
		if over, ok := tt.want.(*chat.ContextLimitError); ok {
			var got *chat.ContextLimitError
			require.ErrorAs(t, err, &got)
			require.Equal(t, [2]int{over.Limit, over.Tokens}, [2]int{got.Limit, got.Tokens}, tt.rule)
		}
	}
}

// testSizes asks a server that refuses requests for their size.
func (h Hostile) testSizes(t *testing.T, streamed bool) {
	const nginx = "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<hr><center>nginx/1.26.1</center>\r\n</body>\r\n</html>\r\n"
	for _, tt := range []struct {
		rule   string
		status int
		body   string
		want   refusal.Kind
	}{
		{"413 without a body", 413, "", refusal.Tokens},
		{"413 without words", 413, `{"error":{"message":"Payload Too Large","code":413}}`, refusal.Tokens},
		{"413 of a proxy", 413, nginx, refusal.Body},
		{"413 for bytes", 413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, refusal.Body},
		{"413 for bytes with numbers", 413, `{"error":{"message":"Maximum request body size 1048576 exceeded, actual body size 1056562","code":413,"status":"Request Entity Too Large"}}`, refusal.Body},
		{"413 for bytes as a text", 413, `{"error":"request body too large"}`, refusal.Body},
		{"413 for tokens", 413, `{"error":{"type":"invalid_request_error","message":"Request size exceeds model context window"}}`, refusal.Tokens},
		{"400 for tokens", 400, `{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, refusal.Tokens},
		{"400 for bytes", 400, `{"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}}`, refusal.Body},
		{"400 for an image", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes"},"request_id":"req_1"}`, refusal.Body},
		{"400 of a proxy", 400, strings.ReplaceAll(nginx, "413 Request Entity Too Large", "400 Bad Request"), refusal.Body},
		{"400 without a body", 400, "", refusal.Opaque},
		{"400 with an empty object", 400, "{}", refusal.Opaque},
		{"400 without words", 400, `{"message":"invalid request"}`, refusal.Opaque},
		{"400 without words in an error", 400, `{"error":{"message":"Bad Request","type":"invalid_request_error","param":null,"code":400}}`, refusal.Opaque},
		{"400 with an empty message", 400, `{"error":{"message":"","type":"invalid_request_error"}}`, refusal.Opaque},
		{"400 with other words", 400, `{"error":{"message":"Unknown parameter: 'foo'.","type":"invalid_request_error"}}`, refusal.None},
		{"401", 401, `{"error":{"message":"invalid request"}}`, refusal.None},
		{"429", 429, `{"error":{"message":"Too many bytes: the limit is 5 MB."}}`, refusal.None},
		{"502 of a proxy", 502, strings.ReplaceAll(nginx, "413 Request Entity Too Large", "502 Bad Gateway"), refusal.None},
		{"a page in the place of an answer", 200, strings.ReplaceAll(nginx, "413 Request Entity Too Large", "Welcome to nginx!"), refusal.None},
		{"413 in an answer", 200, `{"error":{"message":"Request exceeds the maximum size","type":"request_too_large","code":413}}`, refusal.Body},
		{"an image in an answer", 200, `{"error":{"message":"Too many images in request. Max is 10.","code":400}}`, refusal.Body},
		{"400 without words in an answer", 200, `{"error":{"message":"Provider returned error","code":400}}`, refusal.Opaque},
		{"another error in an answer", 200, `{"error":{"message":"Incorrect API key provided","code":401}}`, refusal.None},
	} {
		kind := "application/json"
		if strings.HasPrefix(tt.body, "<") {
			kind = "text/html"
		}
		_, err := h.ask(t.Context(), t, &memoryServer{answer: func(*http.Request) *http.Response {
			return &http.Response{
				StatusCode: tt.status, Status: fmt.Sprint(tt.status, " ", http.StatusText(tt.status)), Body: io.NopCloser(strings.NewReader(tt.body)),
				Header: http.Header{"Content-Type": {kind}, "Request-Id": {"req_011CUcqvXBc6AskCDuW4mM1q"}}, ContentLength: -1,
			}
		}}, streamed)
		require.Equal(t, tt.want, refusal.Of(err).Kind, "%s: %v", tt.rule, err)
		if kind == "text/html" && tt.status == 200 {
			require.ErrorContains(t, err, "is its address right", tt.rule)
		}
	}
}

// testCounts asks for a count of tokens.
func (h Hostile) testCounts(t *testing.T) {
	count := func(status int, body string) (int, error) {
		m, ok := h.Model(t, &http.Client{Transport: &memoryServer{answer: text(status, body)}}, origin).(interface {
			CountTokens(context.Context, chat.Request) (int, error)
		})
		require.True(t, ok)
		n, err := m.CountTokens(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("Well?")}})
		h.check(t, err)
		return n, err
	}
	n, err := count(200, h.Count)
	require.NoError(t, err)
	require.Positive(t, n)
	for name, body := range bodies {
		for _, status := range statusesFor(body) {
			_, err := count(status, body)
			require.Error(t, err, "%d %s", status, name)
		}
	}
	for _, body := range mutants(h.Count) {
		_, _ = count(200, body)
	}
}

// FuzzAnswers asks a server that answers with any status and body, streamed or not. A streamed answer without an error
// must be whole: ended reports whether an event ends the stream.
func (h Hostile) FuzzAnswers(f *testing.F, ended func(event map[string]any) bool) {
	for _, body := range []string{h.Answer, h.Stream, anError, "null", "data: null\n\n", "event: error\ndata: " + anError + "\n\n"} {
		f.Add([]byte(body), uint16(200), false)
		f.Add([]byte(body), uint16(429), false)
		for i := 0; i < len(body); i += 1 + len(body)/20 {
			f.Add([]byte(body[:i]), uint16(200), true)
		}
	}
	f.Add([]byte(h.Stream), uint16(200), true)
	f.Fuzz(func(t *testing.T, body []byte, status uint16, streamed bool) {
		w := &memoryServer{answer: func(*http.Request) *http.Response { return respond(int(status), bytes.NewReader(body)) }}
		_, err := h.ask(t.Context(), t, w, streamed)
		if err != nil || !streamed && !h.OnlyStreams {
			return
		}
		for line := range bytes.Lines(body) {
			var event map[string]any
			if _, data, ok := bytes.Cut(line, []byte("data:")); ok && json.Unmarshal(data, &event) == nil && ended(event) {
				return
			}
		}
		t.Errorf("a stream without an end is an answer: %q", body)
	})
}

// requireNoGoroutineOf waits for the goroutines of these packages to end.
func requireNoGoroutineOf(t *testing.T, packages ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		stacks := make([]byte, 1<<20)
		all := strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")
		for _, stack := range all[1:] { // the first is the test's own
			for _, p := range packages {
				if strings.Contains(stack, p) && !strings.Contains(stack, "testing.(*T).Run") {
					return false
				}
			}
		}
		return true
	}, 5*time.Second, 10*time.Millisecond)
}
