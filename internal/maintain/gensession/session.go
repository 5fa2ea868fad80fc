package main

import (
	"fmt"
	"slices"
	"strings"
)

// The seeds. Other seeds give another session.
const (
	writerSeed   = 20260115
	recorderSeed = 58311204
)

// turn describes the agent's work after a message of the user.
type turn struct {
	rounds  int // with tool calls; an answer without calls ends the turn
	special func(*agent)
}

// turns returns the turn of each prompt in texts/prompts.txt. special is called in the middle of it.
func turns() []turn {
	return []turn{
		{rounds: 15},
		{rounds: 14},
		{rounds: 15, special: (*agent).askUser},
		{rounds: 9, special: (*agent).splitFile},
		{rounds: 11},
		{rounds: 16, special: (*agent).abortEmpty},
		{rounds: 10},
		{rounds: 15},
		{rounds: 9},
		{rounds: 19},
		{rounds: 14},
		{rounds: 10, special: (*agent).locales},
		{rounds: 3},
		{rounds: 12, special: (*agent).wholeLog},
		{rounds: 13, special: (*agent).abortCalling},
		{rounds: 15},
		{rounds: 6},
		{rounds: 7, special: (*agent).tariffTable},
		{rounds: 15},
		{rounds: 9},
		{rounds: 14},
		{rounds: 5},
		{rounds: 27, special: (*agent).webhooks},
		{rounds: 9},
		{rounds: 12, special: (*agent).userTests},
		{rounds: 0},
	}
}

// session returns the generated session in the JSON lines of pi: about 26 turns, 300 rounds and 800 KB, the same bytes
// on every call.
func session() []byte {
	w := &writer{newDice(writerSeed), loadCorpus(), nil}
	a := &agent{writer: w, recorder: newRecorder(recorderSeed), project: newProject(w)}
	a.header("/home/mira/src/harborline", 9_300)
	a.thinkingLevelChange("medium")
	compactions := map[int]bool{9: true, 18: true}
	for i, t := range turns() {
		a.attend(i)
		first := a.prompt(a.templates["prompts"][i], i)
		a.turn(t)
		switch {
		case compactions[i]:
			a.compact(first)
		case i == 11:
			a.modelChange("claude-sonnet-4-5")
		case i == 12:
			a.thinkingLevelChange("low")
			a.modelChange("claude-opus-4-5")
		}
	}
	return a.out.Bytes()
}

// attend chooses the packages that a turn is about.
func (a *agent) attend(i int) {
	if i == 0 || a.percent(75) {
		a.focus = slices.Clone(a.project.packages)
		shuffle(a.dice, a.focus)
		a.focus = a.focus[:3]
	}
	a.nouns = a.focus[0].nouns
}

// prompt appends a message of the user and returns the entry's id.
func (a *agent) prompt(template string, i int) string {
	f := pick(a.dice, a.focus[0].files)
	s := a.about(f)
	s["f1"], s["f2"] = f.path, pick(a.dice, a.focus[1].files).path
	s["p1"], s["p2"] = "internal/"+a.focus[0].name, "internal/"+a.focus[1].name
	for strings.Contains(template, "{log}") {
		template = strings.Replace(template, "{log}", a.log(f, 1), 1)
	}
	said := a.fill(template, s)
	if i%9 == 4 {
		return a.plainUser(said)
	}
	return a.user(said)
}

// turn does the work of a turn.
func (a *agent) turn(t turn) {
	for i := range t.rounds {
		if t.special != nil && i == t.rounds/2 {
			t.special(a)
		}
		a.round(100 * i / t.rounds)
	}
	a.answer()
}

// round appends an answer with tool calls and their results. At the start of a turn, with progress near 0, the agent
// reads; towards 100 it edits and runs commands.
func (a *agent) round(progress int) {
	n := 1
	if a.percent(15) {
		n = a.between(2, 4)
	}
	var calls []call
	for range n {
		calls = append(calls, a.act(progress, n > 1))
	}
	a.callTools(a.before(calls[0].Name), calls)
}

