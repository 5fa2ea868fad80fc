package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// Repair changes a request so that [Validate] finds nothing wrong, and returns each change. The original is not
// modified, and a request that breaks no rule is returned as it was. Depending on the rule:
//
//   - An unknown role becomes the user's ("developer" becomes the system's). Calls and answers on messages that cannot
//     hold them are removed.
//   - Results move to their calls. A call without one gets a failed result that says so; a result without its call
//     becomes a user message. Ids and names of calls, and names of participants, are made valid.
//   - Bytes that are not UTF-8 are replaced. Blank text, thinking that is neither signed nor encrypted, opaque parts of
//     other providers, and messages that become empty are removed; a tool result without content becomes "(no output)".
//     Reasoning after other content becomes an opaque part. Reasoning that no item follows, or that cannot be read
//     back, is removed.
//   - Images and documents in messages that cannot hold them move to a user message after them; one of a kind that the
//     API does not accept is replaced by a text that says so. If there are too many images, the oldest are replaced
//     too, a quarter of the limit at a time.
//   - System messages at the end move before the question or the round that the model is to answer. A user message is
//     added after an answer at the end.
//   - The second of two tools with the same name is removed. A tool choice that requires a call is dropped if there are
//     no tools, and so is a token limit below 0.
//
// What cannot be repaired stays, and is reported by Validate: tools without a name or an acceptable schema, an unknown
// tool choice, a request without messages.
func Repair(req chat.Request, api API) (chat.Request, []chat.Repair) {
	r := repairer{api: api}
	for i, m := range req.Messages {
		r.add(i, r.message(i, m))
	}
	r.pair()
	r.rename()
	if api == Responses {
		r.removeReasoning()
	}
	r.moveMedia()
	r.Images(imageLimits, r.list, func(why error) chat.Text { return leftOut(why) })
	r.prune()
	r.list = r.End(r.list, len(req.Messages))
	return r.Repaired(req, r.list)
}

type repairer struct {
	provider.Changes
	api      API
	list     []provider.Indexed
	attempts map[string]int // the number of ids derived from an id
}

func (r *repairer) add(i int, m chat.Message) {
	r.list = append(r.list, provider.Indexed{Message: m, Index: i})
}

// message repairs a single message.
func (r *repairer) message(i int, m chat.Message) chat.Message {
	m = r.Fields(i, m)
	if r.api == ChatCompletions && m.Role != chat.RoleTool && m.Name != plainName(m.Name) {
		r.Report(i, chat.RuleName, "the name %q changed to %q", m.Name, plainName(m.Name))
		m.Name = plainName(m.Name)
	}
	m.ToolCallID = r.UTF8(i, "the id of the answered call", m.ToolCallID)
	m.Content = r.content(i, m)
	m.ToolCalls = r.calls(i, m.ToolCalls)
	return m
}

func (r *repairer) content(i int, m chat.Message) chat.Parts {
	out := make(chat.Parts, 0, len(m.Content))
	said := false
	for k, p := range m.Content {
		switch t := p.(type) {
		case nil:
			r.Report(i, chat.RuleEmpty, "part %d, which is nil, left out", k)
			continue
		case chat.Text:
			if p = r.Text(i, k, t); p == nil {
				continue
			}
		case chat.Thinking:
			if rule, why := r.thinking(m.Role, t, said); why != "" {
				r.Report(i, rule, "the thinking in part %d left out: %s", k, why)
				continue
			}
			if raw, _ := reasoningItem(t); said {
				r.Report(i, chat.RuleThinking, "the thinking in part %d turned into an opaque part, because it is not first", k)
				out = append(out, chat.Opaque{Value: raw})
				continue
			}
		case chat.CacheBreakpoint:
			out = append(out, p)
			continue
		}
		if _, thinking := p.(chat.Thinking); !thinking {
			said = true
		}
		switch rule, err := r.api.checkPart(m.Role, p); {
		case err == nil, rule == chat.RulePlace: // repaired once the rounds are complete
			out = append(out, p)
		case rule == chat.RuleOpaque:
			r.Report(i, rule, "part %d left out: %v", k, err)
		default:
			r.Report(i, rule, "part %d replaced by a text: %v", k, err)
			out = append(out, leftOut(err))
		}
	}
	if slices.EqualFunc(out, m.Content, sameValue) {
		return m.Content
	}
	return out
}

// sameValue reports whether two parts are equal. Opaque parts are never changed and count as equal.
func sameValue(a, b chat.Part) bool {
	if isOpaque(a) || isOpaque(b) {
		return isOpaque(a) && isOpaque(b)
	}
	return a == b
}

