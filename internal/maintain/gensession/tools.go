package main

import (
	"fmt"
	"slices"
	"strings"
)

// The arguments of the tools, in the order in which the model writes them.
type (
	readArgs struct {
		Path   string `json:"path"`
		Offset int    `json:"offset,omitempty"`
		Limit  int    `json:"limit,omitempty"`
	}
	grepArgs struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
		Glob    string `json:"glob,omitempty"`
	}
	bashArgs struct {
		Command string `json:"command"`
		Timeout int    `json:"timeout,omitempty"`
	}
	editArgs struct {
		Path    string `json:"path"`
		OldText string `json:"oldText"`
		NewText string `json:"newText"`
	}
	writeArgs struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
)

// agent works on a project with tools.
type agent struct {
	*writer
	*recorder
	project *project
	focus   []*pkg // the packages that the turn is about
	seen    []*file
	changes []change // since the last commit
	read    []string // paths, for the summaries
}

// change is a part of a file that was replaced.
type change struct {
	path          string
	line          int // from 0
	before, after []string
}

// file returns a file that the turn is about, preferably one that was not read lately.
func (a *agent) file() *file {
	var f *file
	for range 5 {
		f = pick(a.dice, pick(a.dice, a.focus).files)
		if a.percent(15) {
			f = pick(a.dice, a.project.files)
		}
		if !slices.Contains(a.seen[max(0, len(a.seen)-12):], f) {
			break
		}
	}
	return f
}

// changed returns a file that was read lately, or any if none was.
func (a *agent) changed() *file {
	if len(a.seen) > 0 {
		return pick(a.dice, a.seen[max(0, len(a.seen)-6):])
	}
	return a.file()
}

// about returns the slots for a text about a file.
func (a *agent) about(f *file) slots {
	s := slots{"f": f.path, "fbase": f.base(), "p": f.dir(), "T": f.typ, "r": f.recv, "F": a.noun() + "s"}
	if f.typ == "" {
		s["T"], s["r"] = pick(a.dice, a.words["types"]), "s"
	}
	return s
}

// readFile reads a file, or a part of a long one.
func (a *agent) readFile(f *file) call {
	a.seen = append(a.seen, f)
	if !slices.Contains(a.read, f.path) {
		a.read = append(a.read, f.path)
	}
	args := readArgs{Path: f.path}
	n := len(f.lines)
	switch {
	case a.percent(3):
		wrong := strings.Replace(f.path, "/", "/"+a.noun()+"/", 1)
		return newCall(a.recorder, "read", readArgs{Path: wrong},
			fmt.Sprintf("ENOENT: no such file or directory, access '/home/mira/src/harborline/%s'", wrong), true)
	case n > 40 && a.percent(93):
		args.Offset = 1 + a.n(n-30)
		args.Limit = a.between(8, 38)
	}
	from := max(args.Offset-1, 0)
	to := n
	if args.Limit > 0 {
		to = min(n, from+args.Limit)
	}
	result := strings.Join(f.lines[from:to], "\n")
	if to < n {
		result += fmt.Sprintf("\n\n[%d more lines in file. Use offset=%d to continue.]", n-to, to+1)
	}
	return newCall(a.recorder, "read", args, result, false)
}

// grep searches the project for a word from one of its files.
func (a *agent) grep() call {
	f := a.changed()
	word := a.word(f)
	args := grepArgs{Pattern: word, Path: "."}
	switch {
	case a.percent(40):
		args.Path = f.dir()
	case a.percent(50):
		args.Glob = "*.go"
	}
	limit := pick(a.dice, []int{10, 10, 10, 20})
	var out []string
	for _, g := range a.project.files {
		if args.Path != "." && g.dir() != args.Path || args.Glob != "" && !strings.HasSuffix(g.path, ".go") {
			continue
		}
		for i, l := range g.lines {
			if strings.Contains(l, word) {
				out = append(out, fmt.Sprintf("%s:%d: %s", g.path, i+1, l))
			}
		}
	}
	switch {
	case len(out) == 0:
		return newCall(a.recorder, "grep", args, "No matches found", false)
	case len(out) > limit:
		out = append(out[:limit], "", fmt.Sprintf("[%d matches limit reached. Use limit=%d for more, or refine pattern]",
			limit, 2*limit))
	}
	return newCall(a.recorder, "grep", args, strings.Join(out, "\n"), false)
}

