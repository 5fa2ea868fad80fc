package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

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
	first map[string]string // by message: its first record
}

func (c *opencodeReader) line(number int, o *wire.Object, raw []byte) error {
	if o.Is("parts", wire.KindList) {
		return c.message(number, o, raw)
	}
	messages := o.Field("messages", wire.KindList)
	info := o.Object("info")
	if o.Err() != nil {
		return o.Err()
	}
	c.rec.Header = entry.Header{From: info.Peek("id"), Time: opencodeTime(info)}
	o.Put("info", info.Remainder())
	c.rec.Header.Data = o.Remainder()
	return c.each(messages, number, "messages", c.skip, c.message)
}

// opencodeTime returns when what is described was made. It leaves the field unread.
func opencodeTime(info *wire.Object) time.Time {
	if !info.Is("time", wire.KindObject) {
		return time.Time{}
	}
	t, _ := wire.Parse(info.Look("time")) // it is valid
	return t.Time("created")
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

func (c *opencodeReader) message(line int, o *wire.Object, _ json.RawMessage) error {
	info := o.Object("info")
	id, role := info.Text("id"), info.Text("role")
	r := Record{Line: line, Recorded: role, Entry: entry.Entry{Parent: c.tip, Time: opencodeTime(info)}}
	summary := info.Is("summary", wire.KindBoolean) && info.Flag("summary")
	if role != "user" && role != "assistant" {
		o.Fail(fmt.Errorf("unknown role %q", clip(role)))
	}
	if o.Err() != nil {
		return o.Err()
	}
	if c.has(id) {
		c.note(line, Repeated, "info.id")
		return nil
	}
	r.ID = id
	var notes pending
	var kept []json.RawMessage
	steps := []opencodeStep{{message: chat.Message{Role: chat.Role(role)}}}
	tail, compacts := "", false
	o.Each("parts", func(p *wire.Object) error {
		raw := p.Source()
		step := &steps[len(steps)-1]
		switch typ := p.Text("type"); {
		case p.Err() != nil:
			return p.Err()
		case typ == "text" && !p.Flag("ignored"):
			appendText(&step.message, p.Text("text"), "parts.text", &notes)
		case typ == "reasoning" && role == "assistant":
			opencodeThinking(step, p, &notes)
		case typ == "tool" && role == "assistant":
			return opencodeTool(step, p, &notes)
		case typ == "file" && (strings.HasPrefix(p.Peek("mime"), "image/") || p.Peek("mime") == "application/pdf"):
			p.Raw("source")
			step.message.Content = append(step.message.Content, opencodeFile(p))
		case typ == "step-finish":
			if err := opencodeFinished(step, p, &notes); err != nil {
				return err
			}
			steps = append(steps, opencodeStep{message: chat.Message{Role: chat.RoleAssistant}})
			return nil
		case typ == "compaction":
			compacts, tail = true, p.OptionalText("tail_start_id")
			fallthrough
		default: // not sent
			kept = append(kept, clone(raw))
			switch typ {
			case "step-start":
				kept = kept[:len(kept)-1]
				if p.Given("snapshot") {
					notes.add(NoPlace, "parts.snapshot")
				}
			case "text", "file", "snapshot", "patch", "agent", "retry", "compaction", "subtask":
			default:
				notes.add(Unknown, "parts."+typ)
			}
			return nil
		}
		for _, known := range []string{"id", "sessionID", "messageID", "time", "synthetic"} {
			p.Skip(known)
		}
		notes.rest("parts", p)
		return p.Err()
	})
	if o.Err() != nil {
		return o.Err()
	}
	if n := len(steps); n > 1 && len(steps[n-1].message.Content)+len(steps[n-1].message.ToolCalls) == 0 {
		steps = steps[:n-1]
	}
	last := &steps[len(steps)-1]
	if !last.metered && role == "assistant" && len(steps) == 1 {
		if err := opencodeFinished(last, info, &notes); err != nil {
			return err
		}
	}
	provider, model := info.Peek("providerID"), info.Peek("modelID")
	if role == "assistant" {
		var err error
		if r, err = c.answeredBy(r, provider, model); err != nil {
			return err
		}
	}
	info.Skip("id")
	o.Put("info", info.Remainder())
	data := o.Remainder()
	if summary && role == "assistant" {
		text := last.message.Text()
		r.Body = entry.Compaction{FirstKept: c.tailOf(), Messages: []chat.Message{summaryMessage(text)}, Summary: entry.Summary{Text: text, Data: data}}
		if err := c.add(r); err != nil {
			return err
		}
		c.first[id] = c.tip
		c.noteAll(line, notes)
		if last.usage == (chat.Usage{}) {
			return nil
		}
		used := Record{Line: line, Recorded: "usage", Entry: entry.Entry{Parent: c.tip, Time: r.Time}}
		used.Body = entry.Usage{Model: model, Usage: last.usage, Cost: last.cost}
		return c.add(used)
	}
	if compacts && len(last.message.Content) == 0 { // the user's message that asks for a summary
		r.Body = entry.Custom{Name: "compaction", Data: clone(kept[0])}
		c.first[""] = tail
		return c.add(r)
	}
	for i, step := range steps {
		r.Usage, r.Cost = step.usage, step.cost
		if err := c.say(r, step.message, data); err != nil {
			return err
		}
		if i == 0 {
			c.first[id] = c.tip
		}
		r.ID, r.Usage, r.Cost, data = "", chat.Usage{}, 0, nil
		r.Parent = c.tip
		var err error
		if r, err = c.sayAll(r, step.results); err != nil {
			return err
		}
	}
	c.noteAll(line, notes)
	return c.keepAll(r, kept)
}

// tailOf returns the first record that the compaction that was asked for last keeps, "" if it keeps none.
func (c *opencodeReader) tailOf() string {
	tail := c.first[""]
	delete(c.first, "")
	return c.first[tail]
}

// opencodeThinking reads a thought. The signature is in the metadata of its provider. An item of OpenAI's responses API is
// one thought, with a part for each paragraph of its summary.
func opencodeThinking(step *opencodeStep, p *wire.Object, notes *pending) {
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
	appendThinking(&step.message, t, "parts.reasoning", notes)
}

// opencodeTool reads a call with its result.
func opencodeTool(step *opencodeStep, p *wire.Object, notes *pending) error {
	call := chat.ToolCall{ID: p.Text("callID"), Name: p.Text("tool")}
	state := p.Object("state")
	if p.Err() != nil {
		return p.Err()
	}
	call.Arguments = cmp.Or(state.Compact("input"), "{}")
	step.message.ToolCalls = append(step.message.ToolCalls, call)
	result := chat.Message{Role: chat.RoleTool, ToolCallID: call.ID}
	switch status := state.Text("status"); status {
	case "completed":
		appendText(&result, state.Text("output"), "parts.tool.output", notes)
		if state.Given("attachments") {
			state.Each("attachments", func(file *wire.Object) error {
				result.Content = append(result.Content, opencodeFile(file))
				return file.Err()
			})
		}
	case "error":
		result.IsError = true
		appendText(&result, state.Text("error"), "parts.tool.error", notes)
	default: // pending or running: it was interrupted
		notes.rest("parts.tool.state", state)
		return state.Err()
	}
	step.results = append(step.results, result)
	notes.rest("parts.tool.state", state)
	return state.Err()
}

func opencodeFile(p *wire.Object) chat.Part {
	mediaType, url := p.Text("mime"), p.Text("url")
	if data, ok := dataURL(url, mediaType); ok {
		return media(mediaType, data)
	}
	return chat.Image{URL: url, MediaType: mediaType}
}

// opencodeFinished reads the usage and cost of a step, or of an answer. Versions before 1.3 count thinking as output, too; then
// it is in the total once.
func opencodeFinished(step *opencodeStep, p *wire.Object, notes *pending) error {
	if !p.Is("tokens", wire.KindObject) {
		return nil
	}
	t := p.Object("tokens")
	reasoning, total := t.Count("reasoning"), t.Count("total")
	u := chat.Usage{Input: t.Count("input"), Output: t.Count("output")}
	if t.Is("cache", wire.KindObject) {
		cache := t.Object("cache")
		u.CacheRead, u.CacheWrite = cache.Count("read"), cache.Count("write")
	}
	u.Input += u.CacheRead + u.CacheWrite
	if total == u.Input+u.Output+reasoning || u.Output < reasoning {
		u.Output += reasoning
	}
	step.usage, step.cost, step.metered = u, p.Amount("cost"), true
	notes.rest("tokens", t)
	return p.Err()
}
