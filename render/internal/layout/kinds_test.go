package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lists have no kind of their own: flatten takes them apart.
var lists = []string{"Nodes", "WithPriority"}

func TestEveryElementHasAKind(t *testing.T) {
	known := append(lists, casesOf(t, "kinds.go", "builtinOf")...)
	for _, name := range rendering(t, "../../../elements") {
		require.Contains(t, known, name, "elements.%s has no case in builtinOf", name)
	}
}

// casesOf returns the types of package elements that a type switch in a function has a case for.
func casesOf(t *testing.T, file, function string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); !ok || d.Name.Name != function {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			clause, ok := n.(*ast.CaseClause)
			if !ok {
				return true
			}
			for _, e := range clause.List {
				if s, ok := indirect(e).(*ast.SelectorExpr); ok {
					names = append(names, s.Sel.Name)
				} else if i, ok := e.(*ast.Ident); ok && i.Name == "metadataElement" {
					names = append(names, "Meta")
				}
			}
			return true
		})
	}
	require.NotEmpty(t, names)
	return names
}

// rendering returns the types of a package that have a Render method.
func rendering(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if matched, _ := filepath.Match("*_test.go", filepath.Base(file)); matched {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || d.Recv == nil || d.Name.Name != "Render" {
				continue
			}
			receiver := indirect(d.Recv.List[0].Type)
			if generic, ok := receiver.(*ast.IndexExpr); ok {
				receiver = generic.X
			}
			names = append(names, receiver.(*ast.Ident).Name)
		}
	}
	require.NotEmpty(t, names)
	return names
}

func indirect(e ast.Expr) ast.Expr {
	if star, ok := e.(*ast.StarExpr); ok {
		return star.X
	}
	return e
}
