package stagewise_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/statements"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// briefing is an answer that is long enough to be accepted.
const briefing = "## The build\n\nYou fixed the build that the user complained of."

// fixture returns a fixture under the policy in a window of that many tokens, which is the budget too.
func fixture(t *testing.T, window int, messages ...chat.Message) compacttest.Fixture {
	d := compacttest.New(t, messages...)
	d.Policy, d.Target.Budget, d.Target.ContextWindow = stagewise.Policy(), window, window
	return d
}

// marked returns user messages of that many tokens each, with marks from a number on.
func marked(from, count, tokens int) []chat.Message {
	var list []chat.Message
	for n := from; n < from+count; n++ {
		list = append(list, chat.UserMessage(compacttest.Output(n, tokens-3)))
	}
	return list
}

// filled returns a fixture whose prompt takes that many tokens, in 20 messages.
func filled(t *testing.T, tokens, window int) compacttest.Fixture {
	left := tokens - compacttest.Quarter{}.CountMessage(chat.SystemMessage("You are a coding agent."))
	each := left / 20
	return fixture(t, window, append(marked(1, 19, each), marked(20, 1, left-19*each)...)...)
}

// over returns a fixture with 14 messages of 500 tokens, which are over the threshold. The newest four are kept.
func over(t *testing.T) compacttest.Fixture { return fixture(t, 10_000, marked(1, 14, 500)...) }

// compacted does what Settled does, with a briefing for each request.
func compacted(d compacttest.Fixture) []chat.Message {
	d.T.Helper()
	d.Always(models.Say(briefing))
	return d.Settled()
}

// compacts reports whether compacted compacts the session.
func compacts(d compacttest.Fixture) bool {
	d.T.Helper()
	return strings.Contains(compacttest.Text(compacted(d)), briefing)
}

// kept returns the marks that the prompt shows after a compaction.
func kept(d compacttest.Fixture) []int {
	d.T.Helper()
	text := compacttest.Text(compacted(d))
	require.True(d.T, strings.Contains(text, briefing))
	return compacttest.Outputs(text)
}

// asked returns the request to a model about a session that begins with these messages.
func asked(t *testing.T, messages ...chat.Message) string {
	t.Helper()
	d := fixture(t, 10_000, messages...)
	d.Say(marked(1, 14, 500)...)
	return requested(d)
}

// requested returns the text of the only request.
func requested(d compacttest.Fixture) string {
	d.T.Helper()
	require.True(d.T, compacts(d))
	return compacttest.Text(d.Request().Messages)
}

// chained compacts a session once for each of these briefings and once more, in a window in which a briefing may have
// its full length. It returns the requests.
func chained(t *testing.T, briefings ...string) []string {
	t.Helper()
	d := fixture(t, 100_000, marked(1, 5, 5000)...)
	for i, text := range append(briefings, briefing) {
		d.Say(marked(10*i+6, 10, 5000)...)
		d.Answers(models.Say(text))
		compacttest.Has(t, compacttest.Text(d.Settled()), text)
	}
	var list []string
	for _, r := range d.Requests() {
		list = append(list, compacttest.Text(r.Messages))
	}
	return list
}

// ofLength returns a briefing of that many characters, which has more bytes.
func ofLength(characters int) string {
	const heading = "## Gebäude\n\n"
	return heading + strings.Repeat("é", characters-len([]rune(heading)))
}

// cascade compacts a session with the policy's models, which take these steps one after the other, and then the agent's
// own, of that name. It returns the models that refused or answered, in order.
func cascade(d compacttest.Fixture, own string, steps ...models.Reply) []string {
	d.T.Helper()
	d.Target.Name, d.Models = own, map[string]policy.Target{}
	for _, name := range []string{"claude-haiku-4.5", "gemini-3.1-flash-lite", "gpt-5.4-nano"} {
		d.Models[name] = policy.Target{Model: d.Script}
	}
	d.Answers(steps...)
	d.Settled()
	var names []string
	for _, e := range *d.Heard {
		if e.Kind == event.Refused || e.Kind == event.Ready {
			names = append(names, e.Model)
		}
	}
	return names
}

var (
	down = models.Fail(errors.New("the model is down"))
	good = models.Say(briefing)
)

// hangs is a model that does not answer before its context ends.
func hangs(ctx context.Context, _ chat.Request) (chat.Response, error) {
	<-ctx.Done()
	return chat.Response{}, ctx.Err()
}

