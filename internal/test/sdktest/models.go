// Package sdktest reads what the source of a provider's SDK names.
package sdktest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/sizing/modelinfo"
)

// KnowsModels tests that the table of sizing/modelinfo knows each model that a package of an SDK names by constants of a
// type, except those that are left out for a reason. It skips in the usual run: a new version of the SDK is no fault of a
// change.
func KnowsModels(t *testing.T, pkg, typ string, except map[string]string) {
	if !extremes.All() {
		t.Skip("the table is held against the SDK in the long run")
	}
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	require.NoError(t, err)
	var unknown []string
	named := 0
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			of, _ := spec.Type.(*ast.Ident)
			value, _ := spec.Values[0].(*ast.BasicLit)
			if of == nil || of.Name != typ || value == nil {
				return true
			}
			name, err := strconv.Unquote(value.Value)
			require.NoError(t, err)
			named++
			if m, err := modelinfo.Find(name); (err != nil || m.Guessed()) && except[name] == "" {
				unknown = append(unknown, name)
			}
			return true
		})
	}
	require.Greater(t, named, 15, "constants of type %s in %s", typ, pkg)
	require.Empty(t, unknown, "run the generator of sizing/modelinfo: see CONTRIBUTING.md")
}
