//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long a client waits for an answer before it goes away.
const patience = 5 * time.Second

// load is conversations that go on until it is stopped.
type load struct {
	t      *testing.T
	f      *fleet
	seed   uint64
	ctx    context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup
	gate   sync.RWMutex // held for reading in the middle of a step
	list   []*conversation

	budget                                            atomic.Int64 // of a prompt
	answers, cut, conflicts, busy, branches, compacts atomic.Int64
}

// newLoad begins so many conversations, each with a session of its own, and pairs of clients that share one.
func newLoad(f *fleet, seed uint64, alone, pairs int) *load {
	l := &load{t: f.t, f: f, seed: seed}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	owners := slices.Sorted(maps.Keys(tenants))
	for n := range alone + 2*pairs {
		c := &conversation{l: l, number: n, name: fmt.Sprint("talk-", n/len(owners)), tenant: owners[n%len(owners)]}
		if n >= alone {
			c.name, c.tenant, c.shared = fmt.Sprint("shared-", (n-alone)/2), owners[0], true
		}
		c.client = newClient(tenants[c.tenant])
		c.r = rand.New(rand.NewPCG(seed, uint64(n+1)))
		c.mine = map[string]string{}
		l.list = append(l.list, c)
	}
	f.t.Cleanup(l.stop)
	for _, c := range l.list {
		l.ended.Go(c.goOn)
	}
	return l
}

// stop ends the load, in the middle of steps too.
func (l *load) stop() {
	l.cancel()
	l.ended.Wait()
}

// pause waits until no step is being made, and makes none until the function that it returns is called.
func (l *load) pause() (goOn func()) {
	l.gate.Lock()
	return l.gate.Unlock
}

// wrong reports a rule that does not hold.
func (l *load) wrong(format string, args ...any) {
	if l.ctx.Err() == nil {
		l.t.Errorf(format, args...)
		l.cancel()
	}
}

func (l *load) String() string {
	return fmt.Sprintf("%d answers, %d streams cut, %d conflicts, %d times busy, %d branches, %d compactions on demand",
		l.answers.Load(), l.cut.Load(), l.conflicts.Load(), l.busy.Load(), l.branches.Load(), l.compacts.Load())
}

// conversation is a client with a session, and what it knows of that.
type conversation struct {
	l            *load
	number       int
	name, tenant string
	shared       bool // another client talks in the session
	client       *client
	r            *rand.Rand

	made    bool              // the session
	told    []message         // the path, as far as the service acknowledged or showed it
	left    [][]message       // paths that were left for a branch
	mine    map[string]string // what it has said, with the id of the entry, "" if nobody acknowledged it
	pending string            // what it says and does not know to be there
	perhaps string            // an entry of the path that a branch may have been made at
	numbers int               // of messages said
}

func (c *conversation) String() string {
	return fmt.Sprintf("client %d in %s of %s", c.number, c.name, c.tenant)
}

// goOn makes steps until the load is stopped.
func (c *conversation) goOn() {
	for c.l.ctx.Err() == nil {
		if c.l.gate.TryRLock() {
			c.step()
			c.l.gate.RUnlock()
		}
		c.sleep(time.Duration(c.r.IntN(20)) * time.Millisecond)
	}
}

func (c *conversation) sleep(d time.Duration) {
	select {
	case <-c.l.ctx.Done():
	case <-time.After(d):
	}
}

func (c *conversation) path() string { return "/v1/sessions/" + c.name }

