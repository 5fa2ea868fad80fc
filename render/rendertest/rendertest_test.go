package rendertest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/rendertest"
)

var options = render.Options{Tokenizer: sizingtest.Quarter{}}

func prompt(files ...string) el.Node {
	i := 0
	return el.Prompt(
		el.System(el.Text("You are a coding agent."), elements.CacheBreakpoint{}),
		el.User(
			el.Each(files, func(source string) el.Node {
				i++
				return el.Tag("file", el.Priority(i), el.Attr("path", fmt.Sprint(i, ".go")), el.Fence("go", source))
			}),
			el.Text("What does it print?", el.Required),
		),
	)
}

func TestGolden(t *testing.T) {
	rendertest.Golden(t, prompt("package a\n", "package b\n", strings.Repeat("package c\n", 20)), options, 20, 60, 100, 400)
}

func BenchmarkPrompt(b *testing.B) { rendertest.Benchmark(b, prompt("package a\n"), options, 20, 400) }

// test records what a test would say.
type test struct {
	*testing.T
	failed, fatal string
}

func (t *test) Name() string                      { return "Test of/a \"budget\"" }
func (t *test) Context() context.Context          { return t.T.Context() }
func (t *test) Errorf(format string, args ...any) { t.failed = fmt.Sprintf(format, args...) }
func (t *test) Fatalf(format string, args ...any) { t.fatal = fmt.Sprintf(format, args...); panic(t) }

// golden calls Golden in the current folder.
func golden(t *testing.T, n el.Node, budgets ...int) (said *test) {
	said = &test{T: t}
	defer func() {
		if p := recover(); p != nil && p != any(said) {
			panic(p)
		}
	}()
	rendertest.Golden(said, n, options, budgets...)
	return said
}

func TestGoldenIsWrittenWhereItIsAskedForAndElseCompared(t *testing.T) {
	t.Chdir(t.TempDir())
	file := filepath.Join("testdata", "Test_of_a_budget_.golden")
	require.Contains(t, golden(t, prompt("a")).fatal, "no budgets")
	require.Contains(t, golden(t, prompt("a"), 100).fatal, "set PROMPTREE_UPDATE=1 to write the file")
	require.NoFileExists(t, file)

	t.Setenv("PROMPTREE_UPDATE", "1")
	require.Zero(t, golden(t, prompt("a"), 100, 200).failed)
	written := sure.Read(t, file)
	t.Setenv("PROMPTREE_UPDATE", "")
	require.Zero(t, golden(t, prompt("a"), 100, 200).failed)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(written), "\n", "\r\n")), 0o644))
	require.Zero(t, golden(t, prompt("a"), 100, 200).failed, "a checkout with other line ends")
}

func TestADifferenceShowsTheLinesThatDifferUnderTheirBudget(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PROMPTREE_UPDATE", "1")
	require.Zero(t, golden(t, prompt("a", "b"), 100, 200).failed)
	t.Setenv("PROMPTREE_UPDATE", "")
	said := golden(t, prompt("a", strings.Repeat("long ", 60)), 100, 200).failed
	require.Contains(t, said, "testdata", said)
	said = strings.ReplaceAll(said, "\u00a0", " ") // which cmp.Diff puts for some spaces
	require.Contains(t, said, "\n- \t\"100 tokens: ", said)
	require.Contains(t, said, "\n+ \t\"100 tokens: ", said)
	require.Contains(t, said, "\n- \t\"  kept     User > file ×2 (2)\",\n+ \t\"  dropped  User > file ×2 (76)\",\n", said)
	require.NotContains(t, said, "coding agent", "text is not part of it")
	require.NotContains(t, said, "What does it print", "text is not part of it")
}

func TestAnErrorIsPartOfTheFile(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PROMPTREE_UPDATE", "1")
	golden(t, prompt("a"), 3)
	golden(t, el.User(el.Text("What does it print?", el.Priority(1))), 3)
	written := sure.Read(t, filepath.Join("testdata", "Test_of_a_budget_.golden"))
	require.Equal(t, "3 tokens: 0 used, 0 messages\n  dropped  User > Text (5)\n", string(written), "no message is left")
	golden(t, prompt("a"), 3)
	written = sure.Read(t, filepath.Join("testdata", "Test_of_a_budget_.golden"))
	require.Contains(t, string(written), "3 tokens: error\n  render: the prompt needs")
}
