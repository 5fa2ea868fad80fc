package promptree_test

import (
	"go/ast"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
)

const module = "github.com/promptree-go/promptree"

// imports lists, by folder, the folders of this module that packages in it may import, besides the folder itself. The
// longest path of a package applies. What a package imports through packages below internal counts as its own.
var imports = map[string][]string{
	"elements/chat":       {},
	"sizing":              {"elements/chat"},
	"elements":            {"elements/chat"},
	"render":              {"elements", "sizing"},
	"history":             {"elements", "sizing"},
	"history/entry":       {"elements/chat", "sizing", "history/storage", "history/internal/sendable"},
	"history/storage":     {},
	"history/recall":      {"elements/chat", "history"},
	"history/historytest": {"elements/chat", "history"},
	"sources":             {"elements", "history"},
	"summarize":           {"elements", "sizing", "render", "history"},

	"history/internal/sendable":     {"elements/chat"},
	"summarize/policy":              {"elements", "sizing", "history"},
	"summarize/prompts":             {"elements", "sizing", "history", "summarize/policy", "summarize/internal/breadcrumb"},
	"summarize/internal/breadcrumb": {"elements", "history", "summarize/policy"},
	"summarize/a3s":                 ofAProduct,
	"summarize/copilotchat":         ofAProduct,
	"summarize/copilotcli":          ofAProduct,
	"summarize/frugal":              ofAProduct,
	"summarize/ohmypi":              ofAProduct,
	"summarize/stagewise":           ofAProduct,

	"internal":           {"elements/chat"},
	"internal/textblock": {"elements"},
	"internal/numbered":  {"history"},
	"internal/program":   {},
	"internal/test":      {"elements", "sizing", "render", "history", "summarize", "internal/program"},

	"cmd":      {"elements", "sizing", "render", "history", "summarize", "internal/program"},
	"bench":    {"elements", "sizing", "render", "history", "summarize", "internal/program"},
	"examples": {"elements", "sizing", "render", "history", "sources", "summarize"},
}

// ofAProduct lists what the package of a product may import: nothing of the engine.
var ofAProduct = []string{"elements", "sizing", "history", "summarize/policy", "summarize/prompts"}

// forbidden lists imports that are forbidden although their paths would allow them.
var forbidden = map[string]*regexp.Regexp{
	"elements": regexp.MustCompile(`^elements/el`),
	"history":  regexp.MustCompile(`^history/(importer|historytest|recall)`),
	"sizing":   regexp.MustCompile(`^sizing/`),
}

// stages lists the packages of a render, and those of a compaction. Of the packages below its first word, each imports
// only those before it.
var stages = [][]string{
	{
		"render/internal/tree", "render/internal/join", "render/internal/count", "render/internal/order", "render/internal/guard",
		"render/internal/transfer", "render/internal/layout", "render",
	},
	{
		"summarize/internal/trim",
		"summarize/policy", "summarize/internal/breadcrumb", "summarize/prompts", "summarize/internal/judge", "summarize/checkpoints", "summarize/internal/failure", "summarize/internal/guard", "summarize/internal/index", "summarize/event",
		"summarize/internal/journal", "summarize/internal/plan", "summarize/internal/write", "summarize/internal/place", "summarize",
	},
}

func TestImportsRunOneWay(t *testing.T) {
	packages, seen := packagesOfThisModule(t), map[string]bool{}
	for from := range packages {
		group := groupOf(from)
		seen[group] = true
		for _, to := range reached(packages, from) {
			allowed := slices.ContainsFunc(append(imports[group], group), func(path string) bool { return below(to, path) })
			require.True(t, allowed, "%s imports %s, itself or through packages below internal", from, to)
			if not := forbidden[from]; not != nil {
				require.NotRegexp(t, not, to, "%s imports it", from)
			}
			for _, list := range stages {
				if top := list[len(list)-1]; slices.Contains(list, from) && below(to, top) {
					require.Contains(t, list[:slices.Index(list, from)], to, "%s imports %s", from, to)
				}
			}
		}
	}
	require.Len(t, seen, len(imports))
	for _, product := range packages["summarize/policies"] {
		require.Contains(t, imports, product, "a policy imports nothing of the engine: its row says so")
	}
}

