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
