package replay

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/golden"
)

func TestTablesForPeople(t *testing.T) {
	for name, args := range map[string][]string{
		"words":   {"-window", "64000", "-policy", "stagewise,frugal"},
		"details": {"-details", "-window", "64000", "-policy", "copilot-chat", "-summary-prices", "claude-haiku-4-5"},
		"tokens":  {"-details", "-window", "48000", "-prices", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			require.Equal(t, program.ExitOK, Main(t.Context(), append(args, generatedSession), &stdout, &stderr))
			require.Empty(t, stderr.String())
			golden.Equal(t, "generated-"+name+".golden", stdout.String())
		})
	}
}
