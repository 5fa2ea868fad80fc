package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// task is a task whose result can be checked.
type task struct {
	name  string
	asked []string // the messages of the user, one a turn
	tools []function
	// solved reports whether the task is done, given the last answer of each turn.
	solved func(answers []string) bool
	steps  int // the maximum
}

// function is a tool.
type function struct {
	chat.Tool
	reads bool // it returns the same result each time, so a second call with the same arguments is a look-back
	call  func(args arguments) (result string, err error)
}

// arguments of a call.
type arguments struct {
	Page  int    `json:"page"`
	Step  int    `json:"step"`
	Word  string `json:"word"`
	Path  string `json:"path"`
	Value int    `json:"value"`
	Words string `json:"words"`
}

// functionOf returns a tool whose parameters are fields of arguments, all required.
func functionOf(name, description string, reads bool, call func(arguments) (string, error), parameters ...string) function {
	properties := map[string]any{}
	for _, p := range parameters {
		kind := "string"
		if p == "page" || p == "step" || p == "value" {
			kind = "integer"
		}
		properties[p] = map[string]string{"type": kind}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": append([]string{}, parameters...)})
	if err != nil {
		panic(err)
	}
	return function{chat.Tool{Name: name, Description: description, Parameters: schema}, reads, call}
}

// tasks returns all tasks, generated from a seed. Their lengths are those in README.md times size.
func tasks(seed uint64, size float64) []task {
	n := func(length int) int { return max(2, int(float64(length)*size)) }
	return []task{repository(seed, n(40)), plan(seed, n(200)), recall(seed, n(300))}
}

// noise returns a meaningless text.
func noise(r *rand.Rand, words int) string {
	vocabulary := []string{"lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed", "eiusmod", "tempor", "magna"}
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(vocabulary[r.IntN(len(vocabulary))])
	}
	return b.String()
}

// word returns an invented word.
func word(r *rand.Rand) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b strings.Builder
	for range 3 {
		b.WriteByte(consonants[r.IntN(len(consonants))])
		b.WriteByte(vowels[r.IntN(len(vowels))])
	}
	return b.String()
}

// repository is the task of correcting the settings of modules that differ from their specification.
func repository(seed uint64, modules int) task {
	r := rand.New(rand.NewPCG(seed, 1))
	want, have := make([]int, modules), make([]int, modules)
	texts := make([]string, modules)
	var spec strings.Builder
	for i := range modules {
		want[i], have[i] = 100+r.IntN(900), r.IntN(100)
		texts[i] = noise(r, 60)
		fmt.Fprintf(&spec, "The setting of module_%d.txt must be %d. %s\n", i, want[i], noise(r, 8))
	}
	wrong := func() int {
		for i := range want {
			if want[i] != have[i] {
				return i
			}
		}
		return -1
	}
	read := func(a arguments) (string, error) {
		if a.Path == "spec.txt" {
			return spec.String(), nil
		}
		var i int
		if _, err := fmt.Sscanf(a.Path, "module_%d.txt", &i); err != nil || i < 0 || i >= modules {
			return "", fmt.Errorf("there is no file %q", a.Path)
		}
		return fmt.Sprintf("module_%d.txt:\n%s\nsetting = %d\n%s\n", i, texts[i], have[i], texts[i]), nil
	}
	set := func(a arguments) (string, error) {
		var i int
		if _, err := fmt.Sscanf(a.Path, "module_%d.txt", &i); err != nil || i < 0 || i >= modules {
			return "", fmt.Errorf("there is no file %q", a.Path)
		}
		have[i] = a.Value
		return fmt.Sprintf("The setting of module_%d.txt is %d now.", i, a.Value), nil
	}
	test := func(arguments) (string, error) {
		if i := wrong(); i >= 0 {
			return fmt.Sprintf("FAIL: module_%d.txt: the setting is not what spec.txt says.", i), nil
		}
		return "PASS", nil
	}
	return task{
		name: "repository",
		asked: []string{"The tests of this repository fail. spec.txt says what each setting must be. Read it, run the tests, read the file that " +
			"fails before you set it, and go on until they pass. Then say that you are done."},
		tools: []function{
			functionOf("read_file", "Reads spec.txt, or a file such as module_3.txt.", true, read, "path"),
			functionOf("set", "Sets the setting of a file.", false, set, "path", "value"),
			functionOf("run_tests", "Runs the tests, up to the first that fails.", false, test),
		},
		solved: func([]string) bool { return wrong() < 0 },
		steps:  8 * modules,
	}
}

// plan is the task of following a plan of many steps, written on pages.
func plan(seed uint64, steps int) task {
	const stepsOfPage = 20
	r := rand.New(rand.NewPCG(seed, 2))
	words := make([]string, steps)
	for i := range words {
		words[i] = word(r)
	}
	done, missteps := 0, 0
	read := func(a arguments) (string, error) {
		from := (a.Page - 1) * stepsOfPage
		if a.Page < 1 || from >= steps {
			return "", fmt.Errorf("there is no page %d: the plan has %d", a.Page, (steps+stepsOfPage-1)/stepsOfPage)
		}
		var b strings.Builder
		for i := from; i < min(from+stepsOfPage, steps); i++ {
			fmt.Fprintf(&b, "step %d: the word is %s\n", i+1, words[i])
		}
		return b.String(), nil
	}
	do := func(a arguments) (string, error) {
		switch {
		case a.Step != done+1:
			return "", fmt.Errorf("step %d is next", done+1)
		case a.Word != words[done]:
			missteps++
			return "", fmt.Errorf("%q is not the word of step %d", a.Word, a.Step)
		}
		done++
		return fmt.Sprintf("step %d is done. %s", done, noise(r, 60)), nil
	}
	return task{
		name: "plan",
		asked: []string{fmt.Sprintf("Follow the plan. It has %d steps on %d pages, %d a page. Do each step in order, with its word. Then say that you are done.",
			steps, (steps+stepsOfPage-1)/stepsOfPage, stepsOfPage)},
		tools: []function{
			functionOf("read_plan", "Reads a page of the plan, from 1 on.", true, read, "page"),
			functionOf("do", "Does a step with its word.", false, do, "step", "word"),
		},
		solved: func([]string) bool { return done == steps && missteps == 0 },
		steps:  3 * steps,
	}
}

// recall is the task of answering, after many rounds, a question about the user's first message and one result of a
// tool.
func recall(seed uint64, pages int) task {
	r := rand.New(rand.NewPCG(seed, 3))
	slot, colours := word(r)+fmt.Sprint(r.IntN(9000)), make([]string, pages)
	for i := range colours {
		colours[i] = word(r)
	}
	wanted := 2
	read := func(a arguments) (string, error) {
		if a.Page < 1 || a.Page > pages {
			return "", fmt.Errorf("there is no page %d: the book has %d", a.Page, pages)
		}
		return fmt.Sprintf("Page %d. Its colour is %s. %s", a.Page, colours[a.Page-1], noise(r, 60)), nil
	}
	return task{
		name: "recall",
		asked: []string{
			fmt.Sprintf("The key lies in slot %s. Keep that in mind. Now read the book, which has %d pages, a page at a time and in order. Then say that you are done.", slot, pages),
			fmt.Sprintf("In which slot lies the key, and what is the colour of page %d?", wanted),
		},
		tools: []function{functionOf("read_page", "Reads a page of the book, from 1 on.", true, read, "page")},
		solved: func(answers []string) bool {
			last := answers[len(answers)-1]
			return strings.Contains(last, slot) && strings.Contains(last, colours[wanted-1])
		},
		steps: 2*pages + 20,
	}
}
