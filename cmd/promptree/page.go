package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/promptree-go/promptree/cmd/promptree/internal/output"
	"github.com/promptree-go/promptree/cmd/promptree/internal/sessionfile"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/record"
)

const pageUsage = `Usage: promptree page [flags] FILE

Writes a session as one HTML page that needs no network: what filled the prompt at each request, what was compacted, and what it cost.
The session may be in any format that import reads; - is the standard input. For example:

	promptree page -o session.html session.jsonl

Its list has a row for each request: ▼ if the history was compacted before it, ▽ cleared, ✕ if the provider's cache was broken; what the
model answered; the tokens of the prompt; and the share of it that the provider read from its cache, or if it reported none, that begins
as the request before. The chart has the same by kinds of text, with the cost of all requests so far.

The page shows what happened; promptree replay -page shows what a policy would have done. A log has no system messages or tools, so
the page has none but their tokens. If the log has the usage that the provider reported, tokens are fitted to it, as by promptree
replay; otherwise they are those of o200k_base. The flags:
`

func page(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("page", flag.ContinueOnError)
	out := output.Flag(flags, "o", output.Stdout, "write the page to this new file; - is the standard output")
	model := flags.String("prices", "", "use this model's published prices for requests whose cost is not in the log")
	catalogue := flags.String("models", "", sessionfile.ModelsUsage)
	hide := flags.Bool("hide", false, "replace all texts by their lengths and digests")
	salvage := flags.Bool("salvage", false, sessionfile.SalvageUsage)
	paths, err := parse(flags, pageUsage, args, stdout, false)
	if err != nil {
		return err
	}
	table, err := sessionfile.Models(*catalogue)
	if err != nil {
		return program.UsageError{Err: err}
	}
	var prices sizing.Prices
	if *model != "" {
		if prices, err = table.Prices(*model); err != nil {
			return program.UsageError{Err: fmt.Errorf("-prices: the prices of model %q are not known: name another, such as claude-opus-4-5, or leave the flag out", *model)}
		}
	}
	s, err := sessionfile.Load(ctx, paths[0], *salvage, &folders)
	if err != nil {
		return err
	}
	s.Note(stderr, true)
	counter, apart, err := s.Tokenizer(ctx)
	var log *inspect.Steps
	if err == nil {
		log, err = record.Session(ctx, s.Session, counter, apart, prices)
	}
	left := s.Close()
	if err != nil {
		return fmt.Errorf("%s: %w", paths[0], err)
	}
	write := func(w io.Writer) error {
		err := inspect.Session(w, log, inspect.Options{Title: filepath.Base(paths[0]), HideContent: *hide})
		if errors.Is(err, inspect.ErrNoPrompts) {
			err = fmt.Errorf("%s: it has no answer of a model, so there is nothing to show", paths[0])
		}
		return err
	}
	return cmp.Or(out.Write(stdout, paths, write), left)
}
