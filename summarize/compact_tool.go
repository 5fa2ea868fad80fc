package summarize

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// CompactToolName is the name of the tool of [CompactTool].
const CompactToolName = "compact_conversation"

// CompactTool is a tool by which the model asks for a compaction and says what is to be kept: when one task is done and
// another begins, it knows what no limit does. The compaction is made before the next step. It is among the Tools of
// an agent.Agent or a mirror.Mirror; other loops use its methods.
//
// What was asked is read from the session, so the rules hold in every process that opens it.
type CompactTool struct {
	// Compactor that compacts its session. Defaults to that of the agent or the mirror, unless a type of yours wraps the tool.
	Compactor *Compactor
	// Steps is how many answers of the model lie at least between two compactions that it asked for. Defaults to 10.
	Steps int
	// Relief is the least part of the budget that a compaction must save, from 0 to 1. Defaults to 0.1.
	Relief float64
}

// Declared returns the definition of the tool.
func (t CompactTool) Declared() []chat.Tool {
	return []chat.Tool{{
		Name: CompactToolName,
		Description: "Replaces the older part of this conversation by a summary, before your next step. Use it when a task is done " +
			"and its details are no longer needed, not to save space: that is done without you.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"keep":{"type":"string","description":"What the summary must keep, in a few sentences."}},"required":["keep"]}`),
	}}
}

// granted is the result of a call after which the session is compacted.
const granted = "The conversation is compacted before your next step."

// maxKeep limits what a call may ask to be kept, in bytes.
const maxKeep = 4000

// Answer returns the result of a call, and false if it is a call of another tool. A call is refused by a
// [*chat.ArgumentError] if a compaction was asked for less than Steps answers ago, or would save less than Relief of the
// budget. Any other error is that of the session or of the context.
func (t CompactTool) Answer(ctx context.Context, call chat.ToolCall) (result chat.Message, ok bool, err error) {
	if call.Name != CompactToolName {
		return result, false, nil
	}
	why, err := t.refusal(ctx, call)
	if err != nil {
		return result, true, fmt.Errorf("summarize: deciding about a compaction: %w", err)
	}
	if why != "" {
		return result, true, &chat.ArgumentError{Package: "summarize", Reason: why}
	}
	return chat.ToolResult(call.ID, granted), true, nil
}

// refusal returns why a call is refused, "" if it is not.
func (t CompactTool) refusal(ctx context.Context, call chat.ToolCall) (string, error) {
	if _, ok := keepOf(call); !ok {
		return `Say what the summary must keep: {"keep":"…"}.`, nil
	}
	steps := cmp.Or(max(0, t.Steps), 10)
	since := 0   // answers since the compaction that was asked for, this one not counted
	this := true // the newest answer, if the call is in it and has no result
	for e, err := range t.Compactor.Session.Back(ctx, "") {
		if err != nil {
			return "", err
		}
		m := e.Message()
		this = this && m.ToolCallID != call.ID
		switch {
		case m.Role == chat.RoleAssistant:
			if !this || !slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool { return c.ID == call.ID }) {
				since++
			}
			this = false
		case isGranted(m) && since+1 < steps:
			return fmt.Sprintf("Not compacted: it was, at your request, %d steps ago. Ask again in %d.", since+1, steps-since-1), nil
		}
		if since+1 >= steps {
			break
		}
	}
	m, err := t.Compactor.Demand(ctx)
	switch {
	case errors.Is(err, ErrBusy):
		return "Not compacted: a compaction is being made already.", nil
	case err != nil:
		return "", err
	}
	share := cmp.Or(max(0, t.Relief), 0.1)
	if relief := max(0, m.Relief()); float64(relief) < share*float64(m.Budget) {
		return fmt.Sprintf("Not compacted: it would save %d tokens of the %d that a prompt may take. Go on.", relief, m.Budget), nil
	}
	return "", nil
}

// keepOf returns what a call asks to be kept, and false if its arguments are not valid.
func keepOf(call chat.ToolCall) (string, bool) {
	var arguments struct{ Keep string }
	if json.Unmarshal([]byte(call.Arguments), &arguments) != nil {
		return "", false
	}
	keep := strings.TrimSpace(arguments.Keep)
	return strings.ToValidUTF8(keep[:min(len(keep), maxKeep)], ""), keep != ""
}

func isGranted(m chat.Message) bool {
	return m.Role == chat.RoleTool && !m.IsError && m.Text() == granted
}

// Run compacts the session if the last answer of the model asked for it and was granted it, and reports whether it did.
// Call it before each step, once the results of all calls are appended. If the compaction
// fails the session stays as it is, and an event says so; the error is that of the session or of the context.
func (t CompactTool) Run(ctx context.Context) (bool, error) {
	if t.Compactor == nil {
		return false, errors.New("summarize: CompactTool.Compactor is not set: set the compactor of the session")
	}
	keep, err := t.asked(ctx)
	if keep == "" || err != nil {
		return false, err
	}
	_, err = t.Compactor.Compact(ctx, keep)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return err == nil, nil
}

// asked returns what the last answer of the model asked to be kept, "" if it did not ask or the session was compacted
// since.
func (t CompactTool) asked(ctx context.Context) (string, error) {
	ids := map[string]bool{}
	for e, err := range t.Compactor.Session.Back(ctx, "") {
		if err != nil {
			return "", err
		}
		if e.Type() == entry.TypeCompaction {
			return "", nil
		}
		m := e.Message()
		if isGranted(m) {
			ids[m.ToolCallID] = true
		}
		if m.Role != chat.RoleAssistant {
			continue
		}
		for _, call := range m.ToolCalls {
			if call.Name == CompactToolName && ids[call.ID] {
				keep, _ := keepOf(call)
				return keep, nil
			}
		}
		return "", nil
	}
	return "", nil
}
