package ohmypi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/statements"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Numbers of tokens.
const (
	window    = 100_000         // the context window, and the budget of the prompt
	threshold = window - 16_384 // more is compacted
	aTurn     = 400             // each of [turns]
	named     = 30_000          // the limit that a refusal names
)

// Numbers of turns.
const (
	keeps   = 20_000 / aTurn // kept word for word
	enough  = keeps + 40     // to be compacted if somebody asks
	tooMany = 210            // more tokens than the threshold
)

// Kinds of requests for a summary, each by words that no other has.
const (
	first     = "Write notes on the conversation above"
	update    = "Bring those notes up to date"
	beginning = "Above is only the beginning" // of the turn that is cut
	title     = "Say in one short sentence"
	branch    = "The user left this line of work"
)

// answers has an answer to each kind.
var answers = map[string]string{
	first: "The notes.", update: "The notes, up to date.", beginning: "The turn so far.", title: "I fixed it.", branch: "It led nowhere.",
}

// kindOf returns the kind of a request, "" for the agent's own.
func kindOf(r chat.Request) string {
	for kind := range answers {
		if strings.Contains(r.Messages[len(r.Messages)-1].Text(), kind) {
			return kind
		}
	}
	return ""
}

// answer is a model that answers any request by its kind.
func answer(_ context.Context, r chat.Request) (chat.Response, error) {
	return chat.Response{Message: chat.AssistantMessage(cmp.Or(answers[kindOf(r)], "It is done."))}, nil
}

// asked returns the texts of the requests of a kind.
func asked(d compacttest.Fixture, kind string) []string {
	synctest.Wait() // for a title
	var list []string
	for _, r := range d.Requests() {
		if kindOf(r) == kind {
			list = append(list, compacttest.Text(r.Messages))
		}
	}
	return list
}

// fixture returns a fixture under the policy, in a window of 100,000 tokens.
func fixture(t *testing.T, messages ...chat.Message) compacttest.Fixture {
	return onFixture(t, numbered.Session(), messages...)
}

// onFixture returns a fixture with that session.
func onFixture(t *testing.T, s *history.Session, messages ...chat.Message) compacttest.Fixture {
	d := compacttest.Of(t, s, messages...)
	d.Policy, d.Target.Budget, d.Target.ContextWindow = ohmypi.Policy(), window, window
	d.Always(answer)
	return d
}

// marked returns a text of that many tokens on one line, which begins with a number.
func marked(n, tokens int) string {
	return fmt.Sprintf("[output %03d]", n) + compacttest.Words(tokens-3)
}

// turns returns the turns from one number to another, each a user message and an answer of 400 tokens together.
func turns(from, to int) []chat.Message {
	var list []chat.Message
	for n := from; n <= to; n++ {
		list = append(list, chat.UserMessage(marked(n, aTurn/2-3)), chat.AssistantMessage(compacttest.Words(aTurn/2-3)))
	}
	return list
}

// call returns a round that calls a tool. The result takes that many tokens and has the number of the round.
func call(n int, tool, arguments string, tokens int) []chat.Message {
	m := chat.AssistantMessage(fmt.Sprintf("Step %d.", n))
	m.ToolCalls = []chat.ToolCall{{ID: fmt.Sprintf("call-%d", n), Name: tool, Arguments: arguments}}
	return []chat.Message{m, chat.ToolResult(m.ToolCalls[0].ID, compacttest.Output(n, tokens))}
}

// calls returns the rounds of bash from one number to another.
func calls(from, to, tokens int) []chat.Message {
	var list []chat.Message
	for n := from; n <= to; n++ {
		list = append(list, call(n, "bash", "{}", tokens)...)
	}
	return list
}

// add appends entries to the session and returns the id of the first.
func add(d compacttest.Fixture, bodies ...entry.Body) string {
	var entries []entry.Entry
	for _, b := range bodies {
		entries = append(entries, entry.Entry{Body: b})
	}
	added, err := d.Session.Add(context.Background(), entries...)
	require.NoError(d.T, err)
	return added[0].ID
}

// said returns messages as bodies of entries.
func said(messages ...chat.Message) []entry.Body {
	var list []entry.Body
	for _, m := range messages {
		list = append(list, entry.Message{Message: m})
	}
	return list
}

// shows returns the numbers that a prompt shows.
func shows(messages []chat.Message) []int { return compacttest.Outputs(compacttest.Text(messages)) }

// latest returns the latest compaction.
func latest(d compacttest.Fixture) entry.Compaction {
	list := compacttest.Compactions(d.Session)
	require.NotEmpty(d.T, list)
	return list[len(list)-1]
}

// view returns the messages that the session shows.
func view(d compacttest.Fixture) []chat.Message { return compacttest.ViewOf(d.T, d.Session).Messages() }

// compacted returns a fixture whose session of 210 turns was compacted once. The newest 50 are kept.
func compacted(t *testing.T) compacttest.Fixture {
	d := fixture(t, turns(1, tooMany)...)
	_, err := d.AfterTurn(t.Context(), compacttest.Prompt(d.Session))
	require.NoError(t, err)
	require.Len(t, compacttest.Compactions(d.Session), 1)
	return d
}

// rendered returns the messages of the prompt, which must fit, and be valid with one more user message.
func rendered(d compacttest.Fixture) []chat.Message {
	d.T.Helper()
	r, err := d.Render(d.T.Context(), compacttest.Prompt(d.Session))
	require.NoError(d.T, err)
	require.LessOrEqual(d.T, r.Tokens, d.Target.Budget)
	require.NoError(d.T, chat.Validate(append(slices.Clone(r.Messages), chat.UserMessage("Go on."))))
	return r.Messages
}

// demand renders the prompt and compacts the session on demand.
func demand(d compacttest.Fixture, instructions string) error {
	rendered(d)
	_, err := d.Compact(d.T.Context(), instructions)
	return err
}

// cutAt compacts a session whose newest 20,000 tokens begin with an entry, and returns the entry's id.
func cutAt(t *testing.T, at entry.Body) (compacttest.Fixture, string) {
	d := fixture(t, turns(1, tooMany-keeps)...)
	id := add(d, at)
	d.Say(chat.AssistantMessage("Yes."))
	d.Say(turns(1, keeps-1)...)
	rendered(d)
	return d, id
}

// starters are entries that start turns.
var starters = []entry.Body{
	entry.Message{Message: chat.UserMessage("Why?")},
	entry.Shell{Command: "go build", Output: "It fails."},
	entry.CustomMessage{Name: "reminder", Content: chat.Parts{chat.Text("Mind the tests.")}},
	entry.BranchSummary{From: "e1", Summary: entry.Summary{Text: "It led nowhere."}},
}

// split returns a fixture with a history that is cut within its newest turn: 12 rounds after 150 other turns.
func split(t *testing.T) compacttest.Fixture {
	d := fixture(t, turns(1, 150)...)
	d.Say(chat.UserMessage(compacttest.Task))
	d.Say(compacttest.Rounds(701, 712, 2100)...)
	return d
}

// refused appends a user message, renders the prompt, appends a failed answer, and recovers from the provider's refusal,
// which names that limit unless it is 0.
func refused(d compacttest.Fixture, limit int) (*render.Result, error) {
	d.Say(chat.UserMessage("Go on."))
	rendered(d)
	failed := add(d, entry.Message{Message: chat.AssistantMessage("The request failed.")})
	return again(d, limit, failed)
}

// again recovers from a refusal that names that limit unless it is 0.
func again(d compacttest.Fixture, limit int, failed string) (*render.Result, error) {
	return d.Recover(d.T.Context(), compacttest.Prompt(d.Session), &chat.ContextLimitError{Limit: limit}, failed)
}

// twoBranches returns a fixture with a session of two branches. The current one ends with these entries, and the other
// with other.
func twoBranches(t *testing.T, bodies ...entry.Body) (d compacttest.Fixture, other string) {
	d = fixture(t, chat.UserMessage("The task."))
	root := d.Session.Leaf()
	d.Say(chat.AssistantMessage("The other way."), chat.UserMessage("Go on."))
	other = d.Session.Leaf()
	require.NoError(t, d.Session.Branch(t.Context(), root))
	add(d, bodies...)
	return d, other
}

