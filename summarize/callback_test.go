package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// fault says how a caller's function misbehaves.
type fault string

const (
	panics   fault = "panics"
	exits    fault = "exits"
	hangs    fault = "hangs"
	nonsense fault = "nonsense"
)

// faultyFixture is a fixture with one function that misbehaves while faulty is set.
type faultyFixture struct {
	fixture
	fault   fault
	faulty  atomic.Bool
	called  atomic.Bool // the function was called while it was faulty
	release chan struct{}
}

// misbehave is called first in the faulty function. It reports whether the function must return nonsense.
func (d *faultyFixture) misbehave() bool {
	if !d.faulty.Load() {
		return false
	}
	d.called.Store(true)
	switch d.fault {
	case panics:
		panic("boom")
	case exits:
		runtime.Goexit()
	case hangs:
		<-d.release
	}
	return d.fault == nonsense
}

// faultyTokenizer counts as quarter does while it is not faulty.
type faultyTokenizer struct {
	quarter
	d *faultyFixture
}

func (t *faultyTokenizer) CountMessage(m chat.Message) int {
	if t.d.misbehave() {
		return -3
	}
	return t.quarter.CountMessage(m)
}

func (t *faultyTokenizer) CountTools(tools []chat.Tool) int {
	if t.d.misbehave() {
		return 1 << 40
	}
	return t.quarter.CountTools(tools)
}

// faultyHandler is a handler of logs, which it drops.
type faultyHandler struct {
	slog.Handler
	d *faultyFixture
}

func (h faultyHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h faultyHandler) Handle(context.Context, slog.Record) error {
	if h.d.misbehave() {
		return errDown
	}
	return nil
}

type faultyObserver struct{ d *faultyFixture }

func (t faultyObserver) Start(context.Context, summarize.Work) context.Context {
	t.d.misbehave()
	return nil
}
func (t faultyObserver) Event(context.Context, event.Event)         { t.d.misbehave() }
func (t faultyObserver) End(context.Context, *render.Result, error) { t.d.misbehave() }

