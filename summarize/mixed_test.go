package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/checkpoints"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Environment variables with which long runs do more: the numbers of calls, of kills and of sessions.
const (
	mixedEnv = "PROMPTREE_SUMMARIZE_CALLS"
	killsEnv = "PROMPTREE_SUMMARIZE_KILLS"
	soakEnv  = "PROMPTREE_SUMMARIZE_SESSIONS"
)

// numberFrom returns the number in an environment variable, or fallback if it is not set.
func numberFrom(t *testing.T, env string, fallback int) int {
	t.Helper()
	text := os.Getenv(env)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// flaky is a slow model that fails now and then, in each way that a provider does.
func flaky(ctx context.Context, r chat.Request) (chat.Response, error) {
	select {
	case <-time.After(rand.N(2 * time.Millisecond)):
	case <-ctx.Done():
		return chat.Response{}, context.Cause(ctx)
	}
	switch rand.IntN(12) {
	case 0:
		return chat.Response{}, errDown
	case 1:
		return chat.Response{}, &chat.ContextLimitError{Limit: 3000, Tokens: 3100}
	case 2:
		panic("boom")
	case 3:
		runtime.Goexit()
	case 4:
		return models.Say("")(ctx, r)
	}
	return models.Offline{Tokenizer: quarter{}}.Generate(ctx, r)
}

// Several goroutines make every call of one compactor, with contexts that end at any time: nothing races, hangs or is
// left running, the session is valid, and another compactor can use it.
func TestEveryCallAtOnceLeavesTheSessionSound(t *testing.T) {
	t.Parallel()
	calls := numberFrom(t, mixedEnv, 600)
	const perSession = 300 // calls
	for begun := 0; begun < calls; begun += perSession {
		path := filepath.Join(t.TempDir(), "session.jsonl")
		s, err := history.Open(path, history.Options{IDs: numbered.IDs()})
		require.NoError(t, err)
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(task)))
		mixed(t, s, perSession)
		require.NoError(t, s.Close())

		store, err := storage.OpenFile(path, storage.FileOptions{})
		require.NoError(t, err)
		wrong, err := history.Verify(t.Context(), store)
		require.NoError(t, err)
		require.Empty(t, wrong)
		require.NoError(t, store.Close())

		s = opened(t, path)
		require.Nil(t, s.Recovered())
		require.NoError(t, chat.Validate(append(viewOf(t, s).Messages(), chat.UserMessage("on"))))
		ended := map[string]bool{}
		for e, err := range s.Back(t.Context(), "") { // a plan may have ended otherwise on another branch
			require.NoError(t, err)
			if end, ok := e.Body.(entry.PlanEnd); ok && end.Plan != "" && end.Outcome != entry.PlanRetried {
				require.False(t, ended[end.Plan], "plan %s ended twice", end.Plan)
				ended[end.Plan] = true
			}
		}
		d := fixtureOf(t, s)
		d.Target.Model = models.Offline{Tokenizer: quarter{}}
		d.Say(chat.UserMessage("And then?"))
		d.Messages()
		before := len(compactions(s))
		d.Say(rounds(100_000, 100_006, roundTokens)...)
		d.Messages()
		require.Greater(t, len(compactions(s)), before)
	}
}

