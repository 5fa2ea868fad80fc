// Package statements tests what is known of a system, statement by statement. Beside each stand mutations of the code that
// must make its check fail; the program in internal/mutants applies them all.
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

// Statement is one thing that is known of a system.
type Statement struct {
	// Says it in short form.
	Says string
	// Check drives the system and asserts the statement.
	Check func(t *testing.T)
	// Mutants make the check fail, each by itself. There is one at least.
	Mutants []Mutant
}

// Mutant is a mutation of the code: Old, which stands exactly once in a file, becomes New.
type Mutant struct {
	// File by its path from the module's root.
	File     string
	Old, New string
}

// Change returns the mutation of a file.
func Change(file, old, new string) Mutant { return Mutant{File: file, Old: old, New: new} }

// Listed is a statement's mutants as [Run] writes them for the program in internal/mutants.
type Listed struct {
	Says    string
	Mutants []Mutant
}

// Environment variables by which the program in internal/mutants has statements listed in a file, and has the one of a number
// (from 0 on) checked alone.
const (
	ListEnv = "PROMPTREE_LIST_STATEMENTS"
	OnlyEnv = "PROMPTREE_STATEMENT"
)

// Run checks all statements, and that each mutation can be applied.
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
			require.False(t, said[s.Says], "it is stated twice")
			said[s.Says] = true
			require.NotEmpty(t, s.Mutants, "no mutation of the code makes it fail")
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

// root returns the folder of the module, which is that of the test or one above.
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
