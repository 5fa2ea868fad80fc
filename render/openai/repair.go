package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// Change is one thing that [Repair] did.
type Change struct {
	// Index of the message in the list that was given, from 0.
	Index int
	// Rule that was broken.
	Rule chat.Rule
	// Detail says what was done.
	Detail string
}

// String is "message 3: no empty text: part 0 was left out".
func (c Change) String() string { return fmt.Sprintf("message %d: %s: %s", c.Index, c.Rule, c.Detail) }

// Repair mends what [Validate] finds, as far as it can be mended, and tells of each change. The messages given are not
// changed; those that were fine come back as they were. It
//
//   - takes an unknown role for the user's ("developer" for the system's), and drops fields that do not fit the role;
//   - drops blank texts, thinking that no provider signed, and messages in which nothing is left; a result without
//     content says that there was none;
//   - puts a line of text where a part was that the API cannot take;
//   - moves results directly behind their calls, answers calls that have none with an error, and drops results without
//     a call;
//   - shortens ids that are too long and renames those used twice, of the calls with their results;
//   - drops reasoning that nothing follows or that cannot be read back.
//
// What is left to the caller is a list without messages, and one of which the last message is the assistant's or the
// system's ([chat.RuleLast]): what to ask, nobody else can say. OpenAI answers the latter all the same.
func Repair(api API, messages []chat.Message) ([]chat.Message, []Change) {
	r := repairer{api: api}
	for i, m := range messages {
		r.add(i, r.mend(i, m))
	}
	r.pair()
	r.rename()
	if api == Responses {
		r.reason()
	}
	r.prune()
	out := make([]chat.Message, len(r.list))
	for i, m := range r.list {
		out[i] = m.Message
	}
	slices.SortStableFunc(r.changes, func(a, b Change) int { return a.Index - b.Index })
	return out, r.changes
}

// indexed is a message and where it was.
type indexed struct {
	chat.Message
	index int
}

type repairer struct {
	api     API
	list    []indexed
	changes []Change
}

func (r *repairer) add(i int, m chat.Message) { r.list = append(r.list, indexed{m, i}) }

func (r *repairer) report(i int, rule chat.Rule, format string, args ...any) {
	r.changes = append(r.changes, Change{Index: i, Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

// mend mends a message by itself.
func (r *repairer) mend(i int, m chat.Message) chat.Message {
	switch m.Role {
	case chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool:
	default:
		role := chat.RoleUser
		if m.Role == "developer" {
			role = chat.RoleSystem
		}
		r.report(i, chat.RuleRole, "the role %q was taken for %q", m.Role, role)
		m.Role = role
	}
	if len(m.ToolCalls) > 0 && m.Role != chat.RoleAssistant {
		r.report(i, chat.RuleFields, "%d tool calls of a %s message were dropped", len(m.ToolCalls), m.Role)
		m.ToolCalls = nil
	}
	if m.ToolCallID != "" && m.Role != chat.RoleTool {
		r.report(i, chat.RuleFields, "a %s message no longer answers tool call %q", m.Role, m.ToolCallID)
		m.ToolCallID = ""
	}
	if r.api == ChatCompletions && m.Role != chat.RoleTool && m.Name != plainName(m.Name) {
		r.report(i, RuleName, "the name %q became %q", m.Name, plainName(m.Name))
		m.Name = plainName(m.Name)
	}
	m.Content = r.content(i, m)
	m.ToolCalls = r.calls(i, m.ToolCalls)
	return m
}

func (r *repairer) content(i int, m chat.Message) chat.Parts {
	out := make(chat.Parts, 0, len(m.Content))
	changed, said := false, false
	for k, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			if strings.TrimSpace(string(p)) == "" {
				r.report(i, chat.RuleEmpty, "part %d, which is blank, was left out", k)
				changed = true
				continue
			}
		case chat.Thinking:
			if why := r.thinking(m.Role, p, said); why != "" {
				r.report(i, chat.RuleThinking, "part %d was left out: %s", k, why)
				changed = true
				continue
			}
			if raw, _ := reasoningItem(p); said {
				r.report(i, chat.RuleThinking, "part %d comes after other content and became an opaque part", k)
				out, changed = append(out, chat.Opaque{Value: raw}), true
				continue
			}
		}
		if _, thinking := p.(chat.Thinking); !thinking {
			if _, mark := p.(chat.CacheBreakpoint); !mark {
				said = true
			}
		}
		if why := r.api.unfit(m.Role, p); why != "" {
			r.report(i, RuleContent, "part %d was replaced by a line of text: %s", k, why)
			out, changed = append(out, chat.Text("["+standIn(p)+" was left out]")), true
			continue
		}
		out = append(out, p)
	}
	if !changed {
		return m.Content
	}
	return out
}

// standIn names what a line of text stands for.
func standIn(p chat.Part) string {
	switch p := p.(type) {
	case chat.Image:
		return "An image"
	case chat.Document:
		return "A document (" + mediaType(p) + ")"
	default:
		return "Content of another provider"
	}
}

// thinking says why a thought cannot stay; "" where it can.
func (r *repairer) thinking(role chat.Role, t chat.Thinking, said bool) string {
	raw, _ := reasoningItem(t)
	switch {
	case role != chat.RoleAssistant:
		return "only the assistant thinks"
	case t.Signature == "" && t.Encrypted == "":
		return "it has no signature"
	case said && raw == nil:
		return "it comes after other content, and is not OpenAI's"
	default:
		return ""
	}
}

func (r *repairer) calls(i int, calls []chat.ToolCall) []chat.ToolCall {
	out := make([]chat.ToolCall, 0, len(calls))
	for k, c := range calls {
		if c.Name == "" {
			r.report(i, chat.RuleCallID, "call %d (%q), which names no tool, was dropped", k, c.ID)
			continue
		}
		if name := toolName(c.Name); name != c.Name {
			r.report(i, RuleToolName, "the tool %q became %q", c.Name, name)
			c.Name = name
		}
		taken := func(id string) bool {
			return slices.ContainsFunc(out, func(o chat.ToolCall) bool { return o.ID == id })
		}
		if c.ID == "" || taken(c.ID) {
			id := fresh(c.ID, func(id string) bool {
				return taken(id) || slices.ContainsFunc(calls, func(o chat.ToolCall) bool { return o.ID == id })
			})
			r.report(i, chat.RuleCallID, "call %d got the id %q in place of %q", k, id, c.ID)
			c.ID = id
		}
		out = append(out, c)
	}
	if slices.Equal(out, calls) {
		return calls
	}
	return out
}

// fresh is an id made of another one that is not taken. The same list gives the same ids.
func fresh(id string, taken func(string) bool) string {
	const length = 24 // of its hash: no two are the same
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s", n, id))
		if made := "call_" + hex.EncodeToString(sum[:])[:length]; !taken(made) {
			return made
		}
	}
}