// callTools records an answer that calls tools, and their results. Tools that run in parallel end in any order.
func (a *agent) callTools(said []part, calls []call) {
	for _, c := range calls {
		said = append(said, c.callPart)
	}
	a.assistant("toolUse", said...)
	results := slices.Clone(calls)
	if a.percent(60) {
		shuffle(a.dice, results)
	}
	a.results(results)
}

// before returns the agent's thinking and text before it calls a tool.
func (a *agent) before(tool string) []part {
	s := a.about(a.changed())
	var said []part
	if a.percent(9) {
		var thought []string
		for range a.between(2, 9) {
			thought = append(thought, a.template("thoughts", a.inheritAll(s)))
		}
		said = append(said, thinkingPart{"thinking",
			strings.Join(thought, pick(a.dice, []string{" ", "\n\n", " "})), a.signature()})
	}
	if a.percent(55) {
		said = append(said, text(a.template("says_"+tool, a.inheritAll(s))))
	}
	return said
}

// inheritAll returns the slots of an inner scope, as inherit does, with all slots about the file.
func (a *agent) inheritAll(s slots) slots {
	inner := a.inherit(s)
	for _, name := range []string{"f", "fbase", "p"} {
		inner[name] = s[name]
	}
	return inner
}

// signature returns a text that looks like a provider's signature.
func (a *agent) signature() string {
	return "Er" + a.letters(4*a.between(40, 260)-3, base64Digits) + "="
}

// act returns one tool call.
func (a *agent) act(progress int, parallel bool) call {
	d := a.n(100)
	switch {
	case parallel && d < 60, !parallel && progress < 30 && d < 45, d < 14:
		return a.readFile(a.file())
	case parallel, progress < 30 && d < 60, d < 22:
		return a.grep()
	case d < 64 && progress >= 25:
		return a.edit(a.changed())
	default:
		return a.bash()
	}
}

// answer ends a turn.
func (a *agent) answer() {
	s := a.about(a.changed())
	var b strings.Builder
	b.WriteString(a.fill(pick(a.dice, []string{"Done. `{V1}{N1}` {v1}s each {n1} once now.",
		"That is in place.", "Here is what I found and changed:",
		"The {n1} is {v1}d in one place now.", "All {d1} callers are changed."}), a.inheritAll(s)) + "\n\n")
	for range a.between(2, 6) {
		b.WriteString("- " + a.template("bullets", a.inheritAll(a.about(a.changed()))) + "\n")
	}
	b.WriteString("\n" + a.template("endings", a.inheritAll(s)))
	a.assistant("stop", text(b.String()))
}

// compact records a compaction that keeps the entry of the given id first.
func (a *agent) compact(firstKept string) {
	f := pick(a.dice, a.focus[0].files)
	s := a.about(f)
	s["f1"], s["f2"] = f.path, pick(a.dice, a.focus[1].files).path
	s["p1"] = "internal/" + a.focus[0].name
	var files []string
	for _, path := range a.read {
		files = append(files, "- "+path)
	}
	s["files"] = strings.Join(files, "\n")
	a.compaction(a.template("summary", s), firstKept, a.context/6)
}

// abortEmpty records that the user stops an answer before it begins, and says why.
func (a *agent) abortEmpty() {
	a.assistant("aborted")
	a.user("sorry, wrong window. go on")
}

// abortCalling records that the user stops an answer during a tool call, which has no result.
func (a *agent) abortCalling() {
	f := a.changed()
	c := newCall(a.recorder, "bash",
		bashArgs{Command: "rm -rf " + f.dir() + "/testdata && git checkout " + f.dir()}, "", false)
	a.assistant("aborted", text("The test data is in the way, I'll restore it from git."), c.callPart)
	a.user("no!! I have uncommitted changes in there. leave the test data alone, whatever you do")
}

// askUser records that the user runs a command and shows the agent its output.
func (a *agent) askUser() {
	a.answer()
	f := pick(a.dice, a.focus[0].files)
	a.recorder.bash("go test -count=50 -failfast ./"+f.dir()+"/ | tail -20", a.failure(f, f.dir()), 1)
	a.user("↑ that is on my machine, with your change. still 1 in 20 or so")
}

