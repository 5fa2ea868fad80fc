package main

import (
	"context"
	"fmt"
	"strings"

	pkoukk "github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/tiktoken-go/tokenizer"

	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// countPlan counts the text of a recorded session.
func countPlan(encoding string) plan {
	return plan{
		name:  "count/" + strings.TrimSuffix(encoding, "_base"),
		about: "counting the text of a recorded session in " + encoding,
		prepare: func(ctx context.Context, b *bench) (comparison, error) {
			text, note, err := b.sessionText()
			if err != nil {
				return comparison{}, err
			}
			return b.counting(ctx, encoding, text, note)
		},
	}
}

func (b *bench) counting(ctx context.Context, encoding, text, note string) (comparison, error) {
	c, err := tiktoken.New(encoding)
	if err != nil {
		return comparison{}, err
	}
	tokens := c.CountText(text)
	notes := []string{
		fmt.Sprintf("%d bytes, %d tokens; the others' counts are noted where they differ", len(text), tokens),
		"ours, warm: a new text of known words; it is the session's, rotated to start at another line each time",
	}
	if note != "" {
		notes = append(notes, note)
	}
	tik, err := peerTiktoken(encoding)
	if err != nil {
		return comparison{}, err
	}
	codec, err := tokenizer.Get(tokenizer.Encoding(encoding))
	if err != nil {
		return comparison{}, err
	}
	codecTokens, err := codec.Count(text)
	if err != nil {
		return comparison{}, err
	}
	turned := newTurned(text)
	ours := func(name string, lap lap) contestant {
		return contestant{name: name, lap: lap, bytes: len(text)}
	}
	peer := func(name string, n int, lap lap) contestant {
		return contestant{name: name, lap: lap, bytes: len(text), note: differs(n, tokens)}
	}
	contestants := []contestant{
		ours("ours, warm", repeated(func() error { c.CountText(turned.next()); return nil })),
		ours("ours, empty memo", afresh(
			emptied(encoding),
			func(_ context.Context, c *tiktoken.Counter) error { return checked(c.CountText(text), tokens) },
		)),
		ours("ours, the same text again", repeated(func() error { return checked(c.CountText(text), tokens) })),
		peer("tiktoken-go", len(tik.EncodeOrdinary(text)), repeated(func() error { tik.EncodeOrdinary(text); return nil })),
		peer("tiktoken-go/tokenizer", codecTokens, repeated(func() error { _, err := codec.Count(text); return err })),
	}
	for _, name := range []string{"@microsoft/tiktokenizer, cold", "@microsoft/tiktokenizer, warm"} {
		n := tokens
		js, err := b.javascript(ctx, name, "count", &n, func() (any, error) {
			ranks, err := b.tableOf(encoding)
			if err != nil {
				return nil, err
			}
			path, err := b.file("session.txt", []byte(text))
			return countWith{ranks, path, strings.HasSuffix(name, "cold")}, err
		})
		if err != nil {
			return comparison{}, err
		}
		js.bytes, js.note = len(text), differs(n, tokens)
		contestants = append(contestants, js)
	}
	return comparison{
		notes: notes, contestants: contestants,
		targets: []target{
			faster("ours, warm", 40, "tiktoken-go"),
			noAllocs("ours, warm"),
			faster("ours, empty memo", 30, "tiktoken-go"),
		},
	}, nil
}

// countWith is what a contestant in JavaScript is given.
type countWith struct {
	table
	Text string `json:"text"`
	Cold bool   `json:"cold"`
}

// peerTiktoken returns tiktoken-go's counter with its offline tables.
func peerTiktoken(encoding string) (*pkoukk.Tiktoken, error) {
	pkoukk.SetBpeLoader(loader.NewOfflineLoader())
	return pkoukk.GetEncoding(encoding)
}

// differs returns a note about the difference between a count and ours, "" if there is none.
func differs(n, ours int) string {
	if n == ours {
		return ""
	}
	return fmt.Sprintf("counts %d tokens, %+d", n, n-ours)
}

func checked(n, want int) error {
	if n != want {
		return fmt.Errorf("counted %d tokens, but %d before", n, want)
	}
	return nil
}

// turned yields a text rotated by lines, starting at another line each time.
type turned struct {
	twice string
	cuts  []int
	at    int
}

func newTurned(text string) *turned {
	t := &turned{twice: text + text}
	for i := range len(text) {
		if i == 0 || text[i-1] == '\n' {
			t.cuts = append(t.cuts, i)
		}
	}
	return t
}

func (t *turned) next() string {
	t.at = (t.at + 1) % len(t.cuts)
	cut := t.cuts[t.at]
	return t.twice[cut : cut+len(t.twice)/2]
}
