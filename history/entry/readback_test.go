package entry_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sealed"
)

// monotonic is a time with a reading of the monotonic clock.
var monotonic = time.Now()

// odd returns a filler with values that are hard to write, a text and a JSON value of the caller's among them.
func odd(r *rand.Rand, text string, value []byte) *filler {
	f := &filler{}
	f.text = func() string {
		return pick(r, "", text, "e1", "e2", "c1", "c2", "{}", "plain", "\xff\xfe", "\xed\xa0\x80", "a\x00\x1b\r\n\u2028<&>", strings.Repeat("中", entry.MaxID))
	}
	f.json = func() json.RawMessage {
		return slices.Clone(pick(r, nil, value, []byte{}, []byte(text), []byte(" "), []byte("null"), []byte("{"), []byte(` { "b" : [ 1e999, -0 ] } `),
			[]byte(`{"a":1,"a":2,"A":3}`), []byte(strings.Repeat("9", 400)), []byte("\"\xff\""), []byte(`{"\ud800":"\u003c\/"}`), []byte("\"<&>\u2028\""),
			[]byte("1\n"), []byte("1 2"), nested(500-6+r.IntN(10)), nested(9_996+r.IntN(5))))
	}
	f.parts = func() chat.Parts {
		n := r.IntN(5) - 1
		if n < 0 {
			return nil
		}
		parts := chat.Parts{}
		for range n {
			parts = append(parts, filled(f, allParts[r.IntN(len(allParts))]))
		}
		if r.IntN(50) == 0 {
			parts = append(parts, nil)
		}
		return parts
	}
	f.role = func() chat.Role {
		return pick(r, chat.RoleUser, chat.RoleAssistant, chat.RoleTool, chat.RoleSystem, chat.Role(text))
	}
	f.time = func() time.Time {
		at := time.Unix(r.Int64N(1<<34)-1<<33, r.Int64N(1e9))
		return pick(r, time.Time{}, monotonic, at, at.UTC(), at.In(time.FixedZone("local", 1172)), at.In(time.FixedZone("", -86340)),
			time.Date(9999, 12, 31, 23, 30, 0, 0, time.FixedZone("", -3600)), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	f.number = func() int { return pick(r, 0, 1, -1, math.MaxInt, math.MinInt, r.Int()) }
	f.float = func() float64 {
		return pick(r, 0, math.Copysign(0, -1), 0.1, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1))
	}
	f.length = func() int { return r.IntN(4) - 1 }
	return f
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// nested returns arrays nested to a depth.
func nested(depth int) []byte { return []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)) }

// oddEntry returns an entry of a random type to be added after those of [talked]. Every other one is likely to be
// accepted.
func oddEntry(r *rand.Rand, text string, value []byte) entry.Entry {
	f := odd(r, text, value)
	e := entry.Entry{Time: f.time(), Body: filled(f, bodies[r.IntN(len(bodies))])}
	if r.IntN(8) == 0 {
		e.ID, e.Redacted = f.text(), []string{f.text()}
	}
	if u, ok := e.Body.(entry.Unknown); ok {
		u.Kind = "later"
		u.Line = pick(r, u.Line, []byte(`{"type":"later","id":"x","parent":"e2","time":"2026-01-02T03:04:05.123+01:00","later": `+string(f.json())+` }`))
		e.Body = u
	}
	if r.IntN(2) == 0 {
		return e
	}
	signed := func(list []chat.Thinking) []chat.Thinking {
		for i := range list {
			list[i] = chat.Thinking{Text: "hm", Signature: "s"}
		}
		return list
	}
	asUser := func(list []chat.Message) []chat.Message {
		for i := range list {
			list[i] = chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text(f.text()), chat.Opaque{Value: f.json()}}}
		}
		return list
	}
	switch b := e.Body.(type) {
	case entry.Message:
		b.Role, b.ToolCalls, b.ToolCallID = chat.RoleAssistant, nil, ""
		e.Body = b
	case entry.Compaction:
		b.Messages, b.FirstKept, b.LastCovered = asUser(make([]chat.Message, 1)), "e1", ""
		b.Thinking = signed(b.Thinking)
		e.Body = b
	case entry.Preamble:
		b.System = asUser(b.System)
		e.Body = b
	case entry.Plan:
		b.Thinking = signed(b.Thinking)
		e.Body = b
	case entry.Clearing:
		e.Body = entry.Clearing{Results: []entry.Cleared{{Entry: "e3", Text: "gone" + f.text()}}, Arguments: []entry.Cleared{{Entry: "e2", Call: "c1", Text: "{}"}}}
	}
	return e
}

// talked returns a session with an open call.
func talked(t testing.TB, h entry.Header, redact func(entry.Passage) string) (*history.Session, *storage.Memory) {
	t.Helper()
	store := &storage.Memory{}
	o := history.Options{Header: h, Redact: redact, IDs: numbered.IDs()}
	s, err := history.New(t.Context(), store, o)
	if err != nil { // nothing was written
		require.Empty(t, slices.Collect(lines(store)))
		o.Header = entry.Header{}
		s, err = history.New(t.Context(), store, o)
	}
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(),
		chat.UserMessage("hello"),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "run"}, {ID: "c2", Name: "run"}}},
		chat.ToolResult("c1", "fine"),
	))
	return s, store
}

