package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/messages"
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
	r.Message = decode(m.Content)
	for _, b := range m.Content {
		if b.Type == typeCompaction {
			r.Usage = r.Usage.Plus(compactionUsage(m))
			break
		}
	}
	return r
}

// decode returns the message that consists of these blocks.
func decode(blocks []sdk.ContentBlockUnion) chat.Message {
	d := messages.Decoder{Role: chat.RoleAssistant, Lenient: true, Message: chat.Message{Role: chat.RoleAssistant}}
	for _, b := range blocks {
		o, err := wire.Parse(json.RawMessage(b.RawJSON()))
		if err != nil {
			o = &wire.Object{} // the caller made it
		}
		// What the SDK has put together from a stream is in its fields only, until the block is complete.
		for name, s := range map[string]string{"type": b.Type, "id": b.ID, "name": b.Name, "text": b.Text, "thinking": b.Thinking, "signature": b.Signature, "data": b.Data} {
			if s != "" {
				o.PutText(name, s)
			}
		}
		if b.Type == messages.TypeToolUse {
			d.Call(o, string(b.Input))
		} else {
			d.Block(o)
		}
	}
	return d.Message
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
