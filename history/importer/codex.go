package importer

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// codexReader reads the rollouts of the Codex CLI (openai/codex): lines of a timestamp, a type and a payload or, in its
// first versions, a header and then the bare items.
//
// The items of a response (reasoning, text, calls) are put together into one assistant message, up to the first result
// or message of another role. A rollback of turns makes a branch.
type codexReader struct {
	*builder
	answer   string          // the assistant message to which items are added, "" if the next item starts one
	items    items.Answer    // its items
	latest   string          // the newest assistant message since a user message
	reported string          // the newest assistant message with usage
	asked    []codexTurn     // the user messages of the path, for a rollback
	said     map[string]bool // texts of messages and thinking
	total    string          // the last reported total, which Codex repeats
	nameless []string        // ids made for calls without one, until their results
	effort   string
	events   map[int]string  // by record: the text of an event, which an item may repeat
	prompts  map[string]bool // texts of the events for what the user typed
}

// codexTurn is a user message and the record before it.
type codexTurn struct{ before, text string }

// isCodex reports whether an object is the first line of a rollout of either form.
func isCodex(o *wire.Object) bool {
	if o.Is("timestamp", wire.KindText) && o.Is("type", wire.KindText) && o.Is("payload", wire.KindObject) {
		return true
	}
	return o.Peek("type") == "" && o.Is("id", wire.KindText) && o.Is("timestamp", wire.KindText) && (o.Has("instructions") || o.Has("git"))
}

func (c *codexReader) line(o *wire.Object) {
	r := Record{Recorded: o.Peek("type")}
	r.Time, r.Parent = o.Time("timestamp"), c.tip
	payload := o
	if o.Is("payload", wire.KindObject) {
		payload = o.Object("payload")
	} else if record := o.Peek("record_type"); record != "" {
		r.Recorded = record
	} else if r.Recorded != "" {
		r.Recorded = "response_item" // of the earlier form
	} else {
		r.Recorded = "session_meta"
	}
	what := payload.Peek("type")
	switch r.Recorded {
	case "session_meta":
		if c.rec.Header.Data == nil { // else that of another session which this one continues
			c.rec.Header = entry.Header{From: payload.Peek("id"), Time: r.Time, Data: o.Source()}
			return
		}
	case "response_item":
		c.item(r, what, payload, o)
		return
	case "compacted":
		c.compacted(r, payload)
		return
	case "turn_context":
		c.context(r, payload, o)
		return
	case "event_msg":
		r.Recorded += "." + what
		c.event(r, what, payload, o)
		return
	case "state", "world_state":
	default:
		c.note(noteUnknown, r.Recorded)
	}
	c.custom(r, r.Recorded, o)
}

// item reads a response item.
func (c *codexReader) item(r Record, what string, o, line *wire.Object) {
	c.callID(what, o)
	role := itemRole(what, o)
	texts := itemTexts(o)
	before := c.get(c.answer)
	switch role {
	case "":
		if what != "ghost_snapshot" && what != "other" {
			c.note(noteUnknown, r.Recorded+"."+what)
		}
		r.Recorded += "." + what
		c.custom(r, r.Recorded, line)
		return
	case chat.RoleSystem: // the prompt renders it anew
		c.custom(r, "system", line)
		return
	case chat.RoleAssistant:
		if before == nil {
			c.items = items.Answer{}
		}
		c.addItem(&c.items, what, o)
	}
	m := c.items.Message
	if role != chat.RoleAssistant {
		m = c.readItem(what, o)
	}
	if o.Err() != nil {
		return
	}
	for _, text := range texts {
		c.said[text] = true
	}
	if role == chat.RoleAssistant && before != nil {
		before.Body = entry.Message{Message: m}
		return
	}
	tip := c.tip
	c.say(r, m, nil)
	c.answer = ""
	switch role {
	case chat.RoleAssistant:
		c.answer, c.latest = c.tip, c.tip
	case chat.RoleUser:
		c.latest = ""
		c.asked = append(c.asked, codexTurn{tip, m.Text()})
	}
}

// callID gives a call without an id one, and its result the same: results without an id answer such calls in their order.
func (c *codexReader) callID(what string, o *wire.Object) {
	switch {
	case o.Given("call_id"):
	case items.IsCall(what):
		id := cmp.Or(o.Peek("id"), fmt.Sprint("call-", c.at))
		c.nameless = append(c.nameless, id)
		o.PutText("call_id", id)
	case strings.HasSuffix(what, "call_output") && len(c.nameless) > 0:
		o.PutText("call_id", c.nameless[0])
		c.nameless = c.nameless[1:]
		c.note(noteUnlinked, "call_id")
	}
}

