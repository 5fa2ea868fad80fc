package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// tsxBudget is the budget of prompt-tsx's benchmark.
const tsxBudget = 1_000

// promptTSXPlan is prompt-tsx's own benchmark: one message with a chunk for each line of a file.
func promptTSXPlan() plan {
	return plan{
		name: "prompt-tsx", about: fmt.Sprintf("prompt-tsx's own benchmark: one message of %d chunks, pruned to %d tokens in cl100k_base", sampleLines, tsxBudget),
		prepare: func(ctx context.Context, b *bench) (comparison, error) {
			text, note, err := b.sample(b.sizes.chunks)
			if err != nil {
				return comparison{}, err
			}
			return b.promptTSX(ctx, text, note)
		},
	}
}

// chunked returns a message with a chunk for each line.
func chunked(lines []string) elements.Node {
	m := elements.UserMessage{Children: make(elements.Nodes, len(lines))}
	for i, line := range lines {
		m.Children[i] = elements.TextChunk{Children: elements.Nodes{elements.Text(line)}}
	}
	return m
}

func (b *bench) promptTSX(ctx context.Context, text, note string) (comparison, error) {
	const (
		encoding = "cl100k_base"
		ours     = "ours"
		built    = "ours, tree built too"
		counter  = "our counter, the text once"
		theirs   = "prompt-tsx"
	)
	lines := strings.Split(text, "\n")
	root := chunked(lines)
	c, err := tiktoken.New(encoding)
	if err != nil {
		return comparison{}, err
	}
	kept := 0
	rendered := func(ctx context.Context, c *tiktoken.Counter, root elements.Node) error {
		r, err := render.Render(ctx, root, render.Options{Budget: tsxBudget, Tokenizer: c})
		if err == nil {
			kept = r.Tokens
		}
		return err
	}
	if err := rendered(ctx, c, root); err != nil {
		return comparison{}, err
	}
	empty := emptied(encoding)
	tokens := c.CountText(text)
	chunks := make([]tsxChunk, len(lines))
	for i, line := range lines {
		chunks[i].Text = line
	}
	lap, theirTokens, err := b.promptTSXInJS(ctx, theirs, encoding, chunks, tsxBudget)
	if err != nil {
		return comparison{}, err
	}
	tsx := contestant{name: theirs, lap: lap, skipped: b.skipped(), pieces: len(lines), warmUp: 2 * jsWarmUp}
	if lap != nil {
		tsx.note = says(fmt.Sprintf("keeps %d tokens, ours %d", theirTokens, kept))
	}
	return comparison{
		notes: []string{
			fmt.Sprintf("%d chunks, %d bytes, %d tokens; our memo is emptied before each render, prompt-tsx keeps its tokenizer's", len(lines), len(text), tokens),
			note,
		},
		contestants: []contestant{
			{name: ours, pieces: len(lines), lap: afresh(empty, func(ctx context.Context, c *tiktoken.Counter) error {
				return rendered(ctx, c, root)
			})},
			{name: built, pieces: len(lines), lap: afresh(empty, func(ctx context.Context, c *tiktoken.Counter) error {
				return rendered(ctx, c, chunked(lines))
			})},
			{name: counter, bytes: len(text), lap: afresh(empty, func(_ context.Context, c *tiktoken.Counter) error {
				return checked(c.CountText(text), tokens)
			})},
			tsx,
		},
		targets: []target{faster(built, 450, theirs), within(ours, 1.2, counter)},
	}, nil
}

// tsxChunk is a chunk for prompt-tsx.
type tsxChunk struct {
	Text string `json:"text"`
}

// promptTSXInJS returns the lap of prompt-tsx rendering one message with chunks, and the tokens that it keeps.
func (b *bench) promptTSXInJS(ctx context.Context, name, encoding string, chunks []tsxChunk, budget int) (lap, int, error) {
	var kept int
	ranks, err := b.tableOf(encoding)
	if err != nil {
		return nil, 0, err
	}
	data, err := json.Marshal(chunks)
	if err != nil {
		return nil, 0, err
	}
	path, err := b.file(fmt.Sprintf("chunks-%d.json", len(chunks)), data)
	if err != nil {
		return nil, 0, err
	}
	lap, err := b.javascript(ctx, name, "promptTSX", struct {
		table
		Chunks string `json:"chunks"`
		Budget int    `json:"budget"`
	}{ranks, path, budget}, &kept)
	return lap, kept, err
}
