package history

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
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/test/extremes"
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
		for _, field := range []string{"content.cacheType", "toolCallId", "toolCalls.id", "toolCalls.name", "toolCalls.signature"} {
			list = append(list, path+"."+field)
		}
		return list
	}
	hidden := map[EntryType][]string{
		TypeMessage:        inMessages(""),
		TypeCustomMessage:  {".content.cacheType", ".name"},
		TypeCompaction:     append(inMessages(".messages"), ".firstKept", ".lastCovered", ".mode", ".model", ".plan"),
		TypeBranchSummary:  {".from"},
		TypeBranch:         {".from"},
		TypeCustom:         {".name"},
		TypeLabel:          {".target"},
		TypeModelChange:    {".model", ".provider"},
		TypeThinkingChange: {".level"},
		TypeTodos:          {".items.status"},
		TypeUsage:          {".model", ".of", ".sent.marks.digest", ".sent.tools"},
		TypeClearing:       {".arguments.call", ".arguments.entry", ".results.call", ".results.entry"},
		TypePreamble:       append(inMessages(".system"), ".digest", ".tools.name"),
		TypePlan:           {".firstKept", ".mode", ".model", ".occasion", ".policy", ".preamble"},
		TypePlanEnd:        {".errorType", ".finished.model", ".finished.request", ".outcome", ".plan"},
		TypeRefusal:        {".model"},
		TypeErasure:        {".copies", ".entries", ".summaries"},
		"later":            {"", ".id", ".parent"},
	}
	index := regexp.MustCompile(`\[\d+\]`)
	for _, b := range bodies {
		b := filled(secretive(), b)
		if u, ok := b.(Unknown); ok {
			u.Kind = "later"
			u.Line = []byte(`{"type":"later","id":"SECRET","time":"2026-01-02T03:04:05Z","parent":"SECRET", "later":{"SECRET":[]},"SECRET": "SECRET" }`)
			b = u
		}
		before := secrets(t, encodable(b))
		shown := map[string]bool{}
		v := visitor{kind: b.kind(), show: func(p Passage) string {
			require.Equal(t, b.kind(), p.Type)
			require.Contains(t, []chat.Role{"", chat.RoleUser}, p.Role)
			shown[index.ReplaceAllString(p.Path, "")] = true
			return strings.ReplaceAll(p.Text, "SECRET", "")
		}}
		after := v.body(b)
		want := hidden[b.kind()]
		slices.Sort(want)
		if got := secrets(t, encodable(after)); len(want)+len(got) > 0 {
			require.Equal(t, want, got, "%s", b.kind())
		}
		require.Equal(t, before, secrets(t, encodable(b)), "%s: the body that was passed is unchanged", b.kind())
		if len(before) > len(want) {
			require.NotEmpty(t, shown)
		}
		// Each path that was shown leads to a value.
		for path := range shown {
			_, within, _ := strings.Cut(path, ".")
			if b.kind() == "later" {
				within = path
			}
			require.True(t, slices.ContainsFunc(before, func(p string) bool { return strings.HasPrefix(p+".", "."+within+".") }), "%s: %s", b.kind(), path)
		}
	}

	h := filled(secretive(), Header{})
	(&visitor{show: func(p Passage) string { return strings.ReplaceAll(p.Text, "SECRET", "") }}).header(&h)
	require.Equal(t, []string{".id", ".redacted"}, secrets(t, h))
}

// encodable returns a body as it is encoded in its line.
func encodable(b Body) any {
	if u, ok := b.(Unknown); ok {
		return u.Line
	}
	return b
}

func TestARedactorThatChangesNothingLeavesEveryByte(t *testing.T) {
	t.Parallel()
	for seed := range uint64(extremes.Cases(1_000)) {
		plain, store := talked(t, Header{ID: "S", Time: monotonic})
		_, err := plain.Add(t.Context(), oddEntry(rand.New(rand.NewPCG(seed, 2)), "text", nil))
		want := slices.Collect(lines(store))
		for _, redact := range []func(Passage) string{
			func(p Passage) string { return p.Text },
			func(p Passage) string {
				return strings.ReplaceAll(p.Text, "a text that does not occur", "")
			},
		} {
			s, store := talked(t, Header{ID: "S", Time: monotonic})
			s.options.Redact = redact
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
		s, store := talked(t, Header{})
		r := rand.New(rand.NewPCG(seed, 3))
		s.options.Redact = func(p Passage) string {
			return pick(r, p.Text, "", `"`, "[key]\n\u2028<&>\\", "{", "\x00", "中")
		}
		e := oddEntry(rand.New(rand.NewPCG(seed, 2)), "text", nil)
		added, err := s.Add(t.Context(), e)
		if err != nil {
			require.Len(t, slices.Collect(lines(store)), 4)
			continue
		}
		if m, ok := e.Body.(Message); ok {
			for i, c := range m.ToolCalls {
				require.Equal(t, json.Valid([]byte(c.Arguments)), json.Valid([]byte(added[0].Message().ToolCalls[i].Arguments)))
			}
		}
		again, err := New(t.Context(), store, Options{})
		require.NoError(t, err)
		read, err := again.Entry(t.Context(), added[0].ID)
		require.NoError(t, err)
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

var timeOf = regexp.MustCompile(`"time":"[^"]*"`)

func withoutTime(line string) string { return timeOf.ReplaceAllString(line, "") }
