package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// opencodeReader reads what `opencode export` writes (anomalyco/opencode, versions 0.5 to 1.4): the session, and its
// messages, each with parts. An answer of an earlier version has the parts of several requests, each of which becomes an
// answer of its own. Snapshots, patches and what else is not sent is noted aside.
type opencodeReader struct {
	*builder
	first map[string]string // by message: its first record; by "": the message that the compaction asked for last keeps first
}

func (c *opencodeReader) line(o *wire.Object) {
	if o.Is("parts", wire.KindList) {
		c.message(o)
		return
	}
	messages := o.Field("messages", wire.KindList)
	info := o.Object("info")
	if o.Err() != nil {
		return
	}
	c.rec.Header = entry.Header{From: info.Peek("id"), Time: within(info, "time").Time("created")}
	o.Put("info", info.Remainder())
	c.rec.Header.Data = o.Remainder()
	c.each(messages, "messages", c.skip, c.message)
}

// isOpencode reports whether an object is an export, or one of its messages.
func isOpencode(o *wire.Object) bool {
	if !o.Is("info", wire.KindObject) {
		return false
	}
	if o.Is("messages", wire.KindList) {
		first := firstOf(o, "messages")
		return first == nil || first.Is("info", wire.KindObject) && first.Is("parts", wire.KindList)
	}
	return o.Is("parts", wire.KindList)
}

// opencodeStep is a request and its answer.
type opencodeStep struct {
	message chat.Message
	results []chat.Message
	usage   chat.Usage
	cost    float64
	metered bool
	thought string   // the id of the last reasoning item
	summary []string // of that item
}

// opencodeParts is what the parts of a message hold.
type opencodeParts struct {
	role     chat.Role
	steps    []opencodeStep    // at least one
	kept     []json.RawMessage // parts that are not sent
	compacts bool              // one asks for a summary
	tail     string            // the message with which what that keeps begins
}

func (c *opencodeReader) message(o *wire.Object) {
	info := o.Object("info")
	id, role := info.Text("id"), chat.Role(info.Text("role"))
	r := Record{Recorded: string(role), Entry: entry.Entry{ID: id, Parent: c.tip, Time: within(info, "time").Time("created")}}
	answers := role == chat.RoleAssistant
	summary := info.Is("summary", wire.KindBoolean) && info.Flag("summary") && answers
	if role != chat.RoleUser && !answers {
		o.Fail(fmt.Errorf("unknown role %q", clip(string(role))))
	}
	if c.has(id) {
		c.note(noteRepeated, "info.id")
		return
	}
	m := opencodeParts{role: role, steps: []opencodeStep{{message: chat.Message{Role: role}}}}
	o.Each("parts", func(p *wire.Object) { c.part(&m, p) })
	if n := len(m.steps); n > 1 && len(m.steps[n-1].message.Content)+len(m.steps[n-1].message.ToolCalls) == 0 {
		m.steps = m.steps[:n-1]
	}
	last := &m.steps[len(m.steps)-1]
	if !last.metered && answers && len(m.steps) == 1 {
		c.finished(last, info)
	}
	if o.Err() != nil {
		return
	}
	model := info.Peek("modelID")
	if answers {
		r = c.answeredBy(r, info.Peek("providerID"), model)
	}
	info.Skip("id")
	o.Put("info", info.Remainder())
	switch data := o.Remainder(); {
	case summary:
		text, kept := last.message.Text(), c.first[c.first[""]] // by what was asked for last
		delete(c.first, "")
		c.add(r, entry.Compaction{FirstKept: kept, Messages: []chat.Message{summaryMessage(text)}, Summary: entry.Summary{Text: text, Data: data}})
		if c.first[id] = c.tip; last.usage != (chat.Usage{}) {
			r.ID, r.Parent, r.Recorded = "", c.tip, "usage"
			c.add(r, entry.Usage{Model: model, Usage: last.usage, Cost: last.cost})
		}
	case m.compacts && len(last.message.Content) == 0: // the user's message that asks for a summary
		c.first[""] = m.tail
		c.add(r, entry.Custom{Name: "compaction", Data: m.kept[0]})
	default:
		c.steps(r, m.steps, data)
		c.keepAll(r, m.kept)
	}
}

// steps adds a message of the user, or the answers of a turn with their results.
func (c *opencodeReader) steps(r Record, steps []opencodeStep, data json.RawMessage) {
	id := r.ID
	for i, step := range steps {
		r.Usage, r.Cost = step.usage, step.cost
		c.say(r, step.message, data)
		if i == 0 {
			c.first[id] = c.tip
		}
		r.ID, r.Usage, r.Cost, r.Parent, data = "", chat.Usage{}, 0, c.tip, nil
		r = c.sayAll(r, step.results)
	}
}

