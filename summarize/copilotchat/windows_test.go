package copilotchat_test

import (
	"testing"

	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestThePageShowsWhereSummariesAreBegun(t *testing.T) {
	p := copilotchat.Policy()
	p.Trigger[0].Jitter = 0 // the middle of the range
	golden.Table(t, compacttest.WindowTable(t, p, []string{"warm", "cold"}, func(d policy.Decision) []int {
		cold := d.Measurement
		cold.ToolRounds = false
		return []int{d.Findings[0].At, p.Decide(cold).Findings[0].At}
	}))
}
