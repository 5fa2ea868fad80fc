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
		name, statement string
		prints          []string
		err             string
	}{
		{"all are noticed", "doubled", []string{"1 of 1 mutations are noticed"}, ""},
		{"one is not", "weak", []string{`"which a weak check does not notice": the check does not notice it`, "- 2 * n", "+ 3 * n", "0 of 1"}, "1 mutations"},
		{"one does not compile", "compile", []string{"it does not compile", "0 of 1"}, "1 mutations"},
		{"there are none", "nobody says this", nil, "no such statements"},
	} {
		t.Run(c.name, func(t *testing.T) {
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
	require.ErrorContains(t, run(t.Context(), &program.Folders{}, &bytes.Buffer{}, nil, "", false), "no packages")
	require.ErrorContains(t, run(t.Context(), &program.Folders{}, &bytes.Buffer{}, []string{"./nowhere"}, "", false), "go list")
}
