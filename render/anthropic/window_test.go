package anthropic_test

import (
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestTheAPISaysTheWindowOfAModel(t *testing.T) {
	providertest.Windows(t, "/v1/models/claude-opus-5-5", func(t *testing.T, server string) (int, error) {
		m := &anthropic.Model{Client: sdk.NewClient(option.WithBaseURL(server), option.WithAPIKey("key")), Name: "claude-opus-5-5"}
		return m.Window(t.Context())
	},
		providertest.Answer("what it says", 200, `{"id": "claude-opus-5-5", "type": "model", "max_input_tokens": 1000000, "max_tokens": 128000}`, 1_000_000, false),
		providertest.Answer("a server that does not say", 200, `{"id": "claude-opus-5-5", "type": "model"}`, 0, false),
		providertest.Answer("a null", 200, `{"id": "claude-opus-5-5", "max_input_tokens": null}`, 0, false),
		providertest.Answer("a number below 0", 200, `{"max_input_tokens": -5}`, 0, false),
		providertest.Answer("a server without the address", 404, `{"type": "error", "error": {"type": "not_found_error", "message": "no such page"}}`, 0, false),
		providertest.Answer("an overload", 529, `{"type": "error", "error": {"type": "overloaded_error", "message": "try later"}}`, 0, true),
	)
	_, err := new(anthropic.Model).Window(t.Context())
	require.ErrorContains(t, err, "Model.Name is not set")
}
