package summarize_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// secret is replaced by Options.Redact of the sessions below.
const secret = "hunter2-4711"

// telltale is a model that names the secret in its answers and errors.
type telltale struct {
	mu    sync.Mutex
	calls int
	leaks []string // the requests that hold the secret
}

func (m *telltale) Generate(ctx context.Context, r chat.Request) (chat.Response, error) {
	text, err := json.Marshal(r.Messages)
	if err != nil {
		return chat.Response{}, err
	}
	m.mu.Lock()
	m.calls++
	n := m.calls
	if strings.Contains(string(text), secret) {
		m.leaks = append(m.leaks, fmt.Sprintf("request %d", n))
	}
	m.mu.Unlock()
	switch n % 7 {
	case 0:
		return chat.Response{}, errors.New("invalid key " + secret)
	case 1:
		return chat.Response{}, &chat.TransientError{Err: errors.New("overloaded for " + secret)}
	case 2:
		return models.Say("No: "+secret)(ctx, r)
	case 3:
		return chat.Response{}, &chat.ContextLimitError{Limit: 3000, Tokens: 4000, Err: errors.New("the request of " + secret + " is too large")}
	case 4:
		return chat.Response{Message: chat.AssistantMessage("<summary>\n" + secret), StopReason: chat.StopMaxTokens}, nil
	}
	return models.SaySummary("# The key "+secret+"\n\nThe user works with the key "+secret+", and the work goes on as it was asked for.\n"+strings.Repeat("The key is "+secret+".\n", n%3*200))(ctx, r)
}

// locked is a text to which several goroutines write.
type locked struct {
	mu sync.Mutex
	strings.Builder
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(p)
}

func TestARedactedSecretIsInNothingThatIsToldOrWritten(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		t.Parallel()
		for _, background := range []bool{false, true} {
			t.Run(fmt.Sprintf("background %v", background), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &storage.Memory{}
					s, err := history.New(t.Context(), store, history.Options{Redact: func(p entry.Passage) string { return strings.ReplaceAll(p.Text, secret, "[key]") }})
					require.NoError(t, err)
					d := fixtureOf(t, s)
					model := &telltale{}
					d.Policy, d.Target.Model, d.Target.Name = p, model, "m"
					d.Policy.Ask.Names = nil
					var told locked // everything that is told
					var log bytes.Buffer
					logger := summarize.Log{Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
					events := 0
					d.Observers = []summarize.Observer{logger, summarize.OnEvent(func(e event.Event) {
						events++
						text := sure.JSON(t, e)
						fmt.Fprintln(&told, string(text), e.String(), e.Summary, e.Title, e.Why, e.Mended)
						if e.Err != nil {
							fmt.Fprintln(&told, "error of event", e.Kind, e.Err.Error())
						}
					})}
					tell := func(what string, err error) {
						if err != nil {
							fmt.Fprintln(&told, "error of", what, err.Error())
						}
						fmt.Fprintln(&told, "explained:", d.Explain(t.Context()).String())
					}
					root := prompt(s)
					size := 600
					if background {
						size = 300
					}
					steps := agent.Agent{Compactor: d.Unjudged(), Prompt: root, Retry: agent.Retry{Attempts: 2}}
					for n := range 14 {
						d.Say(chat.UserMessage(fmt.Sprintf("Step %d with %s.", n, secret)))
						d.Say(round(n, size)...)
						_, err := d.Render(t.Context(), root)
						tell("Render", err)
						_, err = d.Recover(t.Context(), root, &chat.ContextLimitError{Limit: 2000, Tokens: 3000, Err: errors.New("the request of " + secret + " is too large")}, "")
						tell("Recover:", err)
						_, err = d.Recover(t.Context(), root, errors.New("the key "+secret+" is not known"), "")
						tell("Recovering from another error", err)
						if n%5 == 4 {
							_, err = d.Compact(t.Context(), "")
							tell("Compact", err)
						}
						d.Say(chat.UserMessage("And now?"))
						_, err = steps.Step(t.Context())
						tell("Step", err)
						time.Sleep(time.Minute)
						require.NoError(t, d.Wait(t.Context()))
					}
					require.Positive(t, events)
					require.Positive(t, model.calls)
					seen := map[string]bool{}
					for line := range strings.Lines(told.String() + log.String()) {
						if what := line[:min(len(line), 40)]; strings.Contains(line, secret) && !seen[what] {
							seen[what] = true
							t.Errorf("the secret is in %s", strings.TrimSpace(line[:min(len(line), 600)]))
						}
					}
					for _, e := range entries(t, s) {
						if strings.Contains(string(sure.JSON(t, e.Body)), secret) {
							t.Errorf("the secret is in entry %s of type %s", e.ID, e.Type())
						}
					}
					require.Empty(t, model.leaks, "requests that hold the secret")
				})
			})
		}
	})
}
