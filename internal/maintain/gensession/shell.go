package main

import (
	"fmt"
	"strings"
	"time"
)

// bash runs a random command of a developer.
func (a *agent) bash() call {
	f := a.changed()
	d := a.dice
	switch n := d.n(100); {
	case n < 30:
		return a.goTest(f)
	case n < 38:
		return a.goBuild(f)
	case n < 48:
		return a.gitDiff()
	case n < 54:
		return a.gitLog()
	case n < 66:
		return a.serviceLog(f, d.between(6, 26))
	case n < 74:
		return a.list(f)
	case n < 82:
		from := 1 + d.n(len(f.lines))
		to := min(from+d.between(8, 35), len(f.lines))
		return a.run(fmt.Sprintf("sed -n '%d,%dp' %s", from, to, f.path), strings.Join(f.lines[from-1:to], "\n"), 0)
	case n < 89:
		return a.benchmark(f)
	case n < 95:
		return a.query()
	default:
		return a.curl()
	}
}

// run returns a command that ended with an exit code. If it failed, the result is an error.
func (a *agent) run(command, output string, code int) call {
	args := bashArgs{Command: command}
	if a.percent(15) {
		args.Timeout = pick(a.dice, []int{30, 60, 120, 300})
	}
	if code == 0 {
		if output == "" {
			output = "(no output)"
		}
		return newCall(a.recorder, "bash", args, output, false)
	}
	return newCall(a.recorder, "bash", args, fmt.Sprintf("%s\n\nCommand exited with code %d", output, code), true)
}

func (a *agent) goTest(f *file) call {
	d := a.dice
	dir := f.dir()
	if !strings.HasPrefix(dir, "internal/") {
		dir = "internal/" + pick(d, a.focus).name
	}
	flags := pick(d, []string{"", " -race", " -count=1", " -v", " -run " + a.fill("Test{T}{V1}", a.about(f))})
	if d.percent(25) {
		return a.run("go test"+flags+" ./"+dir+"/ 2>&1 | tail -60", a.failure(f, dir), 1)
	}
	var out []string
	if flags == " -v" {
		out = a.verbose(f, d.between(1, 3))
	}
	out = append(out, fmt.Sprintf("ok  \texample.com/harborline/%s\t%d.%03ds", dir, d.n(9), d.n(1000)))
	if d.percent(40) {
		flags += " ./..."
		for _, k := range a.project.packages {
			if d.percent(30) {
				out = append(out, fmt.Sprintf("ok  \texample.com/harborline/internal/%s\t(cached)", k.name))
			} else {
				out = append(out, fmt.Sprintf("ok  \texample.com/harborline/internal/%s\t%d.%03ds", k.name, d.n(4), d.n(1000)))
			}
		}
		return a.run("go test"+flags+" 2>&1 | tail -40", strings.Join(out, "\n"), 0)
	}
	return a.run("go test"+flags+" ./"+dir+"/", strings.Join(out, "\n"), 0)
}

// verbose returns the output of a few tests.
func (a *agent) verbose(f *file, tests int) []string {
	d := a.dice
	var out []string
	for range tests {
		name := a.fill("Test{T}{V1}{N1}", a.about(f))
		out = append(out, "=== RUN   "+name)
		var ends []string
		for range d.between(1, 5) {
			sub := name + "/" + a.fill(pick(d, []string{"{a1}_{n1}_is_{v1}d_once", "{n1}_without_{n2}_is_refused",
				"{d1}_{n1}s,_limit_{d2}", "{a1}_beats_{a2}_at_the_same_{n1}", "{n1}_{v1}d_twice_after_restart"}), slots{})
			out = append(out, "=== RUN   "+sub, "=== PAUSE "+sub)
			ends = append(ends, fmt.Sprintf("    --- PASS: %s (0.%02ds)", sub, d.n(40)))
		}
		out = append(out, fmt.Sprintf("--- PASS: %s (0.%02ds)", name, d.n(90)))
		out = append(out, ends...)
	}
	return out
}

// failure returns the output of a failing test.
func (a *agent) failure(f *file, dir string) string {
	d := a.dice
	s := a.about(f)
	var b strings.Builder
	b.WriteString(a.fill("--- FAIL: Test{T}{V1}{N1} (0.{e1}s)\n", s))
	for range d.between(1, 3) {
		switch s := a.inherit(s); d.n(3) {
		case 0:
			b.WriteString(a.fill("    --- FAIL: Test{T}{V1}{N1}/{a1}_{n1} (0.0{d1}s)\n"+
				"        "+f.base()+":{k1}: {v1}d {n1}s (-want +got):\n"+
				"              []string{\n            - \t\"{n1}-{e1}\",\n            + \t\"{n1}-{e2}\",\n"+
				"              \t\"{h1}\",\n              }\n", s))
		case 1:
			b.WriteString(a.fill("        Error Trace:\t"+f.base()+":{k1}\n        Error:      \tReceived unexpected error:\n"+
				"                    \t{v1} {n1} \"{h1}\": {n2} not found\n        Test:       \tTest{T}{V1}{N1}/{a1}_{n1}\n", s))
		case 2:
			b.WriteString(a.race(f))
		}
	}
	return b.String() + fmt.Sprintf("FAIL\nFAIL\texample.com/harborline/%s\t%d.%03ds\nFAIL", dir, d.n(5), d.n(1000))
}