// asWritten ignores the changes that [history.Session.Add] makes to what it writes.
var asWritten = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b string) bool { return string([]rune(a)) == string([]rune(b)) }),
	cmp.Comparer(func(a, b entry.PlanOutcome) bool { return string([]rune(a)) == string([]rune(b)) }),
	cmp.Comparer(func(a, b entry.LimitUnit) bool { return string([]rune(a)) == string([]rune(b)) }),
	cmp.Comparer(func(a, b entry.HeldState) bool { return string([]rune(a)) == string([]rune(b)) }),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
	cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 }, cmp.Comparer(func(a, b json.RawMessage) bool {
		var compact [2]bytes.Buffer
		for i, value := range []json.RawMessage{a, b} {
			if json.Compact(&compact[i], bytes.ToValidUTF8(value, []byte("\ufffd"))) != nil {
				return false
			}
		}
		return bytes.Equal(compact[0].Bytes(), compact[1].Bytes())
	})),
	cmp.Comparer(func(a, b chat.Thinking) bool { return a == b }), // byte for byte
	cmp.Comparer(func(a, b chat.Opaque) bool { return a.Tokens == b.Tokens && bytes.Equal(a.Value, b.Value) }),
	cmp.Comparer(func(a, b entry.Unknown) bool { return a.Kind == b.Kind && bytes.Equal(a.Line, b.Line) }),
}

// checkReadBack adds an entry and reports whether it was accepted. If so, it checks that the entry is read back as it
// was passed.
func checkReadBack(t *testing.T, seed uint64, text string, value []byte) (entry.Type, bool) {
	t.Helper()
	h := filled(odd(rand.New(rand.NewPCG(seed, 1)), text, value), entry.Header{})
	s, store := talked(t, h, nil)
	give := func() entry.Entry { return oddEntry(rand.New(rand.NewPCG(seed, 2)), text, value) }
	added, err := s.Add(t.Context(), give())
	if err != nil {
		require.Len(t, slices.Collect(lines(store)), 4)
		return give().Type(), false
	}
	given := give().Body // a copy that shares nothing with the session
	if c, ok := given.(entry.Compaction); ok {
		c.Retained = added[0].Compaction().Retained // filled in by the session
		given = c
	}
	if p, ok := given.(entry.Pin); ok {
		p.At = added[0].Body.(entry.Pin).At // as well
		given = p
	}
	require.Empty(t, cmp.Diff(given, added[0].Body, asWritten), "seed %d: what was passed and what was added", seed)
	again, err := history.New(t.Context(), store, history.Options{})
	require.NoError(t, err, "seed %d", seed)
	require.Equal(t, s.Header(), again.Header(), "seed %d", seed)
	read, err := again.Entry(t.Context(), added[0].ID)
	require.NoError(t, err, "seed %d", seed)
	require.Equal(t, added[0], read, "seed %d: what was added and what is read", seed)
	line, err := read.Encode()
	require.NoError(t, err)
	var copied entry.Entry
	require.NoError(t, copied.UnmarshalJSON(line))
	require.Equal(t, read, copied, "seed %d: what was read and is written again", seed)
	view, err := s.View(t.Context())
	require.NoError(t, err, "seed %d", seed)
	viewAgain, err := again.View(t.Context())
	require.NoError(t, err, "seed %d", seed)
	require.Equal(t, view.Messages(), viewAgain.Messages(), "seed %d", seed)
	return read.Type(), true
}

func FuzzReadBack(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, "text", []byte(`{"k":[1]}`))
	}
	f.Fuzz(func(t *testing.T, seed uint64, text string, value []byte) { checkReadBack(t, seed, text, value) })
}

func TestEveryAcceptedEntryCanBeReadBack(t *testing.T) {
	t.Parallel()
	accepted, refused := map[entry.Type]int{}, map[entry.Type]int{}
	for seed := range uint64(extremes.Cases(3_000)) {
		if kind, ok := checkReadBack(t, seed, "text", []byte(`{"k":[1.50]}`)); ok {
			accepted[kind]++
		} else {
			refused[kind]++
		}
	}
	for _, b := range bodies {
		kind := entry.Entry{Body: b}.Type()
		if kind == "" {
			kind = "later"
		}
		require.Greater(t, accepted[kind], extremes.Cases(10), kind)
	}
	require.Greater(t, refused[entry.TypeCustom], extremes.Cases(20))
}

func TestUnknownEntriesAreWrittenBackUnchanged(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"type":"smell","id":"s","parent":"e1","time":"2026-01-02T03:04:05Z","smell": {"deep":[1.0]} }`,
		`{"later":true,"type":"later","id":"s","message":"by another meaning"}`,
	} {
		raw := sealed.Line(raw)
		var e entry.Entry
		require.NoError(t, e.UnmarshalJSON([]byte(raw)))
		require.IsType(t, entry.Unknown{}, e.Body)
		require.Equal(t, "s", e.ID)
		again, err := e.Encode()
		require.NoError(t, err)
		require.Equal(t, raw, string(again))
	}
}
