package rendertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func TestABenchmarkReportsWhatIsKeptAndCounted(t *testing.T) {
	t.Parallel()
	prompt := el.User(el.Text("a text that goes, of some tokens", el.Priority(1)), el.Text("and what stays"))
	for _, options := range []render.Options{{Budget: 12, Tokenizer: tiktoken.O200k()}, {Budget: 12, Tokenizer: sizingtest.Quarter{}}} {
		want, err := render.Render(t.Context(), prompt, options)
		require.NoError(t, err)
		require.Len(t, want.Report().Dropped(), 1)
		result := testing.Benchmark(func(b *testing.B) { measure(b, prompt, options) })
		require.Equal(t, float64(want.Tokens), result.Extra["tokens-kept"])
		require.GreaterOrEqual(t, result.Extra["tokens-counted"], float64(want.Tokens)-4)
		require.Positive(t, result.AllocsPerOp())
		require.Positive(t, result.N)
	}
}

func TestABenchmarkWithoutBudgetsFails(t *testing.T) {
	ended := true
	testing.Benchmark(func(b *testing.B) {
		Benchmark(b, el.User(el.Text("a")), render.Options{Budget: 12, Tokenizer: tiktoken.O200k()})
		ended = false
	})
	require.True(t, ended)
}
