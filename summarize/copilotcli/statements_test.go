package copilotcli_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/checkpoints"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// account is the answer of most models: a summary with its title.
const account = "# The build\n\nIt compiles now."

var (
	good = models.Say(account)
	down = models.Fail(errors.New("the model is down"))
	slow = compacttest.After(answerTime, good)
)

// answerTime is how long a slow model takes for an answer.
const answerTime = 10 * time.Second

// uncancellable is a model that answers after answerTime even if its context ends before.
func uncancellable(ctx context.Context, r chat.Request) (chat.Response, error) {
	time.Sleep(answerTime)
	return good(context.WithoutCancel(ctx), r)
}

// window of most rows, in tokens. It is the budget too.
const window = 100_000

// fixtureOn returns a fixture with a session under the policy.
func fixtureOn(t *testing.T, s *history.Session, messages ...chat.Message) compacttest.Fixture {
	d := compacttest.Of(t, s, messages...)
	d.Policy, d.Target.Budget, d.Target.ContextWindow = copilotcli.Policy(), window, window
	d.Always(good)
	return d
}

// fixture returns a fixture with a session in memory under the policy.
func fixture(t *testing.T, messages ...chat.Message) compacttest.Fixture {
	return fixtureOn(t, numbered.Session(), messages...)
}

// filled returns a fixture whose prompt takes that many tokens.
func filled(t *testing.T, tokens int) compacttest.Fixture {
	d := fixture(t)
	fill(d, tokens)
	return d
}

// fill appends turns and a last user message, so that the prompt takes that many tokens.
func fill(d compacttest.Fixture, tokens int) {
	d.T.Helper()
	system := chat.SystemMessage("You are a coding agent.")
	left := tokens - compacttest.Count(d.Target.Tokenizer, append(compacttest.Said(d.Session), system))
	for ; left > 3000; left -= 2000 {
		d.Say(user(1000), chat.AssistantMessage(compacttest.Words(997)))
	}
	d.Say(user(left))
}

// user returns a user message that takes that many tokens.
func user(tokens int) chat.Message { return chat.UserMessage(compacttest.Words(tokens - 3)) }

// begun returns a fixture of 80,000 tokens whose summary is being made in the background, by a slow model.
func begun(t *testing.T) compacttest.Fixture {
	t.Helper()
	d := filled(t, 80_000)
	d.Always(slow)
	d.Messages()
	synctest.Wait()
	require.Equal(t, policy.PendingRunning, d.PendingNow())
	return d
}

// demanded renders the prompt and compacts the session on demand.
func demanded(d compacttest.Fixture) summarize.CompactionResult {
	d.T.Helper()
	d.Messages()
	got, err := d.Compact(d.T.Context(), "")
	require.NoError(d.T, err)
	return got
}

// recovered renders the prompt, which the provider refuses twice with an error, and returns the next prompt.
func recovered(d compacttest.Fixture, refused error) []chat.Message {
	d.T.Helper()
	d.Messages()
	again(d, refused)
	return again(d, refused)
}

// again returns the prompt to send after a refusal.
func again(d compacttest.Fixture, refused error) []chat.Message {
	d.T.Helper()
	r, err := d.Recover(d.T.Context(), compacttest.Prompt(d.Session), refused, "")
	require.NoError(d.T, err)
	return r.Messages
}

// switched switches to another model with a window of that many tokens.
func switched(d compacttest.Fixture, tokens int) (sent []chat.Message, other *models.Script) {
	d.T.Helper()
	target := d.Target
	other = &models.Script{}
	target.Model, target.Name, target.Budget, target.ContextWindow = other, "another", tokens, tokens
	r, err := d.SwitchModel(d.T.Context(), compacttest.Prompt(d.Session), target)
	require.NoError(d.T, err)
	require.LessOrEqual(d.T, r.Tokens, tokens)
	return r.Messages, other
}

// truncated returns the prompt of a session that does not fit a window of that many tokens, and that no model
// summarises.
func truncated(t *testing.T, window int, messages ...chat.Message) ([]chat.Message, compacttest.Fixture) {
	t.Helper()
	d := fixture(t, messages...)
	d.Target.Budget, d.Target.ContextWindow = window, window
	d.Always(down)
	got := d.Messages()
	heard := *d.Heard
	require.Equal(t, event.Truncated, heard[len(heard)-1].Kind)
	return got, d
}

// shows reports whether a prompt shows the account.
func shows(messages []chat.Message) bool {
	return strings.Contains(compacttest.Text(messages), "It compiles now.")
}

// begins requires that the text of messages begins with a part.
func begins(t *testing.T, messages []chat.Message, part string) {
	t.Helper()
	text := compacttest.Text(messages)
	require.Equal(t, part, text[:min(len(text), len(part))])
}

// recorded returns the events of some kinds from now on.
func recorded(d compacttest.Fixture, kinds ...event.Kind) *[]event.Event {
	list := new([]event.Event)
	d.Observers = append(d.Observers, summarize.OnEvent(func(e event.Event) {
		if slices.Contains(kinds, e.Kind) {
			*list = append(*list, e)
		}
	}))
	return list
}

