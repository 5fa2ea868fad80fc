// Command generate writes the table of package modelinfo from public catalogues and the facts kept by hand. Run it in
// the package's folder; CONTRIBUTING.md says when, and where the inputs are to be had:
//
//	go run ./internal/generate -in models.dev=2026-07-02=api.json -in litellm=2026-07-24=prices.json \
//		-in llm-zoo=2026-09-30=zoo.json -in catwalk=2026-10-28=configs
//
// The inputs are given from the oldest to the newest, each with the date of its state. Where two differ, the facts of
// facts.txt win, which are taken from the makers' own pages, then the newest input. Each difference is printed.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/sizing/modelinfo"
)

// addresses of the inputs.
var addresses = map[string]string{
	"models.dev": "https://github.com/anomalyco/models.dev",
	"litellm":    "https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json",
	"llm-zoo":    "https://www.npmjs.com/package/llm-zoo",
	"catwalk":    "https://github.com/charmbracelet/catwalk",
}

// input is a catalogue, with the rows that it has.
type input struct {
	name, date string
	rows       []modelinfo.Info
}

func main() {
	log.SetFlags(0)
	var inputs []input
	flag.Func("in", "NAME=DATE=PATH of a catalogue: models.dev, litellm, llm-zoo or catwalk (a folder)", func(given string) error {
		fields := strings.SplitN(given, "=", 3)
		if len(fields) != 3 || addresses[fields[0]] == "" {
			return fmt.Errorf("want NAME=DATE=PATH with one of %v", addresses)
		}
		rows, err := read(fields[0], fields[2])
		inputs = append(inputs, input{fields[0], fields[1], rows})
		return err
	})
	flag.Parse()
	if len(inputs) == 0 {
		log.Fatal("generate: no input: see -help")
	}
	facts, err := os.ReadFile("facts.txt")
	if err != nil {
		log.Fatal(err)
	}
	table := new(modelinfo.Table)
	for _, in := range inputs {
		rows := slices.DeleteFunc(in.rows, func(row modelinfo.Info) bool { return row.Window < 8192 || other.MatchString(row.Name) || foreign(row) })
		for i := range rows {
			if rows[i].Answer > rows[i].Window {
				rows[i].Answer = 0 // some catalogues put the limit of a day or a batch there
			}
			rows[i].Source = in.name
			differences(table, rows[i])
		}
		table = table.With(rows...)
	}
	rows, err := withFacts(table, string(facts))
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("table.json", written(rows, inputs), 0o644); err != nil {
		log.Fatal(err)
	}
}

// other matches models that write no text, or that hold no conversation in text, and aliases of a gateway.
var other = regexp.MustCompile(`(^|-)(tts|image|audio|realtime|transcribe|embedding|embed|live|robotics|omni|ocr|guard|safeguard|moderation|voxtral|translate|asr|free|auto)(-|$)`)

// foreign reports whether a gateway alone lists a row of a maker whose own list is read: its own variant, alias or tag.
func foreign(row modelinfo.Info) bool {
	family, _, _ := strings.Cut(row.Name, "-")
	return row.Prices == nil && slices.Contains([]string{"claude", "gpt", "gemini"}, family) || strings.ContainsAny(row.Name, ":~")
}

// kept reports whether a provider's list is taken: those of the makers, and OpenRouter's, which has nearly all open models.
func kept(provider string) bool { return modelinfo.Maker(provider) != "" || provider == "openrouter" }

