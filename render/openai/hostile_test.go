package openai_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/openai"
)

func TestHugeRequestsAreRepairedInTime(t *testing.T) {
	const n = 20_000
	same := asked(strings.Split(strings.Repeat("a,", n), ",")...)
	messages := []chat.Message{question, same}
	for i := range n {
		messages = append(messages, chat.ToolResult("a", "1"), asked(fmt.Sprint(i)))
	}
	for i := range n {
		messages = append(messages, chat.ToolResult(fmt.Sprint(i), "1"))
	}
	for _, api := range apis {
		repaired, _ := openai.Repair(chat.Request{Messages: messages}, api)
		require.NoError(t, openai.Validate(repaired, api))
	}
}

// hostile are the two APIs on a server that may answer anything.
var hostile = map[string]providertest.Hostile{
	"chat": {
		Answer: `{"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Well.","reasoning_content":"Hm.","tool_calls":[` +
			`{"id":"a","type":"function","function":{"name":"count","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}`,
		Stream: `data: {"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":"Well.","reasoning_content":"Hm."}}]}` + "\n\n" +
			`data: {"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"count","arguments":"{}"}}]}}]}` + "\n\n" +
			`data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" +
			`data: {"id":"c1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}` + "\n\ndata: [DONE]\n\n",
	},
	"responses": {
		Answer: answerOfItems,
		Stream: `data: {"type":"response.created","response":{"id":"r1","status":"in_progress","output":[]}}` + "\n\n" +
			`data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Hm."}` + "\n\n" +
			`data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"Well."}` + "\n\n" +
			`data: {"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Well.","annotations":[]}]}}` + "\n\n" +
			`data: {"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"a","name":"count","arguments":""}}` + "\n\n" +
			`data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"{}"}` + "\n\n" +
			`data: {"type":"response.completed","response":` + answerOfItems + "}\n\n",
		Count: `{"object":"response.input_tokens","input_tokens":3}`,
	},
}

const answerOfItems = `{"id":"r1","object":"response","status":"completed","error":null,"incomplete_details":null,"output":[` +
	`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"g"},` +
	`{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Well.","annotations":[]}]},` +
	`{"type":"function_call","id":"fc_1","call_id":"a","name":"count","arguments":"{}","status":"completed"}],` +
	`"usage":{"input_tokens":3,"output_tokens":2,"input_tokens_details":{"cached_tokens":1}}}`

func hostileModel(name string) providertest.Hostile {
	h := hostile[name]
	h.Model = func(_ testing.TB, client *http.Client, url string) chat.Model {
		return &openai.Model{Name: "local", API: apis[name], Client: sdk.NewClient(
			option.WithBaseURL(url+"/v1"), option.WithAPIKey(providertest.Key), option.WithHTTPClient(client), option.WithQuery("key", providertest.QueryKey),
			option.WithHeader("Api-Key", providertest.Key), option.WithHeader("Cookie", "session="+providertest.Key),
		)}
	}
	h.Own = func(err error) bool {
		_, ok := errors.AsType[*sdk.Error](err)
		return ok
	}
	h.Bodies = map[string]string{
		"fields of other types": `data: {"choices":7,"output":"x","type":5}` + "\n\n",
		"an unknown event":      `data: {"type":"response.new","delta":5}` + "\n\ndata: [DONE]\n\n",
	}
	h.Packages = []string{"render/openai.", "ssestream"}
	return h
}

func TestWhateverAServerSendsIsAnAnswerOrATypedError(t *testing.T) {
	for name := range hostile {
		t.Run(name, hostileModel(name).Test)
	}
}

func TestErrorsOfServersKeepTheirWordsAndTheirMeaning(t *testing.T) {
	for name := range hostile {
		t.Run(name, hostileModel(name).TestErrors)
	}
}

func FuzzChatAnswers(f *testing.F) {
	hostileModel("chat").FuzzAnswers(f, func(event map[string]any) bool { return event["choices"] != nil })
}

func FuzzItemsAnswers(f *testing.F) {
	hostileModel("responses").FuzzAnswers(f, func(event map[string]any) bool { return event["response"] != nil })
}
