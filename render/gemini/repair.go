package gemini

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// Validate checks a request by the rules of [chat.ValidateRequest] and those of Gemini. It returns nil or a
// [*chat.ValidationError] with every violation. [Repair] repairs nearly all of them.
func Validate(req chat.Request, o Options) error { return o.accepts().Validate(req) }

// Repair changes a request so that [Validate] finds nothing wrong, and returns each change. The original is not
// modified, and a request that breaks no rule is returned as it was. Depending on the rule:
//
//   - An unknown role becomes the user's ("developer" becomes the system's). Calls and answers on messages that cannot
//     hold them are removed.
//   - Results move to their calls. A call without one is removed; a result without its call becomes a user message. Ids
//     and names of calls are made valid, and arguments that are not an object become the field "arguments" of one.
//   - Bytes that are not UTF-8 are replaced. Blank text, thinking that is neither signed nor encrypted or comes after
//     other content, opaque parts of other providers, and messages that become empty are removed; a tool result without
//     content becomes "(no output)".
//   - Images and documents in messages that cannot hold them move to a user message after them; one of a kind that the
//     API does not accept is replaced by a text that says so. If there are too many images, the oldest are replaced
//     too, a quarter of the limit at a time.
//   - System messages at the end move before the question or the round that the model is to answer. A user message is
//     added before a call at the start, and after an answer at the end.
//   - A thought signature that is not base64 is removed. In the current turn, the first call of a message gets
//     [SkipSignature] if it has no signature.
//   - The second of two tools with the same name is removed. A tool choice that requires a call is dropped if there are
//     no tools, and so is a token limit below 0.
//
// What cannot be repaired stays, and is reported by Validate: tools without a name or an acceptable schema, an unknown
// tool choice, a request without messages.
func Repair(req chat.Request, o Options) (chat.Request, []chat.Repair) {
	return o.accepts().Repair(req)
}

// imageLimits are the number of images that Vertex AI documents (the Gemini API accepts 3,600) and the bytes that the
// Gemini API accepts inline since January 2026
// (blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits), read on 2026-11-23.
var imageLimits = provider.ImageLimits{Count: 3000, All: 100_000_000}

// schemas are the rules for schemas of answers (https://ai.google.dev/api/generate-content, responseJsonSchema).
var schemas = provider.SchemaRules{
	Lone: true,
	Keywords: []string{
		"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems", "maxItems",
		"minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required", "propertyOrdering",
	},
}

// accepts is what Gemini accepts.
func (o Options) accepts() *provider.API {
	return &provider.API{
		ToolName: provider.Words(128, "_.:-").AfterLetter(), NewID: newID, Unanswered: true, Images: imageLimits,
		Arguments: func(c chat.ToolCall) error { _, err := readArguments(c.Arguments); return err },
		Signature: func(c chat.ToolCall) error { _, err := readSignature(c.Signature); return err },
		Faults:    o.faults, Says: says, Late: func(chat.Message, chat.Thinking) chat.Part { return nil },
		Schema: schemas,
		Check: func(req chat.Request, report func(int, chat.Rule, string, ...any)) {
			if req.OneCall {
				report(chat.RequestIndex, chat.RuleShape, "the API has no switch for parallel calls")
			}
		},
		After: func(r *provider.Repairer) {
			start(r)
			o.sign(r)
		},
	}
}

func newID(id string, n int) string {
	return fmt.Sprintf("%s-%d", cmp.Or(id, "call"), n+2)
}

// says reports whether the content of a message holds something besides thinking.
func says(m chat.Message) bool {
	return slices.ContainsFunc(m.Content, func(p chat.Part) bool {
		switch p.(type) {
		case chat.Thinking, chat.CacheBreakpoint:
			return false
		}
		return true
	})
}

// faults returns what of a message's content Gemini does not accept.
func (o Options) faults(m chat.Message) (found []provider.Fault) {
	if m.Role == chat.RoleTool {
		_, found = o.responseParts(m, provider.UnknownTool)
	} else {
		_, found = o.parts(m, true)
	}
	return found
}

// start adds a user message before the first call if it has none before it.
func start(r *provider.Repairer) {
	first := slices.IndexFunc(r.Messages, func(m provider.Indexed) bool { return m.Role != chat.RoleSystem })
	for k := first; k >= 0 && k < len(r.Messages) && r.Messages[k].Role == chat.RoleAssistant; k++ {
		if len(r.Messages[k].ToolCalls) > 0 {
			r.InsertUser(first, provider.RuleCallTurn)
			return
		}
	}
}

// sign adds the missing signatures to the calls of the current turn.
func (o Options) sign(r *provider.Repairer) {
	if o.Legacy {
		return
	}
	for k := len(r.Messages) - 1; k >= 0; k-- {
		m := &r.Messages[k]
		switch {
		case m.Role == chat.RoleUser || m.Role == chat.RoleSystem:
			return // the current turn begins here
		case len(m.ToolCalls) == 0:
			continue
		}
		if first, signed := o.firstCall(m.Message); !signed {
			r.Fault(m.Index, provider.RuleSignature, fmt.Sprintf("call %d has none", first), "SkipSignature added to call %q", m.ToolCalls[first].ID)
			m.ToolCalls = slices.Clone(m.ToolCalls)
			m.ToolCalls[first].Signature = SkipSignature
		}
	}
}

// firstCall returns the index of the call that is sent first, and whether it has a signature.
func (o Options) firstCall(m chat.Message) (index int, signed bool) {
	parts, _ := o.modelParts(m)
	first := parts[slices.IndexFunc(parts, func(p *genai.Part) bool { return p.FunctionCall != nil })] // each call has a part
	index = slices.IndexFunc(m.ToolCalls, func(c chat.ToolCall) bool { return c.ID == first.FunctionCall.ID })
	return index, len(first.ThoughtSignature) > 0
}
