package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/cmd/promptree/internal/sessionfile"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/visible"
	"github.com/promptree-go/promptree/render"
)

const showUsage = `Usage: promptree show [flags] FILE

Shows a session in any format that import reads; - is the standard input. Without flags it prints a tree: a line for each entry. For
example:

	promptree show session.jsonl
	promptree show -entry e17 session.jsonl
	promptree show -view -window 32000 session.jsonl

-view shows the messages that a model sees. With -window they are shortened as in a prompt of that size. If they still do not fit, the
oldest are left out, with a note: an agent would compact here. If the log has the usage that the provider reported, tokens are fitted
to it, as by promptree replay; otherwise they are those of o200k_base.

A line of the tree has these columns:

	>      marks the leaf, the entry at which the session goes on
	│      an entry that the session left by going back, indented
	id     of the entry, for -entry and -at
	kind   user, assistant or tool, if it is a message; else what it is, such as shell, label, usage, compaction or custom
	text   its beginning, with calls in brackets; of a usage, the tokens of a request by the provider's count: read (in), of these
	       read from its cache, and written (out); of a compaction, the first entry that is kept word for word, and the summary

-view prints each message with its role and its tokens, and the sum. The flags:
`

// view holds the flags of -view.
type view struct {
	asked  bool
	window int
	at     string
}

func show(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("show", flag.ContinueOnError)
	e := flags.String("entry", "", "show the entry with this id, as JSON")
	var v view
	flags.BoolVar(&v.asked, "view", false, "show the messages that a model sees")
	flags.StringVar(&v.at, "at", "", "with -view: at the entry with this id (default the leaf)")
	flags.IntVar(&v.window, "window", 0, "with -view: in this many tokens (default no limit)")
	salvage := flags.Bool("salvage", false, sessionfile.SalvageUsage)
	paths, err := parse(flags, showUsage, args, stdout, false)
	switch {
	case err != nil:
		return err
	case v.asked && *e != "":
		err = errors.New("-entry and -view cannot be combined: set one of them")
	case !v.asked && (v.window != 0 || v.at != ""):
		err = errors.New("-window and -at need -view: set it")
	case v.window < 0:
		err = fmt.Errorf("-window is %d: want a number of tokens, 1 or more", v.window)
	}
	if err != nil {
		return program.UsageError{Err: err}
	}
	s, err := sessionfile.Load(ctx, paths[0], *salvage, &folders)
	if err != nil {
		return err
	}
	s.Note(stderr, true)
	var b bytes.Buffer
	switch {
	case v.asked:
		err = v.print(ctx, &b, s, stderr)
	case *e != "":
		err = printEntry(ctx, &b, s, *e)
	default:
		if err = printTree(ctx, &b, s, program.Width(stdout)); err == nil && b.Len() == 0 {
			fmt.Fprintf(stderr, "%s: the session is empty\n", paths[0])
		}
	}
	if err == nil {
		_, err = visible.Writer(stdout).Write(b.Bytes())
	} else if missing, ok := errors.AsType[*storage.NoEntryError](err); ok {
		err = program.UsageError{Err: fmt.Errorf("%s: there is no entry %q: promptree show lists them", paths[0], missing.ID)}
	} else {
		err = fmt.Errorf("%s: %w", paths[0], err)
	}
	return cmp.Or(err, s.Close())
}

// printEntry prints one line of the log.
func printEntry(ctx context.Context, b *bytes.Buffer, s *sessionfile.Session, id string) error {
	e, err := s.Entry(ctx, id)
	if err != nil {
		return err
	}
	line, err := e.Encode()
	if err != nil {
		return err
	}
	return json.Indent(b, append(line, '\n'), "", "  ")
}

