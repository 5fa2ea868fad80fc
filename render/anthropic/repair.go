package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// Change is one thing that [Repair] did.
type Change struct {
	// Index of the message in the request as it was given; [RequestIndex] for its tools and what concerns them.
	Index int
	// Rule that was broken.
	Rule chat.Rule
	// Detail says what was done.
	Detail string
}

// String is "message 3: no empty text: part 0 left out".
func (c Change) String() string {
	if c.Index == RequestIndex {
		return fmt.Sprintf("request: %s: %s", c.Rule, c.Detail)
	}
	return fmt.Sprintf("message %d: %s: %s", c.Index, c.Rule, c.Detail)
}

// Texts that Repair puts where the API asks for something and nothing was said.
const (
	noResult    = "There is no result: the call was interrupted."
	noOutput    = "(no output)"
	lostResult  = "Result of a tool call that is not shown:"
	notShown    = "(The conversation before this is not shown.)"
	goOn        = "Continue."
	unknownTool = "unknown_tool"
)

// Repair mends a request so that [Validate] finds nothing wrong, and tells of each change. The request given stays as it
// is. What it does, in order:
//
//   - Calls and answers on messages that cannot hold them are taken off.
//   - A stale tool_search goes, call and result.
//   - Results move to their calls. A call without one gets a failed result that says so; a result without its call becomes
//     a user message. Ids and names of calls are made to fit, arguments that are no object become the field "arguments"
//     of one.
//   - Bytes that are no UTF-8 are replaced. Blank text, thinking that is neither signed nor encrypted, opaque parts that
//     are no blocks, and messages in which nothing is left go. Thinking between other content becomes an opaque part.
//   - Images and documents that stand where the API takes none move to a user message after it; in place of one of a kind
//     that it does not take, a text says what it was.
//   - A conversation that begins or ends with the assistant gets a user message there. System messages at the end move to
//     the front.
//   - An assistant message directly after another one loses its thinking, and one that lost some of it the rest. In a tool
//     loop that is not over all messages do, for there thinking is whole or gone.
//   - Tools of a name used before go. Where the history has calls and no tool is declared, theirs are, and not to be called.
//   - Of more than four cache breakpoints those that help least go: kept are the last of the tools and the system prompt,
//     and the newest. An hour asked for after five minutes makes the five minutes an hour.
//
// What it cannot mend stays, for Validate to tell: a message of an unknown role, a tool whose name or schema the API
// refuses, more than four cache breakpoints in opaque parts, a request without messages.
func Repair(req chat.Request) (chat.Request, []Change) {
	r := &repairer{tools: req.Tools, given: len(req.Messages)}
	for i, m := range req.Messages {
		m.Content = slices.Clone(m.Content)
		m.ToolCalls = slices.Clone(m.ToolCalls)
		r.items = append(r.items, item{index: i, m: m})
	}
	r.fields()
	r.searches()
	r.pair()
	r.parts()
	r.ends()
	r.thinking()
	out := req
	out.Messages = make([]chat.Message, len(r.items))
	for i, it := range r.items {
		out.Messages[i] = it.m
	}
	r.request(&out)
	r.cache(&out)
	slices.SortStableFunc(r.changes, func(a, b Change) int { return a.Index - b.Index })
	return out, r.changes
}

// item is a message and its index in the request as it was given.
type item struct {
	index  int
	m      chat.Message
	broken bool // some of its thinking was left out
}

type repairer struct {
	items   []item
	tools   []chat.Tool
	given   int // messages
	changes []Change
}

