package render_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
)

// trees returns the number of random prompts that the ordinary tests render, each at several budgets. It is smaller
// with -short. FuzzRender renders more.
func trees() uint64 {
	if testing.Short() {
		return 60
	}
	return uint64(extremes.Cases(300))
}

// everyTree checks the random prompts of the ordinary tests.
func everyTree(t *testing.T, check func(t *testing.T, seed uint64)) {
	t.Parallel()
	for seed := range trees() {
		check(t, seed)
	}
}

// checkSeed renders a random prompt at several budgets and checks the promises that hold for every prompt.
func checkSeed(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	chance := func() bool { return r.IntN(2) == 0 }
	v := vocabulary{required: chance(), blank: r.IntN(4) == 0, growing: chance(), sized: chance(), breaks: chance(), tools: chance()}
	g := newGrower(seed, v)
	root := g.prompt()
	opts := render.Options{Budget: plenty, Tokenizer: []tokens{runes, words, pairs}[r.IntN(3)]}
	whole, err := orEmpty(render.Render(t.Context(), root, opts))
	if over, limited := errors.AsType[*render.BudgetExceededError](err); limited {
		require.NotEmpty(t, over.Limit, "seed %d: only a limit does not fit a budget of plenty", seed)
	} else {
		require.NoError(t, err, "seed %d", seed)
	}
	most := 200
	if whole != nil {
		most = min(whole.Tokens, 1000)
	}
	for _, budget := range []int{most + 1, most - 1, most * 3 / 4, most / 2, most / 5, 5, 1} {
		opts.Budget, opts.LowWater, opts.Backfill = max(1, budget), 0, false
		if r.IntN(4) == 0 {
			opts.LowWater, opts.Backfill = max(0, r.Float64()-0.3), chance()
		}
		at := fmt.Sprintf("seed %d, %+v, budget %d", seed, v, opts.Budget)
		result, err := render.Render(t.Context(), root, opts)
		again, errAgain := render.Render(t.Context(), root, opts)
		require.Equal(t, asJSON(t, result), asJSON(t, again), at)
		if err != nil {
			require.EqualError(t, errAgain, err.Error(), at)
		}
		if result, err = orEmpty(result, err); err != nil {
			checkError(t, err, opts, at)
			continue
		}
		checkResult(t, result, g, opts, at)
		if v.growing || v.sized || whole == nil {
			continue
		}
		// No element depends on the budget, so the report lists the same pieces as without one, with the same tokens.
		require.Len(t, result.Report().Pieces, len(whole.Report().Pieces), at)
		for i, p := range result.Report().Pieces {
			require.Equal(t, whole.Report().Pieces[i].Path, p.Path, at)
			require.Equal(t, given(whole.Report().Pieces[i]), given(p), at)
		}
	}
	opts.Budget = max(1, most)
	layout := laid(t, root, opts)
	for _, budget := range []int{most, most / 2, most / 4} {
		require.Empty(t, render.CheckTree(t.Context(), layout, max(1, budget)), "seed %d, %+v, budget %d", seed, v, budget)
	}
}

// given returns the tokens that a piece had before pruning.
func given(p render.Piece) int { return cmp.Or(p.TrimmedFrom, p.Tokens) }

// checkError checks that the prompt needs more than its budget, and that the largest pieces are few and sorted.
func checkError(t *testing.T, err error, opts render.Options, at string) {
	t.Helper()
	over, ok := errors.AsType[*render.BudgetExceededError](err)
	require.True(t, ok, "%s: %v", at, err)
	require.Greater(t, over.Needed, over.Budget, at)
	require.LessOrEqual(t, over.Budget, opts.Budget, at)
	if over.Limit == "" {
		require.Equal(t, opts.Budget, over.Budget, at)
	}
	require.LessOrEqual(t, len(over.Largest), 5, at)
	require.True(t, slices.IsSortedFunc(over.Largest, func(a, b render.Piece) int { return b.Tokens - a.Tokens }), at)
	for _, p := range over.Largest {
		require.Equal(t, render.Kept, p.Dropped, at)
		require.True(t, strings.HasPrefix(p.Path, over.Limit), at)
	}
}

// checkResult checks that the budget is kept, the count is that of the messages, nothing required is lost, and the
// pieces that the report says were kept are those of the messages.
func checkResult(t *testing.T, r *render.Result, g *grower, opts render.Options, at string) {
	t.Helper()
	require.LessOrEqual(t, r.Tokens, opts.Budget, at)
	sum, parts, calls, tools := opts.Tokenizer.CountTools(r.Tools), 0, 0, len(r.Tools)
	var text strings.Builder
	for _, m := range r.Messages {
		sum += opts.Tokenizer.CountMessage(m)
		calls += len(m.ToolCalls)
		for _, p := range m.Content {
			switch p := p.(type) {
			case chat.Text:
				text.WriteString(string(p))
			case chat.CacheBreakpoint: // of several in a row one is kept
			default:
				parts++
			}
		}
	}
	// A blank message is counted but not sent. Each message here has a word, so there are blank ones only if the
	// vocabulary has blank texts, or if required white space outlives the word. CheckTree checks those.
	if g.blank || g.required || g.tools {
		require.LessOrEqual(t, sum, r.Tokens, at)
	} else {
		require.Equal(t, sum, r.Tokens, at)
	}
	where := r.Breakdown()
	require.Equal(t, r.Tokens, where.Total(), at)
	for _, tokens := range []int{where.Instructions, where.Skills, where.Files, where.History, where.Other} {
		require.GreaterOrEqual(t, tokens, 0, at)
	}
	if len(r.Tools) == 0 {
		require.LessOrEqual(t, where.Tools, max(0, where.Total()), at)
	} else {
		require.GreaterOrEqual(t, where.Tools, opts.Tokenizer.CountTools(r.Tools), at)
	}
	for _, mark := range g.must {
		require.Contains(t, text.String(), mark, at)
	}
	for _, p := range r.Report().Pieces {
		if p.Required {
			require.Contains(t, []render.Reason{render.Kept, render.Reason("share")}, p.Dropped, "%s: %s", at, p.Path) // a text whose group is required may ask
		}
		switch {
		case p.Dropped != render.Kept:
			require.False(t, p.Restored, at)
		case p.Kind == "toolCall":
			calls--
		case p.Kind == "tool":
			tools--
		case p.Kind != "text" && p.Kind != "cacheBreakpoint":
			parts--
		}
	}
	require.Zero(t, calls, "%s: calls that are sent, less those reported", at)
	require.Zero(t, tools, "%s: tools that are left, less those reported", at)
	require.Zero(t, parts, "%s: parts that are sent, less those reported", at)
}

