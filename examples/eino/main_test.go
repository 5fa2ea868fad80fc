package main

import (
	"testing"

	"github.com/promptree-go/promptree/internal/test/apitest"
)

var program = apitest.Program{Run: run, Key: "OPENAI_API_KEY", Server: "-base-url", Model: "gpt-4o"}

func TestAConversationOutgrowsItsWindowBreaksOffAndContinues(t *testing.T) {
	apitest.Outgrows(t, apitest.ChatCompletions{}, 5_000, program)
}

func TestInvalidFlagsAreUsageErrors(t *testing.T) { apitest.InvalidFlags(t, program) }
