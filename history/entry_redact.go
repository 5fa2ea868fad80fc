package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/worded"
)

// Passage is a text that is about to be written to a session, as passed to [Options.Redact].
//
// Passages are: the texts, thoughts, participants' names, images (their URLs) and documents (their data) of messages,
// wherever in an entry messages are; commands and their output; summaries, titles, instructions, labels, lists of
// things to do and errors; the paths of files; the descriptions of tools; and the source of a session. In JSON values,
// each string, each number and each key is one: in data, in a call's arguments, in opaque parts, in the parameters of
// tools and in entries of unknown types. Empty texts are not passed.
//
// Values that hold a session together are never passed: ids, types, roles and times; the names of tools, models,
// policies, fields and parts of the application; levels, states and counts; digests, media types and signatures; and
// thinking that is encrypted.
type Passage struct {
	// Text that is about to be written.
	Text string
	// Type of the entry that contains it; "session" for the header.
	Type EntryType
	// Role of the message that contains it; "" outside messages.
	Role chat.Role
	// Path of its field in the line's JSON, such as "message.content[0].text", "shell.output" or "custom.data".
	Path string
	// Key of the value within a field that holds JSON, or of the list that contains the value. "" for a key itself.
	Key string
}

// RedactError is returned for an entry, or a header, for which [Options.Redact] panicked, ended its goroutine, had not
// returned a second after the context ended, or returned a text that cannot be written. Nothing is written.
type RedactError struct {
	// Path of the field that was passed; see [Passage].
	Path string
	Err  error
}

func (e *RedactError) Error() string { return fmt.Sprintf("Options.Redact, at %s: %v", e.Path, e.Err) }

// Unwrap returns what went wrong.
func (e *RedactError) Unwrap() error { return e.Err }

// errNotText is the cause of a [RedactError] for text that is not UTF-8.
var errNotText = errors.New("it returned text that is not valid UTF-8")

// redact replaces the texts of an entry with what [Options.Redact] returns for them.
func (s *Session) redact(ctx context.Context, e *Entry) error {
	if s.options.Redact == nil || e.Body == nil {
		return nil
	}
	was := e.Body
	body, changed, err := redacted(ctx, s.options.Redact, e.Type(), func(v *visitor) Body { return v.body(was) })
	if err != nil || len(changed) == 0 {
		return err
	}
	e.Body, e.Redacted = body, union(e.Redacted, changed)
	if u, ok := body.(Unknown); ok {
		u.Line = markUnknown(u.Line, changed)
		e.Body = u
	}
	return nil
}

// Redact returns a text as [Options.Redact] would have it written, for whoever shows or sends it elsewhere.
func (s *Session) Redact(ctx context.Context, p Passage) (string, error) {
	if s.options.Redact == nil || p.Text == "" {
		return p.Text, nil
	}
	text, _, err := redacted(ctx, s.options.Redact, p.Type, func(v *visitor) string { return v.show(p) })
	return text, err
}

// Redacted returns an error whose text is redacted as the session's entries are. What it wraps is found by [errors.Is] and
// [errors.As] as before.
func (s *Session) Redacted(ctx context.Context, err error) error {
	if err == nil || s.options.Redact == nil {
		return err
	}
	said := err.Error()
	text, failed := s.Redact(context.WithoutCancel(ctx), Passage{Text: said, Type: TypePlanEnd, Path: "planEnd.error"})
	switch {
	case failed != nil:
		return worded.Errorf(err, "history: an error that could not be redacted: %v", failed)
	case text == said:
		return err
	}
	return worded.Errorf(err, "%s", text)
}

// redactHeader does for a header what [Session.redact] does for an entry.
func (s *Session) redactHeader(ctx context.Context, h *Header) error {
	if s.options.Redact == nil {
		return nil
	}
	was := *h
	header, changed, err := redacted(ctx, s.options.Redact, TypeSession, func(v *visitor) Header {
		v.header(&was)
		return was
	})
	if err != nil {
		return err
	}
	*h, h.Redacted = header, union(h.Redacted, changed)
	return nil
}

// redacted runs a visit of texts with a redactor and returns its result, with the paths of the fields that changed.
func redacted[T any](ctx context.Context, redactor func(Passage) string, kind EntryType, visit func(*visitor) T) (T, []string, error) {
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
					err = errNotText
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
	all := slices.Clone(first)
	for _, path := range second {
		if !slices.Contains(first, path) {
			all = append(all, path)
		}
	}
	return all
}

// markUnknown adds the paths of changed fields at the end of a line of an unknown type, where they take precedence.
func markUnknown(line []byte, changed []string) []byte {
	var marked struct {
		Redacted []string `json:"redacted"`
	}
	if json.Unmarshal(line, &marked) != nil {
		marked.Redacted = nil // the field means something else there
	}
	list, err := plainjson.Marshal(union(marked.Redacted, changed))
	if err != nil {
		panic(err) // a list of texts
	}
	end := bytes.LastIndexByte(line, '}')
	return slices.Concat(line[:end], []byte(`,"redacted":`), list, line[end:])
}
