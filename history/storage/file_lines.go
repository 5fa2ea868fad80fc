package storage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
)

// Bytes per read: the first is firstRead, and each one after it doubles, up to mostRead.
const (
	firstRead = 1 << 13
	mostRead  = 1 << 18
)

// Read returns lines in order.
func (f *File) Read(ctx context.Context, from Position) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		end, err := f.state(ctx)
		if err == nil {
			err = f.checkPosition(int64(from), end)
		}
		if err != nil {
			yield(Stored{}, err)
			return
		}
		lines := f.forward(int64(from), end)
		for at := int64(from); at < end; {
			raw, size, err := lines.next()
			if size == 0 {
				yield(Stored{}, f.readError(err))
				return
			}
			if ctx.Err() != nil {
				yield(Stored{}, context.Cause(ctx))
				return
			}
			s := Stored{At: Position(at), End: Position(at + size)}
			if err == nil {
				s.Line, err = ParseLine(raw)
			}
			if !yield(s, err) {
				return
			}
			at += size
		}
	}
}

// checkPosition returns a [*PositionError] unless a line starts at a position, or the last one ends there.
func (f *File) checkPosition(at, end int64) error {
	before := []byte{'\n'}
	if at > 0 && at < end {
		if _, err := f.file.ReadAt(before, at-1); err != nil {
			return f.readError(err)
		}
	}
	if at < 0 || at > end || before[0] != '\n' {
		return &PositionError{At: Position(at)}
	}
	return nil
}

// Back returns the lines of a path, the newest first.
func (f *File) Back(ctx context.Context, before Position, id string) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		end, err := f.state(ctx)
		at := min(int64(before), end)
		if err == nil {
			err = f.checkPosition(at, end)
		}
		if err != nil {
			yield(Stored{}, err)
			return
		}
		lines := backward{file: f.file, max: f.options.MaxLine, start: at}
		for at > 0 {
			raw, start, err := lines.previous(at)
			if _, long := errors.AsType[*LineTooLongError](err); err != nil && !long {
				yield(Stored{}, f.readError(err))
				return
			}
			if ctx.Err() != nil {
				yield(Stored{}, context.Cause(ctx))
				return
			}
			if start == 0 { // the header
				break
			}
			s := Stored{At: Position(start), End: Position(at)}
			if err == nil {
				s.Line, err = ParseLine(raw)
			}
			wanted := err == nil && (id == "" || s.ID == id)
			if err == nil && !wanted && !json.Valid(raw) {
				err = json.Unmarshal(raw, new(json.RawMessage))
			}
			if err != nil {
				yield(Stored{}, f.corrupt(start, err))
				return
			}
			if at = start; wanted {
				id = s.Parent
				if !yield(s, nil) || id == "" {
					return
				}
			}
		}
		if id != "" {
			yield(Stored{}, &NoEntryError{ID: id})
		}
	}
}

// Count returns the number of lines from a position to the end.
func (f *File) Count(ctx context.Context, from Position) (int, error) {
	end, err := f.state(ctx)
	if err == nil {
		err = f.checkPosition(int64(from), end)
	}
	if err != nil {
		return 0, err
	}
	n, err := countLines(ctx, f.file, int64(from), end)
	if err != nil {
		return 0, f.readError(err)
	}
	return n, nil
}

// countLines returns the number of lines that end between two offsets.
func countLines(ctx context.Context, file io.ReaderAt, from, to int64) (n int, err error) {
	buffer := make([]byte, min(mostRead, max(0, to-from)))
	for from < to {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		size := min(int64(len(buffer)), to-from)
		if _, err := io.ReadFull(io.NewSectionReader(file, from, size), buffer[:size]); err != nil {
			return 0, err
		}
		n += bytes.Count(buffer[:size], []byte{'\n'})
		from += size
	}
	return n, nil
}

// corrupt returns the error for the line that starts at an offset.
func (f *File) corrupt(at int64, err error) error {
	n, countErr := countLines(context.Background(), f.file, 0, at)
	if countErr != nil {
		return f.readError(errors.Join(err, countErr))
	}
	return &CorruptError{Path: f.path, Line: n + 1, Byte: at, Err: err}
}

