package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/provider"
)

// Repair changes a request so that [Validate] finds nothing wrong, and returns each change. The original is not
// modified, and a request that breaks no rule is returned as it was. Depending on the rule:
//
//   - An unknown role becomes the user's ("developer" becomes the system's). Calls and answers on messages that cannot
//     hold them are removed.
//   - Results move to their calls. A call without one is removed; a result without its call becomes a user message. Ids
//     and names of calls are made valid, and arguments that are not an object become the field "arguments" of one.
//   - Bytes that are not UTF-8 are replaced. Blank text, thinking that is neither signed nor encrypted or comes after
//     other content, opaque parts of other providers, and messages that become empty are removed; a tool result without
//     content becomes "(no output)".
//   - Images and documents in messages that cannot hold them move to a user message after them; one of a kind that the
//     API does not accept is replaced by a text that says so. If there are too many images, the oldest are replaced
//     too, a quarter of the limit at a time.
//   - System messages at the end move before the question or the round that the model is to answer. A user message is
//     added before a call at the start, and after an answer at the end.
//   - A thought signature that is not base64 is removed. In the current turn, the first call of a message gets
//     [SkipSignature] if it has no signature.
//   - The second of two tools with the same name is removed. A tool choice that requires a call is dropped if there are
//     no tools, and so is a token limit below 0.
//
// What cannot be repaired stays, and is reported by Validate: tools without a name or an acceptable schema, an unknown
// tool choice, a request without messages.
func Repair(req chat.Request, o Options) (chat.Request, []chat.Repair) {
	if Validate(req, o) == nil {
		return req, nil
	}
	r := repairer{options: o}
	for i, m := range req.Messages {
		r.message(i, m)
	}
	r.pair()
	for i := range r.out {
		r.repairParts(&r.out[i])
	}
	r.moveMedia()
	r.Images(imageLimits, r.out, func(why error) chat.Text { return leftOut(why.Error()) })
	r.out = slices.DeleteFunc(r.out, func(m provider.Indexed) bool {
		gone := m.Role != chat.RoleTool && !hasContent(m.Message)
		if gone {
			r.Report(m.Index, chat.RuleEmpty, "the %s message, now empty, left out", m.Role)
		}
		return gone
	})
	r.out = r.End(r.out, len(req.Messages))
	r.start()
	r.sign()
	return r.Repaired(req, r.out)
}

type repairer struct {
	provider.Changes
	options Options
	out     []provider.Indexed
}

// message repairs a single message; pair matches its calls and results.
func (r *repairer) message(i int, m chat.Message) {
	m = r.Fields(i, m)
	m.Content = r.content(i, m)
	if m.Role == chat.RoleTool && !hasContent(m) {
		r.Report(i, chat.RuleEmpty, "the missing output replaced by a text")
		m.Content = append(m.Content, chat.Text(provider.NoOutput))
	}
	if m.Role != chat.RoleTool && !hasContent(m) {
		r.Report(i, chat.RuleEmpty, "the %s message, now empty, left out", m.Role)
		return
	}
	m.ToolCalls = r.calls(i, m.ToolCalls)
	r.out = append(r.out, provider.Indexed{Message: m, Index: i})
}

// content removes the parts that no provider accepts.
func (r *repairer) content(i int, m chat.Message) chat.Parts {
	kept := make(chat.Parts, 0, len(m.Content))
	thinkingOver := false
	for k, p := range m.Content {
		switch t := p.(type) {
		case nil:
			r.Report(i, chat.RuleEmpty, "part %d, which is nil, left out", k)
			continue
		case chat.Text:
			if p = r.Text(i, k, t); p == nil {
				continue
			}
			thinkingOver = true
		case chat.Thinking:
			if m.Role != chat.RoleAssistant || thinkingOver || t.Signature == "" && t.Encrypted == "" {
				r.Report(i, chat.RuleThinking, "the thinking in part %d left out, because it is out of place or neither signed nor encrypted", k)
				continue
			}
			t.Text = r.UTF8(i, fmt.Sprintf("the thinking in part %d", k), t.Text)
			p = t
		case chat.CacheBreakpoint:
		default:
			thinkingOver = true
		}
		kept = append(kept, p)
	}
	return kept
}

