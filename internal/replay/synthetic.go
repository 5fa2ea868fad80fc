package replay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/costsim"
)

// synthetic says which synthetic sessions to generate.
type synthetic struct {
	sessions int
	seed     uint64
	shapes   []costsim.Shape
}

// syntheticSession is a generated session, and the size of the compactions that -regret tries on it.
type syntheticSession struct {
	costsim.Session
	shape          costsim.Shape
	requests, mean int     // mean is that of the tokens that a request adds
	cold           float64 // share of the requests
	summary, kept  int     // tokens
}

func (m syntheticSession) String() string {
	return fmt.Sprintf("%s, %d requests of %d tokens, %.0f%% cold", m.shape, m.requests, m.mean, 100*m.cold)
}

// all generates the sessions: of all shapes in turn, with 16 to 800 requests that add 100 to 3,000 tokens on average,
// of which 0%, 3% or 10% are cold.
func (s synthetic) all() []syntheticSession {
	random := rand.New(rand.NewPCG(s.seed, 1))
	list := make([]syntheticSession, s.sessions)
	for i := range list {
		m := syntheticSession{
			shape:    s.shapes[i%len(s.shapes)],
			requests: 16 + random.IntN(785),
			mean:     100 + random.IntN(2901),
			cold:     []float64{0, 0.03, 0.1}[random.IntN(3)],
		}
		m.Session = costsim.Synthetic(m.shape, random.Uint64(), m.requests, m.mean, m.cold)
		m.summary, m.kept = summaryTokens[random.IntN(3)], keptTokens[random.IntN(2)]
		list[i] = m
	}
	return list
}

// shapesNamed returns the shapes that a flag names.
func shapesNamed(names string) ([]costsim.Shape, error) {
	if names == all {
		return costsim.Shapes, nil
	}
	var list []costsim.Shape
	for _, name := range strings.Split(names, ",") {
		if !slices.Contains(costsim.Shapes, costsim.Shape(name)) {
			return nil, fmt.Errorf("-shape: unknown shape %q: name some of %v, or %s", name, costsim.Shapes, all)
		}
		list = append(list, costsim.Shape(name))
	}
	return list, nil
}

const (
	turnRequests = 20 // requests of a turn in a synthetic session
	callTokens   = 30 // that a request adds besides the tool's result
)

// source makes a recording of the session: an agent that calls a tool again and again, every half minute or, if the
// cache is to be cold, after a pause longer than the lifetime of the cache.
func (m syntheticSession) source(number int, lifetime time.Duration) source {
	now := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	r := &importer.Recording{Format: importer.FormatPromptree, Header: entry.Header{ID: "synthetic", Time: now}}
	add := func(message chat.Message) {
		r.Records = append(r.Records, importer.Record{
			Entry: entry.Entry{ID: strconv.Itoa(len(r.Records) + 1), Parent: r.Leaf, Time: now, Body: entry.Message{Message: message}},
			Line:  len(r.Records) + 1,
		})
		r.Leaf = r.Records[len(r.Records)-1].ID
	}
	for i, added := range m.Added {
		text := words(max(1, added-callTokens))
		switch {
		case i%turnRequests == 0 && i > 0:
			add(chat.AssistantMessage("Done."))
			fallthrough
		case i == 0:
			add(chat.UserMessage(text))
		default:
			id := "c" + strconv.Itoa(i)
			add(chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: id, Name: "read", Arguments: `{"path":"` + id + `"}`}}})
			add(chat.ToolResult(id, text))
		}
		if now = now.Add(30 * time.Second); m.Cold[i] {
			now = now.Add(lifetime)
		}
	}
	add(chat.AssistantMessage("Done."))
	s := newSource(number, fmt.Sprintf("synthetic %d: %s", number, m), r)
	s.head = m.Head
	return s
}

// words returns a text of n tokens.
func words(n int) string { return "word" + strings.Repeat(" word", n-1) }
