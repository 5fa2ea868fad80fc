// Package replaytest puts whole sessions through a compactor, as a day's work would have, and shows a test each request
// that would have been sent: under every policy, at ten windows. It is for the adapters, which judge what they make of
// those requests.
package replaytest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/sessiontest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
)

// policy of compaction, and its name.
type policy struct {
	name string
	summarize.Policy
}

// byName returns all there are, in the order of their names. An agent that is replayed is not told to go on: the recording
// does so by itself.
func byName() []policy {
	var ordered []policy
	all := policies.All()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		p.Continue = ""
		ordered = append(ordered, policy{name, p})
	}
	return ordered
}

// windows that sessions are replayed at, in tokens.
var windows = []int{6_000, 8_000, 12_000, 16_000, 24_000, 32_000, 48_000, 64_000, 96_000, 128_000}

// all asks for every policy at every window.
var all = flag.Bool("replay.all", false, "replay every policy at every window, however long it takes")

// most is how many replays of a session there are otherwise: each policy takes its share of the windows, every window has
// its turn.
const (
	most     = 10
	mostFast = 2 // with -short and under the race detector
)

// trial is a replay of a session.
type trial struct {
	policy
	window int
}

// trials returns those that there is time for.
func trials(most int) []trial {
	var list []trial
	for _, p := range byName() {
		for _, w := range windows {
			list = append(list, trial{p, w})
		}
	}
	switch step := (len(list) + most - 1) / most; {
	case *all || step == 1:
		return list
	default:
		for step > 1 && len(windows)%step == 0 {
			step++ // else every policy would be tried at the same windows
		}
		var some []trial
		for i := step / 2; i < len(list); i += step {
			some = append(some, list[i])
		}
		return some
	}
}

// sessions are one made up and a real one, which lies beside the repository where there is one.
var sessions = map[string]string{
	"generated": "history/importer/testdata/generated.jsonl",
	"recorded":  "../shared/sessions/pi-before-compaction.jsonl",
}

// Replay of the sessions.
type Replay struct {
	// Root of the repository, from the folder of the test.
	Root string
	// As makes of a message of the session what a model of the provider would have said, n being how many messages came
	// before it. Defaults to the message as it was recorded.
	// It is called for each message in turn, before anything is checked.
	As func(n int, m chat.Message) chat.Message
	// Fewer replays at fewer windows, for a second look at the same sessions.
	Fewer bool
	// Check is shown each request. It may be called from several goroutines at once.
	Check func(t *testing.T, r Request)
}

// Request is what would have been sent.
type Request struct {
	chat.Request
	// Line of the recording that the request comes before.
	Line int
	// Close asks for a close look, for which there is no time at each request: it is set for each that asks for a summary,
	// for the first after each compaction, and for one in two million tokens.
	Close bool
}

// closeTokens is how many tokens are sent from one close look to the next.
const closeTokens = 2_000_000

// Run replays the sessions, each with a subtest for a policy and a window. With -short and under the race detector there
// are two of each session; with -replay.all each policy is tried at each window.
func (r Replay) Run(t *testing.T) {
	most := most
	switch {
	case testing.Short() || race:
		most = mostFast
	case r.Fewer:
		most /= 2
	}
	counter := tiktoken.O200k()
	for name, path := range sessions {
		t.Run(name, func(t *testing.T) {
			spoken := read(t, filepath.Join(r.Root, filepath.FromSlash(path)))
			if r.As != nil {
				for n := range spoken {
					spoken[n].Message = r.As(n, spoken[n].Message)
				}
			}
			for _, trial := range trials(most) {
				t.Run(fmt.Sprint(trial.name, " ", trial.window), func(t *testing.T) {
					t.Parallel()
					r.replay(t, spoken, trial.Policy, counter, trial.window)
				})
			}
		})
	}
}

// spoken is a message and the line that it was recorded in.
type spoken struct {
	chat.Message
	line int
}

func read(t *testing.T, path string) []spoken {
	t.Helper()
	recording := sessiontest.Read(t, path)
	var all []spoken
	for e, m := range recording.Conversation() {
		all = append(all, spoken{m, e.Line})
	}
	require.NotEmpty(t, all)
	return all
}

