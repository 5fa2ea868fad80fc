package replay

import (
	"bytes"
	"strings"
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

func TestANumberHasCommasBetweenItsThousands(t *testing.T) {
	for give, want := range map[int]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", -1: "-1", -999: "-999", -1000: "-1,000", -123456: "-123,456",
	} {
		require.Equal(t, want, number(give))
	}
}

func TestAShareIsInPerCent(t *testing.T) {
	require.Equal(t, "-", share(0, 0))
	require.Equal(t, "0.0%", share(0, 5))
	require.Equal(t, "33.3%", share(1, 3))
	require.Equal(t, "100.0%", share(5, 5))
}

func TestAGridAlignsWordsLeftAndNumbersRight(t *testing.T) {
	var b strings.Builder
	grid{{"name", "count", "how"}, {"größe", "1,000", "full"}, {"b", "-", ""}}.write(&b)
	require.Equal(t, "name   count  how\ngröße  1,000  full\nb          -\n", b.String())
}
