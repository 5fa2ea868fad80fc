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
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/sendable"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// ClearRule says which old tool output a session no longer shows, and what replaces it. It asks no model, and nothing
// is lost: the session keeps the output. The zero value clears nothing.
//
// The newest Keep tokens of output stay; a result that is partly among them stays whole. Each older result is cleared
// unless it is from one of the Never tools, was cleared already, or takes no more than its placeholder. If all of them
// together save less than Saves, nothing is cleared.
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
	// Never names the tools whose output always stays, ignoring case. It counts towards Keep.
	Never []string
	// Placeholder returns the replacement for a result. Defaults to a note that names the entry of the transcript that
	// holds it.
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
	// Transcript is the file of the session; "" if there is none.
	Transcript string
}

// Where returns a sentence that tells the model where to find the output.
func (o ClearedOutput) Where() string {
	if o.Transcript == "" {
		return "It is entry " + o.Entry + " of the session's transcript; call the tool again if you need it."
	}
	return "It is entry " + o.Entry + " of the session's transcript at " + plaintext.PathLine(o.Transcript) + "."
}

// clearNote is the default for [ClearRule.Placeholder].
func clearNote(o ClearedOutput) string {
	return "[output of " + strconv.Itoa(o.Tokens) + " tokens left out here]\n" + o.Where()
}

// Find returns the clearing that the rule makes of a view, and false if it clears nothing. Add it to the session with
// [Session.Add] to put it into effect. Tokens are counted of whole outputs, before [Limits] cut them.
func (r ClearRule) Find(v View, t chat.Tokenizer) (entry.Clearing, bool) {
	c := r.Look(v, t)
	return c.Clearing, c.Saved > 0
}

// Clearable describes what a rule would clear, for deciding whether that pays.
type Clearable struct {
	entry.Clearing
	// First is the id of the assistant message of the first round that changes, "" if nothing would be cleared.
	First string
	// Carried is the number of tokens that would be cleared, times the number of requests, including the next, that
	// were sent with them since the rule would have cleared them. Requests are counted by their answers in the view.
	Carried int
}

// never reports whether a tool's output stays.
func (r ClearRule) never(tool string) bool {
	return slices.ContainsFunc(r.Never, func(name string) bool { return strings.EqualFold(name, tool) })
}

// sentResults returns the results that are sent, in the order of arrival.
func (r Round) sentResults() []entry.Entry {
	sent := make([]entry.Entry, 0, len(r.Results))
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

// tool returns the name of the tool that a call runs.
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

// checkClearing returns an error if a clearing cannot follow the entry before.
func (a *adding) checkClearing(ctx context.Context, c entry.Clearing) error {
	if len(c.Results) == 0 && len(c.Arguments) == 0 {
		return errors.New("it clears nothing")
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

func (a *adding) checkResult(ctx context.Context, o entry.Cleared) error {
	n, err := a.checkCleared(ctx, o)
	switch {
	case err != nil:
		return err
	case n.kind != entry.KindTool:
		return fmt.Errorf("entry %q is not a tool result", o.Entry)
	case o.Call != "":
		return fmt.Errorf("it names the call %q, which only arguments do", o.Call)
	}
	return nil
}

func (a *adding) checkArguments(ctx context.Context, o entry.Cleared) error {
	n, err := a.checkCleared(ctx, o)
	if err != nil {
		return err
	}
	if n.kind != entry.KindAssistant {
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

// checkCleared returns the node of the entry that an element of a clearing names.
func (a *adding) checkCleared(ctx context.Context, o entry.Cleared) (node, error) {
	if o.Entry == "" {
		return node{}, errors.New("no entry is named")
	}
	if sendable.Blank(o.Text) {
		return node{}, fmt.Errorf("the text for entry %q is empty", o.Entry)
	}
	i, reason, err := a.r.locate(ctx, a.path, a.end, o.Entry)
	switch {
	case err != nil:
		return node{}, err
	case reason == entry.BoundaryCovered: // has no effect
		e, at, err := a.r.lookUp(ctx, a.end, entry.Ref{ID: o.Entry})
		return newNode(e, at), err
	case reason != "":
		return node{}, fmt.Errorf("entry %q %s", o.Entry, reason)
	}
	return a.path.nodes[i], nil
}
