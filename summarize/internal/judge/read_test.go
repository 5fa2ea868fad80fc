package judge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/summarize/internal/judge"
)

func TestTheSummaryIsFoundInTheBlockThatTheModelMeans(t *testing.T) {
	for _, c := range []struct {
		rule, text, want string
		open             bool
	}{
		{"the block after the analysis", "<analysis>\na\n</analysis>\n<summary>\nIt is done.\n</summary>", "It is done.", true},
		{"a block that is not closed ends with the text", "<summary>\nIt is done.", "It is done.", true},
		{"a tag that the analysis mentions does not count", "<analysis>\nI write <summary> next.\n</analysis>\n<summary>\nDone.\n</summary>", "Done.", true},
		{"HTML tags of the same name are content", "<summary>\nSee <details><summary>x</summary></details>.\n</summary>", "See <details><summary>x</summary></details>.", true},
		{"without a block the whole text", "It is done.", "It is done.", false},
		{"without a block the text after the analysis", "<analysis>\na\n</analysis>\nIt is done.", "It is done.", false},
		{"an unclosed analysis has no summary", "<analysis>\na", "", false},
		{"an analysis alone has no summary", "<analysis>\na\n</analysis>\n", "", false},
	} {
		got, open, _ := judge.Read(c.text, "summary")
		require.Equal(t, c.want, got, c.rule)
		require.Equal(t, c.open, open, c.rule)
	}
}
