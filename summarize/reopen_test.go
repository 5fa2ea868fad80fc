package summarize_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// The session is opened again at each step of random work, with reported usage and models that fail.
func TestReopenedSessionDecidesAndShowsTheSame(t *testing.T) {
	seeds := extremes.Cases(4)
	for name := range policies.All() {
		for seed := range seeds {
			t.Run(name+" "+strconv.Itoa(seed), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				r := rand.New(rand.NewPCG(uint64(seed), 7))
				first, err := history.Open(filepath.Join(dir, "session.jsonl"), history.Options{IDs: numbered.IDs(), Recall: true}) // no handle names the file
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, first.Close()) })
				d := fixtureOf(t, first, chat.UserMessage(task))
				n := 0
				var model chat.ModelFunc = models.Offline{Tokenizer: quarter{}}.Generate
				configure := func(d fixture) {
					d.Target.Name, d.Target.Model = "claude-opus-4-5", model
					d.Target.Tools = []chat.Tool{{Name: "read"}}
					d.Policy = policies.All()[name]
					d.Policy.Replace.NoBreadcrumb = true // it has the number of lines
					for i := range d.Policy.Trigger {
						d.Policy.Trigger[i].Background = false // a summary is in the session only once it is made
					}
					d.Policy.Clear.Rule.Keep = min(d.Policy.Clear.Rule.Keep, 1000)
					d.Policy.Clear.Rule.Saves = min(d.Policy.Clear.Rule.Saves, 200)
					d.Policy.Cut.Tokens = min(d.Policy.Cut.Tokens, 1000)
				}
				configure(d)
				for range 45 {
					n++
					d.Say(round(n, 100+r.IntN(300))...)
					if r.IntN(6) == 0 {
						d.Say(chat.UserMessage("More: " + words(1+r.IntN(100))))
					}
					if r.IntN(10) == 0 {
						d.Note(entry.Label{Target: d.Session.Leaf(), Text: "here"})
					}
					model = models.Offline{Tokenizer: quarter{}}.Generate
					if r.IntN(4) == 0 {
						model = (&models.Script{}).Generate // fails, without a step
					}
					d.Target.Model = model
					path := filepath.Join(dir, "copy.jsonl")
					require.NoError(t, os.WriteFile(path, []byte(content(t, d.Session.Path())), 0o600))
					copied, err := history.Open(path, history.Options{IDs: numbered.IDs(), Recall: true})
					require.NoError(t, err)
					again := fixtureOf(t, copied)
					configure(again)

					here, hereErr := d.Render(t.Context(), prompt(d.Session))
					there, thereErr := again.Render(t.Context(), prompt(copied))
					equal(t, explained(d), explained(again))
					require.Equal(t, hereErr == nil, thereErr == nil, "%v, %v", hereErr, thereErr)
					if hereErr == nil {
						equal(t, here.Messages, there.Messages)
						used := d.Usage(here, chat.Response{Usage: chat.Usage{Input: here.Tokens * (90 + r.IntN(40)) / 100}}, d.Session.Leaf())
						if r.IntN(3) > 0 {
							d.Note(used)
						}
					}
					require.NoError(t, again.Close())
					require.NoError(t, copied.Close())
				}
				_, cleared := d.Latest(entry.TypeClearing)
				require.True(t, cleared || len(compactions(d.Session)) > 0)
			})
		}
	}
}

// explained returns the explanation without times and the text of the error.
func explained(d fixture) policy.Explanation {
	e := d.Explain(context.Background())
	e.Measurement.Time, e.Measurement.Pause.Until, e.Err = time.Time{}, time.Time{}, ""
	return e
}
