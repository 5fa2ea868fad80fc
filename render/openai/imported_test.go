package openai_test

import (
	"encoding/json"
	"os"
	"path/filepath"
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
	"github.com/promptree-go/promptree/render/openai"
)

// imported returns the messages of a recording.
func imported(t testing.TB, recording string) (messages []chat.Message, r *importer.Recording) {
	t.Helper()
	r, err := importer.Read(strings.NewReader(recording))
	require.NoError(t, err)
	for _, m := range r.Conversation() {
		messages = append(messages, m)
	}
	return messages, r
}

// sentItems returns what a Model sends to the Responses API of these messages.
func sentItems(t *testing.T, messages []chat.Message) gjson.Result {
	t.Helper()
	if messages[len(messages)-1].Role == chat.RoleAssistant {
		messages = append(messages, question)
	}
	repaired, _ := openai.Repair(chat.Request{Messages: messages}, openai.Responses)
	params, err := openai.ItemsRequest(repaired, openai.Options{})
	require.NoError(t, err)
	return gjson.Parse(toJSON(params.Input))
}

func TestEncryptedReasoningOfARecordingGoesBackToItsOrigin(t *testing.T) {
	opencode := func(parts string) string {
		return `{"info":{"id":"s"},"messages":[{"info":{"id":"u","role":"user"},"parts":[{"type":"text","text":"q"}]},
			{"info":{"id":"a","role":"assistant","providerID":"openai","modelID":"gpt-5.2"},"parts":[` + parts + `,{"type":"text","text":"Done."}]}]}`
	}
	openHands := func(item string) string {
		return `{"id":"1","source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":[{"type":"text","text":"q"}]}}` + "\n" +
			`{"id":"2","source":"agent","kind":"MessageEvent","llm_message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"responses_reasoning_item":` + item + `}}`
	}
	codex := func(items ...string) string {
		lines := []string{`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a"}}`, `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}}`}
		for _, item := range items {
			lines = append(lines, `{"type":"response_item","payload":`+item+`}`)
		}
		return strings.Join(lines, "\n")
	}
	said := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}`
	for name, tt := range map[string]struct{ recording, want string }{
		"Codex": {codex(`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"content":null,"encrypted_content":"gA+/="}`, said),
			`[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"gA+/="}]`},
		"Codex, without an id": {codex(`{"type":"reasoning","summary":[],"encrypted_content":"gA"}`, said), `[{"type":"reasoning","summary":[],"encrypted_content":"gA"}]`},
		"Codex, twice in an answer": {codex(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"}`, said, `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gB"}`, said),
			`[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"},{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gB"}]`},
		"opencode": {opencode(`{"type":"reasoning","text":"a","metadata":{"openai":{"itemId":"rs_1","reasoningEncryptedContent":"gA"}}},{"type":"reasoning","text":"b","metadata":{"openai":{"itemId":"rs_1","reasoningEncryptedContent":"gA"}}}`),
			`[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"gA"}]`},
		"opencode, without a summary": {opencode(`{"type":"reasoning","text":"","metadata":{"azure":{"itemId":"rs_1","reasoningEncryptedContent":"gA"}}}`), `[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"}]`},
		"OpenHands":                   {openHands(`{"id":"rs_1","summary":["a"],"content":null,"encrypted_content":"gA","status":null}`), `[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"}],"encrypted_content":"gA"}]`},
		"OpenHands, of Anthropic":     {strings.Replace(openHands(`null`), `"responses_reasoning_item":null`, `"thinking_blocks":[{"type":"redacted_thinking","data":"EmwK"}]`, 1), `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			messages, _ := imported(t, tt.recording)
			require.JSONEq(t, tt.want, sentItems(t, messages).Get(`#(type=="reasoning")#`).Raw)
		})
	}
}

// The items of a Codex session are sent as they were recorded, each in its place.
func TestTheItemsOfACodexSessionAreSentAsTheyWere(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "history", "importer", "testdata", "formats", "codex.jsonl"))
	require.NoError(t, err)
	messages, _ := imported(t, string(raw))
	sent := sentItems(t, messages)
	for _, want := range []string{
		`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Search for zones."},{"type":"summary_text","text":"Then run it."}],"encrypted_content":"gAAAAABpx+/="}`,
		`{"type":"message","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look it up.","annotations":[]}]}`,
		`{"type":"function_call","id":"fc_1","name":"shell","arguments":"{\"command\": [\"rg\",\"zone\"]}","call_id":"call_1"}`,
		`{"type":"custom_tool_call","call_id":"call_2","name":"apply_patch","input":"*** Begin Patch\n*** \"End\" Patch"}`,
		`{"type":"custom_tool_call_output","call_id":"call_2","output":"Success."}`,
		`{"type":"web_search_call","status":"completed","action":{"type":"search","query":"UTC"}}`,
	} {
		found := false
		for _, item := range sent.Array() {
			found = found || cmp.Equal(gjson.Parse(want).Value(), item.Value())
		}
		require.True(t, found, "%s\nis not in %s", want, sent.Raw)
	}
}

