package history_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// rows returns lines with random words, no 32 bytes of which occur twice, and in which some keys of 16 bytes occur again
// and again.
func rows(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%09d;0123456789abcdef;%08d;0123456789abcdef;\"%09d\"\n", r.IntN(1e9), r.IntN(1e8), r.IntN(1e9))
	}
	return b.String()
}

// quote returns a part of a text of 32 bytes or more.
func quote(r *rand.Rand, text string) string {
	size := min(len(text), 32+r.IntN(120))
	at := r.IntN(len(text) - size + 1)
	return text[at : at+size]
}

func inJSON(text string) string {
	data, err := json.Marshal(map[string]string{"was": text})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// decoded calls f with all strings in a JSON value, and those in JSON that a string holds.
func decoded(value any, f func(string)) {
	switch v := value.(type) {
	case string:
		f(v)
		var inside any
		if strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inside) == nil {
			decoded(inside, f)
		}
	case []any:
		for _, v := range v {
			decoded(v, f)
		}
	case map[string]any:
		for k, v := range v {
			f(k)
			decoded(v, f)
		}
	}
}

// After an erasure, no text that can be read holds 32 bytes of what was erased, and the entries that cover it are listed.
func TestNoPieceOfWhatWasErasedCanBeRead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(60)) {
		r := rand.New(rand.NewPCG(seed, 48))
		path := tempFile(t)
		s := openedWith(t, path, history.Options{IDs: numbered.IDs()})
		texts, said := map[string]string{}, []string{}
		covers := map[string][]string{} // by summary, the entries that it covers
		var arguments, results []entry.Cleared
		say := func(m chat.Message, text string) string {
			require.NoError(t, s.Append(t.Context(), m))
			texts[s.Leaf()] = text
			said = append(said, s.Leaf())
			return s.Leaf()
		}
		quoted := func() string { // of any message, within words of its own
			return "It was " + quote(r, texts[said[r.IntN(len(said))]]) + " and so on."
		}
		for round := range 3 {
			text := rows(r, 1+r.IntN(5))
			say(chat.UserMessage(text), text)
			call, text := fmt.Sprint("c", round), rows(r, 1+r.IntN(40))
			made := say(chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: call, Name: "write", Arguments: inJSON(text)}}}, text)
			arguments = append(arguments, entry.Cleared{Entry: made, Call: call, Text: inJSON("wrote " + quote(r, text) + " …")})
			text = rows(r, 1+r.IntN(60))
			result := say(chat.ToolResult(call, text), text)
			results = append(results, entry.Cleared{Entry: result, Text: s.Handle(all(t, s)[len(said)-1], 0, 40) + "\n" + text[:min(40+r.IntN(40), len(text)-40)] + "\n[…]\n" + text[len(text)-40:]})
		}
		kept := say(chat.UserMessage(rows(r, 1)), "")
		texts[kept] = all(t, s)[len(said)-1].Message().Text()
		data := []byte(inJSON(quoted()))
		pinned := said[r.IntN(len(said))]
		require.NoError(t, s.Pin(t.Context(), pinned))
		add(
			t, s, entry.Clearing{Results: results, Arguments: arguments},
			entry.Todos{Text: quoted(), Items: []entry.Todo{{Text: quoted()}}},
			entry.Plan{FirstKept: kept, Instructions: quoted()},
			entry.PlanEnd{Plan: "x", Outcome: entry.PlanFailed, Error: quoted(), Finished: []entry.SummaryAnswer{{Text: quoted()}}},
			entry.Compaction{
				FirstKept: kept, Title: quoted(), Summary: entry.Summary{Text: quoted() + quoted(), Data: data, Files: entry.Files{Read: []string{quoted()}}},
				Messages: []chat.Message{chat.UserMessage("Pinned:\n" + texts[pinned] + "\nIndex: " + quoted()), chat.UserMessage(quoted())},
			},
		)
		covers[s.Leaf()] = said[:len(said)-1]
		left := s.Leaf()
		require.NoError(t, s.Branch(t.Context(), said[0]))
		add(t, s, entry.BranchSummary{From: left, Summary: entry.Summary{Text: quoted(), Data: data}})
		covers[s.Leaf()] = said[1:]

		gone := []string{}
		for _, id := range said {
			if r.IntN(2) == 0 {
				gone = append(gone, id)
			}
		}
		erasure := erase(t, s, gone...)
		require.NoError(t, s.Close())
		for id, covered := range covers {
			covered = slices.DeleteFunc(slices.Clone(covered), func(id string) bool { return !slices.Contains(gone, id) })
			require.Equal(t, len(covered) > 0, slices.Contains(erasure.Summaries, id), "seed %d: %s", seed, id)
		}

		pieces := map[string]bool{}
		for _, id := range gone {
			for _, text := range []string{texts[id], inJSON(texts[id])} {
				for i := 0; i+32 <= len(text); i++ {
					pieces[text[i:i+32]] = true
				}
			}
		}
		look := func(where string) func(string) {
			return func(text string) {
				for i := 0; i+32 <= len(text); i++ {
					require.False(t, pieces[text[i:i+32]], "seed %d: %s: %s", seed, where, text[i:])
				}
			}
		}
		for line := range strings.Lines(content(t, path)) {
			value := sure.Decode[any](t, []byte(line))
			look("raw")(line)
			decoded(value, look(line))
		}
		files, err := filepath.Glob(path + "*/*")
		require.NoError(t, err)
		for _, file := range files {
			require.False(t, slices.Contains(gone, strings.TrimSuffix(filepath.Base(file), ".txt")))
			look(file)(strings.ReplaceAll(string(sure.Read(t, file)), "↩\n", ""))
		}
	}
}
