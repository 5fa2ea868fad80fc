package compare

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecallIsMeasuredWithoutPrices(t *testing.T) {
	args := []string{"-details", "-prices", "none", "-recall", "-window", "900,2000", "-policy", "frugal,stagewise", "testdata/report.jsonl", "../../../../history/importer/testdata/formats/pi-tree.jsonl"}
	text := outputOf(t, args...)
	require.Contains(t, text, "recall: "+recallNote)
	require.NotContains(t, text, "total with")
	require.Contains(t, text[strings.LastIndex(text, "all 2 sessions"):], "900")
	runs, _ := ranJSON(t, 0, args...)
	for _, r := range runs {
		c := r.Recall
		require.Equal(t, c.Needed, c.Tail+c.Summary+c.Index+c.OneLookUp+c.Further+c.NotInLog)
		require.Zero(t, c.NotInLog)
		require.Zero(t, c.Dollars)
	}
}
