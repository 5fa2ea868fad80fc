package recall_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/sizing"
)

// found lists the ids of the entries that an answer shows, in order.
func found(answer string) (ids []string) {
	for _, id := range regexp.MustCompile(`read_session\(\{"entry":"([^"]+)"`).FindAllStringSubmatch(answer, -1) {
		ids = append(ids, id[1])
	}
	return ids
}

// hay are n messages of about size bytes that say nothing of interest.
func hay(n, size int) (list []chat.Message) {
	for i := range n {
		list = append(list, chat.UserMessage(strings.Repeat(fmt.Sprintf("The build %d of the parser is green again.\n", i), 1+size/40)))
	}
	return list
}

func TestTheBestPlacesForManyWordsComeFirst(t *testing.T) {
	edit := calling("", [3]string{"1", "edit", `{"path":"a.go","new":"x\nfunc parseToken() {}\nreturn \u00e9t\u00e9"}`})
	s := sessionOf(t, append(hay(300, 2000), chat.UserMessage("retry_budget is 4711"), chat.UserMessage("The budget grows."), edit, chat.ToolResult("1", "ok"), chat.UserMessage("数据库的密码"), chat.UserMessage("budgets"))...)
	for _, c := range []struct {
		rule, query string
		want        []string
	}{
		{"a place with more of the words comes first", "parser retry budget limits", []string{"e301", "e306"}},
		{"a word is found in one of snake case", "retry", []string{"e301"}},
		{"a word of camel case is found as a whole and by its parts", "parseToken token", []string{"e303"}},
		{"a word after an escaped line end", "func", []string{"e303"}},
		{"a word with escaped letters", "été", []string{"e303"}},
		{"a language without spaces", "密码", []string{"e305"}},
		{"the newest of equal ones comes first", "budget", []string{"e306"}},
		{"words that nobody said do not count", "xyzzy plugh 4711", []string{"e301"}},
		{"within a longer word if it is nowhere else", "arseToke", []string{"e303"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got := found(search(t, recall.Tools{Session: s}, c.query))
			require.GreaterOrEqual(t, len(got), len(c.want))
			require.Equal(t, c.want, got[:len(c.want)])
		})
	}
}

func TestWithLessRoomPlacesAreShorterAndNotFewer(t *testing.T) {
	s := sessionOf(t, hay(60, 3000)...)
	for _, limit := range []int{3000, 4000, 6000, 10_000, 16_000, 60_000} {
		answer := search(t, recall.Tools{Session: s, MaxBytes: limit}, "which build of the parser is green")
		require.LessOrEqual(t, len(answer), limit)
		require.GreaterOrEqual(t, len(found(answer)), 10)
		require.LessOrEqual(t, len(found(answer)), 20)
		require.Contains(t, answer, "other places match less: give more words]")
	}
	answer := search(t, recall.Tools{Session: s, MaxTokens: 1200, Tokenizer: sizing.Estimator{}}, "which build of the parser is green")
	require.LessOrEqual(t, sizing.Estimator{}.CountText(answer), 1200)
	require.GreaterOrEqual(t, len(found(answer)), 10)
	require.NotEmpty(t, found(search(t, recall.Tools{Session: s, MaxBytes: 1000}, "which build of the parser is green")))
}

func TestWhatMatchesMuchLessThanTheBestIsLeftOut(t *testing.T) {
	s := sessionOf(t, append(hay(300, 2000), chat.UserMessage("parser quay 4711"))...)
	require.Equal(t, []string{"e301"}, found(search(t, recall.Tools{Session: s}, "parser quay 4711")))
}

// reads is a store that counts the lines which are read.
type reads struct {
	storage.Memory
	lines atomic.Int64
}

func (r *reads) count(lines iter.Seq2[storage.Stored, error]) iter.Seq2[storage.Stored, error] {
	return func(yield func(storage.Stored, error) bool) {
		for s, err := range lines {
			if r.lines.Add(1); !yield(s, err) {
				return
			}
		}
	}
}