// noResult answers a call that was not answered.
const noResult = "[There is no result: the call was interrupted.]"

// noOutput stands for a result without content.
const noOutput = "[no output]"

// pair puts each result behind its call.
func (r *repairer) pair() {
	used := make([]bool, len(r.list))
	var out []indexed
	for i, m := range r.list {
		if m.Role == chat.RoleTool {
			continue // comes with its call, or is dropped
		}
		out = append(out, m)
		if len(m.ToolCalls) == 0 {
			continue
		}
		open := map[string]bool{}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		moved := false // past what is no result
		for j := i + 1; j < len(r.list) && len(open) > 0; j++ {
			next := r.list[j]
			if next.Role != chat.RoleTool {
				moved = true
				for _, c := range next.ToolCalls { // an id used again: results from here on are not ours
					if open[c.ID] {
						delete(open, c.ID)
						out = append(out, r.missing(m, c.ID))
					}
				}
				continue
			}
			if used[j] || !open[next.ToolCallID] {
				continue
			}
			used[j] = true
			delete(open, next.ToolCallID)
			if moved {
				r.report(next.index, chat.RuleAnswered, "the result was moved behind call %q", next.ToolCallID)
			}
			out = append(out, next)
		}
		for _, c := range m.ToolCalls {
			if open[c.ID] {
				out = append(out, r.missing(m, c.ID))
			}
		}
	}
	for j, m := range r.list {
		if m.Role == chat.RoleTool && !used[j] {
			r.report(m.index, chat.RuleOrphan, "the result of call %q was dropped: there is no such call before it that is open", m.ToolCallID)
		}
	}
	r.list = out
}

func (r *repairer) missing(m indexed, id string) indexed {
	r.report(m.index, chat.RuleAnswered, "call %q was answered with an error", id)
	result := chat.ToolResult(id, noResult)
	result.IsError = true
	return indexed{result, m.index}
}

// rename mends the ids of calls. Every round is whole and in one place by now.
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
				case len([]rune(c.ID)) > r.api.maxCallID():
					rule = RuleCallID
				case r.api == Responses && given[c.ID]:
					rule = RuleUniqueID
				}
				if rule != "" {
					names[c.ID] = fresh(c.ID, func(id string) bool { return seen[id] })
					seen[names[c.ID]] = true
					r.report(m.index, rule, "call %q became %q", c.ID, names[c.ID])
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

// renamed is an assistant message with other ids for its calls, in the parts that keep their places too.
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

// reason drops reasoning that cannot be sent.
func (r *repairer) reason() {
	for i := range r.list {
		m := &r.list[i]
		if m.Role != chat.RoleAssistant {
			continue
		}
		for { // that one goes may leave the one before it without what follows
			found := brokenReasoning(m.Message)
			if len(found) == 0 {
				break
			}
			gone := found[len(found)-1]
			r.report(m.index, gone.rule, "reasoning was dropped, for it %s", gone.detail)
			m.Content = slices.Delete(slices.Clone(m.Content), gone.part, gone.part+1)
		}
	}
}

// prune drops messages in which nothing is left.
func (r *repairer) prune() {
	r.list = slices.DeleteFunc(r.list, func(m indexed) bool {
		if len(m.ToolCalls) > 0 || m.Role == chat.RoleTool || r.api.substance(m.Message) {
			return false
		}
		r.report(m.index, chat.RuleEmpty, "the %s message, in which nothing is left, was dropped", m.Role)
		return true
	})
	for i := range r.list {
		if m := &r.list[i]; m.Role == chat.RoleTool && !r.api.substance(m.Message) {
			r.report(m.index, chat.RuleEmpty, "the result says that there is no output")
			m.Content = append(slices.Clone(m.Content), chat.Text(noOutput))
		}
	}
}
