package vocabulary

import (
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/sizing/internal/split"
)

// stages are what a file says happens to a text before its words are merged, in this order.
type stages struct {
	compose bool // NFC
	// spaces reports whether a space and ▁ are one: files of sentencepiece's vocabularies replace the one by the other.
	// Here ▁ becomes a space, in texts and tokens.
	spaces bool
	// prefix says where a space is put before a text.
	prefix prefix
	// byteLevel reports whether tokens are of bytes, else of characters.
	byteLevel bool
	// words split a text: the first all of it, each other the words of the one before.
	words []split.Pattern
}

type prefix uint8

const (
	never        prefix = iota
	always              // before a text when it is normalized, and after an added token in it
	unlessSpace         // the same when it is split, unless one is there
	startOfInput        // before a text unless one is there, but not after an added token
)

const lowerOneEighthBlock = "▁"

func (s *stages) normalizer(n *stage) error {
	if n == nil {
		return nil
	}
	switch n.Type {
	case "Sequence":
		for i := range n.Normalizers {
			if err := s.normalizer(&n.Normalizers[i]); err != nil {
				return err
			}
		}
	case "NFC":
		if s.spaces || s.prefix != never {
			return n.unsupported("order of normalizers, NFC after others")
		}
		s.compose = true
	case "Prepend":
		if n.Prepend != lowerOneEighthBlock || s.spaces {
			return n.unsupported("normalizer")
		}
		s.prefix = always
	case "Replace":
		if !is(n.Pattern.String, " ", "") || n.Content != lowerOneEighthBlock {
			return n.unsupported("normalizer")
		}
		s.spaces = true
	default:
		return n.unsupported("normalizer")
	}
	return nil
}

func (s *stages) preTokenizer(p *stage) error {
	if p == nil {
		return nil
	}
	switch p.Type {
	case "Sequence":
		for i := range p.PreTokenizers {
			if err := s.preTokenizer(&p.PreTokenizers[i]); err != nil {
				return err
			}
		}
		return nil
	case "Metaspace":
		return s.metaspace(p)
	}
	if s.byteLevel {
		return p.unsupported("pre-tokenizer after ByteLevel")
	}
	switch p.Type {
	case "ByteLevel":
		if p.AddPrefixSpace {
			if len(s.words) > 0 || s.prefix != never {
				return p.unsupported("pre-tokenizer, a space before every word")
			}
			s.prefix = unlessSpace
		}
		if is(p.UseRegex, true, true) {
			s.words = append(s.words, split.GPT2)
		}
		s.byteLevel = true
	case "Digits":
		s.words = append(s.words, split.Digits(p.IndividualDigits))
	case "Split":
		if s.spaces && is(p.Pattern.String, " ", "") {
			return nil // no text has a space any more
		}
		if p.Pattern.Regex == nil {
			return p.unsupported("pre-tokenizer")
		}
		known, ok := split.Published(*p.Pattern.Regex)
		if !ok {
			return &UnsupportedError{"split pattern", strconv.Quote(*p.Pattern.Regex)}
		}
		isolated := p.Behavior == "Isolated" && !p.Invert
		removed := p.Behavior == "Removed" && p.Invert && !known.Gaps
		if !isolated && !removed {
			return p.unsupported("split behavior")
		}
		s.words = append(s.words, known)
	default:
		return p.unsupported("pre-tokenizer")
	}
	return nil
}

func (s *stages) metaspace(p *stage) error {
	if p.Replacement != lowerOneEighthBlock || len(s.words) > 0 || s.byteLevel || s.prefix != never || s.compose {
		return p.unsupported("pre-tokenizer")
	}
	s.spaces = true
	switch scheme := p.PrependScheme; {
	case is(scheme, "always", "always"):
		s.prefix = unlessSpace
	case is(scheme, "first", "always"):
		s.prefix = startOfInput
	case !is(scheme, "never", "always"):
		return p.unsupported("pre-tokenizer")
	}
	if is(p.Split, true, true) {
		s.words = append(s.words, split.Spaces)
	}
	return nil
}

// normalize returns what a text becomes before added tokens are found in it once more.
func (s *stages) normalize(text string) string {
	if s.compose {
		text = composed(text)
	}
	if s.prefix == always {
		text = " " + text
	}
	if s.spaces {
		text = strings.ReplaceAll(text, lowerOneEighthBlock, " ")
	}
	return text
}

// prefixed returns a text with the space that is put before it after that. It is told whether the text starts the input.
func (s *stages) prefixed(text string, atStart bool) string {
	if s.prefix <= always || text[0] == ' ' || s.prefix == startOfInput && !atStart {
		return text
	}
	return " " + text
}

// cut reports whether a text may be cut between two characters without a change to its words.
func (s *stages) cut(before, after rune) bool {
	if s.spaces {
		before, after = spaced(before), spaced(after)
	}
	if s.compose && !standsAlone(after) {
		return false
	}
	if s.compose && !standsAlone(before) {
		// It may have become a letter, a mark or a symbol with what is before it.
		for _, composite := range "aあ\u0301≠" {
			if split.Cuts(s.words, composite, after) != split.Safe {
				return false
			}
		}
	}
	return split.Cuts(s.words, before, after) == split.Safe
}

func spaced(r rune) rune {
	if r == '▁' {
		return ' '
	}
	return r
}
