package gemini

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/genai"
)

// Window asks the API how many tokens of input the model takes. The result is 0 if the server does not say. Errors are
// those of [Model.Generate].
func (m *Model) Window(ctx context.Context) (int, error) {
	if m.Client == nil || m.Name == "" {
		return 0, errors.New("gemini: Model.Client or Model.Name is not set")
	}
	x := newExchange(false)
	model, err := throughSDK(m, new(bool), func(models *genai.Models) (*genai.Model, error) { return models.Get(x.in(ctx), m.Name, nil) })
	if said, ok := errors.AsType[genai.APIError](err); ok && said.Code == http.StatusNotFound {
		return 0, nil
	}
	if err != nil {
		return 0, x.Err(ctx, classify(x.Exchange, err))
	}
	return int(max(0, model.InputTokenLimit)), nil
}