// faultyFunctions are a caller's functions, by the names that errors and events give them. Complaint is part of the
// error about nonsense that the function returns, "" if it cannot return any.
var faultyFunctions = []struct {
	name, complaint string
	set             func(d *faultyFixture)
}{
	{"observer summarize.OnEvent", "", func(d *faultyFixture) {
		d.Observers = append(d.Observers, summarize.OnEvent(func(event.Event) { d.misbehave() }))
	}},
	{"observer summarize.Log", "", func(d *faultyFixture) {
		d.Observers = append(d.Observers, summarize.Log{Logger: slog.New(faultyHandler{slog.DiscardHandler, d})})
	}},
	{"observer summarize_test.faultyObserver", "", func(d *faultyFixture) { d.Observers = append(d.Observers, faultyObserver{d}) }},
	{"hook BeforeCompact", "the summary of a hook: the answer cannot be used: it is empty", func(d *faultyFixture) {
		d.Hooks.BeforeCompact = func(context.Context, policy.Occasion, policy.Material) (i summarize.Intervention, _ error) {
			if d.misbehave() {
				i.Summary = &entry.Summary{Text: " \xff\u200b"[:1]}
			}
			return i, nil
		}
	}},
	{"hook AfterCompact", "connection refused", func(d *faultyFixture) {
		d.Hooks.AfterCompact = func(context.Context, entry.Entry) error { return d.errIfFaulty() }
	}},
	{"hook Interrupt", "connection refused", func(d *faultyFixture) { d.Hooks.Interrupt = func(context.Context) error { return d.errIfFaulty() } }},
	{"hook Workspace", "connection refused", func(d *faultyFixture) {
		d.Hooks.Workspace = func(context.Context) (policy.Workspace, error) { return policy.Workspace{}, d.errIfFaulty() }
	}},
	{"hook BeforeBranch", "connection refused", func(d *faultyFixture) {
		d.Hooks.BeforeBranch = func(context.Context, string, string) (summarize.Intervention, error) {
			return summarize.Intervention{}, d.errIfFaulty()
		}
	}},
	{"hook AfterBranch", "connection refused", func(d *faultyFixture) {
		d.Hooks.AfterBranch = func(context.Context, string, string, *entry.BranchSummary) error { return d.errIfFaulty() }
	}},
	{"Prompt.Request", "it returned a prompt without a message", func(d *faultyFixture) {
		ask := &d.Policy.Ask.Prompts[0]
		ask.Request = d.tree(ask.Request)
		d.Policy.Branch.Prompt = prompts.BranchPrompt()
		d.Policy.Branch.Prompt.Request = d.tree(d.Policy.Branch.Prompt.Request)
	}},
	{"Prompt.Prefix", "it returned a prompt without a message", func(d *faultyFixture) {
		d.Policy.Ask.Prompts[0].Prefix = d.tree(d.Policy.Ask.Prompts[0].Prefix)
	}},
	{"Prompt.Title", "it returned a prompt without a message", func(d *faultyFixture) {
		d.Policy.Ask.Prompts[0].Title = d.tree(d.Policy.Ask.Prompts[0].Title)
	}},
	{"Prompt.Merge", "it is empty", func(d *faultyFixture) {
		merge := d.Policy.Ask.Prompts[0].Merge
		d.Policy.Ask.Prompts[0].Merge = func(history, prefix string) string {
			if d.misbehave() {
				return "\u200b"
			}
			return merge(history, prefix)
		}
	}},
	{"Prompt.Read", "it is empty", func(d *faultyFixture) {
		read := func(r chat.Response) (string, error) {
			if d.misbehave() {
				return " ", nil
			}
			return r.Message.Text(), nil
		}
		d.Policy.Ask.Prompts[0].Read, d.Policy.Branch.Prompt = read, prompts.BranchPrompt()
		d.Policy.Branch.Prompt.Read = read
	}},
	{"Replace.With", "it must return one or more user messages", func(d *faultyFixture) {
		d.Policy.Replace.With = func(m policy.Material) elements.Node {
			if d.misbehave() {
				return elements.SystemMessage{Children: elements.Nodes{elements.Text("Obey.")}}
			}
			return prompts.ConversationSummary(m)
		}
	}},
	{"Replace.FileTools", "", func(d *faultyFixture) {
		d.Policy.Replace.FileTools = history.FileTools{"read": func(string) entry.Files { d.misbehave(); return entry.Files{} }}
	}},
	{"Clear.Rule", "", func(d *faultyFixture) {
		d.Policy.Clear = policy.Clear{Always: true, Rule: history.ClearRule{Keep: 3000, Placeholder: func(history.ClearedOutput) string {
			d.misbehave()
			return "[cleared]"
		}}}
	}},
	{"Runner", "connection refused", func(d *faultyFixture) {
		d.Runner = func(context.Context, *history.Session, string) error { return d.errIfFaulty() }
	}},
	{"model gpt", `a message of the role "user"`, func(d *faultyFixture) {
		working := d.Target.Model
		d.Target.Model = chat.ModelFunc(func(ctx context.Context, req chat.Request) (chat.Response, error) {
			if d.misbehave() {
				return chat.Response{Message: chat.UserMessage("Me again.")}, nil
			}
			return working.Generate(ctx, req)
		})
	}},
	{"Target.Tokenizer", "it counted", func(d *faultyFixture) { d.Target.Tokenizer = &faultyTokenizer{d: d} }},
}

// errIfFaulty is the body of a function whose only result is an error.
func (d *faultyFixture) errIfFaulty() error {
	if d.misbehave() {
		return errDown
	}
	return nil
}

// tree returns a function of a prompt that returns no tree while it is faulty.
func (d *faultyFixture) tree(working func(policy.Material) elements.Node) func(policy.Material) elements.Node {
	return func(m policy.Material) elements.Node {
		if d.misbehave() {
			return nil
		}
		return working(m)
	}
}

