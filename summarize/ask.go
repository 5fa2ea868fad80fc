package summarize

import (
	"context"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
)

// summarise asks the model for a summary of what a job covers.
func (c *Compactor) summarise(ctx context.Context, j job, p Prompt) (string, error) {
	if p.Packs {
		return c.ask(ctx, j, p, p.Request(j.part(j.covered, j.prefix)))
	}
	return c.inPieces(ctx, j, p, p.Request, j.covered, j.prefix)
}

// inPieces asks for a summary of some of what a job covers. What is larger than the model's window is summarised in
// pieces, each with the summary of those before it.
func (c *Compactor) inPieces(ctx context.Context, j job, p Prompt, tree func(Material) elements.Node, rest []unit, prefix int) (string, error) {
	for {
		n, err := c.piece(ctx, j, tree, rest, prefix)
		if err != nil {
			return "", err
		}
		summary, err := c.ask(ctx, j, p, tree(j.part(rest[:n], max(0, n+prefix-len(rest)))))
		if err != nil {
			return "", err
		}
		if rest = rest[n:]; len(rest) == 0 {
			return summary, nil
		}
		prefix = min(prefix, len(rest))
		if j, err = c.after(ctx, j, summary); err != nil {
			return "", err
		}
	}
}

// after is a job that goes on from the summary of a piece.
func (c *Compactor) after(ctx context.Context, j job, summary string) (job, error) {
	m := j.material
	m.Summary, m.Transcript, m.Room = summary, Transcript{}, m.Window // a piece needs no breadcrumb
	stand, err := c.stand(ctx, j.policy, m)
	if err != nil {
		return j, err
	}
	j.material.Previous, j.material.PreviousSummary = stand, summary
	return j, nil
}

// piece is how many of the units fit into one request with what comes before them, at least one.
func (c *Compactor) piece(ctx context.Context, j job, tree func(Material) elements.Node, rest []unit, prefix int) (int, error) {
	for n := len(rest); ; {
		_, err := c.renderRequest(ctx, tree(j.part(rest[:n], max(0, n+prefix-len(rest)))))
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
func (c *Compactor) ask(ctx context.Context, j job, p Prompt, tree elements.Node) (string, error) {
	rendered, err := c.renderRequest(ctx, tree)
	if err != nil {
		return "", fmt.Errorf("rendering the request: %w", err)
	}
	req := chat.Request{
		Messages: rendered.Messages, Temperature: j.policy.Temperature,
		MaxTokens: 2 * j.material.Room, // an analysis may come first
	}
	if p.Tools && len(c.Tools) > 0 {
		req.Tools, req.ToolChoice = c.Tools, chat.ToolChoiceNone
	}
	response, err := c.generate(ctx, req)
	if err != nil {
		return "", fmt.Errorf("asking the model: %w", err)
	}
	read := p.Read
	if read == nil {
		read = ReadAll
	}
	return read(response)
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
