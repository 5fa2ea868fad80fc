package anthropic

import (
	"context"
	"encoding/json"
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// CountTokens asks the API how many tokens of input a request takes, its tools included. The request is mended as
// [Model.Generate] does it, so that what is counted is what would be sent; OnRepair is not told. Errors are those of
// Generate.
//
// It is no chat.Tokenizer: it needs the network, and counts no less than a whole request.
func (m *Model) CountTokens(ctx context.Context, req chat.Request) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	quiet := Model{Name: m.Name, MaxTokens: m.MaxTokens, Thinking: m.Thinking, Adjust: m.Adjust}
	p, err := quiet.params(req)
	if err != nil {
		return 0, err
	}
	params := sdk.MessageCountTokensParams{
		Model: p.Model, Messages: p.Messages, Thinking: p.Thinking, ToolChoice: p.ToolChoice,
		System: sdk.MessageCountTokensParamsSystemUnion{OfTextBlockArray: p.System},
	}
	for _, t := range p.Tools {
		// The unions hold the same kinds of tools, each under its own type.
		raw, err := t.MarshalJSON()
		if err != nil {
			return 0, err
		}
		params.Tools = append(params.Tools, param.Override[sdk.MessageCountTokensToolUnionParam](json.RawMessage(raw)))
	}
	x := provider.NewExchange(false)
	count, err := m.Client.Messages.CountTokens(ctx, params, m.options(x)...)
	switch {
	case err != nil:
		return 0, x.Err(ctx, classify(x, err))
	case count == nil || !count.JSON.InputTokens.Valid(): // nil of JSON's null
		return 0, &chat.AnswerError{Err: errors.New("anthropic: the answer holds no count")}
	}
	return int(count.InputTokens), nil
}
