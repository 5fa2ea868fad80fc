package replay

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecallIsMeasuredWithoutPrices(t *testing.T) {
	args := []string{"-details", "-prices", "none", "-recall", "-window", "900,2000", "-policy", "frugal,stagewise", "testdata/report.jsonl", "../../history/importer/testdata/formats/pi-tree.jsonl"}
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

func TestLossesAreForThePolicyFrugalAlone(t *testing.T) {
	list, err := policiesNamed("a3s,frugal")
	require.NoError(t, err)
	list, err = withLosses(list, "0,0.3")
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, "frugal 0.3", list[2].Name)
	require.InDelta(t, 0.3, list[2].Trigger[0].Loss, 0)
	for losses, want := range map[string]string{"x": "not an amount of dollars", "-1": "not an amount of dollars"} {
		_, err = withLosses(list, losses)
		require.ErrorContains(t, err, want)
	}
	list, err = policiesNamed("a3s")
	require.NoError(t, err)
	_, err = withLosses(list, "0")
	require.ErrorContains(t, err, "does not name it")
}
