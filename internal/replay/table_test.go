package replay

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/golden"
)

// generatedSession is a long session that its own agent compacted twice.
const generatedSession = "../../history/importer/testdata/generated.jsonl"

func TestTablesForPeople(t *testing.T) {
	for name, args := range map[string][]string{
		"48000":   {"-window", "48000"},
		"64000":   {"-window", "64000", "-policy", "stagewise"},
		"dollars": {"-window", "64000", "-policy", "copilot-chat", "-prices", "claude-opus-4-5", "-ttl", "10m", "-summary-prices", "claude-haiku-4-5"},
		"carry":   {"-window", "64000", "-policy", "stagewise", "-prices", "claude-opus-4-5", "-ttl", "10m", "-carry", "0.5"},
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
