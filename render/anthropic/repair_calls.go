package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// pair puts the results directly after their calls and makes the ids valid and unique.
func (r *repairer) pair() {
	used := map[string]int{}
	var out []item
	for n := 0; n < len(r.items); n++ {
		it := r.items[n]
		if it.m.Role == chat.RoleTool { // not matched by an earlier call
			out = append(out, r.orphan(it))
			continue
		}
		if len(it.m.ToolCalls) == 0 {
			out = append(out, it)
			continue
		}
		results, rest := r.resultsAfter(n)
		byID := map[string][]int{} // indexes of unmatched results
		for k, res := range results {
			byID[res.m.ToolCallID] = append(byID[res.m.ToolCallID], k)
		}
		before := callIDs(it.m)
		it.m.ToolCalls = r.calls(it, used)
		it.m.Content = renameMarks(it.m.Content, before, it.m.ToolCalls)
		answers := make([]string, len(results)) // the id of the call that each answers
		var missing []item
		for k, c := range it.m.ToolCalls {
			if at := byID[before[k]]; len(at) > 0 {
				answers[at[0]], byID[before[k]] = c.ID, at[1:]
				continue
			}
			r.Report(it.index, chat.RuleAnswered, "call %q had no result: a failed one added", c.ID)
			answer := chat.ToolResult(c.ID, provider.NoResult)
			answer.IsError = true
			missing = append(missing, item{index: it.index, m: answer})
		}
		out = append(out, it)
		var orphans []item
		for k, res := range results {
			if answers[k] == "" {
				orphans = append(orphans, r.orphan(res))
				continue
			}
			res.m.ToolCallID = answers[k]
			out = append(out, res)
		}
		out = append(out, missing...)
		out = append(out, orphans...)
		out = append(out, rest...)
		n += len(results) + len(rest)
	}
	r.items = out
}

// resultsAfter returns the messages between an assistant message and the next: tool messages, and the others.
func (r *repairer) resultsAfter(n int) (results, rest []item) {
	interrupted := false
	for _, it := range r.items[n+1:] {
		switch {
		case it.m.Role == chat.RoleAssistant:
			return results, rest
		case it.m.Role == chat.RoleTool:
			results = append(results, it)
			if interrupted {
				r.Report(it.index, chat.RuleAnswered, "the result of call %q moved to the other results", it.m.ToolCallID)
			}
		default:
			interrupted = true
			rest = append(rest, it)
		}
	}
	return results, rest
}

// orphan returns a result without its call as a user message.
func (r *repairer) orphan(it item) item {
	r.Report(it.index, chat.RuleOrphan, "the result of call %q turned into a user message", it.m.ToolCallID)
	it.m.Role, it.m.ToolCallID, it.m.IsError = chat.RoleUser, "", false
	it.m.Content = append(chat.Parts{chat.Text(provider.LostResult)}, it.m.Content...)
	return it
}

func callIDs(m chat.Message) []string {
	ids := make([]string, len(m.ToolCalls))
	for k, c := range m.ToolCalls {
		ids[k] = c.ID
	}
	return ids
}

// calls makes the calls of a message valid.
func (r *repairer) calls(it item, used map[string]int) []chat.ToolCall {
	calls := slices.Clone(it.m.ToolCalls)
	own := map[string]bool{} // ids of this message
	for k := range calls {
		c := &calls[k]
		id, name := c.ID, c.Name
		if c.ID == "" {
			c.ID = "call"
		}
		c.ID = replaceInvalid(c.ID)
		if used[c.ID] > 0 {
			rule := chat.RuleCallUnique
			if own[id] {
				rule = chat.RuleCallID
			}
			c.ID = unusedID(c.ID, used)
			r.Report(it.index, rule, "the id of call %d changed to %q", k, c.ID)
		} else if c.ID != id {
			rule := chat.RuleCallForm
			if id == "" {
				rule = chat.RuleCallID
			}
			r.Report(it.index, rule, "the id of call %d changed to %q", k, c.ID)
		}
		used[c.ID]++
		own[id] = true
		if c.Name == "" {
			c.Name = provider.UnknownTool
			r.Report(it.index, chat.RuleCallID, "the name of call %q changed to %q", c.ID, c.Name)
		} else if !nameForm.MatchString(name) {
			c.Name = replaceInvalid(name)
			c.Name = c.Name[:min(len(c.Name), 128)]
			r.Report(it.index, chat.RuleCallForm, "the name of call %q changed to %q", c.ID, c.Name)
		}
		if !isObject(c.Arguments) {
			c.Arguments = object(c.Arguments)
			r.Report(it.index, chat.RuleArguments, "the arguments of call %q put into an object", c.ID)
		}
	}
	return calls
}

// replaceInvalid replaces each character that is not allowed in an id or a name with _.
func replaceInvalid(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
			return c
		}
		return '_'
	}, s)
}

// unusedID returns an id that is not taken, derived from another one; used counts the calls by id.
func unusedID(id string, used map[string]int) string {
	for {
		used[id]++
		if next := fmt.Sprintf("%s_%d", id, used[id]); used[next] == 0 {
			return next
		}
	}
}

// object returns arguments that are not an object as the field of one.
func object(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	return string(opaqueOf(map[string]string{"arguments": strings.ToValidUTF8(arguments, "\uFFFD")}).Value)
}

// renameMarks updates the marks of calls whose ids changed.
func renameMarks(content chat.Parts, before []string, calls []chat.ToolCall) chat.Parts {
	out := slices.Clone(content)
	taken := map[int]bool{}
	for k, p := range out {
		o, ok := p.(chat.Opaque)
		if !ok {
			continue
		}
		b, err := parseOpaque(o)
		if err != nil || b.Type != typeToolUse {
			continue
		}
		for n, id := range before {
			if id == b.ID && !taken[n] {
				taken[n] = true
				if calls[n].ID != id {
					out[k] = messages.PlaceMark(calls[n].ID)
				}
				break
			}
		}
	}
	return out
}
