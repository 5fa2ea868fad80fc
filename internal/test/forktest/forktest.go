// Package forktest tests on the wire that an agent is compacted by its own model, and that a request for a summary that extends
// the agent's request leaves that request unchanged, so that the provider's prompt cache serves it.
package forktest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// Ask is a part of every request for a summary in a <summary> block. It is the same in JSON.
const Ask = "Then write the handoff in a"

// Agent is an agent that is compacted by its own model.
type Agent struct {
	Model     chat.Model
	Tokenizer chat.Tokenizer
	Tools     []chat.Tool
	// Budget of the prompt, in tokens.
	Budget int
}

// Run runs the agent until it calls no more tools, compacted in the background by forks of its requests, and returns the
// events of the compactions.
func (a Agent) Run(t *testing.T) []event.Event {
	t.Helper()
	fork := prompts.ForkPrompt()
	fork.Background = true
	done, _ := a.RunUnder(t, policy.Policy{Trigger: policy.Trigger{{Ratio: 0.35, Background: true}}, Ask: policy.Ask{Prompts: []policy.Prompt{fork}}}, true)
	return done
}

// RunUnder runs the agent under a policy until it calls no more tools, streamed or not, and returns the events of the
// compactions, of which there must be one, and its answer. No request may be refused.
func (a Agent) RunUnder(t *testing.T, p policy.Policy, streamed bool) (done []event.Event, answer string) {
	t.Helper()
	session := numbered.Session()
	p.Ask.Judge.Off = true
	compactor := &summarize.Compactor{
		Session: session, Policy: p,
		Target: policy.Target{Model: a.Model, Tokenizer: a.Tokenizer, Budget: a.Budget, ContextWindow: 2 * a.Budget, Tools: a.Tools},
		Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
			if e.Kind == event.Done {
				done = append(done, e)
			}
			if e.Err != nil {
				t.Errorf("%s: %v", e.Kind, e.Err)
			}
		})},
	}
	defer func() { require.NoError(t, compactor.Close()) }()
	steps := &agent.Agent{Compactor: compactor, MaxTokens: 3000, Prompt: elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{
			elements.Text("You count files."), elements.CacheBreakpoint{},
		}},
		history.All{Session: session},
	}}
	if streamed {
		steps.Stream = func(chat.Delta) {}
	}
	require.NoError(t, session.Append(t.Context(), chat.UserMessage("How many files are there?")))
	for range 100 {
		answer, err := steps.Step(t.Context())
		require.NoError(t, err)
		require.NoError(t, compactor.Wait(t.Context()))
		calls := answer.Message().ToolCalls
		if len(calls) == 0 {
			require.NotEmpty(t, done, "no compaction was made")
			return done, answer.Message().Text()
		}
		for i, c := range calls {
			result := chat.ToolResult(c.ID, strings.Repeat("a.go b.go ", 30))
			result.IsError = i == 1
			require.NoError(t, session.Append(t.Context(), result))
		}
	}
	require.Fail(t, "the agent still calls tools after 100 steps")
	return nil, ""
}

// Layout says where the body of a request holds its turns, and which fields may differ between two requests that share
// a cache.
type Layout struct {
	// Turns is the name of the field with the turns. Parts is that of a turn's field with its parts, "" if there is
	// none.
	Turns, Parts string
	// Free lists fields that the cache does not depend on. A field of an object is named as "object.field".
	Free []string
}

// Check finds the requests for a summary among the bodies of an agent's requests. Each must be one of the agent's
// requests with one part added at the end. Check returns the number of requests for a summary.
func (l Layout) Check(t *testing.T, bodies []string) int {
	t.Helper()
	forks := 0
	for i, body := range bodies {
		if !strings.Contains(body, Ask) {
			continue
		}
		forks++
		parts, rest := l.split(t, body)
		extends := slices.ContainsFunc(bodies, func(other string) bool {
			if strings.Contains(other, Ask) {
				return false
			}
			before, fields := l.split(t, other)
			return len(before) < len(parts) && slices.Equal(before, parts[:len(before)]) && fields == rest &&
				!strings.Contains(strings.Join(parts[:len(parts)-1], ""), Ask) && len(parts)-len(before) == 1
		})
		require.True(t, extends, "request %d is not a request of the agent with one more part:\n%s", i+1, body)
	}
	return forks
}

// split returns the parts of all turns with their roles, without cache marks, and the other fields of a body as JSON.
func (l Layout) split(t *testing.T, body string) (parts []string, rest string) {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &fields))
	turns, _ := fields[l.Turns].([]any)
	require.NotEmpty(t, turns, body)
	delete(fields, l.Turns)
	for _, free := range l.Free {
		object, field, nested := strings.Cut(free, ".")
		if inner, ok := fields[object].(map[string]any); nested && ok {
			if delete(inner, field); len(inner) == 0 {
				delete(fields, object)
			}
		} else if !nested {
			delete(fields, free)
		}
	}
	for _, turn := range turns {
		turn, ok := turn.(map[string]any)
		require.True(t, ok)
		inner, ok := turn[l.Parts].([]any)
		if !ok {
			parts = append(parts, written(t, turn))
			continue
		}
		for _, part := range inner {
			if object, ok := part.(map[string]any); ok {
				delete(object, "cache_control")
			}
			parts = append(parts, fmt.Sprintf("%v %s", turn["role"], written(t, part)))
		}
	}
	return parts, written(t, fields)
}

// written returns a value as JSON with sorted keys.
func written(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}
