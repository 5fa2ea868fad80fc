package gemini

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/internal/wire"
)

// The SDK stores the arguments of a call as a Go map, in which keys lose their order and whole numbers beyond 2⁵³ lose
// digits. So the arguments of an answer are hidden from it: for a Model, a transport puts them as a text under a key
// that only this request knows, and Response reads the text. In requests, the map holds the text alone, and a hook of the SDK
// puts it in the place of the map.

// wrapBody makes the response's body wrap the arguments in an answer.
func wrapBody(response *http.Response, r *http.Request, key string) *http.Response {
	body := &wrappedBody{Closer: response.Body, in: bufio.NewReader(response.Body), key: key}
	body.events = r.URL.Query().Get("alt") == "sse" // the SDK asks for a stream in this way
	response.Body, response.ContentLength = body, -1
	response.Header.Del("Content-Length")
	return response
}

// wrappedBody is an answer with its arguments wrapped, one event at a time if it is streamed. The SDK also reads each
// event, and an answer that is not streamed, into memory.
type wrappedBody struct {
	io.Closer
	in     *bufio.Reader
	key    string
	events bool
	out    []byte
	err    error
}

// Read returns the next bytes of the answer.
func (b *wrappedBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 && b.err == nil {
		if b.events {
			b.out, b.err = b.event()
		} else if b.out, b.err = io.ReadAll(b.in); b.err == nil {
			b.out, b.err = b.wrap(b.out), io.EOF
		}
	}
	if len(b.out) == 0 {
		return 0, b.err
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// event reads the lines up to an empty one, without what the SDK takes for an error: comments, by which gateways keep a
// connection open (sub2api#7277), and OpenAI's mark of the end (litellm#29426). The SDK scans a whole event each time more
// of it arrives.
func (b *wrappedBody) event() (event []byte, err error) {
	for err == nil {
		var line []byte
		if line, err = b.in.ReadBytes('\n'); err != nil && err != io.EOF {
			return nil, err
		}
		text := bytes.TrimRight(line, "\r\n")
		data, ok := bytes.CutPrefix(text, []byte("data:"))
		said := string(bytes.TrimSpace(data))
		if ok && (said == "" || said == "[DONE]") || bytes.HasPrefix(text, []byte(":")) || len(text)+len(event) == 0 {
			continue
		}
		if ok {
			event = append(append(event, "data: "...), b.wrap(bytes.TrimSpace(data))...)
			line = line[len(text):]
		}
		event = append(event, line...)
		if len(text) == 0 {
			return event, err
		}
	}
	return event, err
}

// wrap puts the arguments of each call in an answer as a text under the key. Anything else stays as it is.
func (b *wrappedBody) wrap(answer []byte) []byte {
	if !bytes.Contains(answer, []byte(`"functionCall"`)) {
		return answer
	}
	return changeAt(answer, func(args json.RawMessage) json.RawMessage {
		var plain bytes.Buffer
		if json.Compact(&plain, args) != nil || plain.Bytes()[0] != '{' {
			return args
		}
		return wire.Marshal(map[string]string{b.key: plain.String()})
	}, "candidates", "*", "content", "parts", "*", "functionCall", "args")
}

// changeAt changes the value at a path of keys. The key * is each element of a list.
func changeAt(value json.RawMessage, change func(json.RawMessage) json.RawMessage, path ...string) json.RawMessage {
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
			list[i] = changeAt(list[i], change, path[1:]...)
		}
		changed = list
	} else {
		var o map[string]json.RawMessage
		if json.Unmarshal(value, &o) != nil || o[path[0]] == nil {
			return value
		}
		o[path[0]] = changeAt(o[path[0]], change, path[1:]...)
		changed = o
	}
	return wire.Marshal(changed)
}

// argumentsKey is the key under which each call of a request has its arguments until the SDK has made the body.
const argumentsKey = "arguments"

// sendRawArguments makes the SDK send the arguments of calls as written.
func sendRawArguments(config *genai.GenerateContentConfig) {
	if config.HTTPOptions == nil {
		config.HTTPOptions = &genai.HTTPOptions{}
	}
	given := config.HTTPOptions.ExtrasRequestProvider
	config.HTTPOptions.ExtrasRequestProvider = func(body map[string]any) map[string]any {
		contents, _ := body["contents"].([]map[string]any) // as the SDK converts lists for either server
		for _, content := range contents {
			parts, _ := content["parts"].([]map[string]any)
			for _, part := range parts {
				call, _ := part["functionCall"].(map[string]any)
				args, _ := call["args"].(map[string]any)
				if text, ok := args[argumentsKey].(string); ok {
					call["args"] = json.RawMessage(text)
				}
			}
		}
		if given != nil {
			body = given(body)
		}
		return body
	}
}
