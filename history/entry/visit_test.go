package entry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// secretive returns a filler that makes every text, key and string a secret.
func secretive() *filler {
	f := &filler{
		text:   func() string { return "SECRET" },
		json:   func() json.RawMessage { return json.RawMessage(`{"SECRET":["SECRET",{"a":"\u0053ECRET"}]}`) },
		role:   func() chat.Role { return chat.RoleUser },
		time:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		number: func() int { return 1 },
		float:  func() float64 { return 1 },
		length: func() int { return 2 },
	}
	f.parts = func() chat.Parts {
		parts := chat.Parts{}
		for _, p := range allParts {
			parts = append(parts, filled(f, p))
		}
		return parts
	}
	return f
}

// secrets returns the paths of the secrets in a value's JSON, without the indexes of lists.
func secrets(t *testing.T, body any) []string {
	t.Helper()
	data, err := plainjson.Marshal(body)
	require.NoError(t, err)
	found := map[string]bool{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case string:
			if strings.Contains(value, "SECRET") {
				found[path] = true
			}
		case []any:
			for _, v := range value {
				walk(path, v)
			}
		case map[string]any:
			for k, v := range value {
				walk(path, k)
				walk(path+"."+k, v)
			}
		}
	}
	var value any
	require.NoError(t, json.Unmarshal(data, &value))
	walk("", value)
	return slices.Sorted(maps.Keys(found))
}

// A new field of an entry is either shown to Options.Redact, or listed here and in the comment of Passage.
func TestEveryTextIsShownToTheRedactorExceptIDsAndNames(t *testing.T) {
	t.Parallel()
	inMessages := func(path string) []string {
		var list []string
		for _, field := range []string{"content.cacheType", "origin.model", "origin.provider", "origin.server", "toolCallId", "toolCalls.id", "toolCalls.name", "toolCalls.signature"} {
			list = append(list, path+"."+field)
		}
		return list
	}
	hidden := map[entry.Type][]string{
		entry.TypeMessage:        inMessages(""),
		entry.TypeCustomMessage:  {".content.cacheType", ".name"},
		entry.TypeCompaction:     append(inMessages(".messages"), ".checkpoints", ".firstKept", ".lastCovered", ".mode", ".model", ".plan", ".server"),
		entry.TypeBranchSummary:  {".from"},
		entry.TypeBranch:         {".from"},
		entry.TypeCustom:         {".of"},
		entry.TypeLabel:          {".target"},
		entry.TypeModelChange:    {".model", ".provider"},
		entry.TypeThinkingChange: {".level"},
		entry.TypeTodos:          {".items.status"},
		entry.TypeUsage:          {".model", ".of", ".sent.marks.digest", ".sent.tools", ".server"},
		entry.TypeClearing:       {".arguments.call", ".arguments.entry", ".results.call", ".results.entry"},
		entry.TypePreamble:       append(inMessages(".system"), ".digest", ".tools.name"),
		entry.TypePlan:           {".firstKept", ".mode", ".model", ".occasion", ".policy", ".preamble", ".server", ".why"},
		entry.TypePlanEnd:        {".errorType", ".finished.from", ".finished.model", ".finished.to", ".model", ".outcome", ".plan", ".server"},
		entry.TypeRefusal:        {".held.entry", ".held.model", ".held.server", ".held.state", ".model", ".server", ".unit"},
		entry.TypePin:            {".id"},
		entry.TypeErasure:        {".copies", ".entries", ".folders", ".holders", ".summaries"},
		"later":                  {"", ".id", ".parent", ".redacted"},
	}
	index := regexp.MustCompile(`\[\d+\]`)
	for _, b := range bodies {
		b := filled(secretive(), b)
		if u, ok := b.(entry.Unknown); ok {
			u.Kind = "later"
			u.Line = []byte(`{"type":"later","id":"SECRET","time":"2026-01-02T03:04:05Z","parent":"SECRET", "later":{"SECRET":[]},"SECRET": "SECRET" }`)
			b = u
		}
		before := secrets(t, encodable(b))
		shown := map[string]bool{}
		of := entry.Entry{Body: b}
		kind := of.Type()
		after, err := of.Redact(t.Context(), func(p entry.Passage) string {
			require.Equal(t, kind, p.Type)
			require.Contains(t, []chat.Role{"", chat.RoleUser}, p.Role)
			shown[index.ReplaceAllString(p.Path, "")] = true
			return strings.ReplaceAll(p.Text, "SECRET", "")
		})
		require.NoError(t, err)
		want := hidden[kind]
		slices.Sort(want)
		if got := secrets(t, encodable(after.Body)); len(want)+len(got) > 0 {
			require.Equal(t, want, got, "%s", kind)
		}
		require.Equal(t, before, secrets(t, encodable(b)), "%s: the body that was passed is unchanged", kind)
		if len(before) > len(want) {
			require.NotEmpty(t, shown)
		}
		// Each path that was shown leads to a value.
		for path := range shown {
			_, within, _ := strings.Cut(path, ".")
			if kind == "later" {
				within = path
			}
			require.True(t, slices.ContainsFunc(before, func(p string) bool { return strings.HasPrefix(p+".", "."+within+".") }), "%s: %s", kind, path)
		}
	}

	h := filled(secretive(), entry.Header{})
	h, err := h.Redact(t.Context(), func(p entry.Passage) string { return strings.ReplaceAll(p.Text, "SECRET", "") })
	require.NoError(t, err)
	require.Equal(t, []string{".id", ".redacted"}, secrets(t, h))
}

