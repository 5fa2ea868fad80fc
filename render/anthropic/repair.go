package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// Repair changes a request so that [Validate] finds nothing wrong, and returns each change. The original is not
// modified, and a request that breaks no rule is returned as it was. Depending on the rule:
//
//   - An unknown role becomes the user's ("developer" becomes the system's). Calls and answers on messages that cannot
//     hold them are removed.
//   - A stale tool_search is removed, call and result; so is one of the API's own that found a tool that is not declared.
//   - Results move to their calls. A call without one gets a failed result that says so; a result without its call
//     becomes a user message. Ids of calls and names of tools are made valid (a name that changes ends in a digest, and a
//     [Model] returns calls under the real one), and arguments that are not an object become the
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
func Repair(req chat.Request) (chat.Request, []chat.Repair) { return accepts(0).Repair(req) }

// schemas are the rules for schemas of answers, all of which are strict
// (https://platform.claude.com/docs/en/build-with-claude/structured-outputs, and what the SDK takes out of a schema).
var schemas = provider.SchemaRules{
	Closed: true, Maps: true, Lone: true, Local: true, Acyclic: true,
	Refused: []string{
		"oneOf", "not", "if", "then", "else", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
		"maxLength", "maxItems", "uniqueItems", "contains", "minProperties", "maxProperties", "patternProperties", "propertyNames", "dependentSchemas",
	},
	Also: func(s map[string]any) string {
		if n, is := s["minItems"].(json.Number); is && n != "0" && n != "1" {
			return "the API takes minItems of 0 and 1 only"
		}
		return ""
	},
}

// accepts is what the API accepts, with at most this number of images; 0 is the lowest limit of any model.
func accepts(images int) *provider.API {
	return &provider.API{
		CallID: provider.Words(0, "_-"), ToolName: provider.Words(128, "_-"), UniqueIDs: true, NewID: newID,
		Arguments: provider.Object, Signature: provider.Any, Images: imageLimits(images), Large: largeImages, Tool: func(t chat.Tool) error { return checkSchema(t.Schema()) },
		Media: []chat.Role{chat.RoleUser, chat.RoleTool}, FailedText: true, Opaque: checkOpaque,
		Image:    func(p chat.Image) error { _, err := imageSource(p); return err },
		Document: func(p chat.Document) error { _, err := documentSource(p); return err },
		Faults:   faults, Says: says, Late: late, Marked: marked, Mark: func(_ chat.Opaque, id string) chat.Part { return messages.PlaceMark(id) },
		Schema: schemas,
		Paused: func(req chat.Request) bool {
			_, paused := serverTools(req.Messages, req.Tools)
			return paused
		},
		Check: checkCache, Before: searches, Between: withoutUnpaired,
		After: func(r *provider.Repairer) {
			if first := slices.IndexFunc(r.Messages, func(m provider.Indexed) bool { return m.Role != chat.RoleSystem }); first >= 0 && r.Messages[first].Role == chat.RoleAssistant {
				r.InsertUser(first, provider.RuleFirst)
			}
			withoutUnpaired(r) // a user message at the end closes open calls
			keepWhole(r)
		},
		Request: func(r *provider.Repairer, req *chat.Request) {
			declare(r, req)
			cache(r, req)
		},
	}
}

func newID(id string, n int) string {
	if id == "" {
		id = "call"
		if n == 0 {
			return id
		}
		n--
	}
	return fmt.Sprintf("%s_%d", id, n+2)
}

// late returns thinking as an opaque part, as [Response] has it, if the message begins with thinking.
func late(m chat.Message, t chat.Thinking) chat.Part {
	if !startsWithThinking(m) {
		return nil
	}
	return messages.LaterThinking(t)
}

// marked returns the id of the call whose place a part marks.
func marked(m chat.Message, p chat.Opaque) string {
	if b, err := parseOpaque(p); err == nil && b.marksCall(m) {
		return b.ID
	}
	return ""
}

// searches removes the calls of tool_search that the API would refuse, with their results.
func searches(r *provider.Repairer) {
	messages := r.Plain()
	stale := staleSearches(messages, r.Tools)
	if len(stale) == 0 {
		return
	}
	pairs := chat.Pair(messages)
	var kept []provider.Indexed
	for n, m := range r.Messages {
		if call, ok := pairs[n]; ok && stale[callKey{call.Message, call.Call}] {
			continue
		}
		var calls []chat.ToolCall
		for k, c := range m.ToolCalls {
			if stale[callKey{n, k}] {
				r.Report(m.Index, provider.RuleToolSearch, "call %q left out, with its result", c.ID)
			} else {
				calls = append(calls, c)
			}
		}
		m.ToolCalls = calls
		kept = append(kept, m)
	}
	r.Messages = kept
}