// hasContent reports whether a message holds something besides thinking.
func hasContent(m chat.Message) bool {
	for _, p := range m.Content {
		switch p.(type) {
		case chat.Thinking, chat.CacheBreakpoint:
		default:
			return true
		}
	}
	return len(m.ToolCalls) > 0
}

// calls repairs names, arguments and signatures.
func (r *repairer) calls(i int, calls []chat.ToolCall) []chat.ToolCall {
	calls = slices.Clone(calls)
	for k := range calls {
		c := &calls[k]
		c.Arguments = r.UTF8(i, fmt.Sprintf("the arguments of call %q", c.ID), c.Arguments)
		if c.Name == "" {
			c.Name = provider.UnknownTool
			r.Report(i, chat.RuleCallID, "the name of call %q changed to %q", c.ID, c.Name)
		}
		_, faults := callPart(k, *c)
		for _, f := range faults {
			switch f.rule {
			case chat.RuleArguments:
				r.Report(i, f.rule, "the arguments of call %q put into an object", c.ID)
				wrapped, err := plainjson.Marshal(map[string]string{"arguments": c.Arguments})
				if err != nil { // a string is always valid JSON
					wrapped = json.RawMessage(`{}`)
				}
				c.Arguments = string(wrapped)
			case chat.RuleSignatureForm:
				r.Report(i, f.rule, "the signature of call %q left out", c.ID)
				c.Signature = ""
			case chat.RuleCallForm:
				c.Name = toolName(c.Name)
				r.Report(i, f.rule, "the name of call %q changed to %q", c.ID, c.Name)
			}
		}
	}
	return calls
}

// toolName returns a tool's name in the form that Gemini accepts.
func toolName(name string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_.:-", c) {
			return c
		}
		return '_'
	}, name)
	if !functionName.MatchString(name[:1]) {
		name = "_" + name
	}
	return name[:min(len(name), 128)]
}

// pair moves results to their calls, removes calls without results, and makes the ids of calls unique.
func (r *repairer) pair() {
	messages := r.out
	results, matched := provider.ResultsOf(messages)
	r.out = make([]provider.Indexed, 0, len(messages))
	for i, m := range messages {
		if m.Role != chat.RoleTool {
			r.round(i, m, results[i], messages)
		} else if !matched[i] {
			r.out = append(r.out, r.orphan(m))
		}
	}
}

// orphan returns a result without its call as a user message.
func (r *repairer) orphan(m provider.Indexed) provider.Indexed {
	r.Report(m.Index, chat.RuleOrphan, "the result of call %q turned into a user message", clip(m.ToolCallID))
	m.Role, m.Name, m.ToolCallID, m.IsError = chat.RoleUser, "", "", false
	m.Content = append(chat.Parts{chat.Text(provider.LostResult)}, m.Content...)
	return m
}

// round repairs message i with the results of its calls. Results with the same id answer the calls with that id in
// order.
func (r *repairer) round(i int, m provider.Indexed, results []int, messages []provider.Indexed) {
	waiting := map[string][]int{} // indexes of calls by id
	for k, c := range m.ToolCalls {
		waiting[c.ID] = append(waiting[c.ID], k)
	}
	answers := make([]int, len(results)) // the index of the call that each result answers
	answered := make([]bool, len(m.ToolCalls))
	for k, at := range results {
		id := messages[at].ToolCallID
		answers[k], answered[waiting[id][0]] = waiting[id][0], true
		waiting[id] = waiting[id][1:]
	}
	ids, last := map[string]bool{}, map[string]int{}
	var calls []chat.ToolCall
	for k, c := range m.ToolCalls {
		if !answered[k] {
			r.Report(m.Index, chat.RuleAnswered, "call %q left out: it has no result", c.ID)
			continue
		}
		id := r.UTF8(m.Index, fmt.Sprintf("the id of call %d", k), c.ID)
		if id == "" || ids[id] {
			id = unusedID(id, ids, waiting, last)
			r.Report(m.Index, chat.RuleCallID, "the id of call %d changed to %q", k, id)
		}
		c.ID = id
		ids[id] = true
		m.ToolCalls[k].ID = id
		calls = append(calls, c)
	}
	renamed := m.ToolCalls
	m.ToolCalls = calls
	r.out = append(r.out, m)
	next := i + 1 // the index of the result if it is in its place
	for k, at := range results {
		for next < at && messages[next].Role == chat.RoleTool {
			next++
		}
		result := messages[at]
		if next < at {
			r.Report(result.Index, chat.RuleAnswered, "the result of call %q moved to the call", result.ToolCallID)
		}
		result.ToolCallID = renamed[answers[k]].ID
		r.out = append(r.out, result)
	}
}