// goTo lets the session go on from an entry, and returns the summary of the branch that is left.
func goTo(d compacttest.Fixture, to string) *entry.BranchSummary {
	summary, err := d.Navigate(d.T.Context(), to, summarize.Navigation{Summarize: true})
	require.NoError(d.T, err)
	require.NotNil(d.T, summary)
	return summary
}

// hooked returns a fixture with too many turns, and a hook that returns returned before each compaction.
func hooked(t *testing.T, returned summarize.Intervention) compacttest.Fixture {
	d := fixture(t, turns(1, tooMany)...)
	d.Hooks.BeforeCompact = before(returned)
	return d
}

// before returns a hook before compactions that returns returned.
func before(returned summarize.Intervention) func(context.Context, policy.Occasion, policy.Material) (summarize.Intervention, error) {
	return func(context.Context, policy.Occasion, policy.Material) (summarize.Intervention, error) {
		return returned, nil
	}
}

// beforeBranch returns a hook before changes of branch that returns returned.
func beforeBranch(returned summarize.Intervention) func(context.Context, string, string) (summarize.Intervention, error) {
	return func(context.Context, string, string) (summarize.Intervention, error) { return returned, nil }
}

// heard returns the first event of a kind.
func heard(d compacttest.Fixture, kind event.Kind) event.Event {
	i := slices.IndexFunc(*d.Heard, func(e event.Event) bool { return e.Kind == kind })
	require.GreaterOrEqual(d.T, i, 0, "%s was not heard", kind)
	return (*d.Heard)[i]
}

// transport answers HTTP requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The files that are mutated.
const (
	policyFile = "summarize/ohmypi/policy.go"
	prompts    = "summarize/ohmypi/prompt.go"
	engine     = "summarize/"
	sessions   = "history/"
)

func TestStatements(t *testing.T) {
	statements.Run(t, slices.Concat(triggers, clearing, cuts, requests, placed, branches, hooks, failures, settings))
}

var triggers = []statements.Statement{
	statements.That("it compacts above the context window less 16,384 tokens", func(t *testing.T) {
		for over := range 2 {
			d := fixture(t)
			d.Fill(threshold + over)
			rendered(d)
			require.Len(t, compacttest.Compactions(d.Session), over)
		}
	},
		statements.Change(policyFile, "{Reserve: 16_384, Above", "{Reserve: 16_383, Above"),
		statements.Change(policyFile, "{Reserve: 16_384, Above", "{Reserve: 16_385, Above"),
		statements.Change(policyFile, ", Above: true", "")),
	statements.That("the limit is checked once the agent has finished a turn", func(t *testing.T) {
		d := compacted(t)
		started := heard(d, event.Started)
		require.Equal(t, policy.OnRender, started.Reason)
		require.False(t, started.WillRetry)
	},
		statements.Change(policyFile, "{Reserve: 16_384, Above: true}", "{On: policy.OnBudgetExceeded}"),
		statements.Change(engine+"demand.go", "w.walk(ctx, policy.OnRender)", "w.measure(ctx, policy.OnRender)")),
	statements.That("after such a compaction the agent is told to continue if it has next steps", func(t *testing.T) {
		d := fixture(t, turns(1, tooMany)...)
		goOn, err := d.AfterTurn(t.Context(), compacttest.Prompt(d.Session))
		require.NoError(t, err)
		require.True(t, goOn)
		list := rendered(d)
		require.Equal(t, chat.RoleUser, list[len(list)-1].Role)
		require.Contains(t, list[len(list)-1].Text(), "\nContinue if you have next steps.\n")

		d.Say(chat.AssistantMessage("There are none."))
		goOn, err = d.AfterTurn(t.Context(), compacttest.Prompt(d.Session))
		require.NoError(t, err)
		require.False(t, goOn, "nothing was compacted")
		require.Len(t, rendered(d), len(list)+1)
		d = fixture(t, append(turns(1, tooMany), chat.UserMessage("And now?"))...)
		goOn, err = d.AfterTurn(t.Context(), compacttest.Prompt(d.Session))
		require.NoError(t, err)
		require.False(t, goOn, "the agent is at work")
	},
		statements.Change(policyFile, "Continue if you have next steps.", "Continue."),
		statements.Change(engine+"demand.go", "messages[len(messages)-1].Role != chat.RoleAssistant", "false"),
		statements.Change(engine+"demand.go", "!w.succeeded || c.Policy.Continue", "c.Policy.Continue")),
	statements.That("it compacts on demand however few tokens are used, with instructions", func(t *testing.T) {
		d := fixture(t, turns(1, enough)...)
		require.NoError(t, demand(d, "Mind the tests."))
		require.Len(t, asked(d, first), 1)
		require.Contains(t, asked(d, first)[0], "Mind the tests.")
		require.Equal(t, policy.OnDemand, heard(d, event.Started).Reason)
	},
		statements.Change(policyFile, "{On: policy.OnDemand}", "{On: policy.OnDemand, Reserve: 1}"),
		statements.Change(prompts, "textblock.Paragraph(ask), prompts.Remarks(m))", "textblock.Paragraph(ask))")),
	statements.That("it compacts if the provider refuses a request as too large and names a limit, or refuses it again", func(t *testing.T) {
		for _, limit := range []int{0, named} {
			d := fixture(t, turns(1, enough)...)
			result, err := refused(d, limit)
			if limit == 0 { // it may be a mistake
				require.NoError(t, err)
				require.Equal(t, compacttest.Numbers(1, enough), shows(result.Messages))
				result, err = again(d, 0, "")
			}
			require.NoError(t, err)
			require.Contains(t, result.Messages[1].Text(), answers[first])
			require.Equal(t, policy.OnContextLimit, heard(d, event.Started).Reason)
		}
	}, statements.Change(policyFile, "{On: policy.OnContextLimit},", "")),
	statements.That("events of such a compaction say that the request is made again", func(t *testing.T) {
		d := fixture(t, turns(1, enough)...)
		_, err := refused(d, named)
		require.NoError(t, err)
		require.True(t, heard(d, event.Started).WillRetry)
		require.True(t, heard(d, event.Done).WillRetry)
	}, statements.Change(engine+"recover.go", "w.willRetry = true", "w.willRetry = false")),
	statements.That("the failed answer is taken out before the request is made again", func(t *testing.T) {
		d := fixture(t, turns(1, enough)...)
		result, err := refused(d, 0)
		require.NoError(t, err)
		require.NotContains(t, compacttest.Text(result.Messages), "The request failed.")
	}, statements.Change(engine+"recover.go", `if failed != "" {`, "if false {")),
	statements.That("after a refusal the agent repeats the request by itself, and nothing is appended in the user's place", func(t *testing.T) {
		d := fixture(t, turns(1, enough)...)
		d.Say(chat.UserMessage("Go on."))
		refusals := 0
		d.Always(func(ctx context.Context, r chat.Request) (chat.Response, error) {
			if kindOf(r) == "" && refusals == 0 {
				refusals++
				return chat.Response{}, &chat.ContextLimitError{Limit: named}
			}
			return answer(ctx, r)
		})
		begun := time.Now()
		a := &agent.Agent{Compactor: d.Unjudged(), Prompt: compacttest.Prompt(d.Session)}
		got, err := a.Step(t.Context())
		require.NoError(t, err)
		require.Zero(t, time.Since(begun))
		require.Equal(t, 1, got.Refusals)
		require.False(t, got.GoOn)
		own := asked(d, "")
		require.Len(t, own, 2)
		require.Contains(t, own[1], answers[first])
		require.NotContains(t, own[1], "Continue")
	},
		statements.Change(engine+"agent/agent.go", "case inCallback || !summarize.Recoverable(refused):", "case inCallback || summarize.Recoverable(refused):"),
		statements.Change("internal/provider/retry/retry.go", "errors.AsType[*chat.TransientError](err)", "&chat.TransientError{}, err != nil && errors.Unwrap(err) == nil"),
		statements.Change(policyFile, "{On: policy.OnContextLimit},", "")),
}

