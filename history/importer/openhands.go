package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	after   map[string]string // by event: the record that the next one follows
	order   []string          // ids of the events
	answers map[string]string // by id of a response: the answer
	calls   map[string]string // by event: the id of its call
	pairing chat.Pairing      // of the calls and their results
}

func newOpenHands(b *builder) *openHandsReader {
	b.rec.Format = FormatOpenHands
	return &openHandsReader{builder: b, after: map[string]string{}, answers: map[string]string{}, calls: map[string]string{}}
}

func isOpenHands(o *wire.Object) bool {
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
			if first := firstOf(o, list); first != nil && isOpenHands(first) {
				return list
			}
		}
	}
	return ""
}

func (h *openHandsReader) line(number int, o *wire.Object, raw []byte) error {
	if list := openHandsList(o); list != "" {
		events := o.Raw(list)
		h.rec.Header = entry.Header{From: o.Peek("instance_id"), Data: o.Remainder()}
		return h.each(events, number, list, h.skip, h.event)
	}
	return h.event(number, o, raw)
}

func (h *openHandsReader) event(number int, o *wire.Object, raw json.RawMessage) error {
	r := Record{Line: number, Entry: entry.Entry{Parent: h.tip, Time: o.Time("timestamp")}}
	id := o.Peek("id")
	if id == "" {
		id = string(o.Look("id")) // a number in earlier versions
	}
	if _, twice := h.after[id]; twice && id != "" {
		h.note(number, Repeated, "id")
		return h.keep(Record{Line: number, Recorded: "event", Entry: r.Entry}, raw)
	}
	if parent := o.Peek("parent_id"); parent == "__root__" {
		r.Parent = ""
	} else if parent != "" {
		var ok bool
		if r.Parent, ok = h.after[parent]; !ok {
			h.note(number, Unlinked, "parent_id")
			r.Parent = h.tip
		}
	}
	if h.rec.Header.Time.IsZero() {
		h.rec.Header.Time = r.Time
	}
	var notes pending
	read := h.earlier
	if o.Is("kind", wire.KindText) {
		read = h.current
	}
	tip := h.tip
	if err := read(r, id, o, raw, &notes); err != nil {
		return err
	}
	h.after[id] = r.Parent
	if h.tip != tip || h.calls[id] != "" { // of a call that was added to an answer
		h.after[id] = h.tip
	}
	h.order = append(h.order, id)
	h.noteAll(number, notes)
	return nil
}

// call adds a call to the answer of its response, or starts one. What of the event was not read is in the data of the
// answer, or noted.
func (h *openHandsReader) call(r Record, id, response string, m chat.Message, o *wire.Object, notes *pending) error {
	c := m.ToolCalls[0]
	h.calls[id] = c.ID
	h.pairing.Add(m)
	if before := h.get(h.answers[response]); response != "" && before != nil {
		h.join(before.ID, chat.Message{ToolCalls: m.ToolCalls})
		for _, same := range []string{"id", "source", "llm_response_id"} {
			o.Skip(same)
		}
		notes.rest("", o)
		return nil
	}
	if err := h.say(r, m, o.Remainder()); err != nil {
		return err
	}
	h.answers[response] = h.tip
	return nil
}

