package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/ohmypi"
)

// deed is what a function of a caller's does while it is sick.
type deed string

const (
	panics   deed = "panics"
	exits    deed = "exits"
	hangs    deed = "hangs"
	nonsense deed = "nonsense"
)

// patient is a desk one of whose functions is sick for a time.
type patient struct {
	desk
	deed    deed
	sick    atomic.Bool
	met     atomic.Bool // it was called meanwhile
	release chan struct{}
}

// acts is called at the start of a function that is sick, and reports whether it is to return nonsense.
func (p *patient) acts() bool {
	if !p.sick.Load() {
		return false
	}
	p.met.Store(true)
	switch p.deed {
	case panics:
		panic("boom")
	case exits:
		runtime.Goexit()
	case hangs:
		<-p.release
	}
	return p.deed == nonsense
}

// sickTokenizer counts as quarter does.
type sickTokenizer struct {
	quarter
	p *patient
}

func (t *sickTokenizer) CountMessage(m chat.Message) int {
	if t.p.acts() {
		return -3
	}
	return t.quarter.CountMessage(m)
}

func (t *sickTokenizer) CountTools(tools []chat.Tool) int {
	if t.p.acts() {
		return 1 << 40
	}
	return t.quarter.CountTools(tools)
}

// sickHandler logs nothing.
type sickHandler struct {
	slog.Handler
	p *patient
}

func (h sickHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h sickHandler) Handle(context.Context, slog.Record) error {
	if h.p.acts() {
		return errDown
	}
	return nil
}

type sickTracer struct{ p *patient }

func (t sickTracer) TraceStart(context.Context, summarize.Work) context.Context {
	t.p.acts()
	return nil
}
func (t sickTracer) TraceEvent(context.Context, summarize.Event)     { t.p.acts() }
func (t sickTracer) TraceEnd(context.Context, *render.Result, error) { t.p.acts() }

// sickFunctions are by the names that errors and events call them by; says is what an error or event says of the nonsense,
// "" where there is none.
var sickFunctions = []struct {
	name, says string
	set        func(p *patient)
}{
	{"OnEvent", "", func(p *patient) {
		hear := p.OnEvent
		p.OnEvent = func(e summarize.Event) { hear(e); p.acts() }
	}},
	{"Logger", "", func(p *patient) { p.Logger = slog.New(sickHandler{slog.DiscardHandler, p}) }},
	{"Tracer", "", func(p *patient) { p.Tracer = sickTracer{p} }},
	{"hook BeforeCompact", "the summary of a hook: summarize: the answer cannot be used: it is empty", func(p *patient) {
		p.Hooks.BeforeCompact = func(context.Context, summarize.Occasion, summarize.Material) (i summarize.Intervention, _ error) {
			if p.acts() {
				i.Summary = &history.Summary{Text: " \xff\u200b"[:1]}
			}
			return i, nil
		}
	}},
	{"hook AfterCompact", "connection refused", func(p *patient) {
		p.Hooks.AfterCompact = func(context.Context, history.Entry) error { return p.err() }
	}},
	{"hook Interrupt", "connection refused", func(p *patient) { p.Hooks.Interrupt = func(context.Context) error { return p.err() } }},
	{"hook Workspace", "connection refused", func(p *patient) {
		p.Hooks.Workspace = func(context.Context) (summarize.Workspace, error) { return summarize.Workspace{}, p.err() }
	}},
	{"hook BeforeBranch", "connection refused", func(p *patient) {
		p.Hooks.BeforeBranch = func(context.Context, string, string) (summarize.Intervention, error) {
			return summarize.Intervention{}, p.err()
		}
	}},
	{"hook AfterBranch", "connection refused", func(p *patient) {
		p.Hooks.AfterBranch = func(context.Context, string, string, *history.BranchSummary) error { return p.err() }
	}},
	{"Prompt.Request", "it returned a prompt without a message", func(p *patient) {
		ask := &p.Policy.Ask.Prompts[0]
		ask.Request = p.tree(ask.Request)
		p.Policy.Branch.Prompt = summarize.BranchPrompt()
		p.Policy.Branch.Prompt.Request = p.tree(p.Policy.Branch.Prompt.Request)
	}},
	{"Prompt.Prefix", "it returned a prompt without a message", func(p *patient) {
		p.Policy.Ask.Prompts[0].Prefix = p.tree(p.Policy.Ask.Prompts[0].Prefix)
	}},
	{"Prompt.Title", "it returned a prompt without a message", func(p *patient) {
		p.Policy.Ask.Prompts[0].Title = p.tree(p.Policy.Ask.Prompts[0].Title)
	}},
	{"Prompt.Merge", "it is empty", func(p *patient) {
		merge := p.Policy.Ask.Prompts[0].Merge
		p.Policy.Ask.Prompts[0].Merge = func(history, prefix string) string {
			if p.acts() {
				return "\u200b"
			}
			return merge(history, prefix)
		}
	}},
	{"Prompt.Read", "it is empty", func(p *patient) {
		read := func(r chat.Response) (string, error) {
			if p.acts() {
				return " ", nil
			}
			return summarize.ReadAll(r)
		}
		p.Policy.Ask.Prompts[0].Read, p.Policy.Branch.Prompt = read, summarize.BranchPrompt()
		p.Policy.Branch.Prompt.Read = read
	}},
	{"Ask.Checks[0]", "connection refused", func(p *patient) {
		p.Policy.Ask.Checks = []summarize.Check{func(summarize.Material) error { return p.err() }}
	}},
	{"Place.Replacement", "what is put in place is messages of the user", func(p *patient) {
		p.Policy.Place.Replacement = func(m summarize.Material) elements.Node {
			if p.acts() {
				return elements.SystemMessage{Children: elements.Nodes{elements.Text("Obey.")}}
			}
			return summarize.ConversationSummary(m)
		}
	}},
	{"Place.FileTools", "", func(p *patient) {
		p.Policy.Place.FileTools = history.FileTools{"read": func(string) history.Files { p.acts(); return history.Files{} }}
	}},
	{"Clear.Rule", "", func(p *patient) {
		p.Policy.Clear = summarize.Clear{Always: true, Rule: history.ClearRule{Keep: 3000, Placeholder: func(history.ClearedOutput) string {
			p.acts()
			return "[cleared]"
		}}}
	}},
	{"Runner", "connection refused", func(p *patient) {
		p.Runner = summarize.RunnerFunc(func(context.Context, *history.Session, string) error { return p.err() })
	}},
	{"model gpt", `a message of the role "user"`, func(p *patient) {
		healthy := p.Target.Model
		p.Target.Model = chat.ModelFunc(func(ctx context.Context, req chat.Request) (chat.Response, error) {
			if p.acts() {
				return chat.Response{Message: chat.UserMessage("Me again.")}, nil
			}
			return healthy.Generate(ctx, req)
		})
	}},
	{"Target.Tokenizer", "it counted", func(p *patient) { p.Target.Tokenizer = &sickTokenizer{p: p} }},
}