var clearing = []statements.Statement{
	statements.That("old tool output is cleared before any limit is reached", func(t *testing.T) {
		d := fixture(t, chat.UserMessage(compacttest.Task))
		d.Say(calls(1, 35, 2000)...)
		require.Less(t, compacttest.Count(compacttest.Quarter{}, rendered(d)), threshold)
		require.Equal(t, "cleared", compacttest.Kinds(*d.Heard))
	}, statements.Change(policyFile, "Always: true, ", "")),
	statements.That("the newest 40,000 tokens of tool output stay", func(t *testing.T) {
		for less := range 2 { // the result in which the 40,000 end stays whole
			d := fixture(t, chat.UserMessage(compacttest.Task))
			d.Say(calls(1, 34, 2000)...)
			d.Say(calls(35, 35, 2000-less)...)
			require.Equal(t, compacttest.Numbers(16-less, 35), shows(rendered(d)))
		}
	},
		statements.Change(policyFile, "Keep: 40_000", "Keep: 39_999"),
		statements.Change(policyFile, "Keep: 40_000", "Keep: 40_001")),
	statements.That("nothing is cleared if that saves less than 20,000 tokens", func(t *testing.T) {
		for less := range 2 {
			d := fixture(t, chat.UserMessage(compacttest.Task))
			d.Say(calls(1, 1, 2008-less)...) // the placeholder takes 8
			d.Say(calls(2, 10, 2008)...)
			d.Say(calls(11, 30, 2000)...)
			require.Equal(t, compacttest.Numbers(11-10*less, 30), shows(rendered(d)))
		}
	},
		statements.Change(policyFile, "Saves: 20_000", "Saves: 19_999"),
		statements.Change(policyFile, "Saves: 20_000", "Saves: 20_001")),
	statements.That("output of the tools skill and read stays", func(t *testing.T) {
		d := fixture(t, chat.UserMessage(compacttest.Task))
		d.Say(call(1, "skill", "{}", 2000)...)
		d.Say(call(2, "read", "{}", 2000)...)
		d.Say(calls(3, 35, 2000)...)
		require.Equal(t, append([]int{1, 2}, compacttest.Numbers(16, 35)...), shows(rendered(d)))
	},
		statements.Change(policyFile, `"skill", `, ""),
		statements.Change(policyFile, `, "read"`, "")),
	statements.That("a placeholder says how many tokens were left out", func(t *testing.T) {
		d := fixture(t, chat.UserMessage(compacttest.Task))
		d.Say(calls(1, 35, 2000)...)
		require.Equal(t, "[Output truncated - 2000 tokens]", rendered(d)[3].Text())
	},
		statements.Change(policyFile, "[Output truncated - ", "[Output cleared - "),
		statements.Change(policyFile, "strconv.Itoa(o.Tokens)", "strconv.Itoa(len(o.Entry))")),
	statements.That("a clearing is kept in the session, and if the prompt is then below the limit no summary is made", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "session.jsonl")
		d := onFixture(t, sessiontest.Opened(t, path), chat.UserMessage(compacttest.Task))
		d.Say(calls(1, 47, 2000)...)
		got := rendered(d)
		require.Equal(t, "cleared", compacttest.Kinds(*d.Heard))
		require.Empty(t, d.Requests())
		again, err := history.Read(path, history.Options{})
		require.NoError(t, err)
		defer again.Close()
		v := sessiontest.View(t, again)
		compacttest.Equal(t, got[1:], v.Messages())
	}, statements.Change(engine+"policy/decide.go", "case clears && m.Occasion != OnDemand:", "case clears && d.Held < 0:")),
}

var cuts = []statements.Statement{
	statements.That("the newest 20,000 tokens are kept word for word", func(t *testing.T) {
		d := compacted(t)
		require.Equal(t, compacttest.Numbers(tooMany-keeps+1, tooMany), shows(view(d)))
		d = fixture(t, turns(1, tooMany-keeps)...)
		d.Say(chat.UserMessage("One token more: "), chat.AssistantMessage(compacttest.Words(aTurn-9)))
		d.Say(turns(1, keeps-1)...)
		rendered(d)
		require.NotContains(t, compacttest.Text(view(d)), "One token more")
	},
		statements.Change(policyFile, "Tokens: 20_000", "Tokens: 19_999"),
		statements.Change(policyFile, "Tokens: 20_000", "Tokens: 20_001")),
	statements.That("the kept tokens are counted by the provider's report, if there is one", func(t *testing.T) {
		d := fixture(t, turns(1, 175)...)
		add(d, entry.Usage{Usage: chat.Usage{Input: 125_000}, Counted: 100_000})
		rendered(d)
		require.Equal(t, compacttest.Numbers(175-keeps*4/5+1, 175), shows(view(d)))
	},
		statements.Change(policyFile, "By: policy.ByReport", "By: policy.ByCount"),
		statements.Change(engine+"internal/plan/measure.go", "max(1, clamp.Int(float64(rule.Tokens)/s.Ratio))", "max(1, rule.Tokens)")),
	statements.That("a cut is after the compaction before it", func(t *testing.T) {
		d := compacted(t)
		d.Say(turns(1, 45)...)
		require.ErrorIs(t, demand(d, ""), summarize.ErrNothingToCompact)
		d.Say(turns(46, 75)...)
		require.NoError(t, demand(d, ""))
		require.Equal(t, compacttest.Numbers(26, 75), shows(view(d)))
	}, statements.Change(policyFile, ", SinceCompaction: true", "")),
	statements.That("it may cut at a user message, a shell command, a custom message and a branch summary", func(t *testing.T) {
		for _, s := range starters {
			d, id := cutAt(t, s)
			require.Equal(t, id, latest(d).FirstKept)
		}
	},
		statements.Change(sessions+"cut.go", "if first || last < u.at", "if first || sn.path.Nodes[sn.path.IndexAt(u.at)].Kind.Is(entry.TypeMessage) && last < u.at"),
		statements.Change(sessions+"cut.go", "if first || last < u.at", "if first || !sn.path.Nodes[sn.path.IndexAt(u.at)].Kind.Is(entry.TypeMessage) && last < u.at")),
	statements.That("it may cut at an assistant message", func(t *testing.T) {
		d := split(t)
		rendered(d)
		e := sessiontest.Entry(t, d.Session, latest(d).FirstKept)
		require.Equal(t, chat.RoleAssistant, e.Message().Role)
	}, statements.Change(sessions+"cut.go", "if first || last < u.at", "if first || u.Start && last < u.at")),
	statements.That("it never cuts at a tool result", func(t *testing.T) {
		d := fixture(t, turns(1, tooMany-keeps)...)
		late := call(1, "bash", "{}", 1000)
		d.Say(late[0])
		d.Say(turns(1, 5)...) // while the tool runs
		d.Say(late[1])
		d.Say(turns(6, keeps-2)...)
		rendered(d)
		require.Equal(t, 6, shows(view(d))[0], "and so not between a call and its result")
		e := sessiontest.Entry(t, d.Session, latest(d).FirstKept)
		require.Equal(t, chat.RoleUser, e.Message().Role)
	}, statements.Change(sessions+"cut.go", "last < u.at && !behindStart", "!behindStart")),
	statements.That("entries that no model sees right before the cut are kept with it", func(t *testing.T) {
		d := fixture(t, turns(1, tooMany-keeps)...)
		id := add(d, entry.ModelChange{Model: "another"}, entry.ThinkingChange{}, entry.Label{Target: "e1", Text: "Here."})
		d.Say(turns(1, keeps)...)
		rendered(d)
		require.Equal(t, id, latest(d).FirstKept)
	}, statements.Change(sessions+"cut.go", " && nodes[cut-1].Kind.Unsaid() {", " && false {")),
	statements.That("if a turn is cut there are two summaries: of the history before it, and of its beginning", func(t *testing.T) {
		d := split(t)
		rendered(d)
		require.Len(t, asked(d, first), 1)
		require.Len(t, asked(d, beginning), 1)
		past, turn := asked(d, first)[0], asked(d, beginning)[0]
		require.Equal(t, compacttest.Numbers(1, 150), compacttest.Outputs(past))
		require.NotContains(t, past, "go build")
		require.Equal(t, []int{701, 702, 703}, compacttest.Outputs(turn))
		require.Contains(t, turn, "go build")
	},
		statements.Change(prompts, "Prefix: h.prefix, ", ""),
		statements.Change(prompts, "h.history(m, m.TurnPrefix, ", "h.history(m, m.Kept, ")),
	statements.That("the two summaries are joined under the title of the turn's context", func(t *testing.T) {
		d := split(t)
		rendered(d)
		require.Equal(t, "The notes.\n\n---\n\n**Turn Context (split turn):**\n\nThe turn so far.", latest(d).Text)
	},
		statements.Change(prompts, `"\n\n---\n\n**Turn Context (split turn):**\n\n" + prefix`, `"\n\n**Turn Context (split turn):**\n\n" + prefix`),
		statements.Change(prompts, "**Turn Context (split turn):**", "**Turn Context:**"),
		statements.Change(prompts, "return history + ", "return prefix + ")),
	statements.That("a cut before a user message, a shell command, a custom message or a branch summary splits no turn", func(t *testing.T) {
		for _, s := range starters {
			d, _ := cutAt(t, s)
			require.Len(t, asked(d, first), 1)
			require.Empty(t, asked(d, beginning))
		}
	}, statements.Change(sessions+"internal/kind/kind.go", "return k == User || k == Shell || k == CustomMessage || k == BranchSummary", "return k == User")),
	statements.That("in a session of a single turn one summary has all that is covered", func(t *testing.T) {
		d := fixture(t, chat.UserMessage(compacttest.Task))
		d.Say(compacttest.Rounds(1, 42, 2100)...)
		rendered(d)
		require.Len(t, asked(d, first), 1)
		require.Contains(t, asked(d, first)[0], "go build")
		require.Empty(t, asked(d, beginning))
		require.Equal(t, answers[first], latest(d).Text)
	}, statements.Change(engine+"internal/write/write.go", "if cut == 0 || turn", "if turn")),
}

