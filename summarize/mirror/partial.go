package mirror

import (
	"context"
	"iter"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// align finds out what of a list that may be less than the conversation the session has, and appends the rest.
// A long comparison ends with the caller's context; what it has found out is recorded after that too.
func (m *Mirror[M]) align(ctx, caller context.Context, list []M, identities []uint64) error {
	all, err := m.convert(list, identities)
	if err != nil {
		return err
	}
	b := &backwards{caller: caller, redacted: func(b entry.Body) (chat.Message, error) { return m.redacted(ctx, b) }}
	for _, c := range all {
		for _, message := range c.messages {
			b.said = append(b.said, newSaid(message))
		}
	}
	known, err := m.known(ctx, b)
	if err != nil {
		return err
	}
	m.records, m.pairing = nil, nil
	for i, c := range all {
		if n := len(c.messages); known < n {
			all[i].messages = c.messages[known:]
			return m.append(ctx, all[i:])
		}
		known -= len(c.messages)
		m.records = append(m.records, c.record)
	}
	return m.append(ctx, nil)
}

// mostCompared is the number of comparisons for each message of a list, and as many messages more, after which a list that
// repeats itself is compared with the path from its start alone.
const mostCompared = 100

// lookEvery is the number of comparisons after which the caller's context is looked at.
const lookEvery = 1000

// known returns how many of the messages, from the first on, the session has, and makes it continue after them. The
// messages are the whole conversation, with all rounds of tools or without some, its end, or only new ones.
func (m *Mirror[M]) known(ctx context.Context, b *backwards) (int, error) {
	s := m.Compactor.Session
	next, stop := iter.Pull2(mirrored(s.Back(ctx, "")))
	defer stop()
	b.next = next
	for n := len(b.said); n > 0 && b.compared < mostCompared*(len(b.said)+mostCompared); n-- {
		lost := n == len(b.said) || b.said[n].Role == chat.RoleUser // later rounds of tools may be missing in said
		if ok := b.endsWith(n, lost); b.err != nil || ok {
			return n, b.err
		}
	}
	if !slices.ContainsFunc(b.said, func(m said) bool { return m.Role == chat.RoleAssistant }) {
		return 0, nil // only new messages
	}
	n, last, at := 0, "", ""
	for e, err := range mirrored(s.PathTo(ctx, "")) {
		if err != nil {
			return 0, err
		}
		at = e.ID
		if had := newSaid(shown(e.Body)); n < len(b.said) && b.is(had, b.said[n], e) {
			n, last = n+1, e.ID
		} else if had.questionOrAnswer() || b.err != nil {
			break
		}
	}
	if last == at || b.err != nil {
		return n, b.err
	}
	return n, m.branch(ctx, last)
}

// said is a message with a digest of what applications keep of one at least: role, text, calls, images and documents.
type said struct {
	chat.Message
	digest uint64
}

func newSaid(m chat.Message) said {
	kept := chat.Message{Role: m.Role, ToolCallID: m.ToolCallID, Content: chat.Parts{chat.Text(m.Text())}}
	for _, c := range m.ToolCalls {
		kept.ToolCalls = append(kept.ToolCalls, chat.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	for _, p := range m.Content {
		switch p.(type) {
		case chat.Image, chat.Document:
			kept.Content = append(kept.Content, p)
		}
	}
	return said{m, digest(kept)}
}

// is reports whether the message of an entry is the same as another. What was redacted is compared with the message as it
// would be redacted.
func (b *backwards) is(had, now said, e entry.Entry) bool {
	if b.compared++; b.compared%lookEvery == 0 && b.caller.Err() != nil {
		b.err = context.Cause(b.caller)
		return false
	}
	if len(e.Redacted) > 0 && had.digest != now.digest {
		var body entry.Body = entry.Message{Message: now.Message}
		if c, ok := e.Body.(entry.CustomMessage); ok {
			c.Content = now.Content
			body = c
		}
		var again chat.Message
		if again, b.err = b.redacted(body); b.err != nil {
			return false
		}
		now = newSaid(again)
	}
	if had.Role == orphan && (now.Role == chat.RoleTool || now.Role == orphan) {
		return had.Text() == now.Text()
	}
	return had.digest == now.digest
}

// questionOrAnswer reports whether a message is the user's, or the assistant's without calls.
func (had said) questionOrAnswer() bool {
	return had.Role == chat.RoleUser || had.Role == chat.RoleAssistant && len(had.ToolCalls) == 0
}

// backwards compares messages with the session's path, which is read from its end.
type backwards struct {
	caller   context.Context
	said     []said
	next     func() (entry.Entry, error, bool)
	entries  []entry.Entry // read so far, newest first
	had      []said        // their messages
	compared int
	redacted func(entry.Body) (chat.Message, error)
	err      error
}

// at reads up to the i-th entry from the end, and reports whether there is one.
func (b *backwards) at(i int) bool {
	for len(b.had) <= i {
		e, err, ok := b.next()
		if b.err = err; !ok || err != nil {
			return false
		}
		b.entries, b.had = append(b.entries, e), append(b.had, newSaid(shown(e.Body)))
	}
	return true
}

// endsWith reports whether the path ends with the first n messages. Between them the path may have rounds of tools that
// the application did not keep. If lost is set, it may also have such rounds after a final user message.
func (b *backwards) endsWith(n int, lost bool) bool {
	j := n - 1
	skips := lost && b.said[j].Role == chat.RoleUser
	for i := 0; j >= 0; i++ {
		switch {
		case !b.at(i):
			return false
		case b.is(b.had[i], b.said[j], b.entries[i]):
			j, skips = j-1, true
		case b.err != nil || !skips || b.had[i].questionOrAnswer():
			return false
		}
	}
	return true
}
