package plan

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/internal/provider/refusal"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Indexes of what is no single part of a message: Whole is all of it, and Thinking what its server alone can read of it, and
// the thinking that a compaction put before it. A server may want all of that or none.
const Whole, Thinking = -1, -2

// Server returns the server of a target's model, "" if the model does not say.
func Server(t policy.Target) string { return t.Origin().Server }

// Learnt returns what a session has learnt of a target's model at its server.
func Learnt(m entry.Remembered, t policy.Target) entry.Learnt { return m.Of(t.Name, Server(t)) }

// LeaveOut returns a view of a session with a line in the place of each part that is held. What only its provider reads has
// none.
func LeaveOut(ctx context.Context, s *history.Session, v history.View, held []entry.Held) (history.View, error) {
	out := leftOutOf(held)
	var copied []chat.Part // what may stand in the place of compacted history too
	copies := slices.ContainsFunc(v.Compacted, func(m chat.Message) bool { return slices.ContainsFunc(m.Content, isMedia) })
	for _, h := range held {
		if h.Shown() || !copies {
			continue
		}
		e, err := s.Entry(ctx, h.Entry)
		if err != nil {
			return v, err
		}
		if m, _ := e.Shown(); h.Part >= 0 && h.Part < len(m.Content) && isMedia(m.Content[h.Part]) {
			copied = append(copied, m.Content[h.Part])
		}
	}
	if len(out) == 0 {
		return v, nil
	}
	return v.Instead(func(e entry.Entry, parts chat.Parts) (chat.Parts, bool) {
		if e.ID != "" && e.Body == nil {
			return nil, slices.Contains(out[e.ID], Thinking) || slices.Contains(out[e.ID], Whole)
		}
		return without(s, e, parts, out[e.ID], copied)
	}), nil
}

