package summarize_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// openSession is a session that is open for a number of rounds.
type openSession struct {
	path       string
	session    *history.Session
	compactor  *summarize.Compactor
	rounds, at int // the rounds until it is closed, and those so far
}

// Sessions are opened, compacted several times and closed, a hundred at a time.
func TestSessionsInRotationTakeBoundedMemory(t *testing.T) {
	sessions := numberFrom(t, soakEnv, 40)
	const workers, each = 4, 25
	const most = 1 << 30 // bytes
	names := slices.Sorted(maps.Keys(policies.All()))
	dir, before := t.TempDir(), runtime.NumGoroutine()
	open := func(n int) (openSession, error) {
		one := openSession{path: filepath.Join(dir, fmt.Sprint(n, ".jsonl")), rounds: 20 + n%20}
		store, err := storage.OpenFile(one.path, storage.FileOptions{Sync: storage.SyncNever})
		if err != nil {
			return one, err
		}
		if one.session, err = history.New(t.Context(), store, history.Options{IDs: numbered.IDs()}); err != nil {
			return one, err
		}
		p := policies.All()[names[n%len(names)]]
		p.Ask.Names, p.Replace.Max, p.Ask.Judge.Off = nil, 400, true // the history repeats itself
		one.compactor = &summarize.Compactor{
			Session: one.session, Policy: p, Observers: []summarize.Observer{summarize.OnEvent(func(event.Event) {})},
			Target: policy.Target{Model: models.Offline{Tokenizer: quarter{}}, Tokenizer: quarter{}, Budget: budget},
		}
		return one, one.session.Append(t.Context(), chat.UserMessage(task))
	}
	closeDown := func(one openSession) error {
		if err := one.compactor.Close(); err != nil {
			return err
		}
		if len(compactions(one.session)) < 2 {
			return fmt.Errorf("%s was compacted %d times", one.compactor.Policy.Name, len(compactions(one.session)))
		}
		if err := one.session.Close(); err != nil {
			return err
		}
		return os.Remove(one.path)
	}
	addRound := func(one *openSession) error {
		if err := one.session.Append(t.Context(), round(one.at, 400)...); err != nil {
			return err
		}
		one.at++
		_, err := one.compactor.Render(t.Context(), prompt(one.session))
		return err
	}
	runtime.GC()
	var first runtime.MemStats
	runtime.ReadMemStats(&first) // what the tests before left
	var held uint64              // of the heap in use
	var mu sync.Mutex
	watch := func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		mu.Lock()
		defer mu.Unlock()
		held = max(held, m.HeapInuse)
	}
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			opened := make([]openSession, 0, each)
			for n, done := worker, 0; n < sessions || len(opened) > 0; done++ {
				for ; len(opened) < each && n < sessions; n += workers {
					one, err := open(n)
					if err != nil {
						t.Error(err)
						return
					}
					opened = append(opened, one)
				}
				if done%500 == 0 {
					watch()
				}
				at := done % len(opened)
				name := opened[at].compactor.Policy.Name
				err := addRound(&opened[at])
				if err == nil && opened[at].at == opened[at].rounds {
					err = closeDown(opened[at])
					opened[at] = opened[len(opened)-1]
					opened[len(opened)-1] = openSession{}
					opened = opened[:len(opened)-1]
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, held, first.HeapInuse+most)
	for until := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
	t.Logf("%d sessions: %d MB of the heap in use at the peak, %d MB before", sessions, held>>20, first.HeapInuse>>20)
}
