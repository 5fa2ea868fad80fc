package history

import (
	"cmp"
	"encoding/json"
	"sort"
	"strconv"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/toolname"
)

// ClearRule says which old tool output a session no longer shows, and what replaces it. It asks no model, and nothing
// is lost: the session keeps the output. The zero value clears nothing.
//
// The newest Keep tokens of output stay; a result that is partly among them stays whole. Each older result is cleared
// unless it is from one of the Never tools, was cleared already, has fewer tokens than Least or LeastPlaceholders, or takes
// no more than its placeholder. What the tools of package recall returned is cleared first: once a quarter as much
// newer output follows. If all of them together save less than Saves, nothing is cleared.
type ClearRule struct {
	// Keep is the number of tokens of the newest output that stay. 0 turns clearing off.
	Keep int
	// KeepStale is the number of tokens of the newest output that stay if they are stale. Stale output is a file that a
	// later call modified, or read again with the same arguments or as a whole, and output that a later call repeated
	// exactly. A failed call makes nothing stale. Defaults to Keep.
	KeepStale int
	// Arguments is the size, in tokens, from which a text in the arguments of a call is cleared too, once the output
	// after it is older than Keep. Arguments then count towards Keep. 0 leaves arguments as they are.
	Arguments int
	// Files says which files the agent's tools read and modify, for KeepStale. Defaults to [DefaultFileTools].
	Files FileTools
	// Saves is the number of tokens that a clearing must save at least. Defaults to 0.
	Saves int
	// Least is the size, in tokens, below which a result stays. It counts towards Keep. Defaults to 0.
	Least int
	// LeastPlaceholders is the same in tokens of the placeholder: with 8, a result stays unless it is at least eight times
	// as large as what would stand for it. Defaults to 0.
	LeastPlaceholders int
	// Never names the tools whose output always stays, ignoring case. It counts towards Keep.
	Never []string
	// Names is the number of tokens that a placeholder may take in addition to name what it replaces: the paths,
	// identifiers and numbers that this mentions most often. They take at most a sixth of what is replaced. 0 names
	// nothing, the default.
	Names int
	// Placeholder returns the replacement for a result. Defaults to a note with its size, its handle and its names.
	Placeholder func(ClearedOutput) string
}

// ClearedOutput is a tool result that a rule clears.
type ClearedOutput struct {
	// Entry is the id of the result's entry in the session.
	Entry string
	// Tool is the name of the tool that was called.
	Tool string
	// Tokens of the output. A result of more than a mebibyte may be counted as one token more than the rule keeps.
	Tokens int
	// Handle says how the agent reads it ([Session.Handle]).
	Handle string
	// Names that it mentions ([ClearRule].Names), the most frequent first.
	Names []string
}

// After returns words of your own for a placeholder, with the handle behind them.
func (o ClearedOutput) After(words string) string {
	if o.Handle == "" {
		return words
	}
	return words + "\n[" + o.Handle + "]"
}

// clearNote is the default for [ClearRule.Placeholder].
func clearNote(o ClearedOutput) string {
	return plaintext.LeftOut("output of "+strconv.Itoa(o.Tokens)+" tokens", o.Handle, o.Names...)
}

// clearable is what a rule would clear.
type clearable struct {
	entry.Clearing
	first   string // the id of the assistant message of the first round that changes, "" if nothing would be cleared
	carried int    // see [ClearRule.Look]
}

// Look returns what the rule would save by clearing a view now, for deciding whether that pays; nothing if it saves less
// than Saves. Placeholders have no names yet: saved is less by as many tokens as these may take. First is the id of the
// assistant message of the first round that changes. Carried is the number of tokens that would be cleared, times the
// number of requests, including the next, that were sent with them since the rule would have cleared them. Requests are
// counted by their answers in the view.
func (r ClearRule) Look(v View, t chat.Tokenizer) (saved, carried int, first string) {
	c := r.look(v, t, false)
	return c.Saved, c.carried, c.first
}

