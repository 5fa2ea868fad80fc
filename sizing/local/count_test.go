package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/local"
)

// Sources of the answers, read on 2026-11-27.
const (
	llamaServer = "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md"
	vllmChat    = "https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/serve/tokenize/protocol.py"
	sglangChat  = "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/entrypoints/openai/protocol.py"
)

const (
	sentRequest = `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Look."},` +
		`{"role":"assistant","content":null,"reasoning_content":"Hm.","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}}]},` +
		`{"role":"tool","content":"a cat","tool_call_id":"c1"}],` +
		`"tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"}}}]}`
	sentText = `{"add_special":true,"content":"[s]Look.","model":"m","parse_special":true}`
)

var request = chat.Request{
	Messages: []chat.Message{
		chat.SystemMessage("Be brief."),
		chat.UserMessage("Look."),
		{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "Hm.", Signature: "reasoning_content"}, chat.Thinking{Text: "not sent"}},
			ToolCalls: []chat.ToolCall{{ID: "c1", Name: "look", Arguments: `{"at":1}`}}},
		chat.ToolResult("c1", "a cat"),
	},
	Tools: []chat.Tool{{Name: "look", Description: "Looks.", Parameters: json.RawMessage(`{"type":"object"}`)}},
}

func TestTheServerCountsARequest(t *testing.T) {
	for _, test := range []struct {
		name, source string
		answers      answers
		status       int // and body of every other path
		other        string
		want         int
		says         string // the error, if there is one
	}{
		{"llama.cpp", llamaServer, answers{"POST /v1/chat/completions/input_tokens " + sentRequest: `{"input_tokens":12,"object":"response.input_tokens"}`}, 404, llamaNotFound, 12, ""},
		{"llama.cpp, older", llamaServer, answers{"POST /apply-template " + sentRequest: `{"prompt":"[s]Look."}`, "POST /tokenize " + sentText: `{"tokens":[1,7,9]}`}, 404, llamaNotFound, 3, ""},
		{"llama.cpp, loading", llamaServer, nil, 503, `{"error":{"code":503,"message":"Loading model"}}`, 0, "Loading model"},
		{"vLLM", vllmChat, answers{"POST /tokenize " + sentRequest: `{"count":15,"max_model_len":32768,"tokens":[1,2],"token_strs":null}`}, 404, vllmNotFound, 15, ""},
		{"SGLang", sglangChat, answers{"POST /tokenize " + sentRequest: `{"tokens":[1,2],"count":15,"max_model_len":32768}`}, 404, vllmNotFound, 15, ""},
		{"SGLang, older", sglangChat, answers{"POST /tokenize " + sentRequest: `422 {"detail":[{"loc":["body","prompt"],"msg":"Field required"}]}`}, 404, vllmNotFound, 0, "Field required"},
		{"Ollama", ollamaAPI, nil, 404, ollamaNothing, 0, "does not count the tokens of messages"},
		{"LM Studio", lmStudioOther, nil, 200, lmNotFound, 0, "does not count the tokens of messages"},
		{"no number", "", answers{"POST /tokenize " + sentRequest: `{"count":[15]}`}, 404, vllmNotFound, 0, "does not count the tokens of messages"},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := serve(t, test.answers, test.status, test.other)
			got, err := local.Server{URL: at + "/v1", Model: "m"}.CountTokens(t.Context(), request)
			require.Equal(t, test.want, got)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
			require.Equal(t, test.says == "does not count the tokens of messages", errors.Is(err, local.ErrNoCount))
			_, transient := errors.AsType[*chat.TransientError](err)
			require.Equal(t, test.status == 503, transient)
		})
	}
}

func TestImagesOfUserMessagesAreSent(t *testing.T) {
	var sent string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		posted, _ := io.ReadAll(r.Body)
		sent = string(posted)
		fmt.Fprint(w, `{"input_tokens":7}`)
	}))
	defer s.Close()
	image := chat.Image{URL: "https://example.com/a.png"}
	_, err := local.Server{URL: s.URL}.CountTokens(t.Context(), chat.Request{Messages: []chat.Message{
		{Role: chat.RoleUser, Content: chat.Parts{chat.Text("What is it?"), image, chat.NewDocument("text/plain", nil), chat.CacheBreakpoint{}}},
		{Role: chat.RoleTool, ToolCallID: "c1", Content: chat.Parts{chat.Text("It is"), chat.Text(" this."), image}},
	}})
	require.NoError(t, err)
	require.JSONEq(t, `{"messages":[
		{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]},
		{"role":"tool","tool_call_id":"c1","content":"It is this."}]}`, sent)
}

func TestASchemaThatIsNotJSONIsAnError(t *testing.T) {
	_, err := local.Server{URL: "http://localhost"}.CountTokens(t.Context(), chat.Request{Tools: []chat.Tool{{Name: "a", Parameters: json.RawMessage("{")}}})
	require.ErrorContains(t, err, "local: json")
}

// One request with the first prompt tells the counter what the model's chat template adds.
func ExampleServer_CountTokens() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"input_tokens":1834}`) // as llama.cpp answers
	}))
	defer server.Close()

	first := chat.Request{Messages: []chat.Message{chat.SystemMessage("You are a coding agent."), chat.UserMessage("Look around.")}}
	n, err := local.Server{URL: server.URL, Model: "qwen3"}.CountTokens(context.Background(), first)
	if err != nil {
		log.Fatal(err)
	}
	var counter sizing.Calibrated
	counter.Observe(first, chat.Response{Usage: chat.Usage{Input: n}})
	fmt.Println(counter.CountRequest(first))
	// Output: 1834
}
