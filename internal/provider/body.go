package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// The limits for reading an answer, in bytes.
const (
	MaxAnswer = 64 << 20  // of an answer that is not streamed
	MaxStream = 128 << 20 // of a stream
	MaxEvent  = 32 << 20  // of one event of a stream
)

// SizeError is returned for an answer that exceeds a limit.
type SizeError struct {
	What string // what exceeds it
	Most int64  // bytes
}

func (e *SizeError) Error() string { return fmt.Sprintf("%s is larger than %d bytes", e.What, e.Most) }

// boundedBody is a body that fails once it, or an event in it, exceeds a limit.
type boundedBody struct {
	io.ReadCloser
	most, mostEvent int64 // mostEvent is 0 if there are no events

	read, event int64
	inLine      bool   // the current line is not empty
	line        []byte // its first bytes
	done        bool   // a line was the mark of the end
	err         error

	start []byte // the body so far if it is JSON and not longer than maxRefusal: an error may be in it
	other bool   // the body is not JSON, or longer
}

func newBody(body io.ReadCloser, length int64, streamed bool) *boundedBody {
	b := &boundedBody{ReadCloser: body, most: MaxAnswer}
	if streamed {
		b.most, b.mostEvent = MaxStream, MaxEvent
	}
	b.check("the answer", length, b.most)
	return b
}

// Read implements [io.Reader]. For a stream it reads until p is full or has the end of a line: the SDKs scan a line from
// its start whenever more of it arrives, which would take time quadratic in its length.
func (b *boundedBody) Read(p []byte) (int, error) {
	n := 0
	for b.err == nil {
		more, err := b.ReadCloser.Read(p[n:])
		piece := p[n : n+more]
		n += more
		b.read += int64(more)
		b.check("the answer", b.read, b.most)
		b.keep(piece)
		if b.mostEvent > 0 {
			b.count(piece)
		}
		if b.err == nil && (err != nil || more == 0 || b.mostEvent == 0 || n == len(p) || bytes.IndexByte(piece, '\n') >= 0) {
			return n, err
		}
	}
	return 0, b.err
}

// doneLine is the line that ends a stream of Chat Completions, without spaces.
const doneLine = "data:[DONE]"

// keep keeps the next bytes of the body if it may be the JSON of an error.
func (b *boundedBody) keep(p []byte) {
	if b.other {
		return
	}
	if len(b.start) == 0 {
		if p = bytes.TrimLeft(p, " \t\r\n"); len(p) == 0 {
			return
		}
		b.other = p[0] != '{' && p[0] != '['
	}
	if b.other = b.other || len(b.start)+len(p) > maxRefusal; b.other {
		b.start = nil
		return
	}
	b.start = append(b.start, p...)
}

func (b *boundedBody) check(what string, size, most int64) {
	if size > most && b.err == nil {
		b.err = &SizeError{What: what, Most: most}
	}
}

// count counts the bytes since the last empty line, which ends an event.
func (b *boundedBody) count(p []byte) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		b.event += int64(len(line))
		b.inLine = b.inLine || len(bytes.TrimSuffix(line, []byte("\r"))) > 0
		b.line = append(b.line, line[:min(len(line), len(doneLine)+2-len(b.line))]...)
		b.done = b.done || strings.ReplaceAll(strings.TrimRight(string(b.line), "\r "), " ", "") == doneLine
		b.check("an event of the answer", b.event, b.mostEvent)
		if ended {
			if !b.inLine {
				b.event = 0
			}
			b.inLine, b.line = false, b.line[:0]
		}
		p = rest
	}
}

// The limits for reading and keeping the body of a refusal, in bytes. A server may echo the request in it.
const (
	maxRefusal     = 1 << 20
	maxKeptRefusal = 4 << 10
	maxRefusalText = 1500
	maxNumber      = 40 // of a number
)

// refusalBody is the body of a refusal without secrets, cut to maxKeptRefusal bytes. If it is JSON, its texts are cut, so
// that it can still be parsed. It is read on demand; an incomplete body is used as far as it came.
type refusalBody struct {
	io.ReadCloser
	secrets Secrets
	kept    *bytes.Reader
}

// Read implements [io.Reader].
func (b *refusalBody) Read(p []byte) (int, error) {
	if b.kept == nil {
		raw, _ := io.ReadAll(io.LimitReader(b.ReadCloser, maxRefusal+1))
		b.kept = bytes.NewReader(cutRefusal(raw, b.secrets))
	}
	return b.kept.Read(p)
}

func cutRefusal(raw []byte, s Secrets) []byte {
	var object any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if len(raw) <= maxRefusal && json.Valid(raw) && d.Decode(&object) == nil {
		kept := cutTexts(object, s)
		if reflect.DeepEqual(kept, object) && len(raw) <= maxKeptRefusal && s.Mask(string(raw)) == string(raw) {
			return raw
		}
		for _, fields := range [...]any{kept, errorFields(kept)} {
			if short, err := plainjson.Marshal(fields); err == nil && len(short) <= maxKeptRefusal {
				return short
			}
		}
	}
	return []byte(s.maskAndCut(string(raw), maxKeptRefusal))
}

// cutTexts returns JSON with its texts cut, the secrets in them masked, and null for numbers that are too long.
func cutTexts(v any, s Secrets) any {
	cut := func(text string, most int) string { return plaintext.Cut(s.Mask(text), most) }
	switch v := v.(type) {
	case string:
		return cut(v, maxRefusalText)
	case json.Number:
		if number := v.String(); cut(number, maxNumber) != number {
			return nil
		}
	case []any:
		kept := make([]any, len(v))
		for i := range v {
			kept[i] = cutTexts(v[i], s)
		}
		return kept
	case map[string]any:
		kept := make(map[string]any, len(v))
		for key, value := range v {
			kept[cut(key, maxRefusalText)] = cutTexts(value, s)
		}
		return kept
	}
	return v
}

// errorFields returns the fields that the errors of all providers have, from an error's object or the one within it.
func errorFields(v any) any {
	object, _ := v.(map[string]any)
	kept := map[string]any{}
	for key, value := range object {
		inner, ok := value.(map[string]any)
		switch {
		case key == "error" && ok:
			kept[key] = errorFields(inner)
		case slices.Contains([]string{"error", "type", "code", "status", "message", "n_ctx", "n_prompt_tokens"}, key) && !ok:
			if _, list := value.([]any); !list {
				kept[key] = value
			}
		}
	}
	return kept
}
