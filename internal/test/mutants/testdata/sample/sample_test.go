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
		statements.That("a number is doubled", func(t *testing.T) { require.Equal(t, 4, sample.Double(2)) }, statements.Change(file, "2 * n", "3 * n")),
		statements.That("a weak check does not notice a mutation", func(t *testing.T) { require.Zero(t, sample.Double(0)) }, statements.Change(file, "2 * n", "3 * n")),
		statements.That("a mutation does not compile", func(t *testing.T) { require.Equal(t, 4, sample.Double(2)) }, statements.Change(file, "2 * n", "2 *")),
	})
}
