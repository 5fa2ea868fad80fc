package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/sources/skills"
	"github.com/promptree-go/promptree/sources/tools"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/policy"
)

// box is a toolbox of one tool.
type box struct {
	name   string
	rules  chat.CallRules
	answer func(context.Context, chat.ToolCall) (chat.Message, error)
}

func (b box) Declared() []chat.Tool { return []chat.Tool{{Name: b.name}} }

func (b box) CallRules(c chat.ToolCall) chat.CallRules {
	if c.Name != b.name {
		return chat.CallRules{}
	}
	return b.rules
}

func (b box) Answer(ctx context.Context, c chat.ToolCall) (chat.Message, bool, error) {
	if c.Name != b.name {
		return chat.Message{}, false, nil
	}
	m, err := b.answer(ctx, c)
	return m, true, err
}

// callsOf returns an answer with calls of tools, with ids c0, c1, ….
func callsOf(names ...string) func(context.Context, chat.Request) (chat.Response, error) {
	m := chat.Message{Role: chat.RoleAssistant}
	for i, name := range names {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: fmt.Sprint("c", i), Name: name, Arguments: "{}"})
	}
	return func(context.Context, chat.Request) (chat.Response, error) { return chat.Response{Message: m}, nil }
}

func TestAToolboxAndItsElementNeedEachOther(t *testing.T) {
	folder := fstest.MapFS{"tidy/SKILL.md": {Data: []byte("---\nname: tidy\ndescription: Tidies.\n---\nTidy.")}}
	for name, c := range map[string]struct {
		tools, shown []string
		way          tools.Way
		err          string
	}{
		"both pairs":                       {[]string{"skills", "deferred"}, []string{"skills", "deferred"}, tools.ByCall, ""},
		"skills that nothing shows":        {[]string{"skills"}, nil, tools.ByCall, "place skills.Loaded with the same Skills in the prompt"},
		"skills that others show":          {[]string{"skills"}, []string{"other"}, tools.ByCall, "place skills.Loaded with the same Skills in the prompt"},
		"shown skills, not declared":       {nil, []string{"skills"}, tools.ByCall, "no tool load_skill is declared: add the Skills to the agent's tools"},
		"deferred that nothing shows":      {[]string{"deferred", "skills"}, []string{"skills"}, tools.ByCall, "place tools.Found with the same Deferred in the prompt"},
		"declared ones are not shown":      {[]string{"deferred", "skills"}, []string{"skills"}, tools.Declared, ""},
		"native ones are not shown":        {[]string{"deferred", "skills"}, []string{"skills"}, tools.Native, ""},
		"shown deferred, not declared":     {nil, []string{"deferred"}, tools.ByCall, "no tool search_tools is declared: add the Deferred to the agent's tools"},
		"shown native ones, not declared":  {nil, []string{"deferred"}, tools.Native, "no tool seek is declared: add the Deferred to the agent's tools"},
		"a search for undeclared skills":   {[]string{"deferred"}, []string{"deferred"}, tools.ByCall, "no tool load_skill is declared: add the same Skills to the agent's tools"},
		"the same tool in two toolboxes":   {[]string{"skills", "skills"}, []string{"skills"}, tools.ByCall, `two toolboxes declare a tool "load_skill"`},
		"a tool of the target's once more": {[]string{"skills", "target"}, []string{"skills"}, tools.ByCall, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var model []func(context.Context, chat.Request) (chat.Response, error)
			if c.err == "" {
				model = append(model, func(_ context.Context, req chat.Request) (chat.Response, error) {
					names := map[string]bool{}
					for _, tool := range req.Tools {
						require.False(t, names[tool.Name])
						names[tool.Name] = true
					}
					require.True(t, names["look"] && names[skills.ToolName])
					return chat.Response{Message: chat.AssistantMessage("Yes.")}, nil
				})
			}
			a := newAgent(t, 8000, policy.Policy{}, model...)
			s := a.Compactor.Session
			known := &skills.Skills{Session: s, Folders: []fs.FS{folder}}
			more := &tools.Deferred{Session: s, Way: c.way, Skills: known, Tools: []chat.Tool{{Name: "seek", Description: "Seeks."}}}
			nodes := map[string]elements.Node{
				"skills": skills.Loaded{Skills: known}, "deferred": tools.Found{Deferred: more},
				"other": skills.Loaded{Skills: &skills.Skills{Session: s, Folders: []fs.FS{folder}}},
			}
			boxes := map[string]chat.Toolbox{"skills": known, "deferred": more}
			prompt := elements.Nodes{history.Compacted{Session: s}}
			for _, shown := range c.shown {
				prompt = append(prompt, nodes[shown])
			}
			a.Prompt = append(prompt, history.Conversation{Session: s, TurnsOnly: true}, history.TurnStart{Session: s}, history.TurnRounds{Session: s})
			for _, tool := range c.tools {
				if tool == "target" {
					a.Compactor.Target.Tools = append(a.Compactor.Target.Tools, known.Declared()...)
				} else {
					a.Tools = append(a.Tools, boxes[tool])
				}
			}
			_, err := a.Step(t.Context())
			if c.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.err)
		})
	}
}