// encodable returns a body as it is encoded in its line.
func encodable(b entry.Body) any {
	if u, ok := b.(entry.Unknown); ok {
		return u.Line
	}
	return b
}

func TestARedactorThatChangesNothingLeavesEveryByte(t *testing.T) {
	t.Parallel()
	for seed := range uint64(extremes.Cases(1_000)) {
		plain, store := talked(t, entry.Header{ID: "S", Time: monotonic}, nil)
		_, err := plain.Add(t.Context(), oddEntry(rand.New(rand.NewPCG(seed, 2)), "text", nil))
		want := slices.Collect(lines(store))
		for _, redact := range []func(entry.Passage) string{
			func(p entry.Passage) string { return p.Text },
			func(p entry.Passage) string {
				return strings.ReplaceAll(p.Text, "a text that does not occur", "")
			},
		} {
			s, store := talked(t, entry.Header{ID: "S", Time: monotonic}, redact)
			_, redactErr := s.Add(t.Context(), oddEntry(rand.New(rand.NewPCG(seed, 2)), "text", nil))
			require.Equal(t, fmt.Sprint(err), fmt.Sprint(redactErr), "seed %d", seed)
			require.Len(t, slices.Collect(lines(store)), len(want))
			if err == nil {
				require.Equal(t, withoutTime(want[4]), withoutTime(slices.Collect(lines(store))[4]), "seed %d", seed)
			}
		}
	}
}

// JSON stays valid, whatever the redactor returns.
func TestARedactedEntryCanBeReadBack(t *testing.T) {
	t.Parallel()
	redacted := 0
	for seed := range uint64(extremes.Cases(1_000)) {
		r := rand.New(rand.NewPCG(seed, 3))
		odd := false
		s, store := talked(t, entry.Header{}, func(p entry.Passage) string {
			if !odd {
				return p.Text
			}
			return pick(r, p.Text, "", `"`, "[key]\n\u2028<&>\\", "{", "\x00", "中")
		})
		odd = true
		e := oddEntry(rand.New(rand.NewPCG(seed, 2)), "text", nil)
		added, err := s.Add(t.Context(), e)
		if err != nil {
			require.Len(t, slices.Collect(lines(store)), 4)
			continue
		}
		if m, ok := e.Body.(entry.Message); ok {
			for i, c := range m.ToolCalls {
				require.Equal(t, json.Valid([]byte(c.Arguments)), json.Valid([]byte(added[0].Message().ToolCalls[i].Arguments)))
			}
		}
		read := sessiontest.Entry(t, sessiontest.New(t, store, history.Options{}), added[0].ID)
		require.Equal(t, added[0], read, "seed %d", seed)
		if len(read.Redacted) > 0 {
			redacted++
		}
	}
	require.Greater(t, redacted, extremes.Cases(200))
}

func lines(store *storage.Memory) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line, err := range store.Read(context.Background(), 0) {
			if err != nil || !yield(string(line.Data)) {
				return
			}
		}
	}
}

var timeOf = regexp.MustCompile(`"time":"[^"]*"|,"crc":"\w+"`)

func withoutTime(line string) string { return timeOf.ReplaceAllString(line, "") }
