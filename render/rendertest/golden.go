package rendertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

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
// PROMPTREE_UPDATE is set, it writes the file instead. An error of a render is part of the file.
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
	if diff := difference(lines(string(want)), lines(b.String())); diff != "" {
		t.Errorf("rendertest: %s (-want +got; set PROMPTREE_UPDATE=1 to accept):\n%s", path, diff)
	}
}

// fileName matches what is left out of the name of a file.
var fileName = regexp.MustCompile(`[^\pL\pN_.#=+-]+`)

// lines splits a text into lines. A checkout may have changed their ends.
func lines(text string) []string {
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
}

// block writes what a budget keeps.
func block(b *strings.Builder, budget int, r *render.Result, err error) {
	if empty, ok := errors.AsType[*render.EmptyError](err); ok {
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

// difference returns the lines that are only in one of two lists, each with the line before it that is in both, "" if
// the lists are equal.
func difference(want, got []string) string {
	common := make([][]int, len(want)+1) // the most lines that both have from here on
	for i := range common {
		common[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); want[i] == got[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var b strings.Builder
	header, written := "", false
	show := func(mark, line string) {
		if !written && header != "" && header != line {
			b.WriteString("  " + header + "\n")
		}
		written = true
		b.WriteString(mark + " " + line + "\n")
	}
	for i, j := 0, 0; i < len(want) || j < len(got); {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			if !strings.HasPrefix(want[i], " ") {
				header, written = want[i], false
			}
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && common[i+1][j] >= common[i][j+1]:
			show("-", want[i])
			i++
		default:
			show("+", got[j])
			j++
		}
	}
	return b.String()
}