func (r *reads) Read(ctx context.Context, from storage.Position) iter.Seq2[storage.Stored, error] {
	return r.count(r.Memory.Read(ctx, from))
}

func (r *reads) Back(ctx context.Context, before storage.Position, id string) iter.Seq2[storage.Stored, error] {
	return r.count(r.Memory.Back(ctx, before, id))
}

func TestASessionIsReadOnceWithinTheBoundOfItsCache(t *testing.T) {
	for _, c := range []struct {
		rule  string
		bytes int
		again bool
	}{{"what was read is kept", 4 << 20, false}, {"what has no room is read again", 10_000, true}} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // no search takes long
				store := &reads{}
				s := sessiontest.New(t, store, history.Options{Cache: history.NewCache(c.bytes)})
				require.NoError(t, s.Append(t.Context(), hay(200, 10_000)...)) // 2 MB
				tools := recall.Tools{Session: s}
				first := search(t, tools, "build 77 parser")
				store.lines.Store(0)
				require.Equal(t, first, search(t, tools, "build 77 parser"))
				require.Equal(t, c.again, store.lines.Load() > 100, store.lines.Load())
			})
		})
	}
}

// Whatever happened to a session since it was read, a search finds the same as one that reads it anew.
func TestWhatIsKeptIsWhatTheSessionSays(t *testing.T) {
	t.Parallel()
	words := strings.Fields("quay ship parser token build deploy retry budget")
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 4))
		path := filepath.Join(t.TempDir(), "s.jsonl")
		s := sessiontest.Open(t, path, history.Options{Recall: true})
		var ids []string
		for step := range 40 {
			text := ""
			for range 1 + r.IntN(300) {
				text += words[r.IntN(len(words))] + fmt.Sprint(r.IntN(50)) + " "
			}
			switch n := r.IntN(10); {
			case n == 0 && len(ids) > 0:
				require.NoError(t, s.Branch(t.Context(), ids[r.IntN(len(ids))]))
			case n == 1 && len(ids) > 0:
				_, err := s.Erase(t.Context(), ids[r.IntN(len(ids))])
				require.NoError(t, err)
			case n == 2:
				require.NoError(t, s.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("so far")}}))
			case n == 3:
				id := fmt.Sprint("c", step)
				require.NoError(t, s.Append(t.Context(), calling("", [3]string{id, history.SearchTool, `{"query":"` + text + `"}`})))
				search(t, recall.Tools{Session: s}, words[r.IntN(len(words))])
				require.NoError(t, s.Append(t.Context(), chat.ToolResult(id, text)))
			default:
				require.NoError(t, s.Append(t.Context(), chat.UserMessage(text)))
			}
			ids = append(ids, s.Leaf())
			query := recall.Query{Words: words[r.IntN(len(words))] + " " + words[r.IntN(len(words))] + fmt.Sprint(r.IntN(50))}
			if r.IntN(3) == 0 {
				query.Before = s.Leaf()
			}
			got := ask(t, recall.Tools{Session: s}, history.SearchTool, query).Text()
			fresh, err := history.Read(path, history.Options{Recall: true, Cache: history.NewCache(1 << 20)})
			require.NoError(t, err)
			if fresh.Leaf() == s.Leaf() { // a reader is at the entry that was appended last
				require.Equal(t, ask(t, recall.Tools{Session: fresh}, history.SearchTool, query).Text(), got, "seed %d, step %d", seed, step)
			}
			require.NoError(t, fresh.Close())
		}
		require.NoError(t, s.Close())
	}
}

// ending is a context that ends after it was looked at a number of times.
type ending struct {
	context.Context
	left *atomic.Int64
}

func (e ending) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestASearchEndsWithItsContextWithinAnEntryToo(t *testing.T) {
	t.Parallel()
	s := sessionOf(t, chat.UserMessage(strings.Repeat("The build of the parser is green again.\n", 100_000))) // 4 MB
	looks := &atomic.Int64{}
	looks.Store(5)
	_, err := recall.Tools{Session: s}.Search(ending{t.Context(), looks}, recall.Query{Words: "build parser"})
	require.ErrorIs(t, err, context.Canceled)
	require.Greater(t, looks.Load(), int64(-50), "it does not go on")
}