// part reads a part of a message into its last step.
func (c *opencodeReader) part(m *opencodeParts, p *wire.Object) {
	step, answers := &m.steps[len(m.steps)-1], m.role == chat.RoleAssistant
	switch typ := p.Text("type"); {
	case typ == "text" && !p.Flag("ignored"):
		c.text(&step.message, p.Text("text"), "parts.text")
	case typ == "reasoning" && answers:
		c.thinking(step, p)
	case typ == "tool" && answers:
		c.tool(step, p)
		return
	case typ == "file" && (strings.HasPrefix(p.Peek("mime"), "image/") || p.Peek("mime") == "application/pdf"):
		p.Raw("source")
		step.message.Content = append(step.message.Content, opencodeFile(p))
	case typ == "step-finish":
		c.finished(step, p)
		m.steps = append(m.steps, opencodeStep{message: chat.Message{Role: chat.RoleAssistant}})
		return
	case typ == "step-start":
		if p.Given("snapshot") {
			c.note(noteNoPlace, "parts.snapshot")
		}
		return
	default: // not sent
		if m.kept = append(m.kept, p.Source()); typ == "compaction" {
			m.compacts, m.tail = true, p.OptionalText("tail_start_id")
		}
		if !slices.Contains([]string{"text", "file", "snapshot", "patch", "agent", "retry", "compaction", "subtask"}, typ) {
			c.note(noteUnknown, "parts."+typ)
		}
		return
	}
	p.Skip("id", "sessionID", "messageID", "time", "synthetic")
	c.rest("parts", p)
}

// thinking reads a thought. The signature is in the metadata of its provider. An item of OpenAI's responses API is
// one thought, with a part for each paragraph of its summary.
func (c *opencodeReader) thinking(step *opencodeStep, p *wire.Object) {
	var metadata map[string]struct{ Signature, RedactedData, ReasoningEncryptedContent, ItemID string }
	_ = json.Unmarshal(p.Look("metadata"), &metadata) // or it has none
	t := chat.Thinking{Text: p.Text("text")}
	for _, m := range metadata {
		if m.ReasoningEncryptedContent != "" {
			p.Skip("metadata")
			if m.ItemID == "" || m.ItemID != step.thought {
				step.summary = nil
			} else {
				step.message.Content = step.message.Content[:len(step.message.Content)-1]
			}
			step.thought, step.summary = m.ItemID, append(step.summary, t.Text)
			step.message.Content = append(step.message.Content, items.Reasoning(m.ItemID, m.ReasoningEncryptedContent, step.summary...))
			return
		}
		t.Signature, t.Encrypted = t.Signature+m.Signature, t.Encrypted+m.RedactedData
	}
	if t.Signature+t.Encrypted != "" {
		p.Skip("metadata")
	}
	c.thought(&step.message, t, "parts.reasoning")
}

// tool reads a call with its result, which is missing if it was interrupted.
func (c *opencodeReader) tool(step *opencodeStep, p *wire.Object) {
	call := chat.ToolCall{ID: p.Text("callID"), Name: p.Text("tool")}
	state := p.Object("state")
	call.Arguments = cmp.Or(state.Compact("input"), "{}")
	step.message.ToolCalls = append(step.message.ToolCalls, call)
	result := chat.Message{Role: chat.RoleTool, ToolCallID: call.ID}
	switch state.Text("status") {
	case "completed":
		c.text(&result, state.Text("output"), "parts.tool.output")
		optional(state, "attachments", func(file *wire.Object) { result.Content = append(result.Content, opencodeFile(file)) })
		step.results = append(step.results, result)
	case "error":
		result.IsError = true
		c.text(&result, state.Text("error"), "parts.tool.error")
		step.results = append(step.results, result)
	}
	c.rest("parts.tool.state", state)
}

func opencodeFile(p *wire.Object) chat.Part {
	mediaType, url := p.Text("mime"), p.Text("url")
	if data, ok := strings.CutPrefix(url, "data:"+mediaType+";base64,"); ok {
		return media(mediaType, data)
	}
	return chat.Image{URL: url, MediaType: mediaType}
}

// opencodeUsage reads the usage and cost of a step, or of an answer. Versions before 1.3 count thinking as output, too; then
// it is in the total once.
func (b *builder) opencodeUsage(p *wire.Object) (u chat.Usage, cost float64) {
	t := p.Object("tokens")
	reasoning, total := t.Count("reasoning"), t.Count("total")
	u = chat.Usage{Input: t.Count("input"), Output: t.Count("output")}
	if t.Is("cache", wire.KindObject) {
		cache := t.Object("cache")
		u.CacheRead, u.CacheWrite = cache.Count("read"), cache.Count("write")
	}
	u.Input += u.CacheRead + u.CacheWrite
	if total == u.Input+u.Output+reasoning || u.Output < reasoning {
		u.Output += reasoning
	}
	b.rest("tokens", t)
	return u, p.Amount("cost")
}

// finished reads the usage of a step, if it is given.
func (c *opencodeReader) finished(step *opencodeStep, p *wire.Object) {
	if step.metered = p.Is("tokens", wire.KindObject); step.metered {
		step.usage, step.cost = c.opencodeUsage(p)
	}
}
