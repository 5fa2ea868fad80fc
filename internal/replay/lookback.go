package replay

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/toolname"
	"github.com/promptree-go/promptree/sizing"
)

// Lookbacks counts answers that use words said earlier in the session that the request no longer shows, so that an
// agent would have had to look them up. Two proxies find them without a model.
type Lookbacks struct {
	// Edits counts answers with an edit whose old text has a line that was said before and is not shown. Checkable
	// counts answers with an edit of any line that was said before.
	Edits     int `json:"edits"`
	Checkable int `json:"checkableEdits"`
	// Identifiers counts other answers with an identifier or a path that was said before and is not shown.
	Identifiers int `json:"identifiers"`
	// Needed counts the identifiers in all answers that were said before, Shown those of them that the request shows.
	Needed int `json:"neededIdentifiers"`
	Shown  int `json:"shownIdentifiers"`
	// NeededLater counts the identifiers in answers that were said before the latest compaction, each once a
	// compaction. Survived counts those that the first request after the compaction showed, in the summary or in the
	// tail.
	NeededLater int `json:"neededLaterIdentifiers"`
	Survived    int `json:"survivedIdentifiers"`
	// Dollars is the cost of one more request for each look-back, of the tokens that it brings back (2,000 of each
	// source, 6,000 at most), and of carrying them until the next compaction.
	Dollars float64 `json:"dollars"`
}

// plus adds the look-backs of another run.
func (l *Lookbacks) plus(other Lookbacks) {
	l.Edits += other.Edits
	l.Checkable += other.Checkable
	l.Identifiers += other.Identifiers
	l.Needed += other.Needed
	l.Shown += other.Shown
	l.NeededLater += other.NeededLater
	l.Survived += other.Survived
	l.Dollars += other.Dollars
}

const (
	sourceTokens  = 2_000 // at most, of one message that is looked up
	sourcesTokens = 6_000 // at most, of all messages that are looked up for one answer
	askTokens     = 100   // of the answer that looks something up

	minLine       = 12 // bytes of a line that is looked for
	minIdentifier = 6  // bytes
)

// identifier matches names that look like code: paths, and words with an underscore, a dot, or a capital letter inside.
var identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*(?:[./_-][A-Za-z0-9_]+)+|[a-z]+[A-Z][A-Za-z0-9]*`)

// lookbackFinder finds the look-backs of a run.
type lookbackFinder struct {
	tokenizer chat.Tokenizer
	biller    *biller // nil without prices

	lines, names map[string]int // the index in said of the last message with the line or identifier
	said         []string       // the text of each message
	fetched      []string       // texts looked up since the last compaction
	carried      int            // tokens of fetched
	latest       compacted
}

// compacted describes the first request after the latest compaction.
type compacted struct {
	pending bool            // the request is still to come
	shown   string          // its text
	before  map[string]bool // identifiers that were said before it, and whether an answer has needed them since
}

func newLookbackFinder(t chat.Tokenizer, b *biller) *lookbackFinder {
	return &lookbackFinder{tokenizer: t, biller: b, lines: map[string]int{}, names: map[string]int{}}
}

// texts returns the text of a message and the strings in the arguments of its calls, in lines.
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

// stringsIn lists the strings in a JSON value.
func stringsIn(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			list = append(list, stringsIn(item)...)
		}
	case map[string]any:
		for _, item := range v {
			list = append(list, stringsIn(item)...)
		}
	}
	return list
}

// linesOf lists the lines of a text that are long enough to be looked for.
func linesOf(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= minLine {
			list = append(list, line)
		}
	}
	return list
}

// namesIn lists the identifiers in a text that are long enough to be looked for.
func namesIn(text string) (list []string) {
	for _, name := range identifier.FindAllString(text, -1) {
		if len(name) >= minIdentifier {
			list = append(list, name)
		}
	}
	return list
}

// add adds a message of the session.
func (l *lookbackFinder) add(m chat.Message) {
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

// compacted is called after a compaction. It covers the texts that were looked up.
func (l *lookbackFinder) compacted() { l.fetched, l.carried, l.latest.pending = nil, 0, true }

// firstRequest records the text of the first request after a compaction.
func (l *lookbackFinder) firstRequest(text string) {
	l.latest = compacted{shown: text, before: make(map[string]bool, len(l.names))}
	for name := range l.names {
		l.latest.before[name] = false
	}
}

// neededLater counts a name that an answer needs, if it was said before the latest compaction and no answer needed it
// since.
func (l *lookbackFinder) neededLater(b *Lookbacks, name string) {
	if needed, said := l.latest.before[name]; !said || needed {
		return
	}
	l.latest.before[name] = true
	b.NeededLater++
	if strings.Contains(l.latest.shown, name) {
		b.Survived++
	}
}

// answer adds the look-backs in the answer to a request.
func (l *lookbackFinder) answer(b *Lookbacks, request []chat.Message, tokens int, answer chat.Message) {
	var shown strings.Builder
	for _, m := range request {
		shown.WriteString(texts(m) + "\n")
	}
	if l.latest.pending {
		l.firstRequest(shown.String())
	}
	for _, text := range l.fetched {
		shown.WriteString(text + "\n")
	}
	visible := shown.String()
	missing := map[int]bool{} // messages that must be looked up
	check := func(places map[string]int, text string) (known, isShown bool) {
		at, known := places[text]
		isShown = known && strings.Contains(visible, text)
		if known && !isShown {
			missing[at] = true
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
	edit := len(missing) > 0
	seen := map[string]bool{}
	for _, name := range namesIn(texts(answer)) {
		if seen[name] {
			continue
		}
		seen[name] = true
		l.neededLater(b, name)
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
	case len(missing) > 0:
		b.Identifiers++
	}
	l.price(b, tokens, missing)
}

// price adds the cost of looking up the missing messages, and of carrying those that were looked up before.
func (l *lookbackFinder) price(b *Lookbacks, tokens int, missing map[int]bool) {
	if l.biller == nil {
		return
	}
	p, input := l.biller.prices, tokens+l.biller.fixed
	b.Dollars += p.Reading(input, l.carried)
	if len(missing) == 0 {
		return
	}
	brought := 0
	for at := range missing {
		l.fetched = append(l.fetched, l.said[at])
		brought += min(sourceTokens, l.tokenizer.CountText(l.said[at]))
	}
	brought = min(brought, sourcesTokens)
	b.Dollars += p.Of(p.Foretell(sizing.Planned{Input: input + brought, Cached: input, Output: askTokens})).Total()
	l.carried += brought
}

// oldText returns the text that an edit replaces, "" for any other call.
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
