package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/facts"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/toolname"
	"github.com/promptree-go/promptree/sizing"
)

// Recall says where the facts stand that answers need again. A fact ([facts.In]) is needed if an answer, or the
// arguments of its calls, has it, it was said before the view last changed, and nothing has said it since: each counts
// once a change. A view changes by a compaction, by a clearing, and by what a last resort leaves out.
type Recall struct {
	Needed int `json:"needed"`
	// Tail counts the needed facts that the request shows word for word in what was said, Summary those only in what
	// stands for a compaction, and Index those only in the index beside it.
	Tail    int `json:"tail"`
	Summary int `json:"summary"`
	Index   int `json:"index"`
	// OneLookUp counts the other facts that one look-up shows: a search for the rarest words of the answer that the request
	// shows, up to 32, or a call that the request names.
	OneLookUp int `json:"oneLookUp"`
	// Further counts those that stand in the log and take more look-ups, NotInLog those that do not, which is a bug.
	Further  int `json:"further"`
	NotInLog int `json:"notInLog"`
	// Content counts those of the facts not shown that an answer has only in what an edit replaces, or in an argument of 10
	// lines or more, such as a file that is written again. A name that is shown does not bring them back.
	Content int `json:"content"`
	// Answers counts the answers with a fact that the request does not show.
	Answers int `json:"answersWithALoss"`
	// Edits counts answers with an edit whose old text has a line that was said before and is not shown. Checkable
	// counts answers with an edit of any line that was said before.
	Edits     int `json:"edits"`
	Checkable int `json:"checkableEdits"`
	// Dollars is the cost of one more request for each answer with a loss or such an edit, of the tokens that it brings
	// back (2,000 of each source, 6,000 at most), and of carrying them until the next compaction. 0 without prices.
	Dollars float64 `json:"dollars"`
}

const (
	sourceTokens  = 2_000 // at most, of one message that is looked up
	sourcesTokens = 6_000 // at most, of all messages that are looked up for one answer
	askTokens     = 100   // of the answer that looks something up

	contentLines = 10 // of an argument
	minEdited    = 12 // bytes of a line of an edit's old text that is looked for
	searchWords  = 32 // of an answer
	searchBytes  = 500
)

// answering answers look-ups, as [recall.Tools] does.
type answering func(context.Context, chat.ToolCall) (chat.Message, bool, error)

// recallFinder finds where the facts that answers need stand.
type recallFinder struct {
	tokenizer chat.Tokenizer
	biller    *biller // nil without prices
	session   *history.Session
	tools     answering

	said    []spoken
	facts   map[string]*mention
	lines   map[string]int // the index in said of the last message with the line
	words   map[string]int // the number of messages with the word
	change  int            // the number of changes of the view
	fetched []string       // texts looked up since the last compaction
	carried int            // tokens of fetched
}

// spoken is a message of the session.
type spoken struct{ entry, text string }

// mention says where a fact was said: in which messages, and after how many changes the last time and the time before.
type mention struct {
	in             []int // indexes in said
	change, before int
}

func newRecallFinder(t chat.Tokenizer, b *biller, s *history.Session, tools answering) *recallFinder {
	return &recallFinder{
		tokenizer: t, biller: b, session: s, tools: tools,
		facts: map[string]*mention{}, lines: map[string]int{}, words: map[string]int{},
	}
}

// add adds the next entry of the session.
func (f *recallFinder) add(e entry.Entry) {
	switch e.Type() {
	case entry.TypeCompaction:
		f.fetched, f.carried = nil, 0 // it covers what was looked up
		f.change++
	case entry.TypeClearing:
		f.clears(e.Body)
	}
	m, shown := e.Shown()
	if !shown {
		return
	}
	text := facts.Text(m)
	n := len(f.said)
	f.said = append(f.said, spoken{e.ID, text})
	for line := range linesOf(text) {
		f.lines[line] = n
	}
	for _, fact := range facts.In(text) {
		at := f.facts[fact]
		if at == nil {
			at = &mention{change: -1}
			f.facts[strings.Clone(fact)] = at
		}
		if len(at.in) == 0 || at.in[len(at.in)-1] != n {
			at.before, at.change = at.change, f.change
			at.in = append(at.in, n)
		}
	}
	for word := range wordsOf(text) {
		f.words[word]++
	}
}

