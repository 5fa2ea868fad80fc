package rendertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
)

// Test is what [Golden] needs of a *testing.T.
type Test interface {
	Helper()
	Name() string
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Golden renders a prompt at each budget, with the other options as they are, and compares what is kept, trimmed and
// dropped with the test's golden file. If it differs, the test fails with the lines that do. If the environment variable
// PROMPTREE_UPDATE is set, it writes the file instead. An error of a render is part of the file. A test calls it once, because
// the file has the test's name: two prompts are two subtests.
func Golden(t Test, prompt elements.Node, options render.Options, budgets ...int) {
	t.Helper()
	if len(budgets) == 0 {
		t.Fatalf("rendertest: no budgets: give at least one")
	}
	var b strings.Builder
	for _, budget := range budgets {
		options.Budget = budget
		result, err := render.Render(t.Context(), prompt, options)
		block(&b, budget, result, err)
	}
	path := filepath.Join("testdata", fileName.ReplaceAllString(t.Name(), "_")+".golden")
	if os.Getenv("PROMPTREE_UPDATE") != "" {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(b.String()), 0o644)); err != nil {
			t.Fatalf("rendertest: %v", err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("rendertest: %v: set PROMPTREE_UPDATE=1 to write the file", err)
	}
	if diff := cmp.Diff(lines(string(want)), lines(b.String())); diff != "" {
		t.Errorf("rendertest: %s (-want +got; set PROMPTREE_UPDATE=1 to accept):\n%s", path, diff)
	}
}

// fileName matches what is left out of the name of a file.
var fileName = regexp.MustCompile(`[^\pL\pN_.#=+-]+`)

// lines splits a text into lines. A checkout may have changed their ends.
func lines(text string) []string { return strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") }

// block writes what a budget keeps.
func block(b *strings.Builder, budget int, r *render.Result, err error) {
	if empty, ok := errors.AsType[*render.EmptyPromptError](err); ok {
		r, err = empty.Result, nil
	}
	if err != nil {
		fmt.Fprintf(b, "%d tokens: error\n  %s\n", budget, err)
		return
	}
	fmt.Fprintf(b, "%d tokens: %d used, %d messages\n", budget, r.Tokens, len(r.Messages))
	report := r.Report()
	for rest := report.Pieces; len(rest) > 0; {
		path, n, tokens, given := rest[0].Path, 0, 0, 0
		for n < len(rest) && plain(rest[n].Path) == plain(path) && outcome(rest[n]) == outcome(rest[0]) {
			tokens, given, n = tokens+rest[n].Tokens, given+rest[n].TrimmedFrom, n+1
		}
		if n > 1 {
			path = fmt.Sprintf("%s ×%d", plain(path), n)
		}
		if k := rest[0].Kind; k != "text" {
			path += fmt.Sprintf(", %s", k)
		}
		fmt.Fprintf(b, "  %-8s %s (%d", outcome(rest[0]), path, tokens)
		if given > 0 {
			fmt.Fprintf(b, " of %d", given)
		}
		b.WriteString(")\n")
		rest = rest[n:]
	}
	if report.CacheLost {
		b.WriteString("  a cached prefix was given up\n")
	}
}

// number matches the number of an element among siblings.
var number = regexp.MustCompile(`#\d+( > |$)`)

// plain returns a path without numbers.
func plain(path string) string { return number.ReplaceAllString(path, "$1") }

func outcome(p render.Piece) string {
	switch {
	case p.Dropped != render.Kept:
		return "dropped"
	case p.TrimmedFrom > 0:
		return "trimmed"
	}
	return "kept"
}
