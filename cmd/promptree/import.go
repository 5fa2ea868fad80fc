package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/program/sessionfile"
)

const importUsage = `Usage: promptree import [flags] FILE

Converts a recording to a session of promptree. It reads sessions of pi, oh-my-pi, Claude Code, Codex and promptree, and messages of
OpenAI or Anthropic as JSON, and detects the format. For example:

	promptree import -o session.jsonl ~/.claude/projects/app/1c2d.jsonl
	promptree import recording.jsonl | promptree verify -

Content that has no place in a session is noted on the standard error. The flags:
`

const salvageUsage = "leave out unreadable lines, such as the half-written end after a crash, and entries that follow them, with a note for each"

// session is a recording as a session in memory.
type session struct {
	*history.Session
	store *storage.Memory
	notes []importer.Note
}

// load reads a recording of any format.
func load(ctx context.Context, path string, salvage bool) (*session, error) {
	r, err := sessionfile.Read(path, importer.Options{SkipUnreadable: salvage})
	// The format is detected from line 1, so salvage does not help there.
	if bad, ok := errors.AsType[*importer.LineError](err); ok && bad.Line > 1 && !salvage {
		return nil, program.UsageError{Err: fmt.Errorf("%w (-salvage leaves out unreadable lines)", err)}
	} else if err != nil {
		return nil, err
	}
	s := &session{store: &storage.Memory{}}
	if s.Session, err = history.New(ctx, s.store, history.Options{Header: r.Header}); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	refused, err := r.AppendTo(ctx, s.Session)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.notes = append(r.Notes, refused...)
	return s, nil
}

func importing(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("import", flag.ContinueOnError)
	out := flags.String("o", sessionfile.Stdin, "write the session to this new file; - is the standard output")
	salvage := flags.Bool("salvage", false, salvageUsage)
	paths, err := parse(flags, importUsage, args, stdout, false)
	if err != nil {
		return err
	}
	s, err := load(ctx, paths[0], *salvage)
	if err != nil {
		return err
	}
	if *out == sessionfile.Stdin {
		err = s.write(ctx, stdout)
	} else {
		err = s.save(ctx, *out)
	}
	if err == nil {
		s.note(stderr, paths[0], false)
	}
	return err
}

// save writes the log of a session to a new file.
func (s *session) save(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s exists: name a new file", path)
	}
	if err != nil {
		return program.UsageError{Err: fmt.Errorf("-o: %w", err)}
	}
	err = s.write(ctx, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// note prints what the importer could not place in an entry, or only the lines that it could not read.
func (s *session) note(stderr io.Writer, path string, unreadable bool) {
	for _, n := range s.notes {
		if !unreadable || n.Kind == importer.Unreadable {
			times := ""
			if n.Count > 1 {
				times = fmt.Sprintf(" (%d times)", n.Count)
			}
			fmt.Fprintf(stderr, "%s:%d: %s: %s%s\n", path, n.Line, n.Kind, n.What, times)
		}
	}
}

// write writes the log of a session.
func (s *session) write(ctx context.Context, w io.Writer) error {
	b := bufio.NewWriter(w)
	for line, err := range s.store.Read(ctx, 0) {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := b.Write(append(line.Data, '\n')); err != nil {
			return err
		}
	}
	return b.Flush()
}
