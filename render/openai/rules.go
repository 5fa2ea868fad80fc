package openai

import (
	"errors"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
)

// The rules that OpenAI has beyond those of [chat.Validate], which [Validate] checks with them. That every tool call is
// answered, that no result is without its call, and that results come directly after it, are among the shared ones.
const (
	// RuleContent: each part is one that the API takes from the message's role. [UnsupportedError] is the same, met in a
	// conversion.
	RuleContent chat.Rule = "content fits the role"
	// RuleToolName: the name of a tool that was called is of letters, digits, _ and -, and of 64 characters at most.
	RuleToolName chat.Rule = "tool names are letters, digits, _ and -"
	// RuleCallID: the id of a call is of 40 characters at most in Chat Completions, of 64 in Responses.
	RuleCallID chat.Rule = "ids of calls are short"
	// RuleUniqueID: in Responses no two calls of the whole conversation have one id, for outputs are matched by it.
	RuleUniqueID chat.Rule = "ids of calls are unique"
	// RuleName: in Chat Completions a participant's name has no white space and none of < | \ / >, and 64 characters at
	// most. Responses has no names.
	RuleName chat.Rule = "names of participants are plain"
	// RuleReasoning: in Responses a reasoning item keeps the item that followed it, a message or a call of the same
	// answer.
	RuleReasoning chat.Rule = "a reasoning item keeps the item that follows it"
	// RuleReadable: in Responses a reasoning item has its encrypted content, or its text in the open, as local servers
	// have it. OpenAI finds no other once it is not stored.
	RuleReadable chat.Rule = "a reasoning item can be read back"
)

// limits of names and ids, in characters.
const (
	maxName         = 64
	maxChatCallID   = 40
	maxResponseCall = 64
)

func (a API) maxCallID() int {
	if a == Responses {
		return maxResponseCall
	}
	return maxChatCallID
}

// Validate checks the rules of [chat.Validate] and those of an API of OpenAI. It returns nil or a
// [*chat.ValidationError] that lists every violation.
func Validate(api API, messages []chat.Message) error {
	var violations []chat.Violation
	if shared, ok := errors.AsType[*chat.ValidationError](chat.Validate(messages)); ok {
		violations = shared.Violations
	}
	v := validator{api: api, seen: map[string]bool{}}
	for i, m := range messages {
		v.message(i, m)
	}
	violations = append(violations, v.violations...)
	if len(violations) == 0 {
		return nil
	}
	slices.SortStableFunc(violations, func(a, b chat.Violation) int { return a.Index - b.Index })
	return &chat.ValidationError{Violations: violations}
}

type validator struct {
	api        API
	violations []chat.Violation
	seen       map[string]bool // ids of calls
}

func (v *validator) report(i int, rule chat.Rule, format string, args ...any) {
	v.violations = append(v.violations, chat.Violation{Index: i, Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

func (v *validator) message(i int, m chat.Message) {
	for k, p := range m.Content {
		if why := v.api.unfit(m.Role, p); why != "" {
			v.report(i, RuleContent, "part %d: %s", k, why)
		}
	}
	if len(m.Content) > 0 && len(m.ToolCalls) == 0 && keepsOnly(v.api, m) {
		v.report(i, RuleContent, "the API takes nothing of what is in it")
	}
	if v.api == ChatCompletions && m.Role != chat.RoleTool && m.Name != "" && m.Name != plainName(m.Name) {
		v.report(i, RuleName, "the name is %q", m.Name)
	}
	if m.Role != chat.RoleAssistant {
		return
	}
	for _, call := range m.ToolCalls {
		if call.Name != "" && call.Name != toolName(call.Name) {
			v.report(i, RuleToolName, "call %q names %q", call.ID, call.Name)
		}
		if n := len([]rune(call.ID)); n > v.api.maxCallID() {
			v.report(i, RuleCallID, "the id %q has %d characters of %d", call.ID, n, v.api.maxCallID())
		}
		if v.api == Responses && call.ID != "" {
			if v.seen[call.ID] {
				v.report(i, RuleUniqueID, "another call before it has the id %q", call.ID)
			}
			v.seen[call.ID] = true
		}
	}
	if v.api == Responses {
		for _, b := range brokenReasoning(m) {
			v.report(i, b.rule, "part %d %s", b.part, b.detail)
		}
	}
}

// keepsOnly tells of a message of which nothing but what it keeps for one API is left.
func keepsOnly(api API, m chat.Message) bool {
	opaque := false
	for _, p := range m.Content {
		_, is := p.(chat.Opaque)
		opaque = opaque || is
	}
	return opaque && !api.substance(m)
}

// substance tells of content that says something to an API.
func (a API) substance(m chat.Message) bool {
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Text, chat.Image, chat.Document:
			return true
		case chat.Opaque:
			at, o := a.placeOf(m.Role, p)
			if at == asContent || at == asItem && a == Responses && o.text("type") != "reasoning" {
				return true
			}
		}
	}
	return false
}

// broken is a reasoning item that cannot be sent.
type broken struct {
	part   int
	rule   chat.Rule
	detail string
}

// brokenReasoning finds the reasoning items of an assistant message that OpenAI would refuse.
func brokenReasoning(m chat.Message) []broken {
	var found []broken
	pending := -1 // the last reasoning part that nothing has followed yet
	placed := map[string]bool{}
	for k, p := range m.Content {
		var item object
		switch p := p.(type) {
		case chat.Text:
			pending = -1
			continue
		case chat.Thinking:
			raw, _ := reasoningItem(p)
			item = objectOf(raw)
		case chat.Opaque:
			at, o := Responses.placeOf(m.Role, p)
			switch {
			case at == asItem && o.text("type") == "reasoning":
				item = o
			case at == asCall:
				id := o.text("call_id")
				if !placed[id] && slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool { return c.ID == id }) {
					pending, placed[id] = -1, true
				}
			case at == asContent, at == asItem:
				pending = -1
			}
		}
		if item == nil {
			continue
		}
		if item.text("encrypted_content") == "" && joined(item["content"], "reasoning_text") == "" {
			found = append(found, broken{k, RuleReadable, "has neither encrypted content nor text in the open"})
		}
		pending = k
	}
	rest := slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool { return !placed[c.ID] })
	if pending >= 0 && !rest {
		found = append(found, broken{pending, RuleReasoning, "is reasoning that nothing follows"})
	}
	return found
}

// plainName is a participant's name as Chat Completions takes it.
func plainName(name string) string {
	return clean(name, func(r rune) bool {
		switch r {
		case ' ', '\t', '\n', '\v', '\f', '\r', '\u0085', '\u00a0', '\u1680', '\u2028', '\u2029', '\u202f', '\u205f', '\u3000', '\ufeff',
			'<', '|', '\\', '/', '>':
			return false
		}
		return r < '\u2000' || r > '\u200a'
	})
}

// toolName is a tool's name as OpenAI takes it.
func toolName(name string) string {
	return clean(name, func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	})
}

// clean puts a _ for each character that is not taken, and cuts what is too long.
func clean(name string, taken func(rune) bool) string {
	out := make([]rune, 0, min(len(name), maxName))
	for _, r := range name {
		if len(out) == maxName {
			break
		}
		if !taken(r) || r == '\uFFFD' {
			r = '_'
		}
		out = append(out, r)
	}
	return string(out)
}
