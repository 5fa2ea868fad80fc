package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/promptree-go/promptree/internal/wire"
)

// Format names the program that wrote a recording.
type Format string

// The formats that [Read] knows. The package's documentation says what is read of each.
const (
	// FormatPi is a session of the pi coding agent or of oh-my-pi.
	FormatPi Format = "pi"
	// FormatClaudeCode is a session of Claude Code.
	FormatClaudeCode Format = "claude-code"
	// FormatCodex is a rollout of the Codex CLI.
	FormatCodex Format = "codex"
	// FormatOpenAI is a list of messages as OpenAI's chat completions take it.
	FormatOpenAI Format = "openai-chat"
	// FormatAnthropic is a list of messages as Anthropic's messages API takes it.
	FormatAnthropic Format = "anthropic-messages"
	// FormatGemini is a chat of Gemini CLI.
	FormatGemini Format = "gemini-cli"
	// FormatSWEAgent is a trajectory of SWE-agent.
	FormatSWEAgent Format = "swe-agent"
	// FormatMiniSWEAgent is a trajectory of mini-swe-agent.
	FormatMiniSWEAgent Format = "mini-swe-agent"
	// FormatOpenHands is a list of events of OpenHands.
	FormatOpenHands Format = "openhands"
	// FormatCopilot is a session of the GitHub Copilot CLI.
	FormatCopilot Format = "copilot-cli"
	// FormatOpencode is an export of opencode.
	FormatOpencode Format = "opencode"
	// FormatGoose is an export or an earlier session of goose.
	FormatGoose Format = "goose"
	// FormatPromptree is a session of package history.
	FormatPromptree Format = "promptree"
)

// MaxLine is the default maximum length of a line, 64 MiB without the line feed. It also limits a recording that is one
// JSON document of several lines.
const MaxLine = 64 << 20

// Options configure how a recording is read. The zero value refuses what it cannot read.
type Options struct {
	// SkipUnreadable skips lines that cannot be read, with a [Note] for each ([Unreadable]). The first line must be
	// readable, because it shows the format. A torn end of a log of promptree is skipped in any case. Of a JSON document
	// messages are skipped; one that is not valid JSON is not read. Off by default.
	SkipUnreadable bool
	// MaxLine is the maximum length of a line in bytes. Defaults to [MaxLine].
	MaxLine int
}

// LineError is returned for a line of a recording that could not be read.
type LineError struct {
	// Line of the recording, from 1.
	Line int
	// Err is the cause.
	Err error
}

