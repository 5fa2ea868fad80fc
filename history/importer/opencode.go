package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// opencodeReader reads what `opencode export` writes (anomalyco/opencode, versions 0.5 to 1.4): the session, and its
// messages, each with parts. An answer of an earlier version has the parts of several requests, each of which becomes an
// answer of its own. Snapshots, patches and what else is not sent is noted aside.
type opencodeReader struct {
	*builder
	first map[string]string // by message: its first record
}

func (c *opencodeReader) line(number int, o *object, raw []byte) error {
	if o.is("parts", kindList) {
		return c.message(number, o, raw)
	}
	messages := o.field("messages", kindList)
	info := o.object("info")
	if o.err != nil {
		return o.err
	}
	c.rec.Header = entry.Header{From: info.peek("id"), Time: opencodeTime(info)}
	o.put("info", info.remainder())
	c.rec.Header.Data = o.remainder()
	return c.each(messages, number, "messages", c.skip, c.message)
}

// opencodeTime returns when what is described was made. It leaves the field unread.
func opencodeTime(info *object) time.Time {
	if !info.is("time", kindObject) {
		return time.Time{}
	}
	t, _ := parseObject(info.fields["time"]) // it is valid
	return t.time("created")
}

// isOpencode reports whether an object is an export, or one of its messages.
func isOpencode(o *object) bool {
	if !o.is("info", kindObject) {
		return false
	}
	if o.is("messages", kindList) {
		first := firstOf(o, "messages")
		return first == nil || first.is("info", kindObject) && first.is("parts", kindList)
	}
	return o.is("parts", kindList)
}

// opencodeStep is a request and its answer.
type opencodeStep struct {
	message chat.Message
	results []chat.Message
	usage   chat.Usage
	cost    float64
	metered bool
}

func (c *opencodeReader) message(line int, o *object, _ json.RawMessage) error {
	info := o.object("info")
	id, role := info.text("id"), info.text("role")
	r := Record{Line: line, Recorded: role, Entry: entry.Entry{Parent: c.tip, Time: opencodeTime(info)}}
	summary := info.is("summary", kindBoolean) && info.flag("summary")
	if role != "user" && role != "assistant" {
		o.fail(fmt.Errorf("unknown role %q", clip(role)))
	}
	if o.err != nil {
		return o.err
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
	o.each("parts", func(p *object, raw json.RawMessage) error {
		step := &steps[len(steps)-1]
		switch typ := p.text("type"); {
		case p.err != nil:
			return p.err
		case typ == "text" && !p.flag("ignored"):
			appendText(&step.message, p.text("text"), "parts.text", &notes)
		case typ == "reasoning" && role == "assistant":
			opencodeThinking(step, p, &notes)
		case typ == "tool" && role == "assistant":
			return opencodeTool(step, p, &notes)
		case typ == "file" && (strings.HasPrefix(p.peek("mime"), "image/") || p.peek("mime") == "application/pdf"):
			p.raw("source")
			step.message.Content = append(step.message.Content, opencodeFile(p))
		case typ == "step-finish":
			if err := opencodeFinished(step, p, &notes); err != nil {
				return err
			}
			steps = append(steps, opencodeStep{message: chat.Message{Role: chat.RoleAssistant}})
			return nil
		case typ == "compaction":
			compacts, tail = true, p.optionalText("tail_start_id")
			fallthrough
		default: // not sent
			kept = append(kept, clone(raw))
			switch typ {
			case "step-start":
				kept = kept[:len(kept)-1]
				if p.given("snapshot") {
					notes.add(NoPlace, "parts.snapshot")
				}
			case "text", "file", "snapshot", "patch", "agent", "retry", "compaction", "subtask":
			default:
				notes.add(Unknown, "parts."+typ)
			}
			return nil
		}
		for _, known := range []string{"id", "sessionID", "messageID", "time", "synthetic"} {
			delete(p.fields, known)
		}
		notes.rest("parts", p)
		return p.err
	})
	if o.err != nil {
		return o.err
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
	provider, model := info.peek("providerID"), info.peek("modelID")
	if role == "assistant" {
		var err error
		if r, err = c.answeredBy(r, provider, model); err != nil {
			return err
		}
	}
	delete(info.fields, "id")
	o.put("info", info.remainder())
	data := o.remainder()
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

// opencodeThinking reads a thought. The signature is in the metadata of its provider.
func opencodeThinking(step *opencodeStep, p *object, notes *pending) {
	var metadata map[string]struct{ Signature, RedactedData, ReasoningEncryptedContent string }
	_ = json.Unmarshal(p.fields["metadata"], &metadata) // or it has none
	t := chat.Thinking{Text: p.text("text")}
	for _, m := range metadata {
		t.Signature, t.Encrypted = t.Signature+m.Signature, t.Encrypted+m.RedactedData+m.ReasoningEncryptedContent
	}
	if t.Signature+t.Encrypted != "" {
		delete(p.fields, "metadata")
	}
	appendThinking(&step.message, t, "parts.reasoning", notes)
}

// opencodeTool reads a call with its result.
func opencodeTool(step *opencodeStep, p *object, notes *pending) error {
	call := chat.ToolCall{ID: p.text("callID"), Name: p.text("tool")}
	state := p.object("state")
	if p.err != nil {
		return p.err
	}
	call.Arguments = cmp.Or(state.compact("input"), "{}")
	step.message.ToolCalls = append(step.message.ToolCalls, call)
	result := chat.Message{Role: chat.RoleTool, ToolCallID: call.ID}
	switch status := state.text("status"); status {
	case "completed":
		appendText(&result, state.text("output"), "parts.tool.output", notes)
		if state.given("attachments") {
			state.each("attachments", func(file *object, _ json.RawMessage) error {
				result.Content = append(result.Content, opencodeFile(file))
				return file.err
			})
		}
	case "error":
		result.IsError = true
		appendText(&result, state.text("error"), "parts.tool.error", notes)
	default: // pending or running: it was interrupted
		notes.rest("parts.tool.state", state)
		return state.err
	}
	step.results = append(step.results, result)
	notes.rest("parts.tool.state", state)
	return state.err
}

func opencodeFile(p *object) chat.Part {
	mediaType, url := p.text("mime"), p.text("url")
	if data, ok := dataURL(url, mediaType); ok {
		return media(mediaType, data)
	}
	return chat.Image{URL: url, MediaType: mediaType}
}

// opencodeFinished reads the usage and cost of a step, or of an answer. Versions before 1.3 count thinking as output, too; then
// it is in the total once.
func opencodeFinished(step *opencodeStep, p *object, notes *pending) error {
	if !p.is("tokens", kindObject) {
		return nil
	}
	t := p.object("tokens")
	reasoning, total := t.count("reasoning"), t.count("total")
	u := chat.Usage{Input: t.count("input"), Output: t.count("output")}
	if t.is("cache", kindObject) {
		cache := t.object("cache")
		u.CacheRead, u.CacheWrite = cache.count("read"), cache.count("write")
	}
	u.Input += u.CacheRead + u.CacheWrite
	if total == u.Input+u.Output+reasoning || u.Output < reasoning {
		u.Output += reasoning
	}
	step.usage, step.cost, step.metered = u, p.amount("cost"), true
	notes.rest("tokens", t)
	return p.err
}