// LeaveOutOf yields entries of a session with a line in the place of each part that is held, as [LeaveOut] does for a view.
func LeaveOutOf(s *history.Session, entries iter.Seq2[entry.Entry, error], held []entry.Held) iter.Seq2[entry.Entry, error] {
	out := leftOutOf(held)
	return func(yield func(entry.Entry, error) bool) {
		for e, err := range entries {
			if m, shown := e.Shown(); shown && len(out[e.ID]) > 0 {
				m.Content, _ = without(s, e, m.Content, out[e.ID], nil)
				e.Body = entry.Message{Message: m}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// leftOutOf returns the parts that are held and not shown, by entry.
func leftOutOf(held []entry.Held) map[string][]int {
	out := map[string][]int{}
	for _, h := range held {
		if !h.Shown() {
			out[h.Entry] = append(out[h.Entry], h.Part)
		}
	}
	return out
}

// without returns the parts of an entry with a line in the place of each that is out, and whether any is. Copied are those
// that are out where they stand in the place of compacted history.
func without(s *history.Session, e entry.Entry, parts chat.Parts, out []int, copied []chat.Part) (kept chat.Parts, changed bool) {
	handle := ""
	if e.ID != "" {
		handle = s.Handle(e, 0, 0)
	}
	if slices.Contains(out, Whole) {
		return chat.Parts{leftOut("message", handle)}, true
	}
	for i, p := range parts {
		isOut := slices.Contains(out, i) || slices.Contains(out, Thinking) && suspect(p, refusal.HeldThinking) || e.ID == "" && isMedia(p) && slices.Contains(copied, p)
		changed = changed || isOut
		if _, picture := p.(chat.Image); !isOut {
			kept = append(kept, p)
		} else if picture {
			kept = append(kept, leftOut("picture", handle))
		} else if isMedia(p) {
			kept = append(kept, leftOut("document", handle))
		}
	}
	if m, _ := e.Shown(); changed && len(kept)+len(m.ToolCalls) == 0 { // something must be said
		kept = chat.Parts{leftOut("thinking", handle)}
	}
	return kept, changed
}

// leftOut returns the line that stands in the place of what is held. Its text does not change while it is held.
func leftOut(what, handle string) chat.Text {
	if handle != "" {
		handle = ". " + handle
	}
	return chat.Text("[" + what + " left out: the model's server may refuse it" + handle + "]")
}

func isMedia(p chat.Part) bool {
	_, picture := p.(chat.Image)
	_, document := p.(chat.Document)
	return picture || document
}

// suspect reports whether a part may be the cause of a refusal whose words name so much.
func suspect(p chat.Part, named refusal.Held) bool {
	switch p := p.(type) {
	case chat.Image, chat.Document:
		return named != refusal.HeldThinking
	case chat.Thinking:
		return named != refusal.HeldMedia && p.Encrypted+p.Signature != ""
	case chat.Opaque:
		return named != refusal.HeldMedia && (named == refusal.HeldThinking || !json.Valid(p.Value))
	}
	return false
}

// Suspects returns the parts of a view, before an entry unless that is "", that may be the cause of a refusal, pictures and
// documents first, and those among them that no model answered yet.
func Suspects(v history.View, until string, named refusal.Held) (all, unanswered []entry.Held) {
	var rest, media []entry.Held
	for e, before := range entriesOf(v) {
		if e.ID == until && until != "" {
			break
		}
		m, _ := e.Shown()
		if m.Role == chat.RoleAssistant {
			unanswered = nil
		}
		thinks := len(before) > 0 && suspect(before[0], named)
		for i, p := range m.Content {
			h := entry.Held{Entry: e.ID, Part: i, State: entry.HeldSuspect}
			_, isThinking := p.(chat.Thinking)
			switch {
			case !suspect(p, named):
			case isMedia(p):
				media, unanswered = append(media, h), append(unanswered, h)
			case isThinking, named == refusal.HeldThinking:
				thinks = true
			default:
				rest = append(rest, h)
			}
		}
		if thinks {
			rest = append(rest, entry.Held{Entry: e.ID, Part: Thinking, State: entry.HeldSuspect})
		}
	}
	return append(media, rest...), append(unanswered, rest...)
}

// Unanswered returns the ids of the entries of a view that no model answered yet, the newest first.
func Unanswered(v history.View) (ids []string) {
	for e := range entriesOf(v) {
		if m, _ := e.Shown(); m.Role == chat.RoleAssistant {
			ids = nil
		} else if e.ID != "" {
			ids = append(ids, e.ID)
		}
	}
	slices.Reverse(ids)
	return ids
}

// entriesOf yields the entries that a view shows as they are, in order, each with thinking that a compaction put before it.
func entriesOf(v history.View) iter.Seq2[entry.Entry, []chat.Thinking] {
	return func(yield func(entry.Entry, []chat.Thinking) bool) {
		for _, t := range v.Turns {
			if !yield(t.Start, nil) {
				return
			}
			for _, r := range t.Rounds {
				if !yield(r.Assistant, r.Thinking) {
					return
				}
				for _, e := range slices.Concat(r.Between, r.Results) {
					if !yield(e, nil) {
						return
					}
				}
			}
		}
	}
}

// perMessage is how many bytes the fields of a message or a tool take in a request, beside its texts.
const perMessage = 60

// Bytes returns about how many bytes the body of a request has. Escapes are not counted.
func Bytes(messages []chat.Message, tools []chat.Tool) (n int) {
	for _, m := range messages {
		n = clamp.Sum(n, perMessage)
		for _, p := range m.Content {
			n = clamp.Sum(n, counting.Bytes(p))
		}
		for _, c := range m.ToolCalls {
			n = clamp.Sum(n, perMessage+len(c.Arguments))
		}
	}
	for _, t := range tools {
		n = clamp.Sum(n, perMessage+len(t.Description)+len(t.Parameters))
	}
	return n
}

// steps is in how many steps the oldest pictures leave a request that has a limit of bytes. Each changes what the provider
// has cached, so a whole step leaves at once.
const steps = 4

// oldest returns the oldest pictures and documents of a view to leave out, so that a request loses that many bytes in
// whole steps of a limit.
func oldest(v history.View, excess, limit int) (list []entry.Held) {
	step := max(1, limit/steps)
	excess = (excess + step - 1) / step * step
	for e := range entriesOf(v) {
		m, _ := e.Shown()
		for i, p := range m.Content {
			if excess > 0 && isMedia(p) {
				list, excess = append(list, entry.Held{Entry: e.ID, Part: i, State: entry.HeldSuspect}), excess-counting.Bytes(p)
			}
		}
	}
	return list
}