// race returns a report of the race detector.
func (a *agent) race(f *file) string {
	d := a.dice
	var b strings.Builder
	b.WriteString("==================\nWARNING: DATA RACE\n")
	for i, what := range []string{"Write", "Previous read"} {
		fmt.Fprintf(&b, "%s at 0x00c000%s by goroutine %d:\n", what, d.letters(6, hexDigits), 20+d.n(80))
		for range d.between(2, 4) {
			b.WriteString(a.fill("  example.com/harborline/{p}.(*{T}).{v1}{N1}()\n"+
				"      /home/mira/src/harborline/{f}:{k1} +0x{h1}\n", a.about(f)))
		}
		if i == 0 {
			b.WriteString("\n")
		}
	}
	return b.String() + "==================\n"
}

func (a *agent) goBuild(f *file) call {
	if a.percent(45) {
		return a.run("go build ./... && go vet ./...", "", 0)
	}
	s := a.about(f)
	out := "# example.com/harborline/" + f.dir()
	for range a.between(1, 5) {
		out += a.fill(pick(a.dice, []string{
			"\n{f}:{k1}:{e1}: undefined: {c1}",
			"\n{f}:{k1}:{d1}: declared and not used: {n1}",
			"\n{f}:{k1}:{e1}: {r}.{v1}{N1} undefined (type *{T} has no field or method {v1}{N1})",
			"\n{f}:{k1}:{e1}: not enough arguments in call to {r}.{V1}{N1}\n" +
				"\thave (context.Context, string)\n\twant (context.Context, string, *{N2})",
			"\n{f}:{k1}:{e1}: cannot use {n1} (variable of type []*{N1}) as iter.Seq[*{N1}] value in argument to slices.Collect",
		}), a.inheritAll(s))
	}
	return a.run("go build ./...", out, 1)
}

// gitDiff shows the last changes.
func (a *agent) gitDiff() call {
	if len(a.changes) == 0 {
		return a.run("git status --short", "", 0)
	}
	from := max(0, len(a.changes)-a.between(1, 3))
	var b strings.Builder
	for _, c := range a.changes[from:] {
		before, after := c.before, c.after
		fmt.Fprintf(&b, "diff --git a/%s b/%s\nindex %s..%s 100644\n--- a/%s\n+++ b/%s\n@@ -%d,%d +%d,%d @@\n",
			c.path, c.path,
			a.letters(7, hexDigits), a.letters(7, hexDigits), c.path, c.path, c.line+1, len(before), c.line+1, len(after))
		for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
			fmt.Fprintf(&b, " %s\n", before[0])
			before, after = before[1:], after[1:]
		}
		for _, l := range before[:min(len(before), 25)] {
			fmt.Fprintf(&b, "-%s\n", l)
		}
		for _, l := range after[:min(len(after), 25)] {
			fmt.Fprintf(&b, "+%s\n", l)
		}
	}
	return a.run("git diff | head -120", strings.TrimSuffix(b.String(), "\n"), 0)
}

func (a *agent) gitLog() call {
	var out []string
	for range a.between(6, 15) {
		out = append(out, a.fill(pick(a.dice, []string{
			"{h1} {p}: {v1} {n1}s before the {n2} is {a1}",
			"{h1} {p}: fix {a1} {n1} after restart (#{k1})",
			"{h1} {p}: drop {a1}{N1}, nobody calls it",
			"{h1} Merge pull request #{k1} from {n1}-{v1}",
			"{h1} docs: how a {n1} is {v1}d",
			"{h1} {p}: {v1} at most {e1} {n1}s per {n2}",
		}), slots{"p": pick(a.dice, a.words["packages"])}))
	}
	return a.run(fmt.Sprintf("git log --oneline -%d", len(out)), strings.Join(out, "\n"), 0)
}

// serviceLog returns the service's log of the last minutes.
func (a *agent) serviceLog(f *file, lines int) call {
	return a.run(fmt.Sprintf("kubectl logs deploy/harbord --since=10m | grep -v healthz | tail -%d",
		lines), a.log(f, lines), 0)
}

