package checksum_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/checksum"
)

func TestALineEndsInItsChecksum(t *testing.T) {
	// The check value of CRC-32C is e3069283, for "123456789".
	require.Equal(t, `123456789,"crc":"e3069283"}`, string(checksum.Add([]byte("123456789}"))))
	line := checksum.Add([]byte(`{"id":"a"}`))
	require.NoError(t, checksum.Check(line))
	require.NoError(t, checksum.Check(append(bytes.Clone(line), "   "...)), "an erased line is filled with spaces")
	require.Equal(t, `{"id":"a"}`, string(checksum.Cut(append(bytes.Clone(line), ' '))))
	require.ErrorIs(t, checksum.Check([]byte(`{"id":"a"}`)), checksum.ErrNone)
	require.ErrorIs(t, checksum.Check([]byte(`{"id":"a","crc":"00000000"}`)), checksum.ErrWrong)
	require.ErrorIs(t, checksum.Check(nil), checksum.ErrNone)
}

func TestEachFlippedBitOfALineIsFound(t *testing.T) {
	line := append(checksum.Add([]byte(`{"type":"message","id":"a","message":{"role":"user"}}`)), ' ')
	for i := range len(line) * 8 {
		flipped := bytes.Clone(line)
		flipped[i/8] ^= 1 << (i % 8)
		require.Error(t, checksum.Check(flipped), "%s", flipped)
	}
}
