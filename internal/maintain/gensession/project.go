package main

import (
	"fmt"
	"slices"
	"strings"
)

// project is the source tree that the agent works on.
type project struct {
	packages []*pkg
	files    []*file
}

// pkg is a Go package of the project.
type pkg struct {
	name  string
	nouns []string // preferred in its texts
	files []*file
}

// file is a file of the project.
type file struct {
	path  string
	typ   string // its main type, in Go files
	recv  string // the name of the receiver
	lines []string
}

func (f *file) base() string {
	return f.path[strings.LastIndexByte(f.path, '/')+1:]
}

func (f *file) dir() string { return f.path[:strings.LastIndexByte(f.path, '/')] }

func (f *file) text() string { return strings.Join(f.lines, "\n") + "\n" }

func (f *file) setText(text string) { f.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// newProject generates the whole tree.
func newProject(w *writer) *project {
	p := project{}
	for _, name := range w.words["packages"] {
		k := &pkg{name: name}
		for len(k.nouns) < 7 {
			if n := pick(w.dice, w.words["nouns"]); !slices.Contains(k.nouns, n) {
				k.nouns = append(k.nouns, n)
			}
		}
		bases := slices.Clone(w.words["files"])
		types := slices.Clone(w.words["types"])
		shuffle(w.dice, bases)
		shuffle(w.dice, types)
		gw := &writer{w.dice, w.corpus, k.nouns}
		for i := range w.between(3, 5) {
			functions := w.between(3, 9)
			if w.percent(20) {
				functions = w.between(15, 26)
			}
			f := &file{
				path: "internal/" + name + "/" + bases[i] + ".go",
				typ:  types[i],
				recv: strings.ToLower(types[i][:1]),
			}
			f.setText(gw.goFile(k, f, functions))
			k.files = append(k.files, f)
			if w.percent(60) {
				t := &file{path: "internal/" + name + "/" + bases[i] + "_test.go", typ: f.typ, recv: f.recv}
				t.setText(gw.testFile(k, t, w.between(2, 5)))
				k.files = append(k.files, t)
			}
		}
		p.packages = append(p.packages, k)
		p.files = append(p.files, k.files...)
	}
	p.files = append(p.files, w.otherFiles()...)
	return &p
}

// goFile returns the text of a Go file with a number of functions.
func (w *writer) goFile(k *pkg, f *file, functions int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n", k.name)
	for _, path := range []string{"cmp", "context", "database/sql", "encoding/json", "errors", "fmt", "log/slog", "slices",
		"strconv", "strings", "sync", "sync/atomic", "time"} {
		if w.percent(60) {
			fmt.Fprintf(&b, "\t%q\n", path)
		}
	}
	if w.percent(70) {
		fmt.Fprintf(&b, "\n\t\"example.com/harborline/internal/%s\"\n", pick(w.dice, w.words["packages"]))
	}
	b.WriteString(")\n\n")
	s := slots{"r": f.recv, "T": f.typ}
	b.WriteString(w.fill("// Err{N1}NotFound tells that there is no such {n1}.\n"+
		"var Err{N1}NotFound = errors.New(\"{n1} not found\")\n\n", s))
	if w.percent(50) {
		b.WriteString(w.constants())
	}
	b.WriteString(w.fill("// {N1} is what a {n2} knows of a {n3}.\n", s))
	b.WriteString(w.structure(capital(s["n1"]), "exported_fields", w.between(4, 9), s))
	b.WriteString(w.fill("// {T} {v1}s {n1}s and keeps those that are {a1}. It is safe for concurrent use.\n", s))
	b.WriteString(w.structure(f.typ, "fields", w.between(4, 9), s))
	b.WriteString(w.fill("// New{T} is a {T} on that store. The zero options {v1} every {a1} {n1}.\n"+
		"func New{T}(store {N1}Store, opts ...Option) *{T} {\n"+
		"\t{r} := &{T}{db: store.DB(), now: time.Now, {n1}s: map[string]*{N1}{}}\n"+
		"\tfor _, opt := range opts {\n\t\topt(&{r}.options)\n\t}\n\treturn {r}\n}\n\n", s))
	for range functions {
		b.WriteString(w.function(f) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (w *writer) constants() string {
	s := slots{}
	var b strings.Builder
	b.WriteString(w.fill("// The states of a {n1}, in the order in which it passes through them.\nconst (\n", s))
	for range w.between(3, 6) {
		b.WriteString(w.fill("\t{n1}State{A1} {N1}State = \"{a1}\"\n", slots{"n1": s["n1"]}))
	}
	return b.String() + ")\n\n"
}

// structure returns a struct type with n fields.
func (w *writer) structure(name, fields string, n int, outer slots) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type %s struct {\n", name)
	list := slices.Clone(w.templates[fields])
	shuffle(w.dice, list)
	for _, t := range list[:min(n, len(list))] {
		b.WriteString(indent(w.fill(t, w.inherit(outer)), "\t") + "\n")
	}
	return b.String() + "}\n\n"
}

// function returns a method or function of a file.
func (w *writer) function(f *file) string {
	t := pick(w.dice, w.templates["functions"])
	s := slots{"r": f.recv, "T": f.typ, "F": w.noun() + "s", "zero": ""}
	switch {
	case strings.Contains(t, ") (*"):
		s["zero"] = "nil, "
	case strings.Contains(t, "(done int"):
		s["zero"] = "done, "
	}
	return w.body(t, s) + "\n"
}

// body fills a template, and replaces lines of {block} and {stmt} by statements.
func (w *writer) body(t string, s slots) string {
	var out []string
	for line := range strings.SplitSeq(t, "\n") {
		trimmed := strings.TrimLeft(line, "\t")
		tabs := line[:len(line)-len(trimmed)]
		n := 0
		switch trimmed {
		case "{block}":
			n = w.between(1, 4)
		case "{stmt}":
			n = 1
		default:
			out = append(out, w.fill(line, s))
		}
		for i := range n {
			if i > 0 && w.percent(35) {
				out = append(out, "")
			}
			out = append(out, indent(w.statement(s, len(tabs)), tabs))
		}
	}
	return strings.Join(out, "\n")
}

// statement returns a statement within a function. From a depth of 4 tabs on it holds no other statements.
func (w *writer) statement(outer slots, depth int) string {
	t := pick(w.dice, w.templates["statements"])
	for depth > 3 && (strings.Contains(t, "{block}") || strings.Contains(t, "{stmt}")) {
		t = pick(w.dice, w.templates["statements"])
	}
	return w.body(t, w.inherit(outer))
}

// inherit returns the slots of an inner scope: the receiver and its type stay the same, and often the nouns.
func (w *writer) inherit(outer slots) slots {
	s := slots{"r": outer["r"], "T": outer["T"], "zero": outer["zero"], "F": outer["F"]}
	if s["F"] == "" || w.percent(50) {
		s["F"] = w.fill(pick(w.dice, []string{"{c1}", "{n1}s", "{c1}s", "{n1}Store"}), slots{})
	}
	for _, name := range []string{"n1", "n2"} {
		if v, ok := outer[name]; ok && w.percent(65) {
			s[name] = v
		}
	}
	return s
}

// testFile returns the text of a test file with a number of tests.
func (w *writer) testFile(k *pkg, f *file, tests int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"context\"\n\t\"slices\"\n\t\"strconv\"\n\t\"testing\"\n\t\"time\"\n\n"+
		"\t\"github.com/google/go-cmp/cmp\"\n\t\"github.com/stretchr/testify/assert\"\n"+
		"\t\"github.com/stretchr/testify/require\"\n)\n\n", k.name)
	for range tests {
		b.WriteString(w.test(f, w.between(3, 9)) + "\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// test returns a test function, with a number of cases if it has a table.
func (w *writer) test(f *file, cases int) string {
	s := slots{"r": f.recv, "T": f.typ, "F": w.noun() + "s"}
	var out []string
	for line := range strings.SplitSeq(pick(w.dice, w.templates["tests"]), "\n") {
		tabs, ok := strings.CutSuffix(line, "{cases}")
		if !ok {
			out = append(out, w.fill(line, s))
			continue
		}
		for range cases {
			out = append(out, indent(w.template("cases", w.inherit(s)), tabs))
		}
	}
	return strings.Join(out, "\n")
}

// otherFiles returns the files that are not Go.
func (w *writer) otherFiles() []*file {
	var files []*file
	add := func(path, text string) {
		f := &file{path: path}
		f.setText(text)
		files = append(files, f)
	}
	for i, lang := range []string{"en", "de", "ja", "pl"} {
		add("locales/"+lang+".yaml", w.locale(i))
	}
	for _, name := range []string{"docs/tariffs.md", "docs/bookings.md", "docs/operations.md"} {
		var parts []string
		for range w.between(5, 9) {
			parts = append(parts, w.template("docs", slots{"p": "internal/" + pick(w.dice, w.words["packages"])}))
		}
		add(name, strings.Join(parts, "\n\n"))
	}
	for i := range 4 {
		add(w.fill("migrations/{i}_{a1}_{n1}s.sql", slots{"i": fmt.Sprintf("%04d", 41+i)}), w.migration())
	}
	add("deploy/values.yaml", w.values())
	return files
}

// locale returns a file of translations, of which all languages but the first lack some.
func (w *writer) locale(language int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(w.templates["locale_keys"][0], "\n") {
		columns := strings.Split(line, " | ")
		if language == 0 || w.percent(80) {
			fmt.Fprintf(&b, "%s: %q\n", columns[0], columns[language+1])
		}
	}
	return b.String()
}

func (w *writer) migration() string {
	s := slots{}
	var b strings.Builder
	b.WriteString(w.fill("-- +goose Up\nCREATE TABLE {a1}_{n1}s (\n    id uuid PRIMARY KEY,\n"+
		"    tenant_id uuid NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,\n", s))
	for range w.between(3, 8) {
		b.WriteString(w.fill(pick(w.dice, []string{
			"    {n1} text NOT NULL CHECK ({n1} <> ''),\n",
			"    {n1}_id uuid REFERENCES {n1}s (id),\n",
			"    {n1}_count integer NOT NULL DEFAULT 0,\n",
			"    {a1} boolean NOT NULL DEFAULT false,\n",
			"    {a1}_at timestamptz,\n",
			"    {n1} jsonb NOT NULL DEFAULT '{}',\n",
		}), slots{}))
	}
	return b.String() + w.fill("    created_at timestamptz NOT NULL DEFAULT now()\n);\n"+
		"CREATE INDEX {a1}_{n1}s_by_tenant ON {a1}_{n1}s (tenant_id, created_at) WHERE NOT {a2};\n\n"+
		"-- +goose Down\nDROP TABLE {a1}_{n1}s;\n", s)
}

func (w *writer) values() string {
	var b strings.Builder
	b.WriteString("image:\n  repository: registry.example.com/harborline/harbord\n  tag: \"2026.1.3\"\nconfig:\n")
	for range 14 {
		b.WriteString(w.fill(pick(w.dice, []string{
			"  {n1}.limit: {k1}\n", "  {n1}.{v1}.interval: {e1}s\n",
			"  {n1}.{a1}: true\n", "  # since {tm}, asked for by {person}\n",
		}), slots{}))
	}
	return b.String() + "resources:\n  limits:\n    memory: 384Mi\n    cpu: 750m\n"
}

// indent puts tabs before every line that is not empty.
func indent(text, tabs string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = tabs + l
		}
	}
	return strings.Join(lines, "\n")
}
