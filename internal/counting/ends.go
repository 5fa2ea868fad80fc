package counting

import (
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// Ends is where a text may first and last be cut without a change to its count, whatever it is joined with: before
// head, where the count of the text may depend on what stands before it, and after tail, where it may depend on what
// comes next. Both are offsets in bytes, within the text and not at its ends. Where there is only one place they are
// equal, where there is none ok is false. Each end is scanned only as far as needed.
//
// A place beside a byte that is not UTF-8 is none, for the byte may become part of a character when the text is joined.
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

// safe tells that a text may be cut between two characters, given with their lengths in bytes.
func safe(j chat.Joiner, before rune, n int, after rune, m int) bool {
	return valid(before, n) && valid(after, m) && j.SafeCut(before, after)
}

// valid tells a character from a byte that is none.
func valid(r rune, n int) bool { return r != utf8.RuneError || n > 1 }
