package compacttest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/sizing"
)

// WindowTools is the size of the tools in [Windows], in tokens.
const WindowTools = 10_000

// Window is a model's window with the budget that [sizing.Window] computes for an answer and [WindowTools], in tokens.
type Window struct{ Tokens, Answer, Budget int }

// Windows returns windows from 32,000 to a million tokens, with answers from 4,000 to 64,000, at most half of the window.
func Windows(t testing.TB) (list []Window) {
	for _, tokens := range []int{32_000, 64_000, 128_000, 200_000, 400_000, 1_000_000} {
		for _, answer := range []int{4_000, 16_000, 32_000, 64_000} {
			if answer <= tokens/2 {
				budget, err := sizing.Window{Tokens: tokens, Answer: answer}.Budget(WindowTools)
				require.NoError(t, err)
				list = append(list, Window{tokens, answer, budget})
			}
		}
	}
	return list
}
