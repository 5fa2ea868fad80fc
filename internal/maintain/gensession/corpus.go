package main

import (
	"embed"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed texts/*.txt
var texts embed.FS

// corpus holds the word lists and templates.
type corpus struct {
	words     map[string][]string // by the name of the list
	templates map[string][]string // by the name of the file
}

// loadCorpus reads texts/: words.txt has a list a line, every other file has templates separated by lines of "%%".
func loadCorpus() *corpus {
	c := corpus{words: map[string][]string{}, templates: map[string][]string{}}
	files, err := texts.ReadDir("texts")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		raw, err := texts.ReadFile("texts/" + f.Name())
		if err != nil {
			panic(err)
		}
		text := strings.TrimSpace(strings.ReplaceAll(string(raw), "\r\n", "\n"))
		if f.Name() != "words.txt" {
			c.templates[strings.TrimSuffix(f.Name(), ".txt")] = strings.Split(text, "\n%%\n")
			continue
		}
		for line := range strings.SplitSeq(text, "\n") {
			name, list, _ := strings.Cut(line, ": ")
			c.words[name] = strings.Fields(list)
		}
	}
	return &c
}

// slots holds the values of a template's slots by name.
type slots map[string]string

// writer fills templates. A slot is a name in braces: a letter for the kind of word, and a number. The same slot has
// the same value throughout a template; with a capital letter it is the same word capitalised.
type writer struct {
	*dice
	*corpus
	nouns []string // preferred ones
}

// fill fills a template. bound holds the values of slots that are set already; fill adds those of the others.
func (w *writer) fill(template string, bound slots) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		if !found {
			b.WriteString(before)
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		value, ok := w.slot(name, bound)
		if !ok { // the brace is part of the text
			b.WriteString(before + "{")
			template = rest
			continue
		}
		b.WriteString(article(before, value) + value)
		template = after
	}
}

// article returns the text before a word, with an "a" at its end made "an" if the word begins with a vowel.
func article(before, word string) string {
	if word == "" || !strings.HasSuffix(strings.ToLower(before), " a ") || !strings.Contains("aeiou", word[:1]) {
		return before
	}
	return before[:len(before)-1] + "n "
}

// template fills a random template of a kind.
func (w *writer) template(kind string, bound slots) string {
	return w.fill(pick(w.dice, w.templates[kind]), bound)
}

// slot returns the value of a slot, and false if there is no such slot.
func (w *writer) slot(name string, bound slots) (string, bool) {
	if v, ok := bound[name]; ok {
		return v, true
	}
	class := strings.TrimRight(name, "123456789")
	numbered := class != name
	if lower := strings.ToLower(name); numbered && len(class) == 1 && lower != name {
		v, ok := w.slot(lower, bound)
		return capital(v), ok
	}
	v, ok := w.value(class, numbered)
	for tries := 0; ok && tries < 8 && taken(bound, v); tries++ {
		v, ok = w.value(class, numbered)
	}
	if ok {
		bound[name] = v
	}
	return v, ok
}

func taken(bound slots, value string) bool {
	for _, v := range bound {
		if v == value {
			return true
		}
	}
	return false
}

// value returns a word or number of a class. Classes of one letter take a number.
func (w *writer) value(class string, numbered bool) (string, bool) {
	if numbered {
		switch class {
		case "n":
			return w.noun(), true
		case "v":
			return pick(w.dice, w.words["verbs"]), true
		case "a":
			return pick(w.dice, w.words["adjectives"]), true
		case "c":
			return pick(w.dice, w.words["adjectives"]) + capital(w.noun()), true
		case "d":
			return fmt.Sprint(w.between(2, 9)), true
		case "e":
			return fmt.Sprint(w.between(10, 99)), true
		case "k":
			return fmt.Sprint(w.between(101, 9_999)), true
		case "h":
			return w.letters(7, hexDigits), true
		case "city":
			return w.name("cities"), true
		case "tm":
			return w.clock(), true
		}
		return "", false
	}
	switch class {
	case "person":
		return w.name("people"), true
	case "city":
		return w.name("cities"), true
	case "tm":
		return w.clock(), true
	case "dur":
		return pick(w.dice, []string{"250*time.Millisecond", "2*time.Second", "30*time.Second", "5*time.Minute",
			"time.Minute", "90*time.Second", "1500*time.Millisecond", "10*time.Second"}), true
	case "ms":
		return fmt.Sprintf("%dms", w.between(1, 900)), true
	case "method":
		return pick(w.dice, []string{"GET", "GET", "GET", "POST", "PUT", "DELETE", "PATCH"}), true
	case "status":
		return pick(w.dice, []string{"200", "200", "201", "204", "304", "400", "404", "409", "410", "500", "503"}), true
	}
	return "", false
}

func (w *writer) noun() string {
	if len(w.nouns) > 0 && w.percent(75) {
		return pick(w.dice, w.nouns)
	}
	return pick(w.dice, w.words["nouns"])
}

func (w *writer) name(list string) string {
	return strings.ReplaceAll(pick(w.dice, w.words[list]), "_", " ")
}

func (w *writer) clock() string {
	return fmt.Sprintf("2026-01-%02dT%02d:%02d:%02dZ", w.between(2, 15), w.n(24), w.n(60), w.n(60))
}

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}