// compactingCalls are a compactor's calls that may compact. Each sets faulty once the fixture is prepared.
var compactingCalls = map[string]func(ctx context.Context, d *faultyFixture) error{
	"render": func(ctx context.Context, d *faultyFixture) error {
		d.faulty.Store(true)
		_, err := d.Render(ctx, prompt(d.Session))
		return err
	},
	"background": func(ctx context.Context, d *faultyFixture) error {
		d.Policy.Trigger = policy.Trigger{{Cap: 2000, Background: true}, {On: policy.OnBudgetExceeded}}
		d.Target.Budget = 100_000
		d.faulty.Store(true)
		_, first := d.Render(ctx, prompt(d.Session))
		waited := d.Wait(ctx)
		_, then := d.Render(ctx, prompt(d.Session))
		return errors.Join(first, waited, then)
	},
	"recover": func(ctx context.Context, d *faultyFixture) error {
		d.Policy.Trigger = policy.Trigger{{On: policy.OnContextLimit}, {On: policy.OnBudgetExceeded}}
		d.Target.Budget = 100_000
		d.faulty.Store(true)
		_, err := d.Recover(ctx, prompt(d.Session), &chat.ContextLimitError{Limit: 4000, Tokens: 4500}, "")
		return err
	},
	"switch model": func(ctx context.Context, d *faultyFixture) error {
		small := d.Target
		d.Target.Budget = 100_000
		d.faulty.Store(true)
		_, err := d.SwitchModel(ctx, prompt(d.Session), small)
		return err
	},
	"on demand": func(ctx context.Context, d *faultyFixture) error {
		d.Target.Budget = 100_000
		if _, err := d.Render(ctx, prompt(d.Session)); err != nil {
			return err
		}
		d.faulty.Store(true)
		_, err := d.Compact(ctx, "")
		return err
	},
	"after turn": func(ctx context.Context, d *faultyFixture) error {
		d.faulty.Store(true)
		_, err := d.AfterTurn(ctx, prompt(d.Session))
		return err
	},
	"navigate": func(ctx context.Context, d *faultyFixture) error {
		d.faulty.Store(true)
		_, err := d.Navigate(ctx, "e1", summarize.Navigation{Summarize: true})
		return err
	},
	"close": func(ctx context.Context, d *faultyFixture) error {
		d.Policy.Trigger = policy.Trigger{{Cap: 2000, Background: true}, {On: policy.OnBudgetExceeded}}
		d.Target.Budget = 100_000
		d.faulty.Store(true)
		_, err := d.Render(ctx, prompt(d.Session))
		return err
	},
}

// Each function misbehaves in each way during each call: the call returns, an error or an event names the function, and
// the session is compacted as soon as the function works again.
func TestAFunctionThatMisbehavesIsNamedAndTheNextCallWorks(t *testing.T) {
	faults := []fault{panics, exits, hangs, nonsense}
	called, all := make([]bool, len(faults)), 0 // each fault, by some function; functions that ran
	for n, f := range faultyFunctions {
		everCalled, ran := false, 0
		for k, call := range slices.Sorted(maps.Keys(compactingCalls)) {
			run := compactingCalls[call]
			for i, do := range faults {
				if do == nonsense && f.complaint == "" {
					continue
				}
				if do != hangs && i != (n+k)%len(faults) && !extremes.All() {
					continue // each function has each fault in some calls
				}
				t.Run(fmt.Sprintf("%s/%s/%s", f.name, call, do), func(t *testing.T) {
					ran++
					synctest.Test(t, func(t *testing.T) {
						d := newFaultyFixture(t, do)
						f.set(d)
						ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
						defer cancel()
						told := []error{run(ctx, d)}
						if call == "close" {
							synctest.Wait() // until it hangs, or is done
							told = append(told, d.Close())
						}
						time.Sleep(12 * time.Minute) // for work after the call, until none of its requests has ended for long enough
						synctest.Wait()
						d.faulty.Store(false)
						if d.called.Load() {
							called[i], everCalled = true, true
							requireNamed(t, d, f.name, f.complaint, told)
						}
						if do == hangs {
							requireWorking(t, d) // while the function still hangs
						}
						close(d.release)
						synctest.Wait()
						requireWorking(t, d)
						_ = d.Close() // its error may be about an observer
					})
				})
			}
		}
		if ran > 0 {
			all++
		}
		require.True(t, everCalled || ran < len(compactingCalls), "%s is never called", f.name)
	}
	for i := range faults {
		require.True(t, called[i] || all < len(faultyFunctions), faults[i])
	}
}

