package openai_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/openai"
)

// server speaks both APIs over HTTP. It refuses requests as OpenAI's documentation says.
type server struct {
	*httptest.Server
	// answer returns the answer to a request that breaks no rule.
	answer func(api openai.API, request gjson.Result) reply

	mu       sync.Mutex
	requests []gjson.Result
	memory   memory
}

// reply is an answer: output items of the Responses API, from which both APIs' forms are made, or an error.
type reply struct {
	items  []item
	usage  usage
	finish string // finish_reason or incomplete reason; "" is an ordinary end

	status int // not 0: an error
	body   string
	header map[string]string

	cut      bool // the stream breaks off in the middle, or after a number of events
	after    int  // that number, if not 0
	noUsage  bool
	field    string // of Chat Completions, for reasoning
	midError string // an event in the middle that ends the stream
}

type item map[string]any

type usage struct{ in, out, cached, written, long int }

func newServer(t testing.TB, answer func(openai.API, gjson.Result) reply) *server {
	s := startServer(answer)
	t.Cleanup(s.Close)
	return s
}

func startServer(answer func(openai.API, gjson.Result) reply) *server {
	s := &server{answer: answer, memory: newMemory()}
	s.Server = httptest.NewServer(s)
	return s
}

var toJSON = sure.Encoded

// always returns the same answer to every request.
func always(r reply) func(openai.API, gjson.Result) reply {
	return func(openai.API, gjson.Result) reply { return r }
}

func (s *server) client() sdk.Client {
	return sdk.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey("test"))
}

func (s *server) model(api openai.API, name string) *openai.Model {
	return &openai.Model{Client: s.client(), Name: name, API: api}
}

// last returns the request that came last.
func (s *server) last(t testing.TB) gjson.Result {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotEmpty(t, s.requests)
	return s.requests[len(s.requests)-1]
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	request := gjson.ParseBytes(body)
	var api openai.API
	var broken string
	s.mu.Lock()
	s.requests = append(s.requests, request)
	switch r.URL.Path {
	case "/v1/chat/completions":
		broken = judgeChat(request)
	case "/v1/responses", "/v1/responses/input_tokens", "/v1/responses/compact":
		api = openai.Responses
		broken = s.memory.judge(request)
	default:
		broken = "Unknown request URL: " + r.URL.Path
	}
	s.mu.Unlock()
	if err != nil || !gjson.ValidBytes(body) {
		broken = "We could not parse the JSON body of your request."
	}
	a := reply{status: http.StatusBadRequest, body: errorBody(broken, "invalid_request_error", "")}
	if broken == "" {
		a = s.answer(api, request)
	}
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	switch {
	case a.status != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		fmt.Fprint(w, a.body)
	case strings.HasSuffix(r.URL.Path, "/input_tokens"):
		writeJSON(w, item{"object": "response.input_tokens", "input_tokens": a.usage.in})
	case strings.HasSuffix(r.URL.Path, "/compact"):
		output := a.items
		for _, message := range request.Get(`input.#(role=="user")#`).Array() { // returned unchanged
			output = append([]item{message.Value().(map[string]any)}, output...)
		}
		writeJSON(w, item{"id": "resp_1", "object": "response.compaction", "created_at": 1, "output": output, "usage": item{
			"input_tokens": a.usage.in, "output_tokens": a.usage.out, "input_tokens_details": item{"cached_tokens": a.usage.cached},
		}})
	default:
		s.mu.Lock()
		s.memory.issue(a.items)
		s.mu.Unlock()
		s.write(w, api, request, a)
	}
}

