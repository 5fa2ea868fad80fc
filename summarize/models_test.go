package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize"
)

var errDown = errors.New("the model is down")

func busy(after time.Duration) error {
	return &chat.TransientError{RetryAfter: after, Err: errors.New("busy")}
}

// hanging answers nothing until its context ends.
func hanging(ctx context.Context, _ chat.Request) (chat.Response, error) {
	<-ctx.Done()
	return chat.Response{}, fmt.Errorf("streaming: %w", ctx.Err())
}

// asked is a model that notes its name.
func asked(notes *[]string, name string, step summarize.Step) summarize.Candidate {
	return summarize.Candidate{Name: name, Model: chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
		*notes = append(*notes, name)
		return step(ctx, r)
	})}
}

var asking = chat.Request{Messages: []chat.Message{chat.UserMessage("Summarise.")}}

func TestCascade(t *testing.T) {
	panics := func(context.Context, chat.Request) (chat.Response, error) { panic("boom") }
	long := strings.Repeat("long ", 6)
	for _, c := range []struct {
		rule   string
		steps  map[string]summarize.Step
		order  string // of the candidates; the last after a bar
		accept func(chat.Response) error
		next   func(error) bool
		asked  string
		answer string
		err    string
	}{
		{rule: "the first that answers is the last to be asked", order: "a b | c", asked: "a", answer: "A",
			steps: map[string]summarize.Step{"a": summarize.Say("A")}},
		{rule: "a failure passes on to the next", order: "a b | c", asked: "a b", answer: "B",
			steps: map[string]summarize.Step{"a": summarize.Fail(errDown), "b": summarize.Say("B")}},
		{rule: "so does a panic", order: "a b | c", asked: "a b", answer: "B",
			steps: map[string]summarize.Step{"a": panics, "b": summarize.Say("B")}},
		{rule: "the chat's own model comes last", order: "a b | c", asked: "a b c", answer: "C",
			steps: map[string]summarize.Step{"a": summarize.Fail(errDown), "b": summarize.Fail(errDown), "c": summarize.Say("C")}},
		{rule: "but not where it was tried", order: "a b | a", asked: "a b",
			steps: map[string]summarize.Step{"a": summarize.Fail(errDown), "b": summarize.Fail(errDown)},
			err:   `summarize: no model gave an answer: "a": the model is down; then "b": the model is down`},
		{rule: "one without a name was never tried", order: "_ | _", asked: "_ _", answer: "",
			steps: map[string]summarize.Step{"_": summarize.Fail(errDown)}, err: `"": the model is down; then "": the model is down`},
		{rule: "an answer that is refused is a failure", order: "a b | c", asked: "a b", answer: long, accept: summarize.Accept(summarize.AtLeast(29)),
			steps: map[string]summarize.Step{"a": summarize.Say(long[:28]), "b": summarize.Say(long)}},
		{rule: "without a candidate there is an error", order: "|", err: "summarize: the cascade has no candidate with a model"},
		{rule: "where only some failures pass on, another stops it", order: "a b c | d", asked: "a b", next: summarize.Transient,
			steps: map[string]summarize.Step{"a": summarize.Fail(busy(0)), "b": summarize.Fail(errDown), "c": summarize.Say("C")},
			err:   `"a": chat: try again: busy; then "b": the model is down`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var got []string
			candidates, last, _ := strings.Cut(c.order, "|")
			cascade := summarize.Cascade{Accept: c.accept, Next: c.next}
			for _, name := range strings.Fields(candidates) {
				candidate := asked(&got, name, c.steps[name])
				candidate.Name = strings.Trim(name, "_")
				cascade.Candidates = append(cascade.Candidates, candidate)
			}
			if name := strings.TrimSpace(last); name != "" {
				cascade.Last = asked(&got, name, c.steps[name])
				cascade.Last.Name = strings.Trim(name, "_")
			}
			response, err := cascade.Generate(t.Context(), asking)
			require.Equal(t, c.asked, strings.Join(got, " "))
			if c.err == "" {
				require.NoError(t, err)
				require.Equal(t, c.answer, response.Message.Text())
				return
			}
			require.ErrorContains(t, err, c.err)
			failed, ok := errors.AsType[*summarize.CandidatesError](err)
			require.True(t, ok)
			require.Len(t, failed.Attempts, len(got))
			if len(got) > 0 {
				require.ErrorIs(t, err, errDown)
			}
		})
	}
}

func TestCandidateHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		cascade := summarize.Cascade{
			Candidates: []summarize.Candidate{
				{Name: "a", Model: chat.ModelFunc(hanging), Timeout: 30 * time.Second},
				{Name: "b", Model: chat.ModelFunc(hanging), Timeout: 10 * time.Second},
			},
			Last: summarize.Candidate{Name: "c", Model: &summarize.Script{Steps: []summarize.Step{summarize.Say("C")}}},
		}
		response, err := cascade.Generate(t.Context(), asking)
		require.NoError(t, err)
		require.Equal(t, "C", response.Message.Text())
		require.Equal(t, 40*time.Second, time.Since(start))

		_, err = cascade.Generate(t.Context(), asking)
		failed, _ := errors.AsType[*summarize.CandidatesError](err)
		late, ok := errors.AsType[*summarize.TimeoutError](failed.Attempts[1].Err)
		require.True(t, ok)
		require.Equal(t, 10*time.Second, late.After)
		require.ErrorIs(t, failed.Attempts[0].Err, context.DeadlineExceeded)
	})
}

func TestCancelledCascadeAsksNobodyElse(t *testing.T) {
	enough := errors.New("enough of this")
	for _, answer := range []summarize.Step{summarize.Fail(errDown), summarize.Say("too late")} {
		ctx, cancel := context.WithCancelCause(t.Context())
		var got []string
		cascade := summarize.Cascade{Candidates: []summarize.Candidate{
			asked(&got, "a", func(ctx context.Context, r chat.Request) (chat.Response, error) {
				cancel(enough)
				return answer(ctx, r)
			}),
			asked(&got, "b", summarize.Say("B")),
		}}
		_, err := cascade.Generate(ctx, asking)
		require.Equal(t, enough, err)
		require.Equal(t, []string{"a"}, got)
	}
}

func TestOnlyTheAnswerThatIsTakenStreams(t *testing.T) {
	says := func(text string, err error) chat.Model {
		return chat.ModelFunc(func(_ context.Context, r chat.Request) (chat.Response, error) {
			for _, word := range strings.Fields(text) {
				r.Stream(chat.Text(word))
			}
			return chat.Response{Message: chat.AssistantMessage(text)}, err
		})
	}
	for _, c := range []struct {
		model chat.Model
		want  string
	}{
		{summarize.Cascade{Candidates: []summarize.Candidate{{Model: says("no good", errDown)}, {Model: says("all well", nil)}}}, "all well"},
		{summarize.Cascade{Candidates: []summarize.Candidate{{Model: says("short", nil)}, {Model: says("long enough", nil)}}, Accept: summarize.Accept(summarize.AtLeast(6))}, "long enough"},
		{summarize.Cascade{Candidates: []summarize.Candidate{{Model: says("no", errDown)}}}, ""},
	} {
		var heard []string
		req := asking
		req.Stream = func(d chat.Delta) { heard = append(heard, string(d.(chat.Text))) }
		c.model.Generate(t.Context(), req)
		require.Equal(t, c.want, strings.Join(heard, " "))
	}
}

