package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

func TestPartialOfNothingIsTheZeroResponse(t *testing.T) {
	usage := chat.Usage{Input: 1}
	require.Equal(t, chat.Response{}, provider.Partial(chat.Message{Role: chat.RoleAssistant}, chat.Usage{}))
	require.Equal(t, chat.Response{Usage: usage}, provider.Partial(chat.Message{Role: chat.RoleAssistant}, usage))
	require.Equal(t, chat.Response{Message: chat.AssistantMessage("a"), Usage: usage}, provider.Partial(chat.AssistantMessage("a"), usage))
}
