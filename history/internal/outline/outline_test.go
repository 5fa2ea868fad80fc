package outline

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// The golden files have what stands for each text at a few limits.
func TestOutlinesOfRealTextsStayAsTheyAre(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.*")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		if filepath.Ext(path) == ".golden" {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			var got strings.Builder
			for _, limit := range []int{200, 700, 2000} {
				outline, ok := Of(string(text), limit)
				require.True(t, ok)
				require.LessOrEqual(t, len(outline), limit)
				fmt.Fprintf(&got, "%d bytes of %d within %d\n%s\n\n", len(outline), len(text), limit, outline)
			}
			golden := path + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(string(want), got.String()))
		})
	}
}
