// Package kept keeps what an agent has loaded as entries of its session, and says what of it a prompt must show.
package kept

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/textblock"
)

// Most is the largest number of items that [Fit] keeps. Each has up to two names, of which a session retains 256
// ([history.Session.Customs]); those of two stores leave a quarter to the application.
const Most = 48

// Store holds the items of one kind in a session. Each is a custom entry of its own, so writers in several processes do
// not undo each other's changes.
type Store struct {
	Session *history.Session
	// Kind begins the names of the entries. None begins with another.
	Kind string
}

// Item is something that was loaded.
type Item struct {
	// Name of the item, unique in its store.
	Name string `json:"-"`
	// Text that is shown, "" if the caller makes it from the name.
	Text string `json:"text,omitempty"`
	// Call is the id of the call whose result shows the item, "" if there was none.
	Call string `json:"-"`

	used int // items used later have higher numbers
}

// Change is a change to a store.
type Change struct {
	Keep []Item   // added, or replaced
	Use  []string // names of items that were used
	End  []string // names of items that are no longer kept
}

func (s Store) item(name string) string { return s.Kind + "/" + name }
func (s Store) use(name string) string  { return s.Kind + " used/" + name }

// Write writes a change, all or nothing. There must be a session.
func (s Store) Write(ctx context.Context, c Change) error {
	var entries []entry.Entry
	add := func(name, call string, data json.RawMessage) {
		entries = append(entries, entry.Entry{Body: entry.Custom{Name: name, Of: call, Data: data}})
	}
	for _, name := range c.End {
		add(s.item(name), "", nil)
		add(s.use(name), "", nil)
	}
	for _, i := range c.Keep {
		data, _ := plainjson.Marshal(i) // texts always encode
		add(s.item(i.Name), i.Call, data)
	}
	for _, name := range c.Use {
		add(s.use(name), "", json.RawMessage("true"))
	}
	if len(entries) == 0 {
		return nil
	}
	_, err := s.Session.Add(ctx, entries...)
	return err
}

// Items returns the items on the path to an entry, the leaf for "", in the order in which they were kept.
func (s Store) Items(ctx context.Context, id string) ([]Item, error) {
	if s.Session == nil {
		return nil, history.ErrSessionUnset
	}
	entries, err := s.Session.Customs(ctx, id, s.Kind)
	if err != nil {
		return nil, err
	}
	var items []Item
	used := map[string]int{}
	for n, e := range entries {
		b, _ := e.Body.(entry.Custom)
		if name, ok := strings.CutPrefix(b.Name, s.use("")); ok {
			used[name] = n
		} else if name, ok := strings.CutPrefix(b.Name, s.item("")); ok {
			i := Item{Call: b.Of, used: n}
			if json.Unmarshal(b.Data, &i) == nil {
				i.Name = name
				items = append(items, i)
			}
		}
	}
	for n := range items {
		items[n].used = max(items[n].used, used[items[n].Name])
	}
	return items, nil
}

// Names returns the names of items.
func Names(items []Item) (names []string) {
	for _, i := range items {
		names = append(names, i.Name)
	}
	return names
}

// Has reports whether an item has a name.
func Has(items []Item, name string) bool {
	return slices.ContainsFunc(items, func(i Item) bool { return i.Name == name })
}

// Latest returns the item that was used last. There must be one.
func Latest(items []Item) Item {
	return slices.MaxFunc(items, func(a, b Item) int { return a.used - b.used })
}

// Fit divides items, by leaving out the longest unused until the others take at most limit, and there are at most
// [Most]. Both results have the order of the items.
func Fit(items []Item, limit int, size func(Item) int) (fit, over []Item) {
	byUse := slices.Clone(items)
	slices.SortFunc(byUse, func(a, b Item) int { return b.used - a.used })
	for n, i := range byUse {
		if limit -= size(i); limit < 0 || n == Most {
			byUse = byUse[:n]
			break
		}
	}
	for _, i := range items {
		if Has(byUse, i.Name) {
			fit = append(fit, i)
		} else {
			over = append(over, i)
		}
	}
	return fit, over
}