// codexTexts maps the events whose text an item repeats to the field that holds it.
var codexTexts = map[string]string{
	"user_message": "message", "agent_message": "message", "agent_reasoning": "text", "agent_reasoning_raw_content": "text",
}

// event reads an event for Codex's user interface. The answer may continue after it.
func (c *codexReader) event(r Record, what string, o, line *wire.Object) {
	r.Aside = true
	switch field := codexTexts[what]; {
	case what == "token_count":
		c.usage(r, o)
	case what == "thread_rolled_back":
		c.rollBack(o.Count("num_turns"))
	case field != "":
		text := o.Peek(field)
		c.events[len(c.rec.Records)] = text
		if what == "user_message" {
			c.prompts[text] = true
		}
	}
	c.custom(r, r.Recorded, line)
}

// rollBack goes back to before the last turns. Codex's own messages in the user's role do not start one.
func (c *codexReader) rollBack(turns int) {
	for ; turns > 0 && len(c.asked) > 0; turns-- {
		for len(c.asked) > 0 {
			turn := c.asked[len(c.asked)-1]
			c.asked = c.asked[:len(c.asked)-1]
			c.tip, c.answer, c.latest = turn.before, "", ""
			if len(c.prompts) == 0 || c.prompts[turn.text] {
				break
			}
		}
	}
}

// usage reads what the provider reported for the answer before. Codex repeats it with each report of its limits, and r is
// kept as written too, because it says how much of a limit is used.
func (c *codexReader) usage(r Record, o *wire.Object) {
	if !o.Is("info", wire.KindObject) {
		return
	}
	info := o.Object("info")
	total := info.Compact("total_token_usage")
	if !info.Is("last_token_usage", wire.KindObject) || total != "" && total == c.total {
		return
	}
	usage := codexUsage.read(info.Object("last_token_usage"))
	if o.Err() != nil {
		return
	}
	if last := c.get(c.latest); last != nil && c.reported != last.ID {
		last.Usage, c.reported = usage, last.ID
	} else { // the answer is not an item
		c.add(r, entry.Usage{Model: c.model, Usage: usage})
	}
	c.total = total
}

// context keeps the settings of a turn, and records changes of the model or of how much it thinks.
func (c *codexReader) context(r Record, o, line *wire.Object) {
	c.custom(r, r.Recorded, line)
	r.Parent = c.tip
	if model := o.Peek("model"); model != "" && model != c.model {
		c.add(r, entry.ModelChange{Model: model})
		c.model, r.Parent = model, c.tip
	}
	if effort := o.Peek("effort"); effort != "" && effort != c.effort {
		c.add(r, entry.ThinkingChange{Level: effort})
		c.effort = effort
	}
}

// compacted reads a compaction: the items that replace the conversation, or only the summary. Only a user message can
// replace history here, so only the user's items are shown, and the encrypted summary as it is; if there are others,
// the list is kept as written too.
func (c *codexReader) compacted(r Record, o *wire.Object) {
	var body entry.Compaction
	body.Text = o.OptionalText("message")
	list := o.Look("replacement_history")
	seen, others := false, false
	optional(o, "replacement_history", func(item *wire.Object) {
		what := cmp.Or(item.Peek("type"), "message") // a message may be written without a type
		role := itemRole(what, item)
		m := chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Opaque{Value: item.Source()}}}
		switch {
		case what == "compaction", what == "compaction_summary", what == "context_compaction":
		case role != chat.RoleUser:
			others = true
			return
		default:
			for _, text := range itemTexts(item) {
				c.said[text] = true
				seen = seen || text == body.Text
			}
			m = c.readItem(what, item)
		}
		body.Messages = append(body.Messages, m)
	})
	if o.Err() != nil {
		return
	}
	if !seen && body.Text != "" || len(body.Messages) == 0 {
		body.Messages = append(body.Messages, summaryMessage(body.Text))
	}
	if others {
		o.Put("replacement_history", list)
	}
	body.Data = o.Remainder()
	c.add(r, body)
	c.answer, c.latest = "", ""
}

// finish removes the events whose text an item repeats.
func (c *codexReader) finish() {
	kept := c.rec.Records[:0]
	for i, r := range c.rec.Records {
		if text, ok := c.events[i]; ok && text != "" && c.said[text] {
			c.noteAt(r.Line, noteRepeated, r.Recorded)
			continue
		}
		kept = append(kept, r)
	}
	c.rec.Records = kept
	c.rec.Leaf = c.tip
}
