package log

import (
	"bytes"
	"context"
	"errors"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
	"github.com/promptree-go/promptree/history/storage"
)

// Reading says how an agent can read entries.
type Reading struct {
	Recall   bool                   // with the tools of package recall
	Path     string                 // of the log, "" if it is not a file
	TextPath func(id string) string // of the text of an entry, nil if the store keeps none
}

// readingOf returns how entries in a store can be read.
func readingOf(s storage.Store, recall bool) Reading {
	r := Reading{Recall: recall, Path: pathOf(s)}
	if t, ok := unwrapped(s).(storage.Texter); ok && !recall && ability(s, func() string { return t.TextPath("x") }) != "" {
		r.TextPath = t.TextPath
	}
	return r
}

// Reading returns how entries can be read.
func (l *Log) Reading() Reading { return l.reading }

// writeTexts writes the texts of long entries, before the entries are appended: a mark that names a text must not come
// before it. Lines holds the lines of the entries, if they are known.
func (l *Log) writeTexts(ctx context.Context, r *Reader, entries []entry.Entry, lines []storage.Line) error {
	if l.reading.TextPath == nil {
		return nil
	}
	for i, e := range entries {
		if lines != nil && len(lines[i].Data) <= longLine || !HasText(e) {
			continue
		}
		t := unwrapped(r.store).(storage.Texter)
		if err := call(ctx, r.store, "WriteText", func(ctx context.Context) error { return t.WriteText(ctx, e.ID, e.TextFile()) }); err != nil {
			return l.unwriteTexts(ctx, r, entries[:i], err)
		}
	}
	return nil
}

// MendTexts brings the texts beside a log in step with it. See history.Session.TextsErr.
func (l *Log) MendTexts(ctx context.Context, f *storage.File) {
	r, p, _, err := l.State()
	if err != nil {
		return
	}
	var recent []string
	for _, n := range p.Nodes {
		if n.long {
			recent = append(recent, n.ID)
		}
	}
	f.MendTexts(ctx, recent, func(visit func(string, func() []byte) error) error {
		return r.eachText(ctx, func(e entry.Entry) error { return visit(e.ID, e.TextFile) })
	})
}

// TextsErr returns why texts are missing. See history.Session.TextsErr.
func (l *Log) TextsErr() error {
	if f, ok := l.stored().(interface{ TextsErr() error }); ok {
		return f.TextsErr()
	}
	return nil
}

// longLine is the length of a line of a log, in bytes, above which tools that read files by lines may not read it whole:
// they cut lines at 2,000 characters.
const longLine = 2000

// isLong reports whether an entry with a line of a log has a text file, if it is shown.
func isLong(line []byte) bool { return len(bytes.TrimRight(line, " ")) > longLine }

// HasText reports whether an entry has a text file: it was said, and its line in a log is long.
func HasText(e entry.Entry) bool {
	if !kind.Of(e).Shown() {
		return false
	}
	if len(e.Text()) > longLine {
		return true
	}
	line, err := e.Encode()
	return err != nil || len(line) > longLine
}

// eachText calls a function with each entry of the store that has a text. If lines are skipped, the error names the first.
func (r *Reader) eachText(ctx context.Context, visit func(entry.Entry) error) error {
	for s, err := range r.store.Read(ctx, 0) {
		if err == nil && (s.Kind == storage.KindHeader || !isLong(s.Data)) {
			continue
		}
		e, err := r.decode(ctx, s, err)
		if err == nil && HasText(e) {
			err = visit(e)
		}
		if err != nil {
			return err
		}
	}
	if salvaged, ok := r.store.(*salvagedStore); ok {
		for _, skipped := range salvaged.leftOut() {
			return skipped
		}
	}
	return nil
}

// unwriteTexts removes the texts of entries that were not appended, and returns the error for which they were not. If it
// is not known whether they were, the texts stay.
func (l *Log) unwriteTexts(ctx context.Context, r *Reader, entries []entry.Entry, err error) error {
	if _, unknown := errors.AsType[*storage.StoreError](err); unknown || l.reading.TextPath == nil {
		return err
	}
	return errors.Join(err, l.removeTexts(context.WithoutCancel(ctx), r, entries))
}

// removeTexts removes the texts of entries.
func (l *Log) removeTexts(ctx context.Context, r *Reader, entries []entry.Entry) error {
	t, ok := unwrapped(r.store).(storage.Texter)
	if !ok {
		return nil
	}
	var errs []error
	for _, e := range entries {
		if kind.Of(e).Shown() {
			errs = append(errs, call(ctx, r.store, "RemoveText", func(ctx context.Context) error { return t.RemoveText(ctx, e.ID) }))
		}
	}
	return errors.Join(errs...)
}
