package outline

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/stretchr/testify/require"
)

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
			text := sure.Read(t, path)
			var got strings.Builder
			for _, limit := range []int{200, 700, 2000} {
				outline, ok := Of(string(text), limit)
				require.True(t, ok)
				require.LessOrEqual(t, len(outline), limit)
				fmt.Fprintf(&got, "%d bytes of %d within %d\n%s\n\n", len(outline), len(text), limit, outline)
			}
			golden.Equal(t, filepath.Base(path)+".golden", got.String())
		})
	}
}
