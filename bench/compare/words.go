package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// vocabulary of generated text: plain words, most of them one token.
var vocabulary = strings.Fields(`
	the a this that each every no some one another first last new old small large fast slow empty full left right open
	piece message prompt budget token tree branch leaf root window answer question result error call tool file line word
	text number list table cache memory layout summary history session round turn cut limit group priority render prune
	count keep drop take give find read write move join split grow fit show hide start stop wait build test check change
	is was will can must may should and or but so then because while where when how why who what with without before
	after between under over into from for of on in at by as not only also again never always soon late here there now
`)

// words returns a text of n words. Texts of different seeds differ, because each begins with its seed.
func words(seed, n int) string {
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	var text strings.Builder
	fmt.Fprintf(&text, "%d:", seed)
	for range n {
		text.WriteString(" " + vocabulary[r.IntN(len(vocabulary))])
	}
	return text.String()
}
