package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/program/sessionfile"
)

const importUsage = `Usage: promptree import [flags] FILE

Converts a recording to a session of promptree. It reads sessions of pi, oh-my-pi, Claude Code, Codex and promptree, and messages of
OpenAI or Anthropic as JSON, and detects the format. For example:

	promptree import -o session.jsonl ~/.claude/projects/app/1c2d.jsonl
	promptree import recording.jsonl | promptree verify -

Content that has no place in a session is noted on the standard error. A log of promptree is copied. The flags:
`

const salvageUsage = "leave out lines that cannot be read, with a note for each; then the exit code is 1"

// session is a log of promptree, or a recording of another format as a session in memory.
type session struct {
	*history.Session
	path    string
	notes   []importer.Note
	torn    *storage.Recovery
	skipped []*storage.CorruptError
	remove  func() // of a copy of the standard input
}

// close closes the session. It returns an error if lines were left out.
func (s *session) close() error {
	err := s.Close()
	s.remove()
	left := len(s.skipped)
	for _, n := range s.notes {
		if n.Kind == importer.Unreadable {
			left += n.Count
		}
	}
	if err == nil && left > 0 {
		err = fmt.Errorf("%s: %d lines cannot be read and were left out", s.path, left)
	}
	return err
}

// load reads a recording of any format. The caller closes the session.
func load(ctx context.Context, path string, salvage bool) (*session, error) {
	s := &session{path: path, remove: func() {}}
	if path == sessionfile.Stdin {
		spooled, remove, err := spool(ctx)
		if err != nil {
			return nil, err
		}
		path, s.remove = spooled, remove
	}
	read := s.convert
	if store := ownLog(ctx, path); store != nil {
		read = func(ctx context.Context, _ string, salvage bool) error { return s.open(ctx, store, salvage) }
	}
	if err := read(ctx, path, salvage); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// ownLog opens a log of promptree, as it is now. It returns nil for any other file.
func ownLog(ctx context.Context, path string) *storage.File {
	store, err := storage.ReadFile(path, storage.FileOptions{Snapshot: true})
	if err != nil {
		return nil
	}
	for line, err := range store.Read(ctx, 0) {
		var head struct{ Time *string } // which the headers of pi's sessions lack
		if err != nil || json.Unmarshal(line.Data, &head) != nil || head.Time != nil {
			return store
		}
		break
	}
	_ = store.Close() // it is only read
	return nil
}

// open opens a log, and refuses one with damage unless salvage is set.
func (s *session) open(ctx context.Context, store *storage.File, salvage bool) error {
	var err error
	if !salvage {
		var wrong []*storage.CorruptError
		if wrong, err = history.Verify(ctx, store); len(wrong) > 0 {
			err = fmt.Errorf("%s:%d: from byte %d on: %w (-salvage leaves out unreadable lines)", s.path, wrong[0].Line, wrong[0].Byte, wrong[0].Err)
		}
	}
	if err == nil {
		s.Session, err = history.New(ctx, store, history.Options{Salvage: salvage})
	}
	if other, ok := errors.AsType[*entry.FormatError](err); ok {
		err = fmt.Errorf("%s: %w", s.path, other)
	}
	if err != nil {
		return program.UsageError{Err: errors.Join(err, store.Close())}
	}
	s.skipped, s.torn = s.Skipped(), s.Recovered()
	return nil
}

// convert makes a session in memory of a recording.
func (s *session) convert(ctx context.Context, path string, salvage bool) error {
	r, err := sessionfile.ReadAs(s.path, path, importer.Options{SkipUnreadable: salvage})
	// The format is detected from line 1, so salvage does not help there.
	if bad, ok := errors.AsType[*importer.LineError](err); ok && bad.Line > 1 && !salvage {
		return program.UsageError{Err: fmt.Errorf("%w (-salvage leaves out unreadable lines)", err)}
	} else if err != nil {
		return err
	}
	if s.Session, err = history.New(ctx, &storage.Memory{}, history.Options{Header: r.Header}); err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	refused, err := r.AppendTo(ctx, s.Session)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	s.notes = append(r.Notes, refused...)
	return nil
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
		s.note(stderr, false)
	}
	return cmp.Or(err, s.close())
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

// note prints which lines could not be read, and unless unreadable is set, what the importer could not place in an entry.
func (s *session) note(stderr io.Writer, unreadable bool) {
	for _, w := range s.skipped {
		fmt.Fprintf(stderr, "%s:%d: %s: from byte %d on: %v\n", s.path, w.Line, importer.Unreadable, w.Byte, w.Err)
	}
	printTorn(stderr, s.path, s.torn)
	for _, n := range s.notes {
		if !unreadable || n.Kind == importer.Unreadable {
			times := ""
			if n.Count > 1 {
				times = fmt.Sprintf(" (%d times)", n.Count)
			}
			fmt.Fprintf(stderr, "%s:%d: %s: %s%s\n", s.path, n.Line, n.Kind, n.What, times)
		}
	}
}

// write writes the log of a session.
func (s *session) write(ctx context.Context, w io.Writer) error {
	b := bufio.NewWriter(w)
	header, err := s.Header().Encode()
	if err != nil {
		return err
	}
	b.Write(append(header, '\n')) // Flush returns an error
	for e, err := range s.Entries(ctx) {
		if err != nil {
			return err
		}
		if u, ok := e.Body.(entry.Unknown); ok {
			if u.Line, err = follow(u.Line, e.Parent); err != nil {
				return err
			}
			e.Body = u
		}
		line, err := e.Encode()
		if err != nil {
			return err
		}
		if _, err := b.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return b.Flush()
}

// follow returns the line of an entry of an unknown type with another parent, if the one that it has was left out.
func follow(line json.RawMessage, parent string) (json.RawMessage, error) {
	if l, err := storage.ParseLine(line); err != nil || l.Parent == parent {
		return line, err
	}
	var fields map[string]any
	in := json.NewDecoder(bytes.NewReader(line))
	in.UseNumber()
	err := in.Decode(&fields)
	if fields["parent"] = parent; err != nil {
		return nil, err
	}
	return plainjson.Marshal(fields)
}
