package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// trimPlan drops the oldest messages until the rest fits, as trimMessages of LangChain.js does.
func trimPlan() plan {
	return plan{
		name: "trim", about: "oldest messages dropped until half of the tokens are left, in o200k_base; LangChain.js does it with trimMessages",
		prepare: func(ctx context.Context, b *bench) (comparison, error) { return b.trim(ctx) },
	}
}

func (b *bench) trim(ctx context.Context) (comparison, error) {
	const encoding = "o200k_base"
	messages := make([]chat.Message, b.sizes.messages)
	var root elements.Nodes
	for i := range messages {
		messages[i] = chat.UserMessage(words(i, b.sizes.messageTokens-6))
		if i%2 == 1 {
			messages[i].Role = chat.RoleAssistant
		}
		root = append(root, elements.Message(elements.Props{Priority: new(i)}, messages[i]))
	}
	p, err := newPruning(ctx, encoding, root, 0.5)
	if err != nil {
		return comparison{}, err
	}
	warm, err := tiktoken.New(encoding)
	if err != nil {
		return comparison{}, err
	}
	r, err := render.Render(ctx, root, render.Options{Budget: p.budget, Tokenizer: warm})
	if err != nil {
		return comparison{}, err
	}
	contestants := []contestant{
		{name: "ours, warm", lap: repeated(func() error { return p.render(ctx, warm, root) }), pieces: len(messages)},
		{name: "ours, empty memo", lap: p.lap(), pieces: len(messages)},
	}
	for _, c := range []struct {
		name     string
		remember bool
	}{
		{"trimMessages, its counter remembers messages", true},
		{"trimMessages, its counter counts each time", false},
	} {
		lap, kept, err := b.trimInJS(ctx, c.name, messages, p.budget, c.remember)
		if err != nil {
			return comparison{}, err
		}
		who := contestant{name: c.name, lap: lap, skipped: b.skipped(), pieces: len(messages), warmUp: jsWarmUp}
		if lap != nil {
			who.note = says(fmt.Sprintf("keeps %d messages of %d tokens, ours %d of %d; %s",
				len(kept.Texts), kept.Tokens, len(r.Messages), r.Tokens, kept.differ(r.Messages)))
		}
		contestants = append(contestants, who)
	}
	return comparison{
		notes: []string{
			fmt.Sprintf("%d messages of text, %d tokens, budget %d", len(messages), p.whole, p.budget),
			"LangChain.js counts with @microsoft/tiktokenizer, by the same rule as ours, its memory of words warm",
			"trimMessages counts the whole list again for each message that it drops; it copies messages, so its counter's memory is lost after a call",
		},
		contestants: contestants,
	}, nil
}

func (b *bench) trimInJS(ctx context.Context, name string, messages []chat.Message, budget int, remember bool) (lap, keptTexts, error) {
	var kept keptTexts
	type message struct {
		Role chat.Role `json:"role"`
		Text string    `json:"text"`
	}
	var list []message
	for _, m := range messages {
		list = append(list, message{m.Role, m.Text()})
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil, kept, err
	}
	path, err := b.file("conversation.json", data)
	if err != nil {
		return nil, kept, err
	}
	ranks, err := b.tableOf("o200k_base")
	if err != nil {
		return nil, kept, err
	}
	lap, err := b.javascript(ctx, name, "trimMessages", struct {
		table
		Conversation string `json:"conversation"`
		Budget       int    `json:"budget"`
		Remember     bool   `json:"remember"`
	}{ranks, path, budget, remember}, &kept)
	return lap, kept, err
}
