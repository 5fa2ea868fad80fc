package gemini_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/gemini"
)

func TestTheAPISaysTheWindowOfAModel(t *testing.T) {
	providertest.Windows(t, "/v1beta/models/gemini-4-argon", func(t *testing.T, server string) (int, error) {
		m := &gemini.Model{Client: connect(server), Name: "gemini-4-argon"}
		return m.Window(t.Context())
	},
		providertest.Answer("what it says", 200, `{"name": "models/gemini-4-argon", "inputTokenLimit": 1048576, "outputTokenLimit": 65536}`, 1_048_576, false),
		providertest.Answer("a server that does not say", 200, `{"name": "models/gemini-4-argon"}`, 0, false),
		providertest.Answer("a number below 0", 200, `{"inputTokenLimit": -5}`, 0, false),
		providertest.Answer("a server without the address", 404, `{"error": {"code": 404, "message": "no such page", "status": "NOT_FOUND"}}`, 0, false),
		providertest.Answer("an overload", 503, `{"error": {"code": 503, "message": "try later", "status": "UNAVAILABLE"}}`, 0, true),
	)
	_, err := new(gemini.Model).Window(t.Context())
	require.ErrorContains(t, err, "Model.Client or Model.Name is not set")
}
