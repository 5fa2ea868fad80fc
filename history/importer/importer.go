package importer

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/wire"
)

// Options configure how a recording is read. The zero value refuses what it cannot read.
type Options struct {
	// SkipUnreadable skips lines that cannot be read, with a [Note] for each ([Unreadable]). The first line must be
	// readable, because it shows the format. A torn end of a log of promptree is skipped in any case. Of a JSON document
	// messages are skipped; one that is not valid JSON is not read. Off by default.
	SkipUnreadable bool
	// MaxLine is the maximum length in bytes of a line, without its line feed, and of a recording that is one JSON document
	// of several lines. Defaults to 64 MiB.
	MaxLine int
}

// Read reads a recorded session to its end and detects its format from its content. It returns a [*LineError] for a
// line that it cannot read, or the reader's own error, wrapped; the recording is then nil.
func Read(r io.Reader) (*Recording, error) { return Options{}.Read(r) }

// format reads the lines of one format into a builder.
type format interface {
	// line reads an object. If something is wrong with it ([wire.Object.Fail], [builder.fail]), it may have added records and
	// notes, but must not have changed anything else.
	line(o *wire.Object)
	// finish is called once, after the last line.
	finish()
}

// Read reads a recorded session as [Read] does.
func (opts Options) Read(r io.Reader) (*Recording, error) {
	opts.MaxLine = cmp.Or(max(0, opts.MaxLine), 64<<20)
	text, err := decoded(bufio.NewReaderSize(r, 64<<10))
	if err != nil {
		return nil, err
	}
	lines := &lineReader{r: text, max: opts.MaxLine, readOn: opts.SkipUnreadable}
	if start, _ := lines.r.Peek(len(databaseStart)); string(start) == databaseStart {
		return nil, &LineError{Line: 1, Err: errDatabase}
	}
	b := &builder{index: map[string]int{}, after: map[string]string{}, notes: map[[2]string]int{}, skip: opts.SkipUnreadable, lines: lines}
	if isAider(lines) {
		return readAider(b)
	}
	if err := lines.skipStatus(); err != nil {
		return nil, err
	}
	first, err := lines.item()
	if bad, ok := errors.AsType[*LineError](err); ok {
		if !startsDocument(lines) {
			return nil, lines.wrap(unknownFormat(bad.Err))
		}
		return b.readDocument()
	}
	if err == io.EOF {
		return nil, &LineError{Line: 1, Err: unknownFormat(errors.New("there is nothing to read"))}
	}
	if err != nil {
		return nil, err
	}
	return b.read(first, lines.item)
}

// readDocument reads a recording that is one JSON document whose first line was read.
func (b *builder) readDocument() (*Recording, error) {
	d, err := readRest(b.lines)
	if err != nil {
		return nil, err
	}
	items, err := d.items()
	if err != nil {
		return nil, &LineError{Line: d.line, Err: unknownFormat(err)}
	}
	if len(items) == 0 { // an empty list of messages
		b.rec.Format = formatOpenAI
		return b.recording(), nil
	}
	b.doc = d
	next := 0
	return b.read(items[0], func() (item, error) {
		if next++; next == len(items) {
			return item{}, io.EOF
		}
		return items[next], nil
	})
}