func TestPiecesOfOneEntryStandTogether(t *testing.T) {
	var file strings.Builder
	for i := range 300 { // 12 pieces, of which three say something
		fmt.Fprintf(&file, "line %03d of the file that was read%s\n", i, map[int]string{60: " retryBudget", 70: " retryBudget 4711", 200: " retryBudget"}[i])
	}
	s := sessionOf(t, chat.UserMessage(file.String()), chat.UserMessage("The retryBudget is set elsewhere."))
	got := search(t, recall.Tools{Session: s}, "retryBudget 4711")
	require.Len(t, found(got), 2, "each entry has one call: %s", got)
	require.Regexp(t, `(?s)read_session\(\{"entry":"e1","from":\d+\}\)\n<session-entry>\n\d+: .* 060 .* 070 .*\n\d+: .* 200 `, got)
	require.Equal(t, 3, strings.Count(got, "read retryBudget"))
	for _, place := range regexp.MustCompile(`(?m)^(\d+): (.*)$`).FindAllStringSubmatch(got, -1) {
		at, err := strconv.Atoi(place[1])
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(file.String()[at:], place[2]), "the number is where the piece begins")
	}
}

func TestWhatThePromptShowsComesLast(t *testing.T) {
	s := sessionOf(t, chat.UserMessage("quay quay quay"), chat.AssistantMessage("The ship is old."), chat.UserMessage("A quay, and a long text about other things that nobody asks for."))
	require.Equal(t, []string{"e1", "e3"}, found(search(t, recall.Tools{Session: s}, "quay")))
	require.NoError(t, s.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("so far")}, FirstKept: "e3"}))
	require.Equal(t, []string{"e1", "e3"}, found(search(t, recall.Tools{Session: s}, "quay long text about things")), "e3 matches better, and is shown")
}

// A piece that is cut is cut around the words that say which one it is.
func TestACutPieceIsCutAroundTheRarestWords(t *testing.T) {
	text := strings.Repeat("a parser and a build ", 20) + "the secret is 4711 xyzzy " + strings.Repeat("a parser and a build ", 20)
	s := sessionOf(t, append(hay(40, 3000), chat.UserMessage(text))...)
	require.Contains(t, search(t, recall.Tools{Session: s, MaxBytes: 4000}, "parser build xyzzy green"), "4711 xyzzy")
}

// A session of 64 MB of text, as long sessions of agents are, read for the first time and searched again. Run it with
// -benchtime 1x or 3x.
func BenchmarkSearchOf64MB(b *testing.B) {
	store := &storage.Memory{}
	s := sessiontest.New(b, store, history.Options{Recall: true})
	code := strings.Repeat("func (p *Parser) nextToken(ctx context.Context) (Token, error) { return p.tokens[p.at], nil }\n", 104)
	for i := range 6400 {
		require.NoError(b, s.Append(b.Context(),
			calling("I read.", [3]string{fmt.Sprint(i), "read_file", fmt.Sprintf(`{"path":"src/part%d.go"}`, i)}),
			chat.ToolResult(fmt.Sprint(i), fmt.Sprintf("var limit%d = %d\n", i, rand.Int64())+code)))
	}
	query := recall.Query{Words: "limit4711 parser token nextToken error"}
	searched := func(b *testing.B, tools recall.Tools) {
		answer, err := tools.Search(b.Context(), query)
		require.NoError(b, err)
		require.NotContains(b, answer, "not everything is searched")
		require.Contains(b, answer, "var limit4711 = ")
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			fresh := sessiontest.New(b, store, history.Options{Recall: true, Cache: history.NewCache(64 << 20)})
			b.StartTimer()
			searched(b, recall.Tools{Session: fresh})
		}
	})
	b.Run("again", func(b *testing.B) {
		searched(b, recall.Tools{Session: s})
		for b.Loop() {
			searched(b, recall.Tools{Session: s})
		}
	})
}
