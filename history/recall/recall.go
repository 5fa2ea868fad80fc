package recall

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// minBytes is the lower limit of [Tools].MaxBytes, and the size to which MaxTokens reduces an answer at most.
const minBytes, usualBytes = 1000, 16_000

// ErrUnmarked reports that the marks in a session's prompts do not hold calls of the tools. [Tools] work all the same.
var ErrUnmarked = errors.New("recall: the marks in prompts do not name the tools: open the session with history.Options.Recall")

// Tools are the tools of one session. They are safe for concurrent use.
type Tools struct {
	// Session that is read and searched. Defaults to that of the agent or the mirror, unless a type of yours wraps the tools.
	Session *history.Session
	// Pins offers a third tool, [history.PinTool], by which the agent pins entries and unpins them ([history.Session.Pin]). Off
	// by default.
	Pins bool
	// MaxBytes is the maximum length of an answer. Defaults to 16,000; less than 1,000 counts as 1,000.
	MaxBytes int
	// MaxTokens is the maximum size of an answer, as counted by Tokenizer. No limit by default.
	MaxTokens int
	Tokenizer chat.Tokenizer
}

func wrong(format string, args ...any) error { return chat.WrongArguments("recall", format, args...) }

const readDescription = `Read, word for word, what was said earlier in this conversation: messages, tool calls and tool results, also those that are no longer shown or are shown cut. ` +
	`Where something is left out, a mark holds the call that reads it, such as [... 5210 tokens cut here: ` + history.ReadTool + `({"entry":"0c1f","from":1200,"to":90400}) ...]. ` +
	`A long text is returned in parts; each part ends with the call that reads on.`

const readSchema = `{"type":"object","properties":{` +
	`"entry":{"type":"string","description":"id of the entry"},` +
	`"from":{"type":"integer","description":"first byte; 0 if left out"},` +
	`"to":{"type":"integer","description":"byte after the last; the end of the text if left out"}},"required":["entry"]}`

const searchDescription = `Search everything that was said earlier in this conversation, also what is no longer shown. ` +
	`Give a query of many words: names, paths, numbers and other words that stand near what you look for. The places that have most of them come first, each with the ` + history.ReadTool + ` call that reads it.`

const searchSchema = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"words, in any case, the more the better; with \"a phrase\" as it stands, or word* for the start of a word, all must occur in one message or result, the newest first"},` +
	`"pattern":{"type":"string","description":"a regular expression (RE2) instead"},` +
	`"before":{"type":"string","description":"id of an entry: search what is older"}}}`

const pinDescription = `Keep an entry of this conversation word for word in sight, whatever is summarised later: a decision, a plan, exact values. ` +
	`Pin few and short ones, and unpin what is no longer needed.`

const pinSchema = `{"type":"object","properties":{` +
	`"entry":{"type":"string","description":"id of the entry, which ` + history.SearchTool + ` finds"},` +
	`"off":{"type":"boolean","description":"true to unpin it"}},"required":["entry"]}`

// Declared returns the tools, to be declared to a model.
func (t Tools) Declared() []chat.Tool {
	tools := []chat.Tool{
		{Name: history.ReadTool, Description: readDescription, Parameters: json.RawMessage(readSchema)},
		{Name: history.SearchTool, Description: searchDescription, Parameters: json.RawMessage(searchSchema)},
	}
	if t.Pins {
		tools = append(tools, chat.Tool{Name: history.PinTool, Description: pinDescription, Parameters: json.RawMessage(pinSchema)})
	}
	return tools
}

// CallRules says that a call may be answered again.
func (t Tools) CallRules(chat.ToolCall) chat.CallRules { return chat.CallRules{Again: true} }

// Answer returns the result of a call, and false if it is not a call of these tools. The error is a [*chat.ArgumentError]
// if the arguments are wrong, or that of the store or the context.
func (t Tools) Answer(ctx context.Context, call chat.ToolCall) (result chat.Message, ok bool, err error) {
	var text string
	switch {
	case call.Name == history.ReadTool:
		text, err = answer(ctx, call, t.Read)
	case call.Name == history.SearchTool:
		text, err = answer(ctx, call, t.Search)
	case call.Name == history.PinTool && t.Pins:
		text, err = answer(ctx, call, t.pin)
	default:
		return chat.Message{}, false, nil
	}
	return chat.ToolResult(call.ID, text), true, err
}

// answer calls a tool with the arguments of a call.
func answer[A any](ctx context.Context, call chat.ToolCall, tool func(context.Context, A) (string, error)) (string, error) {
	var arguments A
	if err := json.Unmarshal([]byte(call.Arguments), &arguments); err != nil {
		return "", wrong(chat.NotAnObject)
	}
	return tool(ctx, arguments)
}

// pinned holds the arguments of [history.PinTool].
type pinned struct {
	Entry string `json:"entry"`
	Off   bool   `json:"off"`
}

// pin pins an entry, or unpins it.
func (t Tools) pin(ctx context.Context, p pinned) (string, error) {
	return t.within(func(int) (string, error) {
		e, err := t.entry(ctx, p.Entry)
		if err != nil {
			return "", err
		}
		if !kind.Of(e).Shown() {
			return "", wrong("entry %s is nothing that was said", e.ID)
		}
		if p.Off {
			return "Unpinned.", t.Session.Unpin(ctx, e.ID)
		}
		return "Pinned.", t.Session.Pin(ctx, e.ID)
	})
}

// within calls write with the maximum length of an answer, and again with a smaller one while the answer has too many
// tokens.
func (t Tools) within(write func(limit int) (string, error)) (string, error) {
	if t.Session == nil {
		return "", errors.New("recall: Tools.Session is not set: set the session that is read")
	}
	limit := max(t.MaxBytes, minBytes)
	if t.MaxBytes <= 0 {
		limit = usualBytes
	}
	counted := t.MaxTokens > 0 && t.Tokenizer != nil
	if counted {
		limit = max(minBytes, min(limit, 6*t.MaxTokens)) // a token of code has 3 to 5 bytes, with its indentation
	}
	for {
		text, err := write(limit)
		if err != nil || !counted || limit == minBytes {
			return text, err
		}
		tokens := t.Tokenizer.CountText(text)
		if tokens <= t.MaxTokens {
			return text, nil
		}
		limit = max(minBytes, min(limit-limit/64, limit*t.MaxTokens/tokens))
	}
}

// callOf returns a call as a model writes it.
func callOf(tool string, arguments any) string {
	data, _ := plainjson.Marshal(arguments) // texts and numbers always encode
	return tool + "(" + string(data) + ")"
}

// describe returns what an entry is, in words. Tool is the name of the tool whose result it is, "" if it is not known.
func describe(e entry.Entry, tool string) string {
	what, m := string(e.Type()), e.Message()
	switch {
	case kind.Of(e) == kind.Tool && tool != "":
		what = "result of " + plaintext.Name(tool)
	case kind.Of(e) == kind.Tool:
		what = "tool result"
	case m.Role != "":
		what = string(m.Role) + " message"
	}
	for i, c := range m.ToolCalls {
		if len(what) > 64 {
			break
		}
		what += []string{" calling ", ", "}[min(i, 1)] + plaintext.Name(c.Name)
	}
	return plaintext.OneLine(what, 64)
}
