package storage

import (
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
		lines := fileLines{file: f.file, max: f.options.MaxLine}
		for at := int64(from); at < end; {
			raw, next, err := lines.next(at, end)
			if next == 0 {
				yield(Stored{}, f.readError(err))
				return
			}
			if ctx.Err() != nil {
				yield(Stored{}, context.Cause(ctx))
				return
			}
			s := Stored{At: Position(at), End: Position(next)}
			if err == nil {
				s.Line, err = ParseLine(raw)
			}
			if !yield(s, err) {
				return
			}
			at = next
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
		lines := fileLines{file: f.file, max: f.options.MaxLine}
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

// fileLines reads lines one after the other, forward or backward, through a buffer.
type fileLines struct {
	file   io.ReaderAt
	max    int64  // maximum bytes of a line
	buffer []byte // the bytes read last
	start  int64  // offset of the buffer in the file
	size   int    // bytes requested by the previous read
}

// next returns the line at an offset, and the offset after it. No line extends beyond end. A line that is too long is
// an error with the offset after it; with every other error the offset is 0.
func (l *fileLines) next(at, end int64) ([]byte, int64, error) {
	if at < l.start || at > l.start+int64(len(l.buffer)) {
		l.buffer, l.start = l.buffer[:0], at
	}
	searched := int(at - l.start)
	for {
		if i := bytes.IndexByte(l.buffer[searched:], '\n'); i >= 0 {
			line := l.buffer[at-l.start : searched+i]
			return l.checked(line, at+int64(len(line))+1)
		}
		l.buffer = append(l.buffer[:0], l.buffer[at-l.start:]...)
		l.start, searched = at, len(l.buffer)
		if int64(searched) > l.max {
			return l.skip(at, end)
		}
		if err := l.more(end); err != nil {
			return nil, 0, err
		}
	}
}

// checked returns a line and an offset, and an error if the line is too long.
func (l *fileLines) checked(line []byte, at int64) ([]byte, int64, error) {
	if size := int64(len(line)); size > l.max {
		return nil, at, &LineTooLongError{Bytes: size, Max: l.max}
	}
	return line, at, nil
}

// skip returns the error for a line that is too long, and the offset after it.
func (l *fileLines) skip(at, end int64) ([]byte, int64, error) {
	l.buffer = l.buffer[:0]
	for next := at; next < end; next = l.start + int64(len(l.buffer)) {
		l.buffer, l.start = l.buffer[:0], next
		if err := l.more(end); err != nil {
			return nil, 0, err
		}
		if i := bytes.IndexByte(l.buffer, '\n'); i >= 0 {
			next += int64(i) + 1
			return nil, next, &LineTooLongError{Bytes: next - at - 1, Max: l.max}
		}
	}
	return nil, 0, io.ErrUnexpectedEOF
}

// more reads what follows the buffer.
func (l *fileLines) more(end int64) error {
	l.size = min(max(firstRead, 2*l.size), mostRead)
	from := l.start + int64(len(l.buffer))
	size := int(min(int64(l.size), end-from))
	if size <= 0 {
		return io.ErrUnexpectedEOF
	}
	old := len(l.buffer)
	l.buffer = append(l.buffer, make([]byte, size)...)
	n, err := l.file.ReadAt(l.buffer[old:], from)
	l.buffer = l.buffer[:old+n]
	if n == size {
		return nil
	}
	return err
}

// previous returns the line that ends at an offset, with its line break, and the offset of its start. A line that is
// too long is an error with that offset.
func (l *fileLines) previous(end int64) ([]byte, int64, error) {
	if end <= l.start || end > l.start+int64(len(l.buffer)) {
		l.buffer, l.start = l.buffer[:0], end
	}
	l.buffer = l.buffer[:end-l.start]
	unsearched := len(l.buffer) - 1 // before the line break
	for {
		if i := bytes.LastIndexByte(l.buffer[:max(0, unsearched)], '\n'); i >= 0 {
			return l.checked(l.buffer[i+1:len(l.buffer)-1], l.start+int64(i)+1)
		}
		if l.start == 0 {
			return l.checked(l.buffer[:len(l.buffer)-1], 0)
		}
		if int64(len(l.buffer))-1 > l.max {
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
		if len(l.buffer) == 0 { // it starts with the line break
			unsearched = size - 1
		} else {
			unsearched = size
		}
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
