// Package replaytest replays whole sessions under every policy in ten context windows, and passes each request that
// would have been sent to a test. The adapters for providers use it to check what they make of those requests.
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
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

type policyFile struct {
	name string
	policy.Policy
}

// byName returns all policies in the order of their names. They do not tell the agent to continue after a compaction,
// because the recording continues by itself.
func byName() []policyFile {
	var ordered []policyFile
	all := policies.All()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		p.Continue = ""
		ordered = append(ordered, policyFile{name, p})
	}
	return ordered
}

// windows are the context windows of the replays, in tokens.
var windows = []int{6_000, 8_000, 12_000, 16_000, 24_000, 32_000, 48_000, 64_000, 96_000, 128_000}

// all asks for every policy in every window.
var all = flag.Bool("replay.all", false, "replay every policy in every window, however long it takes")

// The number of replays of a session without -replay.all. They are spread over the policies and the windows.
const (
	maxReplays     = 6
	maxReplaysFast = 2 // with -short and under the race detector
)

// trial is a replay of a session.
type trial struct {
	policyFile
	window int
}

// trials returns about as many trials as the maximum, or all of them with -replay.all.
func trials(maxReplays int) []trial {
	var list []trial
	for _, p := range byName() {
		for _, w := range windows {
			list = append(list, trial{p, w})
		}
	}
	switch step := (len(list) + maxReplays - 1) / maxReplays; {
	case *all || step == 1:
		return list
	default:
		for step > 1 && len(windows)%step == 0 {
			step++ // or every policy would have the same windows
		}
		var some []trial
		for i := step / 2; i < len(list); i += step {
			some = append(some, list[i])
		}
		return some
	}
}

// sessions are the paths of a generated session and of a real one, which may be missing because it is not in the
// repository.
var sessions = map[string]string{
	"generated": "history/importer/testdata/generated.jsonl",
	"recorded":  "../shared/sessions/pi-before-compaction.jsonl",
}

// Replay describes replays of the sessions.
type Replay struct {
	// Root is the path of the repository from the folder of the test.
	Root string
	// As returns a message of the session as the provider's model would have said it. n is the number of messages
	// before it. As is called for each message in turn, before the first Check. Defaults to the recorded message.
	As func(n int, m chat.Message) chat.Message
	// Fewer halves the number of replays.
	Fewer bool
	// Recorded replays the real session too, if it is there, which takes minutes. Off by default, unless -replay.all is set.
	Recorded bool
	// Check is called with each request. It may be called from several goroutines at once.
	Check func(t *testing.T, r Request)
}

// Request is a request that would have been sent.
type Request struct {
	chat.Request
	// Line of the recording before which the request would have been sent.
	Line int
	// Close asks for checks that take too long for every request. It is set for each request for a summary, for the
	// first after each compaction, and otherwise once in two million tokens.
	Close bool
}

// closeTokens is the number of tokens sent between two requests with Close set.
const closeTokens = 2_000_000

// Run replays the generated session, with a subtest for each policy and window: 6 replays, or 2 with -short and under the
// race detector. With -replay.all both sessions are replayed, under each policy in each window.
func (r Replay) Run(t *testing.T) {
	maxReplays := maxReplays
	switch {
	case testing.Short() || race:
		maxReplays = maxReplaysFast
	case r.Fewer:
		maxReplays /= 2
	}
	counter := tiktoken.O200k()
	for name, path := range sessions {
		t.Run(name, func(t *testing.T) {
			if name == "recorded" && !*all && !r.Recorded {
				t.Skip("takes minutes: set -replay.all")
			}
			spoken := read(t, filepath.Join(r.Root, filepath.FromSlash(path)))
			if r.As != nil {
				for n := range spoken {
					spoken[n].Message = r.As(n, spoken[n].Message)
				}
			}
			for _, trial := range trials(maxReplays) {
				t.Run(fmt.Sprint(trial.name, " ", trial.window), func(t *testing.T) {
					t.Parallel()
					r.replay(t, spoken, trial.Policy, counter, trial.window)
				})
			}
		})
	}
}

// spoken is a message and its line in the recording.
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

// toolsOf returns definitions of the tools that are called.
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

func promptOf(session *history.Session) elements.Node {
	return elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.All{Session: session},
	}
}

// replay renders the prompt before each answer of the recorded model.
func (r Replay) replay(t *testing.T, all []spoken, p policy.Policy, counter chat.Tokenizer, window int) {
	session, tools := numbered.Session(), toolsOf(all)
	var (
		mu                                             sync.Mutex // some requests for summaries are made in the background
		line, sent, compactions, requests, closeChecks = 0, closeTokens, 0, 0, 0
		compacted                                      bool
	)
	check := func(req chat.Request, close bool) {
		mu.Lock()
		requests++
		if close {
			closeChecks++
		}
		seen := Request{Request: req, Line: line, Close: close}
		mu.Unlock()
		r.Check(t, seen)
	}
	offline := models.Offline{Tokenizer: counter}
	budget := window - counter.CountTools(tools)
	compactor := &summarize.Compactor{
		Session: session, Policy: p,
		Target: policy.Target{
			Tokenizer: counter, Budget: budget, ContextWindow: window, Tools: tools,
			Model: chat.ModelFunc(func(ctx context.Context, req chat.Request) (chat.Response, error) {
				check(req, true)
				return offline.Generate(ctx, req)
			}),
		},
		Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
			if e.Kind == event.Done {
				mu.Lock()
				defer mu.Unlock()
				compacted = true
				compactions++
			}
		})},
	}
	defer func() { require.NoError(t, compactor.Close()) }()
	prompt := promptOf(session)
	asked := false // the last message is not the model's; a retried answer is not another request
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
			if _, over := errors.AsType[*render.BudgetExceededError](err); !over { // the next request reports it
				require.NoError(t, err, "line %d", said.line)
			}
		}
	}
	require.NoError(t, compactor.Close())
	require.NotZero(t, requests)
	if window <= 64_000 {
		require.NotZero(t, compactions)
	}
	t.Logf("%d requests, %d of them checked closely; %d compactions", requests, closeChecks, compactions)
}

// next renders the next request. If it does not fit and the policy acts on refusals, next recovers as from a provider's
// refusal.
func next(t *testing.T, c *summarize.Compactor, prompt elements.Node, line int) *render.Result {
	t.Helper()
	rendered, err := c.Render(t.Context(), prompt)
	over, exceeded := errors.AsType[*render.BudgetExceededError](err)
	if exceeded && len(c.Policy.Trigger.For(policy.OnContextLimit)) > 0 {
		target := c.Current()
		refused := &chat.ContextLimitError{Limit: target.ContextWindow, Tokens: over.Needed + target.Tokenizer.CountTools(target.Tools), Err: err}
		rendered, err = c.Recover(t.Context(), prompt, refused, "")
	}
	require.NoError(t, err, "line %d", line)
	return rendered
}
