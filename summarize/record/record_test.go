package record_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/record"
)

// recorded returns a compactor with a context window of 4,000 tokens, and its recorder.
func recorded(t *testing.T) (*record.Recorder, *summarize.Compactor) {
	t.Helper()
	tokenizer := sizing.Estimator{}
	r := new(record.Recorder)
	c := &summarize.Compactor{
		Session: numbered.Session(), Observers: []summarize.Observer{r},
		Policy: policy.Policy{Ask: policy.Ask{Judge: policy.Judge{Off: true}}}, // a digest of what repeats itself
		Target: policy.Target{
			Model: models.Offline{Tokenizer: tokenizer}, Name: "made-up", Tokenizer: tokenizer, Budget: 4000, ContextWindow: 4000,
			Prices: sizing.Prices{Rates: sizing.Rates{Input: 2, CacheRead: 0.2, Output: 10}, Lifetime: time.Hour},
		},
	}
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return r, c
}

// says plays a step: the user says a text and the model answers.
func says(t *testing.T, r *record.Recorder, c *summarize.Compactor, text string) {
	t.Helper()
	require.NoError(t, c.Session.Append(t.Context(), chat.UserMessage(text)))
	result, err := c.Render(t.Context(), compacttest.Prompt(c.Session))
	require.NoError(t, err)
	response := chat.Response{Message: chat.AssistantMessage("answer to " + text[:8]), Usage: chat.Usage{Input: result.Tokens, CacheRead: result.Tokens / 2, Output: 10}}
	require.NoError(t, c.Session.Append(t.Context(), response.Message))
	require.NoError(t, r.Step(t.Context(), c, result, response))
}

// page is the data of a page.
type page struct {
	Texts    []string
	Prompts  []struct{ Breakdown render.Breakdown }
	Messages []struct{ Parts []struct{ Text int } }
	Steps    []struct {
		Did         int
		Dollars     float64
		Explain     string
		Usage       chat.Usage
		Notes       []int
		Break, Lost *inspect.StepCacheBreak
		Compactions []struct {
			Before, After  int
			Why            string
			Shown, Covered []int
		}
	}
}

// text returns the text of a message.
func (p page) text(message int) string { return p.Texts[p.Messages[message].Parts[0].Text-1] }

func pageOf(t *testing.T, r *record.Recorder) page {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.Write(&b, inspect.Options{}))
	return dataOf(t, b)
}

func dataOf(t *testing.T, b bytes.Buffer) (p page) {
	t.Helper()
	_, rest, _ := strings.Cut(b.String(), `type="application/json">`)
	data, _, _ := strings.Cut(rest, "</script>")
	require.NoError(t, json.Unmarshal([]byte(data), &p))
	return p
}

func TestAStepNamesTheBytesOfItsBody(t *testing.T) {
	r, c := recorded(t)
	says(t, r, c, "a body without a limit")
	c.Target.MaxBytes = 100_000
	require.NoError(t, c.Retarget(t.Context(), c.Target))
	says(t, r, c, "a body with a limit")
	p := pageOf(t, r)
	require.NotContains(t, p.Steps[0].Explain, "body:")
	require.Regexp(t, `body: [1-9]\d* of 90000 bytes`, p.Steps[1].Explain)
}

func TestACompactionIsShownWithTheMessagesThatItCovers(t *testing.T) {
	r, c := recorded(t)
	for i := range 30 {
		says(t, r, c, fmt.Sprintf("message %d %s", i, strings.Repeat("word ", 300)))
	}
	p := pageOf(t, r)
	require.Len(t, p.Steps, 30)
	var covered []string
	for _, s := range p.Steps {
		require.NotEmpty(t, s.Explain)
		require.InDelta(t, float64(s.Usage.Input-s.Usage.CacheRead)*2e-6+float64(s.Usage.CacheRead)*0.2e-6+10*10e-6, s.Dollars, 1e-9)
		require.Equal(t, "answer to message", p.Texts[s.Did-1])
		for _, done := range s.Compactions {
			require.Less(t, done.After, done.Before)
			require.NotEmpty(t, done.Shown)
			require.Regexp(t, `\d+ of \d+ tokens|^\d+ is `, done.Why)
			for _, m := range done.Covered {
				covered = append(covered, p.text(m))
			}
		}
	}
	require.NotEmpty(t, covered)
	said := map[string]bool{}
	for e, err := range c.Session.Entries(t.Context()) {
		require.NoError(t, err)
		if m, shown := e.Shown(); shown {
			said[m.Text()] = true
		}
	}
	words := 0
	for _, text := range covered {
		if said[text] {
			words++
		}
	}
	require.Greater(t, words, 4, "messages of the session are among the covered")
}

func TestThePageSaysWhereTheTokensAreAsTheEventsDo(t *testing.T) {
	r, c := recorded(t)
	c.Target.Tools = []chat.Tool{{Name: "read", Description: "reads a file"}}
	var events []render.Breakdown
	c.Observers = append(c.Observers, summarize.OnEvent(func(e event.Event) {
		if e.Kind == event.Usage {
			events = append(events, e.Breakdown)
		}
	}))
	for i := range 5 {
		says(t, r, c, fmt.Sprintf("message %d", i))
	}
	p := pageOf(t, r)
	require.Len(t, p.Prompts, 5)
	for i, step := range p.Prompts {
		require.Equal(t, events[i], step.Breakdown)
		require.Positive(t, step.Breakdown.History)
		require.Positive(t, step.Breakdown.Tools)
	}
	require.Positive(t, finishedPage(t, c.Session, sizing.Prices{}).Prompts[4].Breakdown.History)
}

