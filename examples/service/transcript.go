package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
)

// lines are the lines of a transcript.
type lines = iter.Seq2[storage.Stored, error]

// skip returns the lines of a log, starting at line from, counted from 1, and closes the log.
func skip(ctx context.Context, log storage.Store, err error, from int) lines {
	return func(yield func(storage.Stored, error) bool) {
		if err != nil {
			yield(storage.Stored{}, err)
			return
		}
		defer log.Close()
		n := 0
		for line, err := range log.Read(ctx, 0) {
			if n++; n >= from && !yield(line, err) {
				return
			}
		}
	}
}

// transcriptTool is the agent's only tool. The breadcrumb beside a summary names it.
const transcriptTool = "read_transcript"

var transcriptDefinition = chat.Tool{
	Name: transcriptTool, Description: "Read lines of the transcript of this conversation: everything that was said, word for word.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"the transcript; this conversation's if left out"},` +
		`"from":{"type":"integer","description":"first line, from 1"},"to":{"type":"integer","description":"last line"}},"required":["from","to"]}`),
}

// Limits of one call.
const (
	maxLines   = 50
	maxExcerpt = 4000 // bytes
)

// call runs a tool call. A mistake of the model becomes the result, so that the model sees it.
func (c *conversation) call(ctx context.Context, call chat.ToolCall) (chat.Message, error) {
	from, to, err := c.arguments(call)
	if err != nil {
		m := chat.ToolResult(call.ID, err.Error())
		m.IsError = true
		return m, nil
	}
	text, err := c.lookUp(ctx, from, to)
	return chat.ToolResult(call.ID, text), err
}

// arguments returns the first and the last line that a call asks for.
func (c *conversation) arguments(call chat.ToolCall) (from, to int, err error) {
	var args struct {
		Path     string
		From, To int
	}
	if call.Name != transcriptTool {
		return 0, 0, fmt.Errorf("there is no tool %q", call.Name)
	}
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil {
		return 0, 0, fmt.Errorf("the arguments cannot be read: %w", err)
	}
	if args.Path != "" && args.Path != c.session.Transcript().Name {
		return 0, 0, errors.New("only the transcript of this conversation can be read")
	}
	from = max(args.From, 1)
	return from, min(args.To, from+maxLines-1), nil
}

func (c *conversation) lookUp(ctx context.Context, from, to int) (string, error) {
	var b strings.Builder
	n := from
	for line, err := range c.read(ctx, from) {
		if _, behind := errors.AsType[*storage.PositionError](err); behind || err == nil && n > to {
			break
		} else if err != nil {
			return "", err
		}
		if b.Len() > maxExcerpt {
			fmt.Fprintf(&b, "(cut off: go on from line %d)\n", n)
			break
		}
		b.WriteString(excerpt(n, line))
		n++
	}
	if n == from {
		return fmt.Sprintf("(no lines from %d on)", from), nil
	}
	return b.String(), nil
}

// excerpt returns a line of the transcript for the model: its text, or its kind.
func excerpt(n int, line storage.Stored) string {
	var e entry.Entry
	said, text := line.Kind, ""
	if line.Kind == string(entry.TypeMessage) && json.Unmarshal(line.Data, &e) == nil {
		m := e.Message()
		said, text = string(m.Role), m.Text()
		for _, call := range m.ToolCalls {
			text += fmt.Sprintf(" [calls %s %s]", call.Name, call.Arguments)
		}
	}
	return fmt.Sprintf("%d %s: %s\n", n, said, clip(text, maxExcerpt/2))
}

// clip returns the beginning of a text.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}