func (a *agent) log(f *file, lines int) string {
	at := a.now - int64(lines)*700
	var out []string
	for range lines {
		at += int64(a.between(3, 1400))
		stamp := time.UnixMilli(at).UTC().Format("15:04:05.000")
		p := strings.TrimPrefix(f.dir(), "internal/")
		out = append(out, a.template("logs", slots{"stamp": stamp, "p": p}))
	}
	return strings.Join(out, "\n")
}

// list lists a directory, or the lengths of its files.
func (a *agent) list(f *file) call {
	d := a.dice
	var out []string
	total := 0
	count := d.percent(50)
	for _, g := range a.project.files {
		if g.dir() != f.dir() {
			continue
		}
		if count {
			out = append(out, fmt.Sprintf("%7d %s", len(g.lines), g.path))
			total += len(g.lines)
			continue
		}
		out = append(out, fmt.Sprintf("-rw-r--r--  1 mira mira %6d Jan %2d %02d:%02d %s",
			len(g.text()), d.between(2, 15), d.n(24), d.n(60), g.base()))
		total += (len(g.text()) + 4095) / 4096 * 4
	}
	if count {
		return a.run("wc -l "+f.dir()+"/*", strings.Join(append(out, fmt.Sprintf("%7d total", total)), "\n"), 0)
	}
	return a.run("ls -l "+f.dir(), fmt.Sprintf("total %d\n%s", total, strings.Join(out, "\n")), 0)
}

func (a *agent) benchmark(f *file) call {
	d := a.dice
	name := a.fill("Benchmark{T}{V1}", a.about(f))
	out := "goos: linux\ngoarch: amd64\npkg: example.com/harborline/" + f.dir() + "\ncpu: AMD EPYC 7763 64-Core Processor"
	noun := a.noun()
	for _, n := range []int{1, d.between(10, 99), d.between(100, 999), d.between(1000, 9999)} {
		out += fmt.Sprintf("\n%s/%ss=%d-8 \t%8d\t%9d ns/op\t%7d B/op\t%5d allocs/op",
			name, noun, n, d.between(90, 3_000_000), n*d.between(40, 900)+d.n(400), n*d.between(8, 96), d.n(20)+n/8)
	}
	return a.run("go test -run '^$' -bench "+name+" -benchmem ./"+f.dir()+"/",
		out+fmt.Sprintf("\nPASS\nok  \texample.com/harborline/%s\t%d.%03ds", f.dir(), d.between(4, 30), d.n(1000)), 0)
}

// query asks the database.
func (a *agent) query() call {
	d := a.dice
	s := slots{}
	command := a.fill(`psql harborline -c "SELECT id, {n1}, {a1}_at, {n2}_count FROM {n1}s WHERE {a2} `+
		`ORDER BY {a1}_at DESC LIMIT {e1}"`, s)
	out := a.fill("   id    |  {n1}  |  {a1}_at  |  {n2}_count\n---------+--------+--------+--------", s)
	rows := d.between(4, 14)
	for range rows {
		out += a.fill("\n {h1} | {person} | {tm} | {k1}", slots{})
	}
	return a.run(command, out+fmt.Sprintf("\n(%d rows)\n", rows), 0)
}

func (a *agent) curl() call {
	var items []string
	s := slots{}
	url := a.fill("'http://localhost:8080/v1/{n1}s?{a1}=true&limit={e1}'", s)
	for range a.between(2, 8) {
		items = append(items, a.fill("    {\n      \"id\": \"{n2}-{k2}\",\n      \"{n2}\": \"{person}\",\n"+
			"      \"{a2}_at\": \"{tm}\",\n      \"{n3}_count\": {k1},\n"+
			"      \"labels\": {\"{a1}\": \"{h1}\", \"city\": \"{city}\"}\n    }",
			slots{"n2": s["n1"]}))
	}
	return a.run("curl -s "+url+" | jq .",
		"{\n  \"items\": [\n"+strings.Join(items, ",\n")+"\n  ],\n  \"next\": \""+a.letters(24, base58Digits)+"\"\n}", 0)
}

// buildLog returns the log of a failed build, of about size bytes.
func (a *agent) buildLog(size int) call {
	var b strings.Builder
	for b.Len() < size {
		k := pick(a.dice, a.project.packages)
		f := pick(a.dice, k.files)
		switch n := a.n(10); {
		case n < 5:
			b.WriteString(strings.Join(a.verbose(f, a.between(1, 4)), "\n") + "\n")
			b.WriteString(fmt.Sprintf("PASS\nok  \texample.com/harborline/internal/%s\t%d.%03ds\n", k.name, a.n(30), a.n(1000)))
		case n < 8:
			b.WriteString(a.log(f, a.between(5, 25)) + "\n")
		case n < 9:
			b.WriteString(a.race(f))
		default:
			b.WriteString(a.failure(f, f.dir()) + "\n")
		}
	}
	return a.run("gh run view --log-failed --job race | cut -f 3-",
		b.String()+"Error: Process completed with exit code 1.", 0)
}
