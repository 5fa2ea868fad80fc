package entry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/plainjson"
)

// RedactError is returned for an entry, or a header, for which history.Options.Redact panicked, ended its goroutine,
// had not returned a second after the context ended, or returned a text that cannot be written. Nothing is written.
type RedactError struct {
	// Path of the field that was passed; see [Passage].
	Path string
	Err  error
}

func (e *RedactError) Error() string { return fmt.Sprintf("Options.Redact, at %s: %v", e.Path, e.Err) }

// Unwrap returns what went wrong.
func (e *RedactError) Unwrap() error { return e.Err }

// Redact returns the entry with its texts replaced by what a redactor returns for them, and the places in
// [Entry.Redacted]. The error is a [*RedactError]. Without a redactor the entry stays as it is.
func (e Entry) Redact(ctx context.Context, redactor func(Passage) string) (Entry, error) {
	if redactor == nil || e.Body == nil {
		return e, nil
	}
	body, changed, err := redacted(ctx, redactor, e.Type(), func(v *visitor) Body { return v.body(e.Body) })
	if err != nil || len(changed) == 0 {
		return e, err
	}
	e.Body, e.Redacted = body, union(e.Redacted, changed)
	if u, ok := body.(Unknown); ok {
		u.Line = markUnknown(u.Line, changed)
		e.Body = u
	}
	return e, nil
}

// Redact does for a header what [Entry.Redact] does for an entry.
func (h Header) Redact(ctx context.Context, redactor func(Passage) string) (Header, error) {
	if redactor == nil {
		return h, nil
	}
	visited, changed, err := redacted(ctx, redactor, typeSession, func(v *visitor) Header { return v.header(h) })
	if err != nil {
		return h, err
	}
	visited.Redacted = union(h.Redacted, changed)
	return visited, nil
}

// Redact returns the text that a redactor returns for the passage. The error is a [*RedactError].
func (p Passage) Redact(ctx context.Context, redactor func(Passage) string) (string, error) {
	if redactor == nil || p.Text == "" {
		return p.Text, nil
	}
	text, _, err := redacted(ctx, redactor, p.Type, func(v *visitor) string { return v.show(p) })
	return text, err
}

// redacted runs a visit of texts with a redactor and returns its result, with the paths of the fields that changed.
func redacted[T any](ctx context.Context, redactor func(Passage) string, kind Type, visit func(*visitor) T) (T, []string, error) {
	type outcome struct {
		value   T
		changed []string
	}
	var at atomic.Pointer[string]
	out, err := callback.Call(ctx, func(context.Context) (out outcome, err error) {
		out.value = visit(&visitor{
			kind: kind,
			show: func(p Passage) string {
				if err == nil {
					at.Store(&p.Path)
				}
				text := redactor(p)
				if utf8.ValidString(p.Text) && !utf8.ValidString(text) {
					err = errors.New("it returned text that is not valid UTF-8")
				}
				return text
			},
			changed: func(path string) { out.changed = append(out.changed, path) },
		})
		return out, err
	})
	if err == nil {
		return out.value, slices.Compact(out.changed), nil
	}
	failed := &RedactError{Err: err}
	if path := at.Load(); path != nil {
		failed.Path = *path
	}
	return *new(T), nil, failed
}

// union returns the paths of both lists, the first list first.
func union(first, second []string) []string {
	more := slices.DeleteFunc(slices.Clone(second), func(path string) bool { return slices.Contains(first, path) })
	return slices.Concat(first, more)
}

// markUnknown adds the paths of changed fields at the end of a line of an unknown type, where they take precedence.
func markUnknown(line []byte, changed []string) []byte {
	var marked struct {
		Redacted []string `json:"redacted"`
	}
	if json.Unmarshal(line, &marked) != nil {
		marked.Redacted = nil // the field means something else there
	}
	list, _ := plainjson.Marshal(union(marked.Redacted, changed)) // texts always encode
	end := bytes.LastIndexByte(line, '}')
	return slices.Concat(line[:end], []byte(`,"redacted":`), list, line[end:])
}
