package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/openai"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/mirror"
)

// chatLoop is an agent on the SDK alone, but for one line: the request is fitted before it is sent.
func chatLoop(ctx context.Context, client sdk.Client, m *mirror.Mirror[chat.Message], questions ...string) (sdk.ChatCompletionNewParams, error) {
	params := sdk.ChatCompletionNewParams{
		Model:    "gpt-5.2",
		Messages: []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage("You count files.")},
		Tools:    []sdk.ChatCompletionToolUnionParam{sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "count"})},
	}
	for _, question := range questions {
		params.Messages = append(params.Messages, sdk.UserMessage(question))
		for calls := true; calls; {
			fitted, err := fitChat(ctx, m, params)
			if err != nil {
				return params, err
			}
			answer, err := client.Chat.Completions.New(ctx, fitted) // was: params
			if err != nil {
				return params, err
			}
			message := answer.Choices[0].Message
			params.Messages = append(params.Messages, message.ToParam())
			for _, call := range message.ToolCalls {
				params.Messages = append(params.Messages, sdk.ToolMessage(count(call.Function.Arguments), call.ID))
			}
			calls = len(message.ToolCalls) > 0
		}
	}
	return params, nil
}

// fitChat returns a request whose messages fit the budget.
func fitChat(ctx context.Context, m *mirror.Mirror[chat.Message], params sdk.ChatCompletionNewParams) (sdk.ChatCompletionNewParams, error) {
	read, err := openai.ReadChat(params)
	if err != nil {
		return params, err
	}
	fitted, err := m.Fit(ctx, mirror.Request[chat.Message]{Messages: read.Messages, Tools: read.Tools})
	if err != nil {
		return params, err
	}
	written, err := openai.ChatRequest(chat.Request{Messages: fitted.Messages}, openai.OptionsFor(params.Model))
	params.Messages = written.Messages
	return params, err
}

func count(string) string { return strings.Repeat("main.go greeting.go ", 40) }

// A loop on the SDK's Chat Completions whose conversation is compacted.
func ExampleReadChat() {
	asked, shown := 0, 0
	s := startServer(func(_ openai.API, request gjson.Result) reply {
		asked, shown = asked+1, len(request.Get("messages").Array())
		if asked%2 == 1 {
			return reply{items: []item{call("", fmt.Sprint("c", asked), "count", "{}")}}
		}
		return reply{items: []item{message("", "There are 42.")}}
	})
	defer s.Close()
	m, closed := providertest.Mirror(&history.Session{}, tiktoken.O200k(), 2500) // one of history.Open is there after a restart
	defer closed()
	params, err := chatLoop(context.Background(), s.client(), m, strings.Fields(strings.Repeat("Count! ", 20))...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d messages in the loop, %d in the last request\n", len(params.Messages), shown)
	// Output:
	// 81 messages in the loop, 38 in the last request
}

// itemsLoop is an agent on the Responses API.
func itemsLoop(ctx context.Context, client sdk.Client, m *mirror.Mirror[chat.Message], questions ...string) (responses.ResponseNewParams, error) {
	params := responses.ResponseNewParams{
		Model: "gpt-5.2", Store: param.NewOpt(false), Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "count", Strict: param.NewOpt(false), Parameters: map[string]any{"type": "object"}}}},
	}
	list := &params.Input.OfInputItemList
	for _, question := range questions {
		*list = append(*list, responses.ResponseInputItemParamOfMessage(question, responses.EasyInputMessageRoleUser))
		for calls := true; calls; {
			read, err := openai.ReadItems(params)
			if err != nil {
				return params, err
			}
			fitted, err := m.Fit(ctx, mirror.Request[chat.Message]{Messages: read.Messages, Tools: read.Tools})
			if err != nil {
				return params, err
			}
			written, err := openai.ItemsRequest(chat.Request{Messages: fitted.Messages}, openai.Options{})
			if err != nil {
				return params, err
			}
			sent := params
			sent.Input = written.Input
			answer, err := client.Responses.New(ctx, sent)
			if err != nil {
				return params, err
			}
			calls = false
			for _, item := range answer.Output {
				*list = append(*list, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item.RawJSON())))
			}
			for _, item := range answer.Output {
				if item.Type == "function_call" {
					calls = true
					*list = append(*list, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
						CallID: param.NewOpt(item.CallID), Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: param.NewOpt(count(""))},
					}})
				}
			}
		}
	}
	return params, nil
}

func TestALoopOnTheSDKSendsRequestsThatFitAndAreValid(t *testing.T) {
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			asked, largest := 0, 0
			s := newServer(t, func(_ openai.API, request gjson.Result) reply {
				asked++
				largest = max(largest, len(request.Raw))
				text := message("", strings.Repeat("It says much. ", 20))
				if asked%3 == 0 {
					return reply{items: []item{reasoning(fmt.Sprint("rs_", asked), "Let me see.", "gAAA"), text}}
				}
				return reply{items: []item{text, call("", fmt.Sprint("c", asked, "a"), "count", "{}"), call("", fmt.Sprint("c", asked, "b"), "count", "{}")}}
			})
			session := &history.Session{}
			m, closed := providertest.Mirror(session, openai.Counter(api, openai.Options{}, tiktoken.O200k()), 6000)
			t.Cleanup(func() { require.NoError(t, closed()) })
			questions := make([]string, 25)
			for i := range questions {
				questions[i] = fmt.Sprint("Question ", i)
			}
			var all []chat.Message
			if api == openai.Responses {
				params, err := itemsLoop(t.Context(), s.client(), m, questions...)
				require.NoError(t, err)
				read, err := openai.ReadItems(params)
				require.NoError(t, err)
				all = read.Messages
			} else {
				params, err := chatLoop(t.Context(), s.client(), m, questions...)
				require.NoError(t, err)
				read, err := openai.ReadChat(params)
				require.NoError(t, err)
				all = read.Messages
			}
			require.NoError(t, m.EndTurn(t.Context(), all))
			if api == openai.ChatCompletions {
				all = all[1:] // the system prompt
			}
			require.Equal(t, 75, asked)
			require.Less(t, largest, 6000*8, "bytes of a request")
			require.Empty(t, cmp.Diff(all, providertest.Kept(t, session)), "the session has every message of the loop")
		})
	}
}
