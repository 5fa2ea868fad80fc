package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/messages"
	"github.com/promptree-go/promptree/sizing"
)

// toolSearch is the name of the tool with which clients search for deferred tools.
const toolSearch = "tool_search"

// Validate checks a request by the rules of [chat.ValidateRequest] and those of Anthropic. It returns nil or a
// [*chat.ValidationError] with every violation. [Repair] repairs nearly all of them.
//
// A last message that was paused ([StopPause]) may be the assistant's: it is sent back for the model to continue.
func Validate(req chat.Request) error { return accepts(0).Validate(req) }

// checkSchema checks that a schema is of type "object". Package chat reports schemas that are not JSON objects.
func checkSchema(schema json.RawMessage) error {
	var head struct {
		Type json.RawMessage `json:"type"`
	}
	if schema == nil || json.Unmarshal(schema, &head) != nil || string(head.Type) == `"object"` {
		return nil
	}
	return fmt.Errorf("their type is %s, not \"object\"", head.Type)
}

// startsWithThinking reports whether thinking comes before everything else in a message.
func startsWithThinking(m chat.Message) bool {
	for _, p := range m.Content {
		if _, ok := p.(chat.CacheBreakpoint); !ok {
			return isThinking(p)
		}
	}
	return false
}

// isThinking reports whether a part is thinking in either of the forms that [Response] returns.
func isThinking(p chat.Part) bool {
	_, is := p.(chat.Thinking)
	b := serverBlock(p)
	return is || b.Type == messages.TypeThinking || b.Type == messages.TypeRedacted
}

// callKey identifies a call by its message and its index there.
type callKey struct{ message, call int }

// staleSearches returns the calls that the API would refuse: those of a tool_search that is not declared, and those
// answered with references to tools that are not deferred.
func staleSearches(messages []chat.Message, tools []chat.Tool) map[callKey]bool {
	declared := slices.ContainsFunc(tools, func(t chat.Tool) bool { return t.Name == toolSearch })
	isStale := func(p chat.Part) bool {
		b := serverBlock(p)
		return b.Type == typeReference && !slices.ContainsFunc(tools, func(t chat.Tool) bool { return t.Deferred && t.Name == b.ToolName })
	}
	stale := map[callKey]bool{}
	pairs := chat.Pair(messages)
	for i, m := range messages {
		for k, c := range m.ToolCalls {
			if c.Name == toolSearch && !declared {
				stale[callKey{i, k}] = true
			}
		}
		if call, ok := pairs[i]; ok && slices.ContainsFunc(m.Content, isStale) {
			stale[callKey{call.Message, call.Call}] = true
		}
	}
	return stale
}

// says reports whether the content of a message holds something besides thinking.
func says(m chat.Message) bool {
	return slices.ContainsFunc(m.Content, func(p chat.Part) bool {
		_, mark := p.(chat.CacheBreakpoint)
		return !mark && !isThinking(p) && serverBlock(p).Type != messages.TypeCitations
	})
}

// faults returns the thinking and the breakpoints that the API does not accept.
func faults(m chat.Message) (list []provider.Fault) {
	for k, p := range m.Content {
		f := provider.Fault{Part: k, Rule: provider.RuleThinkingForm}
		switch p := p.(type) {
		case chat.Thinking:
			switch {
			case p.Encrypted != "" && (p.Text != "" || p.Signature != ""):
				f.Why = "it is encrypted, and has text or a signature too"
			case p.Encrypted == "" && p.Signature == "" && m.Role != chat.RoleAssistant:
				f.Why = "it is neither signed nor encrypted"
			}
		case chat.CacheBreakpoint:
			if p.Type != "" && p.Type != cacheType {
				f.Rule, f.Why = provider.RuleCacheType, fmt.Sprintf("it is %q", p.Type)
			}
		}
		if f.Why != "" {
			list = append(list, f)
		}
	}
	return list
}

func checkOpaque(m chat.Message, p chat.Opaque) error {
	b, err := parseOpaque(p)
	switch {
	case err != nil:
		return err
	case b.Type == messages.TypeToolUse && !b.marksCall(m):
		return fmt.Errorf("it is a call that is not among the message's calls: %q", b.ID)
	case b.Type == messages.TypeToolResult:
		return errors.New("it is a tool result, which is a message of its own")
	case b.Type == typeCompaction && b.ID != "": // those of the API have no id
		return errors.New("it is another provider's compaction")
	case isKeptCompaction(m, p):
		return nil
	case b.onlyAssistant() && m.Role != chat.RoleAssistant, slices.Contains(neverAssistant, b.Type) && m.Role == chat.RoleAssistant,
		b.Type == typeReference && m.Role != chat.RoleTool:
		return fmt.Errorf("it is a %s in a %s message", b.Type, m.Role)
	case m.Role == chat.RoleSystem && b.Type != messages.TypeText:
		return fmt.Errorf("it is a %s in a system message", b.Type)
	case m.Role == chat.RoleTool && m.IsError && b.Type != messages.TypeText:
		return fmt.Errorf("it is a %s in a failed result", b.Type)
	}
	return nil
}

// checkCache reports the breakpoints of opaque parts, which cannot be repaired.
func checkCache(req chat.Request, report func(i int, rule chat.Rule, format string, args ...any)) {
	plan := planCache(req)
	if n := len(plan.marks); n > maxBreakpoints {
		report(plan.marks[maxBreakpoints].message(), provider.RuleCacheCount, "there are %d", n)
	}
	short := false
	for _, mark := range plan.marks {
		if short && mark.hour {
			report(mark.message(), provider.RuleCacheOrder, "an hour comes after five minutes")
			break
		}
		short = short || !mark.hour
	}
}

// The limits of images in the API's guide to vision, in pixels a side.
const (
	maxImageSide  = 8000
	manyImages    = 20 // with more images, the next limit applies
	manyImageSide = 2000
)

// maxImages is the maximum number of images in a request to a model with a context window of 200,000 tokens. Others
// accept 600.
const maxImages = 100

// imageLimits returns the limits in the guide to vision and the API's overview, read on 2026-11-23; 0 images are
// maxImages. On Amazon Bedrock and Google Cloud an image has at most 5 MB.
func imageLimits(images int) provider.ImageLimits {
	return provider.ImageLimits{Count: cmp.Or(max(0, images), maxImages), Each: 10 << 20, All: 32_000_000}
}

// largeImages returns the images whose known size is more than the API accepts.
func largeImages(messages []chat.Message) (large []provider.ImageExcess) {
	side := maxImageSide
	var images []provider.ImageExcess
	for i, m := range messages {
		for k, p := range m.Content {
			if _, ok := p.(chat.Image); ok {
				images = append(images, provider.ImageExcess{Message: i, Part: k, Rule: provider.RuleImageSize})
			}
		}
	}
	if len(images) > manyImages {
		side = manyImageSide
	}
	for _, e := range images {
		if width, height, ok := sizing.ImageSize(messages[e.Message].Content[e.Part].(chat.Image)); ok && max(width, height) > side {
			e.Err = fmt.Errorf("an image of %d by %d pixels: at most %d a side are accepted", width, height, side)
			large = append(large, e)
		}
	}
	return large
}
