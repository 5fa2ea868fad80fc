package copilotcli_test

import (
	"testing"

	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestThePageShowsWhereSummariesAreBegun(t *testing.T) {
	p := copilotcli.Policy()
	golden.Table(t, compacttest.WindowTable(t, p, []string{"begins", "waits"}, func(d policy.Decision) []int {
		return []int{d.Findings[0].At, int(p.Background.Wait * float64(d.Measurement.Base))}
	}))
}
