// Package endless ends answers of models that are far longer than was asked for.
package endless

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
)

// The bytes of an answer that is not too long: for each token that was asked for, and in addition.
const perToken, more = 16, 16 << 10

var errEndless = errors.New("endless: the answer is far longer than was asked for")

// Generate asks a model. It ends the request once the answer is far longer than MaxTokens allows, while it streams: no
// text has so many bytes for a token. The answer is then the text that had arrived.
func Generate(ctx context.Context, req chat.Request, ask func(context.Context, chat.Request) (chat.Response, error)) (chat.Response, error) {
	most := clamp.Sum(perToken*min(req.MaxTokens, math.MaxInt32/perToken), more)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var text strings.Builder
	length := 0
	req.Stream = func(d chat.Delta) {
		switch d := d.(type) {
		case chat.Text:
			length += len(d)
			text.WriteString(string(d))
		case chat.Thinking:
			length += len(d.Text)
		case chat.CallDelta:
			length += len(d.Arguments)
		}
		if length > most {
			cancel(errEndless)
		}
	}
	response, err := ask(ctx, req)
	ended := context.Cause(ctx) == errEndless
	var arrived string
	switch {
	case err == nil:
		if arrived = response.Message.Text(); len(arrived) <= most {
			return response, nil
		}
	case !ended:
		return response, err
	case response.Message.Text() != "":
		arrived = response.Message.Text()
	default:
		arrived = text.String()
	}
	arrived = strings.ToValidUTF8(arrived[:min(len(arrived), most)], "")
	return chat.Response{Message: chat.AssistantMessage(arrived), Usage: response.Usage}, nil
}
