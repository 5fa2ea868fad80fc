package summarize

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
)

// summarise asks the model for a summary of what a job covers, or for two at the same time where a turn is cut and the
// prompt has it so. Where two would have too little room, or what was before is an earlier summary alone, it asks for one
// of all.
func (c *Compactor) summarise(ctx context.Context, j *job, p Prompt) (string, error) {
	if p.Prefix == nil || j.prefix == 0 {
		return c.summary(ctx, j, p, j.covered, j.prefix)
	}
	cut := len(j.covered) - j.prefix
	if cut == 0 && len(j.material.Previous) == 0 {
		return c.inPieces(ctx, *j, p, p.Prefix, j.covered, j.prefix)
	}
	before, turn := j.parted(p)
	if cut == 0 || turn.material.Words < minWords {
		return c.summary(ctx, j, p, j.covered, j.prefix)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var earlier, prefix string
	var failed [2]error
	var both sync.WaitGroup
	both.Go(func() {
		earlier, failed[0] = c.summary(ctx, &before, p, j.covered[:cut], 0)
		if failed[0] != nil {
			cancel()
		}
	})
	both.Go(func() {
		prefix, failed[1] = c.inPieces(ctx, turn, p, p.Prefix, j.covered[cut:], j.prefix)
		if failed[1] != nil {
			cancel()
		}
	})
	both.Wait()
	for _, i := range [...]int{0, 1} {
		if failed[i] != nil && !(errors.Is(failed[i], context.Canceled) && failed[1-i] != nil && i == 0) {
			return "", failed[i]
		}
	}
	if failed[0] != nil {
		return "", failed[0]
	}
	return p.Merge(earlier, prefix), nil
}

// parted are the two jobs of a turn that is cut, which share the room for words: three eighths are the turn's, and the rest
// is for what was before it.
func (j *job) parted(p Prompt) (before, turn job) {
	before, turn = *j, *j
	turn.material.Previous, turn.material.PreviousSummary = nil, ""
	words := j.material.Words - j.material.Tokenizer.CountText(p.Merge("…", "…"))
	turn.material.Words = 3 * words / 8
	before.material.Words = words - turn.material.Words
	return before, turn
}

// summary asks by a prompt's first request.
func (c *Compactor) summary(ctx context.Context, j *job, p Prompt, covered []unit, prefix int) (string, error) {
	if p.Packs {
		return c.ask(ctx, j, p, p.Request(j.part(covered, prefix)))
	}
	return c.inPieces(ctx, *j, p, p.Request, covered, prefix)
}

// inPieces asks for a summary of some of what a job covers. What is larger than the model's window is summarised in
// pieces, each with the summary of those before it.
func (c *Compactor) inPieces(ctx context.Context, j job, p Prompt, tree func(Material) elements.Node, rest []unit, prefix int) (string, error) {
	for {
		n, err := c.piece(ctx, j, tree, rest, prefix)
		if err != nil {
			return "", err
		}
		summary, err := c.ask(ctx, &j, p, tree(j.part(rest[:n], max(0, n+prefix-len(rest)))))
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
	// A piece needs the words, and nothing of what stands beside them in the end.
	m.Summary, m.Room, m.Reminder = summary, m.Window, ""
	m.Transcript, m.Workspace, m.Files, m.Said, m.Head = Transcript{}, Workspace{}, history.Files{}, nil, nil
	stand, err := c.stand(ctx, j.policy, m, math.MaxInt)
	if err != nil {
		return j, err
	}
	j.material.Previous, j.material.PreviousSummary = stand, summary
	return j, nil
}

// piece is how many of the units fit into one request with what comes before them, at least one. As text they may take more
// than as messages, or less, so that only a render tells: the first guess goes by what was needed, and then the range is
// halved.
func (c *Compactor) piece(ctx context.Context, j job, tree func(Material) elements.Node, rest []unit, prefix int) (int, error) {
	fits, over := 0, len(rest)+1 // numbers that do, and do not
	for n := len(rest); ; {
		_, err := c.renderRequest(ctx, tree(j.part(rest[:n], max(0, n+prefix-len(rest)))))
		exceeded, ok := errors.AsType[*render.BudgetExceededError](err)
		switch {
		case !ok && err != nil:
			return 0, err
		case !ok:
			fits = n
		case n == 1:
			return 0, fmt.Errorf("a single round is larger than the summarising model's window: %w", err)
		default:
			over = n
		}
		if fits+1 == over {
			return fits, nil
		}
		if n = (fits + over) / 2; fits == 0 && over == len(rest) && exceeded.Needed > 0 {
			n = max(1, min(over-1, over*exceeded.Budget/exceeded.Needed))
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
func (c *Compactor) ask(ctx context.Context, j *job, p Prompt, tree elements.Node) (string, error) {
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
	if max := j.policy.Models.MaxTokens; max > 0 {
		req.MaxTokens = max
	}
	response, err := c.generate(ctx, j, req)
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
func (c *Compactor) generate(ctx context.Context, j *job, req chat.Request) (response chat.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the model panicked: %v", p)
		}
	}()
	response, err = c.model(j.policy).Generate(ctx, req)
	j.meter.add(response.Usage)
	return response, err
}
