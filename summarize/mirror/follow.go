package mirror

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/callback"
)

// record is what is remembered of a message of the list.
type record struct {
	identity uint64
	digests  []uint64 // of what it was converted to
	first    string   // the id of the first of its entries; "" if it has none, or in a partial list
	unnamed  bool     // a call, or what answers one, has no id
}

// converted is a message of the list as messages of a session.
type converted struct {
	record
	messages []chat.Message
}

func (m *Mirror[M]) convert(list []M, identities []uint64) ([]converted, error) {
	out := make([]converted, len(list))
	for i, e := range list {
		messages, err := m.From(e)
		if err != nil {
			return nil, fmt.Errorf("mirror: Mirror.From: %w", err)
		}
		out[i] = converted{record: record{identity: identities[i]}, messages: messages}
		for _, c := range messages {
			out[i].digests = append(out[i].digests, digest(c))
			out[i].unnamed = out[i].unnamed || c.Role == chat.RoleTool && c.ToolCallID == "" ||
				slices.ContainsFunc(c.ToolCalls, func(call chat.ToolCall) bool { return call.ID == "" })
		}
	}
	return out, nil
}

// attempts is how often the session is brought in step while other processes write to it.
const attempts = 5

// record brings the session in step with a list.
func (m *Mirror[M]) record(ctx context.Context, list []M) (err error) {
	identities, err := m.identities(ctx, list)
	if err != nil {
		return err
	}
	caller := ctx
	ctx, done := callback.Outlive(caller) // what is written from here on is finished
	defer done()
	for range attempts {
		if err = m.notice(ctx); err == nil {
			err = m.follow(ctx, caller, list, identities)
		}
		if err == nil {
			return nil
		}
		m.inStep = false
		if _, conflict := errors.AsType[*storage.ConflictError](err); !conflict {
			break
		}
		if failed := m.Compactor.Session.Refresh(ctx); failed != nil {
			return fmt.Errorf("mirror: reading what others said: %w", failed)
		}
	}
	return fmt.Errorf("mirror: bringing the session in step with the messages: %w", err)
}

// notice finds out whether something else was said in the session, by another process or by the application itself.
func (m *Mirror[M]) notice(ctx context.Context) error {
	s := m.Compactor.Session
	if s.Shared() {
		if err := s.Refresh(ctx); err != nil {
			return err
		}
	}
	said, err := s.SaidSince(ctx, m.leaf)
	if err != nil {
		return err
	}
	m.inStep, m.leaf = m.inStep && !said, s.Leaf()
	return nil
}

// follow makes the path of the session that of a list.
func (m *Mirror[M]) follow(ctx, caller context.Context, list []M, identities []uint64) error {
	n, err := m.lead(list, identities)
	if err != nil {
		return err
	}
	list, identities = list[n:], identities[n:]
	if !m.inStep {
		m.records = nil
	}
	k := 0
	for ; k < min(len(list), len(m.records)); k++ {
		if m.records[k].identity == identities[k] {
			continue
		}
		now, err := m.convert(list[k:k+1], identities[k:])
		if err != nil {
			return err
		}
		if !slices.Equal(now[0].digests, m.records[k].digests) {
			break
		}
		m.records[k].identity = identities[k]
	}
	changed := m.records[k:]
	switch {
	case m.Partial && (!m.inStep || len(changed) > 0):
		return m.align(ctx, caller, list, identities)
	case !m.inStep:
		return m.find(ctx, list, identities)
	}
	if m.records = m.records[:k]; len(changed) > 0 {
		m.pairing = nil
	}
	if i := slices.IndexFunc(changed, func(r record) bool { return r.first != "" }); i >= 0 {
		if err := m.branchBefore(ctx, changed[i].first); err != nil {
			return err
		}
	}
	news, err := m.convert(list[k:], identities[k:])
	if err != nil {
		return err
	}
	return m.append(ctx, news)
}

// lead returns the number of leading system messages of a list, and sets what depends on them.
func (m *Mirror[M]) lead(list []M, identities []uint64) (int, error) {
	if n := len(m.leading); n < len(list) && n < len(m.head) && slices.Equal(m.head, identities[:n+1]) {
		return n, nil
	}
	m.leading, m.system = nil, nil
	for i := range list {
		c, err := m.convert(list[i:i+1], identities[i:])
		if err != nil {
			return 0, err
		}
		messages := c[0].messages
		if len(messages) == 0 || slices.ContainsFunc(messages, func(m chat.Message) bool { return m.Role != chat.RoleSystem }) {
			break
		}
		m.leading, m.system = append(m.leading, c[0].record), append(m.system, messages...)
	}
	n := len(m.leading)
	m.head = slices.Clone(identities[:min(n+1, len(list))])
	return n, nil
}