// unusedID returns an id that is not taken, derived from another one; last is the last number appended to each.
func unusedID(id string, taken map[string]bool, original map[string][]int, last map[string]int) string {
	if id == "" {
		id = "call"
	}
	for {
		last[id]++
		free := fmt.Sprintf("%s-%d", id, last[id]+1)
		if _, given := original[free]; !given && !taken[free] {
			return free
		}
	}
}

// repairParts replaces or removes parts that cannot be sent. Removing a part may invalidate another, such as a note
// about it.
func (r *repairer) repairParts(m *provider.Indexed) {
	for {
		var faults []fault
		if m.Role == chat.RoleTool {
			_, faults = r.options.responseParts(m.Message, provider.UnknownTool)
		} else {
			_, faults = r.options.parts(m.Message, true)
		}
		bad := map[int]fault{}
		for _, f := range faults {
			if f.part >= 0 && f.rule != chat.RulePlace { // repaired by moving it
				bad[f.part] = f
			}
		}
		if len(bad) == 0 {
			return
		}
		kept := make(chat.Parts, 0, len(m.Content))
		for k, p := range m.Content {
			f, found := bad[k]
			if !found {
				kept = append(kept, p)
				continue
			}
			why := f.detail[strings.Index(f.detail, ": ")+2:]
			switch p.(type) {
			case chat.Image, chat.Document:
				r.Report(m.Index, f.rule, "part %d replaced by a text: %s", k, why)
				kept = append(kept, leftOut(why))
			default:
				r.Report(m.Index, f.rule, "part %d left out: %s", k, why)
			}
		}
		m.Content = kept
		if m.Role == chat.RoleTool && !hasContent(m.Message) {
			m.Content = append(m.Content, chat.Text(provider.NoOutput))
		}
	}
}

// leftOut returns the text that replaces an image or a document that the API does not accept.
func leftOut(why string) chat.Text { return chat.Text("[left out: " + why + "]") }

// moveMedia moves images and documents of system messages to a user message after them.
func (r *repairer) moveMedia() {
	var out []provider.Indexed
	for _, m := range r.out {
		var kept, moved chat.Parts
		for k, p := range m.Content {
			switch p.(type) {
			case chat.Image, chat.Document:
				if m.Role == chat.RoleSystem {
					r.Report(m.Index, chat.RulePlace, "an image or a document moved to a user message")
					if _, f := r.options.part(k, p); f != nil {
						p = leftOut(f.detail[strings.Index(f.detail, ": ")+2:])
					}
					moved = append(moved, p)
					continue
				}
			}
			kept = append(kept, p)
		}
		if len(moved) > 0 {
			m.Content = kept
			out = append(out, m, provider.Indexed{Message: chat.Message{Role: chat.RoleUser, Content: moved}, Index: m.Index})
			continue
		}
		out = append(out, m)
	}
	r.out = out
}

// start adds a user message before the first call if it has none before it.
func (r *repairer) start() {
	start := 0
	for start < len(r.out) && r.out[start].Role == chat.RoleSystem {
		start++
	}
	for k := start; k < len(r.out) && r.out[k].Role == chat.RoleAssistant; k++ {
		if len(r.out[k].ToolCalls) == 0 {
			continue
		}
		first := r.out[start].Index
		r.Report(first, chat.RuleCallTurn, "a user message added before it")
		r.out = slices.Insert(r.out, start, provider.Indexed{Message: chat.UserMessage(provider.NotShown), Index: first})
		break
	}
}

// sign adds the missing signatures to the calls of the current turn.
func (r *repairer) sign() {
	if r.options.Legacy {
		return
	}
	for k := len(r.out) - 1; k >= 0; k-- {
		m := &r.out[k]
		switch {
		case m.Role == chat.RoleUser || m.Role == chat.RoleSystem:
			return // the current turn begins here
		case len(m.ToolCalls) == 0:
			continue
		}
		if first, signed := r.options.firstCall(m.Message); !signed {
			r.Report(m.Index, chat.RuleSignature, "SkipSignature added to call %q", m.ToolCalls[first].ID)
			m.ToolCalls[first].Signature = SkipSignature
		}
	}
}
