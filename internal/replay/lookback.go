package replay

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/toolname"
	"github.com/promptree-go/promptree/sizing"
)

// Lookbacks are answers that use what was said before and the request no longer showed, so that an agent would have had to look
// it up. They are told by two proxies that need no model.
type Lookbacks struct {
	// Edits are answers with an edit whose old text has a line that was said before and was not shown; of Checkable with an
	// edit of a line that was said before.
	Edits     int `json:"edits"`
	Checkable int `json:"checkableEdits"`
	// Identifiers are other answers with an identifier or a path that was said before and was not shown.
	Identifiers int `json:"identifiers"`
	// Needed identifiers in all answers that were said before, and Shown those that the request showed.
	Needed int `json:"neededIdentifiers"`
	Shown  int `json:"shownIdentifiers"`
	// NeededLater are identifiers in answers that were said before the compaction before the answer, each once a compaction;
	// Carried are those that the first request after the compaction showed, in the summary or in what was kept.
	NeededLater int `json:"neededLaterIdentifiers"`
	Carried     int `json:"carriedIdentifiers"`
	// Dollars of a further request for each, of what it brings back (2,000 tokens of each source, 6,000 at most), and of
	// carrying that on until the next compaction.
	Dollars float64 `json:"dollars"`
}

// plus adds those of another run.
func (l *Lookbacks) plus(other Lookbacks) {
	l.Edits += other.Edits
	l.Checkable += other.Checkable
	l.Identifiers += other.Identifiers
	l.Needed += other.Needed
	l.Shown += other.Shown
	l.NeededLater += other.NeededLater
	l.Carried += other.Carried
	l.Dollars += other.Dollars
}

const (
	sourceTokens  = 2_000 // of one message that is looked up
	sourcesTokens = 6_000 // of all of them for one answer
	askTokens     = 100   // of the answer that looks something up

	leastLine       = 12 // bytes of a line that is looked for
	leastIdentifier = 6
)

