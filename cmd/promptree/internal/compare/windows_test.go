package compare

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// The figures of each run are consistent. The windows include some that the policies' defaults were not made for. No compaction fails, because the model of a
// replay keeps to the room for its summary. PROMPTREE_TESTS=all replays every policy in every window.
func TestEveryPolicyFinishesInEveryWindow(t *testing.T) {
	type replays struct {
		file     string
		windows  []int
		policies string
	}
	tests := []replays{{generatedSession, []int{16_000}, "copilot-chat,copilot-cli,stagewise"}}
	if extremes.All() {
		tests = []replays{{generatedSession, []int{16_000, 32_000}, all}, {recordedSession, []int{40_000}, all}}
	}
	for _, test := range tests {
		for _, window := range test.windows {
			t.Run(fmt.Sprintf("%s in %d", filepath.Base(test.file), window), func(t *testing.T) {
				sessiontest.Needs(t, test.file)
				t.Parallel()
				runs, stderr := ranJSON(t, program.ExitOK, "-prices", "none", "-window", fmt.Sprint(window), "-policy", test.policies, test.file)
				require.Empty(t, stderr)
				list, err := policiesNamed(test.policies)
				require.NoError(t, err)
				require.Len(t, runs, 1+len(list))
				for i, r := range runs {
					q := r.Requests
					require.Empty(t, r.Ended, r.Policy)
					require.Equal(t, r.RequestsIn, q.Number, r.Policy)
					require.Less(t, q.Cached, q.Tokens)
					require.LessOrEqual(t, q.Tokens, q.Largest*q.Number)
					request := 0
					for _, c := range r.Compactions {
						require.GreaterOrEqual(t, c.Request, request, "in order")
						request = c.Request
						require.Less(t, c.TokensAfter, c.TokensBefore)
						require.Less(t, c.StandIn, c.TokensAfter)
						require.Positive(t, c.Covered)
					}
					if i == 0 {
						require.Equal(t, recorded, r.Policy)
						require.Len(t, r.Compactions, 2)
						require.Zero(t, r.Summaries)
						continue
					}
					require.Equal(t, list[i-1].Name, r.Policy)
					require.GreaterOrEqual(t, r.Summaries.Number, len(r.Compactions))
					require.LessOrEqual(t, r.Summaries.Cached, r.Summaries.Tokens)
					require.LessOrEqual(t, q.Largest, r.ContextWindow, r.Policy)
					require.NotEmpty(t, r.Compactions, r.Policy)
					require.Less(t, 2*len(r.Compactions), q.Number, "%s compacts at almost every request", r.Policy)
					require.Zero(t, r.Events["failed"], r.Policy)
					require.Zero(t, r.Events["dropped"], r.Policy)
					if r.Policy != "copilot-chat" && r.Policy != "frugal" { // their fork of a request may not fit, and another mode is used
						require.Zero(t, r.Events["refused"], r.Policy)
					}
				}
			})
		}
	}
}