// err returns what a function returns that returns nothing but an error.
func (p *patient) err() error {
	if p.acts() {
		return errDown
	}
	return nil
}

// tree returns a function of a prompt.
func (p *patient) tree(healthy func(summarize.Material) elements.Node) func(summarize.Material) elements.Node {
	return func(m summarize.Material) elements.Node {
		if p.acts() {
			return nil
		}
		return healthy(m)
	}
}

// sickCalls are calls of a compactor that compact. Each begins with what is healthy.
var sickCalls = map[string]func(ctx context.Context, p *patient) error{
	"render": func(ctx context.Context, p *patient) error {
		p.sick.Store(true)
		_, err := p.Render(ctx, prompt(p.Session))
		return err
	},
	"background": func(ctx context.Context, p *patient) error {
		p.Policy.Trigger = summarize.Trigger{{Cap: 2000, Background: true}, {On: summarize.OnBudgetExceeded}}
		p.Target.Budget = 100_000
		p.sick.Store(true)
		_, first := p.Render(ctx, prompt(p.Session))
		waited := p.Wait(ctx)
		_, then := p.Render(ctx, prompt(p.Session))
		return errors.Join(first, waited, then)
	},
	"recover": func(ctx context.Context, p *patient) error {
		p.Policy.Trigger = summarize.Trigger{{On: summarize.OnContextLimit}, {On: summarize.OnBudgetExceeded}}
		p.Target.Budget = 100_000
		p.sick.Store(true)
		_, err := p.Recover(ctx, prompt(p.Session), &chat.ContextLimitError{Limit: 4000, Tokens: 4500}, "")
		return err
	},
	"switch model": func(ctx context.Context, p *patient) error {
		small := p.Target
		p.Target.Budget = 100_000
		p.sick.Store(true)
		_, err := p.SwitchModel(ctx, prompt(p.Session), small)
		return err
	},
	"on demand": func(ctx context.Context, p *patient) error {
		p.Target.Budget = 100_000
		if _, err := p.Render(ctx, prompt(p.Session)); err != nil {
			return err
		}
		p.sick.Store(true)
		_, err := p.Compact(ctx, "")
		return err
	},
	"after turn": func(ctx context.Context, p *patient) error {
		p.sick.Store(true)
		_, err := p.AfterTurn(ctx, prompt(p.Session))
		return err
	},
	"navigate": func(ctx context.Context, p *patient) error {
		p.sick.Store(true)
		_, err := p.Navigate(ctx, "e1", summarize.Navigation{Summarise: true})
		return err
	},
	"close": func(ctx context.Context, p *patient) error {
		p.Policy.Trigger = summarize.Trigger{{Cap: 2000, Background: true}, {On: summarize.OnBudgetExceeded}}
		p.Target.Budget = 100_000
		p.sick.Store(true)
		_, err := p.Render(ctx, prompt(p.Session))
		return err
	},
}

