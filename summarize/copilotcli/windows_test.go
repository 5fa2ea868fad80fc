package copilotcli_test

import (
	"testing"

	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotcli"
)

func TestThePageShowsWhereSummariesAreBegun(t *testing.T) {
	policy := copilotcli.Policy()
	golden.Table(t, compacttest.WindowTable(t, policy, []string{"begins", "waits"}, func(d summarize.Decision) []int {
		return []int{d.Findings[0].At, int(policy.Background.Wait * float64(d.Measurement.Base))}
	}))
}
