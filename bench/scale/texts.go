package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// did describes a step.
type did struct {
	shown     int // messages of the prompt
	compacted bool
}

// sessionName returns the name of session n, from 1; all names have the same length.
func sessionName(n int) string { return fmt.Sprintf("s%08d", n) }

// templateName is the name of the session from which others are copied. Its texts start with the name.
var templateName = sessionName(0)

// The sizes of generated texts, in bytes.
const (
	askedBytes  = 300
	answerBytes = 1500
)

// The usage that the model reports for each answer.
const (
	inputTokens  = 20_000
	outputTokens = 400
)

// pool is the text from which others are cut.
var pool = func() string {
	words := strings.Fields(`the parser lexer of token node tree cache why does it fail if a round is cut where this test should then pass
		because for every entry that was read there must be one more and so on until nothing is left to say about them in main`)
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < 1<<20 {
		fmt.Fprintf(&b, "%s ", words[random.IntN(len(words))])
		if random.IntN(12) == 0 {
			fmt.Fprintf(&b, "%d. ", random.IntN(1000))
		}
	}
	return b.String()
}()

// text returns a text of the given number of bytes, which starts with the session's name.
func text(session string, size int) string {
	size -= len(session) + 1
	at := rand.IntN(len(pool) - size)
	return session + " " + pool[at:at+size]
}
