package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/counting"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// RoundLimits bound how much of a round is shown, as fractions of the prompt's budget ([elements.Sizing].PromptBudget).
// Texts are cut in the prompt only; the session keeps them whole.
type RoundLimits struct {
	// Results is the fraction for all tool results of one round together, above 0 and up to 1. A single result may take
	// all of it. The newest round gets less if less is left beside what must stay ([View.NewestWithin]).
	// Defaults to 0.5, as in Copilot Chat.
	Results float64
	// Arguments is the fraction for the arguments of one round's tool calls together. Defaults to 0.125.
	Arguments float64
	// Head is the fraction of a cut text that is taken from its start; the rest is from its end. Defaults to
	// [DefaultHead].
	Head float64
}

// DefaultHead is the fraction of a cut text that is taken from its start, as in Copilot Chat: the outcome is most often at
// the end of an output.
const DefaultHead = 0.4

// finishing holds what determines how messages are finished: the limits of a round in tokens, with defaults filled in.
type finishing struct {
	keep               bool // the tokenizer's counts do not change
	results, arguments int
	head               float64
	tokenizer          chat.Tokenizer
}

// finishing returns the limits for the prompt of a sizing.
func (l RoundLimits) finishing(s elements.Sizing) finishing {
	return finishing{
		keep: counting.MayKeep(s.Tokenizer), results: clamp.Share(cmp.Or(l.Results, 0.5), s.PromptBudget),
		arguments: clamp.Share(cmp.Or(l.Arguments, 0.125), s.PromptBudget), head: cmp.Or(l.Head, DefaultHead), tokenizer: s.Tokenizer,
	}
}

func (l RoundLimits) check() error {
	for _, share := range []struct {
		name  string
		value float64
	}{{"Results", l.Results}, {"Arguments", l.Arguments}, {"Head", l.Head}} {
		if !(share.value >= 0 && share.value <= 1) {
			return fmt.Errorf("history: Limits.%s is %v: it must be between 0 and 1", share.name, share.value)
		}
	}
	return nil
}

// Clip cuts the middle out of a text of more than limit tokens. The result, with a mark that states how much is
// missing, takes at most limit tokens. Head is the fraction of the kept text that comes from the start. Cuts are made
// at the end of a line if one is near. If not even the mark fits, the result is the mark alone, or the text if that
// takes no more than the mark. A limit or head below 0 counts as 0, a head above 1 as 1.
func Clip(t chat.Tokenizer, text string, limit int, head float64) string {
	return clip(t, text, limit, head, mark)
}

// clip implements [Clip], with the given marks.
func clip(t chat.Tokenizer, text string, limit int, head float64, mark marking) string {
	limit = max(0, limit)
	total := sizeUpTo(t, text, limit)
	if total <= limit {
		return text
	}
	size, unit := t.CountText, "tokens"
	if huge(text, limit) { // it is not counted, and its mark states bytes
		size, unit = func(text string) int { return len(text) }, "bytes"
	}
	missing := func(from, to int) string { return mark(size(text[from:to]), unit, from, to) }
	room := limit - t.CountText("\n"+mark(len(text), "tokens", 0, len(text))+"\n") - 4 // seams may add a token or two
	for room > 0 {
		first := min(max(0, clamp.Share(head, room)), room)
		start := prefix(t, text, first)
		end := suffix(t, text[len(start):], room-first)
		clipped := start + "\n" + missing(len(start), len(text)-len(end)) + "\n" + end
		if t.CountText(clipped) <= limit {
			return clipped
		}
		room -= max(1, room/20)
	}
	if alone := missing(0, len(text)); t.CountText(alone) < total {
		return alone
	}
	return text
}

// huge reports whether a text is so large that it exceeds limit tokens whatever it says, and would be slow to count:
// the longest tokens have 128 bytes.
func huge(text string, limit int) bool { return (len(text)-1<<20)/128 > max(0, limit) }

// sizeUpTo counts a text; for a huge one it returns limit+1.
func sizeUpTo(t chat.Tokenizer, text string, limit int) int {
	if huge(text, limit) {
		return max(0, limit) + 1
	}
	return t.CountText(text)
}

// prefix returns approximately the longest start of a text of at most limit tokens.
func prefix(t chat.Tokenizer, text string, limit int) string {
	n := fill(len(text), limit, func(n int) int { return t.CountText(text[:n]) }, func(n int) int { return plaintext.Align(text, n) })
	if line := strings.LastIndexByte(text[:n], '\n'); line > n-n/10-1 {
		n = line
	}
	return text[:n]
}