func asJSON(t *testing.T, r *render.Result) string {
	t.Helper()
	return string(sure.JSON(t, r))
}

func TestRandomTreesKeepEveryPromise(t *testing.T) { everyTree(t, checkSeed) }

func FuzzRender(f *testing.F) { extremes.FuzzSeeds(f, 10, checkSeed) }

func TestLayoutIsSafeForConcurrentUse(t *testing.T) {
	root := newGrower(7, vocabulary{required: true, blank: true, growing: true, sized: true, tools: true}).prompt()
	layout := laid(t, root, render.Options{Budget: 300, Tokenizer: runes, Backfill: true})
	fit := func(budget int) string {
		r, err := layout.Fit(t.Context(), budget)
		return fmt.Sprint(asJSON(t, r), err)
	}
	want := make([]string, 16)
	for i := range want {
		want[i] = fit(20 * (i + 1))
	}
	var all sync.WaitGroup
	for i := range want {
		for range 2 {
			all.Go(func() { assert.Equal(t, want[i], fit(20*(i+1))) })
		}
	}
	all.Wait()
}

// dear is a tokenizer by which a message counts three times as much as its pieces.
type dear struct{ tokens }

func (d dear) CountMessage(m chat.Message) int { return 3 * d.tokens.CountMessage(m) }

// checkNaive compares pruning with the second implementation in naive_test.go.
func checkNaive(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	root := newGrower(seed, vocabulary{required: r.IntN(2) == 0, blank: r.IntN(3) == 0, sized: r.IntN(2) == 0, breaks: r.IntN(2) == 0, lines: r.IntN(2) == 0, trims: r.IntN(3) == 0, tools: r.IntN(2) == 0}).prompt()
	tokenizers := append([]chat.Tokenizer{runes, words, pairs, dear{runes}, summing{runes}, summing{es}}, joiners(t)...)
	tokenizer := tokenizers[r.IntN(len(tokenizers))]
	layout := laid(t, root, render.Options{Budget: 200, Tokenizer: tokenizer, KeepUnranked: r.IntN(3) == 0, Compatible: r.IntN(3) == 0})
	budgets := []int{plenty, 400, 150, 60, 20}
	r.Shuffle(len(budgets), func(i, j int) { budgets[i], budgets[j] = budgets[j], budgets[i] })
	for _, budget := range budgets {
		if diff := render.CompareNaive(t.Context(), layout, budget); diff != "" {
			t.Fatalf("seed %d, budget %d: %s", seed, budget, diff)
		}
	}
}

func TestPruningFollowsTheRules(t *testing.T) { everyTree(t, checkNaive) }

func FuzzPruneAsTheRulesSay(f *testing.F) { extremes.FuzzSeeds(f, 10, checkNaive) }

func TestFitsOfOneLayoutAreTheSameInAnyOrderOfBudgets(t *testing.T) {
	t.Parallel()
	for seed := range trees() {
		r := rand.New(rand.NewPCG(seed, 4))
		root := newGrower(seed, vocabulary{required: r.IntN(2) == 0, blank: r.IntN(3) == 0, sized: r.IntN(2) == 0, breaks: r.IntN(2) == 0, trims: r.IntN(2) == 0, tools: r.IntN(2) == 0}).prompt()
		opts := render.Options{Budget: 200, Tokenizer: append(joiners(t), summing{runes}, summing{es})[r.IntN(4)], LowWater: []float64{0, 0.7}[r.IntN(2)], KeepUnranked: r.IntN(3) == 0}
		shared := laid(t, root, opts)
		for range 8 {
			budget := 1 + r.IntN(400)
			want, wantErr := laid(t, root, opts).Fit(t.Context(), budget)
			got, err := shared.Fit(t.Context(), budget)
			if wantErr != nil {
				require.EqualError(t, err, wantErr.Error(), "seed %d, budget %d", seed, budget)
			}
			want, wantErr = orEmpty(want, wantErr)
			if got, err = orEmpty(got, err); wantErr != nil {
				continue
			}
			require.NoError(t, err)
			require.Equal(t, asJSON(t, want), asJSON(t, got), "seed %d, budget %d", seed, budget)
			require.Empty(t, diff.Diff(want.Report(), got.Report()), "seed %d, budget %d", seed, budget)
		}
	}
}
