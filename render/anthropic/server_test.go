package anthropic_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"
)

// server speaks the Messages API. It checks requests by the documented rules, and the thinking in them by its earlier
// answers.
type server struct {
	*httptest.Server
	// respond returns the answer to a request that breaks no rule.
	respond func(call int, r request) answer
	// window is the context window in tokens of four bytes; 0 for none.
	window int

	mu       sync.Mutex
	requests []request
	bodies   []string
	headers  []http.Header
	thought  map[string]string // the thinking of an answer, by the id of its first call
}

// answer is an answer of the server.
type answer struct {
	status  int // 0 for a message
	header  map[string]string
	kind    string // of the error
	message string // of the error

	blocks []block
	stop   string
	usage  map[string]any
	// applied are the edits that the answer reports.
	applied []block
	// breakOff ends the stream after this number of events, with an error event if there is a fault.
	breakOff int
	fault    string
	// cutOff replaces the arguments of the last call, as if max_tokens cut them off.
	cutOff string
}

type block = map[string]any

func text(s string) block { return block{"type": "text", "text": s} }

func think(s string) block {
	return block{"type": "thinking", "thinking": s, "signature": sign(s)}
}

func call(id, name string, input any) block {
	return block{"type": "tool_use", "id": id, "name": name, "input": input}
}

func say(blocks ...block) answer {
	a := answer{blocks: blocks, stop: "end_turn", usage: map[string]any{"input_tokens": 10, "output_tokens": 5}}
	for _, b := range blocks {
		if b["type"] == "tool_use" {
			a.stop = "tool_use"
		}
	}
	return a
}

func refuse(status int, kind, message string) answer {
	return answer{status: status, kind: kind, message: message}
}

func newServer(t testing.TB, respond func(call int, r request) answer) *server {
	s := startServer(respond)
	t.Cleanup(s.Close)
	return s
}

func startServer(respond func(call int, r request) answer) *server {
	s := &server{respond: respond, thought: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// client returns the SDK's client of the server.
func (s *server) client() sdk.Client {
	return sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(s.URL), option.WithAPIKey("key"))
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.Method != http.MethodPost || r.Header.Get("X-Api-Key") != "key" || r.Header.Get("Anthropic-Version") == "" {
		fail(w, refuse(401, "authentication_error", "no key or no version"))
		return
	}
	var req request
	if !utf8.Valid(body) || json.Unmarshal(body, &req) != nil {
		fail(w, refuse(400, "invalid_request_error", "The request body is not valid JSON"))
		return
	}
	counting := r.URL.Path == "/v1/messages/count_tokens"
	if !counting && r.URL.Path != "/v1/messages" {
		fail(w, refuse(404, "not_found_error", r.URL.Path))
		return
	}
	if counting {
		req.MaxTokens = 1 // counting does not require it
		req.Thinking = nil
	}
	err = cmp.Or(judge(req), judgeBetas(req, strings.Join(r.Header.Values("Anthropic-Beta"), ",")))
	if err != nil {
		fail(w, refuse(400, "invalid_request_error", err.Error()))
		return
	}
	tokens := len(body) / 4
	if counting {
		writeJSON(w, block{"input_tokens": tokens})
		return
	}
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, req)
	s.bodies = append(s.bodies, string(body))
	s.headers = append(s.headers, r.Header)
	err = s.remembers(req)
	s.mu.Unlock()
	switch {
	case err != nil:
		fail(w, refuse(400, "invalid_request_error", err.Error()))
	case s.window > 0 && tokens > s.window:
		fail(w, refuse(400, "invalid_request_error", fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, s.window)))
	default:
		s.answer(w, req, s.respond(n, req))
	}
}

func (s *server) answer(w http.ResponseWriter, req request, a answer) {
	if a.status != 0 {
		fail(w, a)
		return
	}
	s.mu.Lock()
	for _, b := range a.blocks {
		if b["type"] == "tool_use" {
			s.thought[b["id"].(string)] = thoughtOf(a.blocks)
			break
		}
	}
	s.mu.Unlock()
	if a.usage == nil {
		a.usage = map[string]any{}
	}
	if !req.Stream {
		writeJSON(w, message(a, a.blocks, a.stop))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	sent := 0
	send := func(kind string, data block) {
		if a.breakOff > 0 && sent == a.breakOff {
			if a.fault != "" {
				kind, data = "error", block{"error": block{"type": a.fault, "message": "it broke"}}
			} else {
				return
			}
		} else if a.breakOff > 0 && sent > a.breakOff {
			return
		}
		sent++
		data["type"] = kind
		raw, _ := json.Marshal(data)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw)
		w.(http.Flusher).Flush()
	}
	send("message_start", block{"message": message(a, []block{}, "")})
	send("ping", block{})
	for i, b := range a.blocks {
		start, deltas := a.deltas(b, i == len(a.blocks)-1)
		send("content_block_start", block{"index": i, "content_block": start})
		for _, d := range deltas {
			send("content_block_delta", block{"index": i, "delta": d})
		}
		send("content_block_stop", block{"index": i})
	}
	counts := block{"output_tokens": a.usage["output_tokens"]}
	if a.usage["iterations"] != nil {
		counts["iterations"] = a.usage["iterations"]
	}
	end := block{"delta": block{"stop_reason": a.stop, "stop_sequence": nil}, "usage": counts}
	if a.applied != nil {
		end["context_management"] = block{"applied_edits": a.applied}
	}
	send("message_delta", end)
	send("message_stop", block{})
}