func newFaultyFixture(t *testing.T, do fault) *faultyFixture {
	d := &faultyFixture{fixture: newFixture(t, chat.UserMessage("The first question.")), fault: do, release: make(chan struct{})}
	d.Say(rounds(1, 2, roundTokens)...)
	d.Say(chat.AssistantMessage("Done."), chat.UserMessage(task))
	d.Say(rounds(3, 6, roundTokens)...)
	d.Policy = ohmypi.Policy()
	d.Policy.Trigger, d.Policy.Clear, d.Policy.Cut = nil, policy.Clear{}, history.Cut{}
	d.Policy.Replace.Max = 400 // so that a compaction saves tokens
	d.Target.Name, d.Target.ContextWindow = "gpt", 2*budget
	d.Target.Model = chat.ModelFunc(models.Say("## Goal\nThe build is being fixed, step by step."))
	return d
}

// requireNamed checks that a returned error or an event names the function, or has its complaint.
func requireNamed(t *testing.T, d *faultyFixture, name, complaint string, told []error) {
	t.Helper()
	for _, e := range *d.Heard {
		told = append(told, e.Err)
	}
	told = append(told, d.Late())
	var all []string
	for _, err := range told {
		if err == nil {
			continue
		}
		all = append(all, err.Error())
		if d.fault == nonsense {
			if strings.Contains(err.Error(), complaint) {
				return
			}
			continue
		}
		wrong, ok := errors.AsType[*chat.CallbackError](err)
		late, timed := errors.AsType[*policy.TimeoutError](err)
		if ok && strings.Contains(wrong.Name, name) || timed && strings.Contains(late.Name, name) {
			return
		}
	}
	require.Fail(t, "no error names the function", "%s\n%s", kinds(*d.Heard), strings.Join(all, "\n"))
}

// requireWorking checks that another compactor compacts the session, and that d renders.
func requireWorking(t *testing.T, d *faultyFixture) {
	t.Helper()
	require.NoError(t, chat.Validate(append(viewOf(t, d.Session).Messages(), chat.UserMessage("on"))))
	other := fixtureOf(t, d.Session)
	other.Target.Model = models.Offline{Tokenizer: quarter{}}
	before := len(compactions(d.Session))
	other.Say(chat.UserMessage("And then?"))
	other.Say(rounds(50+10*before, 55+10*before, roundTokens)...)
	if pending, err := other.Pending(t.Context()); err == nil && pending != policy.PendingNone {
		time.Sleep(11 * time.Minute) // until the plan's time has passed
	}
	other.Messages()
	require.Greater(t, len(compactions(d.Session)), before)
	require.NoError(t, other.Close())
	if result, err := d.Render(t.Context(), prompt(d.Session)); !errors.Is(err, summarize.ErrCompactorClosed) {
		require.NoError(t, err)
		require.NoError(t, chat.Validate(result.Messages))
	}
}

func TestTheErrorOfACallThatWaitedSaysWhatItWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, release := newFixture(t, overflowing()...), make(chan struct{})
		d.Target.Name = "gpt"
		d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
			<-release
			return models.SaySummary("Done.")(ctx, r)
		})
		go func() { _, _ = d.Render(t.Context(), prompt(d.Session)) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := d.Render(ctx, prompt(d.Session))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "waiting for the compaction that another call makes, which runs model gpt")
		close(release)
	})
	synctest.Test(t, func(t *testing.T) {
		d, release := copilotFixture(t), make(chan struct{})
		d.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
			<-release
			return models.SaySummary("Done.")(ctx, r)
		})
		d.Messages()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := d.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "waiting for the summary that is made in the background, which runs the model")
		close(release)
	})
}

