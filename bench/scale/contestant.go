package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
)

// contestant keeps sessions in tables of its own.
type contestant interface {
	name() string
	// prepare makes the tables.
	prepare(ctx context.Context, p *place) error
	// fill makes sessions of so many messages, as if they had grown at once: each is in the contestant's own format.
	fill(ctx context.Context, p *place, first, count, messages int) error
	// open connects.
	open(ctx context.Context, p *place, connections int, w *wire) (stepper, error)
}

// stepper makes steps over connections.
type stepper interface {
	// check reads a session as the contestant's users do, and returns how many messages it has, and the first that was said in it.
	check(ctx context.Context, session string) (messages int, first string, err error)
	// step opens a session, appends what the user says, makes the prompt, appends an answer and closes the session.
	step(ctx context.Context, session string) (did, error)
	close() error
}

// did is what came of a step.
type did struct {
	shown     int // messages of the prompt
	compacted bool
}

// sessionName is the name of a session, from 1; of all the same length.
func sessionName(n int) string { return fmt.Sprintf("s%08d", n) }

// templateName is that of the session from which others are copied. What is said in it begins with it.
var templateName = sessionName(0)

// Bytes of what is made up.
const (
	askedBytes  = 300
	answerBytes = 1500
)

// What the model reports of each answer.
const (
	inputTokens  = 20_000
	outputTokens = 400
)

// pool is what texts are cut from.
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

// text makes up what is said in a session, in so many bytes.
func text(session string, size int) string {
	size -= len(session) + 1
	at := rand.IntN(len(pool) - size)
	return session + " " + pool[at:at+size]
}

// chunk is how many messages of so many sessions are copied at a time.
func chunk(sessions int) int { return max(1, 20_000/sessions) }
