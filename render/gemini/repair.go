package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// Change is one thing that [Repair] did.
type Change struct {
	// Index of the message that was changed, among those that Repair was given. One that was added has the index of the
	// message that it stands before.
	Index int
	// Rule that asked for it.
	Rule chat.Rule
	// Detail says what was done.
	Detail string
}

// String is "message 3: every tool call is answered: removed call "c1", which has no result".
func (c Change) String() string { return fmt.Sprintf("message %d: %s: %s", c.Index, c.Rule, c.Detail) }

// What is said where Gemini asks for words and there are none.
const (
	begin       = "(The conversation so far is not shown.)"
	goOn        = "Continue."
	noOutput    = "(no output)"
	unknownTool = "unknown_tool"
)

// Repair mends messages so that [Validate] has nothing to say, and tells of each change. The messages that it was given
// stay as they are; without changes it gives them back. What it does, where a rule asks for it:
//
//   - A call without a result is removed, and so is a result without its call. Calls that share an id, or have none, get
//     ids of their own, and so do their results, in order.
//   - Blank text, and unsigned or late thinking, is removed; a message of which nothing is left is too. A tool that said
//     nothing says "(no output)".
//   - A part that cannot be sent is replaced by a text that says so; an opaque part of another provider is removed.
//   - Arguments that are no JSON object become the value of a key "arguments" in one. Names of functions lose what Gemini
//     does not take.
//   - A thought signature that is no base64 is removed. In the current turn, a call that lacks its signature gets
//     [SkipSignature].
//   - Before a call that nothing comes before, and after an answer that nothing follows, a short user message is added.
func Repair(messages []chat.Message, options Options) ([]chat.Message, []Change) {
	if Validate(messages, options) == nil {
		return messages, nil
	}
	r := repairer{options: options}
	for i, m := range messages {
		r.clean(i, m)
	}
	r.pair()
	for i := range r.out {
		r.mendParts(&r.out[i])
	}
	r.out = slices.DeleteFunc(r.out, func(m indexed) bool {
		gone := m.Role != chat.RoleTool && isBare(m.Message)
		if gone {
			r.report(m.index, chat.RuleEmpty, "removed the message, of which nothing is left")
		}
		return gone
	})
	r.ends(len(messages))
	r.sign()
	mended := make([]chat.Message, len(r.out))
	for i, m := range r.out {
		mended[i] = m.Message
	}
	slices.SortStableFunc(r.changes, func(a, b Change) int { return a.Index - b.Index })
	return mended, r.changes
}

// indexed is a message with its place in the list that is mended.
type indexed struct {
	chat.Message
	index int
}

type repairer struct {
	options Options
	out     []indexed
	changes []Change
}