func TestAnObserverThatPanicsIsNotCalledAgainAndTheOthersAndCloseAreTold(t *testing.T) {
	var log strings.Builder
	d := newFixture(t, overflowing()...)
	called := 0
	d.Observers = []summarize.Observer{summarize.Log{Logger: slog.New(slog.NewTextHandler(&log, nil))}, summarize.OnEvent(func(event.Event) { called++; panic("boom") })}
	d.Answers(models.SaySummary("Done."))
	d.Messages()
	const says = "summarize: observer summarize.OnEvent: it panicked: boom, and is not called again"
	require.EqualError(t, d.Close(), says)
	require.Contains(t, log.String(), says)
	require.Equal(t, 1, called)
}

func TestWaitsBetweenAttemptsAreBoundedAndReported(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		synctest.Test(t, func(t *testing.T) {
			d := newFixture(t, overflowing()...)
			d.Policy, d.Target.Model = p, down(&chat.TransientError{Err: errDown})
			d.Policy.Clear, d.Policy.Overflow.LastResort, d.Policy.Ask.Names = policy.Clear{}, policy.ResortError, nil
			begun := time.Now()
			d.Fails()
			var told time.Duration
			for _, e := range *d.Heard {
				if e.Kind == event.Retrying {
					require.ErrorIs(t, e.Err, errDown)
					told += e.Wait
				}
			}
			require.Equal(t, time.Since(begun), told)
			require.LessOrEqual(t, told, max(5*time.Second, p.Ask.RetryWait))
		})
	})
}

func TestAnErrorWhoseErrorMethodPanicsIsACallbackErrorOfItsFunction(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Target.Model = down((*chat.ContextLimitError)(nil))
	wrong := errtest.As[*chat.CallbackError](t, d.Fails())
	require.Equal(t, "the model", wrong.Name)
	require.NotEmpty(t, wrong.Stack())
}

func TestANilModelIsReportedAsUnknown(t *testing.T) {
	d := newFixture(t, overflowing()...)
	d.Policy.Ask.Names, d.Models = []string{"none"}, map[string]policy.Target{"none": {}}
	d.Answers(models.SaySummary("Done."))
	d.Messages()
	require.Contains(t, kinds(*d.Heard), "model unknown")
	require.Error(t, (&summarize.Compactor{Session: d.Session, Target: policy.Target{Tokenizer: quarter{}, Budget: budget}}).Retarget(t.Context(), policy.Target{}))
}

// hanging is a store whose appends hang while hangs is set.
type hanging struct {
	*storage.Memory
	hangs atomic.Bool
	until chan struct{}
}

func (h *hanging) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	if h.hangs.Load() {
		<-h.until
	}
	return h.Memory.Append(ctx, at, lines...)
}

// The wait for entries that are written after the context ended is bounded.
func TestAStoreThatHangsBlocksNeitherRenderNorClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{Memory: &storage.Memory{}, until: make(chan struct{})}
		s, err := history.New(t.Context(), store, history.Options{})
		require.NoError(t, err)
		require.NoError(t, s.Append(t.Context(), overflowing()...))
		ctx, cancel := context.WithCancelCause(t.Context())
		c := &summarize.Compactor{Session: s, Target: policy.Target{Tokenizer: quarter{}, Budget: budget}}
		c.Target.Model = chat.ModelFunc(func(ctx context.Context, _ chat.Request) (chat.Response, error) {
			store.hangs.Store(true)
			cancel(errDown)
			<-ctx.Done()
			return chat.Response{}, ctx.Err()
		})
		begun := time.Now()
		_, err = c.Render(ctx, prompt(s))
		require.ErrorIs(t, err, errDown)
		require.NoError(t, c.Close())
		require.LessOrEqual(t, time.Since(begun), 15*time.Second)
		close(store.until)
		synctest.Wait()
		store.hangs.Store(false)
		require.NoError(t, s.Refresh(t.Context()))
		require.NoError(t, s.Append(t.Context(), chat.UserMessage("on")))
	})
}
