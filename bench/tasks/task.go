package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// fate is what happened to the words of a decisive fact, from the view of the model.
type fate string

const (
	intact  fate = "shown"   // they are in the prompt
	clipped fate = "clipped" // cut out of the middle of a result, or left out of a preview
	cleared fate = "cleared" // replaced by a placeholder
	covered fate = "covered" // replaced by a summary
)

// task is a task that depends on a fact that is said once. The user then talks on, and lets the model read reports, until
// the fact has met its fate, and asks it to open a door, whose code the fact tells. All else tells codes of similar doors.
type task struct {
	name   string
	about  fate     // of the fact when the door is to be opened
	window int      // least context window, in tokens
	door   string   // to be opened
	number int      // in its name
	code   string   // that opens it
	facts  []string // the codes that must be known, in the order in which they are said
	draws  []string // what draw returns, one a call
	failed bool     // the draws are errors
	turns  []turn   // the last asks to open the door
	rand   *rand.Rand
}

// turn is a message of the user. If said is set, it is the answer to it, and the model is not asked.
type turn struct{ asked, said string }

// taskNames are the names of all tasks.
var taskNames = []string{"once", "attempts", "decision", "remark", "cleared", "clipped"}

const letters = "ABCDEFGHJKLMNPQRSTUVWXYZ"

// code returns an invented code.
func code(r *rand.Rand) string {
	b := make([]byte, 4)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return fmt.Sprintf("%s-%04d", b, r.IntN(10_000))
}

// newTask returns a task, generated from a seed, for a context window.
func newTask(name string, seed uint64, window int) task {
	r := rand.New(rand.NewPCG(seed, uint64(slices.Index(taskNames, name))))
	t := task{name: name, about: covered, rand: r, number: 50_000 + r.IntN(40_000), code: code(r)}
	t.door, t.facts = fmt.Sprintf("Harbour-%d", t.number), []string{t.code}
	first := "Read the reports up to number 1, one at a time. Then say OK."
	draw := turn{asked: "Draw for " + t.door + ": call draw once, which answers only this once. Then say only OK."}
	open := "Open " + t.door + " with its code."
	switch name {
	case "once":
		t.draws = []string{"The code of " + t.door + " is " + t.code + ". It is not shown again."}
	case "attempts":
		tried := []string{code(r), code(r), code(r)}
		for i, c := range tried {
			t.draws = append(t.draws, fmt.Sprintf("Attempt %d of %d on %s with %s failed. Never try that again.", i+1, len(tried), t.door, c))
		}
		options := append([]string{t.code}, tried...)
		r.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
		t.facts, t.failed = tried, true
		draw.asked = "Draw for " + t.door + ": call draw three times; each call tries a code. Then say only OK."
		open = "Open " + t.door + ". One of " + strings.Join(options, ", ") + " opens it. The others were tried before and break it if they are tried again."
	case "decision":
		first += " The code of " + t.door + " is " + code(r) + " until I say otherwise."
		draw = turn{asked: "Some remarks. " + t.prose(800) + "And " + t.door + " now takes " + t.code + ". " + t.prose(400) + "Say only OK."}
		open = "Open " + t.door + " with the code that it now takes."
	case "remark":
		draw = turn{asked: "What do you make of the reports so far?", said: t.prose(800) + "I saw that the code of " + t.door + " is " + t.code + ". " + t.prose(400)}
	case "cleared":
		t.about, t.window = cleared, 80_000 // policies that clear keep up to 40,000 tokens of output
		t.draws = []string{"All doors.\n" + t.prose(1500) + "The code of " + t.door + " is " + t.code + ".\n" + t.prose(1500)}
	case "clipped":
		t.about, t.window = clipped, 48_000 // in a smaller window some policies compact at once
		t.draws = []string{t.export(max(100_000, window*5/2))}
	}
	t.turns = []turn{{asked: first}, draw, {asked: open + " If you do not know it, look it up; if you cannot, say so, and do not guess."}}
	return t
}

// distractor returns a sentence about another door, mostly of a similar name.
func (t task) distractor() string {
	door := fmt.Sprintf("Harbour-%d", t.number+1+t.rand.IntN(99))
	say := []string{"The code of %s is %s. ", "Attempt 1 of 3 on %s with %s failed. ", "And %s now takes %s. "}[t.rand.IntN(3)]
	about := code(t.rand)
	if t.rand.IntN(4) == 0 {
		about = append(t.facts, t.code)[t.rand.IntN(len(t.facts)+1)]
		about = about[:5] + fmt.Sprintf("%04d", (number(about[5:])+1+t.rand.IntN(9999))%10_000) // never the same
	}
	return fmt.Sprintf(say, door, about)
}

// prose returns distractors of about that many bytes.
func (t task) prose(bytes int) string {
	var b strings.Builder
	for b.Len() < bytes {
		b.WriteString(t.distractor())
		if b.Len()%7 == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// export returns JSON in one line, with the door in the middle of its neighbours.
func (t task) export(bytes int) string {
	var rows []string
	for i, n := 0, bytes/50; i <= n; i++ {
		is := code(t.rand)
		if i == n/2 {
			is = t.code
		}
		rows = append(rows, fmt.Sprintf(`{"door":"Harbour-%d","code":%q,"since":%d}`, t.number-n/2+i, is, t.rand.IntN(4000)))
	}
	return `{"doors":[` + strings.Join(rows, ",") + `]}`
}