func (r *repairer) report(i int, rule chat.Rule, format string, args ...any) {
	r.changes = append(r.changes, Change{Index: i, Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

func (r *repairer) fields() {
	for n := range r.items {
		it := &r.items[n]
		if len(it.m.ToolCalls) > 0 && it.m.Role != chat.RoleAssistant {
			r.report(it.index, chat.RuleFields, "%d calls taken off a %s message", len(it.m.ToolCalls), it.m.Role)
			it.m.ToolCalls = nil
		}
		if it.m.ToolCallID != "" && it.m.Role != chat.RoleTool {
			r.report(it.index, chat.RuleFields, "the id of a call taken off a %s message", it.m.Role)
			it.m.ToolCallID = ""
		}
	}
}

// searches takes out the calls of tool_search that the API would refuse, with their results.
func (r *repairer) searches() {
	messages := make([]chat.Message, len(r.items))
	for i, it := range r.items {
		messages[i] = it.m
	}
	stale := staleSearches(chat.Request{Messages: messages, Tools: r.tools})
	gone := map[string]bool{}
	var kept []item
	for n, it := range r.items {
		if it.m.Role == chat.RoleAssistant {
			clear(gone)
		}
		var calls []chat.ToolCall
		for k, c := range it.m.ToolCalls {
			if stale[callKey{n, k}] {
				gone[c.ID] = true
				r.report(it.index, RuleToolSearch, "call %q left out, with its result", c.ID)
			} else {
				calls = append(calls, c)
			}
		}
		it.m.ToolCalls = calls
		if it.m.Role != chat.RoleTool || !gone[it.m.ToolCallID] {
			kept = append(kept, it)
		}
	}
	r.items = kept
}

// request mends the tools and what concerns them.
func (r *repairer) request(req *chat.Request) {
	seen := map[string]bool{}
	var tools []chat.Tool
	for _, t := range req.Tools {
		if seen[t.Name] {
			r.report(RequestIndex, RuleTool, "the second tool %q left out", t.Name)
			continue
		}
		seen[t.Name] = true
		if !utf8.ValidString(t.Description) {
			t.Description = strings.ToValidUTF8(t.Description, "\uFFFD")
			r.report(RequestIndex, RuleUTF8, "bytes replaced in the description of tool %q", t.Name)
		}
		t.Parameters = r.schema(t)
		tools = append(tools, t)
	}
	if len(tools) == 0 {
		if req.ToolChoice == chat.ToolChoiceRequired {
			req.ToolChoice = chat.ToolChoiceAuto
			r.report(RequestIndex, RuleToolChoice, "no call is required, there are no tools")
		}
		for _, m := range req.Messages {
			for _, c := range m.ToolCalls {
				if !seen[c.Name] {
					seen[c.Name] = true
					tools = append(tools, chat.Tool{Name: c.Name})
				}
			}
		}
		if len(tools) > 0 {
			req.ToolChoice = chat.ToolChoiceNone
			r.report(RequestIndex, RuleTools, "%d tools of the history declared, not to be called", len(tools))
		}
	}
	req.Tools = tools
}

// schema gives an object's schema the type that it lacks.
func (r *repairer) schema(t chat.Tool) json.RawMessage {
	schema := bytes.TrimSpace(t.Parameters)
	var head map[string]json.RawMessage
	if len(schema) == 0 || schema[0] != '{' || json.Unmarshal(schema, &head) != nil {
		return t.Parameters
	}
	if _, ok := head["type"]; ok {
		return t.Parameters
	}
	r.report(RequestIndex, RuleTool, "the type of the parameters of tool %q added", t.Name)
	if len(head) == 0 {
		return json.RawMessage(emptySchema)
	}
	return append(json.RawMessage(`{"type":"object",`), schema[1:]...)
}

// cache mends the breakpoints of a request that is whole otherwise.
func (r *repairer) cache(req *chat.Request) {
	drop := map[blockKey]bool{}
	for _, mark := range planCache(*req).surplus() {
		for _, from := range mark.from {
			drop[from] = true
		}
		r.report(r.items[mark.message()].index, RuleCacheCount, "a cache breakpoint left out")
	}
	for i, m := range req.Messages {
		var content chat.Parts
		for k, p := range m.Content {
			if !drop[blockKey{kind: blockPart, message: i, index: k}] {
				content = append(content, p)
			}
		}
		req.Messages[i].Content = content
	}
	plan := planCache(*req)
	hour := false
	for n := len(plan.marks) - 1; n >= 0; n-- {
		switch mark := plan.marks[n]; {
		case mark.hour && !r.hourAllowed(plan, n):
			r.lifetime(req, mark, shortLifetime, "shortened to five minutes, for an opaque part before it asks for no more")
		case mark.hour:
			hour = true
		case hour:
			r.lifetime(req, mark, longLifetime, "made an hour, for one after it is")
		}
	}
}

// hourAllowed tells whether no opaque part before a mark asks for five minutes.
func (r *repairer) hourAllowed(plan *cachePlan, n int) bool {
	return !slices.ContainsFunc(plan.marks[:n], func(m cacheMark) bool { return len(m.from) == 0 && !m.hour })
}

func (r *repairer) lifetime(req *chat.Request, mark cacheMark, to time.Duration, what string) {
	for _, from := range mark.from {
		p := req.Messages[from.message].Content[from.index].(chat.CacheBreakpoint)
		p.Lifetime = to
		req.Messages[from.message].Content[from.index] = p
	}
	if len(mark.from) > 0 {
		r.report(r.items[mark.message()].index, RuleCacheOrder, "the lifetime of a cache breakpoint %s", what)
	}
}