var requests = []statements.Statement{
	statements.That("the model is shown the conversation as text in a tag, and told its role", func(t *testing.T) {
		d := fixture(t, chat.UserMessage("Look."), call(1, "read", `{"path":"a.go"}`, 10)[0], chat.ToolResult("call-1", "package a"))
		d.Say(turns(1, enough)...)
		require.NoError(t, demand(d, ""))
		r := d.Requests()[0]
		require.Len(t, r.Messages, 2)
		require.Equal(t, chat.RoleSystem, r.Messages[0].Role)
		require.Contains(t, r.Messages[0].Text(), "You read transcripts")
		text := r.Messages[1].Text()
		begins := "<conversation>\nuser: Look.\nassistant: Step 1.\ncall: read({\"path\":\"a.go\"})\nresult: package a\nuser: "
		require.Equal(t, begins, text[:len(begins)])
		require.Contains(t, text, "\n</conversation>\n")
		require.Empty(t, r.Tools)
	},
		statements.Change("internal/textblock/textblock.go", "const NotesRole = `You read transcripts", "const NotesRole = `You write notes"),
		statements.Change(prompts, "h.history(m, m.Covered, m.Data), prompts.EarlierBlock(m)", "prompts.EarlierBlock(m)")),
	statements.That("a first compaction asks for notes", func(t *testing.T) {
		d := compacted(t)
		require.Len(t, asked(d, first), 1)
		require.NotContains(t, asked(d, first)[0], "<previous-summary>")
	}, statements.Change(prompts, "ask := first", "ask := update")),
	statements.That("a later compaction shows the summary before it, and asks for an update of it", func(t *testing.T) {
		d := compacted(t)
		d.Say(turns(1, 75)...)
		require.NoError(t, demand(d, ""))
		require.Len(t, asked(d, first), 1)
		require.Len(t, asked(d, update), 1)
		require.Contains(t, asked(d, update)[0], "\n<previous-summary>\nThe notes.\n</previous-summary>\n")
		require.Contains(t, latest(d).Text, answers[update])
	},
		statements.Change(prompts, "ask = update", "ask = first"),
		statements.Change(prompts, "m.Data), prompts.EarlierBlock(m), prompts.ContextBlock(m)", "m.Data), prompts.ContextBlock(m)")),
	statements.That("the context that hooks add is a list in both requests", func(t *testing.T) {
		d := split(t)
		d.Hooks.BeforeCompact = before(summarize.Intervention{Context: []string{"Mind the tests.", "Mind the gap."}})
		rendered(d)
		for _, kind := range []string{first, beginning} {
			require.Contains(t, asked(d, kind)[0], "\n<additional-context>\n- Mind the tests.\n- Mind the gap.\n</additional-context>\n")
		}
	},
		statements.Change(prompts, "m.Data), prompts.EarlierBlock(m), prompts.ContextBlock(m)", "m.Data), prompts.EarlierBlock(m)"),
		statements.Change(prompts, "m.Data[max(0, len(m.Data)-len(m.TurnPrefix)):]), prompts.EarlierBlock(m), prompts.ContextBlock(m)", "m.Data[max(0, len(m.Data)-len(m.TurnPrefix)):])"),
		statements.Change(engine+"prompts/parts.go", `lines[i] = "- " + `, "lines[i] = ")),
	statements.That("a short summary for people is made from the summary, by a request of its own", func(t *testing.T) {
		d := compacted(t)
		require.Len(t, asked(d, title), 1)
		require.Contains(t, asked(d, title)[0], answers[first])
		label, ok := d.Latest(entry.TypeLabel)
		require.True(t, ok)
		require.Equal(t, entry.Label{Target: heard(d, event.Done).Entry, Text: answers[title]}, label.Body)
		require.Equal(t, answers[title], heard(d, event.Titled).Title)
	},
		statements.Change(prompts, ", Title: titleRequest", ""),
		statements.Change(prompts, "SummaryTag.Around(m.Summary)", "SummaryTag.Around(m.Instructions)")),
	statements.That("an endpoint is posted the system prompt and the prompt, and answers with the summary", func(t *testing.T) {
		d := fixture(t, turns(1, tooMany)...)
		var posted []map[string]string
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			var body map[string]string
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Method != http.MethodPost {
				return nil, errors.Join(err, errors.New("it is no such request"))
			}
			posted = append(posted, body)
			answer := io.NopCloser(bytes.NewReader([]byte(`{"summary": "Of the endpoint.", "more": 1}`)))
			return &http.Response{StatusCode: http.StatusOK, Body: answer, Request: r}, nil
		})}
		d.Policy.Ask.Names = []string{"endpoint"}
		d.Policy.Ask.Prompts[0].Title = nil
		d.Models = map[string]policy.Target{"endpoint": {Model: models.Remote{URL: "https://example.com/summary", Client: client}}}
		require.Contains(t, rendered(d)[1].Text(), "Of the endpoint.")
		require.Len(t, posted, 1)
		require.Len(t, posted[0], 2)
		require.Contains(t, posted[0]["systemPrompt"], "You read transcripts")
		require.Contains(t, posted[0]["prompt"], first)
		require.Empty(t, d.Requests())
	},
		statements.Change(engine+"models/remote.go", "`json:\"systemPrompt\"`", "`json:\"system\"`"),
		statements.Change(engine+"models/remote.go", "`json:\"prompt\"`", "`json:\"text\"`"),
		statements.Change(engine+"models/remote.go", "`json:\"summary\"`", "`json:\"text\"`")),
}

// files returns a fixture whose session was compacted. The covered history begins with a turn of these rounds.
func files(t *testing.T, rounds ...[]chat.Message) compacttest.Fixture {
	d := fixture(t, chat.UserMessage("Look."))
	d.Say(slices.Concat(rounds...)...)
	d.Say(turns(1, enough)...)
	require.NoError(t, demand(d, ""))
	synctest.Wait() // for the title, an entry after the compaction
	return d
}

