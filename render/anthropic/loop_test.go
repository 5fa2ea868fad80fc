package anthropic_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/anthropic"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/mirror"
)

// loop is an agent on the SDK alone, but for one line: the request is fitted before it is sent.
func loop(ctx context.Context, client sdk.Client, m *mirror.Mirror[chat.Message], questions ...string) (sdk.MessageNewParams, error) {
	params := sdk.MessageNewParams{
		Model: sdk.ModelClaudeSonnet5, MaxTokens: 1024,
		System: []sdk.TextBlockParam{{Text: "You count files."}},
		Tools:  []sdk.ToolUnionParam{{OfTool: &sdk.ToolParam{Name: "count", InputSchema: sdk.ToolInputSchemaParam{Properties: map[string]any{}}}}},
	}
	for _, question := range questions {
		params.Messages = append(params.Messages, sdk.NewUserMessage(sdk.NewTextBlock(question)))
		for {
			fitted, err := fit(ctx, m, params)
			if err != nil {
				return params, err
			}
			answer, err := client.Messages.New(ctx, fitted) // was: params
			if err != nil {
				return params, err
			}
			params.Messages = append(params.Messages, answer.ToParam())
			var results []sdk.ContentBlockParamUnion
			for _, b := range answer.Content {
				if b.Type == "tool_use" {
					results = append(results, sdk.NewToolResultBlock(b.ID, strings.Repeat("main.go greeting.go ", 40), false))
				}
			}
			if len(results) == 0 {
				break
			}
			params.Messages = append(params.Messages, sdk.NewUserMessage(results...))
		}
	}
	return params, nil
}

// fit returns a request whose messages fit the budget.
func fit(ctx context.Context, m *mirror.Mirror[chat.Message], params sdk.MessageNewParams) (sdk.MessageNewParams, error) {
	read, err := anthropic.ReadRequest(params)
	if err != nil {
		return params, err
	}
	fitted, err := m.Fit(ctx, mirror.Request[chat.Message]{Messages: read.Messages, Tools: read.Tools})
	if err != nil {
		return params, err
	}
	written, err := anthropic.Request(chat.Request{Messages: fitted.Messages, Tools: read.Tools})
	params.Messages = written.Messages
	return params, err
}

// A loop on the SDK whose conversation is compacted.
func ExampleReadRequest() {
	shown := 0
	client, stop := local(func(n int, r request) answer {
		shown = len(r.Messages)
		if n%2 == 0 {
			return say(call(fmt.Sprint("toolu_", n), "count", block{}))
		}
		return say(text("There are 42."))
	})
	defer stop()
	m, closed := providertest.Mirror(&history.Session{}, sizing.Estimator{}, 2500) // one of history.Open is there after a restart
	defer closed()
	params, err := loop(context.Background(), client, m, strings.Fields(strings.Repeat("Count! ", 20))...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d messages in the loop, %d in the last request\n", len(params.Messages), shown)
	// Output:
	// 80 messages in the loop, 9 in the last request
}

func TestALoopOnTheSDKSendsRequestsThatFitAndAreValid(t *testing.T) {
	asked := 0
	s := newServer(t, func(_ int, r request) answer {
		asked++
		words := text(strings.Repeat("It says much. ", 20))
		if asked%3 == 0 {
			return say(think("Let me see."), words)
		}
		return say(think("Let me count."), words, call(fmt.Sprint("c", asked, "a"), "count", block{}), call(fmt.Sprint("c", asked, "b"), "count", block{}))
	})
	session := &history.Session{}
	m, closed := providertest.Mirror(session, sizing.Estimator{}, 6000)
	t.Cleanup(func() { require.NoError(t, closed()) })
	params, err := loop(t.Context(), s.client(), m, strings.Fields(strings.Repeat("Count! ", 25))...)
	require.NoError(t, err)
	require.Equal(t, 75, asked)
	for _, body := range s.bodies {
		require.Less(t, len(body), 6000*8)
	}
	read, err := anthropic.ReadRequest(params)
	require.NoError(t, err)
	require.NoError(t, m.EndTurn(t.Context(), read.Messages))
	require.Empty(t, cmp.Diff(read.Messages[1:], providertest.Kept(t, session)), "the session has every message of the loop")
}
