// Package statements tests statements about a system whose policy we implement. Each statement has mutations of the
// code that must make its check fail; the program in internal/mutants applies them all.
package statements

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Statement is a known fact about a system.
type Statement struct {
	// Says is the statement in short form.
	Says string
	// Check tests the statement.
	Check func(t *testing.T)
	// Mutants each make the check fail. There is at least one.
	Mutants []Mutant
}

// Mutant is a mutation of the code: Old, which occurs exactly once in a file, becomes New.
type Mutant struct {
	// File is a path from the module's root.
	File     string
	Old, New string
}

// Change returns a mutation of a file.
func Change(file, old, new string) Mutant { return Mutant{File: file, Old: old, New: new} }

// Listed is a statement as [Run] writes it for the program in internal/mutants.
type Listed struct {
	Says    string
	Mutants []Mutant
}

// Environment variables that the program in internal/mutants sets: the file into which [Run] lists the statements, and
// the index of the only statement that it checks.
const (
	ListEnv = "PROMPTREE_LIST_STATEMENTS"
	OnlyEnv = "PROMPTREE_STATEMENT"
)

// Run checks all statements, and that all mutations can be applied.
func Run(t *testing.T, all []Statement) {
	if file := os.Getenv(ListEnv); file != "" {
		list := make([]Listed, len(all))
		for i, s := range all {
			list[i] = Listed{s.Says, s.Mutants}
		}
		data, err := json.Marshal(list)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, data, 0o600))
		return
	}
	if only := os.Getenv(OnlyEnv); only != "" {
		n, err := strconv.Atoi(only)
		require.NoError(t, err)
		all[n].Check(t)
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
				code, err := os.ReadFile(filepath.Join(dir, m.File))
				require.NoError(t, err)
				require.Equal(t, 1, strings.Count(string(code), m.Old), "%s: %s", m.File, m.Old)
				require.NotEqual(t, m.Old, m.New)
			}
			s.Check(t)
		})
	}
}

// root returns the folder of the module that the test is in.
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