// warned returns what is logged at the level of warnings from now on.
func warned(d compacttest.Fixture) *bytes.Buffer {
	var log bytes.Buffer
	d.Observers = append(d.Observers, summarize.Log{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	return &log
}

// undoTo lets the session go on from the message with that mark.
func undoTo(d compacttest.Fixture, mark int) {
	d.T.Helper()
	for _, e := range compacttest.Entries(d.T, d.Session) {
		if list := compacttest.Outputs(e.Message().Text()); len(list) > 0 && list[0] == mark {
			_, err := d.Navigate(d.T.Context(), e.ID, summarize.Navigation{})
			require.NoError(d.T, err)
			return
		}
	}
	d.T.Fatalf("there is no message %d", mark)
}

const (
	policyFile = "summarize/stagewise/policy.go"
	prompt     = "summarize/stagewise/prompt.go"
	shown      = "summarize/stagewise/history.go"
	tools      = "summarize/stagewise/tools.go"
	engine     = "summarize/"
)

// marker states the line that shows a round.
func marker(says string, round []chat.Message, line string, mutants ...statements.Mutant) statements.Statement {
	return statements.That(says, func(t *testing.T) {
		compacttest.Has(t, asked(t, append([]chat.Message{chat.UserMessage("Go.")}, round...)...), "\n<assistant>\n"+line+"\n</assistant>\n")
	}, mutants...)
}

// demands states that a request asks for something, in words from the file of the prompt. Leaving out any of them is a
// mutation.
func demands(says string, words ...string) statements.Statement {
	s := statements.That(says, func(t *testing.T) {
		text := asked(t)
		for _, w := range words {
			compacttest.Has(t, text, w)
		}
	})
	for _, w := range words {
		s.Mutants = append(s.Mutants, statements.Change(prompt, w, "…"))
	}
	return s
}

func TestStatements(t *testing.T) {
	statements.Run(t, []statements.Statement{
		// When.
		statements.That("it compacts once more than 65% of the context window is used", func(t *testing.T) {
			for tokens, want := range map[int]bool{6500: false, 6501: true} {
				d := filled(t, tokens, 10_000)
				d.Target.Budget = 9000
				require.Equal(t, want, compacts(d), "%d tokens", tokens)
			}
		},
			statements.Change(policyFile, "Ratio: 0.65", "Ratio: 0.66"),
			statements.Change(policyFile, "Ratio: 0.65", "Ratio: 0.64"),
			statements.Change(policyFile, "Above: true, ", ""),
			statements.Change(engine+"internal/plan/size.go", "base: ContextWindow(t)", "base: t.Budget")),
		statements.That("it compacts above 200,000 tokens in any window", func(t *testing.T) {
			for tokens, want := range map[int]bool{200_000: false, 200_001: true} {
				require.Equal(t, want, compacts(filled(t, tokens, 1_000_000)), "%d tokens", tokens)
			}
		},
			statements.Change(policyFile, "Cap: 200_000", "Cap: 201_000"),
			statements.Change(policyFile, "Cap: 200_000", "Cap: 199_000"),
			statements.Change(engine+"policy/trigger.go", "cmp.Compare(a.tokens, b.tokens)", "cmp.Compare(b.tokens, a.tokens)")),
		statements.That("the cap can be set, to the 100,000 tokens of newer versions", func(t *testing.T) {
			for tokens, want := range map[int]bool{100_000: false, 100_001: true} {
				d := filled(t, tokens, 1_000_000)
				d.Policy.Trigger[0].Cap = 100_000
				require.Equal(t, want, compacts(d), "%d tokens", tokens)
			}
		},
			statements.Change(engine+"policy/trigger.go", `float64(c.Cap)`, `float64(c.Cap-1)`),
			statements.Change(engine+"policy/trigger.go", `float64(c.Cap)`, `float64(c.Cap+1)`)),
		statements.That("the threshold can be set, to 50% for a chat agent", func(t *testing.T) {
			for tokens, want := range map[int]bool{5000: false, 5001: true} {
				d := filled(t, tokens, 10_000)
				d.Policy.Trigger[0].Ratio = 0.5
				require.Equal(t, want, compacts(d), "%d tokens", tokens)
			}
		},
			statements.Change(engine+"policy/trigger.go", `	return c.Ratio, ""`, `	return c.Ratio + 0.01, ""`),
			statements.Change(engine+"policy/trigger.go", `	return c.Ratio, ""`, `	return c.Ratio - 0.01, ""`)),
		statements.That("the tokens used are those that the provider reported", func(t *testing.T) {
			d := filled(t, 5000, 10_000)
			d.Say(chat.AssistantMessage("Yes."))
			d.Note(entry.Usage{Usage: chat.Usage{Input: 6600}, Counted: 5000})
			d.Say(chat.UserMessage("And now?"))
			require.True(t, compacts(d))
		}, statements.Change(policyFile, "By: policy.ByReport", "By: policy.ByCount")),
		statements.That("the threshold is checked after every step, the last one of a turn included", func(t *testing.T) {
			d := filled(t, 6400, 10_000)
			require.False(t, compacts(d))
			d.Say(compacttest.Round(1, 200)...)
			_, err := d.AfterTurn(t.Context(), compacttest.Prompt(d.Session))
			require.NoError(t, err)
			require.NoError(t, d.Wait(t.Context()))
			require.Equal(t, "started ready/briefing", compacttest.Kinds(*d.Heard))

			d = filled(t, 6400, 10_000)
			require.False(t, compacts(d))
			d.Say(compacttest.Round(1, 200)...)
			require.True(t, compacts(d))
		},
			statements.Change(policyFile, "{{Ratio: 0.65", "{{On: policy.OnContextLimit, Ratio: 0.65"),
			statements.Change(engine+"demand.go", "if _, err := w.walk(ctx, policy.OnRender); err != nil", "if _, err := w.walk(ctx, policy.OnModelSwitch); err != nil")),
		statements.That("the agent does not wait for the briefing", func(t *testing.T) {
			d := over(t)
			d.Answers(compacttest.After(20*time.Second, good))
			start := time.Now()
			require.Equal(t, compacttest.Numbers(1, 14), compacttest.Outputs(compacttest.Text(d.Messages())))
			require.Zero(t, time.Since(start))
			require.NoError(t, d.Wait(t.Context()))
			require.Equal(t, 20*time.Second, time.Since(start))
			compacttest.Has(t, compacttest.Text(d.Messages()), briefing)
		}, statements.Change(policyFile, ", Background: true", "")),
		statements.That("one compaction is made at a time", func(t *testing.T) {
			d := over(t)
			d.Always(compacttest.After(20*time.Second, good))
			for n := range 3 {
				d.Messages()
				d.Say(marked(15+n, 1, 100)...)
				time.Sleep(time.Second)
			}
			require.Len(t, d.Requests(), 1)
			require.Equal(t, "started", compacttest.Kinds(*d.Heard))
		}, statements.Change(engine+"policy/decide.go", `do(ActNothing, "a summary is %s", m.Pending)`, `do(ActCompact, "a summary is %s", m.Pending)`)),

		// Where it cuts.
		statements.That("the newest messages are kept, up to 20% of the context window", func(t *testing.T) {
			d := fixture(t, 10_000, append(marked(1, 96, 50), marked(97, 4, 500)...)...)
			d.Target.Budget = 9000
			require.Equal(t, compacttest.Numbers(97, 100), kept(d))
		},
			statements.Change(policyFile, "Share: 0.2,", "Share: 0.199,"),
			statements.Change(policyFile, "Share: 0.2,", "Share: 0.206,"),
			statements.Change(engine+"internal/plan/measure.go", "clamp.Share(rule.Share, ContextWindow(p.Target))", "clamp.Share(rule.Share, p.Target.Budget)")),
		statements.That("at most 40,000 tokens are kept in any window", func(t *testing.T) {
			d := fixture(t, 1_000_000, append(marked(1, 200, 1000), marked(201, 4, 10_000)...)...)
			require.Equal(t, compacttest.Numbers(201, 204), kept(d))
		},
			statements.Change(policyFile, "Tokens: 40_000", "Tokens: 39_900"),
			statements.Change(policyFile, "Tokens: 40_000", "Tokens: 41_000"),
			statements.Change(engine+"internal/plan/measure.go", "if rule.Tokens == 0 || share < rule.Tokens", "if rule.Tokens == 0 || share > rule.Tokens")),
		statements.That("the share that is kept can be set", func(t *testing.T) {
			d := over(t)
			d.Policy.Cut.Share = 0.3
			require.Equal(t, compacttest.Numbers(9, 14), kept(d))
		},
			statements.Change(engine+"internal/plan/measure.go", "clamp.Share(rule.Share, ", "clamp.Share(0.24, "),
			statements.Change(engine+"internal/plan/measure.go", "clamp.Share(rule.Share, ", "clamp.Share(0.36, ")),
		statements.That("10 messages are enough to keep, even if more would fit", func(t *testing.T) {
			d := fixture(t, 10_000, append(marked(1, 13, 500), marked(14, 20, 20)...)...)
			require.Equal(t, compacttest.Numbers(24, 33), kept(d))
		},
			statements.Change(policyFile, "Messages: 10", "Messages: 9"),
			statements.Change(policyFile, "Messages: 10", "Messages: 11")),
		statements.That("a last message that is over the budget is kept alone, with a warning", func(t *testing.T) {
			d := fixture(t, 10_000, append(marked(1, 10, 500), marked(11, 1, 3000)...)...)
			log := warned(d)
			require.Equal(t, []int{11}, kept(d))
			require.True(t, (*d.Heard)[0].Over)
			require.Equal(t, 1, strings.Count(log.String(), "level=WARN"))
			require.Contains(t, log.String(), "over=true")

			d = over(t)
			log = warned(d)
			require.True(t, compacts(d))
			require.Empty(t, log.String())
		},
			statements.Change("history/cut.go", "p.Over = p.limit > 0 && p.Tokens > p.limit", "p.Over = false"),
			statements.Change("history/cut.go", "p.Over = p.limit > 0 && p.Tokens > p.limit", "p.Over = true"),
			statements.Change(engine+"executor.go", ", Over: planned.Over}", "}"),
			statements.Change(engine+"event/event.go", `	if e.Over || e.Unseen || e.Doubt != "" {`, `	if e.Unseen || e.Doubt != "" {`)),
		statements.That("if there is nothing before the cut nothing is done", func(t *testing.T) {
			d := fixture(t, 10_000, marked(1, 1, 7000)...)
			require.False(t, compacts(d))
			require.Empty(t, d.Requests())
			require.Empty(t, *d.Heard)
		}, statements.Change(engine+"internal/plan/measure.go", "\t\treturn nil // nothing would be covered", "\t\ts.Covered = 1 << 20\n\t\treturn nil")),
		statements.That("a policy that keeps as much as it compacts at is refused", func(t *testing.T) {
			for share, refused := range map[float64]bool{0.64: false, 0.65: true, 0.7: true} {
				d := over(t)
				d.Policy.Cut.Share = share
				_, err := d.Render(t.Context(), compacttest.Prompt(d.Session))
				require.Equal(t, refused, err != nil)
			}
			d := over(t)
			d.Policy.Cut.Tokens = 200_000
			_, err := d.Render(t.Context(), compacttest.Prompt(d.Session))
			require.ErrorContains(t, err, "nothing would ever be compacted")
		},
			statements.Change(engine+"policy/policy.go", "share >= c.Ratio", "share > c.Ratio"),
			statements.Change(engine+"policy/policy.go", "c.Cap > 0 && (p.Cut.Tokens == 0 || p.Cut.Tokens >= c.Cap)", "c.Cap > 0 && p.Cut.Tokens > c.Cap")),

		// How tokens are estimated.
		statements.That("a token is four characters, rounded up, and each message takes 400 characters more", func(t *testing.T) {
			for characters, want := range map[int]int{1600: 4, 1601: 3} { // 500 tokens each, and 501
				d := fixture(t, 10_000)
				d.Target.Tokenizer = sizing.Estimator{}
				for n := 1; n <= 14; n++ {
					d.Say(chat.UserMessage(fmt.Sprintf("[output %03d]", n) + strings.Repeat("é", characters-12)))
				}
				require.Equal(t, compacttest.Numbers(15-want, 14), kept(d), "%d characters", characters)
			}
		},
			statements.Change("sizing/estimate.go", "	messageChars = 400", "	messageChars = 396"),
			statements.Change("sizing/estimate.go", "	messageChars = 400", "	messageChars = 404"),
			statements.Change("sizing/estimate.go", "		per = 4\n", "		per = 3.99\n"),
			statements.Change("sizing/estimate.go", "		per = 4\n", "		per = 4.01\n"),
			statements.Change("sizing/estimate.go", "		n++\n", "")),
		statements.That("a tool's name, its input as JSON and its output are estimated too", func(t *testing.T) {
			for characters, want := range map[int]int{590: 2, 591: 1} { // 750 tokens a round, and 751
				d := fixture(t, 10_000, chat.UserMessage(strings.Repeat("x", 1600))) // 500 tokens, which stay
				d.Target.Tokenizer = sizing.Estimator{}
				for n := 1; n <= 9; n++ {
					round := compacttest.ToolUse("ten_letter", `{"text":"`+strings.Repeat("x", characters-11)+`"}`, fmt.Sprintf("[output %03d]", n)+strings.Repeat("x", 1588))
					round[0].ToolCalls[0].ID = fmt.Sprint(n)
					round[1].ToolCallID = fmt.Sprint(n)
					d.Say(round...)
				}
				require.Equal(t, compacttest.Numbers(10-want, 9), kept(d), "%d characters", characters)
			}
		},
			statements.Change("sizing/estimate.go", "chars += utf8.RuneCountInString(c.Name) + utf8.RuneCountInString(c.Arguments)", "chars += utf8.RuneCountInString(c.Arguments)"),
			statements.Change("sizing/estimate.go", "chars += utf8.RuneCountInString(c.Name) + utf8.RuneCountInString(c.Arguments)", "chars += utf8.RuneCountInString(c.Name)"),
			statements.Change("sizing/estimate.go", "		chars += c\n", "		if m.Role != chat.RoleTool {\n			chars += c\n		}\n")),
		statements.That("attachments are estimated too", func(t *testing.T) {
			picture := chat.Image{URL: "https://example.com/a.png"}
			size := sizing.Estimator{}.CountPart(picture)
			require.Positive(t, size)
			window := 5 * 4 * (size + 103) // four messages are a fifth of it
			for tokens, want := range map[int]int{window: 4, window - 5: 3} {
				d := fixture(t, tokens)
				d.Target.Tokenizer = sizing.Estimator{}
				for n := 1; n <= 14; n++ {
					d.Say(chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text(fmt.Sprintf("[output %03d]", n)), picture}})
				}
				require.Equal(t, compacttest.Numbers(15-want, 14), kept(d), "in %d tokens", tokens)
			}
		},
			statements.Change("sizing/estimate.go", "		return imageChars, 0", "		return 0, 0"),
			statements.Change("sizing/estimate.go", "		chars += c\n", "		chars += min(c, 400)\n")),

		// What is put in place.
		statements.That("a briefing replaces everything before the cut, and everything after it stays word for word", func(t *testing.T) {
			got := compacted(over(t))
			compacttest.Equal(t, append([]chat.Message{
				chat.SystemMessage("You are a coding agent."),
				chat.UserMessage("<previous-chat-history>\n" + briefing + "\n</previous-chat-history>"),
			}, marked(11, 4, 500)...), got)
		},
			statements.Change(policyFile, "With: replacement, ", ""),
			statements.Change("summarize/stagewise/prompt.go", "prompts.SummaryBlock(m, plaintext.PreviousHistoryTag.String())", "prompts.SummaryBlock(m, plaintext.SummaryTag.String())")),
		statements.That("the session holds the briefing with the message at the cut", func(t *testing.T) {
			d := over(t)
			compacted(d)
			all := compacttest.Compactions(d.Session)
			require.Len(t, all, 1)
			require.Equal(t, briefing, all[0].Text)
			first, err := d.Session.Entry(t.Context(), all[0].FirstKept)
			require.NoError(t, err)
			require.Equal(t, marked(11, 1, 500)[0], first.Message())
			compacttest.Equal(t, marked(1, 14, 500), compacttest.Said(d.Session))
		},
			statements.Change(engine+"internal/place/place.go", "c.FirstKept = cmp.Or(c.FirstKept, j.Plan.FirstKept)", "c.FirstKept = p.Journal.Session.Leaf()"),
			statements.Change(engine+"internal/place/place.go", "c.Plan, c.Thinking, c.Mode = ", `c.Text, c.Plan, c.Thinking, c.Mode = "x", `)),
		statements.That("the cut is found again by its message once the model has answered, though other messages were appended or undone meanwhile", func(t *testing.T) {
			d := over(t)
			d.Answers(compacttest.After(20*time.Second, good))
			d.Messages()
			d.Say(marked(15, 2, 100)...)
			undoTo(d, 15)
			d.Say(marked(17, 1, 100)...)
			require.NoError(t, d.Wait(t.Context()))
			got := compacttest.Text(d.Messages())
			require.Contains(t, got, briefing)
			require.Equal(t, []int{11, 12, 13, 14, 15, 17}, compacttest.Outputs(got))
		},
			statements.Change(engine+"internal/place/place.go", "c.FirstKept = cmp.Or(c.FirstKept, j.Plan.FirstKept)", "c.FirstKept = p.Journal.Session.Leaf()"),
			statements.Change(engine+"internal/place/place.go", "	view, err := p.Journal.Session.ViewWith(ctx, compaction)\n", "	compaction.FirstKept += \"x\"\n	view, err := p.Journal.Session.ViewWith(ctx, compaction)\n")),
		statements.That("if that message was undone the briefing is dropped with a warning, and the agent goes on", func(t *testing.T) {
			d := over(t)
			log := warned(d)
			d.Answers(compacttest.After(20*time.Second, good))
			d.Messages()
			undoTo(d, 3)
			require.NoError(t, d.Wait(t.Context()))
			require.Equal(t, compacttest.Numbers(1, 3), compacttest.Outputs(compacttest.Text(d.Messages())))
			require.Empty(t, compacttest.Compactions(d.Session))
			require.Equal(t, "started ready/briefing dropped/briefing", compacttest.Kinds(*d.Heard))
			require.Contains(t, log.String(), `level=WARN msg="compaction dropped"`)
		},
			statements.Change(engine+"event/event.go", "case Failed, Dropped,", "case Failed,"),
			statements.Change(engine+"internal/place/place.go", "end.Outcome, kind = entry.PlanDropped, event.Dropped\n", "end.Outcome, kind = entry.PlanDropped, event.Discarded\n")),

		// Compactions one after the other.
		statements.That("a later compaction is shown the briefing before it, and no message that it covers", func(t *testing.T) {
			all := chained(t, briefing)
			require.Equal(t, compacttest.Numbers(1, 11), compacttest.Outputs(all[0]))
			require.False(t, strings.Contains(all[0], "\n</previous-chat-history>"))
			compacttest.Has(t, all[1], "\n<previous-chat-history>\n"+briefing+"\n</previous-chat-history>\n<user>\n\\[output 012]")
			require.Equal(t, compacttest.Numbers(12, 21), compacttest.Outputs(all[1]))
		},
			statements.Change(prompt, "Previous: prompts.Earlier(m), ", ""),
			statements.Change(shown, "plaintext.PreviousHistoryTag.Around(t.Previous)", "plaintext.PreviousSummaryTag.Around(t.Previous)"),
			statements.Change(engine+"internal/place/place.go", "c.FirstKept = cmp.Or(c.FirstKept, j.Plan.FirstKept)", `c.FirstKept = "e1"`)),
		statements.That("a briefing takes in the one before it, with the same target each time", func(t *testing.T) {
			first, second := briefing+" It was the first thing.", briefing+" It was the second."
			all := chained(t, first, second)
			compacttest.Has(t, all[2], second)
			require.False(t, strings.Contains(all[2], first))
			for _, text := range all {
				compacttest.Has(t, text, "Aim at 30000 characters. That is a goal")
				require.LessOrEqual(t, strings.Count(text, "\n</previous-chat-history>"), 1)
			}
		},
			statements.Change(prompt, "briefingTarget)", "briefingTarget)\n	if prompts.Earlier(m) != \"\" {\n		target = 2 * briefingTarget\n	}"),
			statements.Change("history/internal/log/collector.go", "if k.Is(e.Type()) {", "if _, held := c.Latest[e.Type()]; !held && k.Is(e.Type()) {")),
		statements.That("a briefing below 60% of the target is to be taken over word for word, and not shortened", func(t *testing.T) {
			compacttest.Has(t, chained(t, ofLength(17_999))[1],
				"takes 17999 characters, 60% of that. There is room: take it over word for word, shorten nothing in it")
		},
			statements.Change(prompt, "condenseLightly = 0.60", "condenseLightly = 0.59"),
			statements.Change(prompt, "utf8.RuneCountInString(previous)", `len(previous) + utf8.RuneCountInString("")`),
			statements.Change(prompt, "take it over word for word", "take it over"),
			statements.Change(prompt, "shorten nothing in it, ", "")),
		statements.That("from 60% of the target on its oldest sections are to be tightened a little", func(t *testing.T) {
			for _, n := range []int{18_000, 25_499} {
				compacttest.Has(t, chained(t, ofLength(n))[1], "tighten its oldest sections a little")
			}
		},
			statements.Change(prompt, "condenseLightly = 0.60", "condenseLightly = 0.61"),
			statements.Change(prompt, "condense        = 0.85", "condense        = 0.84"),
			statements.Change(prompt, "oldest sections a little", "sections a little")),
		statements.That("from 85% on its oldest settled sections are to be condensed", func(t *testing.T) {
			compacttest.Has(t, chained(t, ofLength(25_500))[1], "condense its oldest sections, those about things that are wholly settled")
		},
			statements.Change(prompt, "condense        = 0.85", "condense        = 0.86"),
			statements.Change(prompt, "condense its oldest sections, those about things that are wholly settled", "condense it")),
		statements.That("a condensed briefing keeps its headings, links, decisions and outcomes word for word, and its newest sections", func(t *testing.T) {
			for _, n := range []int{18_000, 25_500} {
				text := chained(t, ofLength(n))[1]
				compacttest.Has(t, text, "Keep every one of its ## headings, every link of the form [](path:…), and what the user decided and what came out, word for word.")
				compacttest.Has(t, text, "Leave its newest sections alone.")
			}
		},
			statements.Change(prompt, "every one of its ## headings", "its ## headings"),
			statements.Change(prompt, "every link of the form [](path:…), and", "and"),
			statements.Change(prompt, "what the user decided and what came", "what came"),
			statements.Change(prompt, `" out, word for word.`, `" out.`),
			statements.Change(prompt, " Leave its newest sections alone.", "")),

		// How the history is shown.
		statements.That("a user message is in a tag of its own, with its attachments in one line before its text", func(t *testing.T) {
			text := asked(t, chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("Why does it fail?"), chat.Image{URL: "https://example.com/a.png"}, chat.Image{URL: "https://example.com/b.png"}}},
				chat.UserMessage("And here?"))
			compacttest.Has(t, text, "\n<user>\n[attached: image https://example.com/a.png, image https://example.com/b.png]\nWhy does it fail?\n</user>\n<user>\nAnd here?\n</user>\n")
		},
			statements.Change("internal/plaintext/blocks.go", `"[attached: " +`, `"[file: " +`),
			statements.Change(shown, `notes+"\n"+text`, `text+"\n"+notes`),
			statements.Change(shown, `"]\n[attached: ", ", ")`, `"]\n[attached: ", "]\n[attached: ")`)),
		statements.That("a user message names its mentions, which the application keeps with it, after its attachments", func(t *testing.T) {
			d := fixture(t, 10_000)
			m := chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("Why does it fail?"), chat.Image{URL: "https://example.com/a.png"}}}
			d.Note(entry.Message{Message: m, Data: json.RawMessage(`["go.mod","main.go"]`)})
			d.Say(marked(1, 14, 500)...)
			d.Policy.Ask.Prompts = []policy.Prompt{stagewise.Briefing{Mentions: func(_ chat.Message, data json.RawMessage) []string {
				var names []string
				_ = json.Unmarshal(data, &names)
				return names
			}}.Prompt()}
			compacttest.Has(t, requested(d), "\n<user>\n[attached: image https://example.com/a.png]\n[mentioned: go.mod, main.go]\nWhy does it fail?\n</user>\n")
		},
			statements.Change(prompt, "Mentions: b.Mentions, ", ""),
			statements.Change(prompt, "Data: m.Data, ", ""),
			statements.Change(shown, `notes+"\n"+text`, `text+"\n"+notes`),
			statements.Change("internal/plaintext/blocks.go", `"[mentioned: "`, `"[named: "`),
			statements.Change("history/cut_unit.go", "of[0] = u.Data", "_ = u.Data"),
			statements.Change("history/cut_unit.go", "Messages: messages, Data: dataOf(t.start), Tokens", "Messages: messages, Tokens")),
		statements.That("each message of the assistant is in a tag of its own: its texts, each on lines of its own, then a line for each tool call, and no tool output", func(t *testing.T) {
			round := compacttest.Round(20, 100)
			round[0].Content = chat.Parts{chat.Text("Step 20."), chat.Text("I look.")}
			text := asked(t, append([]chat.Message{chat.UserMessage("Go.")}, append(round, chat.AssistantMessage("It is done."))...)...)
			compacttest.Has(t, text, "\n<assistant>\nStep 20.\nI look.\n[read: file-20.go]\n</assistant>\n<assistant>\nIt is done.\n</assistant>\n")
			require.NotContains(t, text, "[output 020]")
		},
			statements.Change(shown, "		for _, c := range b.Calls {", "		for _, c := range b.Calls[len(b.Calls):] {"),
			statements.Change(shown, "tools.line(Call(c))", "tools.line(Call(c))+c.Result"),
			statements.Change(shown, `= text + "\n"`, `= text`)),
		marker("a file that was read is named", compacttest.ToolUse("read", `{"path":"w1/go.mod","start_line":1}`, `{"message":"Read 1 file."}`), "[read: w1/go.mod]",
			statements.Change(tools, `toolname.Read: argumentLine("read: `, `toolname.Read: argumentLine("opened: `)),
		marker("a file that was edited is named, with the number of edits",
			compacttest.ToolUse("multiEdit", `{"path":"w1/a.ts","edits":[{"old_string":"a","new_string":"b"}]}`, `{"message":"Successfully applied 1 edits.","result":{"editsApplied":1}}`), "[edited: w1/a.ts (1 edits)]",
			statements.Change(tools, `"multiEdit":           argumentLine("edited: `, `"multiEdit":           argumentLine("changed: `),
			statements.Change(tools, `" (${#edits} edits)"`, `" ($edits)"`)),
		marker("a failed edit has its error in place of the number", compacttest.Failing(compacttest.ToolUse("multiEdit", `{"path":"w1/a.ts","edits":[{"old_string":"a","new_string":"b"}]}`, "Text not found")), "[edited: w1/a.ts ✗ Text not found]",
			statements.Change(tools, "complete := !c.Failed", "complete := true")),
		marker("a file that was written is created if the message says so", compacttest.ToolUse("write", `{"path":"w1/a.ts","content":"x"}`, `{"message":"Successfully created file: w1/a.ts"}`), "[created: w1/a.ts]",
			statements.Change(tools, `true: "created"}`, `true: "wrote"}`),
			statements.Change(tools, `fields(c.Result)["message"]`, `fields(c.Arguments)["message"]`)),
		marker("a file that was there before is written", compacttest.ToolUse("write", `{"path":"w1/a.ts","content":"x"}`, `{"message":"Successfully updated file: w1/a.ts"}`), "[wrote: w1/a.ts]",
			statements.Change(tools, `false: "wrote"`, `false: "created"`),
			statements.Change(tools, `["message"], "created")`, `["message"], "Successfully")`)),
		marker("a file that was copied is named, with its copy", compacttest.ToolUse("copy", `{"input_path":"w1/a.ts","output_path":"w1/b.ts","move":false}`, `{"message":"Copied file: w1/a.ts → w1/b.ts"}`), "[copied: w1/a.ts → w1/b.ts]",
			statements.Change(tools, `false: "copied"`, `false: "moved"`),
			statements.Change(tools, `$input_path → $output_path`, `$output_path`)),
		marker("a file that was moved is named, with its new place", compacttest.ToolUse("copy", `{"input_path":"w1/a.ts","output_path":"w1/b.ts","move":true}`, `{"message":"Moved file: w1/a.ts → w1/b.ts"}`), "[moved: w1/a.ts → w1/b.ts]",
			statements.Change(tools, `true: "moved"`, `true: "copied"`),
			statements.Change(tools, `$input_path → $output_path`, `$input_path`)),
		marker("a file that was deleted is named", compacttest.ToolUse("delete", `{"path":"w1/a.ts"}`, ""), "[deleted: w1/a.ts]",
			statements.Change(tools, `argumentLine("deleted: `, `argumentLine("removed: `)),
		marker("a command that succeeded has its explanation and a check mark",
			compacttest.ToolUse("executeShellCommand", `{"explanation":"Run tests","command":"pnpm test"}`, `{"session_id":"s1","output":"1 failed, exit code 1","exit_code":0,"session_exited":false,"timed_out":false,"resolved_by":"exit"}`), "[shell: Run tests → ✓]",
			statements.Change(tools, `c.Argument("label", "explanation", "description")`, `c.Argument("label", "description")`),
			statements.Change(tools, `		return line + " → ✓"`, `		return line`)),
		marker("a command that failed has its exit code, and the command if it has no explanation",
			compacttest.ToolUse("executeShellCommand", `{"command":"pnpm test"}`, `{"session_id":null,"output":"FAIL","exit_code":2,"session_exited":true,"timed_out":false,"resolved_by":"exit"}`), "[shell: pnpm test → exit 2]",
			statements.Change(tools, `" → exit " + strconv.Itoa(code)`, `" → ✗"`),
			statements.Change(tools, `"command", "cmd", "script"`, `"cmd", "script"`)),
		marker("a command that took too long has timed out",
			compacttest.ToolUse("executeShellCommand", `{"explanation":"Wait","command":"sleep 99"}`, `{"session_id":"s1","output":"","exit_code":null,"session_exited":false,"timed_out":true,"resolved_by":"timeout"}`), "[shell: Wait → timed out]",
			statements.Change(tools, `" → timed out"`, `" → ✗"`),
			statements.Change(tools, `end["timedout"] == "true", `, ``)),
		marker("a script in the sandbox has its explanation", compacttest.ToolUse("executeSandboxJs", `{"explanation":"Take a screenshot","script":"await API.sendCDP()"}`, `{"message":"ok","result":null}`), "[sandbox: Take a screenshot]",
			statements.Change(tools, `"sandbox: $explanation"`, `"sandbox: $script"`)),
		marker("files that were checked without a finding are clean",
			compacttest.ToolUse("getLintingDiagnostics", `{"paths":["w1/a.ts","w1/b.ts"]}`, `{"message":"","files":[],"summary":{"totalFiles":2,"totalIssues":0,"errors":0,"warnings":0,"infos":0,"hints":0}}`), "[lint: w1/a.ts, w1/b.ts → clean]",
			statements.Change(tools, `line := "lint: "`, `line := "checked: "`),
			statements.Change(tools, `report["totalissues"] == "0" || `, ``),
			statements.Change(tools, `" → clean"`, `" → ✓"`)),
		marker("files that were checked have their numbers of errors and warnings",
			compacttest.ToolUse("getLintingDiagnostics", `{"paths":["w1/a.ts"]}`, `{"message":"Found 4 linting issues in 1 file.","files":[],"summary":{"totalFiles":1,"totalIssues":4,"errors":0,"warnings":1,"infos":3,"hints":0}}`), "[lint: w1/a.ts → 0 errors, 1 warnings]",
			statements.Change(tools, `members["summary"]`, `members["files"]`),
			statements.Change(tools, `report["errors"], report["warnings"]`, `report["errors"], report["errors"]`),
			statements.Change(tools, `report["errors"], report["warnings"]`, `report["warnings"], report["warnings"]`)),
		marker("a form for the user has its title, and each field by its label, with its answer",
			compacttest.ToolUse("askUserQuestions", `{"title":"Setup","steps":[{"fields":[{"type":"input","questionId":"db","label":"Database"}]},{"fields":[{"type":"checkbox-group","questionId":"fx","label":"Features"}]}]}`,
				`{"completed":true,"cancelled":false,"answers":{"fx":["auth","search"],"db":"postgres"},"completedSteps":2}`), "[asked user: Setup → Features: auth,search; Database: postgres]",
			statements.Change(tools, `"asked user: "`, `"asked: "`),
			statements.Change(tools, `c.Argument("title", `, `c.Argument(`),
			statements.Change(tools, `labels[f.QuestionID] = f.Label`, `labels[f.QuestionID] = f.QuestionID`),
			statements.Change(tools, `result["answers"], `, ``),
			statements.Change(tools, `separator = "," // as`, `separator = ", " // as`),
			statements.Change(tools, `strings.Join(list, "; ")`, `strings.Join(list, ", ")`)),
		marker("a form that the user did not complete has the reason",
			compacttest.ToolUse("askUserQuestions", `{"title":"Setup","steps":[]}`, `{"completed":false,"cancelled":true,"cancelReason":"user_sent_message","answers":{},"completedSteps":0}`), "[asked user: Setup → user_sent_message]",
			statements.Change(tools, `case completed == "false", `, `case `),
			statements.Change(tools, `result["cancelreason"], `, ``)),
		marker("a search has its query in quotes, and the files that it was for",
			compacttest.ToolUse("grepSearch", `{"mount_prefix":"w1","query":"use\"State\"","include_file_pattern":"**/*.tsx"}`, `{"message":"Found 3 matches.","result":{"matches":[],"truncated":false}}`), `[searched: "use"State"" in **/*.tsx]`,
			statements.Change(tools, "`searched: \"$query\"`", "`searched: $query`"),
			statements.Change(tools, `" in $include_file_pattern"`, `""`)),
		marker("a search for files has its pattern", compacttest.ToolUse("glob", `{"mount_prefix":"w1","pattern":"**/*.ts"}`, `{"message":"Found 0 files.","result":{"totalMatches":0,"relativePaths":[],"truncated":false,"itemsRemoved":0}}`), "[glob: **/*.ts]",
			statements.Change(tools, `argumentLine("glob: $pattern", "")`, `searchLine`)),
		marker("a search for a library's documentation has the library's name", compacttest.ToolUse("listLibraryDocs", `{"name":"react"}`, `{"message":"","library":"react","results":[],"truncated":false}`), "[docs-search: react]",
			statements.Change(tools, `"docs-search: $name"`, `"docs-search: $library"`)),
		marker("documentation that was read has its library and topic", compacttest.ToolUse("searchInLibraryDocs", `{"libraryId":"/react","topic":"hooks"}`, `{"message":"","content":"x","truncated":false}`), "[docs-read: /react → hooks]",
			statements.Change(tools, `$libraryId → $topic`, `$libraryId`)),
		marker("the error of any tool follows a cross", compacttest.Failing(compacttest.ToolUse("read", `{"path":"w1/go.mod"}`, "no such file")), "[read: w1/go.mod ✗ no such file]",
			statements.Change(tools, `text += " ✗ " +`, `text += " failed: " +`),
			statements.Change(tools, `cmp.Or(plaintext.OneLine(c.Result, errorBytes), "failed")`, `"failed"`)),
		marker("an unknown tool is shown by its name", compacttest.ToolUse("mkdir", `{"path":"w1/src"}`, `{"message":"done"}`), "[tool-mkdir]",
			statements.Change(tools, `cmp.Or(text, "tool-"+`, `cmp.Or(text, ""+`),
			statements.Change(tools, "	text = cmp.Or(text,", "	if text == \"\" {\n		return \"\"\n	}\n	text = cmp.Or(text,")),
		marker("an unknown tool that failed has its error too", compacttest.Failing(compacttest.ToolUse("mkdir", `{"path":"w1/src"}`, "no such mount")), "[tool-mkdir ✗ no such mount]",
			statements.Change(tools, "	case c.Failed:\n		text +=", "	case c.Failed && text[:5] != \"tool-\":\n		text +=")),

		// What is asked for.
		statements.That("a briefing aims at 30,000 characters, which is a goal and not a limit", func(t *testing.T) {
			compacttest.Has(t, requested(fixture(t, 100_000, marked(1, 14, 5000)...)),
				"Aim at 30000 characters. That is a goal and not a limit: rather be longer than lose a detail.")
		},
			statements.Change(prompt, "briefingTarget = 30_000", "briefingTarget = 29_000"),
			statements.Change(prompt, "briefingTarget = 30_000", "briefingTarget = 31_000"),
			statements.Change(prompt, "rather be longer than lose a detail", "keep to it")),
		statements.That("a longer briefing is taken as it is", func(t *testing.T) {
			d := fixture(t, 100_000, marked(1, 14, 5000)...)
			long := strings.Repeat("It is so. ", 7000)
			d.Answers(models.Say(long))
			compacttest.Has(t, compacttest.Text(d.Settled()), "\n"+strings.TrimSpace(long)+"\n")
			require.Len(t, d.Requests(), 1)
		}, statements.Change(policyFile, "Max: 20_000", "Max: 17_000")),
		statements.That("the target can be set", func(t *testing.T) {
			d := fixture(t, 100_000, marked(1, 14, 5000)...)
			d.Policy.Ask.Prompts = []policy.Prompt{stagewise.Briefing{Target: 40_000}.Prompt()}
			compacttest.Has(t, requested(d), "Aim at 40000 characters. That is a goal")
		}, statements.Change(prompt, "max(0, b.Target)", "0")),
		demands("the agent is spoken to, and the user is spoken of", `Speak to the agent: "you read", "you decided".`, `The user is "the user", in the third person.`),
		demands("a briefing has a heading for each topic, and prose below", "A heading of the second level (## ) for each topic", "connected prose in paragraphs"),
		demands("it has no lists, tables or blocks of code", "No lists, no tables, no\nblocks of code."),
		demands("what is old and settled gets two to four sentences", "What is long done gets two to four sentences"),
		demands("what is recent is told in full, and ends with how things stand", "What is recent or still being worked on is told in full", "at the end how things stand now"),
		demands("links, decisions, colours, directories and settings are copied word for word", "Copy these exactly and never paraphrase them",
			"links of the form [](path:…), with all that is in them", "other Markdown links", "what the user decided, prefers, demands or forbids", "values of colours",
			"structures of directories", "settings and\nconfiguration"),
		statements.That("the answer is to be plain Markdown, without the tag of the previous history or any other", func(t *testing.T) {
			text := asked(t)
			compacttest.Has(t, text, "Write Markdown and nothing around it")
			compacttest.Has(t, text, "none of the tags above, not even <previous-chat-history>.")
		},
			statements.Change(prompt, "Write Markdown and nothing around it", "Write Markdown"),
			statements.Change(prompt, "none of the tags above, not even <` + plaintext.PreviousHistoryTag.String() + `>.", "none of the tags above.` + `")),

		// Who is asked.
		statements.That("three models are asked one after the other, and the agent's own last", func(t *testing.T) {
			all := []string{"gemini-3.1-flash-lite", "gpt-5.4-nano", "claude-haiku-4.5", "own"}
			for failures := range all {
				steps := make([]models.Reply, 0, len(all))
				for range failures {
					steps = append(steps, down)
				}
				d := over(t)
				require.Equal(t, all[:failures+1], cascade(d, "own", append(steps, good)...))
				require.Len(t, compacttest.Compactions(d.Session), 1)
			}
		},
			statements.Change(policyFile, `"gemini-3.1-flash-lite", "gpt-5.4-nano", "claude-haiku-4.5"`, `"gpt-5.4-nano", "gemini-3.1-flash-lite", "claude-haiku-4.5"`),
			statements.Change(policyFile, `"gemini-3.1-flash-lite", "gpt-5.4-nano", "claude-haiku-4.5"`, `"gemini-3.1-flash-lite", "gpt-5.4-nano"`),
			statements.Change(policyFile, `"gemini-3.1-flash-lite", "gpt-5.4-nano", "claude-haiku-4.5"`, `"gemini-3.1-flash-lite", "claude-haiku-4.5", "gpt-5.4-nano"`),
			statements.Change(engine+"internal/plan/models.go", "\tadd(agent.Name, agent)\n", "\tif len(list) == 0 {\n\t\tadd(agent.Name, agent)\n\t}\n")),
		statements.That("the agent's own model is not asked twice if it is one of them", func(t *testing.T) {
			d := over(t)
			require.Equal(t, []string{"gemini-3.1-flash-lite", "gpt-5.4-nano", "claude-haiku-4.5"}, cascade(d, "gpt-5.4-nano", down, down, down, good))
			require.Len(t, d.Requests(), 3)
		}, statements.Change(engine+"internal/plan/models.go", `return o.Name == name`, "return false")),
		statements.That("each model has 30 seconds", func(t *testing.T) {
			d := over(t)
			require.Len(t, cascade(d, "own", hangs, hangs, hangs, compacttest.After(30*time.Second-1, good)), 4)
			require.Equal(t, "started refused/briefing refused/briefing refused/briefing ready/briefing done/briefing", compacttest.Kinds(*d.Heard))
			for n := 1; n <= 3; n++ {
				require.Equal(t, time.Duration(n)*30*time.Second, (*d.Heard)[n].Duration)
			}
		},
			statements.Change(policyFile, "30 * time.Second", "29 * time.Second"),
			statements.Change(policyFile, "30 * time.Second", "31 * time.Second")),
		statements.That("each model is asked at a temperature of 0.1, for at most 20,000 tokens", func(t *testing.T) {
			d := fixture(t, 100_000, marked(1, 14, 5000)...)
			require.Len(t, cascade(d, "own", down, down, down, good), 4)
			require.Len(t, d.Requests(), 4)
			for _, r := range d.Requests() {
				require.Equal(t, new(0.1), r.Temperature)
				require.Equal(t, 20_000, r.MaxTokens)
			}
		},
			statements.Change(policyFile, "Temperature: new(0.1)", "Temperature: new(0.0)"),
			statements.Change(policyFile, "Temperature: new(0.1)", "Temperature: new(0.2)"),
			statements.Change(policyFile, "MaxTokens: 20_000", "MaxTokens: 19_000"),
			statements.Change(policyFile, "MaxTokens: 20_000", "MaxTokens: 21_000")),
		statements.That("an answer of fewer than 30 characters is refused, and the next model asked", func(t *testing.T) {
			names := cascade(over(t), "own", models.Say(strings.Repeat("é", 29)), models.Say(strings.Repeat("é", 30)))
			require.Equal(t, []string{"gemini-3.1-flash-lite", "gpt-5.4-nano"}, names)
		},
			statements.Change(policyFile, "MinChars: 30", "MinChars: 29"),
			statements.Change(policyFile, "MinChars: 30", "MinChars: 31")),

		// What happens on failure.
		statements.That("if all fail a log entry and an event say so, and the agent goes on with its history as it is", func(t *testing.T) {
			d := over(t)
			log := warned(d)
			d.Always(down)
			require.Equal(t, compacttest.Numbers(1, 14), compacttest.Outputs(compacttest.Text(d.Settled())))
			require.Equal(t, "started refused/briefing failed", compacttest.Kinds(*d.Heard))
			require.ErrorContains(t, (*d.Heard)[2].Err, "the model is down")
			require.Contains(t, log.String(), `level=WARN msg="compaction failed"`)
			require.Empty(t, compacttest.Compactions(d.Session))
		},
			statements.Change(engine+"internal/place/place.go", "\tkind := event.Failed\n", "\tkind := event.Discarded\n"),
			statements.Change(engine+"event/event.go", "case Failed, Dropped,", "case Dropped,")),
		statements.That("it has no answer to a request that the provider refuses as too large: the oldest history is left out, and nothing is compacted", func(t *testing.T) {
			d := fixture(t, 10_000, marked(1, 9, 500)...)
			sent := d.Messages()
			refused := &chat.ContextLimitError{Err: errors.New("too large")}
			r := d.Recovered(refused, "")
			compacttest.Equal(t, sent, r.Messages)
			r = d.Recovered(refused, "")
			require.Equal(t, compacttest.Numbers(6, 9), compacttest.Outputs(compacttest.Text(r.Messages)))
			require.Equal(t, "let go", compacttest.Kinds(*d.Heard))
			require.Empty(t, d.Requests())
		},
			statements.Change(policyFile, "Background: true}}", "Background: true}, {On: policy.OnContextLimit}}"),
			statements.Change(engine+"internal/plan/resort.go", "if lowered || p.Policy.Overflow.LastResort == policy.ResortDrop {", "if p.Policy.Overflow.LastResort == policy.ResortDrop {")),
	})
}
