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

// patience is the time for which a client waits for an answer before it disconnects.
const patience = 5 * time.Second

// load is a set of conversations that run until it is stopped.
type load struct {
	t      *testing.T
	f      *fleet
	seed   uint64
	ctx    context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup
	gate   sync.RWMutex // held for reading during a step
	list   []*conversation

	answers, cut, conflicts, busy, branches, compacts atomic.Int64
}

// newLoad starts conversations: some with their own session, and pairs that share one.
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
		c.sent = map[string]string{}
		l.list = append(l.list, c)
	}
	f.t.Cleanup(l.stop)
	for _, c := range l.list {
		l.ended.Go(c.run)
	}
	return l
}

// stop stops the load, even during steps.
func (l *load) stop() {
	l.cancel()
	l.ended.Wait()
}

// pause waits until no step runs, and prevents new ones until goOn is called.
func (l *load) pause() (goOn func()) {
	l.gate.Lock()
	return l.gate.Unlock
}

// wrong reports a violated rule.
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

// conversation is a client with a session and its knowledge of that session.
type conversation struct {
	l            *load
	number       int
	name, tenant string
	shared       bool // another client uses the session too
	client       *client
	r            *rand.Rand

	known     []message         // the path, as the service acknowledged or showed it
	left      [][]message       // paths left for a branch
	sent      map[string]string // the texts it has sent, with the id of the entry, "" if not acknowledged
	pending   string            // the text that is sent and not yet acknowledged
	branching string            // the entry of a branch whose outcome is unknown
	numbers   int               // number of messages sent
}

func (c *conversation) String() string {
	return fmt.Sprintf("client %d in %s of %s", c.number, c.name, c.tenant)
}