// read reads a recording from its first item on. next returns the items after it, and [io.EOF] at the end.
func (b *builder) read(at item, next func() (item, error)) (*Recording, error) {
	f, err := detect(at.Object, b)
	if err != nil {
		return nil, &LineError{Line: at.number, Err: unknownFormat(err)}
	}
	_, own := f.(*ownReader)
	tree, linked := f.(linker)
	var held []heldLine
	for first := true; err != io.EOF; at, err = next() {
		bad, isLine := errors.AsType[*LineError](err)
		mayskip := !first && (b.skip || own && at.torn) // a log's torn end was never acknowledged
		first = false
		switch {
		case err == nil && linked:
			id, parent := tree.link(at.Object)
			held = append(held, heldLine{item: at, id: id, parent: parent, mayskip: mayskip})
		case err == nil && b.repeats(at):
		case err == nil:
			err = b.take(at, mayskip, func() { f.line(at.Object) })
		case isLine && mayskip:
			b.unreadable(bad)
			err = nil
		}
		if err != nil {
			return nil, err
		}
		b.settle()
	}
	for _, l := range parentsFirst(held) {
		if err := b.take(l.item, l.mayskip, func() { f.line(l.Object) }); err != nil {
			return nil, err
		}
		if l.item = (item{number: l.number}); l.late {
			b.noteAt(l.number, noteReordered, "a line before the one that it follows")
		}
		b.settle()
	}
	if f.finish(); b.err != nil {
		return nil, b.err
	}
	b.setOrigins()
	return b.recording(), nil
}

// rows lists the formats in the order in which they are tried. What a recording is shows by names of fields and types in its
// first object that no other format has.
var rows = []struct {
	format Program // "" if its reader decides
	is     func(o *wire.Object) bool
	reader func(b *builder) format
}{
	{formatGemini, isGemini, newGemini},
	{formatVSCode, isVSCode, func(b *builder) format { return &vscodeReader{builder: b} }},
	{formatMiniSWEAgent, isMini, func(b *builder) format { return &sweReader{builder: b, list: "messages", calls: map[string]bool{}} }},
	{formatOpencode, isOpencode, func(b *builder) format { return &opencodeReader{builder: b, first: map[string]string{}} }},
	{formatGoose, isGoose, func(b *builder) format { return &gooseReader{builder: b} }},
	{formatOpenHands, isOpenHands, func(b *builder) format {
		return &openHandsReader{builder: b, answers: map[string]string{}, calls: map[string]string{}}
	}},
	{formatSWEAgent, isSWE, func(b *builder) format { return &sweReader{builder: b, list: "history", calls: map[string]bool{}} }},
	{"", isChat, func(b *builder) format { return &chatReader{b} }},
	{formatCopilot, isCopilot, newCopilot},
	{formatPromptree, isOwn, func(b *builder) format { return &ownReader{builder: b} }},
	{formatPi, isPi, func(b *builder) format { return &piReader{builder: b} }},
	{formatCodex, isCodex, func(b *builder) format {
		return &codexReader{builder: b, said: map[string]bool{}, events: map[int]string{}, prompts: map[string]bool{}}
	}},
	{"", isStream, func(b *builder) format {
		return &streamReader{builder: b, answers: map[string]string{}, side: map[string]string{}}
	}},
	{formatClaudeCode, isClaude, func(b *builder) format {
		return &claudeReader{builder: b, answers: map[string]*claudeAnswer{}, labels: map[int]entry.Custom{}}
	}},
}

// detect returns the reader for the format of the first object.
func detect(o *wire.Object, b *builder) (format, error) {
	for _, row := range rows {
		if row.is(o) {
			b.rec.Format = row.format
			return row.reader(b), nil
		}
	}
	if typ := o.Peek("type"); typ != "" {
		return nil, fmt.Errorf("its first object is of type %q", clip(typ))
	}
	return nil, errors.New("its first object has neither a type nor messages")
}

// unknownFormat returns an error that lists what a recording may be.
func unknownFormat(err error) error {
	return fmt.Errorf("unknown format: tried sessions of promptree, pi, oh-my-pi, Claude Code, Codex, Copilot CLI, Gemini CLI, opencode, goose, VS Code, aider, OpenHands, SWE-agent and mini-swe-agent, and messages of OpenAI and Anthropic as JSON: %w", err)
}

// databaseStart is how a SQLite database starts.
const databaseStart = "SQLite format 3\x00"

var errDatabase = errors.New("a SQLite database, as newer versions of opencode, goose and crush keep their sessions in, is not read: export the session as JSON (opencode export, goose session export)")
