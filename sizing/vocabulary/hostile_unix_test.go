//go:build unix

package vocabulary_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/regular"
	"github.com/promptree-go/promptree/internal/test/vocabularytest"
	"github.com/promptree-go/promptree/sizing/vocabulary"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "tokenizer.json")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, "/dev/zero", t.TempDir()} {
		_, err := vocabulary.Open(path)
		require.ErrorIs(t, err, regular.ErrNotRegular)
	}
}

// A hash of a long token does not cover its middle, so tokens can be made to have one place in the table.
func TestTokensThatWereMadeToHaveOnePlaceAreRefused(t *testing.T) {
	for n, refused := range map[int]bool{100: false, 20_000: true} {
		var more strings.Builder
		for i := range n {
			fmt.Fprintf(&more, `"%[1]s%06[2]d%[1]s":%[3]d,`, strings.Repeat("a", 16), i, 1000+i)
		}
		_, err := vocabulary.Read([]byte(strings.Replace(string(vocabularytest.JSON()), `"vocab":{`, `"vocab":{`+more.String(), 1)))
		if refused {
			require.ErrorAs(t, err, new(*vocabulary.UnsupportedError))
		} else {
			require.NoError(t, err)
		}
	}
}
