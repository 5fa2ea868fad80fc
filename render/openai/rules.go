package openai

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// imageLimits are the limits in the guide to images and vision
// (developers.openai.com/api/docs/guides/images-vision), read on 2026-11-23.
var imageLimits = provider.ImageLimits{Count: 1500, All: 512_000_000}

// limits of names and ids, in characters
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

// Validate checks a request by the rules of [chat.ValidateRequest] and those of one of OpenAI's APIs. It returns nil or
// a [*chat.ValidationError] with every violation. [Repair] repairs nearly all of them.
func Validate(req chat.Request, api API) error {
	v := validator{api: api, seen: map[string]bool{}}
	if err, ok := errors.AsType[*chat.ValidationError](chat.ValidateRequest(req)); ok {
		v.violations = err.Violations
	}
	for _, t := range req.Tools {
		if t.Name != "" && t.Name != toolName(t.Name) {
			v.report(chat.RequestIndex, chat.RuleToolForm, "a tool has the name %q", t.Name)
		}
		if !utf8.ValidString(t.Description) || !utf8.Valid(t.Parameters) {
			v.report(chat.RequestIndex, chat.RuleUTF8, "the definition of tool %q is not valid UTF-8", t.Name)
		}
	}
	for i, m := range req.Messages {
		v.message(i, m)
	}
	return chat.Invalid(append(v.violations, imageLimits.ImageViolations(req.Messages)...))
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
		if rule, err := v.api.checkPart(m.Role, p); err != nil {
			v.report(i, rule, "part %d: %v", k, err)
		}
	}
	if len(m.ToolCalls) == 0 && holdsOnlyMetadata(v.api, m) {
		v.report(i, chat.RuleEmpty, "the message says nothing")
	}
	if v.api == ChatCompletions && m.Role != chat.RoleTool && m.Name != "" && m.Name != plainName(m.Name) {
		v.report(i, chat.RuleName, "the name is %q", m.Name)
	}
	if !utf8.ValidString(m.ToolCallID) {
		v.report(i, chat.RuleUTF8, "the id %q of the answered call is not valid UTF-8", m.ToolCallID)
	}
	if m.Role != chat.RoleAssistant {
		return
	}
	for _, call := range m.ToolCalls {
		if call.Name != "" && call.Name != toolName(call.Name) {
			v.report(i, chat.RuleCallForm, "call %q names %q", call.ID, call.Name)
		}
		if n := utf8.RuneCountInString(call.ID); n > v.api.maxCallID() {
			v.report(i, chat.RuleCallForm, "the id %q has %d characters of %d", call.ID, n, v.api.maxCallID())
		}
		if !utf8.ValidString(call.ID) || !utf8.ValidString(call.Arguments) {
			v.report(i, chat.RuleUTF8, "the id or the arguments of call %q are not valid UTF-8", call.ID)
		}
		if v.api == Responses && call.ID != "" {
			if v.seen[call.ID] {
				v.report(i, chat.RuleCallUnique, "the id %q was used before", call.ID)
			}
			v.seen[call.ID] = true
		}
	}
	if v.api == Responses {
		for _, b := range reasoningFaults(m) {
			v.report(i, b.rule, "part %d %s", b.part, b.detail)
		}
	}
}

// holdsOnlyMetadata reports whether a message holds nothing but fields of items, which say nothing by themselves.
func holdsOnlyMetadata(api API, m chat.Message) bool {
	return slices.ContainsFunc(m.Content, isOpaque) && !api.hasContent(m)
}

func isOpaque(p chat.Part) bool {
	_, ok := p.(chat.Opaque)
	return ok
}

// hasContent reports whether a message holds something that an API sends besides thinking.
func (a API) hasContent(m chat.Message) bool {
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Text, chat.Image, chat.Document:
			return true
		case chat.Opaque:
			at, o := a.placeOf(m.Role, p)
			switch {
			case at == asContent, at == asItem && a == Responses && o.text("type") != "reasoning":
				return true
			case at == asFields && (o["refusal"] != nil || o["audio"] != nil):
				return true
			}
		}
	}
	return false
}

// reasoningFault describes a reasoning item that cannot be sent.
type reasoningFault struct {
	part   int
	rule   chat.Rule
	detail string
}

// reasoningFaults returns the reasoning items of an assistant message that OpenAI would refuse.
func reasoningFaults(m chat.Message) []reasoningFault {
	var found []reasoningFault
	pending := -1 // the last reasoning part that no item follows so far
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
		if !items.Readable(item.raw()) {
			found = append(found, reasoningFault{k, chat.RuleReadable, "has neither encrypted content nor plain text"})
		}
		pending = k
	}
	rest := slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool { return !placed[c.ID] })
	if pending >= 0 && !rest {
		found = append(found, reasoningFault{pending, chat.RuleReasoning, "is not followed by an item"})
	}
	return found
}

// plainName returns a participant's name in the form that Chat Completions accepts.
func plainName(name string) string {
	return replaceInvalid(name, func(r rune) bool {
		switch r {
		case ' ', '\t', '\n', '\v', '\f', '\r', '\u0085', '\u00a0', '\u1680', '\u2028', '\u2029', '\u202f', '\u205f', '\u3000', '\ufeff',
			'<', '|', '\\', '/', '>':
			return false
		}
		return r < '\u2000' || r > '\u200a'
	})
}

// toolName returns a tool's name in the form that OpenAI accepts.
func toolName(name string) string {
	return replaceInvalid(name, func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	})
}

// replaceInvalid replaces each character that is not allowed with _, and cuts the name to its maximum length.
func replaceInvalid(name string, allowed func(rune) bool) string {
	out := make([]rune, 0, min(len(name), maxName))
	for _, r := range name {
		if len(out) == maxName {
			break
		}
		if !allowed(r) || r == '\uFFFD' {
			r = '_'
		}
		out = append(out, r)
	}
	return string(out)
}
