package modelinfo

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/internal/modelname"
	"github.com/promptree-go/promptree/sizing"
)

// Model is what [Find] knows of a model.
type Model struct {
	Info
	// Asked is the name that was looked up.
	Asked string
	// Guess is the name of the model by which this one is guessed, as they are of one family. It is empty if the model is
	// known. A guess has no prices.
	Guess string
}

// Guessed reports whether the model is guessed by another of its family.
func (m Model) Guessed() bool { return m.Guess != "" }

// String returns the model's name, or for a guess "gpt-6.2: as gpt-6.1-sol, guessed".
func (m Model) String() string {
	if m.Guessed() {
		return fmt.Sprintf("%s: as %s, guessed", m.Asked, m.Guess)
	}
	return m.Name
}

// UnknownModelError is returned for a model of which neither it nor any of its family is in the table.
type UnknownModelError struct{ Model string }

func (e *UnknownModelError) Error() string {
	return fmt.Sprintf("modelinfo: model %q is unknown: read a catalogue that lists it by Read, or say its window and prices yourself", e.Model)
}

// UnknownPricesError is returned for a model whose prices are not known.
type UnknownPricesError struct{ Model string }

func (e *UnknownPricesError) Error() string {
	return fmt.Sprintf("modelinfo: the prices of model %q are unknown: read a row with its prices by Read, or write out a sizing.Prices", e.Model)
}

// Find returns what the package's own table knows of a model. See [Table.Find].
func Find(name string) (Model, error) { return Published().Find(name) }

// Prices returns the prices of a model by the package's own table. See [Table.Prices].
func Prices(name string) (sizing.Prices, error) { return Published().Prices(name) }

// Prices returns the prices of a model that is known, or an [*UnknownPricesError].
func (t *Table) Prices(name string) (sizing.Prices, error) {
	if m, err := t.Find(name); err == nil && m.Prices != nil {
		return *m.Prices, nil
	}
	return sizing.Prices{}, &UnknownPricesError{Model: name}
}

// Find returns what is known of a model. The name may be spelt as a gateway, a cloud or the maker spells it, with a
// provider or a region before it and a version or a date behind it: "openrouter/anthropic/claude-opus-4.5",
// "us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-4.5-opus" and "Claude Opus 4.5" are all claude-opus-4-5. A
// fine-tuned model ("ft:gpt-4o:team::id") is its base model, without prices.
//
// A model that is not known is guessed by the nearest of its family, the first word of its name: by the words that they
// share, then by the newest version that is not newer than its own. If there is none, the error is an
// [*UnknownModelError].
func (t *Table) Find(name string) (Model, error) {
	if len(name) > maxName {
		return Model{}, &UnknownModelError{Model: name}
	}
	t = t.orPublished()
	asked, tuned := strings.CutPrefix(name, "ft:")
	if tuned {
		asked, _, _ = strings.Cut(asked, ":")
	}
	for spelled := range modelname.Spellings(asked) {
		for _, exact := range []string{spelled, undated(spelled)} {
			if i, ok := t.byKey[keyOf(exact)]; ok {
				m := Model{Info: t.rows[i], Asked: name}
				if tuned {
					m.Prices = nil
				}
				return m, nil
			}
		}
	}
	for spelled := range modelname.Spellings(asked) {
		// A gateway may put a word of its own before the family's: "coding-glm-5.3".
		for p := partsOf(undated(spelled)); len(p.words) > 0; p.words = p.words[1:] {
			if i := t.nearest(p); i >= 0 {
				m := Model{Info: t.rows[i], Asked: name, Guess: t.rows[i].Name}
				m.Prices = nil
				return m, nil
			}
		}
	}
	return Model{}, &UnknownModelError{Model: name}
}

// maxName is the longest name that is looked up, in bytes. The work grows with its square.
const maxName = 512

// version is what may stand behind a name: a date with or without a year, a cloud's version, a tag.
var version = regexp.MustCompile(`(-20\d\d-?[01]\d-?[0-3]\d|-[01]\d[0-3]\d)?(-v\d+)?(:\d+)?(-latest)?$`)

// undated returns a name without the version behind it.
func undated(name string) string { return version.ReplaceAllString(name, "") }

// parts of a name: its words in order, and its numbers in order.
type parts struct {
	words   []string
	numbers []int
}

// segment is a word or a number of a name. Fireworks writes a dot between digits as a p.
var segment = regexp.MustCompile(`[a-z]+|\d+`)

var dotted = regexp.MustCompile(`(\d)p(\d)`)

func partsOf(name string) (p parts) {
	for _, s := range segment.FindAllString(dotted.ReplaceAllString(name, "$1-$2"), -1) {
		if n, err := strconv.Atoi(s); err == nil {
			p.numbers = append(p.numbers, n)
		} else {
			p.words = append(p.words, s)
		}
	}
	return p
}

// keyOf returns what spellings of one name share: the same words in any order, and the same numbers in the same order.
func keyOf(name string) string {
	p := partsOf(name)
	slices.Sort(p.words)
	return fmt.Sprint(p.words, p.numbers)
}

// nearest returns the index of the row by which a model is guessed, -1 if no model of its family is known.
func (t *Table) nearest(name parts) int {
	best, bestScore := -1, []int(nil)
	for i, row := range t.parts {
		if len(row.words) == 0 || row.words[0] != name.words[0] {
			continue
		}
		left := slices.Clone(name.words)
		for _, w := range row.words {
			if j := slices.Index(left, w); j >= 0 {
				left = slices.Delete(left, j, j+1)
			}
		}
		// The most shared words, a version that is not newer than its own, the nearest version, the fewest other words.
		shared, newer := len(name.words)-len(left), max(0, slices.Compare(row.numbers, name.numbers))
		score := []int{shared, -newer}
		c := slices.Compare(score, bestScore)
		if c == 0 {
			nearer := slices.Compare(row.numbers, t.parts[best].numbers) * (1 - 2*newer)
			c = cmp.Or(nearer, len(t.parts[best].words)-len(row.words))
		}
		if c > 0 {
			best, bestScore = i, score
		}
	}
	return best
}

// sorted returns the rows by maker and name.
func sorted(rows []Info) []Info {
	return slices.SortedFunc(slices.Values(rows), func(a, b Info) int {
		return cmp.Or(strings.Compare(a.Maker, b.Maker), strings.Compare(a.Name, b.Name))
	})
}
