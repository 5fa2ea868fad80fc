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

// The windows include some that the policies' defaults were not made for. No compaction fails, because the model of a
// replay keeps to the room for its summary. PROMPTREE_TESTS=all replays every policy in every window.
func TestEveryPolicyFinishesInEveryWindow(t *testing.T) {
	type replays struct {
		file     string
		windows  []int
		policies string
	}
	tests := []replays{{generatedSession, []int{16_000}, "copilot-chat,stagewise"}}
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
				for _, r := range runs {
					if r.Policy == recorded {
						continue
					}
					require.Empty(t, r.Ended, r.Policy)
					require.Equal(t, r.RequestsIn, r.Requests.Number, r.Policy)
					require.LessOrEqual(t, r.Requests.Largest, r.ContextWindow, r.Policy)
					require.NotEmpty(t, r.Compactions, r.Policy)
					require.Less(t, 2*len(r.Compactions), r.Requests.Number, "%s compacts at almost every request", r.Policy)
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