// Folders are those of imports, and each folder in internal.
func TestNoTwoFoldersImportEachOther(t *testing.T) {
	arrows := map[string]map[string]bool{}
	for from, list := range packagesOfThisModule(t) {
		folder := folderOf(from)
		if arrows[folder] == nil {
			arrows[folder] = map[string]bool{}
		}
		for _, to := range list {
			if to := folderOf(to); to != folder {
				arrows[folder][to] = true
			}
		}
	}
	for removed := true; removed; { // folders that import none of the rest
		removed = false
		for folder, to := range arrows {
			if len(to) == 0 {
				removed = true
				delete(arrows, folder)
				for _, to := range arrows {
					delete(to, folder)
				}
			}
		}
	}
	require.Empty(t, arrows, "these import each other")
}

// packagesOfThisModule returns, for the path of each package of this module within it, the paths that it imports, tests
// left out.
func packagesOfThisModule(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...").Output()
	require.NoError(t, err)
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		from, ours := ourPath(names[0])
		if !ours {
			continue
		}
		packages[from] = []string{}
		for _, name := range names[1:] {
			if to, ours := ourPath(name); ours {
				packages[from] = append(packages[from], to)
			}
		}
	}
	return packages
}

// reached lists what a package imports. Packages below internal stand for what they import in turn, unless they are only
// for programs or tests.
func reached(packages map[string][]string, from string) (list []string) {
	for _, to := range packages[from] {
		switch {
		case !below(to, "internal"), below(to, "internal/program"), below(to, "internal/test"):
			list = append(list, to)
		default:
			list = append(list, reached(packages, to)...)
		}
	}
	return list
}

// folderOf returns the folder of a package: each folder in internal by itself, else its [groupOf].
func folderOf(path string) string {
	if rest, inside := strings.CutPrefix(path, "internal/"); inside {
		folder, _, _ := strings.Cut(rest, "/")
		return "internal/" + folder
	}
	return groupOf(path)
}

func TestOnlyTheJournalOfTheEngineOfCompactionWritesToASession(t *testing.T) {
	writes := regexp.MustCompile(`\b\w*[sS]ession\.(Add|Append|Branch|Erase|Redo|Undo)\(`)
	engine, seen := stages[1], 0
	for _, dir := range engine {
		files, err := filepath.Glob(filepath.FromSlash(dir) + "/*.go")
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "doc.go" {
				continue
			}
			if found := writes.FindString(string(sure.Read(t, file))); strings.HasSuffix(dir, "/journal") {
				seen += len(found)
			} else {
				require.Empty(t, found, file)
			}
		}
	}
	require.Positive(t, seen)
}

// A program that a user copies can import nothing internal.
func TestExamplesImportNothingInternal(t *testing.T) {
	quoted := regexp.MustCompile(`"github\.com/promptree-go/promptree/[^"]*"`)
	seen := 0
	for path, source := range sources(t, "examples", false) {
		require.NotContains(t, path, "/internal/")
		for _, name := range quoted.FindAllString(source, -1) {
			seen++
			require.NotContains(t, name, "internal", path)
		}
	}
	require.Greater(t, seen, 50)
}

// ourPath returns the path of a package within the module, and whether it belongs to the module.
func ourPath(name string) (string, bool) {
	path, ok := strings.CutPrefix(name, module+"/")
	return path, ok
}

func groupOf(path string) (longest string) {
	for group := range imports {
		if below(path, group) && len(group) > len(longest) {
			longest = group
		}
	}
	return longest
}