// lastBreak returns the offset after the last line break between two offsets, and from if there is none.
func lastBreak(file io.ReaderAt, from, to int64) (int64, error) {
	buffer := make([]byte, min(mostRead, to-from))
	for end := to; end > from; {
		start := max(from, end-int64(len(buffer)))
		read := buffer[:end-start]
		if _, err := io.ReadFull(io.NewSectionReader(file, start, end-start), read); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(read, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return from, nil
}

// forward reads lines one after the other.
type forward struct {
	*bufio.Reader
	max  int64  // maximum bytes of a line
	read int    // bytes so far
	line []byte // the last line, or the start of one that is too long
}

// forward returns a reader of the lines between two offsets.
func (f *File) forward(from, to int64) *forward {
	return &forward{Reader: bufio.NewReaderSize(io.NewSectionReader(f.file, from, to-from), firstRead), max: f.options.MaxLine}
}

// next returns the next line, and its size in the file. A line that is too long is an error with its size; with every
// other error, such as [io.EOF] at the end, the size is 0.
func (l *forward) next() ([]byte, int64, error) {
	l.line = l.line[:0]
	for size := int64(0); ; {
		if l.read >= l.Size() {
			l.Reader = bufio.NewReaderSize(l.Reader, min(2*l.Size(), mostRead))
		}
		part, err := l.ReadSlice('\n')
		l.read += len(part)
		if size += int64(len(part)); size <= l.max+1 {
			l.line = append(l.line, part...)
		}
		switch {
		case err == nil && size > l.max+1:
			return nil, size, &LineTooLongError{Bytes: size - 1, Max: l.max}
		case err == nil:
			return l.line[:size-1], size, nil
		case err != bufio.ErrBufferFull:
			return nil, 0, err
		}
	}
}

// backward reads lines one after the other, from the last to the first.
type backward struct {
	file   io.ReaderAt
	max    int64  // maximum bytes of a line
	buffer []byte // the bytes read last
	start  int64  // offset of the buffer in the file
	size   int    // bytes requested by the previous read
}

// previous returns the line that ends at an offset, with its line break, and the offset of its start, at which the next
// one ends. A line that is too long is an error with that offset.
func (l *backward) previous(end int64) ([]byte, int64, error) {
	l.buffer = l.buffer[:end-l.start]
	for {
		line := l.buffer[:max(0, len(l.buffer)-1)]
		if i := bytes.LastIndexByte(line, '\n'); i >= 0 || l.start == 0 {
			line, start := line[i+1:], l.start+int64(i)+1
			if size := int64(len(line)); size > l.max {
				return nil, start, &LineTooLongError{Bytes: size, Max: l.max}
			}
			return line, start, nil
		}
		if int64(len(line)) > l.max {
			start, err := lastBreak(l.file, 0, l.start)
			if err == nil {
				err = &LineTooLongError{Bytes: end - start - 1, Max: l.max}
			}
			return nil, start, err
		}
		l.size = min(max(firstRead, 2*l.size), mostRead)
		size := int(min(int64(max(l.size, len(l.buffer))), l.start))
		grown := make([]byte, size+len(l.buffer))
		if _, err := io.ReadFull(io.NewSectionReader(l.file, l.start-int64(size), int64(size)), grown[:size]); err != nil {
			return nil, 0, err
		}
		copy(grown[size:], l.buffer)
		l.buffer, l.start = grown, l.start-int64(size)
	}
}

// ParseLine returns the line that is written as raw, a JSON object whose fields "type", "id" and "parent" are its kind,
// id and parent. The line's Data is raw itself. What else the object holds is not checked if those fields come first,
// as promptree writes them. The error says that raw is not JSON, or has no type or no id.
func ParseLine(raw []byte) (Line, error) {
	l := Line{Data: raw}
	var ok bool
	if l.Kind, l.ID, l.Parent, ok = ownHead(raw); ok {
		return l, nil
	}
	var head lineHead
	if err := json.Unmarshal(raw, &head); err != nil {
		return Line{Data: raw}, err
	}
	l.Kind, l.ID, l.Parent = head.Type, head.ID, head.Parent
	if l.Kind == "" || l.ID == "" {
		return l, errors.New("it has no type or no id")
	}
	return l, nil
}

// lineHead holds what a line says of itself.
type lineHead struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Parent string          `json:"parent"`
	Time   json.RawMessage `json:"time"`
}

// ownHead reads the start of an entry's line as promptree writes it, ignoring the rest. It reports false if the line
// starts otherwise, or has no parent.
func ownHead(raw []byte) (kind, id, parent string, ok bool) {
	text := func(after string) (string, bool) {
		rest, ok := bytes.CutPrefix(raw, []byte(after))
		end := bytes.IndexByte(rest, '"')
		if !ok || end <= 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
			return "", false
		}
		raw = rest[end+1:]
		return string(rest[:end]), true
	}
	kind, typed := text(`{"type":"`)
	id, named := text(`,"id":"`)
	parent, follows := text(`,"parent":"`) // not the first entry, nor one whose parent comes later in the line
	return kind, id, parent, typed && named && follows && kind != KindHeader && bytes.HasPrefix(raw, []byte(`,"time":`))
}
