package anthropic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestRandomCallsAndResultsArePairedByRepair(t *testing.T) {
	t.Parallel()
	providertest.Repaired(t, anthropic.Repair, anthropic.Validate)
}

func TestAResultAnswersItsCallAcrossAnAnswer(t *testing.T) {
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "a", Name: "read", Arguments: "{}"}}}
	req := chat.Request{
		Messages: []chat.Message{chat.UserMessage("Read it."), call, chat.AssistantMessage("I wait."), chat.ToolResult("a", "the content"), chat.UserMessage("And?")},
		Tools:    []chat.Tool{{Name: "read"}},
	}
	repaired, changes := anthropic.Repair(req)
	require.NoError(t, anthropic.Validate(repaired))
	require.Equal(t, []chat.Message{req.Messages[0], call, req.Messages[3], req.Messages[2], req.Messages[4]}, repaired.Messages)
	require.Len(t, changes, 1)
	require.Contains(t, changes[0].String(), `the result of call "a" moved to the call`)
}
