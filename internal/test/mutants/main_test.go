package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/program"
)

func TestAMutationThatACheckSurvivesIsAnError(t *testing.T) {
	const sample = "./testdata/sample"
	for _, c := range []struct {
		rule, statement string
		prints          []string
		err             string
	}{
		{"a noticed mutation counts", "doubled", []string{"1 of 1 mutations are noticed"}, ""},
		{"a mutation that is not noticed is an error", "weak", []string{`"a weak check does not notice a mutation": the check does not notice it`, "- 2 * n", "+ 3 * n", "0 of 1"}, "1 mutations"},
		{"a mutation that does not compile is an error", "compile", []string{"it does not compile", "0 of 1"}, "1 mutations"},
		{"no statements are an error", "nobody says this", nil, "no such statements"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), &program.Folders{}, &out, []string{sample}, c.statement, false)
			for _, want := range c.prints {
				require.Contains(t, out.String(), want)
			}
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
		})
	}
	require.ErrorContains(t, run(t.Context(), &program.Folders{}, &bytes.Buffer{}, []string{"./nowhere"}, "", false), "go list")
}

func TestBadArgumentsAreErrorsOfUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"no packages": nil, "-nonsense": {"-nonsense"}, "no such statements": {"-run", "nobody says this", "./testdata/sample"},
	} {
		err := start(t.Context(), &program.Folders{}, args, &bytes.Buffer{})
		require.ErrorContains(t, err, want)
		require.ErrorAs(t, err, new(program.UsageError))
	}
}
