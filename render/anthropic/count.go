package anthropic

import (
	"context"
	"errors"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// CountTokens asks Anthropic for the number of input tokens of a request, tools included. The request is repaired as by
// [Model.Generate], but OnRepair is not called, and Editing is not applied. Errors are those of Generate.
func (m *Model) CountTokens(ctx context.Context, req chat.Request) (int, error) {
	req, _ = m.repaired(req)
	p, err := m.params(req)
	if err != nil {
		return 0, err
	}
	params := sdk.MessageCountTokensParams{
		Model: p.Model, Messages: p.Messages, Thinking: p.Thinking, ToolChoice: p.ToolChoice,
		System: sdk.MessageCountTokensParamsSystemUnion{OfTextBlockArray: p.System}, OutputConfig: p.OutputConfig,
	}
	for _, t := range p.Tools { // the unions hold the same tools as different types
		params.Tools = append(params.Tools, param.Override[sdk.MessageCountTokensToolUnionParam](t))
	}
	x := provider.NewExchange(false)
	count, err := m.Client.Messages.CountTokens(ctx, params, m.options(x, p)...)
	switch {
	case err != nil:
		return 0, x.Err(ctx, classify(x, err))
	case count == nil || !count.JSON.InputTokens.Valid(): // also nil for JSON's null
		return 0, x.Err(ctx, orRefusal(x, &chat.AnswerError{Err: errors.New("anthropic: the answer holds no count")}))
	}
	return int(count.InputTokens), nil
}

// Window asks the API how many tokens the model takes in: its context window. The result is 0 if the server does not say,
// as many do that speak this API but are not Anthropic's. Errors are those of [Model.Generate].
func (m *Model) Window(ctx context.Context) (int, error) {
	if m.Name == "" {
		return 0, errors.New("anthropic: Model.Name is not set")
	}
	x := provider.NewExchange(false)
	info, err := m.Client.Models.Get(ctx, m.Name, sdk.ModelGetParams{}, m.options(x, sdk.MessageNewParams{})...)
	if said, ok := errors.AsType[*sdk.Error](err); ok && said.StatusCode == http.StatusNotFound {
		return 0, nil
	}
	if err != nil {
		return 0, x.Err(ctx, classify(x, err))
	}
	return int(max(0, info.MaxInputTokens)), nil
}
