package summarize

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
)

const role = `You write the handoff of a working session. Another instance of you continues the work and will see your
summary in place of the conversation so far, so whatever it needs and you leave out is lost to it.`

const request = `Stop the work here. Summarise the conversation above for whoever continues it. Do not call tools and do not answer the
user: write text only.

First think it through in an <analysis> block: go over the conversation from its start, and for each request of the
user note what was wanted, what was done about it, which files and commands were involved and what came out. Check that
nothing still open is missing. If the conversation begins with an earlier summary, carry over what still matters.

Then write the handoff in a <summary> block, with these eight sections:

1. Conversation Overview: what the user wants, in their words where they matter, and how that changed.
2. Technical Foundation: languages, libraries, tools, conventions and decisions that the work stands on.
3. Codebase Status: each file that was read or changed, what it is for, its state, the code that matters in it.
4. Problem Resolution: what went wrong, why, how it was solved or what was tried.
5. Progress Tracking: what is done and verified, what is done in part, what is left.
6. Active Work State: what was being worked on at the very end, exactly.
7. Recent Operations: the last commands and tool calls and what they gave.
8. Continuation Plan: the next step, and the ones after it.

Be exact with names, paths, numbers and error texts. Prefer facts to prose.`

// sizeHint asks for a summary that fits.
func sizeHint(tokens int) elements.Text {
	return elements.Textf("\nThe <summary> block has room for %d tokens at the most.", tokens)
}

// summarise asks the model for a summary of what a job covers. What is larger than its window is summarised in pieces,
// each with the summary of those before it.
func (c *Compactor) summarise(ctx context.Context, j job, mode Mode) (string, error) {
	if mode == ModeSimple {
		return c.ask(ctx, j, j.simplePrompt(c), nil)
	}
	previous, rest := j.previous, j.covered
	for {
		piece, err := c.piece(ctx, j, previous, rest)
		if err != nil {
			return "", err
		}
		summary, err := c.ask(ctx, j, j.fullPrompt(previous, rest[:piece]), c.Tools)
		if err != nil {
			return "", err
		}
		if rest = rest[piece:]; len(rest) == 0 {
			return summary, nil
		}
		previous = []chat.Message{wrap(summary, "")}
	}
}

// piece is how many of the units fit into one request with what comes before them, at least one.
func (c *Compactor) piece(ctx context.Context, j job, previous []chat.Message, rest []unit) (int, error) {
	for n := len(rest); ; {
		_, err := c.renderRequest(ctx, j.fullPrompt(previous, rest[:n]))
		over, ok := errors.AsType[*render.BudgetExceededError](err)
		if !ok {
			return n, err
		}
		if n == 1 {
			return 0, fmt.Errorf("a single round is larger than the summarising model's window: %w", err)
		}
		for excess := over.Needed - over.Budget; n > 1 && excess > 0; n-- {
			excess -= rest[n-1].tokens
		}
	}
}

func (c *Compactor) requestBudget() int {
	if c.ModelBudget > 0 {
		return c.ModelBudget
	}
	return c.Budget
}

func (c *Compactor) renderRequest(ctx context.Context, prompt elements.Node) (*render.Result, error) {
	return render.Render(ctx, prompt, render.Options{Budget: c.requestBudget(), Tokenizer: c.Tokenizer})
}

// ask sends one request and gives the summary in the answer.
func (c *Compactor) ask(ctx context.Context, j job, prompt elements.Node, tools []chat.Tool) (string, error) {
	rendered, err := c.renderRequest(ctx, prompt)
	if err != nil {
		return "", fmt.Errorf("rendering the request: %w", err)
	}
	choice := chat.ToolChoiceAuto
	if len(tools) > 0 {
		choice = chat.ToolChoiceNone
	}
	response, err := c.generate(ctx, chat.Request{
		Messages: rendered.Messages, Tools: tools, ToolChoice: choice,
		MaxTokens: 2 * j.room, Temperature: j.policy.Temperature, // the analysis comes first
	})
	if err != nil {
		return "", fmt.Errorf("asking the model: %w", err)
	}
	return parseAnswer(response)
}

// generate asks the model, its panic turned into an error: a compaction that fails leaves everything as it was.
func (c *Compactor) generate(ctx context.Context, req chat.Request) (response chat.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the model panicked: %v", p)
		}
	}()
	return c.Model.Generate(ctx, req)
}

// fullPrompt is the history as messages, and the request.
func (j job) fullPrompt(previous []chat.Message, covered []unit) elements.Node {
	keep := elements.Props{Required: true}
	message := func(m chat.Message) elements.Node { return elements.Message(keep, m) }
	return elements.Fragment{
		elements.SystemMessage{Props: keep, Children: elements.Nodes{elements.Text(role)}},
		elements.Map(previous, message),
		elements.Map(covered, func(u unit) elements.Node { return elements.Map(u.messages, message) }),
		elements.UserMessage{Props: keep, Children: elements.Nodes{elements.Text(request), sizeHint(j.words())}},
	}
}

// simplePrompt is the history as one text, packed to what fits. The earlier summary and the first user message stay, or,
// where there is neither, the newest unit: without any history there is nothing to summarise.
func (j job) simplePrompt(c *Compactor) elements.Node {
	keep := elements.Props{Required: true}
	lines := make(elements.Nodes, 0, len(j.covered))
	first := slices.IndexFunc(j.covered, func(u unit) bool { return u.user })
	if first < 0 && len(j.previous) == 0 {
		first = len(j.covered) - 1
	}
	for i, u := range j.covered {
		props := elements.Props{Priority: new(i), Required: i == first}
		if u.user {
			props.Priority = new(i + len(j.covered)) // what the user said outlasts what was done about it
		}
		lines = append(lines, elements.TextChunk{Props: props, Children: elements.Nodes{elements.Text(c.plain(j, u))}})
	}
	earlier := elements.Map(j.previous, func(m chat.Message) elements.Node {
		return elements.TextChunk{Props: keep, Children: elements.Nodes{elements.Text(m.Text())}}
	})
	return elements.Fragment{
		elements.SystemMessage{Props: keep, Children: elements.Nodes{elements.Text(role)}},
		elements.UserMessage{Children: elements.Nodes{
			elements.Tag{Name: historyTag, Children: elements.Nodes{earlier, lines}},
			elements.TextChunk{Props: keep, Children: elements.Nodes{elements.Text(request), sizeHint(j.words())}},
		}},
	}
}

// historyTag holds the history in simple mode.
const historyTag = "history"

// plain is a unit as text: what was said, each thing from a line of its own on. Its further lines are indented, so that
// none of them, of a tool's output above all, reads as said by somebody else.
func (c *Compactor) plain(j job, u unit) string {
	var b strings.Builder
	say := func(kind, text string) {
		fmt.Fprintf(&b, "%s: %s\n", kind, strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+indent))
	}
	clip := func(text string, limit int) string { return history.Clip(c.Tokenizer, text, limit, 0.4) }
	for _, m := range u.messages {
		switch m.Role {
		case chat.RoleTool:
			result := "result"
			if m.IsError {
				result = "error"
			}
			say(result, clip(m.Text(), j.policy.SimpleResult))
		default:
			if text := m.Text(); text != "" {
				say(string(m.Role), clip(text, c.requestBudget()/4)) // so that one text cannot take the window
			}
		}
		for _, call := range m.ToolCalls {
			say("call", call.Name+"("+clip(call.Arguments, j.policy.SimpleResult)+")")
		}
	}
	return b.String()
}

// indent stands before the further lines of what was said, in simple mode.
const indent = "  "
