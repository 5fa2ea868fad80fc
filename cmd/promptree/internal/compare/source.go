package compare

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/promptree-go/promptree/cmd/promptree/internal/sessionfile"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/summarize/replay"
)

// source is a session to replay.
type source struct {
	path      string
	found     bool // in a folder that was named
	recording *importer.Recording
	requests  int             // to the recorded model
	session   *replay.Session // with the prices, once priced
	model     string          // the last that the session names, "" if it names none
	window    int             // of that model
	known     bool            // the window is not just assumed
}

// open reads a recorded session, and prints the lines that cannot be read if the options leave them out. left is an error that
// says how many they are, nil if there are none.
func open(ctx context.Context, path string, o options, stderr io.Writer) (s source, left, err error) {
	loaded, err := sessionfile.Load(ctx, path, o.salvage, o.folders)
	if err != nil {
		return source{}, nil, err
	}
	loaded.Note(stderr, true)
	r, err := loaded.Recording(ctx)
	if left = loaded.Close(); err != nil {
		return source{}, nil, err
	}
	return source{path: path, recording: r, requests: (&replay.Session{Recording: r}).Requests()}, left, nil
}

// priced sets the session to replay, with the prices that the flags name.
func (s *source) priced(ctx context.Context, o options) error {
	s.session = &replay.Session{Recording: s.recording}
	name, _, _, err := s.session.Model(ctx)
	if err == nil {
		s.session, err = o.prices.session(s.recording, name)
	}
	if err == nil {
		s.model, s.window, s.known, err = s.session.Model(ctx)
	}
	return s.wrong(ctx, err)
}

// wrong returns an error of a replay as one of the session, unless it was interrupted.
func (s *source) wrong(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return program.UsageError{Err: fmt.Errorf("%s: %w", s.path, err)}
}

// compacted reports whether the session's own agent compacted it.
func (s *source) compacted() bool {
	path := s.recording.Path(s.recording.Leaf)
	return slices.ContainsFunc(path, func(rec importer.Record) bool { return rec.Type() == entry.TypeCompaction })
}
