// Package framework holds the code that the adapters of agent frameworks share.
package framework

import (
	"context"
	"iter"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// SystemName is the name of the [entry.CustomMessage] that records a system message within the conversation.
const SystemName = "system"

// Log is a session that mirrors a framework's conversation.
type Log struct {
	Session *history.Session
	// Same reports whether the framework's own ids say that a message of the session and another one are the same. If
	// it is nil, messages have no ids.
	Same func(had, said entry.Message) bool
	// SameCall reports whether two different ids may belong to the same call. By default they do not.
	SameCall func(had, said string) bool
}

// Align finds how many of the said messages, from the first on, the session already has, and moves the session's leaf
// to the entry that the rest follows.
//
// Base is the entry after which the messages were said. If it is empty or unknown, they are what the application
// passed: the whole conversation, with all rounds of tools or without some, its end, or only new messages.
func (l Log) Align(ctx context.Context, base string, said []entry.Body) (known int, err error) {
	if base != "" {
		has, err := l.Session.Has(ctx, base)
		if err != nil {
			return 0, err
		}
		if has {
			return l.alignAfter(ctx, base, said)
		}
	}
	return l.alignInput(ctx, said)
}

// alignAfter aligns messages that were said after an entry.
func (l Log) alignAfter(ctx context.Context, base string, said []entry.Body) (int, error) {
	var after []entry.Entry
	found := false
	for e, err := range l.Session.Back(ctx, "") {
		if err != nil {
			return 0, err
		}
		if found = e.ID == base; found {
			break
		}
		if mirrored(e) {
			after = append(after, e)
		}
	}
	if !found {
		return 0, l.Session.Branch(ctx, base) // base is on another branch
	}
	slices.Reverse(after)
	n := l.common(after, said)
	switch {
	case n == len(after):
		return n, nil
	case n == 0:
		return 0, l.Session.Branch(ctx, base)
	}
	return n, l.Session.Branch(ctx, after[n-1].ID)
}

// alignInput aligns messages without a base.
func (l Log) alignInput(ctx context.Context, said []entry.Body) (int, error) {
	b := &backwards{log: l}
	next, stop := iter.Pull2(l.Session.Back(ctx, ""))
	defer stop()
	b.next = next
	for n := len(said); n > 0; n-- {
		lost := n == len(said) || roleOf(said[n]) == chat.RoleUser // later rounds of tools may be missing in said
		if ok := b.endsWith(said[:n], lost); b.err != nil || ok {
			return n, b.err
		}
	}
	if !slices.ContainsFunc(said, func(b entry.Body) bool { return roleOf(b) == chat.RoleAssistant }) {
		return 0, nil // only new messages
	}
	n, last, at := 0, "", ""
	for e, err := range l.Session.PathTo(ctx, "") {
		if err != nil {
			return 0, err
		}
		if !mirrored(e) {
			continue
		}
		at = e.ID
		if n < len(said) && l.says(e, said[n]) {
			n, last = n+1, e.ID
		} else if questionOrAnswer(e.Body) {
			break
		}
	}
	if last == at {
		return n, nil // the session is empty
	}
	return n, l.Session.Branch(ctx, last)
}

// backwards reads the mirrored entries of a session's path from its end.
type backwards struct {
	log  Log
	next func() (entry.Entry, error, bool)
	read []entry.Entry // newest first
	err  error
}

// at returns the i-th entry from the end, and reports whether there is one.
func (b *backwards) at(i int) (entry.Entry, bool) {
	for len(b.read) <= i && b.err == nil {
		e, err, ok := b.next()
		if !ok {
			return entry.Entry{}, false
		}
		if b.err = err; err == nil && mirrored(e) {
			b.read = append(b.read, e)
		}
	}
	if b.err != nil {
		return entry.Entry{}, false
	}
	return b.read[i], true
}

// endsWith reports whether the path ends with the said messages. Between them the path may have rounds of tools that
// the application did not keep. If lost is set, it may also have such rounds after a final user message.
func (b *backwards) endsWith(said []entry.Body, lost bool) bool {
	j := len(said) - 1
	skips := lost && roleOf(said[j]) == chat.RoleUser
	for i := 0; j >= 0; i++ {
		e, ok := b.at(i)
		switch {
		case !ok:
			return false
		case b.log.says(e, said[j]):
			j, skips = j-1, true
		case !skips || questionOrAnswer(e.Body):
			return false
		}
	}
	return true
}

func roleOf(b entry.Body) chat.Role {
	m, _ := b.(entry.Message)
	return m.Role
}

// questionOrAnswer reports whether a message is the user's, or the assistant's without calls.
func questionOrAnswer(b entry.Body) bool {
	m, _ := b.(entry.Message)
	return m.Role == chat.RoleUser || m.Role == chat.RoleAssistant && len(m.ToolCalls) == 0
}

// mirrored reports whether the framework has a message for an entry.
func mirrored(e entry.Entry) bool {
	m, ok := e.Body.(entry.CustomMessage)
	return e.Type() == entry.TypeMessage || ok && m.Name == SystemName
}

// common returns the length of the common prefix of entries and messages.
func (l Log) common(entries []entry.Entry, said []entry.Body) int {
	for i, e := range entries {
		if i == len(said) || !l.says(e, said[i]) {
			return i
		}
	}
	return len(entries)
}

// says reports whether an entry holds a message. It compares the framework's ids, or else role, text, calls and media,
// because applications may keep no more than these.
func (l Log) says(e entry.Entry, b entry.Body) bool {
	had, isMessage := e.Body.(entry.Message)
	said, ok := b.(entry.Message)
	if !isMessage || !ok {
		was, isCustom := e.Body.(entry.CustomMessage)
		now, ok := b.(entry.CustomMessage)
		return isCustom && ok && (chat.Message{Content: was.Content}).Text() == (chat.Message{Content: now.Content}).Text()
	}
	if had.Role != said.Role || !l.sameCall(had.ToolCallID, said.ToolCallID) || len(had.ToolCalls) != len(said.ToolCalls) {
		return false
	}
	if l.Same != nil && l.Same(had, said) {
		return true
	}
	if len(e.Redacted) > 0 { // the original text is gone
		return true
	}
	for i, c := range had.ToolCalls {
		if o := said.ToolCalls[i]; !l.sameCall(c.ID, o.ID) || c.Name != o.Name || c.Arguments != o.Arguments {
			return false
		}
	}
	return had.Text() == said.Text() && slices.Equal(media(had), media(said))
}

func (l Log) sameCall(had, said string) bool {
	return had == said || l.SameCall != nil && l.SameCall(had, said)
}

// media returns the images and documents of a message.
func media(m entry.Message) (list []chat.Part) {
	for _, p := range m.Content {
		switch p.(type) {
		case chat.Image, chat.Document:
			list = append(list, p)
		}
	}
	return list
}

// Unchanged returns a [*storage.ConflictError] if a message was appended after the entry leaf.
func (l Log) Unchanged(ctx context.Context, leaf string) error {
	for e, err := range l.Session.Back(ctx, "") {
		if err != nil {
			return err
		}
		if e.ID == leaf {
			return nil
		}
		if _, shown := e.Shown(); shown {
			break
		}
	}
	if leaf == "" {
		return nil
	}
	return &storage.ConflictError{}
}