// printTree prints a line for each entry. If an entry has several successors, the one on the path to the leaf comes last, at
// the same depth. The others, which the session left, come before it and are indented. A line is cut to a width, 0 for
// no limit.
func printTree(ctx context.Context, b *bytes.Buffer, s *sessionfile.Session, width int) error {
	type item struct{ id, text string }
	after := map[string][]item{} // by parent
	for e, err := range s.Entries(ctx) {
		if err != nil {
			return err
		}
		after[e.Parent] = append(after[e.Parent], item{e.ID, describe(e)})
	}
	toLeaf := map[string]bool{}
	for e, err := range s.Back(ctx, "") {
		if err != nil {
			return err
		}
		toLeaf[e.ID] = true
	}
	type placed struct {
		item
		depth int
	}
	var todo []placed // a stack
	push := func(id string, depth int) {
		list := after[id]
		if i := slices.IndexFunc(list, func(e item) bool { return toLeaf[e.id] }); i >= 0 {
			list = append(slices.Delete(slices.Clone(list), i, i+1), list[i])
		}
		for i, e := range slices.Backward(list) {
			deeper := depth
			if i < len(list)-1 {
				deeper++
			}
			todo = append(todo, placed{e, deeper})
		}
	}
	push("", 0)
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		mark := " "
		if e.id == s.Leaf() {
			mark = ">"
		}
		line := []rune(fmt.Sprintf("%s%s %s  %s", mark, strings.Repeat("│ ", e.depth), visible.Line(e.id), e.text))
		if width > 0 && len(line) > width {
			line = append(line[:width-1], '…')
		}
		b.WriteString(string(line) + "\n")
		push(e.id, e.depth)
	}
	return nil
}

// maxShown is the number of characters of an entry that a tree shows.
const maxShown = 80

// describe describes an entry in one line.
func describe(e entry.Entry) string {
	kind, text := string(e.Type()), ""
	switch body := e.Body.(type) {
	case entry.Message:
		kind, text = string(body.Role), messageText(body.Message)
	case entry.Compaction:
		keeps := "keeps nothing"
		switch {
		case body.FirstKept != "":
			keeps = "keeps from " + body.FirstKept
		case body.LastCovered != "":
			keeps = "keeps what follows " + body.LastCovered
		}
		text = keeps + ": " + body.Text
	case entry.Usage:
		if text = fmt.Sprintf("%d in, %d from the cache, %d out", body.Input, body.CacheRead, body.Output); body.Usage == (chat.Usage{}) {
			text = fmt.Sprintf("%d by our count, none reported", body.Counted)
		}
	case entry.ModelChange:
		text = strings.Trim(body.Provider+" "+body.Model, " ")
	case entry.Label:
		text = body.Target + " " + body.Text
	case entry.Custom:
		text = body.Name
	default:
		if m, shown := e.Shown(); shown {
			text = m.Text()
		}
	}
	text = visible.Line(text)
	if r := []rune(text); len(r) > maxShown {
		text = string(r[:maxShown-1]) + "…"
	}
	return strings.TrimRight(kind+"  "+text, " ")
}

// messageText returns the text of a message and its tool calls.
func messageText(m chat.Message) string {
	text := m.Text()
	for _, c := range m.ToolCalls {
		text += fmt.Sprintf(" [%s %s]", c.Name, c.Arguments)
	}
	return text
}

// print prints the messages that a model sees.
func (v view) print(ctx context.Context, b *bytes.Buffer, s *sessionfile.Session, stderr io.Writer) error {
	if v.at != "" {
		if err := s.Branch(ctx, v.at); err != nil {
			return err
		}
	}
	counter, apart, err := s.Tokenizer(ctx)
	if err != nil {
		return err
	}
	options := render.Options{Budget: math.MaxInt32, Tokenizer: counter}
	if v.window > 0 {
		if options.Budget = v.window - apart; options.Budget < 1 {
			return program.UsageError{Err: fmt.Errorf("-window is %d, and the system prompt and the tools took %d tokens: set a larger one", v.window, apart)}
		}
	}
	result, err := render.Render(ctx, history.All{Session: s.Session}, options)
	over, exceeded := errors.AsType[*render.BudgetExceededError](err)
	if exceeded {
		result, err = render.Render(ctx, history.All{Session: s.Session, Droppable: true}, options)
	}
	if err != nil {
		return program.UsageError{Err: err} // only the window may be wrong
	}
	if exceeded {
		fmt.Fprintf(stderr, "the messages take %d tokens and the window has %d: the oldest are left out; an agent would compact here\n", over.Needed+apart, v.window)
	}
	for i, m := range result.Messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "%s (%d tokens)\n%s\n", m.Role, options.Tokenizer.CountMessage(m), messageText(m))
	}
	fmt.Fprintf(b, "\n%d messages, %d tokens\n", len(result.Messages), result.Tokens+apart)
	if apart > 0 {
		fmt.Fprintf(b, "of these %d of the system prompt and the tools, which the log does not have\n", apart)
	}
	return nil
}
