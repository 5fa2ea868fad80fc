package openai_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/google/go-cmp/cmp"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/render/openai"
)

// The readers of a message: that of requests, that of answers, and the importer. A case that one of them does not meet, or
// of which it keeps what another leaves over, is not read by it.

func chatOfRequest(_ *testing.T, in json.RawMessage) ([]chat.Message, bool) {
	message := param.Override[sdk.ChatCompletionMessageParamUnion](in)
	read, err := openai.ReadChat(sdk.ChatCompletionNewParams{Messages: []sdk.ChatCompletionMessageParamUnion{message}})
	return read.Messages, err == nil && !keptByRequests(in)
}

// keptByRequests reports whether a message has something that a request keeps and a recording notes.
func keptByRequests(in json.RawMessage) bool {
	return gjson.GetBytes(in, "content.#.image_url.x|0").Exists() || strings.Contains(string(in), `null`) ||
		gjson.GetBytes(in, "tool_calls.0.extra_content").Raw == "{}" || gjson.GetBytes(in, "[reasoning,reasoning_content]|#").Int() == 2
}

func chatOfAnswer(_ *testing.T, in json.RawMessage) ([]chat.Message, bool) {
	answer := gjson.ParseBytes(in)
	if answer.Get("role").String() != "assistant" || answer.Get("content.#.type").Exists() || answer.Get("tool_calls.#.custom|0").Exists() || answer.Get("audio").Exists() {
		return nil, false // the API writes no such answer, or what is a field of a request is a part of an answer
	}
	var completion sdk.ChatCompletion
	if json.Unmarshal([]byte(`{"choices":[{"finish_reason":"stop","message":`+string(in)+`}]}`), &completion) != nil {
		return nil, false
	}
	r, err := openai.ChatResponse(&completion)
	return []chat.Message{r.Message}, err == nil
}

func chatOfRecording(_ *testing.T, in json.RawMessage) (said []chat.Message, ok bool) {
	r, err := importer.Read(strings.NewReader(`[{"role":"tool","tool_call_id":"x","content":"first"},` + string(in) + `]`))
	if err != nil || r.Format != "openai-chat" {
		return nil, false
	}
	for _, m := range r.Conversation() {
		said = append(said, m)
	}
	return said[1:], len(said) > 1
}

// itemsOf returns the items of a case, and whether they are an answer.
func itemsOf(in json.RawMessage) (list []json.RawMessage, answer bool) {
	if json.Unmarshal(in, &list) != nil {
		return nil, false
	}
	answer = true
	for _, item := range list {
		role := gjson.GetBytes(item, "role").String()
		answer = answer && (role == "assistant" || role == "" && !gjson.GetBytes(item, "output").Exists())
	}
	return list, answer
}

func itemsOfRequest(_ *testing.T, in json.RawMessage) ([]chat.Message, bool) {
	list, _ := itemsOf(in)
	var params responses.ResponseNewParams
	for _, item := range list {
		params.Input.OfInputItemList = append(params.Input.OfInputItemList, param.Override[responses.ResponseInputItemUnionParam](item))
	}
	read, err := openai.ReadItems(params)
	return read.Messages, err == nil
}

func itemsOfAnswer(_ *testing.T, in json.RawMessage) ([]chat.Message, bool) {
	var answer responses.Response
	if _, is := itemsOf(in); !is || json.Unmarshal([]byte(`{"status":"completed","output":`+string(in)+`}`), &answer) != nil {
		return nil, false
	}
	r, err := openai.ItemsResponse(&answer)
	return []chat.Message{r.Message}, err == nil
}

func itemsOfRecording(_ *testing.T, in json.RawMessage) (said []chat.Message, ok bool) {
	lines := `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a"}}`
	list, _ := itemsOf(in)
	for _, item := range list {
		if gjson.GetBytes(item, "type").String() == "" {
			return nil, false // Codex names it
		}
		lines += "\n" + `{"type":"response_item","payload":` + strings.ReplaceAll(string(item), "\n", " ") + `}`
	}
	r, err := importer.Read(strings.NewReader(lines))
	if err != nil {
		return nil, false
	}
	for _, m := range r.Conversation() {
		said = append(said, m)
	}
	return said, true
}