// clears changes the view. A preview of a result changes it for what only that result says.
func (f *recallFinder) clears(b entry.Body) {
	c, _ := b.(entry.Clearing)
	if !c.Preview {
		f.change++
		return
	}
	for _, cleared := range c.Results {
		n := slices.IndexFunc(f.said, func(s spoken) bool { return s.entry == cleared.Entry })
		if n < 0 {
			continue
		}
		for _, fact := range facts.In(f.said[n].text) {
			if at := f.facts[fact]; at.in[len(at.in)-1] == n {
				at.change = at.before
			}
		}
	}
}

// linesOf lists the lines of a text that are long enough to be looked for.
func linesOf(text string) map[string]bool {
	list := map[string]bool{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= minEdited {
			list[line] = true
		}
	}
	return list
}

// wordsOf lists the words of a text that can be searched for, in lower case: those of 3 characters or more.
func wordsOf(text string) map[string]bool {
	list := map[string]bool{}
	between := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), between) {
		if utf8.RuneCountInString(w) >= 3 {
			list[w] = true
		}
	}
	return list
}

// prompt is what a request shows.
type prompt struct{ tail, summary, index string }

// listed matches the files of a folder in an index.
var listed = regexp.MustCompile(`[^\s{}]+/\{[^{}]+\}`)

// promptOf splits a request into what was said and what stands for compactions.
func promptOf(request, compacted []chat.Message) prompt {
	stands := map[string]bool{}
	for _, m := range compacted {
		stands[m.Text()] = true
	}
	var tail, summary, index strings.Builder
	for _, m := range request {
		text, into := facts.Text(m), &tail
		switch {
		case m.Role != chat.RoleUser || !stands[m.Text()]:
		case strings.HasPrefix(text, plaintext.IndexTag.Open()):
			into, text = &index, listed.ReplaceAllStringFunc(text, func(list string) string { return strings.Join(facts.Listed(list), ", ") })
		default:
			into = &summary
		}
		into.WriteString(text + "\n")
	}
	return prompt{tail.String(), summary.String(), index.String()}
}

// answer adds the facts and edits in the answer to a request of a number of tokens. Most answers need nothing of which it
// matters where the request shows it. It returns the facts that the request does not show.
func (f *recallFinder) answer(ctx context.Context, r *Recall, shows func() prompt, tokens int, answer chat.Message) (missed []string, err error) {
	missing := map[int]bool{} // messages that must be looked up
	lost := map[string]*mention{}
	shows = sync.OnceValue(shows)
	visible := sync.OnceValue(func() string {
		p := shows()
		return strings.Join(append([]string{p.tail, p.summary, p.index}, f.fetched...), "\n")
	})
	for _, fact := range facts.In(facts.Text(answer)) {
		at := f.facts[fact]
		if at == nil || at.change == f.change {
			continue
		}
		at.change = f.change // the answer says it
		r.Needed++
		switch p := shows(); {
		case facts.Shown(p.tail, fact):
			r.Tail++
		case facts.Shown(p.summary, fact):
			r.Summary++
		case facts.Shown(p.index, fact):
			r.Index++
		default:
			lost[fact] = at
			if !facts.Shown(visible(), fact) {
				missing[at.in[len(at.in)-1]] = true
			}
		}
	}
	if len(lost) > 0 {
		r.Answers++
		if err := f.lookUp(ctx, r, shows(), answer, lost); err != nil {
			return nil, err
		}
	}
	checkable, edit := false, false
	for _, c := range answer.ToolCalls {
		for line := range linesOf(toolname.Replaced(c.Name, c.Arguments)) {
			at, known := f.lines[line]
			checkable = checkable || known
			if known && !strings.Contains(visible(), line) {
				edit, missing[at] = true, true
			}
		}
	}
	if checkable {
		r.Checkable++
	}
	if edit {
		r.Edits++
	}
	f.price(r, tokens, missing)
	return slices.Sorted(maps.Keys(lost)), nil
}