// userTests is like askUser, with a command that succeeds.
func (a *agent) userTests() {
	a.answer()
	a.recorder.bash("make generate && git status --short",
		" M internal/"+a.focus[0].name+"/"+a.focus[0].files[0].base()+"\n M CHANGELOG.md\n", 0)
	a.user("generated code is up to date as well, please include that")
}

// splitFile moves a large part of a file into a new one.
func (a *agent) splitFile() {
	f := longest(a.project.files)
	half := len(f.lines) * 2 / 5
	moved := slices.Clone(f.lines[half:])
	g := a.newFile(a.fill("{a1}_{n1}.go", slots{}), f)
	a.callTools([]part{text("Most of `" + f.path + "` is about one thing. Moving that.")},
		[]call{a.writeFile(g, f.lines[0]+"\n\n"+strings.Join(moved, "\n")+"\n")})
	a.callTools(nil, []call{a.replace(f, half, len(f.lines), []string{"// What was here is in " + g.base() + "."})})
}

// longest returns the longest file.
func longest(files []*file) *file {
	return slices.MaxFunc(files, func(f, g *file) int { return len(f.text()) - len(g.text()) })
}

// newFile adds a new file beside another one.
func (a *agent) newFile(base string, beside *file) *file {
	f := &file{path: beside.dir() + "/" + base, typ: beside.typ, recv: beside.recv}
	a.focus[0].files = append(a.focus[0].files, f)
	a.project.files = append(a.project.files, f)
	return f
}

// locales compares the translations, and completes them.
func (a *agent) locales() {
	var files []*file
	for _, f := range a.project.files {
		if f.dir() == "locales" {
			files = append(files, f)
		}
	}
	var reads []call
	for _, f := range files {
		reads = append(reads, newCall(a.recorder, "read", readArgs{Path: f.path}, f.text(), false))
	}
	a.callTools([]part{text("Let me read all four.")}, reads)
	for i, f := range files[1:] {
		var full []string
		for line := range strings.SplitSeq(a.templates["locale_keys"][0], "\n") {
			columns := strings.Split(line, " | ")
			full = append(full, fmt.Sprintf("%s: %q", columns[0], columns[i+2]))
		}
		a.callTools(nil, []call{a.writeFile(f, strings.Join(full, "\n")+"\n")})
	}
}

// wholeLog reads the log of a build, which is long.
func (a *agent) wholeLog() {
	said := text("The summary only says that the job failed. Getting the whole log.")
	a.callTools([]part{said}, []call{a.buildLog(60_000)})
}

// tariffTable writes a long test.
func (a *agent) tariffTable() {
	f := a.newFile("tariff_test.go", longest(a.focus[0].files))
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport \"testing\"\n\n"+
		"// Every combination of docs/tariffs.md. Amounts are in cents.\n"+
		"func TestTariffs(t *testing.T) {\n"+
		"\ttests := []struct {\n\t\tname       string\n\t\tweight     int\n\t\tdays       int\n"+
		"\t\trate, city string\n\t\twant       int\n\t}{\n", a.focus[0].name)
	for range 205 {
		b.WriteString(indent(a.template("tariff_rows", slots{}), "\t\t") + "\n")
	}
	b.WriteString("\t}\n\tfor _, tt := range tests {\n\t\tt.Run(tt.name, func(t *testing.T) {\n" +
		"\t\t\tgot := Amount(tt.weight, tt.days, tt.rate, tt.city)\n" +
		"\t\t\tif got != tt.want {\n\t\t\t\tt.Errorf(\"got %d, want %d\", got, tt.want)\n\t\t\t}\n\t\t})\n\t}\n}\n")
	a.callTools([]part{text("Writing the table now, all combinations.")}, []call{a.writeFile(f, b.String())})
}

// webhooks writes a large new part of the service.
func (a *agent) webhooks() {
	f := a.newFile("delivery.go", longest(a.focus[0].files))
	f.typ, f.recv = "Deliverer", "d"
	a.callTools([]part{text("Now the deliverer itself.")}, []call{a.writeFile(f, a.goFile(a.focus[0], f, 20))})
	t := a.newFile("delivery_test.go", f)
	a.callTools(nil, []call{a.writeFile(t, a.testFile(a.focus[0], t, 7))})
}
