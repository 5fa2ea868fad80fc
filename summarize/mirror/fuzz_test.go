package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/mirror"
)

// A hostMessage is a message as an application may have it: one for all results of a round, ids of calls that it may lack,
// and a field that no session holds.
type hostMessage struct {
	Role  chat.Role
	Texts []string // several for results
	Calls []string // ids of calls, or of the calls that are answered
	Extra map[string]any
}

func fromHost(m *hostMessage) (list []chat.Message, err error) {
	if m.Role != chat.RoleTool {
		c := chat.Message{Role: m.Role}
		for _, text := range m.Texts {
			c.Content = append(c.Content, chat.Text(text))
		}
		for i, id := range m.Calls {
			c.ToolCalls = append(c.ToolCalls, chat.ToolCall{ID: id, Name: "read", Arguments: fmt.Sprintf(`{"n":%d}`, i)})
		}
		return []chat.Message{c}, nil
	}
	for i, id := range m.Calls {
		list = append(list, chat.ToolResult(id, m.Texts[i]))
	}
	return list, nil
}

func toHost(list []chat.Message) (out []*hostMessage, err error) {
	for _, c := range list {
		m := &hostMessage{Role: c.Role, Texts: []string{c.Text()}}
		if c.Role == chat.RoleTool {
			m.Calls = []string{c.ToolCallID}
		}
		for _, call := range c.ToolCalls {
			m.Calls = append(m.Calls, call.ID)
		}
		out = append(out, m)
	}
	return out, nil
}

// faulty is a store whose writes fail when it is told so, before or after the lines were written, and during whose next
// write something else happens.
type faulty struct {
	storage.Memory
	before, after bool
	meanwhile     func()
}

var errDisk = errors.New("disk on fire")

func (f *faulty) Append(ctx context.Context, at storage.Position, lines ...storage.Line) ([]storage.Position, error) {
	if happens := f.meanwhile; happens != nil {
		f.meanwhile = nil
		happens()
	}
	if f.before {
		return nil, errDisk
	}
	ends, err := f.Memory.Append(ctx, at, lines...)
	if f.after && err == nil {
		return nil, errDisk
	}
	return ends, err
}

// host is an application with a list, and processes in which mirrors of it run on one store.
type host struct {
	*testing.T
	*rand.Rand
	store    *faulty
	mirrors  []*mirror.Mirror[*hostMessage]
	list     []*hostMessage
	earlier  [][]*hostMessage
	n        int             // texts made
	everSaid map[string]bool // texts that a Fit was passed
	stats    map[string]int
}

// process returns a mirror of a new process.
func (h *host) process() *mirror.Mirror[*hostMessage] {
	s := sessiontest.New(h, h.store, history.Options{})
	m := &mirror.Mirror[*hostMessage]{Compactor: compactorOn(h, s, 1500), From: fromHost, To: toHost}
	return m
}

func (h *host) text() string {
	h.n++
	words := strings.Repeat("abc ", h.IntN(60))
	if h.IntN(20) == 0 {
		words = strings.Repeat("\n", 3)
	}
	return fmt.Sprintf("<%d> %s", h.n, words)
}

func (h *host) message(role chat.Role, calls ...string) *hostMessage {
	m := &hostMessage{Role: role, Texts: []string{h.text()}, Calls: calls, Extra: map[string]any{"at": h.n}}
	if role == chat.RoleTool {
		for range len(calls) - 1 {
			m.Texts = append(m.Texts, h.text())
		}
	}
	return m
}

// turn appends what an agent does.
func (h *host) turn() {
	h.list = append(h.list, h.message(chat.RoleUser))
	for range h.IntN(4) {
		var ids []string
		for range 1 + h.IntN(3) {
			ids = append(ids, []string{"", "call_0", fmt.Sprint("call_", h.n, len(ids))}[h.IntN(3)])
		}
		h.list = append(h.list, h.message(chat.RoleAssistant, ids...))
		if h.IntN(8) == 0 {
			continue // interrupted
		}
		if h.IntN(2) == 0 {
			h.list = append(h.list, h.message(chat.RoleTool, ids...))
			continue
		}
		for _, id := range ids {
			h.list = append(h.list, h.message(chat.RoleTool, id))
		}
	}
	if h.IntN(4) > 0 {
		h.list = append(h.list, h.message(chat.RoleAssistant))
	}
}

