package history

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// Instead returns a view of which elements and [View.Units] show other content of entries: a function returns what is shown
// of an entry, and reports whether that differs from the content that it is given. The entry has no id for content that
// replaces compacted history, and no body for thinking that a compaction put before its message ([Round].Thinking). The
// entries in the view's fields change too.
func (v View) Instead(content func(e entry.Entry, parts chat.Parts) (chat.Parts, bool)) View {
	sn := v.changing()
	sn.compacted = slices.Clone(sn.compacted)
	for i, m := range sn.compacted {
		if parts, other := content(entry.Entry{}, m.Content); other {
			sn.compacted[i].Content = parts
		}
	}
	for i, t := range sn.turns {
		if e, other := instead(t.start, content); other {
			turn := sn.turn(i)
			turn.start, turn.opening = e, &memo{}
		}
		for k, r := range t.rounds {
			at := callAt{i, k}
			if e, other := instead(r.Assistant, content); other {
				sn.round(at).Assistant = e
			}
			if len(r.Thinking) > 0 {
				if _, other := content(entry.Entry{ID: r.Assistant.ID}, nil); other {
					sn.round(at).Thinking = nil
				}
			}
			for n, e := range r.Between {
				if e, other := instead(e, content); other {
					sn.round(at).Between[n] = e
				}
			}
			for n, e := range r.Results {
				if e, other := instead(e, content); other {
					sn.round(at).Results[n] = e
				}
			}
		}
	}
	return sn.view()
}

// Clear returns the view as if a clearing had been appended to the leaf.
func (v View) Clear(c entry.Clearing) View {
	if len(c.Results)+len(c.Arguments) == 0 {
		return v
	}
	sn := v.changing()
	sn.clear(c)
	return sn.view()
}

// instead returns an entry with other content, and reports whether it has it.
func instead(e entry.Entry, content func(e entry.Entry, parts chat.Parts) (chat.Parts, bool)) (entry.Entry, bool) {
	m, shown := e.Shown()
	if !shown {
		return e, false
	}
	parts, other := content(e, m.Content)
	if !other {
		return e, false
	}
	m.Content = parts
	said, _ := e.Body.(entry.Message) // another entry becomes one, as it is shown, between its tags
	said.Message = m
	e.Body = said
	return e, true
}