func below(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

func TestEachPromiseOfSecurityNamesATest(t *testing.T) {
	_, promised, _ := strings.Cut(string(sure.Read(t, "SECURITY.md")), "## What is promised\n")
	promised, _, _ = strings.Cut(promised, "\n## ")
	promises := strings.Split(promised, "\n- **")[1:]
	require.Greater(t, len(promises), 10)
	for _, promise := range promises {
		require.Regexp(t, "`Test\\w+`", promise)
	}
}

func TestPagesForMaintainersNameExistingFilesAndTests(t *testing.T) {
	all := strings.Join(slices.Collect(maps.Values(sources(t, ".", true))), "")
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/promises.md"} {
		text := sure.Read(t, page)
		var tests []string
		for _, quoted := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(text), -1) {
			for word := range strings.FieldsSeq(quoted[1]) {
				switch path := strings.TrimSuffix(strings.TrimPrefix(word, "./"), "/..."); {
				case strings.Contains(word, "NAME"), strings.Contains(word, "://"), strings.HasPrefix(word, "../"):
				case regexp.MustCompile(`^Test\w+$`).MatchString(word):
					tests = append(tests, word)
				case strings.Contains(path, "/") && regexp.MustCompile(`^[\w./-]+$`).MatchString(path), regexp.MustCompile(`\.(md|go|work)$`).MatchString(path):
					if _, err := os.Stat(path); err != nil && !found(path) {
						t.Errorf("%s names %s, which does not exist", page, word)
					}
				}
			}
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)`).FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), link[1]))
			require.NoError(t, err, "%s links to it", page)
		}
		for _, name := range tests {
			require.Contains(t, all, "func "+name+"(", "%s names it", page)
		}
	}
}

// What a recipe or a table names in a file is there: "`Name` in `file`", "`file`: `Name`".
func TestPagesForMaintainersNameWhatTheFilesHold(t *testing.T) {
	seen := 0
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "docs/promises.md"} {
		text := sure.Read(t, page)
		for _, form := range []string{"(?P<names>(?:`[\\w.]+`(?:, | and )?)+)\\s+(?:in|\\()\\s*`(?P<file>[\\w./-]+\\.go)`", "`(?P<file>[\\w./-]+\\.go)`: (?P<names>(?:`[\\w.]+`(?:, | and )?)+)"} {
			in := regexp.MustCompile(form)
			for _, match := range in.FindAllStringSubmatch(string(text), -1) {
				source, err := os.ReadFile(match[in.SubexpIndex("file")])
				require.NoError(t, err, "%s: %s", page, match[0])
				for _, name := range regexp.MustCompile(`[\w.]+`).FindAllString(match[in.SubexpIndex("names")], -1) {
					if strings.HasSuffix(name, ".go") {
						continue
					}
					seen++
					require.Regexp(t, `\b`+name[strings.LastIndex(name, ".")+1:]+`\b`, string(source), "%s says that %s has %s", page, match[in.SubexpIndex("file")], name)
				}
			}
		}
	}
	require.Greater(t, seen, 15)
}

func TestTheMapHasEachFolder(t *testing.T) {
	page := sure.Read(t, "ARCHITECTURE.md")
	_, rest, _ := strings.Cut(string(page), "## The map\n")
	lines, _, _ := strings.Cut(rest, "\n## ")
	text := strings.Replace(string(page), lines, "", 1)
	before, questions, _ := strings.Cut(text, "\n| you ask")
	require.LessOrEqual(t, strings.Count(questions, "\n| "), 20, "questions")
	require.LessOrEqual(t, len(strings.Fields(before)), 1200, "words without the map and the table of questions")
	said := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^    ([\w/-]+)  +(.+)$`).FindAllStringSubmatch(lines, -1) {
		said[line[1]] = line[2]
		require.LessOrEqual(t, len(strings.Fields(line[2])), 10, line[1])
		require.DirExists(t, line[1])
	}
	for file := range sources(t, ".", false) {
		dir := path.Dir(file)
		if below(dir, "internal/test") {
			dir = "internal/test"
		}
		if dir != "." && !strings.Contains(dir, "testdata") && !strings.HasPrefix(dir, "examples/adk/") {
			require.NotEmpty(t, said[dir], "%s has no line in the map", dir)
		}
	}
}

func TestThePageOfElementsListsEachElement(t *testing.T) {
	page := parsed(t, "elements/doc.go").Doc.Text()
	kinds := sure.Read(t, "render/internal/layout/kinds.go")
	seen := 0
	for _, found := range regexp.MustCompile(`case elements\.(\w+):`).FindAllStringSubmatch(string(kinds), -1) {
		seen++
		require.Regexp(t, `\b`+found[1]+`\b`, page)
	}
	require.Greater(t, seen, 15)
}

func TestEachSourceIsTriedWithTextsAndListsOfOthers(t *testing.T) {
	for _, page := range []string{"border_test.go", "growth_unix_test.go"} {
		tried, seen := string(sure.Read(t, page)), 0
		for path := range packagesOfThisModule(t) {
			if below(path, "sources") && !strings.Contains(path, "/internal/") {
				seen++
				require.Contains(t, tried, module+"/"+path, page)
			}
		}
		require.GreaterOrEqual(t, seen, 3)
	}
}

