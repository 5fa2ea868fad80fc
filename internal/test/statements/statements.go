// Package statements tests statements about other agents whose compaction policies this module implements. A statement
// has a check, and mutations of our code that must make the check fail. The command internal/test/mutants applies them.
package statements

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
)

// Statement is a fact about the policy of another agent, with a test that our implementation agrees.
type Statement struct {
	// Says states the fact in a sentence, which is also the name of the subtest. It is unique in its package.
	Says string
	// Check fails if our implementation disagrees. It runs in a bubble of package synctest, in which time is virtual.
	Check func(t *testing.T)
	// Mutants holds at least one mutation. Check must fail under each of them.
	Mutants []Mutant
}

// Mutant is a mutation of our code: it replaces Old, which must occur exactly once in File, with New.
type Mutant struct {
	// File is the path of a file from the root of the module.
	File     string
	Old, New string
}

// That returns the statement that is said by a sentence, with its check and mutations.
func That(says string, check func(t *testing.T), mutants ...Mutant) Statement {
	return Statement{Says: says, Check: check, Mutants: mutants}
}

// Change returns the mutation of a file that replaces old with new.
func Change(file, old, new string) Mutant { return Mutant{File: file, Old: old, New: new} }

// Listed is a [Statement] without its check, as [Run] lists it for internal/test/mutants.
type Listed struct {
	Says    string
	Mutants []Mutant
}

// The environment variables that internal/test/mutants sets for [Run].
const (
	ListEnv = "PROMPTREE_LIST_STATEMENTS" // a file: Run writes the statements to it as JSON, and checks none
	OnlyEnv = "PROMPTREE_STATEMENT"       // an index: Run checks only this statement
)

// Run checks each statement in a subtest, and that each of its mutations can be applied. It does not apply them.
func Run(t *testing.T, all []Statement) {
	if file := os.Getenv(ListEnv); file != "" {
		list := make([]Listed, len(all))
		for i, s := range all {
			list[i] = Listed{s.Says, s.Mutants}
		}
		require.NoError(t, os.WriteFile(file, sure.JSON(t, list), 0o600))
		return
	}
	if only := os.Getenv(OnlyEnv); only != "" {
		n, err := strconv.Atoi(only)
		require.NoError(t, err)
		synctest.Test(t, all[n].Check)
		return
	}
	dir := root(t)
	said := map[string]bool{}
	for _, s := range all {
		t.Run(s.Says, func(t *testing.T) {
			require.False(t, said[s.Says], "the statement is a duplicate")
			said[s.Says] = true
			require.NotEmpty(t, s.Mutants, "the statement has no mutations")
			for _, m := range s.Mutants {
				require.Equal(t, 1, strings.Count(string(sure.Read(t, filepath.Join(dir, m.File))), m.Old), "%s: %s", m.File, m.Old)
				require.NotEqual(t, m.Old, m.New)
			}
			synctest.Test(t, s.Check)
		})
	}
}

// root returns the root folder of the module with the current folder.
func root(t testing.TB) string {
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		require.NotEqual(t, dir, parent, "no go.mod above the test")
		dir = parent
	}
}
