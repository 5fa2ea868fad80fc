package promptree_test

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// given declares variables for each block of code on a page.
const given = `
var (
	ctx context.Context
	session *history.Session
	layout *render.Layout
	view *history.View
	compactor *summarize.Compactor
	tokenizer chat.Tokenizer
	counter *tiktoken.Counter
	target policy.Target
	p policy.Policy
	response chat.Response
	result *render.Result
	tools []chat.Tool
	err error
)
`

// Blocks of code use existing types, fields and methods, with the right arguments. A name that a block does not declare
// may be anything.
func TestCodeOnThePagesUsesTheExistingAPI(t *testing.T) {
	exports, paths, dirs := map[string]string{}, map[string]string{}, map[string]string{}
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Export}}\t{{.Dir}}", "./...").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		field := strings.Split(strings.TrimSpace(line), "\t")
		exports[field[0]] = field[2]
		if path, ours := ourPath(field[0]); ours && !strings.Contains(path, "internal/") && !strings.Contains(path, "examples/") {
			paths[field[1]], dirs[field[0]] = field[0], field[3]
		}
	}
	for _, standard := range []string{"bufio", "context", "errors", "fmt", "log", "os", "regexp", "testing"} {
		paths[standard] = standard
	}
	fset := token.NewFileSet()
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	checked := 0
	for path, dir := range dirs {
		for _, code := range blocksOf(t, fset, dir) {
			wrong, ok := check(fset, compiled, paths, code)
			assert.Empty(t, wrong, "%s:\n%s", path, code)
			if ok {
				checked++
			}
		}
	}
	require.Greater(t, checked, 20)
}

// blocksOf returns the blocks of code on the page of the package in a folder.
func blocksOf(t *testing.T, fset *token.FileSet, dir string) (blocks []string) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range names {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.PackageClauseOnly)
		require.NoError(t, err)
		if file.Doc == nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, block := range new(comment.Parser).Parse(file.Doc.Text()).Content {
			if code, ok := block.(*comment.Code); ok {
				blocks = append(blocks, strings.ReplaceAll(code.Text, "…", ""))
			}
		}
	}
	return blocks
}

func TestLongPagesKeepTheirLimitOfWords(t *testing.T) {
	for dir, most := range map[string]int{"render": 2300, "history": 1400} {
		require.LessOrEqual(t, len(strings.Fields(parsed(t, dir+"/doc.go").Doc.Text())), most, dir)
	}
}

func TestTablesOfFieldsAreComplete(t *testing.T) {
	for name, path := range map[string]string{"Cut": "history/cut.go", "Condition": "summarize/policy/trigger.go"} {
		fields := 0
		for _, d := range parsed(t, path).Decls {
			declared, ok := d.(*ast.GenDecl)
			if !ok || declared.Tok != token.TYPE || declared.Specs[0].(*ast.TypeSpec).Name.Name != name {
				continue
			}
			for _, field := range declared.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType).Fields.List {
				fields++
				require.Regexp(t, `(?m)^\t`+field.Names[0].Name+` {2,}\S`, declared.Doc.Text(), name)
			}
		}
		require.Positive(t, fields, name)
	}
}

func parsed(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	require.NoError(t, err)
	return file
}

// harmless matches errors that come only from checking a block without the rest of its program.
var harmless = regexp.MustCompile(`^undefined: \w+$|^declared and not used|not used$|^no new variables|^missing return$|^too many return values`)

// check returns the errors in code, and whether it is Go.
func check(fset *token.FileSet, compiled types.Importer, paths map[string]string, code string) (wrong []string, ok bool) {
	for _, form := range []string{"func _() {\n%s\n}", "%s", "var _ = %s"} {
		body := given + fmt.Sprintf(form, code)
		var imports strings.Builder
		for name, path := range paths {
			if regexp.MustCompile(`\b` + name + `\.`).MatchString(body) {
				fmt.Fprintf(&imports, "import %s %q\n", name, path)
				body = regexp.MustCompile(`(?m)^\t`+name+` .*\n`).ReplaceAllString(body, "") // a given variable of that name
			}
		}
		file, err := parser.ParseFile(fset, "page.go", "package page\n"+imports.String()+body, 0)
		if err != nil {
			continue
		}
		conf := types.Config{Importer: compiled, Error: func(err error) {
			if msg := err.(types.Error).Msg; !harmless.MatchString(msg) {
				wrong = append(wrong, msg)
			}
		}}
		_, _ = conf.Check("page", fset, []*ast.File{file}, nil)
		return wrong, true
	}
	return nil, false
}