var placed = []statements.Statement{
	statements.That("the prompt shows the summary in a user message, then the kept messages, then later ones", func(t *testing.T) {
		d := compacted(t)
		d.Say(turns(1, 1)...)
		d.Say(chat.UserMessage("Go on."))
		got := rendered(d)
		require.Equal(t, chat.RoleSystem, got[0].Role)
		require.Equal(t, chat.UserMessage("The conversation before this point was compacted into this summary:\n"+
			"<conversation-summary>\nThe notes.\n</conversation-summary>"), got[1])
		compacttest.Equal(t, turns(tooMany-keeps+1, tooMany), got[2:2+2*keeps])
		compacttest.Equal(t, append(turns(1, 1), chat.UserMessage("Go on.")), got[3+2*keeps:]) // after the message to continue
	},
		statements.Change(prompts, `prompts.SummaryBlock(m, plaintext.SummaryTag.String()),`, ""),
		statements.Change(prompts, "The conversation before this point was compacted", "The conversation was compacted"),
		statements.Change(engine+"internal/place/place.go", "c.FirstKept = cmp.Or(c.FirstKept, j.Plan.FirstKept)", "")),
	statements.That("a compaction is an entry of the branch, with the summary, the cut, and the tokens of the prompt", func(t *testing.T) {
		d := fixture(t, turns(1, tooMany-keeps)...)
		before := d.Session.Leaf()
		d.Say(turns(tooMany-keeps+1, tooMany)...)
		whole := d.Session.Leaf()
		rendered(d)
		c := latest(d)
		require.Equal(t, answers[first], c.Text)
		require.Equal(t, compacttest.Count(compacttest.Quarter{}, rendered(d)[:1])+tooMany*aTurn, c.TokensBefore)
		cut := sessiontest.Entry(t, d.Session, c.FirstKept)
		require.Equal(t, before, cut.Parent)
		compacttest.Equal(t, turns(1, tooMany), compacttest.Said(d.Session))
		_, err := d.Navigate(t.Context(), whole, summarize.Navigation{}) // kept by the compaction
		require.NoError(t, err)
		compacttest.Equal(t, turns(1, tooMany), view(d))
		_, err = d.Navigate(t.Context(), before, summarize.Navigation{})
		require.NoError(t, err)
		compacttest.Equal(t, turns(1, tooMany-keeps), view(d))
	},
		statements.Change(engine+"executor.go", "planned.TokensBefore = s.Used, s.PromptTokens()", "planned.TokensBefore = s.Used, s.Used+1"),
		statements.Change(engine+"internal/plan/plan.go", "plan.FirstKept = point.FirstKept", "plan.FirstKept = point.Kept()[len(point.Kept())-1].ID"),
		statements.Change(engine+"internal/place/place.go", "c.Plan, c.Thinking, c.Mode = ", `c.Text, c.Plan, c.Thinking, c.Mode = "", `),
		statements.Change(sessions+"internal/log/reader.go", "p.to(i), r.back(ctx, p.to(i), before)", "p, r.back(ctx, p, before)")),
	statements.That("custom messages and branch summaries are shown as user messages", func(t *testing.T) {
		d := fixture(t, turns(1, 1)...)
		add(d, starters[2:]...)
		got := rendered(d)
		require.Len(t, got, 5)
		for i, says := range []string{"Mind the tests.", "It led nowhere."} {
			require.Equal(t, chat.RoleUser, got[3+i].Role)
			require.Contains(t, got[3+i].Text(), says)
		}
	},
		statements.Change(sessions+"entry/shown.go", "return b.shown(), sendable.HasAnswer(sendable.Parts(b.Content))", "return b.shown(), false"),
		statements.Change(sessions+"entry/shown.go", "!sendable.Blank(b.Text)", "false")),
	statements.That("files that were read, and files that were written or edited, are listed after the summary", func(t *testing.T) {
		d := files(t,
			call(1, "read", `{"path":"a.go"}`, 10), call(2, "write", `{"path":"b.go"}`, 10), call(3, "edit", `{"path":"c.go"}`, 10),
		)
		require.Contains(t, rendered(d)[1].Text(), "\n<read-files>\na.go\n</read-files>\n<modified-files>\nb.go\nc.go\n</modified-files>")
	},
		statements.Change("internal/toolname/tools.go", `"read", "read_file"`, `"read_file"`),
		statements.Change("internal/toolname/tools.go", `"write", "write_file"`, `"write_file"`),
		statements.Change("internal/toolname/tools.go", `"edit", "edit_file"`, `"edit_file"`),
		statements.Change(prompts, `fileList(1, plaintext.ReadTag, m.Files.Read),`, ""),
		statements.Change(prompts, `fileList(2, plaintext.ModifiedTag, m.Files.Modified),`, "")),
	statements.That("a file that was read and modified is listed only as modified", func(t *testing.T) {
		d := files(t, call(1, "edit", `{"path":"a.go"}`, 10), call(2, "read", `{"path":"a.go"}`, 10))
		require.Equal(t, entry.Files{Modified: []string{"a.go"}}, latest(d).Files)
	}, statements.Change(sessions+"fileops.go", "		if modified[path] {", "		files.Read = append(files.Read, path)\n\t\tif modified[path] {")),
	statements.That("the lists include those of the compaction before", func(t *testing.T) {
		d := files(t, call(1, "read", `{"path":"a.go"}`, 10))
		add(d, entry.Compaction{
			Messages: []chat.Message{chat.UserMessage("Made elsewhere.")}, FirstKept: d.Session.Leaf(),
			Summary: entry.Summary{Text: "Made elsewhere.", Files: entry.Files{Read: []string{"b.go"}}},
		})
		d.Say(call(2, "read", `{"path":"c.go"}`, 10)...)
		d.Say(turns(1, enough)...)
		require.NoError(t, demand(d, ""))
		require.Equal(t, []string{"a.go", "b.go", "c.go"}, latest(d).Files.Read)
	}, statements.Change(sessions+"fileops.go", "ops = append(ops, fileOp{kept - 1, b.Files})", "_ = kept")),
	statements.That("the lists do not include those of a compaction that a hook supplied", func(t *testing.T) {
		d := fixture(t, chat.UserMessage("Look."))
		d.Say(call(1, "read", `{"path":"a.go"}`, 10)...)
		d.Say(turns(1, enough)...)
		d.Hooks.BeforeCompact = before(summarize.Intervention{
			Summary: &entry.Summary{Text: "The hook's.", Files: entry.Files{Read: []string{"b.go"}}},
		})
		require.NoError(t, demand(d, ""))
		d.Hooks.BeforeCompact = nil
		require.Contains(t, compacttest.Text(view(d)), "The hook's.")
		d.Say(call(2, "read", `{"path":"c.go"}`, 10)...)
		d.Say(turns(1, enough)...)
		require.NoError(t, demand(d, ""))
		require.Equal(t, []string{"c.go"}, latest(d).Files.Read)
	}, statements.Change(engine+"internal/write/attempt.go", "d.Extension = true", "d.Extension = false")),
	statements.That("if a turn is cut the files of its beginning are listed, and those of its kept rounds are not", func(t *testing.T) {
		d := split(t)
		rendered(d)
		require.Equal(t, []string{"file-701.go", "file-702.go", "file-703.go"}, latest(d).Files.Read)
	},
		statements.Change(engine+"internal/write/attempt.go", "kept = kept && e.ID != a.Plan.FirstKept", "kept = kept && e.Message().Text() != a.segment(a.covered, a.prefix).TurnPrefix[0].Text()"),
		statements.Change(engine+"internal/write/attempt.go", "kept = kept && e.ID != a.Plan.FirstKept", "kept = false")),
}

