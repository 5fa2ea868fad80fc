package history

import (
	"strconv"

	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/plaintext"
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
