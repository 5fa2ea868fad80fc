package gemini_test

import (
	"testing"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/gemini"
)

func TestRandomCallsAndResultsArePairedByRepair(t *testing.T) {
	t.Parallel()
	for _, o := range []gemini.Options{{}, {Legacy: true}} {
		providertest.Repaired(t, func(req chat.Request) (chat.Request, []chat.Repair) { return gemini.Repair(req, o) },
			func(req chat.Request) error { return gemini.Validate(req, o) })
	}
}