// deltas returns a block as it is streamed: its start and the deltas.
func (a answer) deltas(b block, last bool) (start block, deltas []block) {
	start = maps.Clone(b)
	switch b["type"] {
	case "text":
		start["text"] = ""
		for _, piece := range pieces(b["text"].(string)) {
			deltas = append(deltas, block{"type": "text_delta", "text": piece})
		}
		if c, ok := b["citations"].([]any); ok {
			start["citations"] = []any{}
			for _, one := range c {
				deltas = append(deltas, block{"type": "citations_delta", "citation": one})
			}
		}
	case "thinking":
		start["thinking"], start["signature"] = "", ""
		for _, piece := range pieces(b["thinking"].(string)) {
			deltas = append(deltas, block{"type": "thinking_delta", "thinking": piece})
		}
		deltas = append(deltas, block{"type": "signature_delta", "signature": b["signature"]})
	case "compaction":
		delta := block{"type": "compaction_delta", "content": b["content"]}
		start["content"] = nil
		if b["encrypted_content"] != nil {
			delta["encrypted_content"], start["encrypted_content"] = b["encrypted_content"], nil
		}
		if b["signature"] != nil {
			start["signature"] = nil
			deltas = append(deltas, block{"type": "signature_delta", "signature": b["signature"]})
		}
		deltas = append(deltas, delta)
	case "tool_use", "server_tool_use":
		raw, _ := json.Marshal(b["input"])
		if last && a.cutOff != "" {
			raw = []byte(a.cutOff)
		}
		start["input"] = block{}
		deltas = append(deltas, block{"type": "input_json_delta", "partial_json": ""})
		for _, piece := range pieces(string(raw)) {
			deltas = append(deltas, block{"type": "input_json_delta", "partial_json": piece})
		}
	}
	return start, deltas
}

// pieces cuts a text between characters, as a stream does.
func pieces(text string) []string { return regexp.MustCompile(`(?s).{1,7}`).FindAllString(text, -1) }

func message(a answer, blocks []block, stop string) block {
	m := block{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test", "content": blocks,
		"stop_reason": nil, "stop_sequence": nil, "usage": a.usage,
	}
	if stop != "" {
		m["stop_reason"] = stop
	}
	return m
}

func fail(w http.ResponseWriter, a answer) {
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	raw, _ := json.Marshal(block{"type": "error", "error": block{"type": a.kind, "message": a.message}})
	w.Write(raw)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	raw, _ := json.Marshal(v)
	w.Write(raw)
}

// thoughtOf returns the thinking among blocks, as it must be sent back.
func thoughtOf(blocks []block) string {
	var b strings.Builder
	for _, one := range blocks {
		switch one["type"] {
		case "thinking":
			fmt.Fprintf(&b, "thinking %q %q\n", one["thinking"], one["signature"])
		case "redacted_thinking":
			fmt.Fprintf(&b, "redacted %q\n", one["data"])
		}
	}
	return b.String()
}

// remembers checks that the thinking in the current tool loop, if any, is unchanged. After a compaction, a message at
// the start of the loop that had no thinking may begin with that of an earlier message of the turn. A message may be
// without thinking unless the request has a budget for it: the API itself asks to remove what it cannot read.
func (s *server) remembers(r request) error {
	start := len(r.Messages)
	for start > 0 && (r.Messages[start-1].Role == "assistant" || r.Messages[start-1].onlyResults()) {
		start--
	}
	for i := start; i < len(r.Messages); i++ {
		m := r.Messages[i]
		if m.Role != "assistant" {
			continue
		}
		got := thoughtOf(m.Content)
		for _, b := range m.Content {
			given, known := s.thought[fmt.Sprint(b["id"])]
			goesOn := i == start && given == "" // the signature is checked with the block
			if b["type"] == "tool_use" && known && got != given && !goesOn && (got != "" || r.Thinking["type"] == "enabled") {
				return fmt.Errorf("messages.%d: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", i)
			}
		}
	}
	return nil
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func (s *server) last(t testing.TB) request {
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotEmpty(t, s.requests)
	return s.requests[len(s.requests)-1]
}
