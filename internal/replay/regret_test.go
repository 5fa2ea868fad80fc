package replay

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/costsim"
	"github.com/promptree-go/promptree/internal/golden"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/sessiontest"
)

func TestRegretsAreShownBySettingAndByShape(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := []string{"-regret", "-prices", "claude-opus-4-5", "-ttl", "10m", "-synthetic", "24", "-seed", "3", generatedSession}
	require.Equal(t, program.ExitOK, Main(t.Context(), args, &stdout, &stderr), stderr.String())
	golden.Equal(t, "regret.golden", stdout.String())
}

func TestTheCarryRuleIsNearTheOptimumOnARecordedSession(t *testing.T) {
	sessiontest.Needs(t, recordedSession)
	s := opened(t, recordedSession)
	biller, err := billerFor("claude-opus-4-5", "", 0)
	require.NoError(t, err)
	r, err := (&replayer{tokenizer: counter(t), biller: biller}).priced(t.Context(), s)
	require.NoError(t, err)
	for _, restarts := range []bool{true, false} {
		session := r.asNumbers(s, restarts)
		for _, summary := range summaryTokens {
			for _, kept := range keptTokens {
				at := costsim.Settings{Prices: r.biller.prices, Summary: summary, Kept: kept}
				for _, alpha := range []float64{0.5, 0.7, 1} {
					cost, _ := session.Cost(at, costsim.Carry(r.biller.prices, alpha))
					is := cost / session.Optimum(at)
					t.Logf("summary %d, kept %d, restarts %v, alpha %v: %.3f", summary, kept, restarts, alpha, is)
					require.True(t, is >= 1 && is <= 1.20, "%v", is)
				}
			}
		}
	}
}