// Names of packages, types, fields and functions that a page quotes are declared in some package that a user can import.
func TestPagesForUsersNameWhatIsDeclared(t *testing.T) {
	declares, known := regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |const |var |\t)(\w+(?:, \w+)*)`), map[string]bool{}
	for file, source := range sources(t, ".", false) {
		if strings.Contains(file, "internal/") {
			continue
		}
		known[path.Base(path.Dir(file))] = true
		for _, names := range declares.FindAllStringSubmatch(source, -1) {
			for name := range strings.SplitSeq(names[1], ", ") {
				known[name] = true
			}
		}
	}
	for _, page := range []string{"README.md", "CHANGELOG.md", "docs/providers.md", "docs/replay.md"} {
		for _, quoted := range regexp.MustCompile("`&?(?:(?:[a-z]\\w+\\.)?[A-Z]\\w*[a-z]\\w*(?:\\.[A-Z]\\w*)*)`").FindAllString(string(sure.Read(t, page)), -1) {
			for name := range strings.SplitSeq(strings.Trim(quoted, "`&"), ".") {
				require.True(t, known[name], "%s names %s: %s", page, quoted, name)
			}
		}
	}
}

// found reports whether a path without a folder, such as doc.go, names a file in any folder.
func found(path string) bool {
	if strings.Contains(path, "/") {
		return false
	}
	some := false
	_ = filepath.WalkDir(".", func(_ string, d os.DirEntry, err error) error {
		some = some || err == nil && d.Name() == path
		return nil
	})
	return some
}

// sources returns the Go files below a folder by their paths: those of tests, or the others.
func sources(t *testing.T, dir string, tests bool) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && strings.HasSuffix(path, "_test.go") == tests {
			found[filepath.ToSlash(path)] = sure.Content(t, path)
		}
		return err
	}))
	return found
}

// This also holds for an error that is declared in an internal package.
func TestSentinelsBeginWithTheirPackage(t *testing.T) {
	sentinel := regexp.MustCompile(`(?m)^(?:var|\t)\s*(Err\w+)\s+= errors\.New\("([^"]+)"\)`)
	seen := 0
	for file, source := range sources(t, ".", false) {
		public, _, _ := strings.Cut(path.Dir(file), "/internal/")
		if strings.HasPrefix(public, "internal/") || strings.HasPrefix(public, "examples") {
			continue
		}
		for _, found := range sentinel.FindAllStringSubmatch(source, -1) {
			seen++
			require.True(t, strings.HasPrefix(found[2], path.Base(public)+": "), "%s: %s is %q", file, found[1], found[2])
		}
	}
	require.Greater(t, seen, 30)
}

// What an error says is not set, or is to be set, is a field or method of a type of its package, of one that this imports, or
// of the one around an internal one.
func TestErrorsNameFieldsThatAreDeclared(t *testing.T) {
	said, near, fields := map[string][]string{}, map[string][]string{}, map[string]bool{} // by folder; "folder/Type.Field"
	for file := range sources(t, ".", false) {
		dir := path.Dir(file)
		public, _, _ := strings.Cut(dir, "/internal/")
		near[dir] = append(near[dir], dir, public)
		ast.Inspect(parsed(t, file), func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				to, _ := ourPath(strings.Trim(n.Path.Value, `"`))
				near[dir] = append(near[dir], to)
			case *ast.TypeSpec:
				ast.Inspect(n.Type, func(in ast.Node) bool {
					if f, ok := in.(*ast.Field); ok {
						for _, name := range append(f.Names, &ast.Ident{Name: strings.TrimLeft(path.Ext(types.ExprString(f.Type)), ".")}) {
							fields[dir+"/"+n.Name.Name+"."+name.Name] = true
						}
					}
					return true
				})
			case *ast.FuncDecl:
				if n.Recv != nil {
					fields[dir+"/"+strings.TrimLeft(types.ExprString(n.Recv.List[0].Type), "*")+"."+n.Name.Name] = true
				}
			case *ast.BasicLit:
				if text := strings.Trim(n.Value, "`\""); regexp.MustCompile(`^[a-z]+: `).MatchString(text) {
					for _, name := range regexp.MustCompile(`(?:^|[^\w.])([A-Z]\w+\.[A-Z]\w+)`).FindAllStringSubmatch(text, -1) {
						said[dir] = append(said[dir], name[1])
					}
				}
			}
			return true
		})
	}
	require.Greater(t, len(said), 20)
	for dir, names := range said {
		for _, name := range names {
			known := slices.ContainsFunc(near[dir], func(from string) bool { return fields[from+"/"+name] })
			require.True(t, known, "%s: an error names %s", dir, name)
		}
	}
}