func TestEveryReaderReadsACaseAlike(t *testing.T) {
	for format, readers := range map[string]map[string]func(*testing.T, json.RawMessage) ([]chat.Message, bool){
		"completions": {"a request": chatOfRequest, "an answer": chatOfAnswer, "a recording": chatOfRecording},
		"items":       {"a request": itemsOfRequest, "an answer": itemsOfAnswer, "a recording": itemsOfRecording},
	} {
		for name, read := range readers {
			t.Run(format+": "+name, func(t *testing.T) {
				wiretest.Cases(t, format, func(t *testing.T, in json.RawMessage) ([]chat.Message, bool) {
					return read(t, json.RawMessage(strings.TrimSpace(string(in))))
				})
			})
		}
	}
}

// agreeOnMessage holds what the readers read of a message against each other: of an answer and a recording, and of a request
// and a recording. It reports whether it could: a recording notes, or keeps beside the message, what a request keeps in it.
func agreeOnMessage(t *testing.T, raw string) bool {
	t.Helper()
	r, err := importer.Read(strings.NewReader(`{"role":"developer","content":"s"}` + "\n" + strings.ReplaceAll(raw, "\n", " ")))
	if err != nil || len(r.Records) != 2 || r.Records[1].Message().Role == "" || r.Format != "openai-chat" {
		return false
	}
	recorded := r.Records[1].Body.(entry.Message)
	plain := len(recorded.Data) == 0 && r.Records[1].Usage == (chat.Usage{})
	kept := keptByRequests(json.RawMessage(raw))
	for _, n := range r.Notes {
		plain = plain && (n.Kind == "repeated" || n.Kind == "empty")
		kept = kept || n.Kind == "empty"
	}
	if said, ok := chatOfAnswer(t, json.RawMessage(raw)); plain && ok && recorded.Name == "" {
		require.Empty(t, cmp.Diff(plainOpaque(said[0]), plainOpaque(recorded.Message)))
	}
	if !plain || kept || gjson.Get(raw, "function_call").Exists() || gjson.Get(raw, "thinking_blocks").Exists() {
		return false
	}
	message := param.Override[sdk.ChatCompletionMessageParamUnion](json.RawMessage(raw))
	read, err := openai.ReadChat(sdk.ChatCompletionNewParams{Messages: []sdk.ChatCompletionMessageParamUnion{message}})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(plainOpaque(read.Messages[0]), plainOpaque(recorded.Message)))
	return true
}

// agreeOnItems is [agreeOnMessage] for the items of one message, as a request holds them and as Codex records them.
func agreeOnItems(t *testing.T, raw string) bool {
	t.Helper()
	var list []json.RawMessage
	if json.Unmarshal([]byte(raw), &list) != nil || strings.Contains(raw, "null") {
		return false
	}
	lines := `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a"}}`
	var params responses.ResponseNewParams
	for _, item := range list {
		switch gjson.GetBytes(item, "type").String() {
		case "local_shell_call", "tool_search_call", "tool_search_output", "compaction", "": // Codex has its own use of them
			return false
		}
		lines += "\n" + `{"type":"response_item","payload":` + strings.ReplaceAll(string(item), "\n", " ") + `}`
		params.Input.OfInputItemList = append(params.Input.OfInputItemList, param.Override[responses.ResponseInputItemUnionParam](item))
	}
	r, err := importer.Read(strings.NewReader(lines))
	if err != nil || len(r.Records) != 1 || r.Records[0].Message().Role == "" {
		return false
	}
	for _, n := range r.Notes {
		if !strings.HasSuffix(n.What, ".id") && !strings.HasSuffix(n.What, ".status") {
			return false
		}
	}
	read, err := openai.ReadItems(params)
	require.NoError(t, err)
	ids := map[string]bool{}
	for _, m := range read.Messages {
		for _, c := range r.Records[0].Message().ToolCalls {
			ids[c.ID] = true
		}
		if len(read.Messages) > 1 || len(ids) < len(m.ToolCalls) || ids[""] {
			return false // two messages in a row, or ids that only an answer gets
		}
	}
	require.Empty(t, cmp.Diff(plainOpaque(read.Messages[0]), plainOpaque(r.Records[0].Message())))
	return true
}