// Shown reports whether a view shows a text in the result of a call, in full: the results of a round are cut, the largest
// first, if they take more than half of the prompt's budget ([history.RoundLimits]).
func Shown(v history.View, s elements.Sizing, call, text string) bool {
	for _, t := range v.Turns {
		for _, r := range t.Rounds {
			for _, e := range r.Results {
				if m := e.Message(); call != "" && m.ToolCallID == call && strings.Contains(m.Text(), text) {
					return whole(r, m, s)
				}
			}
		}
	}
	return false
}

// whole reports whether a result has no more tokens than each result of its round may have.
func whole(r history.Round, result chat.Message, s elements.Sizing) bool {
	own, sum := Tokens(s, result.Text()), 0
	for _, e := range r.Results {
		sum += min(own, Tokens(s, e.Message().Text()))
	}
	return sum <= s.PromptBudget/2
}

// Props returns the properties of an element, with a category if none is set, and with Required if required is set.
func Props(p elements.Props, category elements.Category, required bool) elements.Props {
	p.Category, p.Required = cmp.Or(p.Category, category), p.Required || required
	return p
}

// Sizing holds the sizing of the latest render, by which what is loaded later is measured.
type Sizing struct {
	last atomic.Pointer[elements.Sizing]
}

// Set records the sizing of a render.
func (s *Sizing) Set(last elements.Sizing) { s.last.Store(&last) }

// Get returns the sizing of the latest render, without a Tokenizer before the first.
func (s *Sizing) Get() elements.Sizing {
	return *cmp.Or(s.last.Load(), &elements.Sizing{})
}

// Tokens returns the tokens of a text, 0 before the first render.
func Tokens(s elements.Sizing, text string) int {
	if s.Tokenizer == nil {
		return 0
	}
	return s.Tokenizer.CountText(text)
}

// MostThat returns the largest number from low to high for which a condition holds that holds for all smaller ones, and low-1
// if it holds for none.
func MostThat(low, high int, holds func(int) bool) int {
	if holds(high) {
		return high
	}
	return low - 1 + sort.Search(high-low, func(n int) bool { return !holds(low + n) })
}

// Line returns a text from files or servers on one line of at most about limit bytes, such that it forges nothing.
func Line(text string, limit int) string {
	return plaintext.Outside(plaintext.OneLine(plaintext.Plain(text), limit))
}

// Message returns a message with a head and texts below it, each on lines of its own; nothing if there are no texts.
func Message(head string, texts []string) elements.Node {
	if len(texts) == 0 {
		return nil
	}
	m := elements.UserMessage{Children: elements.Nodes{textblock.Line(head)}}
	for _, text := range texts {
		m.Children = append(m.Children, textblock.Line(text))
	}
	return m
}

// The shares of a prompt's budget that sources take where the application sets none. Rest is what they leave for the
// conversation if all are used up.
const (
	Catalogue    = 0.05 // of skills, a line each
	Loaded       = 0.25 // texts of loaded skills
	Instructions = 0.25 // instruction files
	Idle         = 0.05 // the tools that search and call others, with the names of those
	Found        = 0.10 // definitions of tools that were found
	Rest         = 1 - (Catalogue + Loaded + Instructions + Idle + Found)
)

// Share returns the tokens of a share of a prompt's budget, up to all of it, or of its default if none is given.
func Share(given, otherwise float64, s elements.Sizing) int {
	if given > 0 {
		otherwise = min(given, 1)
	}
	return clamp.Share(otherwise, s.PromptBudget)
}

// Room returns the tokens of a [Share], up to half because larger results are cut ([history.RoundLimits]), that are left for
// texts in a [Message] with a head. Before the first render it is any number.
func Room(given, otherwise float64, head string, s elements.Sizing) int {
	if s.Tokenizer == nil {
		return math.MaxInt
	}
	return Share(min(given, 0.5), otherwise, s) - s.Tokenizer.CountText(head) - 8
}