// suffix returns approximately the longest end of a text of at most limit tokens.
func suffix(t chat.Tokenizer, text string, limit int) string {
	n := fill(len(text), limit, func(n int) int { return t.CountText(text[len(text)-n:]) }, func(n int) int {
		for plaintext.Align(text, len(text)-n) < len(text)-n {
			n--
		}
		return n
	})
	if line := strings.IndexByte(text[len(text)-n:], '\n'); line >= 0 && line < n/10 {
		n -= line + 1
	}
	end := text[len(text)-n:]
	for len(end) > 0 && strings.HasSuffix(text[:len(text)-len(end)], `\`) { // which may escape what follows
		_, size := utf8.DecodeRuneInString(end)
		end = end[size:]
	}
	return end
}

// fill returns how many of size bytes take at most limit tokens: the maximum, to within a fiftieth. It counts few times
// and never much more than the limit, since a text may be far larger than any prompt.
func fill(size, limit int, count, align func(int) int) int {
	if limit <= 0 {
		return 0
	}
	fits, over := 0, align(min(size, 4*min(limit, size)))
	for {
		n := count(over)
		if n > limit {
			break
		}
		if fits = over; fits == size {
			return size
		}
		over = align(min(size, max(over+over/2, over+utf8.UTFMax)))
	}
	for {
		middle := align(fits + (over-fits)/2)
		if middle <= fits {
			return fits
		}
		if n := count(middle); n > limit {
			over = middle
		} else if fits = middle; n >= limit-limit/50 {
			return fits
		}
	}
}

// fairShare returns the most that each of some sizes may take of a total: a size below an equal share is granted in full, and
// what it leaves is shared by the others.
func fairShare(sizes []int, total int) int {
	share := 0
	sorted := slices.Sorted(slices.Values(sizes)) // small ones leave the rest of their share to larger ones
	for k, size := range sorted {
		if share = max(0, total) / (len(sorted) - k); size > share {
			break
		}
		total -= size
	}
	return share
}

// clipParts cuts the text among parts so that together they take at most limit tokens. Other parts stay, except that
// one larger than the limit is replaced by a note. The handle says where all of them can be read, "" for nowhere.
func clipParts(t chat.Tokenizer, parts chat.Parts, limit int, head float64, mark marking, handle string) chat.Parts {
	var text strings.Builder
	at, others, replaced := -1, 0, false
	kept := make(chat.Parts, 0, len(parts))
	for _, p := range parts {
		s, isText := p.(chat.Text)
		if !isText {
			n, note := t.CountPart(p), leftOut(t, p, handle)
			if n <= limit || n <= t.CountText(note) {
				kept = append(kept, p)
				others += n
				continue
			}
			s, replaced = chat.Text(note), true // it cannot be cut
		}
		if at < 0 {
			at = len(kept)
			kept = append(kept, nil)
		} else {
			text.WriteByte('\n')
		}
		text.WriteString(string(s))
	}
	if at < 0 {
		return parts
	}
	whole := text.String()
	clipped := clip(t, whole, limit-others, head, mark)
	if clipped == whole && !replaced {
		return parts
	}
	kept[at] = chat.Text(clipped)
	return kept
}

// leftOut returns the note that replaces a part that is too large to show and cannot be cut.
func leftOut(t chat.Tokenizer, p chat.Part, handle string) string {
	kind := "a value"
	switch p := p.(type) {
	case chat.Image:
		kind = "an image"
	case chat.Document:
		kind = "a document (" + p.MediaType + ")"
	}
	return plaintext.LeftOut(fmt.Sprintf("%s of %d tokens", kind, t.CountPart(p)), handle)
}

// clipArguments cuts the long strings in a call's arguments, which exceed limit tokens, so that they take at most that many.
// The result is still JSON, with its keys in order. Arguments without strings to cut, or that are not JSON, become one string
// in an object of their own. Arguments that would not shrink stay as they are.
func clipArguments(t chat.Tokenizer, arguments string, limit int, head float64, mark marking) string {
	for each := limit; each >= 16; each /= 2 {
		clipped, ok := mapStrings(arguments, func(s string) string {
			return clip(t, s, each, head, mark)
		})
		if !ok {
			break
		}
		if sizeUpTo(t, clipped, limit) <= limit {
			return clipped
		}
	}
	for room := limit; ; room -= max(1, room/8) {
		whole := object("clipped", clip(t, arguments, room, head, mark))
		switch n := t.CountText(whole); {
		case n <= limit:
			return whole
		case room <= 1 && n < sizeUpTo(t, arguments, n):
			return whole
		case room <= 1:
			return arguments
		}
	}
}

// object returns a JSON object of one text.
func object(key, text string) string {
	line, _ := plainjson.Marshal(map[string]string{key: text}) // texts always encode
	return string(line)
}

// mapStrings rewrites the strings in a JSON value and leaves everything else as it is, the keys included. It reports false
// for what is not JSON.
func mapStrings(text string, f func(string) string) (string, bool) {
	if !json.Valid([]byte(text)) {
		return "", false
	}
	return string(plainjson.Replace([]byte(text), func(t plainjson.Text) string {
		if t.IsKey || t.IsNumber {
			return t.Text
		}
		return f(t.Text)
	})), true
}

// partsUpTo counts parts one by one. A huge text counts as one token more than the limit.
func partsUpTo(t chat.Tokenizer, parts chat.Parts, limit int) int {
	n := 0
	for _, p := range parts {
		if text, ok := p.(chat.Text); ok {
			n += sizeUpTo(t, string(text), limit)
		} else if p != nil {
			n += t.CountPart(p)
		}
	}
	return n
}
