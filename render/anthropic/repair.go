package anthropic

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// Repair changes a request so that [Validate] finds nothing wrong, and returns each change. The original is not
// modified, and a request that breaks no rule is returned as it was. Depending on the rule:
//
//   - An unknown role becomes the user's ("developer" becomes the system's). Calls and answers on messages that cannot
//     hold them are removed.
//   - A stale tool_search is removed, call and result; so is one of the API's own that found a tool that is not declared.
//   - Results move to their calls. A call without one gets a failed result that says so; a result without its call
//     becomes a user message. Ids and names of calls are made valid, and arguments that are not an object become the
//     field "arguments" of one.
//   - Bytes that are not UTF-8 are replaced. Blank text, thinking that is neither signed nor encrypted, opaque parts of
//     other providers, unpaired calls and results of the API's own tools, and messages that become empty are removed; a
//     tool result without content becomes "(no output)". Thinking after other content becomes an opaque part, if the
//     message begins with thinking, and is removed otherwise.
//   - Images and documents in messages that cannot hold them move to a user message after them; one of a kind or size
//     that the API does not accept is replaced by a text that says so. If there are too many images, the oldest are
//     replaced too, a quarter of the limit at a time.
//   - System messages at the end move before the question or the round that the model is to answer. A user message is
//     added before an answer at the start, and after an answer at the end unless it was paused.
//   - An assistant message directly after another one loses its thinking. A message that lost a part of its thinking
//     loses the rest. In an unfinished tool loop all messages then lose theirs.
//   - If no tools are declared, the tools that the history calls are declared, and the model may not call them. The
//     second of two tools with the same name is removed, and a schema without a type gets one. A tool choice that
//     requires a call is dropped if there are no tools, and so is a token limit below 0.
//   - Of more than four cache breakpoints the least useful are removed: the last of the tools and the system prompt is
//     kept, and the newest. A breakpoint of five minutes before one of an hour becomes one of an hour.
//
// What cannot be repaired stays, and is reported by Validate: tools without a name or an acceptable schema, an unknown
// tool choice, more than four cache breakpoints in opaque parts, a request without messages.
func Repair(req chat.Request) (chat.Request, []chat.Repair) { return repair(req, 0) }

// repair is Repair for a model that accepts at most this number of images. 0 is the lowest limit of any model.
func repair(req chat.Request, images int) (chat.Request, []chat.Repair) {
	r := &repairer{tools: req.Tools, given: len(req.Messages), maxImages: images}
	for i, m := range req.Messages {
		m.Content = slices.Clone(m.Content)
		m.ToolCalls = slices.Clone(m.ToolCalls)
		r.items = append(r.items, item{index: i, m: r.Fields(i, m)})
	}
	r.searches()
	r.pair()
	r.parts()
	r.images()
	r.serverTools()
	r.ends()
	r.serverTools() // a user message at the end closes open calls
	r.thinking()
	out := req
	out.Messages = make([]chat.Message, len(r.items))
	for i, it := range r.items {
		out.Messages[i] = it.m
	}
	r.request(&out)
	r.cache(&out)
	return out, r.ByMessage()
}

// item is a message and its index in the original request.
type item struct {
	index  int
	m      chat.Message
	broken bool // a part of its thinking was removed
}

type repairer struct {
	provider.Changes
	items []item
	tools []chat.Tool
	given int // the number of original messages

	maxImages int
}

// searches removes the calls of tool_search that the API would refuse, with their results.
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
				r.Report(it.index, chat.RuleToolSearch, "call %q left out, with its result", c.ID)
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

// request repairs the tools and the fields that depend on them.
func (r *repairer) request(req *chat.Request) {
	r.Limit(req)
	var tools []chat.Tool
	for t := range r.Tools(req.Tools) {
		t.Parameters = r.schema(t)
		tools = append(tools, t)
	}
	r.Choice(req)
	if len(tools) == 0 {
		seen := map[string]bool{}
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
			r.Report(chat.RequestIndex, chat.RuleTools, "%d tools of the history declared, with a choice of none", len(tools))
		}
	}
	req.Tools = tools
}

// schema adds the missing type to a tool's schema.
func (r *repairer) schema(t chat.Tool) json.RawMessage {
	schema := t.Schema()
	var head map[string]json.RawMessage
	if len(schema) == 0 || schema[0] != '{' || json.Unmarshal(schema, &head) != nil {
		return t.Parameters
	}
	if _, ok := head["type"]; ok {
		return t.Parameters
	}
	r.Report(chat.RequestIndex, chat.RuleToolForm, "the type of the parameters of tool %q added", t.Name)
	if len(head) == 0 {
		return json.RawMessage(emptySchema)
	}
	return append(json.RawMessage(`{"type":"object",`), schema[1:]...)
}

// cache repairs the breakpoints of a request that is otherwise valid.
func (r *repairer) cache(req *chat.Request) {
	drop := map[blockKey]bool{}
	for _, mark := range planCache(*req).surplus() {
		for _, from := range mark.from {
			drop[from] = true
		}
		r.Report(r.items[mark.message()].index, chat.RuleCacheCount, "a cache breakpoint left out")
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
			r.lifetime(req, mark, shortLifetime, "shortened to five minutes, because an opaque part before it has no longer one")
		case mark.hour:
			hour = true
		case hour:
			r.lifetime(req, mark, longLifetime, "extended to an hour, because a later one is an hour")
		}
	}
}

// hourAllowed reports whether no opaque part before a mark asks for five minutes.
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
		r.Report(r.items[mark.message()].index, chat.RuleCacheOrder, "the lifetime of a cache breakpoint %s", what)
	}
}