func TestWhatGoesWrongInAToolIsAFailedResult(t *testing.T) {
	result := func(m chat.Message, err error) func(context.Context, chat.ToolCall) (chat.Message, error) {
		return func(context.Context, chat.ToolCall) (chat.Message, error) { return m, err }
	}
	for name, c := range map[string]struct {
		answer func(context.Context, chat.ToolCall) (chat.Message, error)
		says   string
		fine   bool
	}{
		"an error":                {result(chat.Message{}, errors.New("no such ship")), "no such ship", false},
		"an error without a text": {result(chat.Message{}, errors.New(" ")), "The tool failed.", false},
		"a mistake of the model":  {result(chat.Message{}, fmt.Errorf("x: %w", chat.WrongArguments("x", "give %d ships", 3))), "give 3 ships", false},
		"a panic":                 {func(context.Context, chat.ToolCall) (chat.Message, error) { panic("boom") }, "the tool failed: it panicked: boom", false},
		"the end of its goroutine": {func(context.Context, chat.ToolCall) (chat.Message, error) {
			runtime.Goexit()
			return chat.Message{}, nil
		}, "the tool failed: it ended its goroutine instead of returning", false},
		"an error that panics":    {result(chat.Message{}, panics{}), "the tool failed: it panicked: boom", false},
		"no message":              {result(chat.Message{}, nil), "The tool returned no result.", false},
		"what no result may hold": {result(chat.Message{Role: chat.RoleTool, Content: chat.Parts{chat.Thinking{Text: "Hm."}}}, nil), "The result cannot be kept: ", false},
		"a nil part":              {result(chat.Message{Role: chat.RoleTool, Content: chat.Parts{nil}}, nil), "The result cannot be kept: ", false},
		"a text too long to say":  {result(chat.Message{}, errors.New(strings.Repeat("no ", 9000))), strings.Repeat("no ", 1333) + "n…", false},
		"another role and id":     {result(chat.Message{Role: chat.RoleUser, ToolCallID: "y", Name: "me", Content: chat.Parts{chat.Text("ship")}, ToolCalls: []chat.ToolCall{{ID: "z", Name: "look"}}}, nil), "ship", true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, 8000, policy.Policy{}, callsOf("ship"), says("Done."))
			a.Tools = []chat.Toolbox{box{name: "ship", answer: c.answer}}
			answer := stepped(t, a)
			require.True(t, answer.GoOn)
			require.Len(t, answer.Results, 1)
			m := answer.Results[0].Message()
			require.Equal(t, c.fine, !m.IsError)
			require.True(t, strings.HasPrefix(m.Text(), c.says), m.Text())
			m.Content = nil
			require.Equal(t, chat.Message{Role: chat.RoleTool, ToolCallID: "c0", IsError: !c.fine}, m)
			stepped(t, a)
		})
	}
}

// panics is an error that panics.
type panics struct{}

func (panics) Error() string { panic("boom") }

func TestWhatAdaptersAndSourcesReportIsAnEventUnlessSomebodyElseHears(t *testing.T) {
	for name, own := range map[string]bool{"nobody else": false, "the application": true} {
		t.Run(name, func(t *testing.T) {
			change := chat.Repair{Index: 1, Detail: "left out"}
			repairing := func(answer func(context.Context, chat.Request) (chat.Response, error)) func(context.Context, chat.Request) (chat.Response, error) {
				return func(ctx context.Context, req chat.Request) (chat.Response, error) {
					if !own { // as the adapters' OnRepair
						req.OnRepair([]chat.Repair{change})
					}
					return answer(ctx, req)
				}
			}
			call := func(tool, arguments string) func(context.Context, chat.Request) (chat.Response, error) {
				return repairing(func(context.Context, chat.Request) (chat.Response, error) {
					return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: tool + arguments, Name: tool, Arguments: arguments}}}}, nil
				})
			}
			a := newAgent(t, 8000, policy.Policy{}, call(tools.SearchTool, `{"query":"seek"}`), call(skills.ToolName, `{"skill":"tidy"}`),
				call(skills.ToolName, `{"skill":"tidy","off":true}`))
			s := a.Compactor.Session
			folder := fstest.MapFS{"tidy/SKILL.md": {Data: []byte("---\nname: tidy\ndescription: Tidies.\n---\nTidy.")}}
			known := &skills.Skills{Session: s, Folders: []fs.FS{folder}}
			more := &tools.Deferred{Session: s, Tools: []chat.Tool{{Name: "seek", Description: "Seeks."}}}
			heard := 0
			if own {
				known.OnLetGo, more.OnChange = func(skills.Unloaded) { heard++ }, func(tools.Change) { heard++ }
			}
			a.Tools = []chat.Toolbox{known, more}
			a.Prompt = elements.Nodes{history.Compacted{Session: s}, skills.Loaded{Skills: known}, tools.Found{Deferred: more},
				history.Conversation{Session: s, TurnsOnly: true}, history.TurnStart{Session: s}, history.TurnRounds{Session: s}}
			var events []string
			a.Compactor.Observers = append(a.Compactor.Observers, summarize.OnEvent(func(e event.Event) {
				if e.Kind == event.Repaired || e.Kind == event.SourceChanged {
					events = append(events, e.Why+strings.Join(e.Mended, ""))
				}
			}))
			for range 3 {
				answer := stepped(t, a)
				require.False(t, answer.Results[0].Message().IsError, answer.Results[0].Message().Text())
			}
			require.NoError(t, a.Compactor.Close()) // all events are delivered
			if own {
				require.Equal(t, 2, heard)
				require.Empty(t, events)
				return
			}
			repaired := change.String()
			require.Equal(t, []string{repaired, "tools found: seek", repaired, repaired, "skill tidy/SKILL.md was let go"}, events)
		})
	}
}