// identifier matches names with a mark of code in them: paths, and words with an underscore, a dot, or a capital letter inside.
var identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*(?:[./_-][A-Za-z0-9_]+)+|[a-z]+[A-Z][A-Za-z0-9]*`)

// looker looks for look-backs in a run.
type looker struct {
	tokenizer chat.Tokenizer
	biller    *biller

	lines, names map[string]int // where each was said last, in said
	said         []string       // the texts of each message
	fetched      []string       // looked up since the last compaction
	carried      int            // tokens of those
	latest       compacted
}

// compacted is what the first request after a compaction showed.
type compacted struct {
	pending bool            // it is still to come
	shown   string          // its text
	before  map[string]bool // identifiers that were said before it, and whether an answer has needed them since
}

func newLooker(t chat.Tokenizer, b *biller) *looker {
	return &looker{tokenizer: t, biller: b, lines: map[string]int{}, names: map[string]int{}}
}

// texts returns what a message says: its text, and the texts in the arguments of its calls.
func texts(m chat.Message) string {
	all := []string{m.Text()}
	for _, c := range m.ToolCalls {
		var v any
		if json.Unmarshal([]byte(c.Arguments), &v) != nil {
			v = c.Arguments
		}
		all = append(all, stringsIn(v)...)
	}
	return strings.Join(all, "\n")
}

// stringsIn lists the texts in a JSON value.
func stringsIn(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			list = append(list, stringsIn(one)...)
		}
	case map[string]any:
		for _, one := range v {
			list = append(list, stringsIn(one)...)
		}
	}
	return list
}

// linesOf lists the lines of a text that are long enough to be looked for.
func linesOf(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= leastLine {
			list = append(list, line)
		}
	}
	return list
}

// namesIn lists the identifiers of a text.
func namesIn(text string) (list []string) {
	for _, name := range identifier.FindAllString(text, -1) {
		if len(name) >= leastIdentifier {
			list = append(list, name)
		}
	}
	return list
}

// add takes in a message of the session.
func (l *looker) add(m chat.Message) {
	text := texts(m)
	n := len(l.said)
	l.said = append(l.said, text)
	for _, line := range linesOf(text) {
		l.lines[line] = n
	}
	for _, name := range namesIn(text) {
		l.names[name] = n
	}
}

// compacted forgets what was looked up: it is covered.
func (l *looker) compacted() { l.fetched, l.carried, l.latest.pending = nil, 0, true }

// shows takes in what the request after a compaction shows.
func (l *looker) shows(text string) {
	l.latest = compacted{shown: text, before: make(map[string]bool, len(l.names))}
	for name := range l.names {
		l.latest.before[name] = false
	}
}

// later looks whether a name that an answer needs was carried over the compaction.
func (l *looker) later(b *Lookbacks, name string) {
	if needed, said := l.latest.before[name]; !said || needed {
		return
	}
	l.latest.before[name] = true
	b.NeededLater++
	if strings.Contains(l.latest.shown, name) {
		b.Carried++
	}
}

// answer looks through the answer to a request.
func (l *looker) answer(b *Lookbacks, request []chat.Message, tokens int, answer chat.Message) {
	var shown strings.Builder
	for _, m := range request {
		shown.WriteString(texts(m) + "\n")
	}
	if l.latest.pending {
		l.shows(shown.String())
	}
	for _, text := range l.fetched {
		shown.WriteString(text + "\n")
	}
	visible := shown.String()
	gone := map[int]bool{} // messages that must be looked up
	check := func(places map[string]int, what string) (known, isShown bool) {
		at, known := places[what]
		isShown = known && strings.Contains(visible, what)
		if known && !isShown {
			gone[at] = true
		}
		return known, isShown
	}
	checkable := false
	for _, c := range answer.ToolCalls {
		for _, line := range linesOf(oldText(c)) {
			known, _ := check(l.lines, line)
			checkable = checkable || known
		}
	}
	if checkable {
		b.Checkable++
	}
	edit := len(gone) > 0
	once := map[string]bool{}
	for _, name := range namesIn(texts(answer)) {
		if once[name] {
			continue
		}
		once[name] = true
		l.later(b, name)
		if known, isShown := check(l.names, name); known {
			b.Needed++
			if isShown {
				b.Shown++
			}
		}
	}
	switch {
	case edit:
		b.Edits++
	case len(gone) > 0:
		b.Identifiers++
	}
	l.price(b, tokens, gone)
}

// price adds what it costs to look messages up, and to carry what was looked up before.
func (l *looker) price(b *Lookbacks, tokens int, gone map[int]bool) {
	if l.biller == nil {
		return
	}
	p, input := l.biller.prices, tokens+l.biller.fixed
	b.Dollars += p.Reading(input, l.carried)
	if len(gone) == 0 {
		return
	}
	brought := 0
	for at := range gone {
		l.fetched = append(l.fetched, l.said[at])
		brought += min(sourceTokens, l.tokenizer.CountText(l.said[at]))
	}
	brought = min(brought, sourcesTokens)
	b.Dollars += p.Of(p.Foretell(sizing.Planned{Input: input + brought, Cached: input, Output: askTokens})).Total()
	l.carried += brought
}

// oldText returns the text that an edit replaces; "" of any other call.
func oldText(c chat.ToolCall) string {
	edits := map[string]bool{}
	for _, name := range toolname.Names(toolname.Edit) {
		edits[name] = true
	}
	if is, _ := toolname.Find(edits, c.Name); !is {
		return ""
	}
	var arguments struct {
		OldText   string `json:"oldText"`
		OldString string `json:"old_string"`
		OldStr    string `json:"old_str"`
	}
	if json.Unmarshal([]byte(c.Arguments), &arguments) != nil {
		return ""
	}
	return arguments.OldText + arguments.OldString + arguments.OldStr
}
