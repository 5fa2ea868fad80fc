package checkpoints_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize/checkpoints"
)

func TestATitleIsEscapedInItsLine(t *testing.T) {
	for _, c := range []struct{ rule, title, want, listed string }{
		{"it does not end its link", `x](http://e) \`, `x](http://e) \`, `1. [x\](http://e) \\](001-x-http-e.md)`},
		{"it does not hide later text", "<!-- `a", "<!-- `a", "1. [\\<!-- \\`a](001-a.md)"},
		{"it is one line", "a\n2. [b](c)\u2028d", "a 2. [b](c)\\u2028d", `1. [a 2. \[b\](c)\\u2028d](001-a-2-b-c-u2028d.md)`},
		{"control characters are visible", "a\u202eb\x1b[2Jc", `a\u202eb\u001b[2Jc`, `1. [a\\u202eb\\u001b\[2Jc](001-a-u202eb-u001b-2jc.md)`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			folder := &checkpoints.Folder{Dir: t.TempDir()}
			require.Equal(t, c.want, added(t, folder, &history.Session{}, "e1-->\n# x", c.title, "Whole.").Title)
			list := listed(t, folder)
			require.Len(t, list, 1)
			require.Equal(t, c.want, list[0].Title)
			require.Contains(t, strings.Split(sure.Content(t, filepath.Join(folder.Dir, "index.md")), "\n"), c.listed)
		})
	}
}

// FuzzList lists and adds checkpoints in a folder that holds an arbitrary file.
func FuzzList(f *testing.F) {
	f.Add("001-a.md", []byte("# A\n\n<!-- compaction e1 -->\n\nWhole.\n"))
	f.Add("999999999-a) <x.md", []byte("# "))
	f.Add("002-\u202e.md", []byte("\xff\x00\n<!-- compaction "))
	f.Add("index.md", []byte("# Mine\n"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		folder := &checkpoints.Folder{Dir: t.TempDir()}
		path := filepath.Join(folder.Dir, name)
		if name != filepath.Base(path) || os.WriteFile(path, data, 0o600) != nil {
			t.Skip("the file system does not allow this name")
		}
		before := listed(t, folder)
		point, err := folder.Add(t.Context(), &history.Session{}, "e9", "Title", "Whole.")
		if err != nil && point == (checkpoints.Checkpoint{}) {
			return // a foreign file is in the way, or no number is left
		}
		after, listErr := folder.List()
		require.NoError(t, listErr)
		require.Equal(t, append(before, point), after)
		if name != "index.md" {
			require.Equal(t, string(data), sure.Content(t, path), "the file is unchanged")
		}
		if err == nil {
			require.Len(t, indexLine.FindAllString(sure.Content(t, filepath.Join(folder.Dir, "index.md")), -1), len(after), "each checkpoint has a line, and nothing else")
		}
	})
}

// indexLine matches a line of the index.
var indexLine = regexp.MustCompile(`(?m)^\d+\. \[`)
