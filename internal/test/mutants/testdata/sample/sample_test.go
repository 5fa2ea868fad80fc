package sample_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/mutants/testdata/sample"
	"github.com/promptree-go/promptree/internal/test/statements"
)

func TestStatements(t *testing.T) {
	const file = "internal/test/mutants/testdata/sample/sample.go"
	statements.Run(t, []statements.Statement{
		{
			Says:    "a number is doubled",
			Check:   func(t *testing.T) { require.Equal(t, 4, sample.Double(2)) },
			Mutants: []statements.Mutant{{File: file, Old: "2 * n", New: "3 * n"}},
		},
		{
			Says:    "a weak check does not notice a mutation",
			Check:   func(t *testing.T) { require.Zero(t, sample.Double(0)) },
			Mutants: []statements.Mutant{{File: file, Old: "2 * n", New: "3 * n"}},
		},
		{
			Says:    "a mutation does not compile",
			Check:   func(t *testing.T) { require.Equal(t, 4, sample.Double(2)) },
			Mutants: []statements.Mutant{{File: file, Old: "2 * n", New: "2 *"}},
		},
	})
}
