package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// hostileInputs are texts that are slow to count, of as many whole characters as n bytes hold.
var hostileInputs = []struct {
	name string
	make func(n int) string
}{
	{"one letter", func(n int) string { return strings.Repeat("a", n) }},
	{"spaces", func(n int) string { return strings.Repeat(" ", n) }},
	{"newlines", func(n int) string { return strings.Repeat("\n", n) }},
	{"base64", func(n int) string { return base64.StdEncoding.EncodeToString(randomBytes(n))[:n] }},
	{"Chinese", func(n int) string { return randomRunes(n, 0x4E00, 0x9FA5) }},
	{"emoji", func(n int) string { return randomRunes(n, 0x1F300, 0x1F64F) }},
	{"random letters", func(n int) string { return randomRunes(n, 'a', 'z') }},
	{"random bytes", func(n int) string { return string(randomBytes(n)) }},
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{'h'})
	_, _ = r.Read(b) // never fails
	return b
}

// randomRunes returns text of characters between two whose encodings have the same length.
func randomRunes(n int, from, to rune) string {
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.Grow(n)
	for size := len(string(from)); text.Len()+size <= n; {
		text.WriteRune(from + r.Int32N(to-from+1))
	}
	return text.String()
}

// hostilePlan counts texts without a break, and texts of twice the size.
func hostilePlan() plan {
	return plan{
		name: "hostile", about: "counting 1 MB of text without a break, and 2 MB, with an empty memo in o200k_base",
		prepare: func(_ context.Context, b *bench) (comparison, error) {
			const encoding = "o200k_base"
			c := comparison{
				notes:   []string{"the ratio of 2 MB is to 1 MB of the same; tiktoken-go counts only 20 KB, because its time is quadratic"},
				stretch: 4, // the jobs are long, so there are few in a round
			}
			count := func(text string) lap {
				return afresh(
					emptied(encoding),
					func(_ context.Context, c *tiktoken.Counter) error { c.CountText(text); return nil },
				)
			}
			for _, input := range hostileInputs {
				one, two := input.name+", 1 MB", input.name+", 2 MB"
				text, twice := input.make(b.sizes.hostile), input.make(2*b.sizes.hostile)
				c.contestants = append(c.contestants,
					contestant{name: one, lap: count(text), against: one, bytes: len(text)},
					contestant{name: two, lap: count(twice), against: one, bytes: len(twice)})
				c.targets = append(c.targets, under(one, 300*time.Millisecond), within(two, 2.3, one))
			}
			tik, err := peerTiktoken(encoding)
			if err != nil {
				return comparison{}, err
			}
			text := strings.Repeat("a", min(20_000, b.sizes.hostile))
			name := fmt.Sprintf("tiktoken-go, one letter, %d KB", len(text)/1000)
			c.contestants = append(c.contestants, contestant{
				name: name, against: "one letter, 1 MB", bytes: len(text),
				lap: repeated(func() error { tik.EncodeOrdinary(text); return nil }),
			})
			return c, nil
		},
	}
}
