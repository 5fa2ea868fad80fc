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
	model    string
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

func (c *codexReader) line(number int, o *wire.Object, raw []byte) error {
	r := Record{Line: number, Recorded: o.Peek("type")}
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
	if o.Err() != nil {
		return o.Err()
	}
	what := payload.Peek("type")
	custom := entry.Custom{Name: r.Recorded, Data: clone(raw)}
	switch r.Recorded {
	case "session_meta":
		if c.rec.Header.Data == nil {
			c.rec.Header = entry.Header{From: payload.Peek("id"), Time: r.Time, Data: clone(raw)}
			return nil
		}
	case "response_item":
		var notes pending
		if err := c.item(r, what, payload, raw, &notes); err != nil {
			return fmt.Errorf("%s: %w", clip(what), err)
		}
		c.noteAll(number, notes)
		return nil
	case "compacted":
		return c.compacted(r, payload)
	case "turn_context":
		return c.context(r, payload, custom)
	case "event_msg":
		r.Recorded, custom.Name = r.Recorded+"."+what, r.Recorded+"."+what
		r.Body = custom
		return c.event(r, what, payload)
	}
	switch r.Recorded {
	case "session_meta", "state", "world_state": // the first of another session that this one continues
	default:
		c.note(number, Unknown, r.Recorded)
	}
	r.Body = custom
	return c.add(r)
}

// item reads a response item.
func (c *codexReader) item(r Record, what string, o *wire.Object, raw []byte, notes *pending) error {
	c.link(r.Line, what, o, notes)
	role := itemRole(what, o)
	texts := itemTexts(o)
	before := c.get(c.answer)
	switch {
	case role == "":
		if what != "ghost_snapshot" && what != "other" {
			notes.add(Unknown, r.Recorded+"."+what)
		}
		r.Recorded, r.Body = r.Recorded+"."+what, entry.Custom{Name: r.Recorded + "." + what, Data: clone(raw)}
		return c.add(r)
	case role == chat.RoleSystem: // the prompt renders it anew
		r.Body = entry.Custom{Name: "system", Data: clone(raw)}
		return c.add(r)
	case role == chat.RoleAssistant:
		if before == nil {
			c.items = items.Answer{}
		}
		if err := addItem(&c.items, what, o, notes); err != nil {
			return err
		}
	}
	for _, text := range texts {
		c.said[text] = true
	}
	if role == chat.RoleAssistant && before != nil {
		before.Body = entry.Message{Message: c.items.Message}
		return nil
	}
	m := c.items.Message
	if role != chat.RoleAssistant {
		var err error
		if m, err = readItem(what, o, notes); err != nil {
			return err
		}
	}
	tip := c.tip
	r.Body = entry.Message{Message: m}
	if err := c.add(r); err != nil {
		return err
	}
	c.answer = ""
	switch role {
	case chat.RoleAssistant:
		c.answer, c.latest = c.tip, c.tip
	case chat.RoleUser:
		c.latest = ""
		c.asked = append(c.asked, codexTurn{tip, m.Text()})
	}
	return nil
}

// link gives a call without an id one, and its result the same: results without an id answer such calls in their order.
func (c *codexReader) link(line int, what string, o *wire.Object, notes *pending) {
	switch {
	case o.Given("call_id"):
	case items.IsCall(what):
		id := cmp.Or(o.Peek("id"), fmt.Sprint("call-", line))
		c.nameless = append(c.nameless, id)
		o.PutText("call_id", id)
	case strings.HasSuffix(what, "call_output") && len(c.nameless) > 0:
		o.PutText("call_id", c.nameless[0])
		c.nameless = c.nameless[1:]
		notes.add(Unlinked, "call_id")
	}
}

// codexTexts maps the events whose text an item repeats to the field that holds it.
var codexTexts = map[string]string{
	"user_message": "message", "agent_message": "message", "agent_reasoning": "text", "agent_reasoning_raw_content": "text",
}

