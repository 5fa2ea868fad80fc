package replay

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/summarize/policy"
)

// printed runs the program and returns its output.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, program.ExitOK, Main(t.Context(), args, &stdout, &stderr), stderr.String())
	require.Empty(t, stderr.String())
	return stdout.String()
}

func TestSessionsWindowsAndLossesAreComparedInOneTable(t *testing.T) {
	args := []string{"-window", "900,2000", "-policy", "frugal,stagewise", "-loss", "0,0.3", "-prices", "input=5000,read=500,write=6250,output=25000", "-summary-prices",
		"claude-haiku-4-5", "-summary", "100", "testdata/report.jsonl", "../../history/importer/testdata/formats/pi-tree.jsonl"}
	text := printed(t, args...)
	golden.Equal(t, "front.golden", text[strings.LastIndex(text, "all 2 sessions"):])
}

func TestACheckShowsEachRequest(t *testing.T) {
	args := []string{"-check", "-prices", "claude-opus-4-5", "-ttl", "10m", "-format"}
	text := printed(t, append(args, formatText, generatedSession)...)
	require.Contains(t, text, "foretells the reads of 334 of ")
	lines := strings.Split(printed(t, append(args, formatJSON, generatedSession)...), "\n")
	outcomes, off := map[string]int{}, 0.0
	for _, line := range lines[:len(lines)-1] {
		var row struct {
			Outcome  string
			Error    float64 `json:"errorDollars"`
			Read     int     `json:"readTokens"`
			Foretold int     `json:"foretoldTokens"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		outcomes[row.Outcome]++
		off += row.Error
		if row.Outcome == outcomeExact {
			require.Equal(t, row.Read, row.Foretold)
		}
	}
	require.Equal(t, 334, outcomes[outcomeExact]+outcomes[outcomeExpired])
	s := opened(t, generatedSession)
	b, err := billerFor("claude-opus-4-5", "", 600e9)
	require.NoError(t, err)
	c := check(s.recording, b.prices)
	require.InDelta(t, c.Kept-c.Recorded, off, 1e-9, "the errors of the requests add up")
	require.Len(t, c.checked, len(lines)-1)
	require.LessOrEqual(t, c.MeanError, c.LargestError)
}

func TestASessionWithoutCompactionsCostsWhatItsReplayDoes(t *testing.T) {
	if !extremes.All() {
		t.Skip("takes too long")
	}
	t.Parallel()
	s := opened(t, generatedSession)
	b, err := billerFor("claude-opus-4-5", "", 600e9)
	require.NoError(t, err)
	r, err := (&replayer{tokenizer: counter(t), biller: b}).priced(t.Context(), s)
	require.NoError(t, err)
	r, err = r.inWindow(2_000_000, s)
	require.NoError(t, err)
	run, err := r.replay(t.Context(), s, policy.Policy{Name: "never"})
	require.NoError(t, err)
	require.Empty(t, run.Compactions)
	r.setUncompacted(s, run)
	require.InEpsilon(t, run.Bill.Kept, run.Bill.Uncompacted, 0.02)
	require.InEpsilon(t, run.Bill.Pinned, run.Bill.PinnedUncompacted, 0.02)
}

func TestARunIsOnTheFrontIfNoOtherBeatsIt(t *testing.T) {
	run := func(policy string, dollars float64, edits int) *Run {
		return &Run{Policy: policy, Bill: &Bill{Kept: dollars - 1}, Lookbacks: &Lookbacks{Edits: edits, Dollars: 1}}
	}
	runs := []*Run{run("a", 10, 3), run("b", 12, 3), run("c", 12, 2), run("d", 9, 7), run("e", 12, 2), run(recorded, 1, 0), run("f", 1, 0), {Policy: "g"}}
	runs[6].Ended = "at request 1"
	markFront(runs)
	var front []string
	for _, r := range runs {
		if r.Front {
			front = append(front, r.Policy)
		}
	}
	require.Equal(t, []string{"a", "c", "d", "e"}, front)
}

func TestRunsAreSummedByPolicyAndWindow(t *testing.T) {
	run := func(policy string, window int, dollars float64) *Run {
		return &Run{Policy: policy, Window: window, Requests: 2, Bill: &Bill{Kept: dollars}, Lookbacks: &Lookbacks{Edits: 1}}
	}
	sums := sumOf([]*Run{run("a", 1, 1), run("a", 2, 2), run("a", 1, 4), run("b", 1, 8)})
	require.Len(t, sums, 3)
	require.InDelta(t, 5, sums[0].Bill.Kept, 1e-9)
	require.Equal(t, 2, sums[0].Lookbacks.Edits)
	require.InDelta(t, 2, sums[1].Bill.Kept, 1e-9)
}