// mixed makes the given number of random calls of one compactor, and closes it near the end.
func mixed(t *testing.T, s *history.Session, calls int) {
	d := summarize.Compactor{
		Session: s, Policy: inBackground(), Target: policy.Target{Model: chat.ModelFunc(flaky), Name: "flaky", Tokenizer: quarter{}, Budget: budget},
		Checkpoints: &checkpoints.Folder{Dir: filepath.Join(t.TempDir(), "checkpoints")},
		Observers:   []summarize.Observer{summarize.OnEvent(func(event.Event) {})},
	}
	d.Policy.Replace.Checkpoints, d.Policy.Ask.RetryWait = true, time.Millisecond
	d.Policy.Trigger = append(d.Policy.Trigger, policy.Condition{On: policy.OnContextLimit}, policy.Condition{On: policy.OnModelSwitch, Ratio: 0.5})
	d.Policy.Clear = policy.Clear{Rule: history.ClearRule{Keep: 2500}}
	d.Policy.Branch.On = true
	var acknowledged sync.Map // the ids of calls
	renders := func(ctx context.Context, _ int) error {
		r, err := d.Render(ctx, prompt(s))
		if err == nil && (r.Tokens > budget || chat.Validate(append(r.Messages, chat.UserMessage("on"))) != nil) {
			t.Errorf("%d tokens, %v", r.Tokens, chat.Validate(r.Messages))
		}
		return err
	}
	list := []func(ctx context.Context, n int) error{
		func(ctx context.Context, n int) error {
			err := s.Append(ctx, round(n, 100+rand.IntN(500))...)
			if err == nil {
				acknowledged.Store(fmt.Sprintf("call-%d", n), true)
			}
			return err
		},
		func(ctx context.Context, n int) error {
			return s.Append(ctx, chat.UserMessage(fmt.Sprint("Question ", n)))
		},
		renders,
		renders,
		func(ctx context.Context, _ int) error {
			_, err := d.Recover(ctx, prompt(s), &chat.ContextLimitError{Limit: 3900, Tokens: 4000}, "")
			return err
		},
		func(ctx context.Context, n int) error {
			target := d.Current()
			target.Name, target.Budget = fmt.Sprint("flaky-", n%3), budget-n%2*500
			_, err := d.SwitchModel(ctx, prompt(s), target)
			return err
		},
		func(ctx context.Context, _ int) error { _, err := d.Compact(ctx, ""); return err },
		func(ctx context.Context, _ int) error { _, err := d.Compact(ctx, "Keep the names."); return err },
		func(ctx context.Context, _ int) error { _, err := d.AfterTurn(ctx, prompt(s)); return err },
		func(context.Context, int) error { d.Abort(); return nil },
		func(ctx context.Context, _ int) error { _, err := d.Pending(ctx); return err },
		func(ctx context.Context, _ int) error { return d.Wait(ctx) },
		func(ctx context.Context, _ int) error { _ = d.Explain(ctx); return nil },
		func(ctx context.Context, n int) error {
			if n%4 > 0 {
				return nil
			}
			_, err := d.Navigate(ctx, pastEntry(ctx, s), summarize.Navigation{})
			return err
		},
		func(ctx context.Context, n int) error {
			if n%8 > 0 {
				return nil
			}
			return s.Branch(ctx, pastEntry(ctx, s))
		},
	}
	var group sync.WaitGroup
	const workers = 6
	for worker := range workers {
		group.Go(func() {
			for n := range calls / workers {
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(3) == 0 {
					time.AfterFunc(rand.N(4*time.Millisecond), cancel)
				}
				if err := list[rand.IntN(len(list))](ctx, worker*calls+n+1); errors.As(err, new(*policy.TimeoutError)) {
					t.Errorf("nothing takes so long: %v", err)
				}
				if worker == 0 && n == calls/workers-5 {
					if err := d.Close(); err != nil { // while the others go on
						t.Error(err)
					}
				}
				cancel()
			}
		})
	}
	group.Wait()
	require.NoError(t, d.Close())
	_, err := d.Render(t.Context(), prompt(s))
	require.ErrorIs(t, err, summarize.ErrCompactorClosed)
	for _, m := range said(s) {
		acknowledged.Delete(m.ToolCallID)
	}
	acknowledged.Range(func(id, _ any) bool { t.Errorf("%v is lost", id); return true })
}

// pastEntry returns the id of an entry a little before the leaf.
func pastEntry(ctx context.Context, s *history.Session) string {
	id, left := "", 1+rand.IntN(6)
	for e, err := range s.Back(ctx, "") {
		if err != nil {
			break
		}
		if id = e.ID; left == 0 && e.Message().Role != chat.RoleAssistant {
			break
		}
		left = max(0, left-1)
	}
	return id
}
