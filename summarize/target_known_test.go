package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/event"
)

// windowed is a model whose API states its window.
type windowed struct {
	chat.Model
	window int
	err    error
	asked  int
}

func (s *windowed) Window(context.Context) (int, error) {
	s.asked++
	return s.window, s.err
}

func answering() chat.Model {
	return chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage("yes")}, nil
	})
}

func TestTheTargetOfAModelFollowsFromItsName(t *testing.T) {
	down := errors.New("the API is down")
	tomorrow, err := modelinfo.Read(strings.NewReader(`{"models": [{"name": "gpt-7", "window": 3000000, "prices": {"input": 1, "output": 2}}]}`))
	require.NoError(t, err)
	for _, tt := range []struct {
		rule, name     string
		options        summarize.TargetOptions
		api            *windowed
		window, budget int
		priced         bool
		notes          []string // parts of them
	}{
		{"a known model", "claude-sonnet-5-5", summarize.TargetOptions{}, nil, 1_000_000, 991_808, true, nil},
		{"a limit of input below the window", "gpt-5", summarize.TargetOptions{}, nil, 400_000, 272_000, true, nil},
		{"the room for an answer", "gpt-4o", summarize.TargetOptions{Answer: 28_000}, nil, 128_000, 100_000 - tiktoken.ReplyPriming, true, nil},
		{"a small window keeps a quarter", "gpt-4", summarize.TargetOptions{}, nil, 8_192, 6_144 - tiktoken.ReplyPriming, true, nil},
		{"a guess has no prices", "gpt-6.9-sol", summarize.TargetOptions{}, nil, 1_050_000, 1_041_808, false, []string{"gpt-6.9-sol: as gpt-6.2-sol, guessed"}},
		{"a window of your own", "my-model", summarize.TargetOptions{Window: 20_000, Answer: 4_000}, nil, 20_000, 16_000, false, []string{`"my-model" is not known`}},
		{"a table of your own", "gpt-7", summarize.TargetOptions{Table: tomorrow}, nil, 3_000_000, 2_991_808, true, nil},
		{"the API's word goes before the table's", "claude-opus-4-5", summarize.TargetOptions{Ask: true}, &windowed{window: 1_000_000}, 1_000_000, 991_808, true,
			[]string{"a window of 1000000 tokens, and the table 200000"}},
		{"the API of an unknown model", "my-model", summarize.TargetOptions{Ask: true}, &windowed{window: 50_000}, 50_000, 41_808, false, []string{`"my-model" is not known`}},
		{"an API that says the same", "claude-opus-4-5", summarize.TargetOptions{Ask: true}, &windowed{window: 200_000}, 200_000, 191_808, true, nil},
		{"an API that does not say", "claude-opus-4-5", summarize.TargetOptions{Ask: true}, &windowed{}, 200_000, 191_808, true, nil},
		{"an API that fails", "claude-opus-4-5", summarize.TargetOptions{Ask: true}, &windowed{err: down}, 200_000, 191_808, true, []string{"the API is down"}},
		{"an API that is not asked", "claude-opus-4-5", summarize.TargetOptions{}, &windowed{window: 5}, 200_000, 191_808, true, nil},
		{"an API that is not asked, since the window is given", "claude-opus-4-5", summarize.TargetOptions{Ask: true, Window: 100_000}, &windowed{window: 5}, 100_000, 91_808, true, nil},
		{"a model that cannot ask", "claude-opus-4-5", summarize.TargetOptions{Ask: true}, nil, 200_000, 191_808, true, []string{"no method Window"}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			model := answering()
			if tt.api != nil {
				tt.api.Model, model = model, tt.api
			}
			got, err := summarize.TargetOf(t.Context(), model, tt.name, tt.options)
			require.NoError(t, err)
			require.Equal(t, tt.window, got.ContextWindow)
			require.Equal(t, tt.budget, got.Budget)
			require.Equal(t, tt.priced, got.Prices.Input > 0)
			require.Equal(t, tt.name, got.Name)
			require.NotNil(t, got.Tokenizer)
			require.Len(t, got.Notes, len(tt.notes), "%q", got.Notes)
			for i, want := range tt.notes {
				require.Contains(t, got.Notes[i], want)
			}
			if tt.api != nil && (!tt.options.Ask || tt.options.Window > 0) {
				require.Zero(t, tt.api.asked)
			}
		})
	}
}

func TestAWindowThatNobodyKnowsIsNotAssumed(t *testing.T) {
	_, err := summarize.TargetOf(t.Context(), answering(), "my-model", summarize.TargetOptions{})
	require.ErrorIs(t, err, sizing.ErrUnknownWindow)
	require.ErrorContains(t, err, `"my-model"`)
	require.ErrorContains(t, err, "set TargetOptions.Window")
	require.NotContains(t, err.Error(), "AllowUnknown", "no option of a target")
	refused := errors.New("401 Unauthorized")
	_, err = summarize.TargetOf(t.Context(), &windowed{err: refused}, "my-model", summarize.TargetOptions{Ask: true})
	require.ErrorIs(t, err, sizing.ErrUnknownWindow)
	require.ErrorIs(t, err, refused)
	_, err = summarize.TargetOf(t.Context(), answering(), "gpt-4", summarize.TargetOptions{Answer: 9_000})
	require.ErrorContains(t, err, "does not fit")

	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	_, err = summarize.TargetOf(ctx, &windowed{err: stop}, "claude-opus-4-5", summarize.TargetOptions{Ask: true})
	require.ErrorIs(t, err, stop)
}

func TestAGuessIsSaidOnceByAnEvent(t *testing.T) {
	target, err := summarize.TargetOf(t.Context(), answering(), "gpt-6.9-sol", summarize.TargetOptions{})
	require.NoError(t, err)
	session := &history.Session{}
	require.NoError(t, session.Append(t.Context(), chat.UserMessage("Is it?")))
	var noted []event.Event
	c := &summarize.Compactor{Session: session, Target: target, Policy: copilotchat.Policy(), Observers: []summarize.Observer{
		summarize.OnEvent(func(e event.Event) {
			if e.Kind == event.Noted {
				noted = append(noted, e)
			}
		})}}
	prompt := el.Prompt(el.System(el.Text("You are terse.")), history.All{Session: session})
	for range 3 {
		_, err := c.Render(t.Context(), prompt)
		require.NoError(t, err)
	}
	require.NoError(t, c.Close())
	require.Len(t, noted, 1)
	require.Equal(t, "gpt-6.9-sol", noted[0].Model)
	require.Contains(t, noted[0].Why, "as gpt-6.2-sol, guessed")
}

func ExampleTargetOf() {
	model := chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage("Hello.")}, nil
	})
	target, err := summarize.TargetOf(context.Background(), model, "claude-sonnet-5-5", summarize.TargetOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(target.ContextWindow, target.Budget, target.Prices.CacheRead)
	// Output: 1000000 991808 0.1
}
