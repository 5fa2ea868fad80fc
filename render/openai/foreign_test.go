package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/openai"
)

// reasoned returns a round of encrypted reasoning, a call and its result.
func reasoned(id, encrypted string) []chat.Message {
	return []chat.Message{
		{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Signature: `{"id":"rs_` + id + `"}`, Encrypted: encrypted}}, ToolCalls: []chat.ToolCall{
			{ID: id, Name: "count", Arguments: "{}", Signature: `{"id":"fc_` + id + `","follows":"rs_` + id + `"}`},
		}},
		chat.ToolResult(id, "1"),
	}
}

func textItem(text string) item {
	return item{"type": "message", "role": "assistant", "status": "completed", "content": []any{item{"type": "output_text", "text": text, "annotations": []any{}}}}
}

func TestARefusalOfEncryptedReasoningIsAnErrorOfItsOwn(t *testing.T) {
	for said, body := range map[string]string{
		"OpenAI":    errorBody("The encrypted content gAAA...Rg== could not be verified.", "invalid_request_error", "invalid_encrypted_content"),
		"a gateway": errorBody(`litellm.BadRequestError: OpenAIException - {"error":{"message":"No.","code":"invalid_encrypted_content"}}`, "", "400"),
		"in words":  errorBody("The encrypted content for item rs_a could not be verified. Reason: organization_id did not match.", "invalid_request_error", ""),
	} {
		for streamed, stream := range map[string]func(chat.Delta){"streamed": func(chat.Delta) {}, "whole": nil} {
			t.Run(said+" "+streamed, func(t *testing.T) {
				s := newServer(t, always(reply{status: 400, body: body}))
				m := s.model(openai.Responses, "gpt-5.2")
				req := chat.Request{Stream: stream, Messages: append([]chat.Message{question}, reasoned("a", "x")...)}
				_, err := m.Generate(t.Context(), req)
				require.ErrorAs(t, err, new(*chat.ContentError))
				_, err = m.CountTokens(t.Context(), req)
				require.ErrorAs(t, err, new(*chat.ContentError))
				require.Equal(t, 2, s.count(), "it is sent once")
			})
		}
	}
}

func TestReasoningWhoseSignatureIsItsIDGoesBack(t *testing.T) {
	for name, tt := range map[string]struct {
		thinking chat.Thinking
		want     string
	}{
		"of a session imported by an earlier version": {chat.Thinking{Text: "a < b", Signature: "rs_1", Encrypted: "gAAA+/="}, `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a < b"}],"encrypted_content":"gAAA+/="}`},
		"whose summary is empty":                      {chat.Thinking{Signature: "rs_1", Encrypted: "gAAA"}, `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`},
		"but not what is not encrypted":               {chat.Thinking{Text: "a", Signature: "rs_1"}, ""},
		"nor what Anthropic redacted":                 {chat.Thinking{Encrypted: "EmwK"}, ""},
		"nor another provider's signature":            {chat.Thinking{Text: "a", Signature: "c2lnbmF0dXJl", Encrypted: "x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := []chat.Message{{Role: chat.RoleAssistant, Content: chat.Parts{tt.thinking, chat.Text("b")}}}
			got := gjson.Parse(toJSON(openai.Items(m, openai.Options{})))
			if tt.want == "" {
				require.Equal(t, int64(1), got.Get("#").Int())
				return
			}
			require.JSONEq(t, tt.want, got.Get("0").Raw)
		})
	}
}