func (r ClearRule) look(v View, t chat.Tokenizer, name bool) clearable {
	if r.Keep <= 0 {
		return clearable{}
	}
	if r.Placeholder == nil {
		r.Placeholder = clearNote
	}
	r.KeepStale = min(r.Keep, cmp.Or(max(0, r.KeepStale), r.Keep))
	l := looking{ClearRule: r, t: t, name: name}
	sn := v.shown()
	l.handles = sn.handles()
	for _, turn := range sn.shown() {
		for _, round := range turn.rounds {
			l.add(round)
		}
	}
	if r.KeepStale < r.Keep {
		l.findStale()
	}
	return l.clearable()
}

// looking walks through the rounds of a view, the oldest first.
type looking struct {
	ClearRule
	t       chat.Tokenizer
	name    bool // in placeholders
	handles handles
	outputs []output // tool results and arguments of calls, in order
	rounds  int
}

// output is a tool result, or the arguments of a call.
type output struct {
	entry        entry.Entry
	in           *openRound
	round        int
	call         chat.ToolCall
	content      chat.Parts // nil for arguments
	tokens       int
	sum          int // tokens of this output and all before it
	failed, done bool
	stale        int // the number of rounds including the one that made it stale, 0 if it is not
}

// arguments reports whether the output is the arguments of a call.
func (o output) arguments() bool { return o.entry.ID == o.in.Assistant.ID }

// add records the next round.
func (l *looking) add(round *openRound) {
	calls := round.Assistant.Message().ToolCalls
	if l.Arguments > 0 {
		for _, c := range calls {
			l.push(output{entry: round.Assistant, in: round, round: l.rounds, call: c, tokens: sizeUpTo(l.t, c.Arguments, l.Keep)})
		}
	}
	for k, e := range round.answered() {
		if result := e.Message(); sendable.Call(calls[k]) {
			l.push(output{
				entry: e, in: round, round: l.rounds, call: calls[k], content: result.Content, tokens: partsUpTo(l.t, result.Content, l.Keep),
				failed: result.IsError, done: round.isCleared(e.ID) && !round.replaced[e.ID].preview,
			})
		}
	}
	l.rounds++
}

func (l *looking) push(o output) {
	o.sum = o.tokens
	if n := len(l.outputs); n > 0 {
		o.sum = clamp.Sum(o.sum, l.outputs[n-1].sum)
	}
	l.outputs = append(l.outputs, o)
}

// since returns the number of rounds before the first request at which keep tokens of output were newer than output i,
// and false if there has been no such request.
func (l *looking) since(i, keep int) (rounds int, ok bool) {
	sum := l.outputs[i].sum
	newer := i + sort.Search(len(l.outputs)-i, func(k int) bool { return l.outputs[i+k].sum-sum >= keep })
	if newer == len(l.outputs) {
		return 0, false
	}
	return l.outputs[newer].round + 1, true
}

// clearable returns what the rule clears of all that was recorded.
func (l *looking) clearable() clearable {
	var c clearable
	for i, o := range l.outputs {
		from, old := l.since(i, l.Keep)
		if early, ok := l.since(i, l.KeepStale); ok && o.stale > 0 {
			if early = max(early, o.stale); !old || early < from {
				from, old = early, true
			}
		}
		if toolname.IsLookUp(o.call.Name) && !o.arguments() {
			from, old = l.since(i, l.KeepStale/4)
		}
		if !old || o.done || never(l.Never, o.call.Name) {
			continue
		}
		clear := l.clearResult
		if o.arguments() {
			clear = l.clearArguments
		}
		saved := clear(&c, o)
		if saved > 0 && c.first == "" {
			c.first = o.in.Assistant.ID
		}
		c.Saved = clamp.Sum(c.Saved, saved)
		c.carried = clamp.Sum(c.carried, clamp.Int(float64(saved)*float64(l.rounds-from+1)))
	}
	if c.Saved < l.Saves {
		return clearable{}
	}
	return c
}

