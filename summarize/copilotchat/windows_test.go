package copilotchat_test

import (
	"testing"

	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
)

func TestThePageShowsWhereSummariesAreBegun(t *testing.T) {
	policy := copilotchat.Policy()
	policy.Trigger[0].Jitter = 0 // the middle of the range
	golden.Table(t, compacttest.WindowTable(t, policy, []string{"warm", "cold"}, func(d summarize.Decision) []int {
		cold := d.Measurement
		cold.Warm = false
		return []int{d.Findings[0].At, policy.Decide(cold).Findings[0].At}
	}))
}
