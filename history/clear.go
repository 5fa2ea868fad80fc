package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// ClearRule says which old tool output is left out of what a session shows, and what stands in its place. It asks no model,
// and nothing is lost: the session keeps the output. The zero value clears nothing.
//
// The newest Keep tokens of output stay; a result that is only partly among them stays whole. Of what is older each result
// goes that is not from one of the Never tools, was not cleared already, and takes more than its placeholder. If all of
// those together save less than Saves, nothing goes.
type ClearRule struct {
	// Keep is how many tokens of the newest output stay. 0 turns clearing off.
	Keep int
	// KeepStale is how many tokens of the newest output stay if they are stale: a file that a later call modified, or read
	// again with the same arguments or as a whole, and what a later call put out again to the letter. A call that failed makes
	// nothing stale. Defaults to Keep.
	KeepStale int
	// Arguments is the least number of tokens of a text in the arguments of a call at which that text goes too, once what is
	// put out after it is older than Keep. Arguments count among what Keep keeps then. 0 leaves arguments as they are.
	Arguments int
	// Files say which files the agent's tools read and modify, for KeepStale. Defaults to [DefaultFileTools].
	Files FileTools
	// Saves is the fewest tokens that a clearing must save. Defaults to 0: whatever there is.
	Saves int
	// Never names tools whose output stays, in small or capital letters. It counts among what Keep keeps.
	Never []string
	// Placeholder returns what stands in place of a result. Defaults to a note that names the entry of the transcript that
	// has it.
	Placeholder func(ClearedOutput) string
}

// ClearedOutput is a tool result that a rule clears.
type ClearedOutput struct {
	// Entry is the id of the result's entry in the session.
	Entry string
	// Tool that was called.
	Tool string
	// Tokens of the output. A result of more than a mebibyte may be counted as one token more than the rule keeps.
	Tokens int
	// Transcript is the file of the session; "" if there is none.
	Transcript string
}

// Where is a sentence that tells the model how to get the output back.
func (o ClearedOutput) Where() string {
	if o.Transcript == "" {
		return "It is entry " + o.Entry + " of the session's transcript; call the tool again if you need it."
	}
	return "It is entry " + o.Entry + " of the session's transcript at " + plaintext.PathLine(o.Transcript) + "."
}

// clearNote is the placeholder of a rule that names none.
func clearNote(o ClearedOutput) string {
	return "[output of " + strconv.Itoa(o.Tokens) + " tokens left out here]\n" + o.Where()
}

// Find returns the clearing that the rule makes of a view, and false if it clears nothing. Append it to the session
// ([Session.Add]) to put it in force. Tokens are counted of whole outputs, before [Limits] cut them.
func (r ClearRule) Find(v View, t chat.Tokenizer) (Clearing, bool) {
	c := r.Look(v, t)
	return c.Clearing, c.Saved > 0
}

// Clearable is what a rule would clear, with what it takes to tell when that pays.
type Clearable struct {
	Clearing
	// First is the id of the assistant message of the first round that changes, "" if nothing would be cleared.
	First string
	// Carried is what would be cleared, in tokens, times the requests that were sent with it since the rule would have cleared
	// it, the next one included. A request is told by its answer in the view.
	Carried int
}

// never reports whether a tool's output stays.
func (r ClearRule) never(tool string) bool {
	return slices.ContainsFunc(r.Never, func(name string) bool { return strings.EqualFold(name, tool) })
}

// sentResults returns the results that are sent, in the order in which they came.
func (r Round) sentResults() []Entry {
	sent := make([]Entry, 0, len(r.Results))
	seen := map[string]bool{}
	for _, e := range r.Results {
		id := e.Message().ToolCallID
		if !seen[id] && r.tool(id) != "" {
			sent = append(sent, e)
		}
		seen[id] = true
	}
	return sent
}

// tool returns the name of the tool of a call.
func (r Round) tool(call string) string {
	for _, c := range r.Assistant.Message().ToolCalls {
		if c.ID == call && call != "" {
			return c.Name
		}
	}
	return ""
}

// partsUpTo counts parts one by one. A huge text counts as one token more than the limit.
func partsUpTo(t chat.Tokenizer, parts chat.Parts, limit int) int {
	n := 0
	for _, p := range parts {
		if text, ok := p.(chat.Text); ok {
			n += sizeUpTo(t, string(text), limit)
		} else if p != nil {
			n += t.CountPart(p)
		}
	}
	return n
}

// checkClearing returns what keeps a clearing from following the entry before.
func (a *adding) checkClearing(ctx context.Context, c Clearing) error {
	if len(c.Results) == 0 && len(c.Arguments) == 0 {
		return errors.New("it names nothing to leave out")
	}
	for i, o := range c.Results {
		if err := a.checkResult(ctx, o); err != nil {
			return fmt.Errorf("result %d: %w", i+1, err)
		}
	}
	for i, o := range c.Arguments {
		if err := a.checkArguments(ctx, o); err != nil {
			return fmt.Errorf("arguments %d: %w", i+1, err)
		}
	}
	return nil
}

func (a *adding) checkResult(ctx context.Context, o Cleared) error {
	n, err := a.checkCleared(ctx, o)
	switch {
	case err != nil:
		return err
	case n.kind != kindTool:
		return fmt.Errorf("entry %q is not a tool result", o.Entry)
	case o.Call != "":
		return fmt.Errorf("it names the call %q, which only arguments do", o.Call)
	}
	return nil
}

func (a *adding) checkArguments(ctx context.Context, o Cleared) error {
	n, err := a.checkCleared(ctx, o)
	if err != nil {
		return err
	}
	if n.kind != kindAssistant {
		return fmt.Errorf("entry %q is not a message of the assistant", o.Entry)
	}
	e, err := a.r.load(ctx, n)
	switch {
	case err != nil:
		return err
	case !slices.ContainsFunc(e.Message().ToolCalls, func(c chat.ToolCall) bool { return c.ID == o.Call }):
		return fmt.Errorf("entry %q makes no call %q", o.Entry, o.Call)
	case !json.Valid([]byte(o.Text)):
		return fmt.Errorf("the text for call %q is not valid JSON", o.Call)
	}
	return nil
}

// checkCleared returns the node of the entry that a part of a clearing names.
func (a *adding) checkCleared(ctx context.Context, o Cleared) (node, error) {
	if o.Entry == "" {
		return node{}, errors.New("it names no entry")
	}
	if blank(o.Text) {
		return node{}, fmt.Errorf("the text for entry %q is empty", o.Entry)
	}
	i, reason, err := a.r.locate(ctx, a.path, a.end, o.Entry)
	switch {
	case err != nil:
		return node{}, err
	case reason == BoundaryCovered: // which changes nothing
		e, at, err := a.r.lookUp(ctx, a.end, Ref{ID: o.Entry})
		return newNode(e, at), err
	case reason != "":
		return node{}, fmt.Errorf("entry %q %s", o.Entry, reason)
	}
	return a.path.nodes[i], nil
}
