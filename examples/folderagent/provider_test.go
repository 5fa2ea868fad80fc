package folderagent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
)

// provider is a model that counts tokens itself and refuses requests larger than its window.
// A summary in the background may be refused beside a prompt.
type provider struct {
	scripted
	chat.Tokenizer
	window  int  // 0 for none
	silent  bool // refusals state no numbers
	unknown bool // usage is not reported
	refused atomic.Int64
}

func (p *provider) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	tokens := p.CountTools(req.Tools)
	for _, m := range req.Messages {
		tokens += p.CountMessage(m)
	}
	if p.window > 0 && tokens > p.window {
		p.refused.Add(1)
		if p.silent {
			return chat.Response{}, &chat.ContextLimitError{}
		}
		return chat.Response{}, &chat.ContextLimitError{Limit: p.window, Tokens: tokens}
	}
	if req.MaxTokens > 0 { // for a summary
		return chat.Response{Message: chat.AssistantMessage("<summary>Files were read.</summary>")}, nil
	}
	response, err := p.scripted.Generate(ctx, req)
	if !p.unknown {
		response.Usage = chat.Usage{Input: tokens, Output: p.CountMessage(response.Message)}
	}
	return response, err
}

// thrice multiplies the counts of another tokenizer by three.
type thrice struct{ chat.Tokenizer }

func (t thrice) CountText(text string) int        { return 3 * t.Tokenizer.CountText(text) }
func (t thrice) CountPart(p chat.Part) int        { return 3 * t.Tokenizer.CountPart(p) }
func (t thrice) CountMessage(m chat.Message) int  { return 3 * t.Tokenizer.CountMessage(m) }
func (t thrice) CountTools(tools []chat.Tool) int { return 3 * t.Tokenizer.CountTools(tools) }

// reading returns tools, and messages of a model that reads files one after the other.
func reading(t *testing.T, files int) (*Tools, []chat.Message) {
	content := map[string]string{}
	var say []chat.Message
	for n := range files {
		name := fmt.Sprintf("file%d.md", n)
		content["sub/"+name] = strings.Repeat(fmt.Sprintf("This is a line of file %d.\n", n), 60)
		say = append(say, reads(fmt.Sprint("call", n), "sub/"+name))
	}
	return toolsOf(t, folder(t, content), ""), say
}

// The model's tokenizer counts three times as many tokens as ours. If it reports usage, the history is compacted in
// time. If not, a refused prompt is made smaller, and the limit that a refusal states applies to later prompts too.
func TestAskLearnsTheLimitFromUsageAndRefusals(t *testing.T) {
	tests := []struct {
		rule            string
		unknown, silent bool
		refusals        int64 // at most
	}{
		{"with reported usage no prompt is refused", false, false, 0},
		{"a refusal with numbers happens again once the limit was let go", true, false, 3},
		{"a refusal without numbers happens again", true, true, 8},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			tools, say := reading(t, 20)
			model := &provider{scripted: scripted{say: say}, Tokenizer: thrice{tokenizer(t)}, window: 12_000, silent: test.silent, unknown: test.unknown}
			a := &Agent{
				Model: model, Session: &history.Session{}, Tools: tools, Tokenizer: tokenizer(t),
				Window: sizing.Window{Tokens: 12_000}, Policy: unjudged(),
			}
			background := false
			a.OnEvent = func(e event.Event) { background = background || e.Background } // one event at a time
			answer, err := a.Ask(t.Context(), "Read them all.")
			require.NoError(t, err)
			require.NoError(t, a.Close())
			require.Equal(t, "Done.", answer)
			require.Len(t, model.requests, 21)
			require.True(t, test.unknown || background, "with reported usage the summary is made in the background")
			t.Logf("%d requests were refused", model.refused.Load())
			require.Equal(t, test.unknown, model.refused.Load() > 0)
			require.LessOrEqual(t, model.refused.Load(), test.refusals)
		})
	}
}

func TestACalibratedCounterLearnsFromEachRequest(t *testing.T) {
	tools, say := reading(t, 12)
	model := &provider{scripted: scripted{say: say}, Tokenizer: thrice{tokenizer(t)}}
	counter := &sizing.Calibrated{Base: tokenizer(t)}
	before := counter.CountMessage(chat.UserMessage("How many files are there, and what is in them?"))
	last := 0
	a := &Agent{
		Model: model, Session: &history.Session{}, Tools: tools, Calibrated: counter,
		Window: sizing.Window{Tokens: 60_000}, Policy: unjudged(),
		OnRound: func(r Round) {
			require.Positive(t, r.Usage.Input)
			require.Positive(t, r.Usage.Output)
			last = r.Tokens
		},
	}
	_, err := a.Ask(t.Context(), "Read them all.")
	require.NoError(t, err)
	require.Greater(t, counter.CountMessage(chat.UserMessage("How many files are there, and what is in them?")), 2*before)
	took := 0
	for _, m := range model.requests[12].Messages {
		took += model.CountMessage(m)
	}
	require.GreaterOrEqual(t, last, took, "the last round is measured with the learnt counts and a margin")
	require.Less(t, last, 2*took)
}

func TestACutOffAnswerIsAnErrorAndStaysInTheSession(t *testing.T) {
	for _, reason := range []chat.StopReason{chat.StopMaxTokens, chat.StopFiltered} {
		tools, _ := reading(t, 1)
		a := &Agent{
			Model: chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
				return chat.Response{Message: chat.AssistantMessage("It is"), StopReason: reason}, nil
			}),
			Session: &history.Session{}, Tools: tools, Tokenizer: tokenizer(t), Window: sizing.Window{Tokens: 12_000},
		}
		_, err := a.Ask(t.Context(), "Go on.")
		cut, ok := errors.AsType[*CutOffError](err)
		require.True(t, ok)
		require.Equal(t, reason, cut.Reason)
		require.NotEmpty(t, cut.Error())
		view, err := a.Session.View(t.Context())
		require.NoError(t, err)
		require.Len(t, view.Messages(), 2)
	}
}

func TestWithoutAWindowNothingIsAppended(t *testing.T) {
	tools, _ := reading(t, 1)
	a := &Agent{Model: &scripted{}, Session: &history.Session{}, Tools: tools, Tokenizer: tokenizer(t)}
	_, err := a.Ask(t.Context(), "Go on.")
	require.ErrorIs(t, err, sizing.ErrUnknownWindow)
	require.Empty(t, a.Session.Leaf())
}

// unjudged returns the policy of Copilot Chat, which takes a few words as a summary.
func unjudged() policy.Policy {
	p := copilotchat.Policy()
	p.Ask.Judge.Off = true
	return p
}
