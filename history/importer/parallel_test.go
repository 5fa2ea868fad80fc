package importer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/growth"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

func TestManyParallelCallsAreImportedInLinearTime(t *testing.T) {
	growth.Check(t, extremes.All(), func(calls int) {
		var ids []string
		lines := []string{userLine, ""}
		for i := range calls {
			ids = append(ids, fmt.Sprint("c", i))
			lines = append(lines, resultLine(ids[i]))
		}
		slices.Reverse(lines[2:])
		lines[1] = callLine(ids...)
		s, notes := imported(t, lines)
		require.Empty(t, notes)
		require.Empty(t, sessiontest.View(t, s).Turns[0].Rounds[0].Aborted())
	})
}