// toolsOf are definitions of the tools that are called.
func toolsOf(all []spoken) []chat.Tool {
	var tools []chat.Tool
	seen := map[string]bool{}
	for _, m := range all {
		for _, c := range m.ToolCalls {
			if !seen[c.Name] {
				seen[c.Name] = true
				tools = append(tools, chat.Tool{Name: c.Name, Description: "It does what its name says.", Parameters: json.RawMessage(`{"type":"object"}`)})
			}
		}
	}
	return tools
}

// promptOf returns an agent's prompt.
func promptOf(session *history.Session) elements.Node {
	return elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
	}
}

// replay renders the prompt before each answer of the recorded model.
func (r Replay) replay(t *testing.T, all []spoken, policy summarize.Policy, counter chat.Tokenizer, window int) {
	session, tools := numbered.Session(), toolsOf(all)
	var (
		mu                                       sync.Mutex // summaries are asked for in the background too
		line, sent, compactions, requests, looks = 0, closeTokens, 0, 0, 0
		compacted                                bool
	)
	check := func(req chat.Request, close bool) {
		mu.Lock()
		requests++
		if close {
			looks++
		}
		seen := Request{Request: req, Line: line, Close: close}
		mu.Unlock()
		r.Check(t, seen)
	}
	offline := models.Offline{Tokenizer: counter}
	budget := window - counter.CountTools(tools)
	compactor := &summarize.Compactor{
		Session: session, Policy: policy,
		Target: summarize.Target{
			Tokenizer: counter, Budget: budget, ContextWindow: window, Tools: tools,
			Model: chat.ModelFunc(func(ctx context.Context, req chat.Request) (chat.Response, error) {
				check(req, true)
				return offline.Generate(ctx, req)
			}),
		},
		OnEvent: func(e summarize.Event) {
			if e.Kind == summarize.EventDone {
				mu.Lock()
				defer mu.Unlock()
				compacted = true
				compactions++
			}
		},
	}
	defer func() { require.NoError(t, compactor.Close()) }()
	prompt := promptOf(session)
	asked := false // somebody has spoken since the model did: what was cut off and tried again was not an answer
	for _, said := range all {
		mu.Lock()
		line = said.line
		mu.Unlock()
		if said.Role == chat.RoleAssistant && asked {
			rendered := next(t, compactor, prompt, said.line)
			require.LessOrEqual(t, rendered.Tokens, budget, "line %d", said.line)
			mu.Lock()
			sent += rendered.Tokens
			close := compacted || sent >= closeTokens
			if close {
				compacted, sent = false, 0
			}
			mu.Unlock()
			check(chat.Request{Messages: rendered.Messages, Tools: tools}, close)
		}
		asked = said.Role != chat.RoleAssistant
		require.NoError(t, session.Append(t.Context(), said.Message), "line %d", said.line)
		if said.Role == chat.RoleAssistant && len(said.ToolCalls) == 0 {
			_, err := compactor.AfterTurn(t.Context(), prompt)
			if _, over := errors.AsType[*render.BudgetExceededError](err); !over { // the next request will tell
				require.NoError(t, err, "line %d", said.line)
			}
		}
	}
	require.NoError(t, compactor.Close())
	require.NotZero(t, requests)
	if window <= 64_000 {
		require.NotZero(t, compactions)
	}
	t.Logf("%d requests, %d of them looked at closely; %d compactions", requests, looks, compactions)
}

// next renders the next request. A provider refuses what does not fit, for a policy that acts on refusals.
func next(t *testing.T, c *summarize.Compactor, prompt elements.Node, line int) *render.Result {
	t.Helper()
	rendered, err := c.Render(t.Context(), prompt)
	over, exceeded := errors.AsType[*render.BudgetExceededError](err)
	if exceeded && len(c.Policy.Trigger.For(summarize.OnContextLimit)) > 0 {
		target := c.Current()
		refused := &chat.ContextLimitError{Limit: target.ContextWindow, Tokens: over.Needed + target.Tokenizer.CountTools(target.Tools), Err: err}
		rendered, err = c.Recover(t.Context(), prompt, refused, "")
	}
	require.NoError(t, err, "line %d", line)
	return rendered
}
