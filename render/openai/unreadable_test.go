package openai_test

import (
	"context"
	"strings"
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

// refusing answers as a server that cannot read what is encrypted as "old".
func refusing(body string) func(openai.API, gjson.Result) reply {
	return func(_ openai.API, request gjson.Result) reply {
		if strings.Contains(request.Get("input").Raw, `"encrypted_content":"old`) {
			return reply{status: 400, body: body}
		}
		return reply{items: []item{textItem("Done.")}, usage: usage{in: 7, out: 1}}
	}
}

func textItem(text string) item {
	return item{"type": "message", "role": "assistant", "status": "completed", "content": []any{item{"type": "output_text", "text": text, "annotations": []any{}}}}
}

func TestEncryptedItemsThatTheServerCannotReadAreLeftOut(t *testing.T) {
	for said, body := range map[string]string{
		"OpenAI":    errorBody("The encrypted content gAAA...Rg== could not be verified.", "invalid_request_error", "invalid_encrypted_content"),
		"a gateway": errorBody(`litellm.BadRequestError: OpenAIException - {"error":{"message":"No.","code":"invalid_encrypted_content"}}`, "", "400"),
		"in words":  errorBody("The encrypted content for item rs_a could not be verified. Reason: organization_id did not match.", "invalid_request_error", ""),
	} {
		for streamed, stream := range map[string]func(chat.Delta){"streamed": func(chat.Delta) {}, "whole": nil} {
			t.Run(said+" "+streamed, func(t *testing.T) {
				s := newServer(t, refusing(body))
				m := s.model(openai.Responses, "gpt-5.2")
				req := chat.Request{Stream: stream, Messages: append([]chat.Message{
					question, {Role: chat.RoleUser, Content: chat.Parts{chat.Text("The words."), chat.Opaque{Value: []byte(`{"type":"compaction","encrypted_content":"old summary"}`)}}},
				}, append(reasoned("a", "old"), chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{
					chat.Text("b"), chat.Opaque{Value: []byte(`{"type":"reasoning","id":"rs_b","summary":[],"encrypted_content":"old too"}`)}, chat.Text("c"),
				}}, question)...)}
				before := len(req.Messages[2].Content)
				r, err := m.Generate(t.Context(), req)
				require.NoError(t, err)
				require.Equal(t, "Done.", r.Message.Text())
				require.Equal(t, 2, s.count(), "once more")
				require.NotContains(t, s.last(t).Get("input").Raw, "encrypted_content", "and without anything encrypted")
				require.NotContains(t, s.last(t).Raw, "fc_a", "nor the id of what followed the reasoning")
				require.Equal(t, "a", s.last(t).Get(`input.#(type=="function_call").call_id`).String())
				require.Len(t, req.Messages[2].Content, before, "the request itself is unchanged")

				req.Messages = append(req.Messages, reasoned("n", "new")...)
				_, err = m.Generate(t.Context(), req)
				require.NoError(t, err)
				require.Equal(t, 3, s.count(), "the refusal is remembered")
				require.Equal(t, `["new"]`, s.last(t).Get("input.#.encrypted_content").Raw, "and binds no reasoning that came after it")
			})
		}
	}
}

func TestARefusalOfEncryptedItemsIsAnsweredOnce(t *testing.T) {
	always400 := always(reply{status: 400, body: errorBody("No.", "invalid_request_error", "invalid_encrypted_content")})
	for name, tt := range map[string]struct {
		messages []chat.Message
		requests int
	}{
		"with something encrypted": {append([]chat.Message{question}, reasoned("a", "x")...), 2},
		"with nothing encrypted":   {[]chat.Message{question}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, always400)
			_, err := s.model(openai.Responses, "gpt-5.2").Generate(t.Context(), chat.Request{Messages: tt.messages})
			require.ErrorContains(t, err, "invalid_encrypted_content")
			require.Equal(t, tt.requests, s.count())
		})
	}
}

func TestCountingAndCompactingLeaveOutWhatTheServerCannotRead(t *testing.T) {
	s := newServer(t, refusing(errorBody("No.", "invalid_request_error", "invalid_encrypted_content")))
	m := s.model(openai.Responses, "gpt-5.2")
	n, err := m.CountTokens(t.Context(), chat.Request{Messages: append([]chat.Message{question}, reasoned("a", "old")...)})
	require.NoError(t, err)
	require.Equal(t, 7, n)
	require.Equal(t, 2, s.count())

	s = newServer(t, func(api openai.API, request gjson.Result) reply {
		r := refusing(errorBody("No.", "invalid_request_error", "invalid_encrypted_content"))(api, request)
		if r.status == 0 && !request.Get("include").Exists() {
			r.items = []item{{"type": "compaction", "encrypted_content": "made"}}
		}
		return r
	})
	words := chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage("Words.")}, nil
	})
	c := openai.Compaction{Model: s.model(openai.Responses, "gpt-5.2"), Words: words, OnError: func(err error) { t.Error(err) }}
	r, err := c.Generate(t.Context(), chat.Request{Messages: append(append([]chat.Message{question}, reasoned("a", "old")...), question)})
	require.NoError(t, err)
	require.Len(t, r.Compaction, 1)
	require.Equal(t, 2, s.count())
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
