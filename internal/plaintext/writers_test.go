package plaintext_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/bordertest"
)

// finished lists the files that put texts between tags which they have made harmless themselves, by what they write.
var finished = map[string]string{
	"history/entry/shown.go":                      "a branch summary with its files",
	"history/recall/read.go":                      "a part of an entry, which ends with the text and not with a line",
	"internal/textblock/textblock.go":             "pieces that can be pruned",
	"render/gemini/parts.go":                      "a system message in parts",
	"sources/instructions/reading.go":             "a file with the files that it imports",
	"sources/skills/skills.go":                    "the catalogue, of lines",
	"sources/skills/load.go":                      "a part of a skill with the call that loads the next",
	"sources/tools/tools.go":                      "a definition whose schema stays JSON",
	"summarize/copilotcli/prompt.go":              "its own request",
	"summarize/copilotcli/replacement.go":         "copies of messages, and texts that are cut with a mark",
	"summarize/a3s/replacement.go":                "lines of blocks",
	"summarize/internal/breadcrumb/breadcrumb.go": "the pointer to the transcript",
	"summarize/internal/index/index.go":           "reads an index",
	"summarize/models/offline.go":                 "reads summaries",
	"summarize/models/remote.go":                  "lines of blocks",
	"summarize/ohmypi/prompt.go":                  "lists of files",
	"summarize/prompts/parts.go":                  "a list of lines, a summary with its breadcrumb, and pins, of which the planner makes the text harmless",
	"summarize/prompts/plainhistory.go":           "lines of blocks",
	"summarize/replay/recall.go":                  "reads an index",
	"summarize/stagewise/history.go":              "lines of blocks",
	"history/entry/erase.go":                      "reads an index",
}

// prose lists the files whose prompts name tags.
var prose = []string{"summarize/ohmypi/prompt.go", "summarize/stagewise/prompt.go"}

func TestTagsAreWrittenOnlyByPlaintext(t *testing.T) {
	named := regexp.MustCompile(`</?(?:` + strings.Join(bordertest.Tags, "|") + `)(?:[\s/>]|$)`)
	var writers, literals []string
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if d != nil && d.IsDir() && slices.Contains([]string{"internal/test", "internal/plaintext", "bench", "examples", ".git", "conformance"}, name) {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		imports := func(i *ast.ImportSpec) bool {
			return strings.HasSuffix(i.Path.Value, `/plaintext"`) || strings.HasSuffix(i.Path.Value, `/textblock"`)
		}
		border := slices.ContainsFunc(file.Imports, imports) || name == "internal/textblock/textblock.go"
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && named.MatchString(text) && !slices.Contains(prose, name) {
					literals = append(literals, name+": "+n.Value)
				}
			case *ast.SelectorExpr:
				written := border && (n.Sel.Name == "Holding" || n.Sel.Name == "Open" || n.Sel.Name == "Close")
				switch of := n.X.(type) {
				case *ast.SelectorExpr: // plaintext.PinnedTag.Open
					written = written && strings.HasSuffix(of.Sel.Name, "Tag")
				case *ast.Ident: // tag.Open
					written = written && of.Name == "tag" || border && of.Name == "textblock" && (n.Sel.Name == "Tagged" || n.Sel.Name == "List") ||
						of.Name == "plaintext" && n.Sel.Name == "TranscriptTag"
				default:
					written = false
				}
				if written {
					writers = append(writers, name)
				}
			}
			return true
		})
		return nil
	}))
	require.Empty(t, literals, "a tag is written by the methods of plaintext.Tag")
	slices.Sort(writers)
	require.Equal(t, slices.Sorted(maps.Keys(finished)), slices.Compact(writers), "what is put between tags is from outside (Around), or is listed here with why it is not")
}