func TestAFailedCompactionIsANote(t *testing.T) {
	r, c := recorded(t)
	c.Target.Model = chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{}, fmt.Errorf("no summary today")
	})
	c.Policy.Overflow.LastResort = policy.ResortTruncate
	for i := range 16 {
		says(t, r, c, fmt.Sprintf("message %d %s", i, strings.Repeat("word ", 300)))
	}
	p := pageOf(t, r)
	var notes []string
	for _, s := range p.Steps {
		for _, n := range s.Notes {
			notes = append(notes, p.Texts[n-1])
		}
	}
	require.Contains(t, strings.Join(notes, "\n"), "no summary today")
}

// finishedPage returns the data of the page that Session makes of a session.
func finishedPage(t *testing.T, s *history.Session, prices sizing.Prices) page {
	t.Helper()
	log, err := record.Session(t.Context(), s, sizing.Estimator{}, 0, prices)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, inspect.Session(&b, log, inspect.Options{}))
	return dataOf(t, b)
}

func TestAFinishedSessionHasTheStepsThatWereRecorded(t *testing.T) {
	r, c := recorded(t)
	for i := range 30 {
		says(t, r, c, fmt.Sprintf("message %d %s", i, strings.Repeat("word ", 300)))
	}
	was, is := pageOf(t, r), finishedPage(t, c.Session, sizing.Prices{})
	require.Len(t, is.Steps, len(was.Steps))
	compactions := 0
	for i, want := range was.Steps {
		got := is.Steps[i]
		require.Equal(t, was.Texts[want.Did-1], is.Texts[got.Did-1])
		require.Len(t, got.Compactions, len(want.Compactions), "step %d", i)
		for k, done := range want.Compactions {
			compactions++
			other := got.Compactions[k]
			require.Equal(t, was.text(done.Shown[0]), is.text(other.Shown[0]))
			require.Len(t, other.Covered, len(done.Covered))
			require.Less(t, other.After, other.Before)
			require.Equal(t, done.Why, other.Why)
		}
	}
	require.Positive(t, compactions)
}

func TestARequestOfWhichLessThanHalfIsCachedHasAMark(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	clock := numbered.NewClock(at)
	s := numbered.Replay(clock)
	for i, tt := range []struct {
		after  time.Duration
		cached int
	}{{0, 0}, {time.Minute, 900}, {time.Minute, 0}, {time.Minute, 1100}, {8 * time.Minute, 60}, {time.Minute, 1300}} {
		at = at.Add(tt.after)
		clock.Set(at)
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(fmt.Sprint("question ", i))))
		answer := sessiontest.Add(t, s, entry.Entry{Time: at, Body: entry.Message{Message: chat.AssistantMessage(fmt.Sprint("answer ", i))}})
		sessiontest.Add(t, s, entry.Entry{Body: entry.Usage{Of: answer[0].ID, Usage: chat.Usage{Input: 1000 + 100*i, CacheRead: tt.cached, CacheWrite: 1000 + 100*i - tt.cached}}})
	}
	p := finishedPage(t, s, sizing.Prices{Rates: sizing.Rates{Input: 2, CacheRead: 0.2, CacheWrite: 2.5, Output: 10}, Lifetime: 5 * time.Minute})
	require.Len(t, p.Steps, 6)
	for i, step := range p.Steps {
		require.Equal(t, i == 2, step.Break != nil, "step %d", i)
		require.Equal(t, i == 4, step.Lost != nil, "step %d", i)
	}
	broke, gone := p.Steps[2].Break, p.Steps[4].Lost
	require.Equal(t, 1100, broke.Tokens)
	require.InDelta(t, 1100*2.3e-6, broke.Dollars, 1e-9)
	require.Equal(t, "The provider read 0 tokens from its cache, 1m0s after the request before", broke.Why)
	require.Equal(t, 1300-60, gone.Tokens)
	require.Contains(t, gone.Why, "read 60 tokens from its cache, 8m0s after")
}

func TestARecorderWithoutStepsHasNoPage(t *testing.T) {
	require.ErrorIs(t, new(record.Recorder).Write(io.Discard, inspect.Options{}), inspect.ErrNoPrompts)
}

func Example() {
	ctx := context.Background()
	tokenizer := sizing.Estimator{}
	var recorder record.Recorder
	session, err := history.New(ctx, new(storage.Memory), history.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	compactor := &summarize.Compactor{
		Session: session, Observers: []summarize.Observer{&recorder},
		Target: policy.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 4000},
	}
	defer compactor.Close()
	if err := session.Append(ctx, chat.UserMessage("How many Go files are there?")); err != nil {
		fmt.Println(err)
		return
	}
	result, err := compactor.Render(ctx, elements.Nodes{
		history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := recorder.Step(ctx, compactor, result, chat.Response{Message: chat.AssistantMessage("42")}); err != nil {
		fmt.Println(err)
		return
	}
	var page bytes.Buffer
	if err := recorder.Write(&page, inspect.Options{Title: "Run", HideContent: true}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Contains(page.String(), "<title>Run</title>"), strings.Contains(page.String(), "Go files"))
	// Output:
	// true false
}
