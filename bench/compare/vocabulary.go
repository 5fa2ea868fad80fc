package main

import (
	"context"
	"fmt"

	"github.com/tiktoken-go/tokenizer"

	"github.com/promptree-go/promptree/elements/chat"
	tokenizers "github.com/promptree-go/promptree/sizing/vocabulary"
)

// vocabularyPlan counts the text of a recorded session with the vocabulary that -vocabulary names.
func vocabularyPlan() plan {
	return plan{
		name:    "count/vocabulary",
		about:   "counting the text of a recorded session with a model's tokenizer.json",
		prepare: func(ctx context.Context, b *bench) (comparison, error) { return b.countingWithVocabulary(ctx) },
	}
}

func (b *bench) countingWithVocabulary(ctx context.Context) (comparison, error) {
	const rust = "npm tokenizers (Rust)"
	if b.vocabulary == "" {
		why := "-vocabulary names no tokenizer.json"
		return comparison{contestants: []contestant{{name: "ours, warm", skipped: why}, {name: rust, skipped: why}}}, nil
	}
	v, err := tokenizers.Open(b.vocabulary)
	if err != nil {
		return comparison{}, fmt.Errorf("-vocabulary: %w", err)
	}
	text, note, err := b.sessionText()
	if err != nil {
		return comparison{}, err
	}
	c := v.Counter(tokenizers.Options{})
	tokens := c.CountText(text)
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		return comparison{}, err
	}
	n := tokens
	reference, err := b.javascript(ctx, rust, "countWithFile", &n, func() (any, error) {
		path, err := b.file("session.txt", []byte(text))
		return map[string]string{"file": b.vocabulary, "text": path}, err
	})
	if err != nil {
		return comparison{}, err
	}
	reference.bytes, reference.note = len(text), differs(n, tokens)
	notes := []string{fmt.Sprintf("%d bytes, %d tokens, by %s", len(text), tokens, b.vocabulary)}
	if note != "" {
		notes = append(notes, note)
	}
	turned := newTurned(text)
	return comparison{
		notes: notes,
		contestants: []contestant{
			{name: "ours, warm", lap: repeated(func() error { c.CountText(turned.next()); return nil }), bytes: len(text)},
			{name: "ours, a new counter", lap: afresh(
				func(context.Context) (chat.Tokenizer, error) { return v.Counter(tokenizers.Options{}), nil },
				func(_ context.Context, c chat.Tokenizer) error { return checked(c.CountText(text), tokens) },
			), bytes: len(text)},
			{name: "tiktoken-go/tokenizer, cl100k", lap: repeated(func() error { _, err := codec.Count(text); return err }), bytes: len(text),
				note: "another vocabulary: it has none but OpenAI's"},
			reference,
		},
		targets: []target{faster("ours, warm", 10, rust), noAllocs("ours, warm")},
	}, nil
}
