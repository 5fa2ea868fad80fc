package gemini_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/gemini"
)

// written are arguments that a Go map would change: the order of keys, a number beyond 2⁵³, a number with zeros.
const written = `{"z":9007199254740993,"a":[1.50,"<\u00e9\u2028>"],"m":{"y":1e2,"b":null}}`

func TestArgumentsAreKeptAsTheyWereWritten(t *testing.T) {
	a := newAPI(t, func(body object) []string {
		if len(body["contents"].([]any)) > 1 {
			return []string{piece("STOP", `{"text":"Yes."}`)}
		}
		return []string{
			piece("", `{"functionCall":{"id":"c1","name":"look","args": `+written+` },"thoughtSignature":"`+signature+`"}`, `{"text":"a functionCall"}`),
			piece("STOP", `{"functionCall":{"id":"c2","name":"look"}}`, `{"functionCall":{"id":"c3","name":"look","args":{}}}`),
		}
	})
	for _, streamed := range []bool{true, false} {
		messages := []chat.Message{chat.UserMessage("Look.")}
		req := chat.Request{Messages: messages, Tools: []chat.Tool{lookTool}}
		if streamed {
			req.Stream = func(chat.Delta) {}
		}
		got := providertest.Generated(t, a.model(), req)
		require.Equal(t, written, got.Message.ToolCalls[0].Arguments)
		if streamed {
			require.Equal(t, "{}", got.Message.ToolCalls[1].Arguments)
			require.Equal(t, "{}", got.Message.ToolCalls[2].Arguments)
		}
		req.Messages = append(messages, got.Message)
		for _, c := range got.Message.ToolCalls {
			req.Messages = append(req.Messages, chat.ToolResult(c.ID, "42"))
		}
		providertest.Generated(t, a.model(), req)
		require.Contains(t, a.bodies[len(a.bodies)-1], `"args":`+`{"z":9007199254740993,"a":[1.50,"\u003c\u00e9\u2028\u003e"],"m":{"y":1e2,"b":null}}`)
		_, err := a.model().CountTokens(t.Context(), req)
		require.NoError(t, err)
		require.Contains(t, a.bodies[len(a.bodies)-1], `9007199254740993`)
	}
}

// Without a Model, the client returns arguments as the SDK does.
func TestAModelWithAnyClientKeepsArgumentsAsTheyWereWritten(t *testing.T) {
	a := newAPI(t, says(`{"functionCall":{"id":"c1","name":"look","args":{"b":1,"a":2}},"thoughtSignature":"`+signature+`"}`))
	answer, err := connect(a.URL).Models.GenerateContent(t.Context(), "gemini-3-pro", genai.Text("Look."), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": 2.0, "b": 1.0}, answer.FunctionCalls()[0].Args)
	got, err := gemini.Response(answer)
	require.NoError(t, err)
	require.Equal(t, `{"a":2,"b":1}`, got.Message.ToolCalls[0].Arguments)

	plain, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "a key", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: a.URL},
	})
	require.NoError(t, err)
	m := &gemini.Model{Client: plain, Name: "gemini-3-pro"}
	got = providertest.Generated(t, m, chat.Request{Messages: []chat.Message{chat.UserMessage("Look.")}})
	require.Equal(t, `{"b":1,"a":2}`, got.Message.ToolCalls[0].Arguments)
}

func TestNewClientDoesNotChangeTheGivenHTTPClient(t *testing.T) {
	given := &http.Client{}
	_, err := gemini.NewClient(t.Context(), &genai.ClientConfig{APIKey: "a key", Backend: genai.BackendGeminiAPI, HTTPClient: given})
	require.NoError(t, err)
	require.Nil(t, given.Transport)
}

// The calls of a message may have another order in its content than in ToolCalls.
func TestArgumentsGoToTheirCalls(t *testing.T) {
	a := newAPI(t, says(`{"text":"Yes."}`))
	place := func(id string) chat.Part {
		return chat.Opaque{Value: json.RawMessage(`{"functionCall":{"id":"` + id + `"}}`)}
	}
	m := calls(signed(call("c1", `{"n":1.0}`)), signed(call("c2", `{"n":2.0}`)))
	m.Content = chat.Parts{place("c2"), chat.Text("and"), place("c1")}
	a.issued["c1 "+signature], a.issued["c2 "+signature] = true, true
	providertest.Generated(t, a.model(), chat.Request{Messages: []chat.Message{
		chat.UserMessage("Look."), m, chat.ToolResult("c1", "1"), chat.ToolResult("c2", "2"), calls(signed(call("c1", `{"n":3.0}`))), chat.ToolResult("c1", "3"),
	}})
	require.Regexp(t, `"n":2\.0.*"and".*"n":1\.0.*"n":3\.0`, a.bodies[0])
}