// leftOut returns the text that replaces an image or a document that the API does not accept.
func leftOut(why error) chat.Text { return chat.Text("[left out: " + why.Error() + "]") }

// thinking returns the reason why a thought must be removed, "" if it may stay.
func (r *repairer) thinking(role chat.Role, t chat.Thinking, said bool) (chat.Rule, string) {
	raw, _ := reasoningItem(t)
	rule, err := r.api.checkPart(role, t)
	switch {
	case role != chat.RoleAssistant:
		return chat.RuleThinking, "only the assistant thinks"
	case err != nil:
		return rule, "it is not UTF-8"
	case t.Signature == "" && t.Encrypted == "":
		return chat.RuleThinking, "it has no signature"
	case said && raw == nil:
		return chat.RuleThinking, "it comes after other content, and is not OpenAI's"
	default:
		return "", ""
	}
}

func (r *repairer) calls(i int, calls []chat.ToolCall) []chat.ToolCall {
	out := make([]chat.ToolCall, 0, len(calls))
	given, used := map[string]bool{}, map[string]bool{}
	for _, c := range calls {
		given[c.ID] = true
	}
	for k, c := range calls {
		if c.Name == "" {
			c.Name = provider.UnknownTool
			r.Report(i, chat.RuleCallID, "the name of call %q changed to %q", c.ID, c.Name)
		}
		if name := toolName(c.Name); name != c.Name {
			r.Report(i, chat.RuleCallForm, "the name of call %q changed to %q", c.ID, name)
			c.Name = name
		}
		c.Arguments = r.UTF8(i, fmt.Sprintf("the arguments of call %q", c.ID), c.Arguments)
		c.ID = r.UTF8(i, fmt.Sprintf("the id of call %d", k), c.ID)
		if c.ID == "" || used[c.ID] {
			id := r.unusedID(c.ID, func(id string) bool { return given[id] || used[id] })
			r.Report(i, chat.RuleCallID, "the id of call %d changed to %q", k, id)
			c.ID = id
		}
		used[c.ID] = true
		out = append(out, c)
	}
	if slices.Equal(out, calls) {
		return calls
	}
	return out
}

// unusedID returns an id that is not taken, derived from another one. The same list yields the same ids.
func (r *repairer) unusedID(id string, taken func(string) bool) string {
	const length = 24 // of its hash, so that ids do not collide
	if r.attempts == nil {
		r.attempts = map[string]int{}
	}
	for {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s", r.attempts[id], id))
		r.attempts[id]++
		if made := "call_" + hex.EncodeToString(sum[:])[:length]; !taken(made) {
			return made
		}
	}
}

// pair moves each result after its call.
func (r *repairer) pair() {
	results, matched := provider.ResultsOf(r.list)
	out := make([]provider.Indexed, 0, len(r.list))
	for i, m := range r.list {
		if m.Role == chat.RoleTool {
			if !matched[i] {
				out = append(out, r.orphan(m))
			}
			continue
		}
		out = append(out, m)
		answered := map[string]bool{}
		next := i + 1 // the index of the result if it is in its place
		for _, at := range results[i] {
			for next < at && r.list[next].Role == chat.RoleTool {
				next++
			}
			result := r.list[at]
			if next < at {
				r.Report(result.Index, chat.RuleAnswered, "the result of call %q moved to the call", result.ToolCallID)
			}
			answered[result.ToolCallID] = true
			out = append(out, result)
		}
		for _, c := range m.ToolCalls {
			if !answered[c.ID] {
				out = append(out, r.missing(m, c.ID))
			}
		}
	}
	r.list = out
}

// orphan returns a result without its call as a user message.
func (r *repairer) orphan(m provider.Indexed) provider.Indexed {
	r.Report(m.Index, chat.RuleOrphan, "the result of call %q turned into a user message", m.ToolCallID)
	m.Role, m.Name, m.ToolCallID, m.IsError = chat.RoleUser, "", "", false
	m.Content = append(chat.Parts{chat.Text(provider.LostResult)}, r.content(m.Index, m.Message)...) // by the rules for user messages
	return m
}

// missing returns a failed result for a call without one.
func (r *repairer) missing(m provider.Indexed, id string) provider.Indexed {
	r.Report(m.Index, chat.RuleAnswered, "call %q had no result: a failed one added", id)
	result := chat.ToolResult(id, provider.NoResult)
	result.IsError = true
	return provider.Indexed{Message: result, Index: m.Index}
}