// branchBefore makes the session continue before an entry. The newest compaction stays if what it covers does.
func (m *Mirror[M]) branchBefore(ctx context.Context, id string) error {
	s := m.Compactor.Session
	before, compacted, err := s.Latest(ctx, entry.TypeCompaction)
	if err != nil {
		return err
	}
	e, err := s.Entry(ctx, id)
	if err != nil {
		return err
	}
	if err := m.branch(ctx, e.Parent); err != nil || !compacted {
		return err
	}
	after, _, err := s.Latest(ctx, entry.TypeCompaction)
	if err != nil || after.ID == before.ID {
		return err
	}
	c := before.Compaction()
	c.Plan, c.Retained = "", entry.Retained{} // of the other branch
	if c.FirstKept == id {
		m.moved = &c
		return nil
	}
	return m.compact(ctx, c)
}

// branch makes the session continue from an entry, and records what it leaves, newest first.
func (m *Mirror[M]) branch(ctx context.Context, id string) error {
	s := m.Compactor.Session
	m.left = map[uint64][]string{}
	for e, err := range s.Back(ctx, "") {
		if err != nil {
			return err
		}
		if e.ID == id {
			break
		}
		if shown(e.Body).Role == "" {
			continue
		}
		now, err := m.redacted(ctx, e.Body)
		if err != nil {
			return err
		}
		d := digest(now)
		m.left[d] = append(m.left[d], e.ID)
	}
	return s.Branch(ctx, id)
}

// copied returns an entry of a message, with the entry that was left and said the same.
func (m *Mirror[M]) copied(ctx context.Context, b entry.Body) (e entry.Entry, err error) {
	e.Body = b
	if len(m.left) == 0 {
		return e, nil
	}
	now, err := m.redacted(ctx, b)
	d := digest(now)
	if n := len(m.left[d]) - 1; n >= 0 { // the oldest is said again first
		e.Of, m.left[d] = m.left[d][n], m.left[d][:n]
	}
	return e, err
}

// compact puts a compaction of another branch in force again, if what it covers is on this one.
func (m *Mirror[M]) compact(ctx context.Context, c entry.Compaction) error {
	err := m.Compactor.Session.Compact(ctx, c)
	if _, left := errors.AsType[*entry.BoundaryError](err); left {
		return nil
	}
	return err
}

// find finds out what of a list the session has from its start, makes it continue there, and appends the rest.
func (m *Mirror[M]) find(ctx context.Context, list []M, identities []uint64) error {
	all, err := m.convert(list, identities)
	if err != nil {
		return err
	}
	var said []chat.Message
	var bodies []entry.Body
	pairs := &pairing{}
	for _, c := range all {
		for _, message := range c.messages {
			said, bodies = append(said, message), append(bodies, pairs.admit(message))
		}
	}
	var ids []string       // of the entries that hold the first messages
	var had []chat.Message // their messages
	other := ""            // the entry after these
	for e, err := range mirrored(m.Compactor.Session.PathTo(ctx, "")) {
		if err != nil {
			return err
		}
		same := len(ids) < len(bodies)
		if same {
			if same, err = m.says(ctx, e, bodies[len(ids)]); err != nil {
				return err
			}
		}
		if !same {
			other = e.ID
			break
		}
		ids, had = append(ids, e.ID), append(had, e.Message())
	}
	m.pairing = &pairing{}
	for _, c := range all {
		n := len(c.messages)
		if n > len(ids) {
			break
		}
		for range n {
			m.pairing.add(said[0], had[0])
			said, had = said[1:], had[1:]
		}
		if n > 0 {
			c.first = ids[0]
		}
		m.records, ids = append(m.records, c.record), ids[n:]
	}
	if len(ids) > 0 { // part of a message
		other = ids[0]
	}
	if other != "" {
		if err := m.branchBefore(ctx, other); err != nil {
			return err
		}
	}
	return m.append(ctx, all[len(m.records):])
}

// listName is the name of custom messages that hold messages of the list: system messages, and results without a call.
// Here these results have a role of their own.
const (
	listName           = "mirror"
	orphan   chat.Role = "result without its call"
)

// mirrored returns those entries that hold messages of the list.
func mirrored(entries iter.Seq2[entry.Entry, error]) iter.Seq2[entry.Entry, error] {
	return func(yield func(entry.Entry, error) bool) {
		for e, err := range entries {
			if (err != nil || shown(e.Body).Role != "") && !yield(e, err) {
				return
			}
		}
	}
}

// shown returns a body as a message. Others have no role.
func shown(b entry.Body) chat.Message {
	switch b := b.(type) {
	case entry.Message:
		return b.Message
	case entry.CustomMessage:
		switch {
		case b.Name == listName && b.Role == chat.RoleTool:
			return chat.Message{Role: orphan, Content: b.Content}
		case b.Name == listName:
			return chat.Message{Role: b.Role, Content: b.Content}
		}
	}
	return chat.Message{}
}

