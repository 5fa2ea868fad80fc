package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/elements/chat"
)

// StopPause reports that the API interrupted a long turn of its own tools, or paused after a compaction. The answer so
// far may be sent back as it is.
const StopPause chat.StopReason = "pauseTurn"

// Response converts an answer of the API, so that [Request] sends back every block unchanged and in its place:
//
//   - Thinking that comes first is a [chat.Thinking], encrypted if it was redacted. Thinking after other blocks is a
//     [chat.Opaque].
//   - A text is a [chat.Text]. Its citations are in a [chat.Opaque] after it.
//   - Calls have the ids of [chat.WithCallIDs]. The place of a call that other blocks follow is marked by a
//     [chat.Opaque] with its id. The caller of a tool, if not the model itself, is the call's signature.
//   - Any other block is a [chat.Opaque], as the API wrote it.
//
// An answer that was cut off may end within a call; its arguments are kept as far as they came.
func Response(m *sdk.Message) chat.Response {
	r := chat.Response{
		Usage: usage(m.Usage.InputTokens, m.Usage.OutputTokens, m.Usage.CacheReadInputTokens, m.Usage.CacheCreationInputTokens,
			m.Usage.CacheCreation.Ephemeral1hInputTokens),
		StopReason: stopReason(m.StopReason),
	}
	r.Message, _ = assistantOf(m.Content, nil)
	for _, b := range m.Content {
		if b.Type == typeCompaction {
			r.Usage = r.Usage.Plus(compactionUsage(m))
			break
		}
	}
	return r
}

// assistantOf returns the message that consists of these blocks, and the breakpoints that calls at its end carry. marks
// are the breakpoints of each block; nil for an answer, whose blocks have none.
func assistantOf(blocks []sdk.ContentBlockUnion, marks []chat.Parts) (m chat.Message, after chat.Parts) {
	m.Role = chat.RoleAssistant
	lastNonCall := -1
	for i, b := range blocks {
		if b.Type != typeToolUse {
			lastNonCall = i
		}
	}
	thinkingFirst := true
	var ids chat.CallIDs
	add := func(p ...chat.Part) { m.Content = append(m.Content, p...) }
	for i, b := range blocks {
		var mark chat.Parts
		if marks != nil {
			mark = marks[i]
		}
		switch b.Type {
		case typeThinking, typeRedacted:
			t := chat.Thinking{Text: b.Thinking, Signature: b.Signature, Encrypted: b.Data}
			if thinkingFirst {
				add(t)
			} else {
				add(opaqueThinking(t))
			}
			continue
		case typeText:
			add(chat.Text(b.Text))
			if c := textCitations(b); c.Value != nil {
				add(c)
			}
			add(mark...)
		case typeToolUse:
			id := ids.Next(b.ID)
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{
				ID: id, Name: b.Name, Arguments: string(b.Input), Signature: callerSignature(b),
			})
			if i < lastNonCall {
				add(placeMark(id))
				add(mark...)
			} else {
				after = append(after, mark...)
			}
		default:
			add(chat.Opaque{Value: json.RawMessage(b.RawJSON())})
		}
		thinkingFirst = false
	}
	return m, after
}

func stopReason(s sdk.StopReason) chat.StopReason {
	switch s {
	case sdk.StopReasonToolUse:
		return chat.StopToolCalls
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return chat.StopMaxTokens
	case sdk.StopReasonRefusal:
		return chat.StopFiltered
	case sdk.StopReasonPauseTurn, sdk.StopReason(sdk.BetaStopReasonCompaction):
		return StopPause
	default:
		return chat.StopEnd
	}
}

// textCitations returns a part that stores the citations of a text, and an empty one if there are none.
func textCitations(b sdk.ContentBlockUnion) chat.Opaque {
	var block opaqueBlock
	if json.Unmarshal([]byte(b.RawJSON()), &block) != nil || len(block.Citations) == 0 {
		return chat.Opaque{}
	}
	return opaqueOf(struct {
		Type      string            `json:"type"`
		Citations []json.RawMessage `json:"citations"`
	}{typeCitations, block.Citations})
}

// caller holds the fields of a call besides its id, name and arguments.
type caller struct {
	Caller  json.RawMessage `json:"caller,omitempty"`
	Toolset string          `json:"toolset_name,omitempty"`
}

// callerSignature returns a signature that stores a call's caller, "" if the model itself called a tool of the request.
func callerSignature(b sdk.ContentBlockUnion) string {
	var c caller
	if json.Unmarshal([]byte(b.RawJSON()), &c) != nil {
		return ""
	}
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(c.Caller, &head) != nil || head.Type == "" || head.Type == "direct" {
		c.Caller = nil
	}
	if c.Caller == nil && c.Toolset == "" {
		return ""
	}
	return string(opaqueOf(c).Value)
}

// parseCaller reads what callerSignature wrote, and returns false for the signature of another provider.
func parseCaller(signature string) (caller, bool) {
	var c caller
	if len(signature) == 0 || signature[0] != '{' || json.Unmarshal([]byte(signature), &c) != nil {
		return caller{}, false
	}
	return c, len(c.Caller) > 0 || c.Toolset != ""
}