// clearResult clears a result if its placeholder is smaller, and returns the number of tokens saved.
func (l *looking) clearResult(c *clearable, o output) int {
	of := ClearedOutput{Entry: o.entry.ID, Tool: o.call.Name, Tokens: o.tokens, Handle: l.handles.ofShown(o.in, o.entry)}
	text, room := l.Placeholder(of), l.namesRoom(o.tokens)
	placeholder := l.t.CountText(text)
	saved := o.tokens - placeholder - room
	if saved <= 0 || o.tokens < l.Least || float64(o.tokens) < float64(l.LeastPlaceholders)*float64(placeholder) || sendable.Blank(text) {
		return 0
	}
	if l.name && room > 0 {
		of.Names = namesIn(l.t, chat.Message{Content: o.content}.Text(), of.Handle, room)
		text = l.Placeholder(of)
		saved = o.tokens - l.t.CountText(text)
	}
	c.Results = append(c.Results, entry.Cleared{Entry: o.entry.ID, Text: text})
	return saved
}

// namesRoom returns the tokens for the names in the placeholder of so many tokens.
func (l *looking) namesRoom(tokens int) int { return max(0, min(l.Names, tokens/namedShare)) }

// clearArguments clears the long texts in the arguments of a call, and returns the number of tokens saved.
func (l *looking) clearArguments(c *clearable, o output) int {
	if o.tokens < l.Arguments {
		return 0
	}
	room := 0
	note := func(text string) string {
		n := sizeUpTo(l.t, text, l.Keep)
		if n < l.Arguments {
			return text
		}
		var names []string
		if l.name {
			names = namesIn(l.t, text, "", l.namesRoom(n))
		} else {
			room += l.namesRoom(n)
		}
		return plaintext.LeftOut(strconv.Itoa(n)+" tokens", l.handles.ofShown(o.in, o.entry), names...)
	}
	text, ok := mapStrings(o.call.Arguments, note)
	if !ok {
		text = object("cleared", note(o.call.Arguments))
	}
	saved := o.tokens - l.t.CountText(text) - room
	if saved <= 0 || !json.Valid([]byte(text)) {
		return 0
	}
	c.Arguments = append(c.Arguments, entry.Cleared{Entry: o.entry.ID, Call: o.call.ID, Text: text})
	return saved
}

// findStale marks the results that later calls make stale, the newest first.
func (l *looking) findStale() {
	files := l.Files
	if files == nil {
		files = DefaultFileTools()
	}
	find := toolname.Finder(files)
	changed, read := map[string]int{}, map[string]int{} // by file; read holds files that were read as a whole
	repeated, put := map[string]int{}, map[string]int{} // by call, and by text
	for i := len(l.outputs) - 1; i >= 0; i-- {
		o := &l.outputs[i]
		if o.arguments() || o.done || o.failed {
			continue
		}
		var of entry.Files
		if tool, _ := find(o.call.Name); tool != nil {
			of = tool(o.call.Arguments)
		}
		call := o.call.Name + "\x00" + o.call.Arguments
		text := chat.Message{Content: o.content}.Text()
		mark := func(by map[string]int, key string) {
			if at, ok := by[key]; ok && (o.stale == 0 || at < o.stale) {
				o.stale = at
			}
		}
		if len(of.Read) == 1 && len(of.Modified) == 0 {
			mark(changed, of.Read[0])
			mark(read, of.Read[0])
			mark(repeated, call)
			repeated[call] = o.round + 1
			if named := map[string]json.RawMessage{}; json.Unmarshal([]byte(o.call.Arguments), &named) == nil && len(named) == 1 {
				read[of.Read[0]] = o.round + 1
			}
		}
		if text != "" {
			mark(put, text)
			put[text] = o.round + 1
		}
		for _, path := range of.Modified {
			changed[path] = o.round + 1
		}
	}
}

// Find returns the clearing that the rule makes of a view, and false if it clears nothing. Add it to the session with
// [Session.Add] to put it into effect. Tokens are counted of whole outputs, before [RoundLimits] cut them.
func (r ClearRule) Find(v View, t chat.Tokenizer) (entry.Clearing, bool) {
	c := r.look(v, t, true)
	return c.Clearing, c.Saved > 0
}
