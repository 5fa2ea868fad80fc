package importer

import (
	"cmp"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// openHandsReader reads the events of OpenHands, one a line or in a list: those of its SDK (OpenHands/software-agent-sdk,
// version 1), which have a kind and form a tree, and those of versions 0.9 to 0.62, which have an action or an observation.
// The calls of one answer, each an event, are put together. Events that the model is not shown are noted aside.
type openHandsReader struct {
	*builder
	order   []string          // ids of the events
	answers map[string]string // by id of a response: the answer
	calls   map[string]string // by event: the id of its call
	pairing chat.Pairing      // of the calls and their results
}

// isOpenHands reports whether an object is an event, or holds a list of them.
func isOpenHands(o *wire.Object) bool { return isOpenHandsEvent(o) || openHandsList(o) != "" }

func isOpenHandsEvent(o *wire.Object) bool {
	return o.Is("kind", wire.KindText) && o.Is("source", wire.KindText) && o.Given("id") ||
		(o.Is("action", wire.KindText) || o.Is("observation", wire.KindText)) && (o.Given("args") || o.Given("extras") || o.Given("source")) && !o.Given("response")
}

func (h *openHandsReader) link(o *wire.Object) (id, parent string) {
	if !o.Is("kind", wire.KindText) {
		return "", ""
	}
	return o.Peek("id"), cmp.Or(o.Peek("parent_id"), o.Peek("action_id")) // a result follows its call
}

// openHandsList is the field that holds the events of a whole recording, such as a line of an evaluation.
func openHandsList(o *wire.Object) string {
	for _, list := range []string{"history", "trajectory"} {
		if o.Is(list, wire.KindList) {
			if first := firstOf(o, list); first != nil && isOpenHandsEvent(first) {
				return list
			}
		}
	}
	return ""
}

func (h *openHandsReader) line(o *wire.Object) {
	if list := openHandsList(o); list != "" {
		events := o.Raw(list)
		h.rec.Header = entry.Header{From: o.Peek("instance_id"), Data: o.Remainder()}
		h.each(events, list, h.skip, h.event)
		return
	}
	h.event(o)
}

func (h *openHandsReader) event(o *wire.Object) {
	r := Record{Entry: entry.Entry{Parent: h.tip, Time: o.Time("timestamp")}}
	id := cmp.Or(o.Peek("id"), string(o.Look("id"))) // a number in earlier versions
	if _, twice := h.after[id]; twice && id != "" {
		h.note(noteRepeated, "id")
		r.Recorded = "event"
		h.keep(r, o.Source())
		return
	}
	if parent := o.Peek("parent_id"); parent == "__root__" {
		r.Parent = ""
	} else if parent != "" {
		r.Parent = h.follows(parent, h.tip, "parent_id")
	}
	if h.rec.Header.Time.IsZero() {
		h.rec.Header.Time = r.Time
	}
	tip := h.tip
	if o.Is("kind", wire.KindText) {
		h.current(r, id, o)
	} else {
		h.earlier(r, id, o)
	}
	if o.Err() != nil {
		return
	}
	h.after[id] = r.Parent
	if h.tip != tip || h.calls[id] != "" { // of a call that was added to an answer
		h.after[id] = h.tip
	}
	h.order = append(h.order, id)
}

// call adds a call to the answer of its response, or starts one. What of the event was not read is in the data of the
// answer, or noted.
func (h *openHandsReader) call(r Record, id, response string, m chat.Message, o *wire.Object) {
	if o.Err() != nil {
		return
	}
	h.calls[id] = m.ToolCalls[0].ID
	h.pairing.Add(m)
	if before := h.get(h.answers[response]); response != "" && before != nil {
		h.join(before.ID, chat.Message{ToolCalls: m.ToolCalls})
		o.Skip("id", "source", "llm_response_id")
		h.rest("", o)
		return
	}
	h.say(r, m, o.Remainder())
	h.answers[response] = h.tip
}

// thoughts reads thinking: blocks of Anthropic's, an item of OpenAI's responses API, or a text.
func (h *openHandsReader) thoughts(m *chat.Message, o *wire.Object) {
	var item struct {
		ID               string
		Summary, Content []string
		EncryptedContent string `json:"encrypted_content"`
	}
	decode(o, "responses_reasoning_item", &item)
	if h.thinkingBlocks(m, o) {
		return
	}
	text := o.OptionalText("reasoning_content")
	switch t := (chat.Thinking{Text: cmp.Or(text, strings.Join(item.Summary, "\n\n"), strings.Join(item.Content, "\n\n"))}); {
	case item.EncryptedContent != "":
		m.Content = append(m.Content, items.Reasoning(item.ID, item.EncryptedContent, item.Summary...))
	case t.Text != "":
		m.Content = append(m.Content, t)
	}
}

// content reads a text, or a list of texts and images.
func (h *openHandsReader) content(m *chat.Message, o *wire.Object, field string) {
	if o.Is(field, wire.KindText) {
		h.text(m, o.Text(field), field)
		return
	}
	optional(o, field, func(p *wire.Object) {
		switch typ := p.Text("type"); {
		case typ == "text":
			h.text(m, p.Text("text"), field+".text")
		case typ == "image" && p.Is("image_urls", wire.KindList):
			h.images(m, p)
		default:
			m.Content = append(m.Content, chat.Opaque{Value: p.Source()})
			return
		}
		p.Skip("cache_prompt")
		h.rest(field, p)
	})
}

// images adds the images whose URLs an object lists.
func (h *openHandsReader) images(m *chat.Message, o *wire.Object) {
	var urls []string
	decode(o, "image_urls", &urls)
	for _, url := range urls {
		m.Content = append(m.Content, chat.Image{URL: url})
	}
}

// condensed adds a compaction that keeps what follows the last forgotten event.
func (h *openHandsReader) condensed(r Record, summary string, o *wire.Object, forgotten []string) {
	if summary == "" || len(forgotten) == 0 {
		h.keep(r, o.Source())
		return
	}
	gone := map[string]bool{} // events, and their records
	for _, id := range forgotten {
		gone[id], gone[h.after[id]] = true, true
	}
	kept := ""
	for i := len(h.order) - 1; i >= 0 && !gone[h.order[i]]; i-- {
		if record := h.after[h.order[i]]; !gone[record] {
			kept = record
		}
	}
	h.add(r, entry.Compaction{FirstKept: kept, Messages: []chat.Message{summaryMessage(summary)}, Summary: entry.Summary{Text: summary, Data: o.Source()}})
}