// only returns the only event of a kind.
func only(d compacttest.Fixture, kind event.Kind) event.Event {
	d.T.Helper()
	var list []event.Event
	for _, e := range *d.Heard {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	require.Len(d.T, list, 1, "of %s in %s", kind, compacttest.Kinds(*d.Heard))
	return list[0]
}

// waits reports how long a call takes.
func waits(call func()) time.Duration {
	start := time.Now()
	call()
	return time.Since(start)
}

const (
	policyFile  = "summarize/copilotcli/policy.go"
	prompt      = "summarize/copilotcli/prompt.go"
	replacement = "summarize/copilotcli/replacement.go"
	truncator   = "history/truncate.go"
	engine      = "summarize/"
)

// demands states that a request asks for something, in words from the file of the prompt. Leaving out any of them is a
// mutation.
func demands(says string, words ...string) statements.Statement {
	s := statements.That(says, func(t *testing.T) {
		d := filled(t, 80_000)
		d.Settled()
		for _, w := range words {
			compacttest.Has(t, compacttest.Text(d.Request().Messages), w)
		}
	})
	for _, w := range words {
		s.Mutants = append(s.Mutants, statements.Change(prompt, w, "…"))
	}
	return s
}

// holds states that the replacement has something that the application provides.
func holds(says, part string, mutants ...statements.Mutant) statements.Statement {
	return statements.That(says, func(t *testing.T) {
		d := fixture(t, chat.UserMessage("Why does the build fail?"), chat.AssistantMessage("I look."))
		fill(d, 80_000)
		d.Hooks.Workspace = func(context.Context) (policy.Workspace, error) {
			return policy.Workspace{
				Plan: "Mend main.go.", Todo: "- run the tests", Agent: "It reviews.",
				Skills: []policy.InvokedSkill{
					{Name: "release", Path: "skills/release.md", Instructions: "Tag it."}, {Name: "review", Path: "skills/review.md", Instructions: "Read it."},
				},
			}, nil
		}
		compacttest.Has(t, d.Settled()[1].Text(), part)
	}, mutants...)
}

// copying returns a fixture of 80,000 tokens or more with user messages of these lengths in characters, multiples of
// four, which the next compaction covers.
func copying(t *testing.T, characters ...int) compacttest.Fixture {
	d := fixture(t)
	for _, n := range characters {
		d.Say(chat.UserMessage(compacttest.Words(n / 4)))
	}
	d.Say(chat.AssistantMessage("Yes."), chat.AssistantMessage(compacttest.Words(80_000)), chat.UserMessage("Go on."))
	return d
}

// copiesIn returns the copies of user messages in a replacement: their lengths in characters, with + if the end is a
// mark, and in parentheses how many messages are left out.
func copiesIn(text string) (list []string) {
	_, text, _ = strings.Cut(text, "<user-messages>\n")
	text, _, _ = strings.Cut(text, "\n</user-messages>")
	for line := range strings.SplitSeq(text, "\n") {
		words, left := strings.CutSuffix(line, " messages of the user omitted ...")
		_, cut := strings.CutSuffix(line, "...<truncated>...")
		switch {
		case left:
			list = append(list, "("+strings.TrimPrefix(words, "... ")+")")
		case cut:
			list = append(list, fmt.Sprintf("%d+", len(line)))
		case !strings.HasPrefix(line, "<"):
			list = append(list, fmt.Sprint(len(line)))
		}
	}
	return list
}

// userCopies returns [copiesIn] the replacement of user messages of these lengths.
func userCopies(t *testing.T, characters ...int) []string {
	t.Helper()
	return copiesIn(copying(t, characters...).Settled()[1].Text())
}

func TestStatements(t *testing.T) {
	statements.Run(t, []statements.Statement{
		// When.
		statements.That("at 80% of the window a summary is begun in the background, and the request is sent as it is", func(t *testing.T) {
			for tokens, want := range map[int]policy.Pending{79_999: policy.PendingNone, 80_000: policy.PendingRunning} {
				d := filled(t, tokens)
				d.Always(slow)
				require.Zero(t, waits(func() { compacttest.Equal(t, compacttest.Said(d.Session), d.Messages()[1:]) }))
				synctest.Wait()
				require.Equal(t, want, d.PendingNow(), "%d tokens", tokens)
			}
		},
			statements.Change(policyFile, "Ratio: 0.80", "Ratio: 0.81"),
			statements.Change(policyFile, "Ratio: 0.80", "Ratio: 0.79"),
			statements.Change(policyFile, "{Ratio: 0.80,", "{Ratio: 0.80, Above: true,"),
			statements.Change(policyFile, "Background: true, ", "")),
		statements.That("the definitions of tools count too", func(t *testing.T) {
			for tokens, want := range map[int]bool{69_999: false, 70_000: true} {
				d := filled(t, tokens)
				d.Target.Budget, d.Target.Tools = 90_000, []chat.Tool{{Name: "read", Description: compacttest.Words(9999)}}
				require.Equal(t, 10_000, d.Target.Tokenizer.CountTools(d.Target.Tools))
				require.Equal(t, want, shows(d.Settled()), "%d tokens", tokens)
			}
		}, statements.Change(engine+"internal/plan/measure.go", "float64(clamp.Sum(s.Count, s.Tools))", "float64(s.Count)")),
		statements.That("if the limit of the prompt is below the window, the limit counts", func(t *testing.T) {
			for tokens, want := range map[int]bool{39_999: false, 40_000: true} {
				d := filled(t, tokens)
				d.Policy.Counting.Threshold = 50_000
				require.Equal(t, want, shows(d.Settled()), "%d tokens", tokens)
				d = filled(t, tokens)
				d.Target.Budget, d.Target.ContextWindow = 50_000, 0
				require.Equal(t, want, shows(d.Settled()), "%d tokens", tokens)
			}
		},
			statements.Change(policyFile, "LoweredBase: true", "LoweredBase: false"),
			statements.Change(engine+"internal/plan/size.go", "return clamp.Sum(t.Budget, ToolTokens(t))", "return clamp.Sum(t.Budget/2, ToolTokens(t))")),
		statements.That("the base is the limit of the prompt, if the window has room for an answer besides", func(t *testing.T) {
			w := compacttest.Windows(t)[0]
			most := w.Budget + compacttest.WindowTools
			for tokens, want := range map[int]bool{(8*most+9)/10 - 1: false, (8*most + 9) / 10: true} {
				d := fixture(t)
				d.Target.Budget, d.Target.ContextWindow = w.Budget, w.Tokens
				d.Target.Tools = []chat.Tool{{Name: "read", Description: compacttest.Words(compacttest.WindowTools - 1)}}
				fill(d, tokens-compacttest.WindowTools)
				require.Equal(t, want, shows(d.Settled()), "%d of %d tokens", tokens, most)
			}
		},
			statements.Change(engine+"internal/plan/size.go", "min(base, clamp.Sum(t.Budget, s.Tools))", "base"),
			statements.Change(engine+"internal/plan/size.go", "min(base, clamp.Sum(t.Budget, s.Tools))", "min(base, t.Budget)")),
		statements.That("a model whose window is unknown has 128,000 tokens", func(t *testing.T) {
			unknown, err := sizing.Window{AllowUnknown: true}.Budget(0)
			require.NoError(t, err)
			for tokens, want := range map[int]bool{102_399: false, 102_400: true} {
				d := fixture(t)
				d.Target.Budget, d.Target.ContextWindow = unknown, unknown
				fill(d, tokens)
				require.Equal(t, want, shows(d.Settled()), "%d tokens", tokens)
			}
		},
			statements.Change("sizing/window.go", "DefaultTokens = 128_000", "DefaultTokens = 127_000"),
			statements.Change("sizing/window.go", "DefaultTokens = 128_000", "DefaultTokens = 129_000")),
		statements.That("nothing is begun with fewer than 4 messages", func(t *testing.T) {
			list := []chat.Message{user(40_000), chat.AssistantMessage("Yes."), user(45_000)}
			require.False(t, shows(fixture(t, list...).Settled()))
			require.True(t, shows(fixture(t, append(list, chat.UserMessage("Well?"))...).Settled()))
		},
			statements.Change(policyFile, "Ratio: 0.80, Messages: 4", "Ratio: 0.80, Messages: 3"),
			statements.Change(policyFile, "Ratio: 0.80, Messages: 4", "Ratio: 0.80, Messages: 5")),
		statements.That("the number of messages that it needs can be set", func(t *testing.T) {
			d := fixture(t, user(30_000), user(30_000), user(30_000))
			d.Policy.Trigger[0].Messages = 3
			require.True(t, shows(d.Settled()))
		}, statements.Change(engine+"policy/trigger.go", "if m.Messages < c.Messages {", "if m.Messages < max(4, c.Messages) {")),
		statements.That("a summary that is ready is put in place by the next request, and nothing changes before", func(t *testing.T) {
			d := filled(t, 80_000)
			before := d.Messages()
			require.NoError(t, d.Wait(t.Context()))
			require.Equal(t, policy.PendingReady, d.PendingNow())
			require.Empty(t, compacttest.Compactions(d.Session))
			after := d.Messages()
			require.True(t, shows(after))
			require.Less(t, len(after), len(before))
			require.Len(t, compacttest.Compactions(d.Session), 1)
			require.Len(t, d.Requests(), 1)
		},
			statements.Change(engine+"policy/decide.go", `do(ActPlace, "a summary is ready")`, `do(ActNothing, "a summary is ready")`),
			statements.Change(engine+"background.go", `if err := c.inner.work.finish(ctx, t); err != nil {`, `if _, err := c.placer().Place(ctx, t.written, nil); err != nil {`)),
		statements.That("from 95% of the window on, or if the prompt does not fit, a request waits for the summary that is being made", func(t *testing.T) {
			for tokens, want := range map[int]time.Duration{94_999: 0, 95_000: answerTime, 105_000: answerTime} {
				d := begun(t)
				d.Say(user(tokens - 80_000))
				require.Equal(t, want, waits(func() { require.Equal(t, want > 0, shows(d.Messages())) }), "%d tokens", tokens)
				require.Len(t, d.Requests(), 1)
			}
		},
			statements.Change(policyFile, "Wait: 0.95", "Wait: 0.96"),
			statements.Change(policyFile, "Wait: 0.95", "Wait: 0.94"),
			statements.Change(engine+"policy/decide.go", "m.Share() >= p.Background.Wait", "m.Share() > p.Background.Wait")),
		statements.That("below 95% requests are sent as they are, and no second summary is begun", func(t *testing.T) {
			d := begun(t)
			for range 3 {
				d.Say(compacttest.Round(1, 3000)...)
				compacttest.Equal(t, compacttest.Said(d.Session), d.Messages()[1:])
			}
			synctest.Wait()
			require.Len(t, d.Requests(), 1)
			require.Equal(t, "started", compacttest.Kinds(*d.Heard))
		},
			statements.Change(policyFile, "Wait: 0.95", "Wait: 0.85"),
			statements.Change(engine+"background.go", "\tcase t != nil:\n\t\treturn policy.PendingRunning", "\tcase t != nil && ready:\n\t\treturn policy.PendingRunning")),
		statements.That("at 95% too a summary is begun only if none is being made", func(t *testing.T) {
			d := filled(t, 96_000)
			d.Always(slow)
			require.Zero(t, waits(func() { compacttest.Equal(t, compacttest.Said(d.Session), d.Messages()[1:]) }))
			synctest.Wait()
			require.Equal(t, "started", compacttest.Kinds(*d.Heard))
		}, statements.Change(engine+"policy/decide.go", "case m.Pending != PendingNone && p.Background.Wait > 0 &&", "case p.Background.Wait > 0 &&")),
		statements.That("both thresholds can be set by environment variables", func(t *testing.T) {
			env := map[string]string{"COPILOT_BACKGROUND_COMPACTION_THRESHOLD": "0.5", "COPILOT_BUFFER_EXHAUSTION_THRESHOLD": "0.6"}
			p, err := copilotcli.Policy().WithEnv(func(name string) (string, bool) { value, ok := env[name]; return value, ok })
			require.NoError(t, err)
			d := filled(t, 50_000)
			d.Policy = p
			d.Always(slow)
			d.Messages()
			d.Say(user(9999))
			require.Zero(t, waits(func() { d.Messages() }))
			d.Say(chat.UserMessage("Go on."))
			require.Equal(t, answerTime, waits(func() { require.True(t, shows(d.Messages())) }))
		},
			statements.Change(policyFile, "COPILOT_BACKGROUND_COMPACTION_THRESHOLD", "COPILOT_COMPACTION_THRESHOLD"),
			statements.Change(policyFile, "COPILOT_BUFFER_EXHAUSTION_THRESHOLD", "COPILOT_BUFFER_THRESHOLD")),
		statements.That("if the provider refuses a request as too large and names a limit, or refuses it again, the session is compacted before it is sent again", func(t *testing.T) {
			for _, refused := range []error{
				compacttest.Status(413),
				errors.New("this model's maximum context length is exceeded"),
				errors.New("your input exceeds the context window of this model"),
				errors.New("this model's maximum context length is 50000 tokens"),
			} {
				d := filled(t, 45_000)
				sent := d.Messages()
				next := again(d, refused)
				if size, _ := summarize.ContextLimit(refused); size.Limit == 0 { // it may be a mistake
					compacttest.Equal(t, sent, next)
					next = again(d, refused)
				}
				require.True(t, shows(next), "%v", refused)
				require.Equal(t, "started done/conversation-compaction", compacttest.Kinds(*d.Heard))
				require.True(t, only(d, event.Started).WillRetry)
			}
		},
			statements.Change(policyFile, "\t\t\t{On: policy.OnContextLimit},\n", ""),
			statements.Change("internal/provider/refusal/refusal.go", "case status == http.StatusRequestEntityTooLarge:", "case status == 0:"),
			statements.Change("internal/provider/refusal/refusal.go", "	`\\bmaximum context (?:length|limit|window)\\b`,\n", ""),
			statements.Change("internal/provider/refusal/refusal.go", "	`\\bexceed(?:s|ed)?\\b.{0,50}\\bcontext (?:window|length|size|limit)\\b`,\n", "")),
		statements.That("no other error causes a compaction", func(t *testing.T) {
			for _, refused := range []error{compacttest.Status(500), errors.New("rate limit exceeded: 128000 tokens per minute")} {
				d := filled(t, 60_000)
				d.Messages()
				d.Say(chat.AssistantMessage("It broke off."))
				for range 2 {
					_, err := d.Recover(t.Context(), compacttest.Prompt(d.Session), refused, d.Session.Leaf())
					require.Equal(t, refused, err)
				}
				d.Say(chat.UserMessage("Go on."))
				require.Contains(t, compacttest.Text(d.Messages()), "It broke off.", "nothing is withdrawn")
				require.Empty(t, d.Requests())
			}
		}, statements.Change(engine+"recover.go", "if large.Kind == refusal.None {", "if false {")),
		statements.That("the second refusal waits for a summary that is being made", func(t *testing.T) {
			d := begun(t)
			require.Equal(t, answerTime, waits(func() { require.True(t, shows(recovered(d, compacttest.Status(413)))) }))
			require.Len(t, d.Requests(), 1)
		},
			statements.Change(policyFile, "Background: true, ", ""),
			statements.Change(engine+"recover.go", "result, err = w.walk(ctx, policy.OnContextLimit)", "result, err = w.resized(ctx)")),
		statements.That("before a model with a smaller window answers, the session is compacted by the model that answered so far", func(t *testing.T) {
			for tokens, want := range map[int]bool{50_000: false, 50_001: true} {
				d := filled(t, tokens)
				d.Messages()
				sent, other := switched(d, 50_000)
				require.Equal(t, want, shows(sent), "%d tokens", tokens)
				require.Equal(t, want, len(d.Requests()) == 1)
				require.Empty(t, other.Requests())
				require.Equal(t, "another", d.Current().Name)
				change, _ := d.Latest(entry.TypeModelChange)
				require.Equal(t, entry.ModelChange{Model: "another"}, change.Body)
			}
		},
			statements.Change(policyFile, "Ratio: 1, Above: true", "Ratio: 1"),
			statements.Change(policyFile, "Ratio: 1, Above: true", "Ratio: 0.99, Above: true"),
			statements.Change(policyFile, "Ratio: 1, Above: true", "Ratio: 1, Above: true, Messages: 1000"),
			statements.Change(engine+"demand.go", "w.summarizer, w.target = &was, target", "_, w.target = &was, target")),
		statements.That("an application that is short of memory can have the session compacted from 2 messages on, however few tokens are used", func(t *testing.T) {
			d := fixture(t, user(1000))
			d.Messages()
			_, err := d.MemoryPressure(t.Context())
			require.ErrorIs(t, err, summarize.ErrNothingToCompact)
			require.ErrorContains(t, err, "1 messages, fewer than 2")
			d.Say(chat.UserMessage("Go on."))
			d.Messages()
			got, err := d.MemoryPressure(t.Context())
			require.NoError(t, err)
			require.True(t, shows(got.Result.Messages))
		},
			statements.Change(policyFile, "OnMemoryPressure, Messages: 2", "OnMemoryPressure, Messages: 1"),
			statements.Change(policyFile, "OnMemoryPressure, Messages: 2", "OnMemoryPressure, Messages: 3"),
			statements.Change(policyFile, "			{On: policy.OnMemoryPressure, Messages: 2},\n", ""),
			statements.Change(engine+"internal/plan/measure.go", "if s.Occasion == policy.OnDemand || s.Occasion == policy.OnMemoryPressure {", "if s.Occasion == policy.OnDemand {")),
		statements.That("before a prompt was rendered memory pressure compacts the history by itself", func(t *testing.T) {
			_, err := filled(t, 60_000).MemoryPressure(t.Context())
			require.NoError(t, err)
		}, statements.Change(engine+"demand.go", "if w.prompt == nil {", "if false {")),

		// On demand.
		statements.That("on demand the session is compacted however few tokens are used, and the result says how many messages and tokens it removed", func(t *testing.T) {
			d := filled(t, 30_000)
			before := d.Messages()
			got := demanded(d)
			require.True(t, shows(got.Result.Messages))
			require.Equal(t, len(before)-len(got.Result.Messages), got.MessagesRemoved)
			require.Equal(t, 30_000-got.Result.Tokens, got.TokensRemoved)
			require.Positive(t, got.MessagesRemoved)
			require.Greater(t, got.TokensRemoved, 20_000)
		},
			statements.Change(engine+"demand.go", "TokensRemoved: before.PromptTokens() - after.Result.Tokens", "TokensRemoved: before.PromptTokens()"),
			statements.Change(engine+"demand.go", "MessagesRemoved: len(before.PromptMessages()) - len(after.Result.Messages)", "MessagesRemoved: len(before.PromptMessages())"),
			statements.Change(policyFile, "OnDemand, Messages: 2", "OnDemand, Messages: 2, Ratio: 0.5")),
		statements.That("a second demand is refused while the first compacts", func(t *testing.T) {
			d := filled(t, 30_000)
			var second error
			d.Answers(func(ctx context.Context, r chat.Request) (chat.Response, error) {
				_, second = d.Compact(ctx, "")
				return good(ctx, r)
			})
			demanded(d)
			require.ErrorIs(t, second, summarize.ErrBusy)
			require.Len(t, d.Requests(), 1)
		}, statements.Change(engine+"demand.go", "		return nil, ctx, ErrBusy\n", "		return nil, ctx, ErrNothingToCompact\n")),
		statements.That("a demand needs 2 messages", func(t *testing.T) {
			d := fixture(t, user(30_000))
			d.Messages()
			_, err := d.Compact(t.Context(), "")
			require.ErrorIs(t, err, summarize.ErrNothingToCompact)
			require.ErrorContains(t, err, "1 messages, fewer than 2")
			d.Say(chat.UserMessage("Go on."))
			require.True(t, shows(demanded(d).Result.Messages))
		},
			statements.Change(policyFile, "OnDemand, Messages: 2", "OnDemand, Messages: 1"),
			statements.Change(policyFile, "OnDemand, Messages: 2", "OnDemand, Messages: 3")),
		statements.That("a demand needs a model", func(t *testing.T) {
			d := filled(t, 30_000)
			d.Messages()
			d.Target.Model = nil
			_, err := d.Compact(t.Context(), "")
			require.ErrorContains(t, err, "Target.Model is not set")
		}, statements.Change(engine+"target.go", "case t.Model == nil:", "case false:")),
		statements.That("a demand needs no prompt that was rendered before", func(t *testing.T) {
			d := filled(t, 30_000)
			d.Compacted()
		}, statements.Change(engine+"demand.go", "if w.prompt == nil {", "if false {")),
		statements.That("a demand can be aborted, and nothing changes then", func(t *testing.T) {
			d := filled(t, 30_000)
			d.Always(uncancellable)
			before := d.Messages()
			time.AfterFunc(time.Second, d.Abort)
			_, err := d.Compact(t.Context(), "")
			require.ErrorIs(t, err, summarize.ErrAborted)
			compacttest.Equal(t, before, d.Messages())
			require.Equal(t, "started cancelled", compacttest.Kinds(*d.Heard))
			time.Sleep(2 * answerTime)
			synctest.Wait()
			require.Empty(t, compacttest.Compactions(d.Session))
		},
			statements.Change(engine+"compactor.go", "	c.inner.work.abort(ErrAborted)\n", ""),
			statements.Change(engine+"internal/place/place.go", "end.ErrorType, kind = entry.PlanDropped, why.Error(), failure.Type(ctx.Err()), event.Cancelled", "end.ErrorType, kind = entry.PlanDropped, why.Error(), failure.Type(why), event.Failed")),
		statements.That("an event tells of the start, then hooks are called, then the model is asked, and at last an event tells of the end", func(t *testing.T) {
			d := filled(t, 30_000)
			var order []string
			d.Observers = append(d.Observers, summarize.OnEvent(func(e event.Event) {
				if e.Kind == event.Started || e.Kind == event.Done {
					order = append(order, string(e.Kind)+" "+string(e.Reason))
				}
			}))
			d.Hooks.BeforeCompact = func(_ context.Context, reason policy.Occasion, _ policy.Material) (summarize.Intervention, error) {
				order = append(order, "hook "+string(reason))
				return summarize.Intervention{}, nil
			}
			d.Answers(func(ctx context.Context, r chat.Request) (chat.Response, error) {
				order = append(order, "model")
				return good(ctx, r)
			})
			demanded(d)
			require.Equal(t, []string{"started demand", "hook demand", "model", "done demand"}, order)
		},
			statements.Change(engine+"executor.go", "got, err := c.runBefore(ctx, j)", "got, err := Intervention{}, error(nil)"),
			statements.Change(engine+"executor.go", "\t\tKind: event.Started, Plan: id,", "\t\tKind: event.Done, Plan: id,"),
			statements.Change(engine+"policy/trigger.go", `OnDemand Occasion = "demand"`, `OnDemand Occasion = "asked"`)),
		statements.That("hooks are called before every compaction, and may cancel it", func(t *testing.T) {
			for reason, compacts := range map[policy.Occasion]func(compacttest.Fixture){
				policy.OnRender:         func(d compacttest.Fixture) { fill(d, 80_000); d.Settled() },
				policy.OnBudgetExceeded: func(d compacttest.Fixture) { fill(d, 101_000); d.Messages() },
				policy.OnContextLimit:   func(d compacttest.Fixture) { fill(d, 60_000); recovered(d, compacttest.Status(413)) },
				policy.OnModelSwitch:    func(d compacttest.Fixture) { fill(d, 60_000); switched(d, 50_000) },
				policy.OnMemoryPressure: func(d compacttest.Fixture) {
					fill(d, 60_000)
					d.Messages()
					_, err := d.MemoryPressure(t.Context())
					require.ErrorIs(t, err, summarize.ErrVetoed)
				},
				policy.OnDemand: func(d compacttest.Fixture) {
					fill(d, 60_000)
					d.Messages()
					_, err := d.Compact(t.Context(), "")
					require.ErrorIs(t, err, summarize.ErrVetoed)
				},
			} {
				d := fixture(t)
				var heard []policy.Occasion
				d.Hooks.BeforeCompact = func(_ context.Context, reason policy.Occasion, _ policy.Material) (summarize.Intervention, error) {
					heard = append(heard, reason)
					return summarize.Intervention{Cancel: true}, nil
				}
				compacts(d)
				require.Equal(t, []policy.Occasion{reason}, heard)
				require.Empty(t, d.Requests())
				require.Empty(t, compacttest.Compactions(d.Session))
			}
		},
			statements.Change(engine+"hooks.go", "if c.Hooks.BeforeCompact != nil {", "if c.Hooks.BeforeCompact != nil && !j.Plan.Background {"),
			statements.Change(engine+"hooks.go", "if c.Hooks.BeforeCompact != nil {", "if c.Hooks.BeforeCompact != nil && j.Plan.Background {"),
			statements.Change(engine+"hooks.go", "	if got.Cancel {", "	if false {")),

		// What a model is asked.
		statements.That("the agent's own model is shown the history as messages, with the request for a summary at their end", func(t *testing.T) {
			d := fixture(t)
			d.Say(compacttest.Rounds(1, 5, 1000)...)
			fill(d, 80_000)
			d.Settled()
			said, asked := compacttest.Said(d.Session), d.Request().Messages
			compacttest.Equal(t, said[:len(said)-1], asked[2:len(asked)-1]) // after the system message, and a user message before the first round
			require.Equal(t, chat.RoleUser, asked[len(asked)-1].Role)
			compacttest.Has(t, asked[len(asked)-1].Text(), "write the account from which the session goes on")
		},
			statements.Change(prompt, "textblock.Messages(said),", "textblock.Messages(said[1:]),"),
			statements.Change(prompt, ", textblock.Line(ask)}", "}")),
		statements.That("the agent's system messages come before the history", func(t *testing.T) {
			d := filled(t, 80_000)
			d.Settled()
			require.Equal(t, chat.SystemMessage("You are a coding agent."), d.Request().Messages[0])
		}, statements.Change(prompt, "textblock.Messages(m.System),", "textblock.Messages(nil),")),
		statements.That("system messages are not summarised", func(t *testing.T) {
			m := compacttest.SecondMaterial()
			m.Covered = append([]chat.Message{chat.SystemMessage("Be careful.")}, m.Covered...)
			require.NotContains(t, compacttest.Text(compacttest.MustRenderRequest(t, copilotcli.Policy().Ask.Prompts[0].Request(m))), "Be careful.")
		}, statements.Change(prompt, "return m.Role == chat.RoleSystem", "return false")),
		statements.That("the request is marked as conversation compaction, and so are the events about it", func(t *testing.T) {
			d := filled(t, 80_000)
			d.Settled()
			asked := d.Request().Messages
			require.Regexp(t, "(?s)^<conversation-compaction>\n.*\n</conversation-compaction>$", asked[len(asked)-1].Text())
			require.Equal(t, "conversation-compaction", string(only(d, event.Done).Mode))
			require.Equal(t, "conversation-compaction", compacttest.Compactions(d.Session)[0].Mode)
		},
			statements.Change(prompt, `"conversation-compaction"`, `"compaction"`),
			statements.Change(prompt, `elements.Nodes{textblock.Line(plaintext.CompactionTag.Open()), `, `elements.Nodes{`),
			statements.Change(prompt, `textblock.Line(plaintext.CompactionTag.Close()))`, `nil)`)),
		statements.That("the model may not call the agent's tools", func(t *testing.T) {
			d := filled(t, 80_000)
			d.Target.Tools = []chat.Tool{{Name: "read"}}
			d.Settled()
			require.Equal(t, d.Target.Tools, d.Request().Tools)
			require.Equal(t, chat.ToolChoiceNone, d.Request().ToolChoice)
		},
			statements.Change(engine+"internal/write/write.go", "req.ToolChoice = chat.ToolChoiceNone", "req.ToolChoice = chat.ToolChoiceAuto"),
			statements.Change(prompt, ", Tools: true}", "}")),
		demands("a detailed summary is asked for, with a title and a heading for each matter",
			`a heading of one line, "# " and a title`, "## Goal: what the user is after", "## Course: what was done, in order", "The newest steps in most detail.",
			"## State: what works now", "## Knowledge: decisions with their reasons", "## Files: each file that matters", "## Next: what to do next"),

		// What is put in place.
		statements.That("the summary replaces the messages before the cut", func(t *testing.T) {
			d := filled(t, 80_000)
			said := compacttest.Said(d.Session)
			got := d.Settled()
			require.Len(t, got, 3)
			compacttest.Has(t, got[1].Text(), "<conversation-summary>\n# The build\n\nIt compiles now.\n</conversation-summary>")
			compacttest.Equal(t, said[len(said)-1], got[2])
		},
			statements.Change(replacement, `prompts.SummaryBlock(m, plaintext.SummaryTag.String()),`, `prompts.SummaryBlock(m, "summary"),`),
			statements.Change("history/view_snapshot.go", "compacted: c.Messages", "compacted: nil")),
		holds("the user's own messages are copied", "<user-messages>\n<user-message>\nWhy does the build fail?\n</user-message>",
			statements.Change(replacement, "			users(m),\n", "")),
		holds("the agent's plan is there", "<plan>\nMend main.go.\n</plan>",
			statements.Change(replacement, `			textblock.Tagged(4, plaintext.PlanTag, prompts.ClipWithin(m, plaintext.Outside(m.Plan), m.Room/4)),`+"\n", "")),
		holds("the list of things to do is there", "<todo>\n- run the tests\n</todo>",
			statements.Change(replacement, `			textblock.Tagged(5, plaintext.TodoTag, prompts.ClipWithin(m, plaintext.Outside(m.Todo), m.Room/4)),`+"\n", "")),
		holds("the skills that were invoked are there by name and path", "invoked, the newest last: release (skills/release.md), review (skills/review.md)\n",
			statements.Change(replacement, `strings.Join(names, ", ")`, `names[0]`),
			statements.Change(replacement, `" (" + plaintext.PathLine(skill.Path) + ")"`, `""`)),
		holds("the instructions of the newest skill are there in full, and of no other", "<skill>\nRead it.\n</skill>\n<agent>",
			statements.Change(replacement, `m.Skills[len(m.Skills)-1].Instructions`, `m.Skills[0].Instructions`)),
		holds("what a custom agent does is there", "<agent>\nIt reviews.\n</agent>",
			statements.Change(replacement, `			textblock.Tagged(3, plaintext.AgentTag, prompts.ClipWithin(m, plaintext.Outside(m.Agent), m.Room/4)),`+"\n", "")),
		statements.That("the plan and the todo list of the session are in the replacement", func(t *testing.T) {
			d := fixture(t)
			d.Note(entry.Todos{Text: "Mend main.go.", Items: []entry.Todo{{Text: "run the tests"}}})
			fill(d, 80_000)
			got := d.Settled()[1].Text()
			compacttest.Has(t, got, "<plan>\nMend main.go.\n</plan>")
			compacttest.Has(t, got, "<todo>\n- run the tests (pending)\n</todo>")
		},
			statements.Change(engine+"internal/write/attempt.go", "m.Plan, m.Todo = b.Text, b.List()", "m.Plan = b.Text"),
			statements.Change(engine+"internal/write/attempt.go", "m.Plan, m.Todo = b.Text, b.List()", "m.Todo = b.List()")),
		statements.That("the user's messages are copied whole if there are 20 and 30,000 characters at most", func(t *testing.T) {
			require.Equal(t, slices.Repeat([]string{"1500"}, 20), userCopies(t, slices.Repeat([]int{1500}, 20)...))
			require.Equal(t, []string{"30000"}, userCopies(t, 30_000))
			require.Equal(t, []string{"6000", "24000"}, userCopies(t, 6000, 24_000))
			require.Len(t, userCopies(t, slices.Repeat([]int{20}, 21)...), 20)
		},
			statements.Change(replacement, "characters := 30_000", "characters := 29_996"),
			statements.Change(replacement, "len(texts) <= 20", "len(texts) <= 19"),
			statements.Change(replacement, "len(texts) <= 20", "len(texts) <= 21"),
			statements.Change(replacement, "share, most = 0, 20", "share, most = 0, 19")),
		statements.That("of more, four fifths of both numbers are for the newest and one fifth is for the oldest, and a line says how many are left out between them", func(t *testing.T) {
			many := slices.Repeat([]string{"20"}, 19)
			require.Equal(t, slices.Insert(many, 3, "(2)"), userCopies(t, slices.Repeat([]int{20}, 21)...))
			require.Equal(t, []string{"2996", "3000", "(1)", "12000", "12000"}, userCopies(t, 2996, 3000, 20, 12_000, 12_000))
			require.Equal(t, []string{"2996", "(2)", "12000", "12000"}, userCopies(t, 2996, 3004, 20, 12_000, 12_000))
			require.Equal(t, []string{"2996", "3000", "(2)", "12000"}, userCopies(t, 2996, 3000, 20, 12_004, 12_000))
		},
			statements.Change(replacement, "share, most, first := (characters-1)/5, 16, 3", "share, most, first := (characters-1)/5+8, 16, 3"),
			statements.Change(replacement, "share, most, first := (characters-1)/5, 16, 3", "share, most, first := (characters-1)/5-8, 16, 3"),
			statements.Change(replacement, "share, most, first := (characters-1)/5, 16, 3", "share, most, first := (characters-1)/5, 17, 3"),
			statements.Change(replacement, "share, most, first := (characters-1)/5, 16, 3", "share, most, first := (characters-1)/5, 16, 4"),
			statements.Change(replacement, "characters-share, most)", "characters, most)"),
			statements.Change(replacement, "missing += len(rest) - len(oldest)", "missing += len(rest)"),
			statements.Change(replacement, "			add(fmt.Sprintf(\"... %d messages of the user omitted ...\", missing), len(oldest), len(rest) > len(oldest))\n", "			_ = fmt.Sprint(missing)\n")),
		statements.That("a share takes the user's messages whole until one does not fit, and only one that alone exceeds it is cut, at its end, with a mark", func(t *testing.T) {
			require.Equal(t, []string{"30000+"}, userCopies(t, 30_004))
			require.Equal(t, []string{"5999+", "24001+"}, userCopies(t, 6000, 24_004))
			require.Equal(t, []string{"20", "20", "(3)", "20"}, userCopies(t, 20, 20, 24_000, 20, 24_000, 20), "none is skipped")
			require.Equal(t, []string{"5999+", "(1)", "24000"}, userCopies(t, 8000, 20, 24_000))
		},
			statements.Change(replacement, "characters-len(mark))]) + mark", "characters)])"),
			statements.Change(replacement, "characters-len(mark))]) + mark", "characters)]) + mark"),
			statements.Change(replacement, "case n > characters && len(list) == 0:", "case n > characters:"),
			statements.Change(replacement, "		case n > characters || len(list) == most:\n			return list\n", "		case n > characters || len(list) == most:\n			continue\n"),
			statements.Change(replacement, "len(texts) == 1 || ", "")),
		statements.That("the user's messages are copied by the same rules with fewer characters if there is less room", func(t *testing.T) {
			for _, c := range []struct {
				characters []int
				want       string
			}{{[]int{40_000, 20, 400}, `^3\d\d\d\+ 20 400$`}, {[]int{400, 20, 40_000}, `^400 20 2\d\d\d\+$`}} {
				d := copying(t, c.characters...)
				d.Policy.Replace.Max = 1000
				require.Regexp(t, c.want, strings.Join(copiesIn(d.Settled()[1].Text()), " "))
			}
		},
			statements.Change(replacement, "characters = min(characters*9/10, characters*s.TokenBudget/tokens)", "characters = 0"),
			statements.Change(replacement, "if tokens <= s.TokenBudget {", "if true {")),
		statements.That("messages that arrived while the summary was made follow it word for word", func(t *testing.T) {
			d := begun(t)
			late := compacttest.Rounds(90, 91, 1000)
			d.Say(late...)
			time.Sleep(2 * answerTime)
			got := d.Messages()
			require.True(t, shows(got))
			compacttest.Equal(t, late, got[len(got)-4:])
			require.NotContains(t, compacttest.Text(d.Request().Messages), "[output 090]")
		}, statements.Change(engine+"internal/place/place.go", "c.FirstKept = cmp.Or(c.FirstKept, j.Plan.FirstKept)", "c.FirstKept = p.Journal.Session.Leaf()")),
		statements.That("the cut is never between a call and its results, however late they came", func(t *testing.T) {
			d := filled(t, 80_000)
			round := compacttest.Round(90, 200)
			d.Say(round[0], chat.UserMessage("Hurry."), round[1])
			got := d.Settled()
			require.True(t, shows(got))
			require.Equal(t, []int{90}, compacttest.Outputs(compacttest.Text(got)))
			require.Contains(t, got, round[0])
		}, statements.Change("history/cut.go", "if first || last < u.at && !behindStart &&", "if first || !behindStart &&")),
		statements.That("a call that is running as a summary is begun keeps its result", func(t *testing.T) {
			d := filled(t, 80_000)
			round := compacttest.Round(90, 200)
			d.Say(round[0], chat.UserMessage("Hurry."))
			d.Messages()
			d.Say(round[1])
			got := d.Settled()
			require.True(t, shows(got))
			require.Equal(t, []int{90}, compacttest.Outputs(compacttest.Text(got)))
			require.Contains(t, got, round[1], "behind its call")
		}, statements.Change(policyFile, "ToolBoundary: true", "ToolBoundary: false")),
		statements.That("a session that is opened again is compacted", func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "session.jsonl")
			d := fixtureOn(t, sessiontest.Opened(t, path))
			fill(d, 80_000)
			want := d.Settled()
			require.True(t, shows(want))
			require.NoError(t, d.Session.Close())
			again := fixtureOn(t, sessiontest.Opened(t, path))
			compacttest.Equal(t, want, again.Messages())
			require.Empty(t, again.Requests())
		}, statements.Change("history/entry/body.go", "	Messages []chat.Message `json:\"messages\"`", "	Messages []chat.Message `json:\"-\"`")),

		// Checkpoints.
		statements.That("each summary is written to a numbered file with its title, and listed in an index", func(t *testing.T) {
			d := filled(t, 30_000)
			d.Checkpoints = &checkpoints.Folder{Dir: filepath.Join(t.TempDir(), "checkpoints")}
			list, err := d.Checkpoints.List()
			require.NoError(t, err)
			require.Empty(t, list)
			d.Answers(good, models.Say("So it stands.\n\n# The tests\n\nThey pass now."))
			demanded(d)
			first := only(d, event.Done).Checkpoint
			fill(d, 50_000)
			demanded(d)
			list, err = d.Checkpoints.List()
			require.NoError(t, err)
			require.Len(t, list, 2)
			require.Equal(t, first, list[0])
			require.Equal(t, "001-the-build.md", filepath.Base(list[0].Path))
			require.Equal(t, "002-the-tests.md", filepath.Base(list[1].Path))
			require.Equal(t, []string{"The build", "The tests"}, []string{list[0].Title, list[1].Title})
			compacttest.Has(t, sure.Content(t, list[0].Path), "\n\n"+account+"\n")
			index := sure.Content(t, filepath.Join(d.Checkpoints.Dir, "index.md"))
			compacttest.Has(t, index, "2 made")
			compacttest.Has(t, index, "1. [The build](001-the-build.md)\n2. [The tests](002-the-tests.md)\n")
		},
			statements.Change(policyFile, "Checkpoints: true", "Checkpoints: false"),
			statements.Change("internal/plaintext/plaintext.go", `strings.CutPrefix(strings.TrimSpace(line), "# ")`, `strings.CutPrefix(strings.TrimSpace(line), "## ")`),
			statements.Change(engine+"internal/place/place.go", "\t\te.Checkpoint = point\n", "\t\t_ = point\n"),
			statements.Change("summarize/checkpoints/checkpoints.go", `"%03d-%s.md"`, `"%04d-%s.md"`),
			statements.Change("summarize/checkpoints/checkpoints.go", "return f.index(ctx, s, append(list, point))", "return f.index(ctx, s, list)")),
		statements.That("without a folder for checkpoints none is written", func(t *testing.T) {
			d := filled(t, 30_000)
			demanded(d)
			require.Zero(t, only(d, event.Done).Checkpoint)
			require.Equal(t, "started done/conversation-compaction", compacttest.Kinds(*d.Heard))
		}, statements.Change(engine+"internal/place/place.go", "if p.Checkpoints != nil && j.Policy.Replace.Checkpoints {\n\t\tpoint, err", "if j.Policy.Replace.Checkpoints {\n\t\tpoint, err")),
		statements.That("after going back the index counts the checkpoints of the branch that was left apart", func(t *testing.T) {
			d := filled(t, 30_000)
			d.Checkpoints = &checkpoints.Folder{Dir: filepath.Join(t.TempDir(), "checkpoints")}
			demanded(d)
			there := d.Session.Leaf()
			fill(d, 50_000)
			demanded(d)
			_, err := d.Navigate(t.Context(), there, summarize.Navigation{})
			require.NoError(t, err)
			index := sure.Content(t, filepath.Join(d.Checkpoints.Dir, "index.md"))
			compacttest.Has(t, index, "1 made")
			compacttest.Has(t, index, "1 more where the conversation has gone another way since")
		},
			statements.Change(engine+"branch.go", "if c.Checkpoints != nil && w.policy.Replace.Checkpoints {", "if false {"),
			statements.Change("summarize/checkpoints/checkpoints.go", "		if path[p.Compaction] {", "		if true {")),

		// The last guard.
		statements.That("compaction comes first, and a prompt that is too large after it is truncated", func(t *testing.T) {
			d := filled(t, 101_000)
			require.True(t, shows(d.Messages()))
			require.Equal(t, "started done/conversation-compaction", compacttest.Kinds(*d.Heard))
			d = filled(t, 101_000)
			d.Always(down)
			require.Greater(t, len(d.Messages()), 10)
			require.Equal(t, "started refused/conversation-compaction failed truncated", compacttest.Kinds(*d.Heard))
		},
			statements.Change(policyFile, "policy.ResortTruncate", "policy.ResortError"),
			statements.Change(engine+"policy/decide.go", "Background && (m.Fits && !m.over() || later)", "Background && (true || later)")),
		statements.That("with Background.Always a prompt that does not fit is truncated while its summary is begun, and the next one waits", func(t *testing.T) {
			d := filled(t, 101_000)
			d.Policy.Background.Always = true
			d.Always(slow)
			require.Zero(t, waits(func() { require.False(t, shows(d.Messages())) }))
			synctest.Wait()
			require.Equal(t, "started truncated", compacttest.Kinds(*d.Heard))
			d.Say(chat.AssistantMessage("Yes."), chat.UserMessage("Go on."))
			// The summary is made in two segments: the history and an answer exceed the model's window.
			require.Equal(t, 2*answerTime, waits(func() { require.True(t, shows(d.Messages())) }))
		},
			statements.Change(engine+"policy/decide.go", "p.Background.Always && m.Sendable", "false && m.Sendable"),
			statements.Change(policyFile, "policy.ResortTruncate", "policy.ResortDrop"),
			statements.Change(policyFile, "Background: true, ", "")),
		statements.That("the assistant's work before the latest user message goes first, the oldest first, with its results", func(t *testing.T) {
			list := append([]chat.Message{chat.UserMessage("First.")}, compacttest.Rounds(1, 5, 1000)...)
			got, _ := truncated(t, 5800, append(append(list, chat.UserMessage("Second.")), compacttest.Round(6, 1000)...)...)
			require.Equal(t, []int{2, 3, 4, 5, 6}, compacttest.Outputs(compacttest.Text(got)))
			compacttest.Has(t, compacttest.Text(got), "First.\nStep 2.")
			compacttest.Has(t, compacttest.Text(got), "Second.\nStep 6.")
		},
			statements.Change(truncator, "	rounds(0, latest)\n", ""),
			statements.Change(truncator, "for i+1 < len(q.items) && q.items[i+1].message.Role == chat.RoleTool {", "for false {"),
			statements.Change(truncator, "for i := from; i < to && !fits(); i++ {", "for i := from; i < to; i++ {")),
		statements.That("then older user messages go, and the assistant's work since the latest, but neither the latest user message nor system messages", func(t *testing.T) {
			list := append([]chat.Message{user(1000), chat.AssistantMessage("Yes."), chat.UserMessage("First.")}, compacttest.Rounds(1, 2, 1000)...)
			list = append(append(list, chat.UserMessage("Second.")), compacttest.Rounds(3, 5, 1000)...)
			got, _ := truncated(t, 3300, list...)
			begins(t, got, "You are a coding agent.\nFirst.\nSecond.\nStep 3.")
			got, _ = truncated(t, 2400, list...)
			require.Equal(t, []int{4, 5}, compacttest.Outputs(compacttest.Text(got)))
			begins(t, got, "You are a coding agent.\nSecond.\nStep 4.")
			got, _ = history.Truncator{Tokenizer: compacttest.Quarter{}, Limit: 2400}.Truncate(append([]chat.Message{chat.SystemMessage("You are a coding agent.")}, list...), nil)
			begins(t, got, "You are a coding agent.\nSecond.\nStep 4.")
		},
			statements.Change(truncator, "if q.items[i].message.Role == chat.RoleUser && !isLast(i) {", "if q.items[i].message.Role == \"\" && !isLast(i) {"),
			statements.Change(truncator, "if q.items[i].message.Role == chat.RoleUser && !isLast(i) {", "if q.items[i].message.Role != chat.RoleAssistant && !isLast(i) {"),
			statements.Change(truncator, "for i := 0; i < latest && !fits(); i++ {", "for i := 0; i <= latest; i++ {"),
			statements.Change(truncator, "rounds(latest+1, newest)", "rounds(newest, newest)")),
		statements.That("a pass that takes more is made only if the request still exceeds the limit: the user's words stay if it is within it without the assistant's work", func(t *testing.T) {
			users := []chat.Message{user(500), user(500), user(500)}
			list := append(slices.Insert(slices.Clone(users), 2, chat.AssistantMessage(compacttest.Words(997))), compacttest.Rounds(1, 3, 1000)...)
			all := compacttest.Count(compacttest.Quarter{}, append(list, chat.SystemMessage("You are a coding agent.")))
			got, _ := truncated(t, all-1000, list...)
			compacttest.Equal(t, slices.Concat(users, list[4:]), got[1:])
			got, _ = truncated(t, all-1001, list...)
			compacttest.Equal(t, slices.Concat(users[1:], list[4:]), got[1:])
			got, _ = truncated(t, all-2000, list...)
			compacttest.Equal(t, slices.Concat(users[2:], list[4:]), got[1:])
			got, _ = truncated(t, all-2001, list...)
			require.Equal(t, []int{2, 3}, compacttest.Outputs(compacttest.Text(got)))
		},
			statements.Change(truncator, "	if exceeds() {\n		for i := 0; i < latest", "	if true {\n		for i := 0; i < latest"),
			statements.Change(truncator, "	if exceeds() {\n		rounds", "	if true {\n		rounds"),
			statements.Change(truncator, "return q.tokens > limit", "return q.tokens >= limit"),
			statements.Change(truncator, "return q.tokens > limit", "return q.tokens-1 > limit"),
			statements.Change(truncator, "q.truncate(targetShare*float64(limit), limit, t.Last)", "q.truncate(targetShare*float64(limit), limit*19/20, t.Last)")),
		statements.That("a truncated prompt takes less than the limit, so that the next message fits", func(t *testing.T) {
			d := fixture(t)
			for range 1000 {
				d.Say(chat.AssistantMessage(compacttest.Words(97)))
			}
			d.Say(chat.UserMessage("Go on."))
			d.Target.Budget, d.Target.ContextWindow = 20_000, 20_000
			d.Always(down)
			got := compacttest.Count(d.Target.Tokenizer, d.Messages())
			require.LessOrEqual(t, got, 19_000)
			require.Greater(t, got, 18_900)
		},
			statements.Change(truncator, "targetShare = 0.95", "targetShare = 0.96"),
			statements.Change(truncator, "targetShare = 0.95", "targetShare = 0.94")),
		statements.That("a result without its call is removed even if everything fits", func(t *testing.T) {
			list := append([]chat.Message{chat.UserMessage("Go on.")}, compacttest.Round(1, 100)...)
			got, _ := history.Truncator{Tokenizer: compacttest.Quarter{}}.Truncate(append(list, chat.ToolResult("none", "late")), nil)
			compacttest.Equal(t, list, got)
			_, err := fixture(t, list...).Session.Add(t.Context(), entry.Entry{Body: entry.Message{Message: chat.ToolResult("none", "late")}})
			require.ErrorContains(t, err, "answers no open tool call") // so a session has none
		}, statements.Change(truncator, "	q.removeOrphans(t.Tokenizer)\n", "")),
		statements.That("the session keeps what was truncated, and a later request may show it again", func(t *testing.T) {
			got, d := truncated(t, 5800, append([]chat.Message{chat.UserMessage("First.")}, compacttest.Rounds(1, 8, 1000)...)...)
			require.Len(t, compacttest.Said(d.Session), 17)
			require.Less(t, len(got), 17)
			require.Empty(t, compacttest.Compactions(d.Session))
			d.Target.Budget, d.Target.ContextWindow = window, window
			compacttest.Equal(t, compacttest.Said(d.Session), d.Messages()[1:])
		}, statements.Change(engine+"recover.go", "	w.c.emit(ctx, event.Event{\n		Kind: s.Resort.Event,",
			"	_, _ = w.c.Session.Add(ctx, entry.Entry{Body: entry.Compaction{Messages: result.Messages[1:2]}})\n	w.c.emit(ctx, event.Event{\n		Kind: s.Resort.Event,")),
		statements.That("nine tenths of a limit that the provider names bound the next 2 requests, until the window is tried again", func(t *testing.T) {
			d := filled(t, 70_000)
			used := recorded(d, event.Usage)
			d.Always(down)
			d.Messages()
			require.Equal(t, 54_000, d.Recovered(&chat.ContextLimitError{Limit: 60_000}, "").Budget)
			for range 3 {
				d.Say(chat.AssistantMessage("Yes."), chat.UserMessage("Go on."))
				d.Messages()
			}
			var bounded, bases []any
			for _, e := range *used {
				bounded, bases = append(bounded, e.TokensAfter <= 54_000), append(bases, e.Base)
			}
			require.Equal(t, []any{false, true, true, false, false}, bounded)
			require.Equal(t, []any{window, window, window, window, window}, bases, "nothing is planned within it")
		},
			statements.Change("history/entry/learnt.go", "return max(1, clamp.Share(0.9, n))", "return max(1, clamp.Share(0.91, n))"),
			statements.Change("history/entry/learnt.go", "1 << min(tries, 30)", "1 << min(tries+1, 30)"),
			statements.Change("history/entry/learnt.go", "1 << min(tries, 30)", "1 << min(tries, 30) >> 1"),
			statements.Change("history/entry/learnt.go", "f.Left == 0 || f.Tries < 2 {", "f.Left == 0 || f.Tries < 1 {")),
		statements.That("if it names none, each refusal halves the prompt, until it cannot be made smaller", func(t *testing.T) {
			d := filled(t, 99_000)
			d.Always(down)
			sizes := []int{compacttest.Count(d.Target.Tokenizer, d.Messages())}
			for {
				r, err := d.Recover(t.Context(), compacttest.Prompt(d.Session), compacttest.Status(413), "")
				if err != nil {
					require.ErrorAs(t, err, new(*summarize.RecoveryError))
					break
				}
				sizes = append(sizes, r.Tokens)
			}
			require.Equal(t, []int{99_000, 47_000, 22_000, 10_000, 4000, 3000}, sizes, "half, less the headroom of the truncator")
		}, statements.Change("history/entry/learnt.go", "min(next, counted/2)", "min(next, counted/4)")),

		// Events.
		statements.That("an event says how many tokens of each request history, tools and the rest take, truncated or not", func(t *testing.T) {
			for tokens, kinds := range map[int]string{20_000: "", 80_000: "done", 105_000: "truncated"} {
				d := filled(t, tokens)
				d.Target.Tools, d.Target.Budget = []chat.Tool{{Name: "read", Description: compacttest.Words(999)}}, 99_000
				used := recorded(d, event.Usage)
				if kinds == "truncated" {
					d.Always(down)
				}
				got := d.Settled()
				require.Equal(t, kinds != "", strings.Contains(compacttest.Kinds(*d.Heard), kinds) && kinds != "")
				e := (*used)[len(*used)-1]
				require.Equal(t, render.Breakdown{
					Other:   compacttest.Count(d.Target.Tokenizer, got[:1]),
					History: compacttest.Count(d.Target.Tokenizer, got[1:]),
					Tools:   1000,
				}, e.Breakdown)
				require.Equal(t, []int{window, len(got), compacttest.Count(d.Target.Tokenizer, got)}, []int{e.Base, e.MessagesAfter, e.TokensAfter})
				require.Len(t, *used, 2)
			}
		},
			statements.Change(engine+"compactor.go", "b := plan.Breakdown(ctx, w.target, s.Result)", "b := s.Result.Breakdown()"),
			statements.Change(engine+"internal/plan/size.go", "\t\t\t\t\tb.Other += guard.Counted(", "\t\t\t\t\tb.History += guard.Counted("),
			statements.Change(engine+"compactor.go", "MessagesAfter: len(s.Result.Messages), TokensAfter: s.Result.Tokens,", "MessagesAfter: len(s.Result.Messages),"),
			statements.Change(engine+"compactor.go", "	return w.recordSent(ctx, s), nil\n}\n\nfunc outcomeOfError", "	return s.Result, nil\n}\n\nfunc outcomeOfError")),
		statements.That("the event of a truncation has its messages and tokens before and after, and there is none if nothing went", func(t *testing.T) {
			got, d := truncated(t, 5800, append([]chat.Message{chat.UserMessage("First.")}, compacttest.Rounds(1, 8, 1000)...)...)
			e := only(d, event.Truncated)
			whole := append(compacttest.Said(d.Session), chat.SystemMessage("You are a coding agent."))
			require.Equal(t, []int{len(whole), len(got)}, []int{e.MessagesBefore, e.MessagesAfter})
			count := func(list []chat.Message) int { return compacttest.Count(d.Target.Tokenizer, list) }
			require.Equal(t, []int{count(whole), count(got)}, []int{e.TokensBefore, e.TokensAfter})
			d.Target.Budget = window
			d.Messages()
			only(d, event.Truncated)
		},
			statements.Change(engine+"recover.go", "MessagesAfter: len(result.Messages), TokensBefore: s.Over.Needed,", "MessagesAfter: len(s.Over.Messages),\n\t\tTokensBefore: s.Over.Needed,"),
			statements.Change(engine+"recover.go", "MessagesAfter: len(result.Messages), TokensBefore: s.Over.Needed,", "MessagesAfter: len(result.Messages),\n\t\tTokensBefore: s.Budget,")),
		statements.That("the event of the start has the messages and tokens of the prompt, and what takes them", func(t *testing.T) {
			d := filled(t, 30_000)
			before := d.Messages()
			demanded(d)
			e := only(d, event.Started)
			require.Equal(t, []int{len(before), 30_000, window}, []int{e.MessagesBefore, e.TokensBefore, e.Base})
			system := compacttest.Quarter{}.CountMessage(before[0])
			require.Equal(t, render.Breakdown{Other: system, History: 30_000 - system}, e.Breakdown)
		},
			statements.Change(engine+"executor.go", "MessagesBefore: len(s.PromptMessages()), TokensBefore: s.PromptTokens(), Base: s.Base,", "MessagesBefore: len(s.PromptMessages()), Base: s.Base,"),
			statements.Change(engine+"executor.go", "Breakdown: s.Breakdown(ctx, w.target),", ""),
			statements.Change(engine+"executor.go", "MessagesBefore: len(s.PromptMessages()), TokensBefore: s.PromptTokens(), Base: s.Base,\n", "TokensBefore: s.PromptTokens(), Base: s.Base,\n")),
		statements.That("the event of the end has the tokens and messages before and after, the summary, the model, its usage and the time", func(t *testing.T) {
			d := filled(t, 30_000)
			before := d.Messages()
			d.Target.Name = "own"
			d.Answers(func(ctx context.Context, r chat.Request) (chat.Response, error) {
				response, err := slow(ctx, r)
				response.Usage = chat.Usage{Input: 31_000, Output: 12}
				return response, err
			})
			got := demanded(d).Result
			e := only(d, event.Done)
			require.Equal(t, []int{30_000, got.Tokens, len(before), len(got.Messages)}, []int{e.TokensBefore, e.TokensAfter, e.MessagesBefore, e.MessagesAfter})
			require.Equal(t, []string{account, "The build", "own", "copilot-cli"}, []string{e.Summary, e.Title, e.Model, e.Policy})
			require.Equal(t, chat.Usage{Input: 31_000, Output: 12}, e.Usage)
			require.Equal(t, 1, e.Calls)
			require.Equal(t, answerTime, e.Duration)
		},
			statements.Change(engine+"internal/place/place.go", "e.TokensAfter, e.Doubt, e.Why = placed.TokensAfter, d.Doubt, j.Plan.Why", "e.TokensAfter, e.Doubt, e.Why = 0, d.Doubt, j.Plan.Why"),
			statements.Change(engine+"internal/place/place.go", "at.Messages, len(result.Messages)", "at.Messages, at.Messages"),
			statements.Change(engine+"internal/place/place.go", "d.Prompt.Mode, d.Model, placed.Text, placed.Title, d.Mended, found.ID", `d.Prompt.Mode, d.Model, "", placed.Title, d.Mended, found.ID`),
			statements.Change(engine+"internal/place/place.go", "d.Prompt.Mode, d.Model, placed.Text, placed.Title, d.Mended, found.ID", `d.Prompt.Mode, "", placed.Text, placed.Title, d.Mended, found.ID`),
			statements.Change(engine+"internal/write/attempt.go", "e.Duration = time.Since(a.begun)", "e.Duration = time.Since(time.Now())"),
			statements.Change(engine+"internal/write/write.go", "w.Attempt.meter.usage = w.Attempt", "_ = w.Attempt")),
		statements.That("each request for a summary has an id", func(t *testing.T) {
			d := filled(t, 80_000)
			answered := recorded(d, event.Answered)
			d.Settled()
			require.Len(t, *answered, 1)
			require.Equal(t, only(d, event.Done).Plan+"/1", (*answered)[0].Request)
		}, statements.Change(engine+"internal/write/write.go", `fmt.Sprintf("%s/%d", w.Attempt.ID, n), response.Usage`, `fmt.Sprintf("%s/%d", w.Attempt.ID, 0*n), response.Usage`)),
		statements.That("an event says that a request waits for a summary", func(t *testing.T) {
			d := begun(t)
			d.Say(user(15_000))
			d.Messages()
			require.Equal(t, "started waiting ready/conversation-compaction done/conversation-compaction", compacttest.Kinds(*d.Heard))
		}, statements.Change(engine+"background.go", "Kind: event.Waiting,", "Kind: event.Started,")),
		statements.That("an event reports a compaction of the provider or of a remote agent, which changes nothing", func(t *testing.T) {
			d := filled(t, 30_000)
			before := d.Messages()
			d.Emit(t.Context(), event.Event{Kind: event.Reported, Why: "the provider compacted the thread", Size: event.Size{TokensBefore: 30_000, TokensAfter: 9000}})
			require.Equal(t, "the provider compacted the thread", only(d, event.Reported).Why)
			compacttest.Equal(t, before, d.Messages())
			require.Empty(t, compacttest.Compactions(d.Session))
		}, statements.Change(engine+"observe.go", "\tc.emit(ctx, e)\n", "")),

		// Failure and cancellation.
		statements.That("an answer without words is a failure", func(t *testing.T) {
			d := filled(t, 30_000)
			before := d.Messages()
			d.Always(models.Say(" \n\u200b"))
			_, err := d.Compact(t.Context(), "")
			require.Equal(t, "it is empty", errtest.As[*policy.SummaryError](t, err).Reason)
			compacttest.Equal(t, before, d.Messages())
		}, statements.Change(engine+"internal/judge/judge.go", "case size == 0:", "case false:")),
		statements.That("an event reports a failure in the background, and the session goes on as it was", func(t *testing.T) {
			d := filled(t, 80_000)
			d.Always(down)
			compacttest.Equal(t, compacttest.Said(d.Session), d.Settled()[1:])
			e := only(d, event.Failed)
			require.True(t, e.Background)
			require.ErrorContains(t, e.Err, "the model is down")
			require.Empty(t, compacttest.Compactions(d.Session))
		},
			statements.Change(engine+"internal/place/place.go", "\tkind := event.Failed\n", "\tkind := event.Discarded\n"),
			statements.Change(engine+"internal/write/attempt.go", "Background: a.Plan.Background,", "Background: false,")),
		statements.That("a background summary that was cancelled is discarded", func(t *testing.T) {
			d := filled(t, 80_000)
			d.Always(uncancellable)
			before := d.Messages()
			synctest.Wait()
			d.Abort()
			time.Sleep(2 * answerTime)
			synctest.Wait()
			require.Equal(t, "started cancelled", compacttest.Kinds(*d.Heard))
			compacttest.Equal(t, before, d.Messages())
			require.Empty(t, compacttest.Compactions(d.Session))
		}, statements.Change(engine+"compactor.go", "	c.inner.work.abort(ErrAborted)\n", "")),
	})
}
