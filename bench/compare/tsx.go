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
	var theirTokens int
	tsx, err := b.javascript(ctx, theirs, "promptTSX", &theirTokens, func() (any, error) {
		with := tsxWith{Budget: tsxBudget}
		var err error
		if with.table, err = b.tableOf(encoding); err != nil {
			return nil, err
		}
		data, err := json.Marshal(chunks)
		if err == nil {
			with.Chunks, err = b.file("chunks.json", data)
		}
		return with, err
	})
	if err != nil {
		return comparison{}, err
	}
	tsx.pieces, tsx.warmUp = len(lines), 2*jsWarmUp
	if tsx.lap != nil {
		tsx.note = fmt.Sprintf("keeps %d tokens, ours %d", theirTokens, kept)
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

// tsxWith is what prompt-tsx is given: the file with the chunks, and the budget.
type tsxWith struct {
	table
	Chunks string `json:"chunks"`
	Budget int    `json:"budget"`
}
