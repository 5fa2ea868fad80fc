package importer

import (
	"errors"
	"fmt"
	"io"

	"github.com/promptree-go/promptree/elements/chat"
)

// Format names the agent that wrote a recording.
type Format string

// The formats that [Read] knows.
const (
	// FormatPi is a session of the pi coding agent.
	FormatPi Format = "pi"
)

// MaxLine is the length of the longest line that is read: 64 MiB, the line feed not counted.
const MaxLine = 64 << 20

// Recording is a recorded session.
type Recording struct {
	// Format that was detected.
	Format Format
	// Entries in the order in which they were recorded.
	Entries []Entry
	// Skipped counts the lines that hold no message of the conversation, by the type that the recorder gave them,
	// such as "compaction" or "model_change". A shell command that the user kept from the model counts as
	// "bashExecution". The header is not counted. Nil where nothing was skipped.
	Skipped map[string]int
}

// Entry is one message of a recording.
type Entry struct {
	// Line of the recording that holds the message, from 1.
	Line int
	// Message as it was recorded. One that was cut off may have neither content nor tool calls.
	Message chat.Message
	// Usage that the provider reported with an assistant message; zero where none was recorded.
	Usage chat.Usage
}

// LineError tells which line of a recording could not be read.
type LineError struct {
	// Line of the recording, from 1.
	Line int
	// Err says what is wrong with it.
	Err error
}

func (e *LineError) Error() string { return fmt.Sprintf("importer: line %d: %v", e.Line, e.Err) }

// Unwrap gives what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }

// Read reads a recorded session to its end and detects its format from the first line that is not blank. It returns a
// [*LineError] for a line that it cannot read, or the reader's own error, wrapped; the recording is then nil.
func Read(r io.Reader) (*Recording, error) { return read(r, MaxLine) }

func read(r io.Reader, maxLine int) (*Recording, error) {
	lines := newLineReader(r, maxLine)
	header, err := lines.object()
	if err == io.EOF {
		return nil, &LineError{Line: 1, Err: unknownFormat(errors.New("there is nothing to read"))}
	}
	if bad, ok := errors.AsType[*LineError](err); ok {
		return nil, lines.wrap(unknownFormat(bad.Err))
	}
	if err != nil {
		return nil, err
	}
	if err := piHeader(header); err != nil {
		return nil, lines.wrap(unknownFormat(err))
	}
	return readPi(lines)
}

// unknownFormat says what a recording should have begun with.
func unknownFormat(err error) error {
	return fmt.Errorf(`unknown format: expected the header of a pi session, {"type":"session","id":…}: %w`, err)
}
