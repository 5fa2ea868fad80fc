// Package plaintext writes messages as text for a model to read, between tags that no message can open or close.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
)

// OneLine folds white space and cuts a text as [Cut] does.
func OneLine(s string, limit int) string { return Cut(strings.Join(strings.Fields(s), " "), limit) }

// PathLine returns a path from outside on a single line.
func PathLine(path string) string { return PathLines([]string{path})[0] }

// PathLines returns paths from outside, of which there are some, on a line each. They forge nothing together either.
func PathLines(paths []string) []string {
	lines := make([]string, len(paths))
	for i, path := range paths {
		lines[i] = lineEnds.Replace(path)
	}
	return strings.Split(Outside(strings.Join(lines, "\n")), "\n")
}

var lineEnds = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\v", `\v`, "\f", `\f`, "\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`)

// Cut cuts a text that is longer than limit bytes at the end of a character, and appends an ellipsis.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:Align(s, limit)] + "…"
}

// Align returns an offset of a text, or that of the character in which it is.
func Align(text string, at int) int {
	for i := max(0, at-utf8.UTFMax+1); i < at && at < len(text); i++ {
		if _, size := utf8.DecodeRuneInString(text[i:]); i+size > at {
			return i
		}
	}
	return at
}

// Invisible reports whether a character is not visible.
func Invisible(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' || r == '\u200B' }

// Name returns the name of a tool, from outside, without white space and signs that names do not have.
func Name(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.:/", r) {
			return r
		}
		return '_'
	}, name)
}

// Plain returns a text from a file or a server with line feeds as line ends, and without other control characters and bytes
// that are not UTF-8.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case unicode.IsControl(r) && r != '\n' && r != '\t', r == '\uFEFF':
			return -1
		}
		return r
	}, strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\r\n", "\n"))
}

// Title returns the title of a summary: its first heading of level 1, or else its first line, at most 80 bytes.
func Title(summary string) string {
	first := ""
	for line := range strings.Lines(summary) {
		if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok && strings.TrimSpace(heading) != "" {
			return OneLine(heading, 80)
		}
		if first == "" {
			first = strings.TrimSpace(strings.TrimLeft(line, "#*-0123456789. \t"))
		}
	}
	return OneLine(first, 80)
}

// sampleMost is how many bytes are measured to estimate the characters of a token. Tool results are measured only if
// the other messages have fewer than sampleLeast bytes.
const sampleMost, sampleLeast = 16_000, 400

// CharactersPerToken estimates the characters (code points) of a token in messages, from 0.5 to 8: about 4 in English, 1
// to 2 in Chinese. Without a tokenizer it is 4.
func CharactersPerToken(t chat.Tokenizer, messages []chat.Message) float64 {
	characters, tokens, left := 0, 0, sampleMost
	sample := func(tools bool) {
		for i := len(messages) - 1; i >= 0 && left > 0; i-- {
			if (messages[i].Role == chat.RoleTool) != tools {
				continue
			}
			text := strings.TrimSpace(messages[i].Text())
			text = text[:Align(text, min(left, len(text)))]
			left -= len(text)
			characters += utf8.RuneCountInString(text)
			tokens += t.CountText(text)
		}
	}
	if t != nil {
		if sample(false); sampleMost-left < sampleLeast {
			sample(true)
		}
	}
	if tokens == 0 {
		return 4
	}
	return min(max(float64(characters)/float64(tokens), 0.5), 8)
}