// current reads an event of the SDK.
func (h *openHandsReader) current(r Record, id string, o *wire.Object, raw []byte, notes *pending) error {
	r.Recorded = o.Text("kind")
	if !h.has(id) {
		r.ID = id
	}
	m := chat.Message{Role: chat.RoleTool}
	switch r.Recorded {
	case "SystemPromptEvent":
		r.Body = entry.Custom{Name: "system", Data: clone(raw)}
		return h.add(r)
	case "MessageEvent":
		said := o.Object("llm_message")
		if m.Role = chat.Role(said.OptionalText("role")); m.Role != chat.RoleAssistant {
			m.Role = chat.RoleUser
		}
		if err := openHandsThoughts(&m, said, notes); err != nil {
			return err
		}
		openHandsContent(&m, said, "content", notes)
		notes.rest("llm_message", said)
		openHandsContent(&m, o, "extended_content", notes)
	case "ActionEvent":
		m.Role = chat.RoleAssistant
		if err := openHandsThoughts(&m, o, notes); err != nil {
			return err
		}
		openHandsContent(&m, o, "thought", notes)
		call := o.Object("tool_call")
		c := chat.ToolCall{ID: o.Text("tool_call_id"), Name: o.Text("tool_name")}
		if call.Is("function", wire.KindObject) { // of the first versions
			call = call.Object("function")
		}
		c.Arguments = cmp.Or(call.OptionalText("arguments"), "{}")
		if o.Err() != nil {
			return o.Err()
		}
		o.Skip("action") // the same as the arguments
		call.Skip("id")
		call.Skip("name")
		notes.rest("tool_call", call)
		m.ToolCalls = []chat.ToolCall{c}
		response := o.Peek("llm_response_id")
		return h.call(r, id, response, m, o, notes)
	case "ObservationEvent":
		result := o.Object("observation")
		m.ToolCallID, m.IsError = o.Text("tool_call_id"), result.Flag("is_error")
		openHandsContent(&m, result, "content", notes)
		for _, field := range []string{"output", "error"} { // of the first versions
			if len(m.Content) == 0 {
				openHandsContent(&m, result, field, notes)
			}
		}
		o.Put("observation", result.Remainder())
		openHandsContent(&m, o, "extended_content", notes)
	case "UserRejectObservation":
		m.ToolCallID, m.IsError = o.Text("tool_call_id"), true
		appendText(&m, o.OptionalText("rejection_reason"), "rejection_reason", notes)
	case "AgentErrorEvent":
		m.ToolCallID, m.IsError = o.Text("tool_call_id"), true
		appendText(&m, o.Text("error"), "error", notes)
	case "Condensation":
		var forgotten struct {
			IDs []string `json:"forgotten_event_ids"`
		}
		if err := json.Unmarshal(raw, &forgotten); err != nil {
			return err
		}
		return h.condensed(r, o, raw, forgotten.IDs)
	case "CondensationRequest", "CondensationSummaryEvent", "ConversationErrorEvent", "ConversationStateUpdateEvent", "HookExecutionEvent",
		"InterruptEvent", "LLMCompletionLogEvent", "PauseEvent", "ServerErrorEvent", "StreamingDeltaEvent", "TokenEvent":
		return h.keep(r, raw)
	default:
		notes.add(Unknown, r.Recorded)
		return h.keep(r, raw)
	}
	if o.Err() != nil {
		return o.Err()
	}
	if _, answers := h.pairing.Add(m); m.Role == chat.RoleTool && !answers {
		notes.add(Unlinked, "tool_call_id")
		m = chat.Message{Role: chat.RoleUser, Content: m.Content}
	}
	return h.say(r, m, o.Remainder())
}

// openHandsThoughts reads thinking: blocks of Anthropic's, an item of OpenAI's responses API, or a text.
func openHandsThoughts(m *chat.Message, o *wire.Object, notes *pending) error {
	var item struct {
		ID               string
		Summary, Content []string
		EncryptedContent string `json:"encrypted_content"`
	}
	if raw := o.Raw("responses_reasoning_item"); raw != nil {
		if err := json.Unmarshal(raw, &item); err != nil {
			return fmt.Errorf("responses_reasoning_item: %w", err)
		}
	}
	if found, err := thinkingBlocks(m, o, notes); found || err != nil {
		return err
	}
	text := o.OptionalText("reasoning_content")
	switch t := (chat.Thinking{Text: cmp.Or(text, strings.Join(item.Summary, "\n\n"), strings.Join(item.Content, "\n\n"))}); {
	case item.EncryptedContent != "":
		m.Content = append(m.Content, items.Reasoning(item.ID, item.EncryptedContent, item.Summary...))
	case t.Text != "":
		m.Content = append(m.Content, t)
	}
	return o.Err()
}

// openHandsContent reads a text, or a list of texts and images.
func openHandsContent(m *chat.Message, o *wire.Object, field string, notes *pending) {
	if o.Is(field, wire.KindText) {
		appendText(m, o.Text(field), field, notes)
		return
	}
	if !o.Given(field) {
		return
	}
	o.Each(field, func(p *wire.Object) error {
		raw := p.Source()
		switch typ := p.Text("type"); {
		case p.Err() != nil:
		case typ == "text":
			appendText(m, p.Text("text"), field+".text", notes)
			p.Skip("cache_prompt")
		case typ == "image" && p.Is("image_urls", wire.KindList):
			var urls []string
			if err := json.Unmarshal(p.Raw("image_urls"), &urls); err != nil {
				return fmt.Errorf("image_urls: %w", err)
			}
			for _, url := range urls {
				m.Content = append(m.Content, chat.Image{URL: url})
			}
			p.Skip("cache_prompt")
		default:
			m.Content = append(m.Content, chat.Opaque{Value: raw})
			return p.Err()
		}
		notes.rest(field, p)
		return p.Err()
	})
}

// condensed adds a compaction that keeps what follows the last forgotten event.
func (h *openHandsReader) condensed(r Record, o *wire.Object, raw []byte, forgotten []string) error {
	summary := o.Peek("summary")
	if summary == "" || len(forgotten) == 0 {
		return h.keep(r, raw)
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
	r.Body = entry.Compaction{FirstKept: kept, Messages: []chat.Message{summaryMessage(summary)}, Summary: entry.Summary{Text: summary, Data: clone(raw)}}
	return h.add(r)
}