// step does one thing, and gets over its failure.
func (c *conversation) step() {
	ctx, cancel := context.WithTimeout(c.l.ctx, patience)
	defer cancel()
	base := c.l.f.base(c.r)
	if !c.made {
		err := c.client.call(ctx, http.MethodPost, base, "/v1/sessions", map[string]string{"name": c.name}, nil)
		if e, ok := errors.AsType[*refusedError](err); err == nil || ok && e.Status == http.StatusConflict {
			c.made = true
		} else {
			c.failed(err)
		}
		return
	}
	what := c.r.IntN(100)
	switch {
	case c.pending != "":
		c.resume(ctx, base)
	case what < 5 && !c.shared && len(c.told) > 4:
		c.branch(ctx, base)
	case what < 9:
		c.compact(ctx, base)
	case what < 20:
		c.read(ctx, base)
	default:
		c.numbers++
		words := 60 + c.r.IntN(300)
		if c.r.IntN(12) == 0 {
			words = window / 6 // so that a prompt overflows at once
		}
		c.pending = fmt.Sprintf("%s of %s, client %d, message %d.%s", c.name, c.tenant, c.number, c.numbers, prose(c.r, words))
		if c.numbers%2 == 0 {
			c.pending += " Look into the transcript."
		}
		c.mine[c.pending] = ""
		c.say(ctx, base)
	}
}

// prose is so many words.
func prose(r *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		b.WriteByte(' ')
		for range 2 + r.IntN(6) {
			b.WriteByte(byte('a' + r.IntN(26)))
		}
	}
	return b.String()
}

// newest returns the newest message that the client knows of, "" for none.
func newest(told []message) string {
	if len(told) == 0 {
		return ""
	}
	return told[len(told)-1].Entry
}

// say says what is pending behind what the client knows.
func (c *conversation) say(ctx context.Context, base string) {
	c.answered(c.client.stream(ctx, base, c.path()+"/messages", map[string]string{"text": c.pending, "after": newest(c.told)}, c.hear))
}

// resume reads whether what is pending is there: if not it is said again, and if it was not answered an answer is asked for.
func (c *conversation) resume(ctx context.Context, base string) {
	if !c.read(ctx, base) {
		return
	}
	last := len(c.told) - 1
	switch {
	case c.mine[c.pending] == "":
		c.say(ctx, c.l.f.base(c.r))
	case last < 0 || c.told[last].Role == "assistant" && len(c.told[last].Calls) == 0:
		c.pending = ""
	default:
		c.answered(c.client.stream(ctx, c.l.f.base(c.r), c.path()+"/answer", struct{}{}, c.hear))
	}
}

// answered takes in how a stream ended.
func (c *conversation) answered(err error) {
	if err == nil {
		c.pending = ""
		c.l.answers.Add(1)
		return
	}
	c.failed(err)
}

// failed takes in an error: the contract names those that there may be.
func (c *conversation) failed(err error) {
	e, ok := errors.AsType[*refusedError](err)
	switch {
	case c.l.ctx.Err() != nil:
		return
	case !ok:
		c.l.cut.Add(1) // the process is gone, or does not answer
	case e.Status == http.StatusConflict, e.Type == "conflict":
		c.l.conflicts.Add(1)
		return
	case e.Status == http.StatusTooManyRequests, e.Status == http.StatusServiceUnavailable:
		c.l.busy.Add(1)
	case e.Status >= 500, e.Status == http.StatusOK:
		c.l.cut.Add(1) // of the database
	default:
		c.l.wrong("%v: refused: %v", c, err)
	}
	c.sleep(time.Duration(10+c.r.IntN(50)) * time.Millisecond)
}

// hear takes in an event.
func (c *conversation) hear(e event) {
	switch e.Name {
	case "said":
		c.mine[c.pending], c.perhaps = e.Data.Entry, "" // a branch that comes now is a conflict
		c.told = append(c.told, message{Entry: e.Data.Entry, Role: "user", Text: c.pending})
	case "answer":
		c.told = append(c.told, message{Entry: e.Data.Entry, Role: "assistant", Text: e.Data.Text})
		if e.Data.Tokens <= 0 || e.Data.Tokens > e.Data.Budget {
			c.l.wrong("%v: an answer was made of %d tokens, the budget is %d", c, e.Data.Tokens, e.Data.Budget)
		}
		c.l.budget.Store(int64(e.Data.Budget))
	case "result":
		c.told = append(c.told, message{Entry: e.Data.Entry, Role: "tool"})
	case "compaction":
		if e.Data.TokensAfter > e.Data.TokensBefore {
			c.l.wrong("%v: a compaction made %d tokens of %d", c, e.Data.TokensAfter, e.Data.TokensBefore)
		}
	}
}

