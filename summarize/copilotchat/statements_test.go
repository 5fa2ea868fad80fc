package copilotchat_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/statements"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// window of most rows, in tokens. It is the budget too.
const window = 10_000

// fixtureOf returns a fixture with a session under the policy, in a window of that many tokens.
func fixtureOf(t *testing.T, s *history.Session, tokens int, messages ...chat.Message) compacttest.Fixture {
	d := compacttest.Of(t, s, messages...)
	d.Policy, d.Target.Budget = copilotchat.Policy(), tokens
	return d
}

// numbered returns a session in memory whose id is a number, so that its jitter is the same in each run.
func numbered(t *testing.T, number int) *history.Session {
	return sessiontest.New(t, &storage.Memory{}, history.Options{Header: entry.Header{ID: fmt.Sprint(number)}})
}

// fill appends a turn and a last user message, so that the whole prompt takes that many tokens.
func fill(d compacttest.Fixture, tokens int) {
	list := []chat.Message{chat.SystemMessage("You are a coding agent."), chat.UserMessage(compacttest.Task), chat.UserMessage("Go on.")}
	left := tokens - compacttest.Count(d.Target.Tokenizer, append(list, chat.AssistantMessage("")))
	d.Say(list[1], chat.AssistantMessage(compacttest.Words(left)), list[2])
}

// cold returns a fixture with a prompt of that many tokens, whose turn completed no round of tool calls.
func cold(t *testing.T, tokens int) compacttest.Fixture {
	d := fixtureOf(t, numbered(t, 0), window)
	fill(d, tokens)
	return d
}

// warm returns a fixture with a prompt of that many tokens, whose turn completed a round of tool calls.
func warm(t *testing.T, number, tokens int) compacttest.Fixture {
	d := fixtureOf(t, numbered(t, number), window)
	round := compacttest.Round(1, 300)
	fill(d, tokens-compacttest.Count(d.Target.Tokenizer, round))
	d.Say(round...)
	return d
}

// begins renders the prompt, and reports whether a summary is begun in the background.
func begins(d compacttest.Fixture) (begun bool) {
	d.Runner = func(context.Context, *history.Session, string) error {
		begun = true
		return nil
	}
	d.Messages()
	return begun
}

// overflowing returns a fixture whose prompt does not fit.
func overflowing(t *testing.T, s *history.Session, answers ...models.Reply) compacttest.Fixture {
	d := fixtureOf(t, s, compacttest.Budget, compacttest.Overflowing()...)
	d.Target.Tools = []chat.Tool{{Name: "read_file", Parameters: []byte(`{"properties":{"path":{"type":"string"}}}`)}}
	d.Answers(answers...)
	return d
}

// compacted returns an overflowing fixture after a compaction, and its prompt.
func compacted(t *testing.T) (compacttest.Fixture, []chat.Message) {
	d := overflowing(t, numbered(t, 0), models.SaySummary("What was done."))
	return d, d.Messages()
}

// named returns the request that a compaction makes to an agent's model of that name, and the prompt after it.
func named(t *testing.T, model string, said ...chat.Message) (chat.Request, []chat.Message) {
	d := fixtureOf(t, numbered(t, 0), compacttest.Budget, append([]chat.Message{chat.UserMessage(compacttest.Task)}, said...)...)
	d.Say(compacttest.Rounds(1, 6, compacttest.RoundTokens)...)
	d.Target.Name = model
	d.Answers(models.SaySummary("What was done."))
	got := d.Messages()
	return d.Request(), got
}

// background runs a check on a session with a warm cache. The summary is begun by the first prompt, which is the
// argument sent, and takes as long as latency.
func background(check func(t *testing.T, d compacttest.Fixture, sent []chat.Message)) func(*testing.T) {
	return func(t *testing.T) {
		d := fixtureOf(t, numbered(t, 0), window, chat.UserMessage(compacttest.Task))
		d.Say(compacttest.Rounds(1, 9, 930)...)
		d.Target.Tools = []chat.Tool{{Name: "read_file"}}
		d.Answers(compacttest.After(latency, models.Say("Here it is.\n<summary>\nMade meanwhile.\n</summary>\nThat is all.")))
		check(t, d, d.Messages())
	}
}

// latency is the time that a model takes for an answer.
const latency = 30 * time.Second

// waitUntilReady waits until the summary is ready.
func waitUntilReady(t *testing.T, d compacttest.Fixture) {
	require.NoError(t, d.Wait(t.Context()))
	require.Equal(t, policy.PendingReady, d.PendingNow())
}

// calls reports whether messages hold a call of a tool.
func calls(messages []chat.Message, tool string) bool {
	return slices.ContainsFunc(messages, func(m chat.Message) bool {
		return slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool { return c.Name == tool })
	})
}

// rendered renders elements in one message under the policy, within a budget, and returns the text.
func rendered(t *testing.T, budget int, children ...elements.Node) string {
	d := fixtureOf(t, numbered(t, 0), budget)
	r := d.Rendered(elements.UserMessage{Props: elements.Props{Priority: new(1)}, Children: children})
	require.LessOrEqual(t, r.Tokens, budget)
	return compacttest.Text(r.Messages)
}

// lines returns texts of 50 tokens each, which begin with a, b, c and d.
func lines(priority *int) elements.Nodes {
	var list elements.Nodes
	for _, name := range []string{"a", "b", "c", "d"} {
		list = append(list, elements.TextChunk{Props: elements.Props{Priority: priority}, Children: elements.Nodes{elements.Text(name + " " + compacttest.Words(50))}})
	}
	return list
}