// declare adds the types that tools' schemas lack, and declares the tools that the history calls if there are no others.
func declare(r *provider.Repairer, req *chat.Request) {
	for i, t := range req.Tools {
		req.Tools[i].Parameters = schema(r, t)
	}
	if len(req.Tools) > 0 {
		return
	}
	seen := map[string]bool{}
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			if !seen[c.Name] {
				seen[c.Name] = true
				req.Tools = append(req.Tools, chat.Tool{Name: c.Name})
			}
		}
	}
	if len(req.Tools) > 0 {
		req.ToolChoice = chat.ToolChoiceNone
		r.Fault(chat.RequestIndex, provider.RuleTools, "there are no tools", "%d tools of the history declared, with a choice of none", len(req.Tools))
	}
}

// schema adds the missing type to a tool's schema.
func schema(r *provider.Repairer, t chat.Tool) json.RawMessage {
	schema := t.Schema()
	var head map[string]json.RawMessage
	if len(schema) == 0 || schema[0] != '{' || json.Unmarshal(schema, &head) != nil {
		return t.Parameters
	}
	if _, ok := head["type"]; ok {
		return t.Parameters
	}
	r.Report(chat.RequestIndex, provider.RuleToolForm, "the type of the parameters of tool %q added", t.Name)
	if len(head) == 0 {
		return json.RawMessage(emptySchema)
	}
	return append(json.RawMessage(`{"type":"object",`), schema[1:]...)
}

// keepWhole removes thinking that would not stay complete: from assistant messages that are merged with one before them,
// and from messages that lost a part of it.
func keepWhole(r *provider.Repairer) {
	loop := len(r.Messages) // the start of the current tool loop: after the last user message
	for loop > 0 && r.Messages[loop-1].Role != chat.RoleUser {
		loop--
	}
	var before chat.Role
	for n, m := range r.Messages {
		if m.Role == chat.RoleSystem {
			continue
		}
		merged := before == chat.RoleAssistant && m.Role == chat.RoleAssistant && startsWithThinking(m.Message)
		before = m.Role
		if !merged && !m.Broken {
			continue
		}
		if n >= loop {
			for k := loop; k < len(r.Messages); k++ {
				removeThinking(r, k)
			}
			return
		}
		removeThinking(r, n)
	}
}

func removeThinking(r *provider.Repairer, n int) {
	m := &r.Messages[n]
	if m.Role == chat.RoleAssistant && slices.ContainsFunc(m.Content, isThinking) {
		m.Content = slices.DeleteFunc(slices.Clone(m.Content), isThinking)
		r.Report(m.Index, provider.RuleThinkingMerged, "the message's thinking left out, because a part of it was lost")
	}
}

// cache repairs the breakpoints of a request that is otherwise valid.
func cache(r *provider.Repairer, req *chat.Request) {
	drop := map[blockKey]bool{}
	for _, mark := range planCache(*req).surplus() {
		for _, from := range mark.from {
			drop[from] = true
		}
		r.Report(r.Messages[mark.message()].Index, provider.RuleCacheCount, "a cache breakpoint left out")
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
		case mark.hour && !hourAllowed(plan, n):
			lifetime(r, req, mark, shortLifetime, "shortened to five minutes, because an opaque part before it has no longer one")
		case mark.hour:
			hour = true
		case hour:
			lifetime(r, req, mark, longLifetime, "extended to an hour, because a later one is an hour")
		}
	}
}

// hourAllowed reports whether no opaque part before a mark asks for five minutes.
func hourAllowed(plan *cachePlan, n int) bool {
	return !slices.ContainsFunc(plan.marks[:n], func(m cacheMark) bool { return m.own && !m.hour })
}

func lifetime(r *provider.Repairer, req *chat.Request, mark cacheMark, to time.Duration, what string) {
	for _, from := range mark.from {
		p := req.Messages[from.message].Content[from.index].(chat.CacheBreakpoint)
		p.Lifetime = to
		req.Messages[from.message].Content[from.index] = p
	}
	if !mark.own {
		r.Report(r.Messages[mark.message()].Index, provider.RuleCacheOrder, "the lifetime of a cache breakpoint %s", what)
	}
}
