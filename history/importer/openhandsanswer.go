package importer

import (
	"cmp"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/items"
)

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