func TestPiecesOfCallsAreHeldBackAndComeInOrder(t *testing.T) {
	deltas := []chat.Delta{
		chat.Thinking{Text: "Hm."}, chat.Text("I read."), chat.CallDelta{ID: "a", Name: "read"},
		chat.CallDelta{Index: 1, ID: "b", Name: "read", Arguments: "{"}, chat.CallDelta{Arguments: "{}"}, chat.CallDelta{Index: 1, Arguments: "}"},
	}
	for _, c := range []struct {
		rule  string
		fails error // of the first attempt
		model func(chat.Model) chat.Model
	}{
		{"of a cascade", errDown, func(m chat.Model) chat.Model {
			return summarize.Cascade{Candidates: []summarize.Candidate{{Model: m}, {Model: m}}}
		}},
		{"of a retry", busy(0), func(m chat.Model) chat.Model { return summarize.Retry{Model: m, Wait: time.Nanosecond} }},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var heard []chat.Delta
			attempts := 0
			model := c.model(chat.ModelFunc(func(_ context.Context, r chat.Request) (chat.Response, error) {
				attempts++
				for _, d := range deltas {
					r.Stream(d)
					require.Empty(t, heard)
				}
				if attempts == 1 {
					return chat.Response{}, c.fails
				}
				return chat.Response{Message: chat.AssistantMessage("I read.")}, nil
			}))
			req := asking
			req.Stream = func(d chat.Delta) { heard = append(heard, d) }
			_, err := model.Generate(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, 2, attempts)
			require.Equal(t, deltas, heard)
		})
	}
}

func TestWhatHadArrivedBeforeAnErrorIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived := chat.Response{Message: chat.AssistantMessage("It is"), Usage: chat.Usage{Input: 3}}
		half := chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
			r.Stream(chat.Text("It is"))
			<-ctx.Done()
			return arrived, context.Cause(ctx)
		})
		failing := chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) { return arrived, busy(0) })
		enough := errors.New("enough of this")
		for _, c := range []struct {
			rule  string
			model chat.Model
			want  error
			heard int
		}{
			{"of a cascade", summarize.Cascade{Candidates: []summarize.Candidate{{Model: half}, {Model: half}}}, enough, 0},
			{"of a retry", summarize.Retry{Model: half}, enough, 0},
			{"of a retry that waits", summarize.Retry{Model: failing, Wait: time.Minute, MaxWait: time.Minute}, enough, 0},
			{"of the last attempt", summarize.Retry{Model: failing, Attempts: 1}, busy(0), 0},
			{"within a limit, which holds nothing back", summarize.Limit{Model: half}, enough, 1},
			{"in the time of a limit", summarize.Limit{Model: half, Timeout: time.Second}, &summarize.TimeoutError{After: time.Second}, 1},
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(3*time.Second, func() { cancel(enough) })
			heard := 0
			req := asking
			req.Stream = func(chat.Delta) { heard++ }
			got, err := c.model.Generate(ctx, req)
			require.EqualError(t, err, c.want.Error(), c.rule)
			require.Equal(t, arrived, got, c.rule)
			require.Equal(t, c.heard, heard, c.rule)
		}
	})
}

func TestRetry(t *testing.T) {
	limit := &chat.ContextLimitError{Limit: 1}
	for _, c := range []struct {
		rule  string
		retry summarize.Retry
		fails []error // then it answers
		asked int
		waits time.Duration
		err   error
	}{
		{rule: "what works is asked once", asked: 1},
		{rule: "a failure that may pass is asked again, after twice the wait each time", asked: 4, waits: (2 + 4 + 8) * time.Second,
			fails: []error{busy(0), busy(0), busy(0)}},
		{rule: "but not for ever", asked: 4, waits: 14 * time.Second, fails: []error{busy(0), busy(0), busy(0), busy(1)}, err: busy(1)},
		{rule: "as often as is set", retry: summarize.Retry{Attempts: 2, Wait: time.Minute, MaxWait: time.Hour}, asked: 2, waits: time.Minute,
			fails: []error{busy(0), busy(1)}, err: busy(1)},
		{rule: "the wait has a limit", retry: summarize.Retry{Attempts: 5, Wait: 4 * time.Second, MaxWait: 10 * time.Second}, asked: 5, waits: (4 + 8 + 10 + 10) * time.Second,
			fails: []error{busy(0), busy(0), busy(0), busy(0)}},
		{rule: "it is as long as the provider asks", asked: 3, waits: (20 + 4) * time.Second, fails: []error{busy(20 * time.Second), busy(3 * time.Second)}},
		{rule: "what asks for longer than the limit is given up", asked: 2, waits: 2 * time.Second,
			fails: []error{busy(0), busy(31 * time.Second)}, err: busy(31 * time.Second)},
		{rule: "a failure that will not pass is given up", asked: 1, fails: []error{errDown}, err: errDown},
		{rule: "so is an overflow", asked: 2, waits: 2 * time.Second, fails: []error{busy(0), limit}, err: limit},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				script := &summarize.Script{}
				for _, err := range c.fails {
					script.Steps = append(script.Steps, summarize.Fail(fmt.Errorf("asking: %w", err)))
				}
				script.Steps = append(script.Steps, summarize.Say("at last"))
				c.retry.Model = script
				response, err := c.retry.Generate(t.Context(), asking)
				require.Len(t, script.Requests(), c.asked)
				require.Equal(t, c.waits, time.Since(start))
				if c.err == nil {
					require.NoError(t, err)
					require.Equal(t, "at last", response.Message.Text())
				} else {
					require.Equal(t, "asking: "+c.err.Error(), err.Error())
				}
			})
		})
	}
}

func TestCancelledRetryDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		enough := errors.New("enough of this")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Second, func() { cancel(enough) })
		script := &summarize.Script{Steps: []summarize.Step{summarize.Fail(busy(0)), summarize.Fail(busy(0)), summarize.Say("too late")}}
		_, err := summarize.Retry{Model: script}.Generate(ctx, asking)
		require.Equal(t, enough, err)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Len(t, script.Requests(), 2)
	})
}

func TestModelsOfNothing(t *testing.T) {
	for _, model := range []chat.Model{summarize.Cascade{}, summarize.Retry{}, summarize.Limit{}, summarize.Remote{},
		summarize.Limit{Model: &summarize.Script{}, Window: 1}} {
		_, err := model.Generate(t.Context(), asking)
		require.ErrorContains(t, err, "summarize: ")
	}
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		rule          string
		limit         summarize.Limit
		wants, passed int
		refused       *chat.ContextLimitError
	}{
		{rule: "without limits all is as asked", wants: 7, passed: 7},
		{rule: "an answer of any length becomes one of a limit", limit: summarize.Limit{MaxTokens: 20_000}, passed: 20_000},
		{rule: "so does a longer one", limit: summarize.Limit{MaxTokens: 20_000}, wants: 20_001, passed: 20_000},
		{rule: "a shorter one stays", limit: summarize.Limit{MaxTokens: 20_000}, wants: 10, passed: 10},
		{rule: "what fits is sent", limit: summarize.Limit{Window: 8, Tokenizer: quarter{}}},
		{rule: "what is larger is not", limit: summarize.Limit{Window: 7, Tokenizer: quarter{}}, refused: &chat.ContextLimitError{Limit: 7, Tokens: 8}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			script := &summarize.Script{Steps: []summarize.Step{summarize.Say("ok")}}
			c.limit.Model = script
			req := asking
			req.Tools = []chat.Tool{{Name: "read", Description: "reads"}}
			req.Messages = []chat.Message{chat.UserMessage("12345678")}
			req.MaxTokens = c.wants
			_, err := c.limit.Generate(t.Context(), req)
			if c.refused != nil {
				equal(t, error(c.refused), err)
				require.Empty(t, script.Requests())
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.passed, script.Requests()[0].MaxTokens)
		})
	}
}

func TestLimitEndsTheModelsContextAndLeavesTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := summarize.Limit{Model: chat.ModelFunc(hanging), Timeout: time.Second}.Generate(t.Context(), asking)
		equal(t, error(&summarize.TimeoutError{After: time.Second}), err)
		require.NoError(t, t.Context().Err())
		require.True(t, summarize.Transient(err))

		// A deadline of the caller's own is not that of the limit.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = summarize.Limit{Model: chat.ModelFunc(hanging), Timeout: time.Second}.Generate(ctx, asking)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, late := errors.AsType[*summarize.TimeoutError](err)
		require.False(t, late)
	})
}
