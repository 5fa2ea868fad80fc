package openai_test

import (
	"testing"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/openai"
)

func TestRandomCallsAndResultsArePairedByRepair(t *testing.T) {
	t.Parallel()
	for _, api := range apis {
		providertest.Repaired(t, func(req chat.Request) (chat.Request, []chat.Repair) { return openai.Repair(req, api) },
			func(req chat.Request) error { return openai.Validate(req, api) })
	}
}