// rename repairs the ids of calls. Each result is next to its call by now.
func (r *repairer) rename() {
	seen := map[string]bool{}
	for _, m := range r.list {
		for _, c := range m.ToolCalls {
			seen[c.ID] = true
		}
	}
	given := map[string]bool{} // ids that an earlier call has
	var names map[string]string
	for i := range r.list {
		m := &r.list[i]
		switch m.Role {
		case chat.RoleAssistant:
			names = map[string]string{}
			for _, c := range m.ToolCalls {
				rule := chat.Rule("")
				switch {
				case utf8.RuneCountInString(c.ID) > r.api.maxCallID():
					rule = chat.RuleCallForm
				case r.api == Responses && given[c.ID]:
					rule = chat.RuleCallUnique
				}
				if rule != "" {
					names[c.ID] = r.unusedID(c.ID, func(id string) bool { return seen[id] })
					seen[names[c.ID]] = true
					r.Report(m.Index, rule, "the id of call %q changed to %q", c.ID, names[c.ID])
				}
				given[c.ID] = true
			}
			m.Message = renamed(m.Message, names)
		case chat.RoleTool:
			if name := names[m.ToolCallID]; name != "" {
				m.ToolCallID = name
			}
		}
	}
}

// renamed returns an assistant message with other ids for its calls, in the parts that keep their places too.
func renamed(m chat.Message, names map[string]string) chat.Message {
	if len(names) == 0 {
		return m
	}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for k := range m.ToolCalls {
		if name := names[m.ToolCalls[k].ID]; name != "" {
			m.ToolCalls[k].ID = name
		}
	}
	m.Content = slices.Clone(m.Content)
	for k, p := range m.Content {
		part, ok := p.(chat.Opaque)
		if !ok {
			continue
		}
		if at, o := Responses.placeOf(m.Role, part); at == asCall && names[o.text("call_id")] != "" {
			o.set("call_id", names[o.text("call_id")])
			m.Content[k] = chat.Opaque{Value: o.raw(), Tokens: part.Tokens}
		}
	}
	return m
}

// removeReasoning removes reasoning that cannot be sent.
func (r *repairer) removeReasoning() {
	for i := range r.list {
		m := &r.list[i]
		if m.Role != chat.RoleAssistant {
			continue
		}
		for { // removing one item may leave the one before it without an item that follows
			found := reasoningFaults(m.Message)
			if len(found) == 0 {
				break
			}
			gone := found[len(found)-1]
			r.Report(m.Index, gone.rule, "the reasoning in part %d left out: it %s", gone.part, gone.detail)
			m.Content = slices.Delete(slices.Clone(m.Content), gone.part, gone.part+1)
		}
	}
}

// moveMedia moves images and documents from messages that cannot hold them to a user message after the message and its
// results.
func (r *repairer) moveMedia() {
	var out []provider.Indexed
	var moved chat.Parts
	index := 0 // of the source message
	flush := func() {
		if len(moved) > 0 {
			out = append(out, provider.Indexed{Message: chat.Message{Role: chat.RoleUser, Content: moved}, Index: index})
			moved = nil
		}
	}
	for _, m := range r.list {
		if m.Role != chat.RoleTool {
			flush()
		}
		misplaced := func(p chat.Part) bool {
			rule, err := r.api.checkPart(m.Role, p)
			return err != nil && rule == chat.RulePlace
		}
		if slices.ContainsFunc(m.Content, misplaced) {
			kept := make(chat.Parts, 0, len(m.Content))
			for _, p := range m.Content {
				if misplaced(p) {
					r.Report(m.Index, chat.RulePlace, "an image or a document moved to a user message")
					moved, index = append(moved, r.fit(p)), m.Index
				} else {
					kept = append(kept, p)
				}
			}
			m.Content = kept
		}
		out = append(out, m)
	}
	flush()
	r.list = out
}

// fit returns an image or a document, or a text in its place if a user message cannot hold it either.
func (r *repairer) fit(p chat.Part) chat.Part {
	if _, err := r.api.checkPart(chat.RoleUser, p); err != nil {
		return leftOut(err)
	}
	return p
}

// prune removes messages that became empty.
func (r *repairer) prune() {
	r.list = slices.DeleteFunc(r.list, func(m provider.Indexed) bool {
		if len(m.ToolCalls) > 0 || m.Role == chat.RoleTool || r.api.hasContent(m.Message) {
			return false
		}
		r.Report(m.Index, chat.RuleEmpty, "the %s message, now empty, left out", m.Role)
		return true
	})
	for i := range r.list {
		if m := &r.list[i]; m.Role == chat.RoleTool && !r.api.hasContent(m.Message) {
			r.Report(m.Index, chat.RuleEmpty, "the missing output replaced by a text")
			m.Content = append(slices.Clone(m.Content), chat.Text(provider.NoOutput))
		}
	}
}