// read reads the transcript, and reports whether it could.
func (c *conversation) read(ctx context.Context, base string) bool {
	list, err := c.client.transcript(ctx, base, c.name)
	if err != nil {
		c.failed(err)
		return false
	}
	if c.perhaps != "" && newest(list) == c.perhaps {
		c.branched()
	}
	if err := c.agrees(list); err != nil {
		c.l.wrong("%v: %v", c, err)
		return false
	}
	c.told = list
	return true
}

// agrees holds a transcript against what was told: everything is there, once and in order, and what nobody acknowledged is there
// at most once. What turns out to be there is acknowledged from then on.
func (c *conversation) agrees(list []message) error {
	at := 0
	for _, m := range c.told {
		i := slices.IndexFunc(list[at:], func(l message) bool { return l.Entry == m.Entry })
		if i < 0 {
			return fmt.Errorf("%s %s was acknowledged, and is not where it stood: %s", m.Role, m.Entry, brief(m.Text))
		}
		at += i + 1
		if l := list[at-1]; l.Role != m.Role || m.Role != "tool" && l.Text != m.Text {
			return fmt.Errorf("%s %s was acknowledged as %q, and is %s %q", m.Role, m.Entry, brief(m.Text), l.Role, brief(l.Text))
		}
	}
	if err := inOrder(list); err != nil {
		return err
	}
	for _, m := range list {
		if m.Role != "user" {
			continue
		}
		entry, own := c.mine[m.Text]
		switch {
		case own && entry != "" && entry != m.Entry:
			return fmt.Errorf("%q stands in %s, and in %s too", brief(m.Text), entry, m.Entry)
		case own:
			c.mine[m.Text] = m.Entry
		case !c.shared:
			return fmt.Errorf("%q was said by nobody", brief(m.Text))
		}
	}
	return nil
}

// inOrder holds what follows what in a transcript against the rules.
func inOrder(list []message) error {
	said := map[string]string{}
	for i, m := range list {
		if other := said[m.Text]; m.Role == "user" && other != "" {
			return fmt.Errorf("%q stands in %s and in %s", brief(m.Text), other, m.Entry)
		} else if m.Role == "user" {
			said[m.Text] = m.Entry
		}
		if i > 0 && m.Role == "assistant" && list[i-1].Role == "assistant" && len(list[i-1].Calls) == 0 {
			return fmt.Errorf("two answers follow each other: %s and %s", list[i-1].Entry, m.Entry)
		}
	}
	return nil
}

// brief returns the beginning of a text.
func brief(text string) string {
	if i := strings.Index(text, "."); i >= 0 && i < 80 {
		return text[:i]
	}
	return text[:min(len(text), 60)]
}

// branch goes back to an answer.
func (c *conversation) branch(ctx context.Context, base string) {
	i := c.r.IntN(len(c.told) - 1)
	for i > 0 && !(c.told[i].Role == "assistant" && c.told[i+1].Role == "user") {
		i--
	}
	if i == 0 {
		return
	}
	c.perhaps = c.told[i].Entry
	err := c.client.call(ctx, http.MethodPost, base, c.path()+"/branch", map[string]string{"entry": c.perhaps}, nil)
	if err != nil { // it was made, or is about to be, or not: a transcript will tell
		c.failed(err)
		return
	}
	c.branched()
}

// branched takes in that a branch was made.
func (c *conversation) branched() {
	i := slices.IndexFunc(c.told, func(m message) bool { return m.Entry == c.perhaps })
	c.left, c.told, c.perhaps = append(c.left, c.told), slices.Clone(c.told[:i+1]), ""
	c.l.branches.Add(1)
}

// compact asks for a compaction.
func (c *conversation) compact(ctx context.Context, base string) {
	err := c.client.call(ctx, http.MethodPost, base, c.path()+"/compact", map[string]string{}, nil)
	if err == nil {
		c.l.compacts.Add(1)
	} else if !refused(err, "nothing_to_compact") {
		c.failed(err)
	}
}