// messagesOfChat are messages as both readers meet them.
var messagesOfChat = []string{
	`{"role":"user","name":"ann","content":"hi"}`,
	`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}`,
	`{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}},{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0=","filename":"document.pdf"}}]}`,
	`{"role":"user","content":[{"type":"text","text":"a","prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}}]}`,
	`{"role":"assistant","refusal":"No <way>."}`,
	`{"role":"assistant","audio":{"id":"audio_1"}}`,
	`{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.text","text":"hm","n":12345678901234567890}]}`,
	`{"role":"assistant","content":"a","reasoning_content":"hm"}`,
	`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"refusal","refusal":"no"}],"reasoning":"hm"}`,
	`{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"sh","input":"ls \"a\""}}]}`,
	`{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"n","arguments":"{}"},"type":"function","extra_content":{"google":{"thought_signature":"x"}}}]}`,
	`{"role":"assistant","content":[{"type":"tool_call","tool_call_id":"c","name":"n","arguments":"{}"}],"tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]}`,
	`{"role":"assistant","content":[{"type":"tool_call","tool_call_id":"d","name":"n","arguments":"{}"}],"tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]}`,
	`{"role":"tool","tool_call_id":"c","content":[{"type":"tool_output","output":"a.go"},{"type":"text","text":"b"}]}`,
}

// agreeOnMessage holds what both readers read of a message against each other. It reports whether it could: a recording
// notes, or keeps beside the message, what a request keeps in it.
func agreeOnMessage(t *testing.T, raw string) bool {
	t.Helper()
	r, err := importer.Read(strings.NewReader(`{"role":"developer","content":"s"}` + "\n" + strings.ReplaceAll(raw, "\n", " ")))
	if err != nil || len(r.Records) != 2 || r.Records[1].Message().Role == "" || r.Format != importer.FormatOpenAI {
		return false
	}
	recorded := r.Records[1].Body.(entry.Message)
	plain := len(recorded.Data) == 0 && r.Records[1].Usage == (chat.Usage{})
	for _, n := range r.Notes {
		plain = plain && n.Kind == importer.Repeated
	}
	if !plain || strings.Contains(raw, "null") || gjson.Get(raw, "function_call").Exists() || gjson.Get(raw, "thinking_blocks").Exists() {
		return false
	}
	message := param.Override[sdk.ChatCompletionMessageParamUnion](json.RawMessage(raw))
	read, err := openai.ReadChat(sdk.ChatCompletionNewParams{Messages: []sdk.ChatCompletionMessageParamUnion{message}})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(plainOpaque(read.Messages[0]), plainOpaque(recorded.Message)))
	return true
}

func TestRequestsAndRecordingsAreReadAlike(t *testing.T) {
	for _, raw := range messagesOfChat {
		require.True(t, agreeOnMessage(t, raw), raw)
	}
	for _, raw := range itemsOfAnswers {
		require.True(t, agreeOnItems(t, raw), raw)
	}
}

func FuzzRequestsAndRecordingsAreReadAlike(f *testing.F) {
	for _, raw := range append(messagesOfChat, itemsOfAnswers...) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if json.Valid([]byte(raw)) {
			agreeOnMessage(t, raw)
			agreeOnItems(t, raw)
		}
	})
}

// itemsOfAnswers are lists of items as both readers meet them.
var itemsOfAnswers = []string{
	`[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://example.com/a.png","detail":"low"}]}]`,
	`[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gA"},{"type":"message","id":"msg_1","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"a","annotations":[{"n":12345678901234567890}]}]}]`,
	`[{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},{"type":"function_call","id":"fc_1","call_id":"c","name":"n","arguments":"{}"}]`,
	`[{"type":"custom_tool_call","call_id":"c","name":"sh","input":"ls"},{"type":"web_search_call","id":"ws_1","status":"completed"},{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}]`,
	`[{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gB"},{"type":"function_call","id":"fc_2","call_id":"d","name":"n","arguments":"{}"}]`,
	`[{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"a"},{"type":"input_file","file_id":"f"}]}]`,
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
