package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/outline"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/toolname"
)

// PreviewRule says which new tool results a session shows as previews, from the first request on. A preview is made of
// the handle of the result and what its structure tells (keys and counts of JSON, the header of a table, the files of a
// diff, the errors of a log), or else of its head and tail. The zero value makes none.
//
// A preview is an [entry.Clearing], so it is decided once, and the session shows the same bytes wherever it is opened.
type PreviewRule struct {
	// Above is the size, in tokens, above which a result is shown as a preview. 0 turns previews off.
	Above int
	// Tokens of a preview at most. Defaults to a quarter of Above.
	Tokens int
	// Names is the number of tokens that a preview may take in addition to name what it does not show, as
	// [ClearRule].Names. 0 names nothing, the default.
	Names int
	// Never names the tools whose results are always shown, ignoring case. Those of package recall are among them.
	Never []string
}

// Find returns the clearing that shows results of the newest round as previews, and false if there is none to show so.
// Call it before each request, and add the clearing with [Session.Add]. Results that hold more than text, and those that
// no tool of the agent's could read ([Session.Handle]), are left alone.
func (r PreviewRule) Find(v View, t chat.Tokenizer) (entry.Clearing, bool) {
	sn := v.shown()
	rounds := sn.current().rounds
	c := entry.Clearing{Preview: true}
	if r.Above <= 0 || len(rounds) == 0 {
		return c, false
	}
	round := rounds[len(rounds)-1]
	calls := round.Assistant.Message().ToolCalls
	for k, e := range round.answered() {
		tool := calls[k].Name
		if !sendable.Call(calls[k]) || round.isCleared(e.ID) || toolname.IsLookUp(tool) || never(r.Never, tool) || !onlyText(e.Message().Content) {
			continue
		}
		text := e.Text()
		total := t.CountText(text)
		if total <= r.Above || sn.handles().of(e, 0, 0) == "" {
			continue
		}
		preview, mark := r.preview(t, sn.handles(), e, text, total)
		if room := min(r.Names, total/namedShare); room > 0 {
			preview = strings.Replace(preview, mark, plaintext.Naming(mark, namesIn(t, text, preview, room)), 1)
		}
		if n := t.CountText(preview); n < total {
			c.Results = append(c.Results, entry.Cleared{Entry: e.ID, Text: preview})
			c.Saved = clamp.Sum(c.Saved, total-n)
		}
	}
	return c, len(c.Results) > 0
}

// preview returns the preview of a text of total tokens, and the mark in it.
func (r PreviewRule) preview(t chat.Tokenizer, h handles, e entry.Entry, text string, total int) (preview, mark string) {
	limit := cmp.Or(max(0, r.Tokens), r.Above/4)
	mark = plaintext.CutHere(total, "tokens", h.of(e, 0, 0))
	for bytes := 4 * limit; bytes >= 200; bytes -= bytes / 8 {
		outlined, ok := outline.Of(text, bytes)
		if !ok {
			break
		}
		if preview := mark + "\n" + outlined; t.CountText(preview) <= limit {
			return preview, mark
		}
	}
	marks := h.marks(e, 0)
	preview = clip(t, text, limit, DefaultHead, func(n int, unit string, from, to int) string {
		mark = marks(n, unit, from, to)
		return mark
	})
	return preview, mark
}

// onlyText reports whether parts are all text.
func onlyText(parts chat.Parts) bool {
	return !slices.ContainsFunc(parts, func(p chat.Part) bool { _, text := p.(chat.Text); return !text })
}

// never reports whether a list names a tool, ignoring case.
func never(names []string, tool string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, tool) })
}