// run makes steps until the load is stopped.
func (c *conversation) run() {
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

// step makes one request, and recovers from its failure.
func (c *conversation) step() {
	ctx, cancel := context.WithTimeout(c.l.ctx, patience)
	defer cancel()
	base := c.l.f.base(c.r)
	what := c.r.IntN(100)
	switch {
	case c.pending != "":
		c.resume(ctx, base)
	case what < 5 && !c.shared && len(c.known) > 4:
		c.branch(ctx, base)
	case what < 9:
		c.compact(ctx, base)
	case what < 20:
		c.read(ctx, base)
	default:
		c.numbers++
		words := 60 + c.r.IntN(300)
		if c.r.IntN(12) == 0 {
			words = window / 6 // the prompt overflows at once
		}
		c.pending = fmt.Sprintf("%s of %s, client %d, message %d.%s", c.name, c.tenant, c.number, c.numbers, prose(c.r, words))
		if c.numbers%2 == 0 {
			c.pending += " Look into the transcript."
		}
		c.sent[c.pending] = ""
		c.say(ctx, base)
	}
}

// prose returns a text of random words.
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

// say sends the pending text, after the newest message that the client knows.
func (c *conversation) say(ctx context.Context, base string) {
	c.answered(c.client.stream(ctx, base, c.path()+"/messages", map[string]string{"text": c.pending, "after": newest(c.known)}, c.hear))
}

// resume reads the transcript. If the pending text is missing, it sends it again; if it has no answer, it asks for one.
func (c *conversation) resume(ctx context.Context, base string) {
	if !c.read(ctx, base) {
		return
	}
	last := len(c.known) - 1
	switch {
	case c.sent[c.pending] == "":
		c.say(ctx, c.l.f.base(c.r))
	case last < 0 || c.known[last].Role == "assistant" && len(c.known[last].Calls) == 0:
		c.pending = ""
	default:
		c.answered(c.client.stream(ctx, c.l.f.base(c.r), c.path()+"/messages", struct{}{}, c.hear))
	}
}

// answered handles the end of a stream.
func (c *conversation) answered(err error) {
	if err == nil {
		c.pending = ""
		c.l.answers.Add(1)
		return
	}
	c.failed(err)
}

// failed handles an error, which must be one that the contract allows.
func (c *conversation) failed(err error) {
	e, ok := errors.AsType[*refusedError](err)
	switch {
	case c.l.ctx.Err() != nil:
		return
	case !ok:
		c.l.cut.Add(1) // the process was killed or does not answer
	case e.Status == http.StatusConflict, e.Type == "conflict":
		c.l.conflicts.Add(1)
		return
	case e.Status == http.StatusTooManyRequests, e.Status == http.StatusServiceUnavailable:
		c.l.busy.Add(1)
	case e.Status >= 500, e.Status == http.StatusOK, e.Status == http.StatusRequestTimeout:
		c.l.cut.Add(1) // the database failed
	default:
		c.l.wrong("%v: refused: %v", c, err)
	}
	c.sleep(time.Duration(10+c.r.IntN(50)) * time.Millisecond)
}

// hear handles an event.
func (c *conversation) hear(e event) {
	switch e.Name {
	case "said":
		c.sent[c.pending], c.branching = e.Data.Entry, "" // a branch that arrives later is a conflict
		c.known = append(c.known, message{Entry: e.Data.Entry, Role: "user", Text: c.pending})
	case "answer":
		c.known = append(c.known, message{Entry: e.Data.Entry, Role: "assistant", Text: e.Data.Text})
		if e.Data.Tokens <= 0 || e.Data.Tokens > e.Data.Budget {
			c.l.wrong("%v: a prompt has %d tokens, the budget is %d", c, e.Data.Tokens, e.Data.Budget)
		}
	case "result":
		c.known = append(c.known, message{Entry: e.Data.Entry, Role: "tool"})
	case "compaction":
		if e.Data.TokensAfter > e.Data.TokensBefore {
			c.l.wrong("%v: after a compaction the prompt has %d tokens, before it %d", c, e.Data.TokensAfter, e.Data.TokensBefore)
		}
	}
}

// read reads the transcript, and reports whether that succeeded.
func (c *conversation) read(ctx context.Context, base string) bool {
	list, err := c.client.transcript(ctx, base, c.name)
	if err != nil {
		c.failed(err)
		return false
	}
	if c.branching != "" && newest(list) == c.branching {
		c.branched()
	}
	if err := c.checkTranscript(list); err != nil {
		c.l.wrong("%v: %v", c, err)
		return false
	}
	c.known = list
	return true
}

// checkTranscript checks a transcript against the acknowledged messages: each is there, once and in order, and each
// unacknowledged one at most once. Messages found in the transcript count as acknowledged from then on.
func (c *conversation) checkTranscript(list []message) error {
	at := 0
	for _, m := range c.known {
		i := slices.IndexFunc(list[at:], func(l message) bool { return l.said() == m.said() })
		if i < 0 {
			return fmt.Errorf("%s %s was acknowledged and is missing: %s", m.Role, m.Entry, brief(m.Text))
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
		entry, own := c.sent[m.Text]
		switch {
		case own && entry != "" && entry != m.said():
			return fmt.Errorf("%q is in %s and in %s", brief(m.Text), entry, m.Entry)
		case own:
			c.sent[m.Text] = m.said()
		case !c.shared:
			return fmt.Errorf("%q was sent by nobody", brief(m.Text))
		}
	}
	return nil
}

// inOrder checks the order of the messages in a transcript.
func inOrder(list []message) error {
	said := map[string]string{}
	for i, m := range list {
		if other := said[m.Text]; m.Role == "user" && other != "" {
			return fmt.Errorf("%q is in both %s and %s", brief(m.Text), other, m.Entry)
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
	i := c.r.IntN(len(c.known) - 1)
	for i > 0 && !(c.known[i].Role == "assistant" && c.known[i+1].Role == "user") {
		i--
	}
	if i == 0 {
		return
	}
	c.branching = c.known[i].Entry
	err := c.client.call(ctx, http.MethodPost, base, c.path()+"/branch", map[string]string{"entry": c.branching}, nil)
	if err != nil { // the branch may or may not have been made; a transcript will show it
		c.failed(err)
		return
	}
	c.branched()
}

// branched records a branch.
func (c *conversation) branched() {
	i := slices.IndexFunc(c.known, func(m message) bool { return m.Entry == c.branching })
	c.left, c.known, c.branching = append(c.left, c.known), slices.Clone(c.known[:i+1]), ""
	c.l.branches.Add(1)
}

// compact asks for a compaction.
func (c *conversation) compact(ctx context.Context, base string) {
	err := c.client.call(ctx, http.MethodPost, base, c.path()+"/compact", map[string]string{}, nil)
	if err == nil {
		c.l.compacts.Add(1)
	} else if !refused(err, "nothing_to_compact") && !refused(err, "not_found") {
		c.failed(err)
	}
}