// lookUp counts how far away lost facts are.
func (f *recallFinder) lookUp(ctx context.Context, r *Recall, p prompt, answer chat.Message, lost map[string]*mention) error {
	var printed strings.Builder
	for _, c := range f.calls(p, answer, lost) {
		result, _, err := f.tools(ctx, c)
		if err != nil {
			return err
		}
		printed.WriteString(result.Text() + "\n")
	}
	names := namesOf(answer)
	for fact, at := range lost {
		if !facts.Shown(names, fact) {
			r.Content++
		}
		e, err := f.session.Entry(ctx, f.said[at.in[len(at.in)-1]].entry)
		if err != nil {
			return err
		}
		switch m, _ := e.Shown(); {
		case !facts.Shown(facts.Text(m), fact):
			r.NotInLog++
		case facts.Shown(printed.String(), fact):
			r.OneLookUp++
		default:
			r.Further++
		}
	}
	return nil
}

// namesOf returns what an answer says but for content: what its edits replace, and long arguments.
func namesOf(answer chat.Message) string {
	said := []string{answer.Text()}
	for _, c := range answer.ToolCalls {
		replaced := toolname.Replaced(c.Name, c.Arguments)
		for _, text := range facts.Arguments(c) {
			if strings.Count(text, "\n") < contentLines && (text == "" || !strings.Contains(replaced, text)) {
				said = append(said, text)
			}
		}
	}
	return strings.Join(said, "\n")
}

// readCall matches the arguments of a call that a prompt names, and indexed the entry that a line of an index names.
var (
	readCall = regexp.MustCompile(history.ReadTool + `\((\{"entry":"([^"]+)"[^{}]*\})\)`)
	indexed  = regexp.MustCompile(`(?m)^(\S+): `)
)

// calls returns the look-ups that may show lost facts: a search, and the calls that the request names of entries that have
// them.
func (f *recallFinder) calls(p prompt, answer chat.Message, lost map[string]*mention) (calls []chat.ToolCall) {
	if words := f.rarest(p, answer); len(words) > 0 {
		query := plaintext.Cut(strings.Join(words, " "), searchBytes)
		calls = append(calls, chat.ToolCall{Name: history.SearchTool, Arguments: fmt.Sprintf(`{"query":%q}`, query)})
	}
	var holding []string // ids of messages with a lost fact
	for _, at := range lost {
		for _, i := range at.in {
			holding = append(holding, f.said[i].entry)
		}
	}
	for _, call := range readCall.FindAllStringSubmatch(p.tail+p.summary, -1) {
		if slices.Contains(holding, call[2]) {
			calls = append(calls, chat.ToolCall{Name: history.ReadTool, Arguments: call[1]})
		}
	}
	for _, line := range indexed.FindAllStringSubmatch(p.index, -1) { // an end of an id, by which a tool has to search for the entry
		if i := slices.IndexFunc(holding, func(id string) bool { return strings.HasSuffix(id, line[1]) }); i >= 0 {
			calls = append(calls, chat.ToolCall{Name: history.ReadTool, Arguments: fmt.Sprintf(`{"entry":%q}`, holding[i])})
		}
	}
	return calls
}

// rarest returns the words of an answer that the fewest messages have, of those that the request shows.
func (f *recallFinder) rarest(p prompt, answer chat.Message) []string {
	visible := wordsOf(p.tail + "\n" + p.summary + "\n" + p.index)
	list := slices.Collect(maps.Keys(wordsOf(facts.Text(answer))))
	list = slices.DeleteFunc(list, func(w string) bool { return !visible[w] || f.words[w] == 0 })
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(f.words[a], f.words[b]), strings.Compare(a, b)) })
	return list[:min(len(list), searchWords)]
}

// price adds the cost of looking up the missing messages, and of carrying those that were looked up before.
func (f *recallFinder) price(r *Recall, tokens int, missing map[int]bool) {
	if f.biller == nil {
		return
	}
	p, input := f.biller.planning(), tokens+f.biller.fixed
	r.Dollars += p.Reading(input, f.carried)
	if len(missing) == 0 {
		return
	}
	brought := 0
	for at := range missing {
		f.fetched = append(f.fetched, f.said[at].text)
		brought += min(sourceTokens, f.tokenizer.CountText(f.said[at].text))
	}
	brought = min(brought, sourcesTokens)
	r.Dollars += p.Of(p.Foretell(sizing.Planned{Input: input + brought, Cached: input, Output: askTokens})).Total()
	f.carried += brought
}