// written returns JSON of a message, or of items, whose fields may be anything.
func written(d *rand.Rand) string {
	one := func(of ...string) string { return of[d.IntN(len(of))] }
	value := func() string {
		return one(`"a"`, `"b"`, `""`, `7`, `12345678901234567890`, `{}`, `[]`, `true`, `"\ud83d\udc4d <&>"`, `[{"type":"x","y":1}]`, `{"url":"https://e.com/a.png"}`, `{"file_id":"f"}`)
	}
	object := func(kind string, names ...string) string {
		fields := []string{fmt.Sprintf(`"type":%q`, kind)}
		for _, name := range names {
			if d.IntN(3) == 0 {
				fields = append(fields, fmt.Sprintf("%q:%s", name, value()))
			}
		}
		d.Shuffle(len(fields), func(i, k int) { fields[i], fields[k] = fields[k], fields[i] })
		return "{" + strings.Join(fields, ",") + "}"
	}
	list := func(make func() string) string {
		var all []string
		for range 1 + d.IntN(3) {
			all = append(all, make())
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	texts := func(kinds ...string) func() string {
		return func() string {
			if kind := one(kinds...); d.IntN(2) == 0 {
				return fmt.Sprintf(`{"type":%q,"text":"x"}`, kind)
			}
			return object(one(append(kinds, "refusal", "future")...), "text", "refusal", "annotations", "image_url", "file", "input_audio", "detail")
		}
	}
	if d.IntN(2) == 0 {
		return list(func() string {
			switch d.IntN(4) {
			case 0:
				return fmt.Sprintf(`{"type":"message","role":"assistant","content":%s}`, list(texts("output_text", "output_text", "refusal")))
			case 1:
				return fmt.Sprintf(`{"type":%q,"call_id":"c%d","name":"n","arguments":"{}","input":"ls"}`, one("function_call", "custom_tool_call"), d.IntN(10000))
			case 2:
				return fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":%s,"encrypted_content":"gA"}`, d.IntN(100), list(texts("summary_text")))
			}
			return object(one("web_search_call", "reasoning", "function_call", "message", "future"), "id", "summary", "content", "encrypted_content", "status", "phase", "namespace", "action")
		})
	}
	fields := []string{fmt.Sprintf(`"role":%q`, one("user", "assistant", "assistant", "tool", "developer"))}
	content := func() string { return one(`"x"`, list(texts("text", "text", "image_url", "file", "tool_output"))) }
	fields = append(fields, `"content":`+content())
	for _, name := range []string{"name", "refusal", "reasoning", "reasoning_content", "reasoning_details", "audio", "tool_call_id"} {
		if d.IntN(4) == 0 {
			fields = append(fields, fmt.Sprintf("%q:%s", name, value()))
		}
	}
	if d.IntN(3) == 0 {
		fields = append(fields, `"tool_calls":`+list(func() string {
			return fmt.Sprintf(`{"id":"c%d",%q:%s,"type":"function","function":{"name":"n","arguments":"{}"}}`, d.IntN(10000), one("index", "extra_content"), value())
		}))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// FuzzReaders reads the same JSON by the reader of requests and by the importer. What a recording may not hold, the
// other may refuse or keep.
func FuzzReaders(f *testing.F) {
	for seed := range uint64(3000) {
		f.Add(seed, "")
	}
	f.Fuzz(func(t *testing.T, seed uint64, in string) {
		if in == "" {
			in = written(rand.New(rand.NewPCG(seed, 3)))
		}
		if json.Valid([]byte(in)) {
			agreeOnMessage(t, in)
			agreeOnItems(t, in)
		}
	})
}

// plainOpaque returns a message whose opaque parts and signatures have neither white space nor escapes that mean the same.
func plainOpaque(m chat.Message) chat.Message {
	plain := func(raw []byte) []byte {
		if out, err := json.Marshal(json.RawMessage(raw)); err == nil {
			return out
		}
		return raw
	}
	for i, p := range m.Content {
		switch p := p.(type) {
		case chat.Opaque:
			m.Content[i] = chat.Opaque{Value: plain(p.Value)}
		case chat.Thinking:
			p.Signature = string(plain([]byte(p.Signature)))
			m.Content[i] = p
		}
	}
	for i := range m.ToolCalls {
		m.ToolCalls[i].Signature = string(plain([]byte(m.ToolCalls[i].Signature)))
	}
	return m
}
