package callid_test

import (
	"regexp"
	"testing"
	"testing/cryptotest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/callid"
)

func TestAnIDHasAFormThatEveryProviderAccepts(t *testing.T) {
	require.Regexp(t, regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`), callid.New())
}

func TestNoIDIsMadeTwice(t *testing.T) {
	seen := map[string]bool{}
	for range 10_000 {
		seen[callid.New()] = true
	}
	require.Len(t, seen, 10_000)
}

func TestIDsAreDeterministicUnderCryptotest(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	first := callid.New()
	require.NotEqual(t, first, callid.New())
	cryptotest.SetGlobalRandom(t, 1)
	require.Equal(t, first, callid.New())
}

func TestIsNewKnowsIDsByTheirForm(t *testing.T) {
	require.True(t, callid.IsNew(callid.New()))
	for _, id := range []string{
		"", "call_", "c1", "call_abc123def456ghi789jkl012", "toolu_01A09q90qw90lq917835lq9", "chatcmpl-tool-2b9230a64b924a1b",
		"call_2b9230a64b924a1b9a65b708ff6c68b6", "functions.read:0", "call_0", "call-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	} {
		require.False(t, callid.IsNew(id), id)
	}
}
