package summaryblock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/summaryblock"
)

func TestSummaryIsFoundWhereTheModelMeansIt(t *testing.T) {
	for _, c := range []struct {
		rule, text, want string
		inBlock          bool
	}{
		{"in its block, after the analysis", "<analysis>\na\n</analysis>\n<summary>\nIt is done.\n</summary>", "It is done.", true},
		{"to the end of a block that is not closed", "<summary>\nIt is done.", "It is done.", true},
		{"not where the analysis speaks of it", "<analysis>\nI write <summary> next.\n</analysis>\n<summary>\nDone.\n</summary>", "Done.", true},
		{"with HTML of the same name", "<summary>\nSee <details><summary>x</summary></details>.\n</summary>", "See <details><summary>x</summary></details>.", true},
		{"without a block, all of it", "It is done.", "It is done.", false},
		{"without a block, what is not analysis", "<analysis>\na\n</analysis>\nIt is done.", "It is done.", false},
		{"nothing but an analysis", "<analysis>\na", "", false},
		{"nothing after an analysis", "<analysis>\na\n</analysis>\n", "", false},
	} {
		got, inBlock := summaryblock.Find(c.text)
		require.Equal(t, c.want, got, c.rule)
		require.Equal(t, c.inBlock, inBlock, c.rule)
	}
}
