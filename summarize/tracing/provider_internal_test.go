package tracing

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

func TestTheProviderFollowsFromTheAdaptersPackage(t *testing.T) {
	for path, want := range map[string]string{
		"github.com/promptree-go/promptree/render/openai":    "openai",
		"github.com/promptree-go/promptree/render/anthropic": "anthropic",
		"github.com/promptree-go/promptree/render/gemini":    "gcp.gemini",
		"example.com/anthropic":                              "_OTHER",
		"":                                                   "_OTHER",
	} {
		require.Equal(t, want, providerOfPackage(path), path)
	}
	require.Equal(t, "_OTHER", providerOf(chat.ModelFunc(nil)))
}
