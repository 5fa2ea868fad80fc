package gemini

import (
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// imageLimits are the number of images that Vertex AI documents (the Gemini API accepts 3,600) and the bytes that the
// Gemini API accepts inline since January 2026
// (blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits), read on 2026-11-23.
var imageLimits = provider.ImageLimits{Count: 3000, All: 100_000_000}

// Validate checks a request by the rules of [chat.ValidateRequest] and those of Gemini. It returns nil or a
// [*chat.ValidationError] with every violation. [Repair] repairs nearly all of them.
func Validate(req chat.Request, o Options) error { return o.accepts().Validate(req) }

// turns checks the rules about the order of messages.
func turns(messages []chat.Message, options Options, report func(i int, rule chat.Rule, format string, args ...any)) {
	current, start := currentTurn(messages), instructions(messages)
	prompted := false // a user or tool message was met
	for i, m := range messages {
		switch m.Role {
		case chat.RoleUser, chat.RoleTool:
			prompted = true
		case chat.RoleSystem:
			prompted = prompted || i >= start
		case chat.RoleAssistant:
			if len(m.ToolCalls) == 0 {
				continue
			}
			if !prompted {
				report(i, provider.RuleCallTurn, "no user or tool message comes before the call")
			}
			if answers := answersAfter(messages, i); answers != len(m.ToolCalls) {
				report(i, provider.RuleCounts, "%d calls and %d responses", len(m.ToolCalls), answers)
			}
			if i > current && !options.Legacy {
				if first, signed := options.firstCall(m); !signed {
					report(i, provider.RuleSignature, "call %d has none", first)
				}
			}
		}
	}
}

// currentTurn returns the index of the last message that is sent as the user's, -1 if there is none. System messages
// after the start are sent as the user's too.
func currentTurn(messages []chat.Message) int {
	start := instructions(messages)
	for i := len(messages) - 1; i >= start; i-- {
		if r := messages[i].Role; r != chat.RoleAssistant && r != chat.RoleTool {
			return i
		}
	}
	return -1
}

// instructions returns the number of system messages at the start.
func instructions(messages []chat.Message) int {
	for i, m := range messages {
		if m.Role != chat.RoleSystem {
			return i
		}
	}
	return len(messages)
}

// firstCall returns the index of the call that is sent first, and whether it has a signature.
func (o Options) firstCall(m chat.Message) (index int, signed bool) {
	parts, _ := o.modelParts(m)
	for _, p := range parts {
		if p.FunctionCall == nil {
			continue
		}
		index = slices.IndexFunc(m.ToolCalls, func(c chat.ToolCall) bool { return c.ID == p.FunctionCall.ID })
		return index, len(p.ThoughtSignature) > 0
	}
	return 0, m.ToolCalls[0].Signature != "" // another rule reports that no call can be sent
}

// answersAfter counts the tool messages right after message i.
func answersAfter(messages []chat.Message, i int) int {
	n := 0
	for _, m := range messages[i+1:] {
		if m.Role != chat.RoleTool {
			break
		}
		n++
	}
	return n
}
