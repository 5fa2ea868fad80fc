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
		{"the block after the analysis", "<analysis>\nhm\n</analysis>\n<summary>\nThis.\n</summary>", "This.", true},
		{"the block alone", "<summary>This.</summary>", "This.", true},
		{"a block with words around it", "Here it is:\n<summary>\nThis.\n</summary>\nI hope that helps.", "This.", true},
		{"a block that is not closed", "<analysis>\nhm\n</analysis>\n<summary>\nThis.\n", "This.", true},
		{"an answer without any tags", "The user wants the build fixed.", "The user wants the build fixed.", false},
		{"an answer without a block after the analysis", "\n<analysis>\nhm\n</analysis>\nThis is what the agent has to know of it.", "This is what the agent has to know of it.", false},
		{"an answer without a block after an analysis that has one", "<analysis>\n<summary>not yet</summary>\n</analysis>\nThis is what the agent has to know of it.", "This is what the agent has to know of it.", false},
		{"an analysis that is not closed", "<analysis>\nWhat goes into <summary>?\n<summary>\nThis.\n</summary>", "This.", true},
		{"a block within the analysis", "<analysis>\nhm\n<summary>\nThis.\n</summary>\n</analysis>", "This.", true},
		{"an analysis that mentions the block", "<analysis>\nWhat goes into <summary> … </summary>?\n</analysis>\n<summary>\nThis.\n</summary>", "This.", true},
		{"an analysis that mentions its own end", "<analysis>\nI close with </analysis> at last.\n</analysis>\n\n<summary>\nThis.\n</summary>", "This.", true},
		{"a preamble that mentions the block", "I write a <summary> block.\n<summary>\nThis.\n</summary>", "This.", true},
		{"a summary that mentions the end of the analysis", "<summary>\nThe tag </analysis> is read.\n</summary>", "The tag </analysis> is read.", true},
		{"a summary that mentions the end of the analysis, after an analysis", "<analysis>\nhm\n</analysis>\n<summary>\nThe tag </analysis> is read.\n</summary>", "The tag </analysis> is read.", true},
		{"a summary that mentions the end of the analysis, after an analysis that is not closed", "<analysis>\nhm\n<summary>\nThe tag </analysis> is read.\n</summary>", "The tag </analysis> is read.", true},
		{"an answer without any block that mentions the end of the analysis", "The tag </analysis> is what the reader looks for.", "The tag </analysis> is what the reader looks for.", false},
		{"a summary that mentions the block", "<summary>\nA `<summary>` is closed by `</summary>` here.\nSo.\n</summary>", "A `<summary>` is closed by `</summary>` here.\nSo.", true},
		{"a summary that mentions its start", "<summary>\nA `<summary>` is opened.\n</summary>", "A `<summary>` is opened.", true},
		{"a block with HTML in it", "<summary>\n<details><summary>x</summary>y</details>\n</summary>", "<details><summary>x</summary>y</details>", true},
		{"a block with HTML in it that is not closed", "<summary>\n<details><summary>x</summary>y</details>\nz", "<details><summary>x</summary>y</details>\nz", true},
		{"a block in a block", "<summary>\n<summary>\nThis.\n</summary>\n</summary>", "This.", true},
		{"an end before the start", "</summary>\n<summary>\nThis.\n</summary>", "This.", true},
		{"Windows line ends", "<analysis>\r\nhm\r\n</analysis>\r\n<summary>\r\nThis.\r\n</summary>\r\n", "This.", true},
		{"a block in capitals", "<Analysis>\nhm\n</Analysis>\n<SUMMARY>\nThis.\n</SUMMARY>", "This.", true},
		{"a block with attributes", "<summary lang=\"en\" >\nThis, with a <summary-of-tests>.\n</summary>", "This, with a <summary-of-tests>.", true},
		{"an unclosed analysis has no summary", "<analysis>\na", "", false},
		{"an analysis alone has no summary", "<analysis>\na\n</analysis>\n", "", false},
	} {
		got, open, _ := judge.Read(c.text, "summary")
		require.Equal(t, c.want, got, c.rule)
		require.Equal(t, c.open, open, c.rule)
	}
}