// edit does something to the list that is not an append.
func (h *host) edit() {
	h.list = slices.Clone(h.list)
	n := len(h.list)
	if n == 0 {
		return
	}
	i := h.IntN(n)
	switch h.IntN(11) {
	case 0: // edited
		c := *h.list[i]
		c.Texts = slices.Clone(c.Texts)
		c.Texts[h.IntN(len(c.Texts))] = h.text()
		h.list[i] = &c
	case 1: // edited where it lies
		h.list[i].Texts[0] = h.text()
		h.earlier = nil // they hold it too
	case 2:
		h.list = h.list[:i]
	case 3:
		h.list = h.list[i:]
	case 4:
		h.list = slices.Delete(h.list, i, i+1)
	case 5:
		h.list = slices.Insert(h.list, i, h.message([]chat.Role{chat.RoleUser, chat.RoleAssistant, chat.RoleSystem}[h.IntN(3)]))
	case 6: // compacts itself
		h.list = append([]*hostMessage{h.message(chat.RoleUser)}, h.list[i:]...)
	case 7:
		h.list[i], h.list[n-1] = h.list[n-1], h.list[i]
	case 8: // says something twice
		h.list = append(h.list, h.list[i])
	case 9: // a copy that nobody told apart
		c := *h.list[i]
		h.list[i] = &c
	case 10: // goes back to another branch
		if len(h.earlier) > 0 {
			h.list = slices.Clone(h.earlier[h.IntN(len(h.earlier))])
		}
	}
}

// contents returns what the list says, in order, as a session's path should hold it.
func (h *host) contents() (list []string) {
	leading := true
	for _, m := range h.list {
		if leading = leading && m.Role == chat.RoleSystem; !leading {
			list = append(list, m.Texts...)
		}
	}
	return list
}

// fit makes a call of a mirror and checks what it returns.
func (h *host) fit(m *mirror.Mirror[*hostMessage]) {
	before := make([]string, len(h.list))
	for i, e := range h.list {
		before[i] = fmt.Sprintf("%p %+v", e, *e)
	}
	fitted, err := m.Fit(h.Context(), mirror.Request[*hostMessage]{System: "You are a host's agent.", Messages: slices.Clip(h.list)})
	for i, e := range h.list {
		require.Equal(h, before[i], fmt.Sprintf("%p %+v", e, *e), "the list was changed")
	}
	if h.store.before || h.store.after {
		if err != nil {
			require.ErrorIs(h, err, errDisk)
			h.stats["failed"]++
			return
		}
	}
	for _, text := range h.contents() {
		h.everSaid[text] = true
	}
	if failed := new(summarize.FailedError); errors.As(err, &failed) {
		h.stats["does not fit"]++
	} else {
		require.NoError(h, err)
		h.check(m, fitted)
	}
	var got []string
	for e, err := range m.Compactor.Session.PathTo(h.Context(), "") {
		require.NoError(h, err)
		switch b := e.Body.(type) {
		case entry.Message:
			got = append(got, b.Text())
		case entry.CustomMessage:
			got = append(got, chat.Message{Content: b.Content}.Text())
		}
	}
	require.Equal(h, h.contents(), got, "the session's path is not the list")
}

// check checks what is sent.
func (h *host) check(m *mirror.Mirror[*hostMessage], fitted mirror.Fitted[*hostMessage]) {
	sent := fitted.Result.Messages
	require.LessOrEqual(h, fitted.Result.Tokens, 1500)
	if invalid := new(chat.ValidationError); errors.As(chat.Validate(sent), &invalid) {
		for _, v := range invalid.Violations {
			require.Equal(h, chat.RuleLast, v.Rule, v) // the list may end with an answer
		}
	}
	var converted []chat.Message
	for _, e := range fitted.Messages {
		list, err := fromHost(e)
		require.NoError(h, err)
		converted = append(converted, list...)
	}
	require.Equal(h, words(sent[1:]), words(converted), "the messages are not those that were rendered")
	view := sessiontest.View(h, m.Compactor.Session)
	if fitted.Compacted {
		h.stats["compacted"]++
	}
	if len(view.Compacted) == 0 && len(fitted.Result.Report().Dropped()) == 0 {
		all := strings.Join(words(converted), "\n")
		for _, text := range h.contents() {
			mark, _, _ := strings.Cut(text, " ")
			require.Contains(h, all, mark, "lost")
		}
	}
}