// pairing pairs the calls and results of a list. A call may have another id in the session.
type pairing struct {
	chat.Pairing
	messages int
	ids      map[[2]int]string // ids in the session that are not those in the list, by message and call
}

// add adds the next message as it is in the list and in the session, and returns the id in the session of the call that
// it answers.
func (p *pairing) add(m, had chat.Message) (id string, ok bool) {
	for k, c := range had.ToolCalls {
		if p.ids == nil {
			p.ids = map[[2]int]string{}
		}
		if c.ID != m.ToolCalls[k].ID {
			p.ids[[2]int{p.messages, k}] = c.ID
		}
	}
	p.messages++
	call, ok := p.Add(m)
	if id, renamed := p.ids[[2]int{call.Message, call.Call}]; ok && renamed {
		delete(p.ids, [2]int{call.Message, call.Call})
		return id, true
	}
	return call.ID, ok
}

// admit returns what the session holds of the next message.
func (p *pairing) admit(m chat.Message) entry.Body {
	had := m
	if m.Role == chat.RoleAssistant {
		had = chat.WithCallIDs(m)
	}
	id, ok := p.add(m, had)
	switch {
	case m.Role == chat.RoleSystem, m.Role == chat.RoleTool && !ok:
		return entry.CustomMessage{Name: listName, Role: m.Role, Content: m.Content}
	case m.Role == chat.RoleTool:
		if had.ToolCallID = id; givenID(m.ToolCallID) == "" {
			had.Name = ""
		}
	}
	return entry.Message{Message: had}
}

// says reports whether an entry holds a message. What was redacted is compared with the message as it would be redacted.
func (m *Mirror[M]) says(ctx context.Context, e entry.Entry, b entry.Body) (bool, error) {
	had := digest(shown(e.Body))
	if len(e.Redacted) == 0 || had == digest(shown(b)) {
		return had == digest(shown(b)), nil
	}
	now, err := m.redacted(ctx, b)
	return had == digest(now), err
}

// errUnsteady is the cause of an error for a redactor by which no entry could be found again.
var errUnsteady = errors.New("it returned different texts for the same text: let it return the same each time")

// redacted returns what the session would hold of a message.
func (m *Mirror[M]) redacted(ctx context.Context, b entry.Body) (chat.Message, error) {
	e, err := m.Compactor.Session.RedactEntry(ctx, entry.Entry{Body: b})
	if err != nil {
		return chat.Message{}, err
	}
	again, err := m.Compactor.Session.RedactEntry(ctx, entry.Entry{Body: b})
	if now := shown(e.Body); err != nil || digest(now) == digest(shown(again.Body)) {
		return now, err
	}
	return chat.Message{}, &entry.RedactError{Path: append(e.Redacted, again.Redacted...)[0], Err: errUnsteady}
}

// append appends messages of the list, and then other entries.
func (m *Mirror[M]) append(ctx context.Context, list []converted, others ...entry.Entry) error {
	s, pairs := m.Compactor.Session, m.pairing
	if m.pairing = nil; pairs == nil { // until the entries are appended
		var err error
		if pairs, err = paired(ctx, s); err != nil {
			return err
		}
	}
	var entries []entry.Entry
	for _, c := range list {
		for _, message := range c.messages {
			e, err := m.copied(ctx, pairs.admit(message))
			if err != nil {
				return err
			}
			entries = append(entries, e)
		}
	}
	m.left = nil
	added, err := s.Add(ctx, append(entries, others...)...)
	if err != nil {
		return err
	}
	if c := m.moved; c != nil && len(entries) > 0 {
		m.moved, c.FirstKept = nil, added[0].ID
		if err := m.compact(ctx, *c); err != nil {
			return err
		}
	}
	for _, c := range list {
		if len(c.messages) > 0 {
			c.first, added = added[0].ID, added[len(c.messages):]
		}
		m.records = append(m.records, c.record)
	}
	m.inStep, m.leaf, m.pairing = true, s.Leaf(), pairs
	return nil
}

// paired returns the calls and results on the session's path since its newest compaction, with those that are open there.
func paired(ctx context.Context, s *history.Session) (*pairing, error) {
	var said []chat.Message
	for e, err := range s.Back(ctx, "") {
		if err != nil {
			return nil, err
		}
		if c, ok := e.Body.(entry.Compaction); ok {
			open := chat.Message{Role: chat.RoleAssistant}
			for _, id := range c.Retained.Calls {
				open.ToolCalls = append(open.ToolCalls, chat.ToolCall{ID: id})
			}
			said = append(said, open)
			break
		}
		said = append(said, e.Message())
	}
	pairs := &pairing{}
	for _, m := range slices.Backward(said) {
		pairs.add(m, m)
	}
	return pairs, nil
}
