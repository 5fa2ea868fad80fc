// Package split cuts texts into the words that tokens are merged in, as the regular expressions do that encodings and
// vocabularies publish. Each expression has a splitter of its own, with the places where a text may be cut in two.
package split

import "strings"

// Pattern splits a text into words. Texts are valid UTF-8.
type Pattern struct {
	// Next returns the end of the word that starts at i, which is below len(text).
	Next func(text string, i int) int
	// Cut says what it means to cut a text between two characters.
	Cut func(before, after rune) Cut
	// Gaps reports whether the expression leaves out some characters, which are then words too.
	Gaps bool
}

// Cut says what becomes of the words if a text is cut between two characters.
type Cut uint8

const (
	// Unsafe means that other words may come out.
	Unsafe Cut = iota
	// Within means that the pattern cuts no word between these two, but a cut there changes nothing besides: the words
	// of the two texts are those of the whole, with one of them in two.
	Within
	// Safe means that a word ends between the two, in the whole text as in the parts, and neither changes where the
	// other's word ends.
	Safe
)

// Cuts returns the cut between two characters for patterns that are applied one to the words of the other.
func Cuts(patterns []Pattern, before, after rune) Cut {
	for _, p := range patterns {
		if c := p.Cut(before, after); c != Within {
			return c
		}
	}
	return Within
}

// The patterns of OpenAI's encodings.
var (
	O200k  = Pattern{Next: o200k, Cut: o200kCut}
	Cl100k = Pattern{Next: cl100k, Cut: cl100kCut}
	GPT2   = Pattern{Next: gpt2, Cut: gpt2Cut}
)

// Published returns the pattern of a regular expression as it stands in vocabularies' files, and false if it is not
// known.
func Published(expression string) (Pattern, bool) {
	p, ok := published[expression]
	return p, ok
}

// published lists the expressions by the first model that became known for them.
var published = map[string]Pattern{
	// Llama 3, GLM-4, phi-4
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: llama3,
	`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`:       llama3,
	// Qwen 2 to 3
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: qwen2,
	// Qwen 3.5
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: qwen35,
	// Kimi K2
	`[\p{Han}]+|` + notHan + `*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+` + contractions + `|` + notHan + `+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*` +
		contractions + `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: kimi,
	// Mistral Nemo
	words + `|` + capitals + `|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`: tekken,
	// gpt-oss, Llama 4, phi-4-mini
	words + contractions + `|` + capitals + contractions + `|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`: o200kLongS,
	// GPT-2
	`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`: GPT2,
	// DeepSeek V3, three in a row
	`\p{N}{1,3}`:   {Next: threes, Cut: runCut(isNumber, Unsafe), Gaps: true},
	`[一-龥぀-ゟ゠-ヿ]+`: {Next: chinese, Cut: runCut(isChinese, Unsafe), Gaps: true},
	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|" +
		"\\s*[\r\n]+|\\s+(?!\\S)|\\s+": {Next: deepSeek, Cut: deepSeekCut, Gaps: true},
}

const (
	words        = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`
	capitals     = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`
	notHan       = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]`
	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`
)

// Variants of OpenAI's patterns.
var (
	llama3     = Pattern{Next: cl100kLongS, Cut: cl100kCut}
	qwen2      = Pattern{Next: oneNumber(cl100kLongS), Cut: oneNumberCut(cl100kCut)}
	qwen35     = Pattern{Next: oneNumber(cl100kMarks), Cut: oneNumberCut(marksCut)}
	kimi       = Pattern{Next: kimiNext, Cut: kimiCut}
	tekken     = Pattern{Next: oneNumber(noContraction), Cut: oneNumberCut(tekkenCut)}
	o200kLongS = Pattern{Next: o200kOrLongS, Cut: o200kCut}
)

// Digits is the stage that files name so: it parts numbers from all else, each alone or in runs.
func Digits(each bool) Pattern {
	if each {
		return Pattern{Next: digit, Cut: runCut(isNumeric, Safe)}
	}
	return Pattern{Next: digits, Cut: runCut(isNumeric, Unsafe)}
}

// Whole splits nothing.
var Whole = Pattern{
	Next: func(text string, i int) int { return len(text) },
	Cut:  func(before, after rune) Cut { return Unsafe },
}

// Spaces splits before each space.
var Spaces = Pattern{
	Next: func(text string, i int) int {
		if n := strings.IndexByte(text[i+1:], ' '); n >= 0 {
			return i + 1 + n
		}
		return len(text)
	},
	Cut: func(before, after rune) Cut {
		if after == ' ' {
			return Safe
		}
		return Within
	},
}
