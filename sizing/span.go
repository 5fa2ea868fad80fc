package sizing

import "unicode/utf8"

// Span is the count of a text as a value that joins with the spans of what stands before and after it, in any order of
// joining, exactly: it keeps the ends of the text, up to the first place where it may be cut and from the last, and
// only they are counted again. Where there is no such place (a long run of Chinese, or of base64) that is the whole
// text. A Span keeps its text alive. The zero Span is the empty text.
//
//	line := sizing.Measure(counter, "Hel").Join(counter, sizing.Measure(counter, "lo"))
//
// Two spans of one tokenizer are equal where their texts have the same ends and the same count: however a text was
// put together, its span is the one that [Measure] gives.
//
// In texts that are not valid UTF-8 the counts are exact with a tokenizer that takes each byte amiss for U+FFFD.
type Span struct {
	tokens int
	// head and tail are the text up to its first cut and from its last; without a cut, both are the whole text.
	head, tail             string
	headTokens, tailTokens int
	cut                    bool // there is one
}

// Measure counts a text.
func Measure(j Joiner, text string) Span {
	s := Span{tokens: j.CountText(text)}
	s.head, s.headTokens = text, s.tokens
	s.tail, s.tailTokens = text, s.tokens
	s.cutAt(j)
	return s
}

// cutAt looks for the cuts in a span that is all head and all tail.
func (s *Span) cutAt(j Joiner) {
	head, tail, ok := Ends(j, s.head)
	if !ok {
		return
	}
	text := s.head
	s.head, s.headTokens = text[:head], j.CountText(text[:head])
	s.tail, s.tailTokens = text[tail:], j.CountText(text[tail:])
	s.cut = true
}

// Tokens that the text counts.
func (s Span) Tokens() int { return s.tokens }

// Join is the span of this text and the next one after it, both measured by j.
func (s Span) Join(j Joiner, next Span) Span {
	switch {
	case s.head == "":
		return next
	case next.head == "":
		return s
	}
	before, n := utf8.DecodeLastRuneInString(s.tail)
	after, m := utf8.DecodeRuneInString(next.head)
	joined := Span{
		tokens: s.tokens + next.tokens,
		head:   s.head, headTokens: s.headTokens,
		tail: next.tail, tailTokens: next.tailTokens,
		cut: true,
	}
	if safe(j, before, n, after, m) {
		return joined
	}
	seam := Span{head: s.tail + next.head}
	seam.tail = seam.head
	seam.tokens = j.CountText(seam.head)
	seam.headTokens, seam.tailTokens = seam.tokens, seam.tokens
	joined.tokens += seam.tokens - s.tailTokens - next.headTokens
	if s.cut && next.cut {
		return joined
	}
	seam.cutAt(j)
	if !s.cut {
		joined.head, joined.headTokens = seam.head, seam.headTokens
	}
	if !next.cut {
		joined.tail, joined.tailTokens = seam.tail, seam.tailTokens
	}
	joined.cut = s.cut || next.cut || seam.cut
	return joined
}

// Ends is where a text may first and last be cut without a change to its count, whatever it is joined with: before
// head, where the count of the text may depend on what stands before it, and after tail, where it may depend on what
// comes next. Both are offsets in bytes, within the text and not at its ends. Where there is only one place they are
// equal, where there is none ok is false. Each end is scanned only as far as needed.
//
// A place beside a byte that is not UTF-8 is none, for the byte may become part of a character when the text is joined.
func Ends(j Joiner, text string) (head, tail int, ok bool) {
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
func safe(j Joiner, before rune, n int, after rune, m int) bool {
	return valid(before, n) && valid(after, m) && j.SafeCut(before, after)
}

// valid tells a character from a byte that is none.
func valid(r rune, n int) bool { return r != utf8.RuneError || n > 1 }
