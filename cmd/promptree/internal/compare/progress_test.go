package compare

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgressIsShownOnATerminalOnly(t *testing.T) {
	require.Nil(t, newProgress(&bytes.Buffer{}))
	f, err := os.Create(t.TempDir() + "/log")
	require.NoError(t, err)
	defer f.Close()
	require.Nil(t, newProgress(f))
}

func TestProgressIsABarOverAllReplaysFromTheSecondSecondOn(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, begun: time.Now(), all: 40}
	p.at("frugal", 0, 20)
	p.at("frugal", 10, 20)
	require.Empty(t, b.String())
	p.begun = time.Now().Add(-10 * time.Second)
	p.at("frugal", 10, 20)
	require.Contains(t, b.String(), "[######..................]  25%, 30s left: frugal, request 10 of 20")
	p.at("stagewise", 0, 20)
	p.at("stagewise", 20, 20)
	require.Contains(t, b.String(), "[########################] 100%, 0s left: stagewise, request 20 of 20")
	p.clear()
	require.True(t, strings.HasSuffix(b.String(), "\r\x1b[K"))
}
