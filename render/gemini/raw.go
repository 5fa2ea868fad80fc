package gemini

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
)

// The SDK holds the arguments of a call as a Go map, in which whole numbers beyond 2⁵³ lose digits and keys their order. So
// a client of NewClient hides the arguments of an answer from the SDK: where a Model asks, its transport puts them as a
// text under a key that this request alone knows, and Response takes the text. On the way out a hook of the SDK puts the
// text back in place of the map.

// NewClient makes a client of the SDK as [genai.NewClient] does, with the same config, nil included. What a [Model] on it
// is answered keeps the arguments of calls as the model wrote them, but for white space: with any other client the keys
// are sorted, and whole numbers beyond 2⁵³ lose digits.
func NewClient(ctx context.Context, config *genai.ClientConfig) (*genai.Client, error) {
	own := genai.ClientConfig{}
	if config != nil {
		own = *config
	}
	if own.HTTPClient != nil {
		copied := *own.HTTPClient
		own.HTTPClient = &copied
	}
	client, err := genai.NewClient(ctx, &own)
	if err != nil {
		return nil, err
	}
	h := client.ClientConfig().HTTPClient // nobody else's
	h.Transport = rawArguments{h.Transport}
	return client, nil
}

// rawKey is the key of a context under which a request says how its answer is to hold arguments.
type rawKey struct{}

func withRawArguments(ctx context.Context) (asked context.Context, key string) {
	key = "arguments-" + rand.Text()
	return context.WithValue(ctx, rawKey{}, key), key
}

// rawArguments is a transport that wraps the arguments of answers.
type rawArguments struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (t rawArguments) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	response, err := next.RoundTrip(r)
	key, asked := r.Context().Value(rawKey{}).(string)
	if err != nil || !asked || response.StatusCode != http.StatusOK {
		return response, err
	}
	body := &wrappedBody{Closer: response.Body, in: bufio.NewReader(response.Body), key: key}
	body.events = r.URL.Query().Get("alt") == "sse" // how the SDK asks for a stream
	response.Body, response.ContentLength = body, -1
	response.Header.Del("Content-Length")
	return response, nil
}

// wrappedBody is an answer of which the arguments are wrapped, an event at a time where it is streamed. The SDK reads
// each, and an answer that is not streamed, into memory as well.
type wrappedBody struct {
	io.Closer
	in     *bufio.Reader
	key    string
	events bool
	out    []byte
	err    error
}

// Read gives what is next of the answer.
func (b *wrappedBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 && b.err == nil {
		if b.events {
			b.out, b.err = b.in.ReadBytes('\n')
		} else if b.out, b.err = io.ReadAll(b.in); b.err == nil {
			b.err = io.EOF
		}
		data, event := bytes.CutPrefix(b.out, []byte("data:"))
		if event == b.events && bytes.Contains(data, []byte(`"functionCall"`)) {
			wrapped := wrapArguments(bytes.TrimSpace(data), b.key)
			if event {
				wrapped = append([]byte("data: "), append(wrapped, b.out[len(bytes.TrimRight(b.out, "\r\n")):]...)...)
			}
			b.out = wrapped
		}
	}
	if len(b.out) == 0 {
		return 0, b.err
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// wrapArguments puts the arguments of each call of an answer as a text under a key. What is no answer stays as it is.
func wrapArguments(answer []byte, key string) []byte {
	return within(answer, func(args json.RawMessage) json.RawMessage {
		var plain bytes.Buffer
		if json.Compact(&plain, args) != nil || plain.Bytes()[0] != '{' {
			return args
		}
		wrapped, err := json.Marshal(map[string]string{key: plain.String()})
		if err != nil {
			return args
		}
		return wrapped
	}, "candidates", "*", "content", "parts", "*", "functionCall", "args")
}

// within changes the value that stands under a path of keys, * for each member of a list.
func within(value json.RawMessage, change func(json.RawMessage) json.RawMessage, path ...string) json.RawMessage {
	if len(path) == 0 {
		return change(value)
	}
	var changed any
	if path[0] == "*" {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			return value
		}
		for i := range list {
			list[i] = within(list[i], change, path[1:]...)
		}
		changed = list
	} else {
		var o map[string]json.RawMessage
		if json.Unmarshal(value, &o) != nil || o[path[0]] == nil {
			return value
		}
		o[path[0]] = within(o[path[0]], change, path[1:]...)
		changed = o
	}
	raw, err := json.Marshal(changed)
	if err != nil {
		return value
	}
	return raw
}

// sendRawArguments has the SDK send the arguments of calls, in the order of the contents, as they are written.
func sendRawArguments(config *genai.GenerateContentConfig, written []json.RawMessage) {
	if config.HTTPOptions == nil {
		config.HTTPOptions = &genai.HTTPOptions{}
	}
	given := config.HTTPOptions.ExtrasRequestProvider
	config.HTTPOptions.ExtrasRequestProvider = func(body map[string]any) map[string]any {
		if given != nil {
			body = given(body)
		}
		next := 0
		each(body["contents"], func(content map[string]any) {
			each(content["parts"], func(part map[string]any) {
				if call, ok := part["functionCall"].(map[string]any); ok && next < len(written) {
					call["args"] = written[next]
					next++
				}
			})
		})
		return body
	}
}

// argumentsOf are the arguments of the calls in contents, in order, as they are written in the messages. The calls of a
// message stand in contents together, if in another order.
func argumentsOf(contents []*genai.Content, messages []chat.Message) (written []json.RawMessage) {
	var ids []string
	for _, content := range contents {
		for _, part := range content.Parts {
			if part.FunctionCall != nil {
				ids = append(ids, part.FunctionCall.ID)
			}
		}
	}
	for _, m := range messages {
		arguments := map[string]json.RawMessage{}
		for _, c := range m.ToolCalls {
			arguments[c.ID] = json.RawMessage(c.Arguments)
			if c.Arguments == "" {
				arguments[c.ID] = json.RawMessage(`{}`)
			}
		}
		for range m.ToolCalls {
			if len(written) < len(ids) {
				written = append(written, arguments[ids[len(written)]])
			}
		}
	}
	return written
}

// each visits the objects of a list of a request's body.
func each(list any, visit func(map[string]any)) {
	switch list := list.(type) {
	case []any:
		for _, v := range list {
			if o, ok := v.(map[string]any); ok {
				visit(o)
			}
		}
	case []map[string]any:
		for _, o := range list {
			visit(o)
		}
	}
}