// event reads an event for Codex's user interface.
func (c *codexReader) event(r Record, what string, o *wire.Object) error {
	switch {
	case what == "token_count":
		return c.usage(r, o)
	case what == "thread_rolled_back":
		turns := o.Count("num_turns")
		if o.Err() != nil {
			return o.Err()
		}
		r.Aside = true
		if err := c.add(r); err != nil {
			return err
		}
		c.rollBack(turns)
		return nil
	}
	r.Aside = true // the answer may continue after it
	if field := codexTexts[what]; field != "" {
		text := o.Peek(field)
		c.events[len(c.rec.Records)] = text
		if what == "user_message" {
			c.prompts[text] = true
		}
	}
	return c.add(r)
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

// usage reads what the provider reported for the answer before. Codex repeats it with each report of its limits.
func (c *codexReader) usage(r Record, o *wire.Object) error {
	if !o.Is("info", wire.KindObject) {
		r.Aside = true
		return c.add(r)
	}
	info := o.Object("info")
	total := info.Compact("total_token_usage")
	if o.Err() != nil || info.Err() != nil || !info.Is("last_token_usage", wire.KindObject) {
		r.Aside = true
		return c.add(r)
	}
	u := info.Object("last_token_usage")
	usage := chat.Usage{
		Input: u.Count("input_tokens"), Output: u.Count("output_tokens"), CacheRead: u.Count("cached_input_tokens"),
		CacheWrite: u.Count("cache_write_input_tokens"),
	}
	if u.Err() != nil {
		return fmt.Errorf("token_count: %w", u.Err())
	}
	r.Aside = true // kept as written too, because it says how much of a limit is used
	last := c.get(c.latest)
	switch {
	case total != "" && total == c.total:
		return c.add(r)
	case last != nil && c.reported != last.ID:
		last.Usage, c.reported = usage, last.ID
	default: // the answer is not an item
		alone := r
		alone.Body = entry.Usage{Model: c.model, Usage: usage}
		if err := c.add(alone); err != nil {
			return err
		}
	}
	c.total = total
	return c.add(r)
}

// context keeps the settings of a turn, and records changes of the model or of how much it thinks.
func (c *codexReader) context(r Record, o *wire.Object, custom entry.Custom) error {
	model, effort := o.Peek("model"), o.Peek("effort")
	bodies := []entry.Body{custom}
	if model != "" && model != c.model {
		bodies = append(bodies, entry.ModelChange{Model: model})
		c.model = model
	}
	if effort != "" && effort != c.effort {
		bodies = append(bodies, entry.ThinkingChange{Level: effort})
		c.effort = effort
	}
	for _, body := range bodies {
		r.Body, r.Parent = body, c.tip
		if err := c.add(r); err != nil {
			return err
		}
	}
	return nil
}

// compacted reads a compaction: the items that replace the conversation, or only the summary. Only a user message can
// replace history here, so only the user's items are shown, and the encrypted summary as it is; if there are others,
// the list is kept as written too.
func (c *codexReader) compacted(r Record, o *wire.Object) error {
	var notes pending
	var body entry.Compaction
	body.Text = o.OptionalText("message")
	list := o.Look("replacement_history")
	seen, others := false, false
	if o.Given("replacement_history") {
		o.Each("replacement_history", func(item *wire.Object) error {
			what := item.Peek("type")
			if what == "" { // a message may be written without a type
				what = "message"
			}
			role := itemRole(what, item)
			m := chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Opaque{Value: item.Source()}}}
			switch {
			case what == "compaction", what == "compaction_summary", what == "context_compaction":
			case role != chat.RoleUser:
				others = true
				return nil
			default:
				for _, text := range itemTexts(item) {
					c.said[text] = true
					seen = seen || text == body.Text
				}
				var err error
				if m, err = readItem(what, item, &notes); err != nil {
					return err
				}
			}
			body.Messages = append(body.Messages, m)
			return nil
		})
	}
	if o.Err() != nil {
		return o.Err()
	}
	if !seen && body.Text != "" || len(body.Messages) == 0 {
		body.Messages = append(body.Messages, summaryMessage(body.Text))
	}
	if others {
		o.Put("replacement_history", list)
	}
	body.Data = o.Remainder()
	r.Body = body
	if err := c.add(r); err != nil {
		return err
	}
	c.answer, c.latest = "", ""
	c.noteAll(r.Line, notes)
	return nil
}

// finish removes the events whose text an item repeats.
func (c *codexReader) finish() error {
	kept := c.rec.Records[:0]
	for i, r := range c.rec.Records {
		if text, ok := c.events[i]; ok && text != "" && c.said[text] {
			c.note(r.Line, Repeated, r.Recorded)
			continue
		}
		kept = append(kept, r)
	}
	c.rec.Records = kept
	c.rec.Leaf = c.tip
	return nil
}