// Each function of a caller's misbehaves during each call: the call returns, an error or an event has the function's name, and
// the session is compacted as soon as the function is healthy again.
func TestAFunctionThatMisbehavesIsNamedAndTheNextCallWorks(t *testing.T) {
	deeds := []deed{panics, exits, hangs, nonsense}
	met, all := make([]bool, len(deeds)), 0 // by some function
	for _, f := range sickFunctions {
		everMet, ran := false, 0
		for call, run := range sickCalls {
			for i, do := range deeds {
				if do == nonsense && f.says == "" || race && do != hangs { // the others leave nothing that could race
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", f.name, call, do), func(t *testing.T) {
					ran++
					synctest.Test(t, func(t *testing.T) {
						p := newPatient(t, do)
						f.set(p)
						ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
						defer cancel()
						told := []error{run(ctx, p)}
						if call == "close" {
							synctest.Wait() // until it hangs, or is done
							told = append(told, p.Close())
						}
						time.Sleep(time.Minute) // for what is done afterwards
						synctest.Wait()
						p.sick.Store(false)
						if p.met.Load() {
							met[i], everMet = true, true
							requireNamed(t, p, f.name, f.says, told)
						}
						if do == hangs {
							requireHealthy(t, p) // meanwhile
						}
						close(p.release)
						synctest.Wait()
						requireHealthy(t, p)
						_ = p.Close() // which may tell of a listener
					})
				})
			}
		}
		if ran > 0 {
			all++
		}
		require.True(t, everMet || ran < len(sickCalls), "%s is never called", f.name)
	}
	for i := range deeds {
		require.True(t, met[i] || race || all < len(sickFunctions), deeds[i])
	}
}

func newPatient(t *testing.T, do deed) *patient {
	p := &patient{desk: newDesk(t, chat.UserMessage("The first question.")), deed: do, release: make(chan struct{})}
	p.Say(rounds(1, 2, roundTokens)...)
	p.Say(chat.AssistantMessage("Done."), chat.UserMessage(task))
	p.Say(rounds(3, 6, roundTokens)...)
	p.Policy = ohmypi.Policy()
	p.Policy.Trigger, p.Policy.Clear, p.Policy.Cut = nil, summarize.Clear{}, history.Cut{}
	p.Policy.Place.Max = 400 // so that there is something to relieve
	p.Target.Name, p.Target.ContextWindow = "gpt", 2*budget
	p.Target.Model = chat.ModelFunc(models.Say("## Goal\nThe build is being fixed, step by step."))
	return p
}

// requireNamed checks that an error that was returned, or an event, names the function, or says what was nonsense.
func requireNamed(t *testing.T, p *patient, name, says string, told []error) {
	t.Helper()
	for _, e := range *p.Heard {
		told = append(told, e.Err)
	}
	told = append(told, p.closed(t))
	var all []string
	for _, err := range told {
		if err == nil {
			continue
		}
		all = append(all, err.Error())
		if p.deed == nonsense {
			if strings.Contains(err.Error(), says) {
				return
			}
			continue
		}
		wrong, ok := errors.AsType[*summarize.CallbackError](err)
		late, timed := errors.AsType[*summarize.TimeoutError](err)
		if ok && strings.Contains(wrong.Name, name) || timed && strings.Contains(late.Name, name) {
			return
		}
	}
	if name == "OnEvent" && p.deed != hangs {
		return // nobody else listens; a Logger would be told
	}
	require.Fail(t, "it is not named", "%s\n%s", kinds(*p.Heard), strings.Join(all, "\n"))
}

// closed returns what closing another compactor would say: nothing, unless a listener of this one is called no more.
func (p *patient) closed(t *testing.T) error {
	t.Helper()
	if p.deed != hangs {
		return nil
	}
	return p.Late()
}

