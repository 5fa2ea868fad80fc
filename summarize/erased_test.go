package summarize_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// What a model answers to a request that showed something is not written once that was erased: no summary, no part of one
// and no title. The session goes on, and is compacted again.
func TestAnAnswerUnderWayIsNotWrittenAfterAnErasure(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for _, background := range []bool{false, true} {
			for when := range 3 { // the request during which it is erased
				bubble(t, fmt.Sprintf("background %v, request %d", background, when), func(t *testing.T) {
					d := newFixture(t)
					d.Policy = p
					d.Policy.Ask.Names = nil
					d.Target.ContextWindow = 2400 // a summary takes several requests
					var mu sync.Mutex
					asked, erased := 0, ""
					var id string
					d.Always(func(ctx context.Context, r chat.Request) (chat.Response, error) {
						mu.Lock()
						defer mu.Unlock()
						says := "the work"
						if strings.Contains(text(r.Messages), secret) {
							says = secret
							if asked++; asked > when && erased == "" {
								for ids := []string{id}; len(ids) > 0; {
									e, err := d.Session.Erase(ctx, ids...)
									require.NoError(t, err)
									ids = append(e.Holders, e.Summaries...)
								}
								erased = id
							}
						}
						return models.SaySummary("## The key\n\n"+strings.Repeat("It went on with "+says+" in main.go. ", 30))(ctx, r)
					})
					u := d.Unjudged()
					d.Say(chat.UserMessage("The key is " + secret + "."))
					id = d.Session.Leaf()
					size := 600
					if background {
						size = 200
					}
					for n := range 24 {
						d.Say(round(n, size)...)
						_, err := u.Render(t.Context(), prompt(d.Session))
						require.NoError(t, err, n)
						synctest.Wait()
						time.Sleep(time.Minute)
					}
					require.NoError(t, u.Wait(t.Context()))
					require.NotEmpty(t, erased)
					require.NotEmpty(t, compactions(d.Session))
					for _, e := range entries(t, d.Session) {
						require.NotContains(t, fmt.Sprint(e.Body), secret)
					}
				})
			}
		}
	})
}

func TestASummaryOfABranchIsNotWrittenAfterAnErasure(t *testing.T) {
	d := newFixture(t, rounds(1, 2, 100)...)
	start := d.Session.Leaf()
	d.Say(chat.UserMessage("The key is " + secret + "."))
	id := d.Session.Leaf()
	d.Say(round(3, 100)...)
	from := d.Session.Leaf()
	says := models.SaySummary(strings.Repeat("The key is "+secret+". ", 30))
	d.Always(func(ctx context.Context, r chat.Request) (chat.Response, error) {
		_, err := d.Session.Erase(ctx, id)
		require.NoError(t, err)
		return says(ctx, r)
	})
	_, err := d.Unjudged().Navigate(t.Context(), start, summarize.Navigation{Summarize: true})
	require.ErrorContains(t, err, "erased")
	e, err := d.Session.Entry(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, from, e.Parent, "the session stays where it is")
	for _, e := range entries(t, d.Session) {
		require.NotContains(t, fmt.Sprint(e.Body), secret)
	}
}