var branches = []statements.Statement{
	statements.That("the branch that is left is summarised if the caller or the policy says so, and not by default", func(t *testing.T) {
		for _, c := range []struct{ policy, caller bool }{{}, {policy: true}, {caller: true}} {
			d, other := twoBranches(t, said(turns(1, 1)...)...)
			d.Policy.Branch.On = d.Policy.Branch.On || c.policy
			_, err := d.Navigate(t.Context(), other, summarize.Navigation{Summarize: c.caller})
			require.NoError(t, err)
			require.Equal(t, c.policy || c.caller, len(asked(d, branch)) == 1)
		}
	},
		statements.Change(policyFile, "policy.BranchPolicy{", "policy.BranchPolicy{On: true, "),
		statements.Change(engine+"branch.go", "!w.policy.Branch.On && !how.Summarize", "!w.policy.Branch.On"),
		statements.Change(engine+"branch.go", "!w.policy.Branch.On && !how.Summarize", "!how.Summarize")),
	statements.That("the summary is of the entries since the two branches parted", func(t *testing.T) {
		d, other := twoBranches(t, said(turns(1, 2)...)...)
		goTo(d, other)
		text := asked(d, branch)[0]
		require.Equal(t, []int{1, 2}, compacttest.Outputs(text))
		require.NotContains(t, text, "The task.")
		require.NotContains(t, text, "The other way.")
	}, statements.Change(engine+"internal/write/branch.go", "LeaveOutOf(b.Session, left, held)", "LeaveOutOf(b.Session, b.Session.PathTo(ctx, b.From), held)")),
	statements.That("a branch is summarised before the session goes to the other entry, and the summary follows that entry", func(t *testing.T) {
		d, other := twoBranches(t, said(turns(1, 2)...)...)
		from, during := d.Session.Leaf(), ""
		d.Always(func(ctx context.Context, r chat.Request) (chat.Response, error) {
			during = d.Session.Leaf()
			return answer(ctx, r)
		})
		got := goTo(d, other)
		require.Equal(t, from, during)
		require.Equal(t, from, got.From)
		e := sessiontest.Entry(t, d.Session, d.Session.Leaf())
		require.Equal(t, *got, e.Body)
		require.Contains(t, got.Text, answers[branch])
		list := view(d)
		require.Equal(t, "Go on.", list[len(list)-2].Text())
		require.Contains(t, list[len(list)-1].Text(), "The conversation went another way before it came back to this point.")
		require.Contains(t, list[len(list)-1].Text(), answers[branch])
	},
		statements.Change(engine+"branch.go", "if summary, err = w.summariseBranch(", "_ = c.Session.Branch(ctx, to)\n\t\tif summary, err = w.summariseBranch("),
		statements.Change(engine+"branch.go", "return &entry.BranchSummary{From: from, ", "return &entry.BranchSummary{From: to, "),
		statements.Change(sessions+"entry/shown.go", "branchPreamble + plaintext.Outside(b.Text)", "plaintext.Outside(b.Text)")),
	statements.That("the newest entries that fit the context window less 16,384 tokens are summarised", func(t *testing.T) {
		const small = 40_000
		for over := range 2 {
			tokens := small - 16_384 + over
			oldest := chat.AssistantMessage(marked(999, tokens%aTurn-3))
			d, other := twoBranches(t, append(said(oldest), said(turns(1, tokens/aTurn)...)...)...)
			d.Target.ContextWindow = small
			goTo(d, other)
			want := compacttest.Numbers(1, tokens/aTurn)
			if over == 0 {
				want = append([]int{999}, want...)
			}
			require.Equal(t, want, compacttest.Outputs(asked(d, branch)[0]))
		}
	},
		statements.Change(policyFile, "BranchPolicy{Reserve: 16_384", "BranchPolicy{Reserve: 16_383"),
		statements.Change(policyFile, "BranchPolicy{Reserve: 16_384", "BranchPolicy{Reserve: 16_385")),
	statements.That("an earlier summary on the branch is shown although it exceeds the limit a little", func(t *testing.T) {
		const small = 40_000
		d, other := twoBranches(t, append([]entry.Body{
			entry.BranchSummary{From: "e1", Summary: entry.Summary{Text: "Found before. " + compacttest.Words(9000)}},
		}, said(turns(1, 50)...)...)...)
		d.Target.ContextWindow = small
		goTo(d, other)
		require.Contains(t, asked(d, branch)[0], "Found before.")
	}, statements.Change(engine+"prompts/branch.go", "!list[0].summary || ", "list[0].summary || ")),
	statements.That("a compaction on the branch is shown by its replacement", func(t *testing.T) {
		d, other := twoBranches(t, said(turns(1, 2)...)...)
		add(d, entry.Compaction{Messages: []chat.Message{chat.UserMessage("What was compacted.")}})
		goTo(d, other)
		require.Contains(t, asked(d, branch)[0], "user: What was compacted.\n")
	}, statements.Change(engine+"prompts/branch.go", "one.messages = c.Messages", "one.messages = c.Messages[:0]")),
	statements.That("the branch is shown as text in a tag, to a model that is told its role and asked for notes", func(t *testing.T) {
		d, other := twoBranches(t, said(chat.UserMessage("Why?"), chat.AssistantMessage("Because."))...)
		goTo(d, other)
		require.Contains(t, asked(d, branch)[0], "You read transcripts")
		require.Contains(t, asked(d, branch)[0], "\n<conversation>\nuser: Why?\nassistant: Because.\n</conversation>\n")
	},
		statements.Change(engine+"prompts/branch.go", "textblock.NotesRole", `"You copy."`),
		statements.Change(engine+"prompts/branch.go", "Messages: m.Covered, Results", "Messages: m.Covered[:1], Results")),
	statements.That("instructions replace the question", func(t *testing.T) {
		d, other := twoBranches(t, said(turns(1, 2)...)...)
		_, err := d.Navigate(t.Context(), other, summarize.Navigation{Summarize: true, Instructions: "In a word, please."})
		require.NoError(t, err)
		require.Empty(t, asked(d, branch))
		require.Len(t, d.Requests(), 1)
		require.Contains(t, compacttest.Text(d.Requests()[0].Messages), "In a word, please.")
	},
		statements.Change(engine+"prompts/branch.go", "cmp.Or(m.Instructions, branchAsk)", "cmp.Or(branchAsk, m.Instructions)"),
		statements.Change(engine+"branch.go", "how.Instructions, intervention", `"", intervention`)),
	statements.That("the files of the whole branch, and of summaries on it, are listed after the summary, even if not all of it fits", func(t *testing.T) {
		bodies := said(call(901, "read", `{"path":"a.go"}`, 10)...)
		bodies = append(bodies, entry.BranchSummary{From: "e1", Summary: entry.Summary{
			Text: "Found before.", Files: entry.Files{Read: []string{"b.go"}, Modified: []string{"c.go"}},
		}})
		d, other := twoBranches(t, append(bodies, said(turns(1, 75)...)...)...)
		d.Target.ContextWindow = 40_000
		got := goTo(d, other)
		require.NotContains(t, asked(d, branch)[0], "Step 901.")
		require.Equal(t, entry.Files{Read: []string{"a.go", "b.go"}, Modified: []string{"c.go"}}, got.Files)
		shown, _ := entry.Entry{Body: *got}.Shown()
		require.Contains(t, shown.Text(), answers[branch]+"\n\n<read-files>\na.go\nb.go\n</read-files>\n\n<modified-files>\nc.go\n</modified-files>")
	},
		statements.Change(engine+"internal/write/branch.go", "filesOf(ctx, b.Policy, left)", "filesOf(ctx, b.Policy, b.Session.Abandoned(ctx, b.From, b.From))"),
		statements.Change(sessions+"fileops.go", "ops = append(ops, fileOp{i, b.Files})", ""),
		statements.Change(sessions+"entry/shown.go", "{plaintext.ReadTag, ", "{plaintext.UserTag, "),
		statements.Change(sessions+"entry/shown.go", "{plaintext.ModifiedTag, ", "{plaintext.UserTag, "),
		statements.Change(engine+"internal/write/branch.go", "Text: text, Files: m.Files", "Text: text")),
}