// requireHealthy checks that the session is compacted by a compactor of its own, and that the patient renders.
func requireHealthy(t *testing.T, p *patient) {
	t.Helper()
	require.NoError(t, chat.Validate(append(viewOf(t, p.Session).Messages(), chat.UserMessage("on"))))
	d := deskOf(t, p.Session)
	d.Target.Model = models.Offline{Tokenizer: quarter{}}
	before := len(compactions(p.Session))
	d.Say(chat.UserMessage("And then?"))
	d.Say(rounds(50+10*before, 55+10*before, roundTokens)...)
	if pending, err := d.Pending(t.Context()); err == nil && pending != summarize.PendingNone {
		time.Sleep(10 * time.Minute) // until nobody may carry the plan out any more
	}
	d.Messages()
	require.Greater(t, len(compactions(p.Session)), before)
	require.NoError(t, d.Close())
	if result, err := p.Render(t.Context(), prompt(p.Session)); !errors.Is(err, summarize.ErrClosed) {
		require.NoError(t, err)
		require.NoError(t, chat.Validate(result.Messages))
	}
}

func TestACallThatWaitsSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, release := newDesk(t, overflowing()...), make(chan struct{})
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
		d, release := background(t), make(chan struct{})
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

func TestAListenerThatFailsIsToldToTheOther(t *testing.T) {
	var log strings.Builder
	d := newDesk(t, overflowing()...)
	d.Logger, d.OnEvent = slog.New(slog.NewTextHandler(&log, nil)), func(summarize.Event) { panic("boom") }
	d.Answers(models.SaySummary("Done."))
	d.Messages()
	require.Contains(t, log.String(), "summarize: OnEvent: it panicked: boom")
}

func TestWhatAModelIsWaitedForIsBoundedAndTold(t *testing.T) {
	all(t, func(t *testing.T, p summarize.Policy) {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, overflowing()...)
			d.Policy, d.Target.Model = p, down(&chat.TransientError{Err: errDown})
			d.Policy.Clear, d.Policy.Overflow.LastResort, d.Policy.Ask.Names = summarize.Clear{}, summarize.ResortError, nil
			begun := time.Now()
			d.Fails()
			var told time.Duration
			for _, e := range *d.Heard {
				if e.Kind == summarize.EventRetrying {
					require.ErrorIs(t, e.Err, errDown)
					told += e.Wait
				}
			}
			require.Equal(t, time.Since(begun), told)
			require.LessOrEqual(t, told, max(5*time.Second, p.Ask.RetryWait))
		})
	})
}

func TestAnErrorWhoseTextPanicsIsThatOfItsFunction(t *testing.T) {
	d := newDesk(t, overflowing()...)
	d.Target.Model = down((*chat.ContextLimitError)(nil))
	wrong, ok := errors.AsType[*summarize.CallbackError](error(d.Fails()))
	require.True(t, ok)
	require.Equal(t, "the model", wrong.Name)
	require.NotEmpty(t, wrong.Stack())
}

func TestAModelThatIsNilIsToldOf(t *testing.T) {
	d := newDesk(t, overflowing()...)
	d.Policy.Ask.Names, d.Models = []string{"none"}, map[string]summarize.Target{"none": {}}
	d.Answers(models.SaySummary("Done."))
	d.Messages()
	require.Contains(t, kinds(*d.Heard), "model unknown")
	require.Error(t, (&summarize.Compactor{Session: d.Session, Target: summarize.Target{Tokenizer: quarter{}, Budget: budget}}).Retarget(t.Context(), summarize.Target{}))
}

// hanging is a store whose appends hang once it is told to.
type hanging struct {
	*storage.Memory
	now   atomic.Bool
	until chan struct{}
}

func (h *hanging) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	if h.now.Load() {
		<-h.until
	}
	return h.Memory.Append(ctx, at, lines...)
}

// What is written in any case is not waited for without an end: a store that hangs holds neither a render nor Close.
func TestAStoreThatHangsHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{Memory: &storage.Memory{}, until: make(chan struct{})}
		s, err := history.New(t.Context(), store, history.Options{})
		require.NoError(t, err)
		require.NoError(t, s.Append(t.Context(), overflowing()...))
		ctx, cancel := context.WithCancelCause(t.Context())
		c := &summarize.Compactor{Session: s, Target: summarize.Target{Tokenizer: quarter{}, Budget: budget}}
		c.Target.Model = chat.ModelFunc(func(ctx context.Context, _ chat.Request) (chat.Response, error) {
			store.now.Store(true)
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
		store.now.Store(false)
		require.NoError(t, s.Refresh(t.Context()))
		require.NoError(t, s.Append(t.Context(), chat.UserMessage("on")))
	})
}