func (s *server) write(w http.ResponseWriter, api openai.API, request gjson.Result, a reply) {
	var whole item
	var events []string
	if api == openai.Responses {
		whole, events = responsesForm(request.Get("model").String(), a)
	} else {
		whole, events = chatForm(request.Get("model").String(), a, request.Get("stream_options.include_usage").Bool())
	}
	if !request.Get("stream").Bool() {
		writeJSON(w, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	middle := len(events) / 2
	if a.after > 0 {
		middle = a.after
	}
	for i, e := range events {
		if i == middle {
			if a.midError != "" {
				fmt.Fprint(w, a.midError)
				return
			}
			if a.cut {
				return
			}
		}
		fmt.Fprint(w, e)
		w.(http.Flusher).Flush()
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, toJSON(v))
}

// message, call and reasoning are output items.
func message(id, text string) item {
	return item{"type": "message", "id": id, "role": "assistant", "status": "completed",
		"content": []any{item{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}}}
}

func call(id, callID, name, arguments string) item {
	return item{"type": "function_call", "id": id, "call_id": callID, "name": name, "arguments": arguments, "status": "completed"}
}

func reasoning(id, summary, encrypted string) item {
	parts := []any{}
	if summary != "" {
		parts = append(parts, item{"type": "summary_text", "text": summary})
	}
	return item{"type": "reasoning", "id": id, "summary": parts, "encrypted_content": encrypted}
}

// responsesForm returns an answer in the form of the Responses API, whole and as a stream.
func responsesForm(model string, a reply) (item, []string) {
	response := item{"id": "resp_1", "object": "response", "model": model, "status": "completed", "output": a.items, "error": nil,
		"incomplete_details": nil}
	if a.finish != "" {
		response["status"], response["incomplete_details"] = "incomplete", item{"reason": a.finish}
	}
	if !a.noUsage {
		response["usage"] = item{"input_tokens": a.usage.in, "output_tokens": a.usage.out, "total_tokens": a.usage.in + a.usage.out,
			"input_tokens_details": item{"cached_tokens": a.usage.cached, "cache_write_tokens": a.usage.written,
				"cache_write_tokens_details": item{"ttl_30m_tokens": a.usage.written - a.usage.long, "ttl_12h_tokens": a.usage.long}},
			"output_tokens_details": item{"reasoning_tokens": 0}}
	}
	var events []string
	add := func(kind string, fields item) {
		fields["type"], fields["sequence_number"] = kind, len(events)
		events = append(events, "event: "+kind+"\ndata: "+toJSON(fields)+"\n\n")
	}
	add("response.created", item{"response": item{"id": "resp_1", "object": "response", "status": "in_progress", "output": []any{}}})
	for i, it := range a.items {
		at := item{"output_index": i, "item_id": it["id"]}
		with := func(fields item) item {
			out := maps.Clone(at)
			maps.Copy(out, fields)
			return out
		}
		added := item{"type": it["type"], "id": it["id"], "status": "in_progress"}
		if it["call_id"] != nil {
			added["call_id"], added["name"] = it["call_id"], it["name"]
		}
		add("response.output_item.added", with(item{"item": added}))
		raw := gjson.Parse(toJSON(it))
		for k, p := range raw.Get("summary").Array() {
			for _, piece := range pieces(p.Get("text").String()) {
				add("response.reasoning_summary_text.delta", with(item{"summary_index": k, "delta": piece}))
			}
		}
		for k, p := range raw.Get("content").Array() {
			kind := "response.output_text.delta"
			if p.Get("type").String() == "reasoning_text" {
				kind = "response.reasoning_text.delta"
			}
			for _, piece := range pieces(p.Get("text").String()) {
				add(kind, with(item{"content_index": k, "delta": piece}))
			}
		}
		for _, piece := range pieces(raw.Get("arguments").String()) {
			add("response.function_call_arguments.delta", with(item{"delta": piece}))
		}
		for _, piece := range pieces(raw.Get("input").String()) {
			add("response.custom_tool_call_input.delta", with(item{"delta": piece}))
		}
		add("response.output_item.done", with(item{"item": it}))
	}
	if a.finish != "" {
		add("response.incomplete", item{"response": response})
	} else {
		add("response.completed", item{"response": response})
	}
	return response, events
}

// chatForm returns an answer in the form of Chat Completions, whole and as a stream.
func chatForm(model string, a reply, includeUsage bool) (item, []string) {
	m := item{"role": "assistant", "content": nil, "refusal": nil}
	var deltas []item
	var calls []any
	for _, it := range a.items {
		raw := gjson.Parse(toJSON(it))
		switch it["type"] {
		case "reasoning":
			if a.field != "" {
				text := raw.Get("summary.0.text").String()
				m[a.field] = text
				for _, piece := range pieces(text) {
					deltas = append(deltas, item{a.field: piece})
				}
			}
		case "message":
			for _, p := range raw.Get("content").Array() {
				key, said := "content", p.Get("text").String()
				if p.Get("type").String() == "refusal" {
					key, said = "refusal", p.Get("refusal").String()
				}
				before, _ := m[key].(string)
				m[key] = before + said
				for _, piece := range pieces(said) {
					deltas = append(deltas, item{key: piece})
				}
			}
		case "function_call":
			i := len(calls)
			calls = append(calls, item{"id": it["call_id"], "type": "function", "function": item{"name": it["name"], "arguments": it["arguments"]}})
			deltas = append(deltas, item{"tool_calls": []any{item{"index": i, "id": it["call_id"], "type": "function", "function": item{"name": it["name"], "arguments": ""}}}})
			for _, piece := range pieces(fmt.Sprint(it["arguments"])) {
				deltas = append(deltas, item{"tool_calls": []any{item{"index": i, "function": item{"arguments": piece}}}})
			}
		}
	}
	finish := "stop"
	if calls != nil {
		m["tool_calls"] = calls
		finish = "tool_calls"
	}
	if a.finish != "" {
		finish = a.finish
	}
	u := item{"prompt_tokens": a.usage.in, "completion_tokens": a.usage.out, "total_tokens": a.usage.in + a.usage.out,
		"prompt_tokens_details": item{"cached_tokens": a.usage.cached, "cache_write_tokens": a.usage.written}}
	whole := item{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model,
		"choices": []any{item{"index": 0, "message": m, "finish_reason": finish, "logprobs": nil}}}
	if !a.noUsage {
		whole["usage"] = u
	}
	var events []string
	add := func(choices []any, more item) {
		chunk := item{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices}
		maps.Copy(chunk, more)
		events = append(events, "data: "+toJSON(chunk)+"\n\n")
	}
	add([]any{item{"index": 0, "delta": item{"role": "assistant", "content": ""}, "finish_reason": nil}}, nil)
	for _, d := range deltas {
		add([]any{item{"index": 0, "delta": d, "finish_reason": nil}}, nil)
	}
	add([]any{item{"index": 0, "delta": item{}, "finish_reason": finish}}, nil)
	if includeUsage && !a.noUsage {
		add([]any{}, item{"usage": u})
	}
	return whole, append(events, "data: [DONE]\n\n")
}

// pieces cuts a text between characters, as a stream does.
func pieces(text string) []string { return regexp.MustCompile(`(?s).{1,5}`).FindAllString(text, -1) }