func (r *repairer) report(i int, rule chat.Rule, format string, args ...any) {
	r.changes = append(r.changes, Change{Index: i, Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

// clean mends what is wrong in a message by itself, as far as it has no say in which call and result belong together.
func (r *repairer) clean(i int, m chat.Message) {
	switch m.Role {
	case chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool:
	default:
		r.report(i, chat.RuleRole, "made the user say what the role %q said", m.Role)
		m.Role = chat.RoleUser
	}
	if len(m.ToolCalls) > 0 && m.Role != chat.RoleAssistant {
		r.report(i, chat.RuleFields, "removed %d tool calls from a %s message", len(m.ToolCalls), m.Role)
		m.ToolCalls = nil
	}
	if m.ToolCallID != "" && m.Role != chat.RoleTool {
		r.report(i, chat.RuleFields, "removed the tool call id %q from a %s message", m.ToolCallID, m.Role)
		m.ToolCallID = ""
	}
	m.Content = r.content(i, m)
	if m.Role == chat.RoleTool && isBare(m) {
		r.report(i, chat.RuleEmpty, "put %q where the tool said nothing", noOutput)
		m.Content = append(m.Content, chat.Text(noOutput))
	}
	if m.Role != chat.RoleTool && isBare(m) {
		r.report(i, chat.RuleEmpty, "removed the message, which is empty")
		return
	}
	m.ToolCalls = r.calls(i, m.ToolCalls)
	r.out = append(r.out, indexed{m, i})
}

// content leaves out what no provider takes.
func (r *repairer) content(i int, m chat.Message) chat.Parts {
	kept := make(chat.Parts, 0, len(m.Content))
	thinkingOver := false
	for k, p := range m.Content {
		switch p := p.(type) {
		case nil:
			r.report(i, RulePart, "removed part %d, which is nil", k)
			continue
		case chat.Text:
			if strings.TrimSpace(string(p)) == "" {
				r.report(i, chat.RuleEmpty, "removed part %d, which is blank", k)
				continue
			}
			thinkingOver = true
		case chat.Thinking:
			if m.Role != chat.RoleAssistant || thinkingOver || p.Signature == "" && p.Encrypted == "" {
				r.report(i, chat.RuleThinking, "removed part %d, thinking that is out of place or not whole", k)
				continue
			}
		case chat.CacheBreakpoint:
		default:
			thinkingOver = true
		}
		kept = append(kept, p)
	}
	return kept
}

// isBare tells that a message has neither content nor calls.
func isBare(m chat.Message) bool {
	for _, p := range m.Content {
		switch p.(type) {
		case chat.Thinking, chat.CacheBreakpoint:
		default:
			return false
		}
	}
	return len(m.ToolCalls) == 0
}

// calls mends names, arguments and signatures.
func (r *repairer) calls(i int, calls []chat.ToolCall) []chat.ToolCall {
	calls = slices.Clone(calls)
	for k := range calls {
		_, faults := callPart(k, calls[k])
		for _, f := range faults {
			c := &calls[k]
			switch f.rule {
			case RuleArguments:
				r.report(i, f.rule, "wrapped the arguments of call %q in an object", c.ID)
				wrapped, err := plainJSON(map[string]string{"arguments": c.Arguments})
				if err != nil { // a string is always JSON
					wrapped = json.RawMessage(`{}`)
				}
				c.Arguments = string(wrapped)
			case RuleSignatureForm:
				r.report(i, f.rule, "removed the signature of call %q", c.ID)
				c.Signature = ""
			case RuleFunctionName:
				name := takenName(c.Name)
				rule := f.rule
				if c.Name == "" {
					rule = chat.RuleCallID
				}
				r.report(i, rule, "renamed the function of call %q from %q to %q", c.ID, clip(c.Name), name)
				c.Name = name
			}
		}
	}
	return calls
}

// takenName makes a name that Gemini takes.
func takenName(name string) string {
	if name == "" {
		return unknownTool
	}
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

// pair removes calls without results and results without calls, and gives calls ids of their own.
func (r *repairer) pair() {
	messages := r.out
	r.out = make([]indexed, 0, len(messages))
	for i := 0; i < len(messages); {
		m := messages[i]
		i++
		if m.Role == chat.RoleTool {
			r.orphan(m)
			continue
		}
		end := i
		for end < len(messages) && messages[end].Role == chat.RoleTool {
			end++
		}
		r.round(m, messages[i:end])
		i = end
	}
}

func (r *repairer) orphan(m indexed) {
	r.report(m.index, chat.RuleOrphan, "removed a result of call %q, which is not in the assistant message before it", m.ToolCallID)
}

// round mends one message with the results that follow it. Results of one id answer the calls of that id in order.
func (r *repairer) round(m indexed, results []indexed) {
	waiting := map[string][]int{} // calls by their id
	for k, c := range m.ToolCalls {
		waiting[c.ID] = append(waiting[c.ID], k)
	}
	answers := make([]int, len(results)) // the call that each result answers, or -1
	answered := make([]bool, len(m.ToolCalls))
	for k, result := range results {
		answers[k] = -1
		if ks := waiting[result.ToolCallID]; len(ks) > 0 {
			answers[k], answered[ks[0]] = ks[0], true
			waiting[result.ToolCallID] = ks[1:]
		}
	}
	ids := map[string]bool{}
	var calls []chat.ToolCall
	for k, c := range m.ToolCalls {
		if !answered[k] {
			r.report(m.index, chat.RuleAnswered, "removed call %q of %s, which has no result", c.ID, c.Name)
			continue
		}
		if c.ID == "" || ids[c.ID] {
			id := freeID(c.ID, ids, waiting)
			r.report(m.index, chat.RuleCallID, "gave call %d, of id %q, the id %q", k, c.ID, id)
			c.ID = id
		}
		ids[c.ID] = true
		m.ToolCalls[k].ID = c.ID
		calls = append(calls, c)
	}
	renamed := m.ToolCalls
	m.ToolCalls = calls
	r.out = append(r.out, m)
	for k, result := range results {
		if answers[k] < 0 {
			r.orphan(result)
			continue
		}
		result.ToolCallID = renamed[answers[k]].ID
		r.out = append(r.out, result)
	}
}

// freeID is an id that no call of the message has.
func freeID(id string, taken map[string]bool, original map[string][]int) string {
	if id == "" {
		id = "call"
	}
	for n := 2; ; n++ {
		free := fmt.Sprintf("%s-%d", id, n)
		if _, given := original[free]; !given && !taken[free] {
			return free
		}
	}
}

// mendParts replaces or removes parts that cannot be sent. Without one part another may be wrong: a note that spoke of
// it.
func (r *repairer) mendParts(m *indexed) {
	for {
		var faults []fault
		if m.Role == chat.RoleTool {
			_, faults = r.options.responseParts(m.Message, unknownTool)
		} else {
			_, faults = r.options.parts(m.Message, true)
		}
		bad := map[int]fault{}
		for _, f := range faults {
			if f.part >= 0 {
				bad[f.part] = f
			}
		}
		if len(bad) == 0 {
			return
		}
		kept := make(chat.Parts, 0, len(m.Content))
		for k, p := range m.Content {
			f, is := bad[k]
			if !is {
				kept = append(kept, p)
				continue
			}
			switch p.(type) {
			case chat.Image, chat.Document:
				r.report(m.index, f.rule, "put a text in the place of what cannot be sent: %s", f.detail)
				kept = append(kept, chat.Text("("+f.detail[strings.Index(f.detail, ": ")+2:]+")"))
			default:
				r.report(m.index, f.rule, "removed what cannot be sent: %s", f.detail)
			}
		}
		m.Content = kept
		if m.Role == chat.RoleTool && isBare(m.Message) {
			m.Content = append(m.Content, chat.Text(noOutput))
		}
	}
}

// ends sees to it that the first call follows something and that the last message is not the model's.
func (r *repairer) ends(length int) {
	start := 0
	for start < len(r.out) && r.out[start].Role == chat.RoleSystem {
		start++
	}
	for k := start; k < len(r.out) && r.out[k].Role == chat.RoleAssistant; k++ {
		if len(r.out[k].ToolCalls) == 0 {
			continue
		}
		first := r.out[start].index
		r.report(first, RuleCallTurn, "put %q before the call", begin)
		r.out = slices.Insert(r.out, start, indexed{chat.UserMessage(begin), first})
		break
	}
	if n := len(r.out); n == 0 || r.out[n-1].Role == chat.RoleAssistant || r.out[n-1].Role == chat.RoleSystem {
		r.report(length, chat.RuleLast, "put %q at the end", goOn)
		r.out = append(r.out, indexed{chat.UserMessage(goOn), length})
	}
}

// sign gives the calls of the current turn the signature that they lack.
func (r *repairer) sign() {
	if r.options.Legacy {
		return
	}
	for k := len(r.out) - 1; k >= 0; k-- {
		m := &r.out[k]
		switch {
		case m.Role == chat.RoleUser || m.Role == chat.RoleSystem:
			return // what came before is no longer the current turn; a system message at the start has nothing before it
		case len(m.ToolCalls) == 0:
			continue
		}
		if first, signed := r.options.firstCall(m.Message); !signed {
			r.report(m.index, RuleSignature, "let call %q do without its thought signature", m.ToolCalls[first].ID)
			m.ToolCalls[first].Signature = SkipSignature
		}
	}
}
