package provider

import (
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// Repair changes a request so that [API.Validate] finds nothing wrong that can be repaired, and returns each change. The
// original is not modified, and a request that breaks no rule is returned as it was.
//
// Messages are repaired in this order: roles and fields; calls and results, which are paired as [chat.Pairing] says; the
// content of each message; images; empty messages; the end.
func (a *API) Repair(req chat.Request) (chat.Request, []chat.Repair) {
	r := a.repairer(req)
	return r.repair(req), r.ByMessage()
}

// repairer returns what repairs a request.
func (a *API) repairer(req chat.Request) *Repairer {
	r := &Repairer{api: a, Tools: req.Tools, attempts: map[string]int{}}
	for i, m := range req.Messages {
		r.Messages = append(r.Messages, Indexed{Message: m, Index: i})
	}
	return r
}

// repair returns the request as it is sent.
func (r *Repairer) repair(req chat.Request) chat.Request {
	a := r.api
	for i, m := range req.Messages {
		r.Messages[i].Message = r.Fields(i, m)
	}
	r.run(a.Before)
	r.pair()
	r.contents()
	r.Images(a.Images.Excess)
	if a.Large != nil {
		r.Images(a.Large)
	}
	r.run(a.Between)
	r.end(len(req.Messages))
	r.run(a.After)
	r.Choice(&req)
	r.Limit(&req)
	req.Tools = r.Changes.Tools(req.Tools)
	for k, t := range req.Tools {
		if name := a.ToolName.Name(t.Name); name != t.Name && t.Name != "" {
			r.Report(chat.RequestIndex, RuleToolForm, "the name of tool %q changed to %q", clip(t.Name), name)
			req.Tools[k].Name = name
		}
	}
	if req.Tool != "" {
		req.Tool = a.ToolName.Name(req.Tool)
	}
	req.Messages = r.Plain()
	if a.Request != nil {
		a.Request(r, &req)
	}
	return req
}

// Repairer holds a request while it is repaired.
type Repairer struct {
	Changes
	Messages []Indexed
	Tools    []chat.Tool // of the original request

	api      *API
	attempts map[string]int // the number of ids derived from an id
}

func (r *Repairer) run(hook func(*Repairer)) {
	if hook != nil {
		hook(r)
	}
}

// Plain returns the messages without their indexes.
func (r *Repairer) Plain() []chat.Message {
	plain := make([]chat.Message, len(r.Messages))
	for i, m := range r.Messages {
		plain[i] = m.Message
	}
	return plain
}

// pair puts the results directly after their calls, and repairs the calls.
func (r *Repairer) pair() {
	plain := r.Plain()
	pairs := chat.Pair(plain)
	results := map[int][]int{} // of each message with calls, in order
	given := map[string]bool{} // ids of all calls
	for i, m := range plain {
		if call, ok := pairs[i]; ok {
			results[call.Message] = append(results[call.Message], i)
		}
		for _, c := range m.ToolCalls {
			given[c.ID] = true
		}
	}
	used := map[string]bool{}
	messages := r.Messages
	r.Messages = make([]Indexed, 0, len(messages))
	for i, m := range messages {
		if _, answers := pairs[i]; answers {
			continue
		}
		if m.Role == chat.RoleTool {
			m = r.orphan(m)
		}
		if len(m.ToolCalls) == 0 {
			r.Messages = append(r.Messages, m)
			continue
		}
		answered := make([]bool, len(m.ToolCalls))
		for _, at := range results[i] {
			answered[pairs[at].Call] = true
		}
		if !r.api.UniqueIDs {
			used = map[string]bool{}
		}
		ids := r.calls(&m, answered, given, used)
		r.Messages = append(r.Messages, m)
		next := i + 1 // the index of the result if it is in its place
		for _, at := range results[i] {
			for next < at && messages[next].Role == chat.RoleTool {
				next++
			}
			result := messages[at]
			if next < at {
				r.Report(result.Index, chat.RuleAnswered, "the result of call %q moved to the call", clip(result.ToolCallID))
			}
			result.ToolCallID = ids[pairs[at].Call]
			r.Messages = append(r.Messages, result)
		}
		for k, id := range ids {
			if !answered[k] && !r.api.Unanswered {
				r.Report(m.Index, chat.RuleAnswered, "call %q had no result: a failed one added", clip(id))
				missing := chat.ToolResult(id, NoResult)
				missing.IsError = true
				r.Messages = append(r.Messages, Indexed{Message: missing, Index: m.Index})
			}
		}
	}
}

// orphan returns a result without its call as a user message.
func (r *Repairer) orphan(m Indexed) Indexed {
	r.Report(m.Index, chat.RuleOrphan, "the result of call %q turned into a user message", clip(m.ToolCallID))
	m.Role, m.Name, m.ToolCallID, m.IsError = chat.RoleUser, "", "", false
	m.Content = append(chat.Parts{chat.Text(LostResult)}, plaintext.ResultTag.Parts(m.Content)...)
	return m
}

// calls repairs the calls of a message, with the parts that mark their places, and returns their ids. Calls that are not
// answered are left out if the API says so.
func (r *Repairer) calls(m *Indexed, answered []bool, given, used map[string]bool) (ids []string) {
	var calls []chat.ToolCall
	own := map[string]bool{}         // ids of this message
	renamed := map[string][]string{} // the ids of the calls that had an id
	for k, c := range m.ToolCalls {
		if !answered[k] && r.api.Unanswered {
			r.Report(m.Index, chat.RuleAnswered, "call %q left out: it has no result", clip(c.ID))
			ids = append(ids, "")
			continue
		}
		before := c.ID
		c = r.call(m.Index, k, c, own[before], given, used)
		own[before], used[c.ID] = true, true
		renamed[before] = append(renamed[before], c.ID)
		ids, calls = append(ids, c.ID), append(calls, c)
	}
	if slices.Equal(calls, m.ToolCalls) {
		return ids
	}
	before := m.Message
	m.ToolCalls, m.Content = calls, slices.Clone(m.Content)
	for k, p := range m.Content {
		o, ok := p.(chat.Opaque)
		if !ok || r.api.Marked == nil {
			continue
		}
		id := r.api.Marked(before, o)
		if list := renamed[id]; id != "" && len(list) > 0 {
			if renamed[id] = list[1:]; list[0] != id {
				m.Content[k] = r.api.Mark(o, list[0])
			}
		}
	}
	return ids
}

// call repairs call k of message i. Again reports whether another call of the message had its id.
func (r *Repairer) call(i, k int, c chat.ToolCall, again bool, given, used map[string]bool) chat.ToolCall {
	api := r.api
	id := c.ID
	if api.CallID.Allowed == nil {
		id = r.UTF8(i, fmt.Sprintf("the id of call %d", k), id)
	}
	rule := RuleCallForm
	fixed := Form{Allowed: api.CallID.Allowed}.Fix(id)
	switch {
	case id == "" || used[fixed] && again:
		rule = chat.RuleCallID
	case used[fixed]:
		rule = RuleCallUnique
	}
	if id == "" || used[fixed] || api.CallID.isLong(fixed) {
		fixed = r.unusedID(fixed, given, used)
	}
	if fixed != id {
		r.Fault(i, rule, fmt.Sprintf("call %d has the id %q", k, clip(c.ID)), "the id of call %d changed to %q", k, fixed)
	}
	c.ID = fixed
	name := api.ToolName.Name(c.Name)
	if rule = RuleCallForm; c.Name == "" {
		rule, name = chat.RuleCallID, UnknownTool
	}
	if name != c.Name {
		r.Fault(i, rule, fmt.Sprintf("call %d has the name %q", k, clip(c.Name)), "the name of call %q changed to %q", clip(c.ID), name)
		c.Name = name
	}
	c.Arguments = r.JSON(i, fmt.Sprintf("the arguments of call %q", clip(c.ID)), c.Arguments)
	if signature, half := mended(c.Signature); half {
		r.Report(i, RuleUTF8, "half surrogate pairs replaced in the signature of call %q", clip(c.ID))
		c.Signature = signature
	}
	if err := api.Arguments(c); err != nil {
		r.Fault(i, RuleArguments, fmt.Sprintf("call %d: %v", k, err), "the arguments of call %q put into an object", clip(c.ID))
		c.Arguments = object(c.Arguments)
	}
	if err := api.Signature(c); err != nil {
		r.Fault(i, RuleSignatureForm, fmt.Sprintf("call %d: %v", k, err), "the signature of call %q left out", clip(c.ID))
		c.Signature = ""
	}
	return c
}

// unusedID returns an id that no call has, derived from another one. The same list yields the same ids.
func (r *Repairer) unusedID(id string, given, used map[string]bool) string {
	for {
		made := r.api.NewID(id, r.attempts[id])
		if r.attempts[id]++; !given[made] && !used[made] {
			return made
		}
	}
}

// contents repairs the content of each message. Images and documents move from messages that cannot hold them to a user
// message after the message and its results, and messages that become empty are left out.
func (r *Repairer) contents() {
	var out []Indexed
	var moved chat.Parts
	index := 0 // of the source message
	flush := func() {
		if len(moved) > 0 {
			out = append(out, Indexed{Message: chat.Message{Role: chat.RoleUser, Content: moved}, Index: index})
			moved = nil
		}
	}
	for _, m := range r.Messages {
		if m.Role != chat.RoleTool {
			flush()
		}
		if name := r.api.Participant.Fix(m.Name); m.Role != chat.RoleTool && name != m.Name {
			r.Report(m.Index, RuleName, "the name %q changed to %q", clip(m.Name), name)
			m.Name = name
		}
		if misplaced := r.content(&m); len(misplaced) > 0 {
			moved, index = append(moved, misplaced...), m.Index
		}
		switch {
		case r.Says(m.Message):
		case m.Role == chat.RoleTool:
			r.Report(m.Index, chat.RuleEmpty, "the missing output replaced by a text")
			m.Content = append(chat.Parts{chat.Text(NoOutput)}, m.Content...)
		default:
			r.Fault(m.Index, chat.RuleEmpty, "the message says nothing", "the %s message, now empty, left out", m.Role)
			continue
		}
		out = append(out, m)
	}
	flush()
	r.Messages = out
}

// Says reports whether a message calls tools or says something besides thinking.
func (r *Repairer) Says(m chat.Message) bool { return len(m.ToolCalls) > 0 || r.api.Says(m) }

// content repairs the content of a message, and returns the parts that must move to a user message.
func (r *Repairer) content(m *Indexed) (moved chat.Parts) {
	c := content{Repairer: r, m: m, at: make([]int, len(m.Content))}
	for k := range c.at {
		c.at[k] = k
	}
	c.each(c.basic)
	for faulty := true; faulty; { // without a part, another may be at fault
		faults := map[int]Fault{}
		for _, f := range r.api.faults(m.Message) {
			if _, found := faults[f.Part]; !found {
				faults[f.Part] = f
			}
		}
		faulty = len(faults) > 0
		if faulty {
			c.each(func(n, k int, p chat.Part) chat.Part {
				f, found := faults[n]
				if !found {
					return p
				}
				return c.faulty(k, p, f)
			})
		}
	}
	if said, original := false, m.Message; m.Role == chat.RoleAssistant {
		c.each(func(_, k int, p chat.Part) chat.Part {
			t, thinks := p.(chat.Thinking)
			if _, mark := p.(chat.CacheBreakpoint); !thinks && !mark {
				said = true
			}
			if !thinks || !said {
				return p
			}
			return c.late(k, original, t)
		})
	}
	return c.moved
}

// content is the content of a message while it is repaired.
type content struct {
	*Repairer
	m     *Indexed
	at    []int // the original indexes of its parts
	moved chat.Parts
}

// each replaces each part by what f returns for it, given its index and the original one. Nil leaves it out.
func (c *content) each(f func(n, k int, p chat.Part) chat.Part) {
	parts, at := make(chat.Parts, 0, len(c.m.Content)), make([]int, 0, len(c.at))
	for n, p := range c.m.Content {
		if p = f(n, c.at[n], p); p != nil {
			parts, at = append(parts, p), append(at, c.at[n])
		}
	}
	if !slices.EqualFunc(parts, c.m.Content, same) {
		c.m.Content = parts
	}
	c.at = at
}

// same reports whether a part was not changed. Opaque parts are compared by their bytes.
func same(a, b chat.Part) bool {
	x, opaque := a.(chat.Opaque)
	y, both := b.(chat.Opaque)
	if opaque || both {
		return opaque && both && string(x.Value) == string(y.Value) && x.Tokens == y.Tokens
	}
	return a == b
}

// basic leaves out what no API accepts.
func (c *content) basic(_, k int, p chat.Part) chat.Part {
	switch p := p.(type) {
	case nil:
		c.Report(c.m.Index, chat.RuleEmpty, "part %d, which is nil, left out", k)
	case chat.Text:
		return c.Text(c.m.Index, k, p)
	case chat.Opaque:
		if value, half := mended(p.Value); half {
			c.Report(c.m.Index, RuleUTF8, "half surrogate pairs replaced in part %d", k)
			p.Value = value
		}
		return p
	case chat.Thinking:
		why := "it has no signature"
		if c.m.Role != chat.RoleAssistant {
			why = "only the assistant thinks"
		} else if p.Signature != "" || p.Encrypted != "" {
			return p
		}
		c.Report(c.m.Index, chat.RuleThinking, "the thinking in part %d left out: %s", k, why)
		c.m.Broken = true
	default:
		return p
	}
	return nil
}

// faulty returns what takes the place of part k, which the API does not accept.
func (c *content) faulty(k int, p chat.Part, f Fault) chat.Part {
	report := func(format string, args ...any) {
		c.Fault(c.m.Index, f.Rule, fmt.Sprintf("part %d: %s", k, f.Why), format, args...)
	}
	switch p := p.(type) {
	case chat.Image, chat.Document:
		if f.Rule == RulePlace || f.Rule == RuleErrorResult {
			report("an image or a document moved to a user message")
			for _, f := range c.api.faults(chat.Message{Role: chat.RoleUser, Content: chat.Parts{p}}) {
				c.moved = append(c.moved, LeftOut(f.Why))
				return nil
			}
			c.moved = append(c.moved, p)
			return nil
		}
		report("part %d replaced by a text: %s", k, f.Why)
		return LeftOut(f.Why)
	case chat.CacheBreakpoint:
		report("the type of part %d removed", k)
		p.Type = ""
		return p
	case chat.Thinking:
		report("the thinking in part %d left out: %s", k, f.Why)
		c.m.Broken = true
	default:
		report("part %d left out: %s", k, f.Why)
	}
	return nil
}

// late returns what takes the place of thinking that is not first.
func (c *content) late(k int, m chat.Message, t chat.Thinking) chat.Part {
	if p := c.api.Late(m, t); p != nil {
		c.Report(c.m.Index, chat.RuleThinking, "the thinking in part %d turned into an opaque part, because it is not first", k)
		return p
	}
	c.Report(c.m.Index, chat.RuleThinking, "the thinking in part %d left out, because it is not first", k)
	c.m.Broken = true
	return nil
}

// end makes the last message one that the model can answer: system messages at the end move before the question or the
// round to be answered, and a user message is added after an answer, unless the API goes on with it, or if only system
// messages are left. A request without messages stays empty; given is its original number of messages.
func (r *Repairer) end(given int) {
	if given == 0 {
		return
	}
	last := len(r.Messages)
	for last > 0 && r.Messages[last-1].Role == chat.RoleSystem {
		last--
	}
	before := last - 1 // the question or the round to be answered
	for before > 0 && r.Messages[before].Role == chat.RoleTool {
		before--
	}
	paused := r.api.Paused != nil && r.api.Paused(chat.Request{Messages: r.Plain()[:last], Tools: r.Tools})
	switch {
	case last == 0 || r.Messages[last-1].Role == chat.RoleAssistant && !paused:
		r.Report(given-1, chat.RuleLast, "a user message added at the end")
		r.Messages = append(r.Messages, Indexed{Message: chat.UserMessage(GoOn), Index: given - 1})
	case last < len(r.Messages):
		r.Report(r.Messages[last].Index, chat.RuleLast, "%d system messages moved before the question or round to be answered", len(r.Messages)-last)
		r.Messages = slices.Concat(r.Messages[:before], r.Messages[last:], r.Messages[before:last])
	}
}

// InsertUser adds a user message that says that the conversation before it is not shown, before message n.
func (r *Repairer) InsertUser(n int, rule chat.Rule) {
	i := r.Messages[n].Index
	r.Fault(i, rule, "no message of the user comes before it", "a user message added before it")
	r.Messages = slices.Insert(r.Messages, n, Indexed{Message: chat.UserMessage(NotShown), Index: i})
}