func (e *LineError) Error() string { return fmt.Sprintf("importer: line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Read reads a recorded session to its end and detects its format from its content. It returns a [*LineError] for a
// line that it cannot read, or the reader's own error, wrapped; the recording is then nil.
func Read(r io.Reader) (*Recording, error) { return Options{}.Read(r) }

// format reads the lines of one format into a builder. A line that returns an error may have added records and notes,
// but must not change anything else.
type format interface {
	// line reads an object; raw is the line that holds it, valid only during the call.
	line(number int, o *wire.Object, raw []byte) error
	// finish is called once, after the last line.
	finish() error
}

// Read reads a recorded session as [Read] does.
func (opts Options) Read(r io.Reader) (*Recording, error) {
	if opts.MaxLine <= 0 {
		opts.MaxLine = MaxLine
	}
	lines := &lineReader{r: decoded(bufio.NewReaderSize(r, 64<<10)), max: opts.MaxLine, readOn: opts.SkipUnreadable}
	if start, _ := lines.r.Peek(len(databaseStart)); string(start) == databaseStart {
		return nil, &LineError{Line: 1, Err: errDatabase}
	}
	if err := lines.skipStatus(); err != nil {
		return nil, err
	}
	first, err := lines.object()
	if bad, ok := errors.AsType[*LineError](err); ok {
		if !startsDocument(lines) {
			return nil, lines.wrap(unknownFormat(bad.Err))
		}
		return readDocument(lines, opts)
	}
	if err == io.EOF {
		return nil, &LineError{Line: 1, Err: unknownFormat(errors.New("there is nothing to read"))}
	}
	if err != nil {
		return nil, err
	}
	b := newBuilder(opts, lines)
	f, err := detect(first, b)
	if err != nil {
		return nil, lines.wrap(unknownFormat(err))
	}
	return b.read(f, item{number: lines.number, o: first, raw: bytes.TrimSpace(lines.buf)}, func() (item, error) {
		o, err := lines.object()
		return item{number: lines.number, o: o, raw: bytes.TrimSpace(lines.buf), torn: lines.torn}, err
	})
}

// item is an object on a line, or one of a list.
type item struct {
	number int // of its line
	o      *wire.Object
	raw    []byte // valid until the next is read
	torn   bool   // whether it could not be read, and is the last
}

// read reads a recording from its first item on. next returns the items after it, and [io.EOF] at the end.
func (b *builder) read(f format, at item, next func() (item, error)) (*Recording, error) {
	_, own := f.(*ownReader)
	tree, linked := f.(linker)
	var held []heldLine
	var err error
	for first := true; err != io.EOF; at, err = next() {
		bad, isLine := errors.AsType[*LineError](err)
		mayskip := !first && (b.skip || own && at.torn) // a log's torn end was never acknowledged
		first = false
		switch {
		case err == nil && linked:
			id, parent := tree.link(at.o)
			at.raw = bytes.Clone(at.raw)
			held = append(held, heldLine{item: at, id: id, parent: parent, mayskip: mayskip})
		case err == nil && b.repeats(at.number, at.o, at.raw):
		case err == nil:
			err = b.take(at.number, mayskip, func() error { return f.line(at.number, at.o, at.raw) })
		case isLine && mayskip:
			b.unreadable(bad)
			err = nil
		}
		if err != nil {
			return nil, err
		}
	}
	for l := range parentsFirst(held) {
		if err := b.take(l.number, l.mayskip, func() error { return f.line(l.number, l.o, l.raw) }); err != nil {
			return nil, err
		}
		l.item = item{number: l.number}
		if l.late {
			b.note(l.number, Reordered, "a line before the one that it follows")
		}
	}
	if err := f.finish(); err != nil {
		return nil, err
	}
	return b.recording()
}

// detect returns the reader for the format of the first line. It considers only names of fields and types that no other
// format has.
func detect(o *wire.Object, b *builder) (format, error) {
	typ := o.Peek("type")
	switch {
	case o.Is("sessionId", wire.KindText) && o.Is("projectHash", wire.KindText):
		b.rec.Format = FormatGemini
		return &geminiReader{builder: b, latest: map[string]*geminiMessage{}, answered: map[string][]*geminiMessage{}}, nil
	case isMini(o):
		b.rec.Format = FormatMiniSWEAgent
		return &sweReader{chatReader: newChat(b), list: "messages", calls: map[string]bool{}}, nil
	case isOpencode(o):
		b.rec.Format = FormatOpencode
		return &opencodeReader{builder: b, first: map[string]string{}}, nil
	case isGoose(o):
		b.rec.Format = FormatGoose
		return &gooseReader{builder: b}, nil
	case isOpenHands(o), openHandsList(o) != "":
		return newOpenHands(b), nil
	case isSWE(o):
		b.rec.Format = FormatSWEAgent
		return &sweReader{chatReader: newChat(b), list: "history", calls: map[string]bool{}}, nil
	case isChat(o):
		return newChat(b), nil
	case isCopilot(o):
		b.rec.Format = FormatCopilot
		return newCopilot(b), nil
	case typ == piSession && o.Is("id", wire.KindText) && o.Is("version", wire.KindNumber) && o.Given("time") && !o.Given("timestamp"):
		b.rec.Format = FormatPromptree
		return &ownReader{builder: b}, nil
	case typ == piSession && o.Is("id", wire.KindText), typ == piTitle && o.Given("v") && o.Given("pad"):
		b.rec.Format = FormatPi
		return &piReader{builder: b}, nil
	case isCodex(o):
		b.rec.Format = FormatCodex
		return &codexReader{builder: b, said: map[string]bool{}, events: map[int]string{}, prompts: map[string]bool{}}, nil
	case streamFormat(o) != "":
		b.rec.Format = streamFormat(o)
		return &streamReader{builder: b}, nil
	case typ != "" && (o.Given("sessionId") || o.Given("leafUuid") || o.Given("uuid") || typ == claudeSnapshot):
		b.rec.Format = FormatClaudeCode
		return newClaude(b), nil
	}
	if typ == "" {
		return nil, errors.New("its first object has neither a type nor messages")
	}
	return nil, fmt.Errorf("its first object is of type %q", clip(typ))
}

// unknownFormat returns an error that lists what a recording may be.
func unknownFormat(err error) error {
	return fmt.Errorf("unknown format: tried sessions of promptree, pi, oh-my-pi, Claude Code, Codex, Copilot CLI, Gemini CLI, opencode, goose, OpenHands, SWE-agent and mini-swe-agent, and messages of OpenAI and Anthropic as JSON: %w", err)
}

// databaseStart is how a SQLite database starts.
const databaseStart = "SQLite format 3\x00"

var errDatabase = errors.New("a SQLite database, as newer versions of opencode, goose and crush keep their sessions in, is not read: export the session as JSON (opencode export, goose session export)")

// clip shortens a name that is quoted in an error or a note.
func clip(s string) string {
	const maxBytes = 80
	if len(s) > maxBytes {
		return s[:validPrefix([]byte(s[:maxBytes]))] + "…"
	}
	return s
}

// clone copies a line, which is valid only until the next one is read.
func clone(raw []byte) json.RawMessage { return json.RawMessage(bytes.Clone(raw)) }