func TestAToolThatNeverReturnsIsAFailedResultAfterTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		a := newAgent(t, 8000, policy.Policy{}, callsOf("stuck", "honest"), callsOf("stuck"))
		a.Tools = []chat.Toolbox{
			box{name: "stuck", rules: chat.CallRules{Alone: true}, answer: func(context.Context, chat.ToolCall) (chat.Message, error) {
				<-stop
				return chat.ToolResult("", "late"), nil
			}},
			box{name: "honest", answer: func(ctx context.Context, _ chat.ToolCall) (chat.Message, error) {
				<-ctx.Done()
				return chat.Message{}, ctx.Err()
			}},
		}
		began := time.Now()
		answer := stepped(t, a)
		require.Equal(t, 10*time.Minute+time.Second, time.Since(began))
		require.Len(t, answer.Results, 2)
		for _, e := range answer.Results {
			require.Equal(t, "the tool did not return within 10m0s", e.Message().Text())
			require.True(t, e.Message().IsError)
		}
		answer = stepped(t, a)
		require.Contains(t, answer.Results[0].Message().Text(), "an earlier call has not returned")
		close(stop)
	})
}

func TestParallelCallsRunEightAtOnceAndAreShownInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 64 {
			names = append(names, []string{"fast", "alone"}[i%2])
		}
		var sent []chat.Message
		a := newAgent(t, 80_000, policy.Policy{}, callsOf(names...), func(_ context.Context, req chat.Request) (chat.Response, error) {
			sent = req.Messages
			return chat.Response{Message: chat.AssistantMessage("Done.")}, nil
		})
		var running, most, alone atomic.Int32
		var mu sync.Mutex
		run := func(ctx context.Context, c chat.ToolCall) (chat.Message, error) {
			now := running.Add(1)
			defer running.Add(-1)
			mu.Lock()
			most.Store(max(most.Load(), now))
			mu.Unlock()
			time.Sleep(time.Duration(64-len(c.ID)) * time.Second)
			return chat.ToolResult("", "result of "+c.ID), nil
		}
		a.Tools = []chat.Toolbox{
			box{name: "fast", answer: run},
			box{name: "alone", rules: chat.CallRules{Alone: true}, answer: func(ctx context.Context, c chat.ToolCall) (chat.Message, error) {
				require.Equal(t, int32(1), alone.Add(1))
				defer alone.Add(-1)
				return run(ctx, c)
			}},
		}
		require.Len(t, stepped(t, a).Results, 64)
		require.Equal(t, int32(8), most.Load())
		stepped(t, a)
		for i, m := range sent[2:] {
			require.Equal(t, fmt.Sprint("result of c", i), m.Text())
		}
		require.Len(t, sent[2:], 64)
	})
}

func TestAFinishedResultIsKeptIfAnotherToolIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, 8000, policy.Policy{}, callsOf("slow", "fast"))
		a.Tools = []chat.Toolbox{
			box{name: "slow", answer: func(ctx context.Context, _ chat.ToolCall) (chat.Message, error) {
				<-ctx.Done()
				return chat.Message{}, ctx.Err()
			}},
			box{name: "fast", answer: func(context.Context, chat.ToolCall) (chat.Message, error) {
				return chat.ToolResult("", "three ships"), nil
			}},
		}
		why := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, why)
		defer cancel()
		answer, err := a.Step(ctx)
		require.ErrorIs(t, err, why)
		require.Len(t, answer.Results, 1)
		require.Equal(t, "three ships", answer.Results[0].Message().Text())
		require.Equal(t, []entry.Type{entry.TypeMessage, entry.TypeMessage, entry.TypeUsage, entry.TypeMessage}, kinds(t, a.Compactor.Session))
	})
}
