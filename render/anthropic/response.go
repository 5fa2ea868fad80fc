package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// StopPause reports that the API interrupted a long turn of its own tools, or paused after a compaction. The answer so
// far may be sent back as it is.
const StopPause = dialect.Pause

// Response converts an answer of the API, so that [Request] sends back every block unchanged and in its place:
//
//   - Thinking that comes first is a [chat.Thinking], encrypted if it was redacted. Thinking after other blocks is a
//     [chat.Opaque].
//   - A text is a [chat.Text]. Its citations are in a [chat.Opaque] after it.
//   - Calls have the ids of [chat.WithCallIDs]. The place of a call that other blocks follow is marked by a
//     [chat.Opaque] with its id. The caller of a tool, if not the model itself, is the call's signature.
//   - Any other block is a [chat.Opaque], as the API wrote it.
//
// An answer that was cut off may end within a call; its arguments are kept as far as they came. A stop reason that is
// not an end, a cut or a declined answer is an error with the answer so far: a [*chat.EndError] in a
// [*chat.TransientError] or a [*chat.AnswerError]. An answer that ended in order and says nothing is a
// [*chat.EmptyError]: the API has nothing to add.
func Response(m *sdk.Message) (chat.Response, error) { return response(m, nil) }

// response is Response with the stop reasons that a model declares.
func response(m *sdk.Message, ends map[string]chat.StopReason) (chat.Response, error) {
	r := converted(m)
	stop, err := dialect.Stop(string(m.StopReason), "", r.Message, ends)
	if errors.Is(err, dialect.ErrNothing) {
		err = &chat.TransientError{Err: fmt.Errorf("anthropic: %w", err)}
	}
	if err == nil && dialect.Empty(stop, r.Message) {
		return r, &chat.EmptyError{} // https://docs.claude.com/en/api/handling-stop-reasons: the turn is complete
	}
	r.StopReason = stop
	return r, err
}

// converted returns the answer without the reason for its end.
func converted(m *sdk.Message) chat.Response {
	r := chat.Response{
		Message: decode(m.Content),
		Usage: usage(m.Usage.InputTokens, m.Usage.OutputTokens, m.Usage.CacheReadInputTokens, m.Usage.CacheCreationInputTokens,
			m.Usage.CacheCreation.Ephemeral1hInputTokens),
	}
	if slices.ContainsFunc(m.Content, func(b sdk.ContentBlockUnion) bool { return b.Type == typeCompaction }) {
		made := compactionUsage(m)
		r.Usage = r.Usage.Plus(made)
		r.Usage.Prompt = made.Prompt
	}
	return r
}

// decode returns the message that consists of these blocks.
func decode(blocks []sdk.ContentBlockUnion) chat.Message {
	d := messages.Decoder{Message: chat.Message{Role: chat.RoleAssistant}, Lenient: true}
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
