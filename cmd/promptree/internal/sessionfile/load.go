package sessionfile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/summarize/replay"
)

// SalvageUsage says what the flag -salvage of a command does.
const SalvageUsage = "leave out lines that cannot be read, with a note for each; then the exit code is 1"

// Session is a log of promptree, or a recording of another format as a session in memory.
type Session struct {
	*history.Session
	path      string
	recording *importer.Recording // nil for a log of promptree
	notes     []importer.Note
	torn      *storage.Recovery
	wrong     []*storage.CorruptError // lines of the log
	remove    func()                  // of a copy of the standard input
}

// Close closes the session. It returns an error if lines were left out.
func (s *Session) Close() error {
	err := s.Session.Close()
	s.remove()
	if left := len(s.Skipped()) + s.noted(importer.Unreadable); err == nil && left > 0 {
		err = fmt.Errorf("%s: %d lines cannot be read and were left out", s.path, left)
	}
	return err
}

// Sendable returns an error if what was imported has places that cannot be sent to a model.
func (s *Session) Sendable() error {
	places := s.noted(importer.Unsendable)
	if places == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d places cannot be sent to a model, see the notes: the session is whole, but it cannot be replayed", s.path, places)
}

// noted returns how often something of a kind was noted.
func (s *Session) noted(kind string) (n int) {
	for _, note := range s.notes {
		if note.Kind == kind {
			n += note.Count
		}
	}
	return n
}

// Load reads a recording of any format. With salvage set, lines that cannot be read are left
// out; otherwise they are an error. The caller closes the session.
func Load(ctx context.Context, path string, salvage bool, folders *program.Folders) (*Session, error) {
	file, remove, err := Spool(ctx, path, folders)
	if err != nil {
		return nil, err
	}
	s := &Session{path: path, remove: remove}
	if store := ownLog(ctx, file); store != nil {
		err = s.open(ctx, store, salvage)
	} else {
		err = s.convert(ctx, file, salvage)
	}
	if err != nil {
		remove()
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
func (s *Session) open(ctx context.Context, store *storage.File, salvage bool) error {
	wrong, err := history.Verify(ctx, store)
	if len(wrong) > 0 && !salvage {
		err = fmt.Errorf("%s:%d: from byte %d on: %w", s.path, wrong[0].Line, wrong[0].Byte, wrong[0].Err)
		if _, failed := history.New(ctx, store, history.Options{Salvage: true}); failed == nil {
			err = salvageable(err)
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
	s.wrong, s.torn = wrong, s.Recovered()
	return nil
}

// salvageable adds to an error that -salvage would read the session.
func salvageable(err error) error {
	return fmt.Errorf("%w (-salvage leaves out unreadable lines)", err)
}

// convert makes a session in memory of a recording.
func (s *Session) convert(ctx context.Context, path string, salvage bool) error {
	r, err := read(s.path, path, importer.Options{SkipUnreadable: salvage})
	if _, ok := errors.AsType[*importer.LineError](err); ok && !salvage {
		if _, failed := read(s.path, path, importer.Options{SkipUnreadable: true}); failed == nil {
			err = salvageable(err)
		}
	}
	if err != nil {
		return program.UsageError{Err: err}
	}
	n := 0
	ids := func() string { n++; return fmt.Sprint("back-", n) } // the same each time, of what no line of the recording names
	if s.Session, err = history.New(ctx, &storage.Memory{}, history.Options{Header: r.Header, IDs: ids}); err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	refused, err := r.AppendTo(ctx, s.Session)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	s.recording, s.notes = r, append(r.Notes, refused...)
	return nil
}

// Recording returns what was read as a recording. The lines of a log of promptree are numbered as if what was left out
// had not been there.
func (s *Session) Recording(ctx context.Context) (*importer.Recording, error) {
	if s.recording != nil {
		return s.recording, nil
	}
	var log bytes.Buffer
	if err := s.Write(ctx, &log); err != nil {
		return nil, err
	}
	r, err := importer.Options{}.Read(&log)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.path, err)
	}
	return r, err
}

// Tokenizer returns the tokenizer of the session's replays, and the number of tokens in each request that the log does
// not have.
func (s *Session) Tokenizer(ctx context.Context) (t chat.Tokenizer, apart int, err error) {
	r, err := s.Recording(ctx)
	if err != nil {
		return nil, 0, err
	}
	return (&replay.Session{Recording: r}).Tokenizer(ctx)
}

// Note prints which lines could not be read, and unless unreadable is set, what the importer could not place in an entry.
func (s *Session) Note(stderr io.Writer, unreadable bool) {
	for _, w := range s.wrong {
		kind := importer.Unreadable
		if _, missing := errors.AsType[*storage.NoEntryError](w.Err); missing {
			kind = "unlinked" // as the importer says
		}
		fmt.Fprintf(stderr, "%s:%d: %s: from byte %d on: %v\n", s.path, w.Line, kind, w.Byte, w.Err)
	}
	PrintTorn(stderr, s.path, s.torn)
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

// PrintTorn prints what was found after the last line break of a log, if anything was.
func PrintTorn(stderr io.Writer, path string, r *storage.Recovery) {
	switch {
	case r != nil && r.Whole:
		fmt.Fprintf(stderr, "%s:%d: the line is whole but for its line feed; opening the session for writing adds it\n", path, r.Line)
	case r != nil:
		fmt.Fprintf(stderr, "%s:%d: %d bytes of a half-written line; opening the session sets them aside\n", path, r.Line, r.Bytes)
	}
}

// Spool returns the file of a path: of the standard input a temporary copy, because a log is read from both ends.
func Spool(ctx context.Context, path string, folders *program.Folders) (file string, remove func(), err error) {
	if path != Stdin {
		return path, func() {}, nil
	}
	dir, undo, err := folders.Make("", "promptree-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = undo() } // a temporary folder
	file = filepath.Join(dir, "session.jsonl")
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = io.Copy(f, os.Stdin)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		remove()
	}
	return file, remove, err
}

// Write writes the log of a session.
func (s *Session) Write(ctx context.Context, w io.Writer) error {
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
