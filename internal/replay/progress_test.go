package replay

import (
	"bytes"
	"os"
	"testing"
	"testing/synctest"
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

func TestProgressIsOneLineThatIsNotWrittenTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := &progress{w: &b, every: 100 * time.Millisecond}
		p.clear() // there is no line yet
		r := &Run{Policy: "p", RequestsIn: 9}
		p.at(r, 1)
		p.at(r, 2) // too soon
		time.Sleep(100 * time.Millisecond)
		p.at(r, 3)
		p.clear()
		p.clear()
		require.Equal(t, "\r\x1b[Kp: request 1 of 9\r\x1b[Kp: request 3 of 9\r\x1b[K", b.String())
	})
}