func words(list []chat.Message) (out []string) {
	for _, m := range list {
		out = append(out, string(m.Role)+" "+m.Text())
	}
	return out
}

// messages returns how often something was said in a session, or another branch was taken.
func (h *host) messages(s *history.Session) (n int) {
	for e, err := range s.Entries(h.Context()) {
		require.NoError(h, err)
		if e.Type() == entry.TypeMessage || e.Type() == entry.TypeCustomMessage || e.Type() == entry.TypeBranch {
			n++
		}
	}
	return n
}

func (h *host) run(steps int) {
	h.mirrors = []*mirror.Mirror[*hostMessage]{h.process()}
	for range steps {
		h.earlier = append(h.earlier, slices.Clone(h.list))
		at := h.IntN(len(h.mirrors))
		switch n := h.IntN(20); {
		case n < 9:
			h.turn()
		case n < 16:
			h.edit()
		case n == 16: // a restart
			h.mirrors[at] = h.process()
		case n == 17 && len(h.mirrors) < 2: // another process
			h.mirrors = append(h.mirrors, h.process())
		case n == 17: // at once
			h.turn()
			h.store.meanwhile = func() { h.stats["at once"]++; h.fit(h.mirrors[1-at]) }
		case n == 18: // a fault, which the next call does not have
			h.store.before, h.store.after = h.IntN(2) == 0, h.IntN(2) == 0
			h.turn()
			h.fit(h.mirrors[at])
			if h.store.before, h.store.after = false, false; h.stats["failed"] > 0 {
				h.mirrors[at] = h.process() // a session whose write failed is not used on
			}
		}
		m := h.mirrors[at]
		h.fit(m)
		if h.IntN(4) == 0 {
			answer := h.message(chat.RoleAssistant)
			if _, err := m.Answered(h.Context(), chat.Usage{Input: 100, Output: 10}, "", answer); err == nil {
				h.list = append(slices.Clone(h.list), answer)
			}
		}
		if h.IntN(8) == 0 {
			require.NoError(h, m.EndTurn(h.Context(), h.list))
		}
	}
	m := h.mirrors[0]
	h.store.meanwhile = nil
	h.fit(m)
	log := h.messages(m.Compactor.Session)
	first, err := m.Fit(h.Context(), mirror.Request[*hostMessage]{System: "S", Messages: h.list})
	require.NoError(h, err)
	second, err := h.process().Fit(h.Context(), mirror.Request[*hostMessage]{System: "S", Messages: h.list})
	require.NoError(h, err)
	require.Equal(h, first.Result.Messages, second.Result.Messages, "a restart changed what is sent")
	require.NoError(h, m.Compactor.Session.Refresh(h.Context()))
	require.Equal(h, log, h.messages(m.Compactor.Session), "a restart recorded something again")
	all := map[string]bool{}
	for e, err := range m.Compactor.Session.Entries(h.Context()) {
		require.NoError(h, err)
		switch b := e.Body.(type) {
		case entry.Message:
			all[b.Text()] = true
		case entry.CustomMessage:
			all[chat.Message{Content: b.Content}.Text()] = true
		}
	}
	for text := range h.everSaid {
		require.True(h, all[text], "lost: %s", text)
	}
}

func hostOf(t *testing.T, seed uint64) *host {
	return &host{
		T: t, Rand: rand.New(rand.NewPCG(seed, 53)), store: &faulty{}, everSaid: map[string]bool{}, stats: map[string]int{},
	}
}

func TestNothingIsLostOrRecordedTwiceWhateverTheOwnerDoes(t *testing.T) {
	stats := map[string]int{}
	for seed := range uint64(extremes.Cases(60)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := hostOf(t, seed)
			h.run(30)
			for name, n := range h.stats {
				stats[name] += n
			}
		})
	}
	t.Log(stats)
	require.Positive(t, stats["compacted"])
	require.Positive(t, stats["failed"])
	require.Positive(t, stats["at once"])
}

func FuzzMirror(f *testing.F) {
	f.Add(uint64(1), 10)
	f.Fuzz(func(t *testing.T, seed uint64, steps int) { hostOf(t, seed).run(min(max(steps, 1), 200)) })
}
