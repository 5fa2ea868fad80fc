package main

import (
	"testing"

	"github.com/promptree-go/promptree/internal/test/apitest"
)

var program = apitest.Program{Run: run, Key: "GOOGLE_API_KEY", Server: "GOOGLE_GEMINI_BASE_URL", Model: "gemini-2.5-flash"}

func TestAConversationOutgrowsItsWindowBreaksOffAndContinues(t *testing.T) {
	apitest.Outgrows(t, apitest.Gemini{}, 5_000, program)
}

func TestInvalidFlagsAreUsageErrors(t *testing.T) { apitest.InvalidFlags(t, program) }
