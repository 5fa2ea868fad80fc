package compare

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgressIsShownOnATerminalOnly(t *testing.T) {
	require.Nil(t, newProgress(&bytes.Buffer{}))
	f, err := os.Create(t.TempDir() + "/log")
	require.NoError(t, err)
	defer f.Close()
	require.Nil(t, newProgress(f))
}
