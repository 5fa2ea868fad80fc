package anthropic

import (
	"context"
	"fmt"
	"io"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/elements/chat"
)

// stream sends a request and gathers its answer.
func (m *Model) stream(ctx context.Context, params sdk.MessageNewParams, heard func(chat.Delta)) (chat.Response, error) {
	events := m.Client.Messages.NewStreaming(ctx, params, m.options()...)
	defer events.Close()
	var answer sdk.Message
	arguments := map[int64]*strings.Builder{} // of calls, as far as they came: the SDK keeps none that are cut off
	whole := false
	for events.Next() {
		e := events.Current()
		if err := answer.Accumulate(e); err != nil {
			return chat.Response{}, fmt.Errorf("the stream of the answer: %w", err)
		}
		switch e.Type {
		case "content_block_delta":
			switch e.Delta.Type {
			case "text_delta":
				tell(heard, e.Delta.Text != "", chat.Text(e.Delta.Text))
			case "thinking_delta":
				tell(heard, e.Delta.Thinking != "", chat.Thinking{Text: e.Delta.Thinking})
			case "input_json_delta":
				if arguments[e.Index] == nil {
					arguments[e.Index] = &strings.Builder{}
				}
				arguments[e.Index].WriteString(e.Delta.PartialJSON)
			}
		case "message_stop":
			whole = true
		}
	}
	if err := events.Err(); err != nil {
		return chat.Response{}, err
	}
	if !whole {
		return chat.Response{}, fmt.Errorf("the stream ended before the answer did: %w", io.ErrUnexpectedEOF)
	}
	for i, said := range arguments {
		if said.Len() > 0 && answer.Content[i].Type == typeToolUse {
			answer.Content[i].Input = []byte(said.String())
		}
	}
	return Response(&answer), nil
}

func tell(heard func(chat.Delta), said bool, d chat.Delta) {
	if heard != nil && said {
		heard(d)
	}
}
