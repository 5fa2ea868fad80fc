package anthropic

import (
	"context"
	"errors"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/internal/provider"
)

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
