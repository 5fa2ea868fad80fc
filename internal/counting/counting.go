// Package counting says where counts of a tokenizer add up, and whether they may be kept.
package counting

import (
	"reflect"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// MayKeep reports whether the counts of a tokenizer may be kept and used again: it does not learn, and is comparable.
func MayKeep(t chat.Tokenizer) bool {
	if l, ok := t.(interface{ Learns() bool }); ok && l.Learns() {
		return false
	}
	return t != nil && reflect.ValueOf(t).Comparable()
}

// Message returns the tokens of a message: those of its frame, and of its texts, joined or each on its own.
func Message(j chat.Joiner, m chat.Message) int {
	n, joined := j.CountFrame(m)
	if joined {
		return n + j.CountText(m.Text())
	}
	for _, part := range m.Content {
		if text, ok := part.(chat.Text); ok {
			n += j.CountText(string(text))
		}
	}
	return n
}

// Bytes returns about how many bytes a part takes in the body of a request.
func Bytes(p chat.Part) int {
	switch p := p.(type) {
	case chat.Text:
		return len(p)
	case chat.Image:
		return len(p.URL)
	case chat.Document:
		return len(p.Data)
	case chat.Thinking:
		return len(p.Text) + len(p.Signature) + len(p.Encrypted)
	case chat.Opaque:
		return len(p.Value)
	}
	return 0
}

// Ends returns the first and the last place at which a text may be cut without a change to its count, whatever it is
// joined with. Before head its count may depend on what precedes it, after tail on what follows. Both are byte offsets
// within the text, not at its ends, and equal if there is only one place. If there is none, ok is false. Each end is
// scanned only as far as needed.
//
// A place beside a byte that is not UTF-8 does not count, because the byte may become part of a character when the text
// is joined.
func Ends(j chat.Joiner, text string) (head, tail int, ok bool) {
	before, n := utf8.DecodeRuneInString(text)
	for head = n; head < len(text); {
		after, m := utf8.DecodeRuneInString(text[head:])
		if safe(j, before, n, after, m) {
			ok = true
			break
		}
		before, n = after, m
		head += m
	}
	if !ok {
		return 0, 0, false
	}
	after, m := utf8.DecodeLastRuneInString(text)
	for tail = len(text) - m; tail > head; {
		before, n := utf8.DecodeLastRuneInString(text[:tail])
		if safe(j, before, n, after, m) {
			break
		}
		after, m = before, n
		tail -= n
	}
	return head, tail, true
}

// SafeCut reports whether a text may be cut between two parts of it without a change to its count, whatever they hold
// besides.
func SafeCut(j chat.Joiner, before, after string) bool {
	last, n := utf8.DecodeLastRuneInString(before)
	first, m := utf8.DecodeRuneInString(after)
	return safe(j, last, n, first, m)
}

// safe reports whether a text may be cut between two characters, given with their lengths in bytes.
func safe(j chat.Joiner, before rune, n int, after rune, m int) bool {
	return valid(before, n) && valid(after, m) && j.SafeCut(before, after)
}

// valid reports whether a rune is a character and not an invalid byte.
func valid(r rune, n int) bool { return r != utf8.RuneError || n > 1 }