// word returns a name from the file.
func (a *agent) word(f *file) string {
	words := strings.FieldsFunc(pick(a.dice, f.lines), func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	tooCommon := strings.Fields("return string struct errors Errorf package import context switch default require continue")
	words = slices.DeleteFunc(words, func(s string) bool {
		return len(s) < 6 || slices.Contains(tooCommon, s)
	})
	if len(words) == 0 {
		return capital(a.noun())
	}
	return pick(a.dice, words)
}

// edit changes a few lines of a file.
func (a *agent) edit(f *file) call {
	from, to := a.stretch(f, a.between(2, 14))
	before := slices.Clone(f.lines[from:to])
	if a.percent(5) {
		stale := strings.Join(before, "\n") + a.fill("\n// {v1} the {n1}", slots{})
		return newCall(a.recorder, "edit", editArgs{f.path, stale, ""}, "Could not find the exact text in "+f.path+
			". The old text must match exactly including all whitespace and newlines.", true)
	}
	return a.replace(f, from, to, a.rework(f, before))
}

// stretch returns a range of about n lines within functions that occurs only once in its file.
func (a *agent) stretch(f *file, n int) (from, to int) {
	for range 30 {
		from = a.n(max(len(f.lines)-n, 1))
		if strings.HasPrefix(f.lines[from], "\t") && from > 25 {
			break
		}
	}
	to = min(from+n, len(f.lines))
	for strings.Count(f.text(), strings.Join(f.lines[from:to], "\n")) > 1 && (from > 0 || to < len(f.lines)) {
		from, to = max(from-1, 0), min(to+1, len(f.lines))
	}
	return from, to
}

// replace replaces lines of a file.
func (a *agent) replace(f *file, from, to int, after []string) call {
	before := slices.Clone(f.lines[from:to])
	args := editArgs{f.path, strings.Join(before, "\n"), strings.Join(after, "\n")}
	f.lines = slices.Concat(f.lines[:from], after, f.lines[to:])
	a.changes = append(a.changes, change{f.path, from, before, after})
	result := fmt.Sprintf("Successfully replaced text in %s. Changed %d characters to %d characters.",
		f.path, len(args.OldText), len(args.NewText))
	return newCall(a.recorder, "edit", args, result, false)
}

// rework returns lines as the agent changes them.
func (a *agent) rework(f *file, lines []string) []string {
	out := slices.Clone(lines)
	s := a.about(f)
	s["zero"] = ""
	for n := a.between(1, 3); n > 0; n-- {
		i := a.n(len(out))
		code := strings.TrimLeft(out[i], "\t")
		tabs := out[i][:len(out[i])-len(code)]
		first, _, _ := strings.Cut(code, " ")
		begins := tabs != "" && slices.Contains([]string{"if", "for", "switch",
			"return", "select", "defer", "//", "require.NoError(t,"}, first)
		switch {
		case begins && a.percent(60):
			out = slices.Insert(out, i, strings.Split(indent(a.statement(s, len(tabs)), tabs), "\n")...)
		case begins:
			out = slices.Insert(out, i, tabs+a.fill("// {A1} {n1}s are {v1}d by the {n2}, so that no {n3} is counted twice.",
				a.inherit(s)))
		default:
			old, name := a.word(&file{lines: out[i : i+1]}), a.fill("{c1}", slots{})
			for j := range out {
				out[j] = strings.ReplaceAll(out[j], old, name)
			}
		}
	}
	if slices.Equal(out, lines) {
		out[len(out)-1] += a.fill(" // {a1} {n1}s: see {city}", s)
	}
	return out
}

// writeFile writes a new file.
func (a *agent) writeFile(f *file, content string) call {
	f.setText(content)
	a.changes = append(a.changes, change{f.path, 0, nil, f.lines})
	return newCall(a.recorder, "write", writeArgs{f.path, f.text()},
		fmt.Sprintf("Successfully wrote %d bytes to %s", len(f.text()), f.path), false)
}