// shown returns the names of the lines that a text shows.
func shown(text string) string {
	var list []string
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(line, " "); ok {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

// recorder is an element of that many tokens that records the budget with which it is rendered.
type recorder struct {
	elements.Props
	tokens int
	budget *int
}

func (e recorder) Render(_ context.Context, s elements.Sizing) (elements.Node, error) {
	*e.budget = s.TokenBudget
	return elements.UserMessage{Children: elements.Nodes{elements.Text(compacttest.Words(e.tokens))}}, nil
}

// thinking returns an assistant message that calls a tool after some thinking.
func thinking(n int, text string) chat.Message {
	m := compacttest.Round(n, 300)[0]
	m.Content = append(chat.Parts{chat.Thinking{Text: text, Signature: "sig"}}, m.Content...)
	return m
}

// largeResult returns how a tool result is shown that takes more than half of the window.
func largeResult(t *testing.T) string {
	d := fixtureOf(t, numbered(t, 0), window, chat.UserMessage(compacttest.Task))
	d.Say(compacttest.Round(1, 9000)...)
	got := d.Messages()
	return got[len(got)-1].Text()
}

var errDown = errors.New("the model is down")

const (
	policyFile = "summarize/copilotchat/policy.go"
	engine     = "summarize/"
)

// replace returns a mutation of the policy.
func replace(old, new string) statements.Mutant {
	return statements.Change(policyFile, old, new)
}

func TestStatements(t *testing.T) {
	statements.Run(t, []statements.Statement{
		// The prompt.
		statements.That("over budget, instructions go first, then older history, then this turn's calls, and the user's message stays", func(t *testing.T) {
			s := numbered(t, 0)
			d := fixtureOf(t, s, window, chat.UserMessage("Before."))
			d.Say(compacttest.Rounds(1, 2, 500)...)
			d.Say(chat.AssistantMessage("It was so."), chat.UserMessage(compacttest.Task))
			d.Say(compacttest.Rounds(3, 4, 500)...)
			d.Policy.Off = true // so that only pruning helps
			prompt := append(compacttest.Prompt(s), elements.SystemMessage{
				Props: elements.Props{Priority: new(600)}, Children: elements.Nodes{elements.Text("Instructions: " + compacttest.Words(300))},
			})
			var states []string
			for budget := 2500; ; budget -= 50 {
				d.Target.Budget = budget
				r, err := d.Render(t.Context(), prompt)
				if err != nil {
					break
				}
				text := compacttest.Text(r.Messages)
				require.Contains(t, text, compacttest.Task)
				state := fmt.Sprint(strings.Contains(text, "Instructions"), strings.Contains(text, "Before."), compacttest.Outputs(text))
				if len(states) == 0 || states[len(states)-1] != state {
					states = append(states, state)
				}
			}
			require.Equal(t, []string{
				"true true [1 2 3 4]", "false true [1 2 3 4]", "false true [2 3 4]", "false true [3 4]", "false false [4]", "false false []",
			}, states)
		},
			replace("LastResort: policy.ResortDrop", "LastResort: policy.ResortError"),
			statements.Change("render/internal/order/choice.go", "return cmp.Compare(a.priority, b.priority)", "return cmp.Compare(b.priority, a.priority)")),
		statements.That("the user's message and calls have the first claim on the room, and history is given what they leave", func(t *testing.T) {
			var older, request, rounds int
			d := fixtureOf(t, numbered(t, 0), window)
			d.Rendered(elements.Nodes{
				elements.SystemMessage{Children: elements.Nodes{elements.Text(compacttest.Words(997))}},
				recorder{elements.Props{Priority: new(700), FlexGrow: 1}, 100, &older},
				recorder{elements.Props{Priority: new(900), FlexGrow: 2}, 1997, &request},
				recorder{elements.Props{Priority: new(899), FlexGrow: 2}, 2997, &rounds},
			})
			require.InDelta(t, 4500, request, 10, "half of the room that the instructions leave")
			require.InDelta(t, 4500, rounds, 10)
			require.InDelta(t, 4000, older, 20)
		},
			statements.Change("render/internal/layout/share.go", "return -it.props.FlexGrow", "return it.props.FlexGrow"),
			statements.Change("render/internal/layout/share.go", "return math.MinInt", "return math.MaxInt")),
		statements.That("siblings of the same priority go in the order in which they are declared", func(t *testing.T) {
			require.Equal(t, "c d", shown(rendered(t, 130, lines(new(5))...)))
		}, statements.Change("render/internal/order/choice.go", "return cmp.Compare(a.id, b.id)", "return cmp.Compare(b.id, a.id)")),
		statements.That("a list ranks its children so that the first goes first, or the last", func(t *testing.T) {
			for descending, want := range map[bool]string{false: "c d", true: "a b"} {
				list := elements.PrioritizedList{Props: elements.Props{Priority: new(5)}, Descending: descending, Children: lines(nil)}
				require.Equal(t, want, shown(rendered(t, 130, list)))
			}
		},
			statements.Change("elements/groups.go", "priority := base - len(l.Children) + i", "priority := base - i"),
			statements.Change("elements/groups.go", "priority = base - i", "priority = base - len(l.Children) + i")),
		statements.That("a subtree may have a hard limit of its own", func(t *testing.T) {
			require.Equal(t, "c d x", shown(rendered(t, window, elements.TokenLimit{Max: 130, Children: lines(new(5))}, elements.TextChunk{Children: elements.Nodes{elements.Text("x y")}})))
		}, statements.Change("render/fit.go", "if l.max > f.options.Budget || l.id == tree.None || !f.state.Attached(l.id, tree.None) {", "if true {")),
		statements.That("a long text is cut to what fits", func(t *testing.T) {
			text := rendered(t, 500, elements.TextChunk{BreakOnWhitespace: true, Children: elements.Nodes{elements.Text(compacttest.Words(2000))}})
			require.InDelta(t, 500, compacttest.Quarter{}.CountText(text), 10)
		}, statements.Change("render/trim.go", "longestWithin(limit, t.was, tokens)", "longestWithin(limit/2, t.was, tokens)")),
		statements.That("pieces with a priority are pruned before history is compacted", func(t *testing.T) {
			d := fixtureOf(t, numbered(t, 0), compacttest.Budget, chat.UserMessage(compacttest.Task))
			d.Say(compacttest.Rounds(1, 4, compacttest.RoundTokens)...)
			r := d.Rendered(compacttest.Prompt(d.Session, elements.UserMessage{
				Props: elements.Props{Priority: new(600)}, Children: elements.Nodes{elements.Text("Nice to know: " + compacttest.Words(2000))},
			}))
			require.Empty(t, d.Requests())
			require.NotContains(t, compacttest.Text(r.Messages), "Nice to know")
			require.Equal(t, []int{1, 2, 3, 4}, compacttest.Outputs(compacttest.Text(r.Messages)))
		}, statements.Change("render/internal/order/required.go", "if l.unranked && !offered {", "if l.unranked {")),

		statements.That("if not even the piece of the highest priority fits, the error says how many tokens it needs", func(t *testing.T) {
			d := fixtureOf(t, numbered(t, 0), window, chat.UserMessage(compacttest.Words(2*window)))
			_, err := d.Render(t.Context(), compacttest.Prompt(d.Session))
			over := errtest.As[*render.BudgetExceededError](t, err)
			require.Equal(t, window, over.Budget)
			require.Greater(t, over.Needed, 2*window)
		}, statements.Change(engine+"compactor.go", "return failed(ErrNothingToCompact)", "return &FailedError{Reasons: []error{ErrNothingToCompact}}")),

		// When it compacts.
		statements.That("it compacts in the foreground if a prompt does not fit, and the compacted prompt fits", func(t *testing.T) {
			d, got := compacted(t)
			require.Contains(t, compacttest.Text(got), "What was done.")
			require.Equal(t, "started done/full", compacttest.Kinds(*d.Heard))
			require.Equal(t, policy.OnBudgetExceeded, (*d.Heard)[0].Reason)
		},
			replace("Background: policy.Background{", "Background: policy.Background{Always: true, "),
			statements.Change(engine+"policy/trigger.go", "return own == on || on == OnBudgetExceeded", "return on != OnBudgetExceeded && own == on || false")),
		statements.That("it compacts in the background at 90% of the window if the cache is cold", func(t *testing.T) {
			require.False(t, begins(cold(t, 8999)))
			require.True(t, begins(cold(t, 9000)))
		},
			replace("Cold: 0.10", "Cold: 0.09"),
			replace("Cold: 0.10", "Cold: 0.11"),
			replace("Ratio: 0.80", "Ratio: 0.81"),
			replace("Background: true},\n", "Background: true, Above: true},\n"),
			replace("0.10, Background: true}", "0.10}")),
		statements.That("it compacts at about 80% if the cache is warm, and the exact limit varies from 78% to 82%", func(t *testing.T) {
			const sessions = 100
			share := func(tokens int) int {
				n := 0
				for number := range sessions {
					if begins(warm(t, number, tokens)) {
						n++
					}
				}
				return n
			}
			require.Zero(t, share(7799), "below 78%% none does")
			low, high := share(7900), share(8100) // a quarter and three quarters, on average
			require.True(t, 0 < low && low < sessions/2, "%d", low)
			require.True(t, sessions/2 < high && high < sessions, "%d", high)
			require.Equal(t, sessions, share(8200), "at 82%% all do")
		},
			replace("Ratio: 0.80", "Ratio: 0.79"),
			replace("Ratio: 0.80", "Ratio: 0.81"),
			replace("Jitter: 0.02", "Jitter: 0.01"),
			replace("Jitter: 0.02", "Jitter: 0.03"),
			statements.Change(engine+"internal/plan/measure.go", "Jitter: journal.Jitter(p.Session), ", "")),
		statements.That("a cache counts as warm once this turn completed a round of tool calls", func(t *testing.T) {
			require.True(t, begins(warm(t, 0, 8500)))
			require.False(t, begins(cold(t, 8500)))
			d := warm(t, 0, 8300)
			d.Say(chat.AssistantMessage("Done."), chat.UserMessage("And now? "+compacttest.Words(190)))
			require.False(t, begins(d), "the round was in an earlier turn")
			d = cold(t, 8500)
			d.Say(compacttest.Round(1, 300)[0])
			require.False(t, begins(d), "its call has no result")
		},
			statements.Change(engine+"internal/plan/measure.go", "len(r.Results) > 0 })", "len(r.Results) >= 0 })"),
			statements.Change(engine+"internal/plan/measure.go", "len(r.Results) > 0 })", "len(r.Results) < 0 })"),
			statements.Change(engine+"internal/plan/measure.go", "s.View.Turns[n-1].Rounds, func", "s.View.Turns[max(0, n-2)].Rounds, func"),
			replace("Cold: 0.10, ", "")),
		statements.That("it compacts when somebody asks for it, however few tokens are used", func(t *testing.T) {
			d := cold(t, 4000)
			d.Messages()
			d.Answers(models.SaySummary("What was done."))
			require.Contains(t, compacttest.Text(d.Compacted().Result.Messages), "What was done.")
		}, replace("{On: policy.OnDemand}", "{On: policy.OnDemand, Ratio: 0.5}")),
		statements.That("it compacts on no other occasion", func(t *testing.T) {
			d := cold(t, 8000)
			d.Messages()
			_, err := d.MemoryPressure(t.Context())
			require.ErrorIs(t, err, summarize.ErrNotAsked)
			smaller := d.Target
			smaller.Name, smaller.Budget = "smaller", 8100
			_, err = d.SwitchModel(t.Context(), compacttest.Prompt(d.Session), smaller)
			require.NoError(t, err)
			require.Empty(t, *d.Heard)
		},
			replace("{On: policy.OnDemand},", "{On: policy.OnDemand}, {On: policy.OnMemoryPressure},"),
			replace("{On: policy.OnDemand},", "{On: policy.OnDemand}, {On: policy.OnModelSwitch},")),
		statements.That("a master switch turns compaction off in the foreground and in the background", func(t *testing.T) {
			d := overflowing(t, numbered(t, 0))
			d.Policy.Off = true
			d.Messages()
			require.Equal(t, "let go", compacttest.Kinds(*d.Heard))
			d = warm(t, 0, 9500)
			d.Policy.Off = true
			require.False(t, begins(d))
		}, statements.Change(engine+"policy/decide.go", "case p.Off &&", "case false &&")),

		// The window, and what lowers it.
		statements.That("the window is the one that the user chose, and not the largest of the model", func(t *testing.T) {
			d := cold(t, 5000)
			d.Target.ContextWindow = 5556
			require.False(t, begins(d))
			d.Target.ContextWindow = 5555
			require.True(t, begins(d))
		}, statements.Change(engine+"internal/plan/size.go", "if t.ContextWindow > 0 {", "if false {")),
		statements.That("ratios are of the largest prompt, whatever the window has room for besides", func(t *testing.T) {
			for _, w := range compacttest.Windows(t) {
				if w.Tokens > 200_000 {
					break // the rest is slower, and no different
				}
				most := w.Budget + compacttest.WindowTools
				at := (9*most + 9) / 10
				for tokens, want := range map[int]bool{at - 1: false, at: true} {
					d := fixtureOf(t, numbered(t, 0), w.Budget)
					d.Target.ContextWindow = w.Tokens
					d.Target.Tools = []chat.Tool{{Name: "read", Description: compacttest.Words(compacttest.WindowTools - 1)}}
					fill(d, tokens-compacttest.WindowTools)
					require.Equal(t, want, begins(d), "%v: %d of %d", w, tokens, most)
				}
			}
		},
			statements.Change(engine+"internal/plan/size.go", "min(base, clamp.Sum(t.Budget, s.Tools))", "base"),
			statements.Change(engine+"internal/plan/size.go", "min(base, clamp.Sum(t.Budget, s.Tools))", "min(base, t.Budget)")),
		statements.That("a threshold lowers the base of ratios: it is a ratio of the window, or a number of tokens", func(t *testing.T) {
			for _, threshold := range []float64{0.5, 5000} {
				for tokens, want := range map[int]bool{4499: false, 4500: true} {
					d := cold(t, tokens)
					d.Policy.Counting.Threshold = threshold
					require.Equal(t, want, begins(d), "%v, %d", threshold, tokens)
				}
			}
		},
			replace(", LoweredBase: true", ""),
			statements.Change("sizing/window.go", "return clamp.Share(t, effective), nil", "return clamp.Share(1, effective), nil"),
			statements.Change("sizing/window.go", "return int(t), nil", "return effective, nil")),
		statements.That("a threshold is at most 1 or at least 100, and one between is an error", func(t *testing.T) {
			for threshold, want := range map[float64]int{0.5: 5000, 1: window, 100: 100, 101: 101, 1.001: 0, 50: 0, 99.99: 0, -0.5: 0} {
				d := fixtureOf(t, numbered(t, 0), window, chat.UserMessage("Hi."))
				d.Policy.Counting.Threshold = threshold
				r, err := d.Render(t.Context(), compacttest.Prompt(d.Session))
				if want == 0 {
					require.ErrorAs(t, err, new(*sizing.ThresholdError), "%v: %v", threshold, err)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, want, r.Budget)
			}
		},
			statements.Change("sizing/window.go", "case t >= 100 &&", "case t >= 99 &&"),
			statements.Change("sizing/window.go", "case t >= 100 &&", "case t >= 101 &&"),
			statements.Change("sizing/window.go", "t > 0 && t <= 1:", "t > 0 && t < 1:"),
			statements.Change("sizing/window.go", "t > 0 && t <= 1:", "t > 0 && t <= 1.1:"),
			statements.Change("sizing/window.go", "t > 0 && t <= 1:", "t > -1 && t <= 1:")),
		statements.That("a threshold above the window is clamped to it", func(t *testing.T) {
			for tokens, want := range map[int]bool{8999: false, 9000: true} {
				d := cold(t, tokens)
				d.Policy.Counting.Threshold = 2 * window
				d.Target.Budget, d.Target.ContextWindow = 2*window, window
				require.Equal(t, want, begins(d), "%d", tokens)
			}
		}, statements.Change("sizing/window.go", "min(threshold, effective)", "threshold")),
		statements.That("a tenth of the room that tools leave is kept free, and without tools none", func(t *testing.T) {
			for tools, want := range map[int]int{0: window, 1: 8999, 7: 8993, 1000: 8100} {
				d := fixtureOf(t, numbered(t, 0), window, chat.UserMessage("Hi."))
				d.Policy.Counting.Threshold = window
				if tools > 0 {
					d.Target.Tools = []chat.Tool{{Name: strings.Repeat("tool", tools)}}
				}
				require.Equal(t, want, d.Rendered(compacttest.Prompt(d.Session)).Budget, "%d tokens of tools", tools)
			}
		},
			statements.Change("sizing/window.go", "const marginDivisor = 10", "const marginDivisor = 9"),
			statements.Change("sizing/window.go", "const marginDivisor = 10", "const marginDivisor = 11"),
			statements.Change("sizing/window.go", "(budget-1)/marginDivisor + 1", "budget / marginDivisor"),
			statements.Change("sizing/window.go", "budget -= toolTokens", "budget -= 0"),
			statements.Change("sizing/window.go", "if toolTokens > 0 || w.ToolsInPrompt {", "if true {")),
		statements.That("a budget is never below one token", func(t *testing.T) {
			d := fixtureOf(t, numbered(t, 0), window, chat.UserMessage("Hi."))
			d.Target.Tools = []chat.Tool{{Name: strings.Repeat("tool", 2*window)}}
			d.Policy.Counting.Threshold = window
			_, err := d.Render(t.Context(), compacttest.Prompt(d.Session))
			require.Equal(t, 1, errtest.As[*render.BudgetExceededError](t, err).Budget)
		},
			statements.Change("sizing/window.go", "return max(1, budget), nil", "return budget, nil"),
			statements.Change("sizing/window.go", "return max(1, budget), nil", "return max(2, budget), nil")),

		// In the background.
		statements.That("a background summary is asked for by a copy of the request that was sent, for the prompt cache", background(func(t *testing.T, d compacttest.Fixture, sent []chat.Message) {
			waitUntilReady(t, d)
			r := d.Request()
			compacttest.Equal(t, sent, r.Messages[:len(r.Messages)-1])
			require.Equal(t, chat.RoleUser, r.Messages[len(sent)].Role)
			require.Contains(t, r.Messages[len(sent)].Text(), "Stop the work here. Summarise")
			compacttest.Equal(t, d.Target.Tools, r.Tools)
			require.Equal(t, chat.ToolChoiceAuto, r.ToolChoice, "as in the request that was sent")
		}),
			replace("[]policy.Prompt{fork, ", "[]policy.Prompt{"),
			statements.Change(engine+"internal/write/write.go", "case p.Forks: // a fork", "case p.Forks && len(req.Tools) == 0: // a fork"),
			statements.Change(engine+"prompts/prompt.go", "textblock.Messages(m.Sent),", "textblock.Messages(m.Sent[1:]),")),
		statements.That("the <summary> block of the answer is put in place", background(func(t *testing.T, d compacttest.Fixture, _ []chat.Message) {
			waitUntilReady(t, d)
			require.Equal(t, "<conversation-summary>\nMade meanwhile.\n</conversation-summary>", d.Messages()[1].Text())
		}), statements.Change(engine+"prompts/prompt.go", "Request: forkRequest, Asked: inBlock", "Request: forkRequest")),
		statements.That("the next render puts it in place, and messages that were appended meanwhile stay", background(func(t *testing.T, d compacttest.Fixture, sent []chat.Message) {
			require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, compacttest.Outputs(compacttest.Text(sent)), "the first one does not wait")
			d.Say(compacttest.Round(10, 300)...)
			waitUntilReady(t, d)
			got := compacttest.Text(d.Messages())
			require.Contains(t, got, "Made meanwhile.")
			require.Equal(t, []int{9, 10}, compacttest.Outputs(got))
			require.Equal(t, "started ready/fork done/fork", compacttest.Kinds(*d.Heard))
		}),
			statements.Change(engine+"policy/decide.go", "c.Background && (m.Fits", "c.Background && (false"),
			statements.Change(engine+"policy/decide.go", `do(ActPlace, "a summary is ready")`, `do(ActNothing, "a summary is ready")`)),
		statements.That("a summary that is being made is waited for only if the prompt does not fit", background(func(t *testing.T, d compacttest.Fixture, _ []chat.Message) {
			for n, c := range []struct {
				tokens int // appended meanwhile
				waits  time.Duration
			}{{1200, 0}, {700, latency}} {
				d.Say(compacttest.Round(10+n, c.tokens)...)
				begun := time.Now()
				got := compacttest.Text(d.Messages())
				require.Equal(t, c.waits, time.Since(begun))
				require.Equal(t, c.waits > 0, strings.Contains(got, "Made meanwhile."))
			}
			require.Len(t, d.Requests(), 1)
		}),
			replace("policy.Background{Apply", "policy.Background{Wait: 0.95, Apply"),
			statements.Change(engine+"policy/decide.go", "case m.Pending != PendingNone && (!m.Fits || m.over() || m.Occasion == OnContextLimit) && !m.Waited && !p.spared(m):", "case false:")),
		statements.That("a summary that is ready is discarded if less than 65% of the window is used by then", func(t *testing.T) {
			for larger, want := range map[int]string{13_846: "done/fork", 13_847: "discarded/fork"} { // 9000 tokens are 65% of 13,846.2
				d := cold(t, 9000)
				d.Answers(models.SaySummary("Made meanwhile."))
				d.Messages()
				waitUntilReady(t, d)
				d.Target.Budget = larger
				got := compacttest.Text(d.Messages())
				require.Equal(t, "started ready/fork "+want, compacttest.Kinds(*d.Heard))
				require.Equal(t, want == "done/fork", strings.Contains(got, "Made meanwhile."))
			}
		},
			replace("Apply: 0.65", "Apply: 0.649"),
			replace("Apply: 0.65", "Apply: 0.651")),
		statements.That("a failure in the background is no error, and a prompt that does not fit is compacted in the foreground", func(t *testing.T) {
			d := fixtureOf(t, numbered(t, 0), window, chat.UserMessage(compacttest.Task))
			d.Say(compacttest.Rounds(1, 9, 930)...)
			d.Answers(models.Fail(errDown))
			sent := d.Messages()
			require.NoError(t, d.Wait(t.Context()))
			require.Equal(t, "started refused/fork failed", compacttest.Kinds(*d.Heard))
			time.Sleep(9 * time.Minute)
			compacttest.Equal(t, sent, d.Messages())
			require.NoError(t, d.Wait(t.Context()))
			require.Len(t, d.Requests(), 1, "it is not tried again before the agent's next step")
			d.Say(compacttest.Rounds(10, 12, 930)...)
			d.Always(models.SaySummary("In its place."))
			require.Contains(t, compacttest.Text(d.Messages()), "In its place.")
		},
			statements.Change(engine+"internal/plan/measure.go", "const longestPause = 10 * time.Minute", "const longestPause = time.Minute"),
			replace(`Name:     "copilot-chat",`, `Name: "copilot-chat", Off: true,`)),

		// What is cut, and what is kept.
		statements.That("the round that exceeded the budget is not summarised and stays word for word, with the user's message", func(t *testing.T) {
			d, got := compacted(t)
			require.Equal(t, []int{1, 2, 3, 4, 5}, compacttest.Outputs(compacttest.Text(d.Request().Messages)))
			compacttest.Equal(t, append([]chat.Message{chat.UserMessage(compacttest.Task)}, compacttest.Round(6, compacttest.RoundTokens)...), got[2:])
		},
			replace("Cut:        history.Cut{}", "Cut:        history.Cut{Rounds: 2}"),
			statements.Change(engine+"internal/plan/measure.go", "return point.Units[:point.At] }", "return point.Units }")),
		statements.That("if it is the only round of its turn, the turns before it are summarised", func(t *testing.T) {
			d := fixtureOf(t, numbered(t, 0), compacttest.Budget, chat.UserMessage("Before."))
			d.Say(compacttest.Rounds(1, 5, compacttest.RoundTokens)...)
			d.Say(chat.AssistantMessage("It was so."), chat.UserMessage(compacttest.Task))
			d.Say(compacttest.Round(6, compacttest.RoundTokens)...)
			d.Answers(models.SaySummary("What was done."))
			got := d.Messages()
			asked := compacttest.Text(d.Request().Messages)
			require.Contains(t, asked, "It was so.")
			require.NotContains(t, asked, compacttest.Task)
			compacttest.Equal(t, append([]chat.Message{chat.UserMessage(compacttest.Task)}, compacttest.Round(6, compacttest.RoundTokens)...), got[2:])
		}, statements.Change("history/cut.go", "behindStart := !first &&", "behindStart := false &&")),
		statements.That("a compaction is shown the summary before it, and nothing that it covers", func(t *testing.T) {
			d, _ := compacted(t)
			d.Say(compacttest.Rounds(7, 11, compacttest.RoundTokens)...)
			d.Answers(models.SaySummary("What was done since."))
			got := compacttest.Text(d.Messages())
			asked := compacttest.Text(d.Requests()[1].Messages)
			require.Contains(t, asked, "<conversation-summary>\nWhat was done.\n</conversation-summary>")
			require.Equal(t, []int{6, 7, 8, 9, 10}, compacttest.Outputs(asked))
			require.Contains(t, got, "<conversation-summary>\nWhat was done since.\n</conversation-summary>")
			require.NotContains(t, got, "What was done.")
		},
			statements.Change(engine+"prompts/prompt.go", "\t\ttextblock.Messages(m.Previous),\n", ""),
			statements.Change("history/view_snapshot.go", "nodes := p.Nodes[p.IndexAt(boundary):]", "nodes := p.Nodes")),
		statements.That("tool results take at most half of the window", func(t *testing.T) {
			tokens := compacttest.Quarter{}.CountText(largeResult(t))
			require.LessOrEqual(t, tokens, window/2)
			require.Greater(t, tokens, window/2*96/100)
		},
			statements.Change("history/clip.go", "cmp.Or(l.Results, 0.5)", "cmp.Or(l.Results, 0.45)"),
			statements.Change("history/clip.go", "cmp.Or(l.Results, 0.5)", "cmp.Or(l.Results, 0.55)")),
		statements.That("a long tool result loses its middle: 40% of what stays is its head and 60% its tail", func(t *testing.T) {
			head, rest, cut := strings.Cut(largeResult(t), "\n[... ")
			require.True(t, cut)
			_, tail, cut := strings.Cut(rest, " ...]\n")
			require.True(t, cut)
			require.Equal(t, []int{1}, compacttest.Outputs(head))
			require.Equal(t, []int{1}, compacttest.Outputs(tail))
			require.InDelta(t, 0.4, float64(len(head))/float64(len(head)+len(tail)), 0.02)
		},
			statements.Change("history/clip.go", "const DefaultHead = 0.4", "const DefaultHead = 0.35"),
			statements.Change("history/clip.go", "const DefaultHead = 0.4", "const DefaultHead = 0.45")),

		// What the model is asked.
		statements.That("the model of the conversation is asked", func(t *testing.T) {
			d := overflowing(t, numbered(t, 0), models.SaySummary("What was done."))
			d.Target.Name = "gpt-5"
			other := &models.Script{}
			d.Models = map[string]policy.Target{"other": {Model: other}}
			d.Messages()
			require.Len(t, d.Requests(), 1)
			require.Empty(t, other.Requests())
		},
			replace("Ask: policy.Ask{", `Ask: policy.Ask{Names: []string{"other"},`),
			replace("Ask: policy.Ask{", `Ask: policy.Ask{Routes: []policy.Route{{Agents: []string{"*"}, Model: "other"}},`)),
		statements.That("the model is asked at temperature 0", func(t *testing.T) {
			d, _ := compacted(t)
			require.Zero(t, *d.Request().Temperature)
		},
			replace("new(0.0)", "new(0.1)"),
			replace("Temperature: new(0.0),", "Temperature: nil,")),
		statements.That("the request does not turn streaming off", func(t *testing.T) {
			d, _ := compacted(t)
			require.NotNil(t, d.Request().Stream)
		}, statements.Change(engine+"internal/write/generate.go", "	req.Stream = func(d chat.Delta) {\n", "	_ = func(d chat.Delta) {\n")),
		statements.That("the model is asked for an <analysis> block and then a <summary> block in eight sections", func(t *testing.T) {
			d, _ := compacted(t)
			messages := d.Request().Messages
			asked := messages[len(messages)-1].Text()
			at := -1
			for _, part := range []string{
				"<analysis> block", "<summary> block", "eight sections",
				"\n1. Conversation Overview:", "\n2. Technical Foundation:", "\n3. Codebase Status:", "\n4. Problem Resolution:",
				"\n5. Progress Tracking:", "\n6. Active Work State:", "\n7. Recent Operations:", "\n8. Continuation Plan:",
			} {
				next := strings.Index(asked, part)
				require.Greater(t, next, at, "%s", part)
				at = next
			}
			require.NotContains(t, asked, "\n9. ")
		},
			statements.Change(engine+"prompts/prompt.go", "in an <analysis> block", "at first"),
			statements.Change(engine+"prompts/prompt.go", "handoff in a <summary> block", "handoff"),
			statements.Change(engine+"prompts/prompt.go", "4. Problem Resolution: ", "4. Problems: "),
			statements.Change(engine+"prompts/prompt.go", "8. Continuation Plan: the next step, and the ones after it.\n", ""),
			statements.Change(engine+"prompts/prompt.go", "the ones after it.\n", "the ones after it.\n9. Remarks: the rest.\n")),
		statements.That("full mode shows the history as messages, with tools that may not be called", func(t *testing.T) {
			d, _ := compacted(t)
			r := d.Request()
			require.True(t, calls(r.Messages, "read"))
			compacttest.Equal(t, d.Target.Tools, r.Tools)
			require.Equal(t, chat.ToolChoiceNone, r.ToolChoice)
		},
			replace("prompts.FullPrompt(), ", ""),
			statements.Change(engine+"prompts/prompt.go", "Request: fullRequest, Asked: inBlock, Tools: true", "Request: fullRequest, Asked: inBlock"),
			statements.Change(engine+"internal/write/write.go", "req.ToolChoice = chat.ToolChoiceNone", "req.ToolChoice = chat.ToolChoiceAuto")),
		statements.That("if full mode brings no summary, simple mode is tried, which shows the history as one text without tools", func(t *testing.T) {
			d := overflowing(t, numbered(t, 0), models.Say("No."), models.SaySummary("In simple mode."))
			require.Contains(t, compacttest.Text(d.Messages()), "In simple mode.")
			require.Equal(t, "started refused/full done/simple", compacttest.Kinds(*d.Heard))
			r := d.Requests()[1]
			require.Len(t, r.Messages, 2)
			require.False(t, calls(r.Messages, "read"))
			require.Empty(t, r.Tools)
			require.Equal(t, []int{1, 2, 3, 4, 5}, compacttest.Outputs(r.Messages[1].Text()))
		},
			replace(", prompts.PackedPrompt()}", "}"),
			replace("prompts.FullPrompt(), prompts.PackedPrompt()", "prompts.PackedPrompt(), prompts.FullPrompt()"),
			statements.Change(engine+"prompts/prompt.go", "Asked: inBlock, Drops: true", "Asked: inBlock, Tools: true, Drops: true")),
		statements.That("simple mode leaves out the oldest of the assistant's messages that the model does not take in, and the compaction says so", func(t *testing.T) {
			d := fixtureOf(t, numbered(t, 0), window, chat.UserMessage(compacttest.Task))
			for n := range 12 {
				d.Say(chat.AssistantMessage(compacttest.Output(n+1, 930)), chat.UserMessage("Go on."))
			}
			d.Policy.Ask.Mode = policy.ModeSimple
			d.TakesIn(5000)
			d.Policy.Ask.MaxTokens = 500
			d.Answers(models.SaySummary("What was done."))
			log := &strings.Builder{}
			d.Observers = append(d.Observers, summarize.Log{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
			require.Contains(t, compacttest.Text(d.Messages()), "What was done.")
			asked := compacttest.Text(d.Request().Messages)
			require.Contains(t, asked, "go build ./…", "what the user said stays")
			left := compacttest.Outputs(asked)
			require.NotEmpty(t, left)
			require.Greater(t, left[0], 1)
			require.Equal(t, 12, left[len(left)-1])
			require.True(t, compacttest.Compactions(d.Session)[0].Unseen)
			require.True(t, (*d.Heard)[len(*d.Heard)-1].Unseen)
			require.Contains(t, log.String(), "level=WARN")
		},
			replace("prompts.PackedPrompt()", "prompts.SimplePrompt()"),
			statements.Change(engine+"internal/write/write.go", "w.unseen || p.Drops", "w.unseen || !p.Drops"),
			statements.Change(engine+"internal/place/place.go", "found.ID, d.Unseen\n", "found.ID, false\n")),
		statements.That("full or simple mode may be forced, which does not change the background", func(t *testing.T) {
			for _, mode := range []policy.Mode{policy.ModeFull, policy.ModeSimple} {
				d := overflowing(t, numbered(t, 0), models.Say("No."), models.SaySummary("Of the other."))
				d.Policy.Ask.Mode = mode
				d.Messages()
				require.Len(t, d.Requests(), 1)
				require.Equal(t, "started refused/"+string(mode)+" failed let go", compacttest.Kinds(*d.Heard))
				d = cold(t, 9000)
				d.Policy.Ask.Mode = mode
				d.Answers(models.Say("No."), models.SaySummary("Made meanwhile."))
				d.Messages()
				waitUntilReady(t, d)
				require.Equal(t, "started refused/fork ready/"+string(mode), compacttest.Kinds(*d.Heard))
			}
		},
			statements.Change(engine+"internal/write/candidates.go", "p.Mode == m || p.Forks", "p.Mode == m"),
			statements.Change(engine+"internal/write/candidates.go", "m == policy.ModeAuto || p.Mode == m", "m == policy.ModeAuto || p.Mode != m")),
		statements.That("for agents of some models another model may summarise, with the agent's as the fallback", func(t *testing.T) {
			for _, c := range []struct {
				agent, want string
				other       models.Reply
			}{
				{"gpt-5", "Of the other.", models.SaySummary("Of the other.")},
				{"claude-sonnet-4-5", "Of its own.", models.SaySummary("Of the other.")},
				{"gpt-5", "Of its own.", models.Fail(errDown)},
			} {
				d := overflowing(t, numbered(t, 0), models.SaySummary("Of its own."))
				d.Target.Name = c.agent
				d.Policy.Ask.Routes = []policy.Route{{Agents: []string{"gpt-5*"}, Model: "compactor"}}
				d.Models = map[string]policy.Target{"compactor": {Model: &models.Script{Steps: []models.Reply{c.other}}}}
				require.Contains(t, compacttest.Text(d.Messages()), c.want)
			}
		},
			statements.Change(engine+"internal/plan/models.go", "return matches(r.Agents, agent.Name)", "return true"),
			statements.Change(engine+"internal/plan/models.go", "return matches(r.Agents, agent.Name)", "return false"),
			statements.Change(engine+"internal/plan/models.go", "\tadd(agent.Name, agent)\n", "\tif len(list) == 0 {\n\t\tadd(agent.Name, agent)\n\t}\n")),

		statements.That("that model summarises in the background too", func(t *testing.T) {
			d := overflowing(t, numbered(t, 0), models.SaySummary("Of its own."))
			d.Target.Name, d.Target.Budget = "gpt-5", 2*compacttest.Budget
			d.Policy.Trigger[0].Ratio, d.Policy.Trigger[0].Cold = 0.3, 0
			d.Policy.Ask.Routes = []policy.Route{{Agents: []string{"gpt-5*"}, Model: "compactor"}}
			d.Models = map[string]policy.Target{"compactor": {Model: &models.Script{Steps: []models.Reply{models.SaySummary("Of the other.")}}}}
			d.Messages()
			synctest.Wait()
			require.Contains(t, compacttest.Text(d.Messages()), "Of the other.")
			require.Empty(t, d.Requests())
		}, statements.Change(engine+"internal/write/write.go", "|| !w.Candidates[0].isAgent) {", ") {")),

		// What is put in place.
		statements.That("the summary is a user message that replaces the older turns, and outlives the next turn and the process", func(t *testing.T) {
			d := overflowing(t, sessiontest.Opened(t, filepath.Join(t.TempDir(), "session.jsonl")), models.SaySummary("What was done."))
			got := d.Messages()
			require.Equal(t, chat.RoleUser, got[1].Role)
			require.True(t, strings.HasPrefix(got[1].Text(), "<conversation-summary>\nWhat was done.\n"))
			require.True(t, strings.HasSuffix(got[1].Text(), "\n</conversation-summary>"))
			require.Len(t, got, 5, "instructions, summary, the user's message, and the round that exceeded the budget")
			d.Say(chat.AssistantMessage("Done."), chat.UserMessage("And now?"))
			compacttest.Equal(t, got, d.Messages()[:len(got)])
			again, err := history.Read(d.Session.Path(), history.Options{})
			require.NoError(t, err)
			defer again.Close()
			compacttest.Equal(t, compacttest.ViewOf(t, d.Session), compacttest.ViewOf(t, again))
			require.Equal(t, got[1], compacttest.ViewOf(t, again).Compacted[0])
		},
			statements.Change("internal/plaintext/tags.go", `SummaryTag         = tag("conversation-summary")`, `SummaryTag         = tag("summary-of-conversation")`),
			statements.Change(engine+"prompts/parts.go", "return elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{", "return elements.AssistantMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{")),
		statements.That("a session in a file has a breadcrumb: where the transcript is, its lines, the tool and an example call", func(t *testing.T) {
			s := sessiontest.Opened(t, filepath.Join(t.TempDir(), "session.jsonl"))
			d := overflowing(t, s, models.SaySummary("What was done."))
			lines := 0
			d.Hooks.BeforeCompact = func(context.Context, policy.Occasion, policy.Material) (summarize.Intervention, error) {
				var err error
				lines, err = s.Lines(t.Context())
				return summarize.Intervention{}, err
			}
			got := d.Messages()[1].Text()
			require.Contains(t, got, fmt.Sprintf("<transcript path=%q lines=\"%d\">", s.Path(), lines))
			require.Contains(t, got, "code, error messages, tool\nresults, what you wrote yourself")
			require.Contains(t, got, "with the tool read_file, for example:\n"+fmt.Sprintf("read_file({\"path\": %q})", s.Path()))
		},
			replace("prompts.ConversationSummary}", "prompts.ConversationSummary, NoBreadcrumb: true}"),
			statements.Change(engine+"internal/plan/plan.go", "Path: s.Path(), Lines: lines}", "Path: s.Path(), Lines: lines + 1}"),
			statements.Change(engine+"internal/plan/plan.go", "t.Tool, t.Example = breadcrumb.Find", "t.Tool, _ = breadcrumb.Find"),
			statements.Change(engine+"internal/plan/plan.go", "t.Tool, t.Example = breadcrumb.Find", "_, _ = breadcrumb.Find")),
		statements.That("a session in memory has no breadcrumb", func(t *testing.T) {
			_, got := compacted(t)
			require.Equal(t, "<conversation-summary>\nWhat was done.\n</conversation-summary>", got[1].Text())
		}, statements.Change(engine+"internal/plan/plan.go", `if p.Replace.NoBreadcrumb || s.Path() == "" && !s.Recall() {`, `if p.Replace.NoBreadcrumb {`)),
		statements.That("summary and breadcrumb are written once, and replayed byte for byte from then on", func(t *testing.T) {
			s := sessiontest.Opened(t, filepath.Join(t.TempDir(), "session.jsonl"))
			d := overflowing(t, s, models.SaySummary("What was done."))
			first := d.Messages()[1]
			for n := range 3 {
				d.Say(compacttest.Round(7+n, 100)...)
				compacttest.Equal(t, first, d.Messages()[1])
			}
			d.Say(compacttest.Rounds(10, 14, compacttest.RoundTokens)...)
			d.Always(models.SaySummary("What was done since."))
			second := d.Messages()[1].Text()
			require.Contains(t, second, "What was done since.")
			require.Equal(t, 1, strings.Count(second, "<transcript "))
		},
			statements.Change(engine+"prompts/parts.go", `b.WriteString("\n" + crumb + "\n")`, `b.WriteString("\n" + crumb + "\n" + crumb + "\n")`),
			statements.Change("history/view_snapshot.go", "compacted: c.Messages,", "compacted: append([]chat.Message{chat.UserMessage(string(rune('a' + len(p.Nodes)%26)))}, c.Messages...),")),

		// If it fails.
		statements.That("if the foreground fails the prompt is rendered once more with the history droppable, the oldest rounds first", func(t *testing.T) {
			d := overflowing(t, numbered(t, 0), models.Fail(errDown))
			got := compacttest.Text(d.Messages())
			require.Equal(t, "started refused/full failed let go", compacttest.Kinds(*d.Heard))
			require.Contains(t, got, compacttest.Task)
			require.Equal(t, []int{2, 3, 4, 5, 6}, compacttest.Outputs(got))
			require.Len(t, compacttest.Said(d.Session), 13, "the session keeps all messages")
		},
			replace("LastResort: policy.ResortDrop", "LastResort: policy.ResortError"),
			replace("LastResort: policy.ResortDrop", "LastResort: policy.ResortTruncate")),
		statements.That("a turn waits for one compaction: if it fails, the next ones of the turn are made in the background", func(t *testing.T) {
			for _, c := range []struct {
				say   []chat.Message // after the failure
				waits time.Duration
				kinds string
			}{
				{compacttest.Round(13, 930), 0, "started let go ready/full done/full"},
				{[]chat.Message{chat.AssistantMessage("Done."), chat.UserMessage("And now?")}, 2 * time.Second, "started done/full"},
			} {
				d := fixtureOf(t, numbered(t, 0), window, chat.UserMessage(compacttest.Task))
				d.Say(compacttest.Rounds(1, 12, 930)...)
				d.Answers(models.Fail(errDown))
				d.Messages()
				require.Equal(t, "started refused/full failed let go", compacttest.Kinds(*d.Heard))
				d.Always(func(ctx context.Context, r chat.Request) (chat.Response, error) {
					time.Sleep(time.Second)
					return models.SaySummary("Made later.")(ctx, r)
				})
				d.Say(c.say...)
				begun := time.Now()
				d.Messages()
				require.Equal(t, c.waits, time.Since(begun), "the history is summarised in two segments")
				require.NoError(t, d.Wait(t.Context()))
				require.Contains(t, compacttest.Text(d.Messages()), "Made later.")
				require.Equal(t, c.kinds, compacttest.Kinds((*d.Heard)[4:]))
			}
		},
			replace(", OncePerTurn: true", ""),
			statements.Change(engine+"policy/decide.go", "p.Background.OncePerTurn && m.TurnFailed &&", "p.Background.OncePerTurn &&"),
			statements.Change("history/entry/memory.go", "		m.TurnFailed = false\n", "		_ = m.TurnFailed\n")),
		statements.That("it has no answer to a request that the provider refuses as too large: the prompt is rendered with the history droppable, and nothing is compacted", func(t *testing.T) {
			d := fixtureOf(t, numbered(t, 0), window, chat.UserMessage(compacttest.Task))
			d.Say(compacttest.Rounds(1, 5, 930)...)
			sent := d.Messages()
			refused := &chat.ContextLimitError{Err: errors.New("too large")}
			r := d.Recovered(refused, "")
			compacttest.Equal(t, sent, r.Messages)
			r = d.Recovered(refused, "")
			require.Equal(t, []int{4, 5}, compacttest.Outputs(compacttest.Text(r.Messages)))
			require.Contains(t, compacttest.Text(r.Messages), compacttest.Task)
			require.Equal(t, "let go", compacttest.Kinds(*d.Heard))
			require.Empty(t, d.Requests())
		},
			replace("{On: policy.OnDemand},", "{On: policy.OnDemand}, {On: policy.OnContextLimit},"),
			replace("policy.ResortDrop", "policy.ResortTruncate"),
			statements.Change("history/entry/learnt.go", "min(next, counted/2)", "min(next, counted/4)")),
		statements.That("a hook is called before a model is asked and may archive the covered history, and its errors never block", func(t *testing.T) {
			for _, fail := range []func() error{func() error { return errDown }, func() error { panic("at once") }} {
				d := overflowing(t, numbered(t, 0), models.SaySummary("What was done."))
				var archive []chat.Message
				d.Hooks.BeforeCompact = func(_ context.Context, _ policy.Occasion, m policy.Material) (summarize.Intervention, error) {
					require.Empty(t, d.Requests())
					archive = m.Covered
					return summarize.Intervention{Cancel: true}, fail()
				}
				d.Hooks.AfterCompact = func(context.Context, entry.Entry) error { return fail() }
				require.Contains(t, compacttest.Text(d.Messages()), "What was done.")
				require.Equal(t, "started hook failed done/full hook failed", compacttest.Kinds(*d.Heard))
				require.Equal(t, []int{1, 2, 3, 4, 5}, compacttest.Outputs(compacttest.Text(archive)))
			}
		},
			statements.Change(engine+"hooks.go", "if c.Hooks.BeforeCompact != nil {", "if false {"),
			statements.Change(engine+"hooks.go", "	if err != nil {\n		return *new(T)\n	}\n", "	if err != nil {\n		return got\n	}\n")),

		// What some models need.
		statements.That("Opus is also told not to call tools and to write text only", func(t *testing.T) {
			for model, want := range map[string]bool{"claude-opus-4-5": true, "claude-sonnet-4-5": false, "gpt-5": false, "": false} {
				r, _ := named(t, model)
				require.Equal(t, want, strings.Contains(compacttest.Text(r.Messages), "Do not call any tool, whatever the conversation suggests. Write text only."), model)
			}
		},
			replace(`{"claude-opus*"}`, `{"claude*"}`),
			replace(`{"claude-opus*"}`, `{"claude-haiku*"}`),
			replace(" Write text only.", "")),
		statements.That("the last covered thinking of a Claude comes first after the summary", func(t *testing.T) {
			for model, want := range map[string]bool{"claude-sonnet-4-5": true, "gpt-5": false} {
				_, got := named(t, model, thinking(20, "first"), chat.ToolResult("call-20", "Yes."), thinking(21, "last"), chat.ToolResult("call-21", "No."))
				require.Equal(t, chat.RoleAssistant, got[3].Role)
				require.Equal(t, []int{6}, compacttest.Outputs(got[4].Text()))
				first, ok := got[3].Content[0].(chat.Thinking)
				require.Equal(t, want, ok, model)
				require.Equal(t, want, first.Text == "last", model)
			}
		},
			replace("Thinking: true, ", ""),
			replace(`{"claude*"}`, `{"gpt*"}`)),
		statements.That("a Claude that summarises is not shown calls of tool_search, nor their results", func(t *testing.T) {
			search := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "search", Name: "tool_search", Arguments: "{}"}}}
			for model, want := range map[string]bool{"claude-sonnet-4-5": false, "gpt-5": true} {
				r, _ := named(t, model, search, chat.ToolResult("search", "Found."))
				require.NoError(t, chat.Validate(r.Messages))
				require.Equal(t, want, calls(r.Messages, "tool_search"), model)
				require.Equal(t, want, strings.Contains(compacttest.Text(r.Messages), "Found."), model)
				require.True(t, calls(r.Messages, "read"))
			}
		},
			replace(`{"tool_search"}`, `{"search"}`),
			replace(`{"tool_search"}`, `{"tool_search", "read"}`),
			replace(`{"claude*"}`, `{"*"}`),
			statements.Change("internal/plaintext/blocks.go", "if m.Role == chat.RoleTool && gone[m.ToolCallID] {", "if false {")),
		statements.That("no model is sent a call without its result, nor is Gemini", func(t *testing.T) {
			alone := compacttest.Round(20, 300)[0]
			r, got := named(t, "gemini-3-pro", alone)
			require.NoError(t, chat.Validate(r.Messages))
			require.True(t, slices.ContainsFunc(r.Messages, func(m chat.Message) bool { return m.ToolCallID == "call-20" }))
			require.NoError(t, chat.Validate(got))
		}, statements.Change("history/view_finish.go", "m := chat.ToolResult(c.ID, noResult)\n\t\t\tm.IsError = true\n\t\t\tmessages = append(messages, m)\n", "")),
		statements.That("GPT-4.1 is reminded after the summary to keep going", func(t *testing.T) {
			for model, want := range map[string]bool{"gpt-4.1": true, "gpt-4.1-mini": true, "gpt-4o": false, "gpt-5": false} {
				_, got := named(t, model)
				_, after, ok := strings.Cut(got[1].Text(), "</conversation-summary>")
				require.True(t, ok)
				require.Equal(t, want, strings.HasPrefix(after, "\nKeep going: "), "%s: %s", model, after)
			}
		},
			replace(`"gpt-4.1*"`, `"gpt-4*"`),
			replace(`"gpt-4.1*"`, `"gpt-4.1"`),
			replace(`Reminder: "Keep going`, `Note: "Keep going`)),
	})
}