var hooks = []statements.Statement{
	statements.That("a hook may cancel a compaction", func(t *testing.T) {
		d := hooked(t, summarize.Intervention{Cancel: true})
		compacttest.Equal(t, turns(1, tooMany), rendered(d)[1:])
		require.Empty(t, d.Requests())
		require.Equal(t, "started vetoed", compacttest.Kinds(*d.Heard))
	}, statements.Change(engine+"hooks.go", "if got.Cancel {", "if false {")),
	statements.That("a hook may supply a whole compaction", func(t *testing.T) {
		kept := "e" + fmt.Sprint(2*150+1) // the first message of turn 151
		d := hooked(t, summarize.Intervention{
			Summary: &entry.Summary{Text: "The hook's.", Data: json.RawMessage(`{"by":"me"}`)}, FirstKept: kept, Title: "Mine", TokensBefore: 7,
		})
		got := rendered(d)
		require.Empty(t, d.Requests())
		require.Contains(t, got[1].Text(), "The hook's.")
		require.Equal(t, compacttest.Numbers(151, tooMany), shows(got))
		c := latest(d)
		require.True(t, c.Extension)
		require.Equal(t, "The hook's.", c.Text)
		require.Equal(t, kept, c.FirstKept)
		require.Equal(t, "Mine", c.Title)
		require.Equal(t, 7, c.TokensBefore)
		require.JSONEq(t, `{"by":"me"}`, string(c.Data))
	},
		statements.Change(engine+"executor.go", "Summary: *got.Summary, ", "Summary: entry.Summary{Text: got.Summary.Text}, "),
		statements.Change(engine+"internal/write/attempt.go", "d.Extension = true", ""),
		statements.Change(engine+"internal/place/place.go", "c.FirstKept = cmp.Or(c.FirstKept, j.Plan.FirstKept)", "c.FirstKept = j.Plan.FirstKept"),
		statements.Change(engine+"internal/place/place.go", "c.Title = cmp.Or(c.Title, plaintext.Title(c.Text))", "c.Title = plaintext.Title(c.Text)"),
		statements.Change(engine+"internal/place/place.go", "c.TokensBefore = cmp.Or(c.TokensBefore, j.Plan.TokensBefore)", "c.TokensBefore = j.Plan.TokensBefore")),
	statements.That("a hook may ask in its own words, and keep data with the compaction", func(t *testing.T) {
		d := hooked(t, summarize.Intervention{
			Prompts: []policy.Prompt{ohmypi.Handoff{Ask: "In a word, please."}.Prompt()}, Data: json.RawMessage(`[1]`),
		})
		rendered(d)
		require.Empty(t, asked(d, first))
		require.Contains(t, compacttest.Text(d.Requests()[0].Messages), "In a word, please.")
		require.JSONEq(t, `[1]`, string(latest(d).Data))
	},
		statements.Change(engine+"executor.go", "prompts = got.Prompts", ""),
		statements.Change(engine+"internal/place/place.go", "c.Files, c.Data = j.Material.Files, j.Data", "c.Files = j.Material.Files"),
		statements.Change(prompts, "cmp.Or(h.Ask, ask)", "cmp.Or(ask, h.Ask)")),
	statements.That("a hook is told of each compaction, and whether a hook supplied it", func(t *testing.T) {
		for _, supplied := range []*entry.Summary{nil, {Text: "The hook's."}} {
			d := hooked(t, summarize.Intervention{Summary: supplied})
			var told []entry.Compaction
			d.Hooks.AfterCompact = func(_ context.Context, e entry.Entry) error {
				told = append(told, e.Compaction())
				return nil
			}
			rendered(d)
			require.Equal(t, []entry.Compaction{latest(d)}, told)
			require.Equal(t, supplied != nil, told[0].Extension)
		}
	},
		statements.Change(engine+"executor.go", "c.Hooks.AfterCompact(ctx, e)", "c.Hooks.AfterCompact(ctx, entry.Entry{})"),
		statements.Change(engine+"internal/write/attempt.go", "d.Extension = true", "")),
	statements.That("a hook may cancel a change of branch", func(t *testing.T) {
		d, other := twoBranches(t, said(turns(1, 1)...)...)
		from := d.Session.Leaf()
		d.Hooks.BeforeBranch = beforeBranch(summarize.Intervention{Cancel: true})
		_, err := d.Navigate(t.Context(), other, summarize.Navigation{Summarize: true})
		require.ErrorIs(t, err, summarize.ErrVetoed)
		require.Equal(t, from, d.Session.Leaf())
		require.Empty(t, d.Requests())
	}, statements.Change(engine+"branch.go", "if intervention.Cancel {", "if false {")),
	statements.That("a hook may supply the summary of a branch", func(t *testing.T) {
		d, other := twoBranches(t, said(turns(1, 1)...)...)
		d.Hooks.BeforeBranch = beforeBranch(summarize.Intervention{
			Summary: &entry.Summary{Text: "The hook's.", Files: entry.Files{Read: []string{"a.go"}}},
		})
		got := goTo(d, other)
		require.Empty(t, d.Requests())
		require.True(t, got.Extension)
		require.Equal(t, []string{"a.go"}, got.Files.Read)
		require.Contains(t, compacttest.Text(view(d)), "The hook's.")
	},
		statements.Change(engine+"branch.go", "case intervention.Summary != nil:", "case intervention.Summary != nil && !how.Summarize:"),
		statements.Change(engine+"branch.go", "summary.Extension = true", "")),
	statements.That("a hook is told of a change of branch with both ends and the summary, if there is one", func(t *testing.T) {
		for _, summarised := range []bool{false, true} {
			d, other := twoBranches(t, said(turns(1, 1)...)...)
			from, told := d.Session.Leaf(), 0
			var given *entry.BranchSummary
			d.Hooks.AfterBranch = func(_ context.Context, was, is string, s *entry.BranchSummary) error {
				require.Equal(t, []string{from, other}, []string{was, is})
				given, told = s, told+1
				return nil
			}
			got, err := d.Navigate(t.Context(), other, summarize.Navigation{Summarize: summarised})
			require.NoError(t, err)
			require.Equal(t, 1, told)
			require.Equal(t, summarised, given != nil)
			require.Same(t, got, given)
		}
	},
		statements.Change(engine+"branch.go", "c.Hooks.AfterBranch(ctx, from, to, summary)", "c.Hooks.AfterBranch(ctx, to, from, summary)"),
		statements.Change(engine+"branch.go", "c.Hooks.AfterBranch(ctx, from, to, summary)", "c.Hooks.AfterBranch(ctx, from, to, nil)")),
}

var errDown = errors.New("the model is down")

