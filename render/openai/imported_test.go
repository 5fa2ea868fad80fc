package openai_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/google/go-cmp/cmp"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/test/sure"
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
	raw := sure.Read(t, filepath.Join("..", "..", "history", "importer", "testdata", "formats", "codex.jsonl"))
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