// read returns the rows of a catalogue.
func read(name, path string) ([]modelinfo.Info, error) {
	if name == "catwalk" {
		files, err := filepath.Glob(filepath.Join(path, "*.json"))
		if err != nil {
			return nil, err
		}
		var list []json.RawMessage
		for _, file := range files {
			if !kept(strings.TrimSuffix(filepath.Base(file), ".json")) {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			list = append(list, data)
		}
		return rows(list)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	switch name {
	case "llm-zoo":
		return zoo(data)
	case "models.dev":
		var providers map[string]json.RawMessage
		if err := json.Unmarshal(data, &providers); err != nil {
			return nil, err
		}
		maps.DeleteFunc(providers, func(name string, _ json.RawMessage) bool { return !kept(name) })
		return rows(providers)
	}
	return modelinfo.Rows(bytes.NewReader(data))
}

// rows returns the rows of a catalogue of which only some providers are kept.
func rows(catalogue any) ([]modelinfo.Info, error) {
	data, err := json.Marshal(catalogue)
	if err != nil {
		return nil, err
	}
	return modelinfo.Rows(bytes.NewReader(data))
}

// differences prints where a row differs from what earlier inputs said.
func differences(t *modelinfo.Table, row modelinfo.Info) {
	was, err := t.Find(row.Name)
	if err != nil || was.Guessed() {
		return
	}
	say := func(field string, was, is any) {
		fmt.Printf("%s: %s: %v, and %v by %s\n", row.Name, field, was, is, row.Source)
	}
	if row.Window > 0 && was.Window > 0 && row.Window != was.Window {
		say("window", was.Window, row.Window)
	}
	if row.Answer > 0 && was.Answer > 0 && row.Answer != was.Answer {
		say("answer", was.Answer, row.Answer)
	}
	if p, q := was.Prices, row.Prices; p != nil && q != nil && (p.Input != q.Input || p.Output != q.Output || p.CacheRead != q.CacheRead) {
		say("prices (input, read, output)", []float64{p.Input, p.CacheRead, p.Output}, []float64{q.Input, q.CacheRead, q.Output})
	}
}

// withFacts returns the rows of a table under the facts kept by hand. A line is the name of a model, or with a * at its
// end the start of names, then field, value, date and source, with tabs between. A name that no input lists is a row of
// its own.
func withFacts(t *modelinfo.Table, facts string) ([]modelinfo.Info, error) {
	rows := t.Models()
	for n, line := range strings.Split(facts, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 5 {
			return nil, fmt.Errorf("facts.txt:%d: %d fields: want name, field, value, date and source", n+1, len(fields))
		}
		start, family := strings.CutSuffix(fields[0], "*")
		named := func(row modelinfo.Info) bool {
			return row.Name == start || family && strings.HasPrefix(row.Name, start)
		}
		if !family && !slices.ContainsFunc(rows, named) {
			rows = append(rows, modelinfo.Info{Name: start, Source: fields[4], Date: fields[3]})
		}
		for i := range rows {
			if !named(rows[i]) {
				continue
			}
			if err := set(&rows[i], fields[1], fields[2]); err != nil {
				return nil, fmt.Errorf("facts.txt:%d: %w", n+1, err)
			}
		}
	}
	return rows, nil
}

// written returns the table as the package embeds it: its inputs, windows of which nothing else is known, then a row a
// line. Rows without a source are from the newest input.
func written(rows []modelinfo.Info, inputs []input) []byte {
	newest := inputs[len(inputs)-1].name
	sources := map[string]map[string]string{}
	for _, in := range inputs {
		sources[in.name] = map[string]string{"address": addresses[in.name], "date": in.date}
	}
	windows := map[string]map[string]int{}
	var lines []string
	for _, row := range rows {
		if row.Source == newest {
			row.Source = ""
		}
		if row.Prices == nil && row.Encoding == "" && (modelinfo.Maker(row.Maker) == "" || row.Answer == 0) && row.Maker != "" {
			if windows[row.Maker] == nil {
				windows[row.Maker] = map[string]int{}
			}
			windows[row.Maker][row.Name] = row.Window
			continue
		}
		lines = append(lines, string(encoded(row)))
	}
	return fmt.Appendf(nil, "{\"sources\": %s,\n\"default\": %q,\n\"windows\": %s,\n\"models\": [\n%s\n]}\n",
		encoded(sources), newest, strings.ReplaceAll(string(encoded(windows)), "},", "},\n"), strings.Join(lines, ",\n"))
}

// encoded returns a value as JSON.
func encoded(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		log.Fatal(err)
	}
	return data
}