var failures = []statements.Statement{
	statements.That("a compaction on demand first stops the agent's work", func(t *testing.T) {
		d := fixture(t, turns(1, enough)...)
		var asked []int
		d.Hooks.Interrupt = func(context.Context) error {
			asked = append(asked, len(d.Requests()))
			return nil
		}
		require.NoError(t, demand(d, ""))
		require.Equal(t, []int{0}, asked)
		d = fixture(t, turns(1, tooMany)...)
		d.Hooks.Interrupt = func(context.Context) error { panic("nobody asked") }
		rendered(d)
		require.NotContains(t, compacttest.Kinds(*d.Heard), "hook failed")
	}, statements.Change(engine+"demand.go", "if on == policy.OnDemand && c.Hooks.Interrupt != nil", "if on != policy.OnDemand && c.Hooks.Interrupt != nil")),
	statements.That("an abort ends a compaction, whether somebody asked for it or not", func(t *testing.T) {
		d := fixture(t, turns(1, tooMany-25)...)
		rendered(d)
		d.Always(compacttest.After(time.Minute, answer))
		abort := func() { time.AfterFunc(time.Second, d.Abort) }
		abort()
		_, err := d.Compact(t.Context(), "")
		require.ErrorIs(t, err, summarize.ErrAborted)
		d.Say(turns(1, 25)...)
		abort()
		rendered(d)
		require.Equal(t, "started cancelled started cancelled", compacttest.Kinds(*d.Heard))
		require.Empty(t, compacttest.Compactions(d.Session))
	}, statements.Change(engine+"compactor.go", "c.inner.work.abort(ErrAborted)", "_ = ErrAborted")),
	statements.That("events report the beginning and the end of a compaction", func(t *testing.T) {
		d := compacted(t)
		synctest.Wait()
		require.Equal(t, "started done/handoff titled", compacttest.Kinds(*d.Heard))
		d = fixture(t, turns(1, tooMany)...)
		d.Always(models.Fail(errDown))
		rendered(d)
		require.Equal(t, "started refused/handoff failed", compacttest.Kinds(*d.Heard))
	},
		statements.Change(engine+"executor.go", "Kind: event.Started,", "Kind: event.Waiting,"),
		statements.Change(engine+"internal/place/place.go", "j.Event(event.Done)", "j.Event(event.Ready)"),
		statements.Change(engine+"internal/place/place.go", "kind := event.Failed", "kind := event.Dropped")),
	statements.That("the policy may name models that are asked in turn", func(t *testing.T) {
		d := fixture(t, turns(1, tooMany)...)
		d.Policy.Ask.Names = []string{"one", "two"}
		d.Models = map[string]policy.Target{
			"one": {Model: &models.Script{Steps: []models.Reply{models.Fail(errDown)}}},
			"two": {Model: &models.Script{Steps: []models.Reply{models.Say("Of the second."), models.Say("Its title.")}}},
		}
		require.Contains(t, rendered(d)[1].Text(), "Of the second.")
		require.Empty(t, d.Requests())
	}, statements.Change(engine+"internal/write/write.go", "range w.Candidates {\n\t\t\tif !p", "range w.Candidates[:1] {\n\t\t\tif !p")),
	statements.That("a model is asked again if its failure may pass, up to three times", func(t *testing.T) {
		busy := models.Fail(&chat.TransientError{Err: errDown})
		d := fixture(t, turns(1, tooMany)...)
		d.Answers(busy, busy, busy, answer, answer)
		begun := time.Now()
		require.Contains(t, rendered(d)[1].Text(), answers[first])
		require.Equal(t, (2+4+8)*time.Second, time.Since(begun))
		d = fixture(t, turns(1, tooMany)...)
		d.Answers(busy, busy, busy, busy)
		rendered(d)
		require.Len(t, d.Requests(), 4)
	},
		statements.Change(policyFile, "Attempts: 4", "Attempts: 3"),
		statements.Change(policyFile, "RetryWait: 15 * time.Second", "RetryWait: 13 * time.Second")),
	statements.That("if a refused request cannot be made smaller the error says that the recovery failed", func(t *testing.T) {
		_, err := refused(fixture(t), 2)
		require.ErrorAs(t, err, new(*summarize.RecoveryError))
		require.ErrorContains(t, err, "context overflow recovery failed")
	}, statements.Change(engine+"recover.go", "context overflow recovery failed", "it failed")),
	statements.That("a request that is refused again after a compaction is made smaller without another one, until it cannot be", func(t *testing.T) {
		d := fixture(t, turns(1, enough)...)
		result, err := refused(d, named)
		smaller := 0
		for ; err == nil; smaller++ {
			require.Less(t, smaller, 8)
			before := result.Tokens
			if result, err = again(d, 0, ""); err == nil {
				require.LessOrEqual(t, result.Tokens, before/2)
			}
		}
		require.Greater(t, smaller, 1)
		require.ErrorContains(t, err, "context overflow recovery failed after")
		require.Equal(t, smaller+1, errtest.As[*summarize.RecoveryError](t, err).Attempts)
		synctest.Wait()
		require.Regexp(t, "^started done/handoff( titled| let go)+$", compacttest.Kinds(*d.Heard))
	},
		statements.Change(engine+"recover.go", "limit.Attempts == 2 {", "limit.Attempts >= 2 {"),
		statements.Change(engine+"internal/plan/resort.go", "if lowered || p.Policy.Overflow.LastResort == policy.ResortDrop {", "if p.Policy.Overflow.LastResort == policy.ResortDrop {")),
	statements.That("if a compaction at the limit fails an event says so, and the session is as it was", func(t *testing.T) {
		d := fixture(t, turns(1, tooMany)...)
		d.Always(models.Fail(errDown))
		compacttest.Equal(t, turns(1, tooMany), rendered(d)[1:])
		require.ErrorIs(t, heard(d, event.Failed).Err, errDown)
		compacttest.Equal(t, turns(1, tooMany), view(d))
	},
		statements.Change(engine+"internal/place/place.go", "e.Mode, e.Model, e.Err = d.Prompt.Mode, d.Model, why\n", ""),
		statements.Change(engine+"internal/place/place.go", "kind := event.Failed", "kind := event.Dropped")),
	statements.That("an abort or a failure ends the summary of a branch, and the session stays where it is", func(t *testing.T) {
		for why, step := range map[error]models.Reply{summarize.ErrAborted: compacttest.After(time.Minute, answer), errDown: models.Fail(errDown)} {
			d, other := twoBranches(t, said(turns(1, 1)...)...)
			from := d.Session.Leaf()
			d.Always(step)
			time.AfterFunc(time.Second, d.Abort)
			_, err := d.Navigate(t.Context(), other, summarize.Navigation{Summarize: true})
			require.ErrorIs(t, err, why)
			require.Equal(t, from, d.Session.Leaf())
		}
	},
		statements.Change(engine+"compactor.go", "c.inner.work.abort(ErrAborted)", "_ = ErrAborted"),
		statements.Change(engine+"branch.go", "ctx, done := c.inner.work.abortable(ctx)\n\tdefer done()\n", "")),
}

var settings = []statements.Statement{
	statements.That("it can be turned off and on again for a session", func(t *testing.T) {
		d := fixture(t, turns(1, tooMany)...)
		off := onFixture(t, d.Session)
		off.Policy.Off = true
		require.Len(t, rendered(off), 1+2*tooMany)
		require.Empty(t, off.Requests())

		rendered(d)
		require.Equal(t, rendered(d), rendered(off))
		d.Say(turns(1, 175)...)
		require.Len(t, rendered(off), 2+2*keeps+2*175)
		again := onFixture(t, d.Session)
		rendered(again)
		require.Contains(t, asked(again, update)[0], answers[first])
		require.Equal(t, rendered(again), rendered(off))
	}, statements.Change(engine+"policy/decide.go", "case p.Off && m.Occasion", "case false && m.Occasion")),
	statements.That("the reserve can be set", func(t *testing.T) {
		d := fixture(t)
		d.Policy.Trigger[0].Reserve = 30_000
		d.Fill(window - 30_000 + 1)
		rendered(d)
		require.Len(t, compacttest.Compactions(d.Session), 1)
	}, statements.Change(policyFile, "{Reserve: 16_384, Above: true}", "{On: policy.OnDemand}, {Reserve: 16_384, Above: true}")),
	statements.That("how much is kept can be set", func(t *testing.T) {
		d := fixture(t, turns(1, tooMany)...)
		d.Policy.Cut.Tokens = 30_000
		rendered(d)
		require.Equal(t, compacttest.Numbers(tooMany-30_000/aTurn+1, tooMany), shows(view(d)))
	}, statements.Change(policyFile, "Tokens: 20_000", "Tokens: 20_000, Share: 0.25")),
	statements.That("the message to continue can be left out", func(t *testing.T) {
		d := fixture(t, turns(1, tooMany)...)
		d.Policy.Continue = ""
		goOn, err := d.AfterTurn(t.Context(), compacttest.Prompt(d.Session))
		require.NoError(t, err)
		require.False(t, goOn)
		list := view(d)
		require.Len(t, list, 1+2*keeps)
		require.Equal(t, chat.RoleAssistant, list[len(list)-1].Role)
	}, statements.Change(engine+"demand.go", `!w.succeeded || c.Policy.Continue == ""`, "!w.succeeded")),
	statements.That("the reserve of branch summaries can be set", func(t *testing.T) {
		d, other := twoBranches(t, said(turns(1, 75)...)...)
		d.Target.ContextWindow, d.Policy.Branch.Reserve = 40_000, 20_000
		goTo(d, other)
		require.Equal(t, compacttest.Numbers(26, 75), compacttest.Outputs(asked(d, branch)[0]))
	}, statements.Change(engine+"internal/write/branch.go", "cmp.Or(b.Policy.Branch.Reserve, 16_384)", "cmp.Or(0, 16_384)")),
}
