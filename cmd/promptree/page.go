package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/sessionfile"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/record"
)

const pageUsage = `Usage: promptree page [flags] FILE

Writes a session, - for the standard input, in any format that import reads, as one HTML page to look at in a browser: what filled the
prompt at each request, what was compacted, what it cost. It needs no network. Such as

	promptree page -o session.html session.jsonl

It shows what happened; promptree replay -page shows what a policy would have done. A log has no system messages and tools, so the page
has none. Tokens are those of o200k_base. The flags:
`

func page(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("page", flag.ContinueOnError)
	out := flags.String("o", sessionfile.Stdin, "file that the page is written to; - is the standard output")
	model := flags.String("prices", "", "model whose published prices say what requests cost of which the log does not")
	hide := flags.Bool("hide", false, "leave all texts out: lengths and digests stand in their place")
	salvage := flags.Bool("salvage", false, "leave out lines that cannot be read, with a note for each")
	paths, err := parse(flags, pageUsage, args, stdout, false)
	if err != nil {
		return err
	}
	var prices sizing.Prices
	if *model != "" {
		if prices, err = sizing.PublishedPrices().Of(*model); err != nil {
			return program.UsageError{Err: fmt.Errorf("-prices: %w", err)}
		}
	}
	s, err := load(ctx, paths[0], *salvage)
	if err != nil {
		return err
	}
	s.note(stderr, paths[0], true)
	log, err := record.Session(ctx, s.Session, tiktoken.O200k(), prices)
	if err != nil {
		return fmt.Errorf("%s: %w", paths[0], err)
	}
	write := func(w io.Writer) error {
		err := inspect.Session(w, log, inspect.Options{Title: filepath.Base(paths[0]), HideContent: *hide})
		if errors.Is(err, inspect.ErrNoPrompts) {
			err = fmt.Errorf("%s: no model has answered in it, so there is nothing to show", paths[0])
		}
		return err
	}
	if *out == sessionfile.Stdin {
		return write(stdout)
	}
	f, err := os.Create(*out)
	if err != nil {
		return program.UsageError{Err: err}
	}
	return errors.Join(write(f), f.Close())
}
