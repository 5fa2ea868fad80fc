package history_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/render"
)

// requireField checks that an error names the field, and that a whole number of 0 or more is never an error.
func requireField(t *testing.T, err error, field string, number any) {
	t.Helper()
	name := field[strings.LastIndex(field, ".")+1:]
	if n, ok := number.(int); ok && n >= 0 {
		require.NoError(t, err, "%s %v", field, number)
	}
	if err != nil {
		require.ErrorContains(t, err, name, "%s %v", field, number)
	}
}

func TestClipWithAnyNumbersReturnsATextThatFits(t *testing.T) {
	text := numberedLines(2000)
	for _, limit := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt/4 + 1, math.MaxInt/128 + 1, math.MaxInt32 + 1} {
		for _, head := range append([]float64{0.4}, extremes.Floats...) {
			require.Equal(t, text, history.Clip(quarter{}, text, limit, head), "%d, %v", limit, head)
		}
	}
	for _, limit := range []int{math.MinInt, -1, 0} {
		require.Equal(t, history.Clip(quarter{}, text, 0, 0.4), history.Clip(quarter{}, text, limit, 0.4), "%d", limit)
	}
	for _, head := range extremes.Floats {
		require.LessOrEqual(t, quarter{}.CountText(history.Clip(quarter{}, text, 100, head)), 100, "%v", head)
	}
}

func TestALargerWindowShowsTheSameHistory(t *testing.T) {
	s := outputs(t, "read:900 read:700+list:500")
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("On."), calls("last"), chat.ToolResult("last", "done")))
	shown := func(window int, limits history.RoundLimits) (string, error) {
		tree := elements.Nodes{
			history.Conversation{Session: s, Limits: limits}, history.TurnStart{Session: s, Limits: limits}, history.TurnRounds{Session: s, Limits: limits},
		}
		r, err := render.Render(t.Context(), tree, render.Options{Budget: 1 << 30, PromptBudget: window, Tokenizer: quarter{}})
		if err != nil {
			return "", err
		}
		return dump(r.Messages), nil
	}
	want, err := shown(1<<30, history.RoundLimits{})
	require.NoError(t, err)
	for _, window := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt32 + 1} {
		extremes.Each(history.RoundLimits{Results: 0.5, Arguments: 0.5, Head: 0.5}, func(field string, number any, limits history.RoundLimits) {
			got, err := shown(window, limits)
			requireField(t, err, field, number)
			if err == nil {
				require.Equal(t, want, got, "%s %v", field, number)
			}
		})
		got, err := shown(window, history.RoundLimits{Results: 1, Arguments: 1})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, u := range viewOf(t, s).Units(history.RoundLimits{}, in(math.MaxInt)) {
		require.Equal(t, u.Messages, u.Clipped(quarter{}, math.MaxInt, 0.4).Messages)
		for _, limit := range extremes.Ints {
			u.Clipped(quarter{}, limit, math.NaN())
		}
	}
}

func TestACutWithAnyNumbersIsValidOrAnErrorThatNamesTheField(t *testing.T) {
	v := viewOf(t, outputs(t, "read:90 read:70+list:50 read:30"))
	find := func(rule history.Cut, window int) (string, error) {
		p, err := rule.Find(t.Context(), v, in(window))
		if err == history.ErrNoCut {
			return err.Error(), nil
		}
		return fmt.Sprint(p.FirstKept, p.Tokens, p.Messages, p.Over), err
	}
	rule := history.Cut{Tokens: 50, Share: 0.5, Messages: 2, Rounds: 1, First: 1}
	extremes.Each(rule, func(field string, number any, rule history.Cut) {
		for _, window := range []int{1000, math.MaxInt} {
			got, err := find(rule, window)
			requireField(t, err, field, number)
			if n, ok := number.(int); ok && n > math.MaxInt32 {
				extremes.Each(rule, func(again string, large any, rule history.Cut) {
					if again == field && large == math.MaxInt32+1 {
						want, err := find(rule, 1000)
						require.NoError(t, err)
						require.Equal(t, want, got, "%s %v", field, number)
					}
				})
			}
		}
	})
	all, err := find(history.Cut{Share: 1}, math.MaxInt)
	require.NoError(t, err)
	require.Equal(t, history.ErrNoCut.Error(), all, "everything is kept")
}

func TestAClearRuleWithAnyNumbersClearsOnlyWithinThem(t *testing.T) {
	extremes.Each(history.ClearRule{Keep: 50, Saves: 10}, func(field string, number any, rule history.ClearRule) {
		c, ok := cleared(t, outputs(t, "read:90 read:70+list:50 read:30"), rule)
		want := rule.Keep == 50 && rule.Saves <= 10 && rule.Least <= 90 && rule.LeastPlaceholders <= 2
		require.Equal(t, want, ok, "%s %v", field, number)
		require.GreaterOrEqual(t, c.Saved, 0, "%s %v", field, number)
	})
}

func TestATruncatorWithAnyNumbersRemovesMessagesOnlyOverItsLimit(t *testing.T) {
	messages := sketched("s u a u a u a u")
	extremes.Each(history.Truncator{Tokenizer: flat{}, Limit: 45}, func(field string, number any, by history.Truncator) {
		kept, _ := by.Truncate(messages, nil)
		require.Equal(t, by.Limit > 0 && by.Limit < 80, len(kept) < len(messages), "%s %v", field, number)
	})
}

func TestALineLimitOfAnyNumberIsValidOrAnErrorThatNamesTheField(t *testing.T) {
	extremes.Each(history.Options{MaxLine: 1 << 20, File: storage.FileOptions{MaxLine: 1 << 20, SyncEvery: 1}}, func(field string, number any, o history.Options) {
		if field != "MaxLine" && field != "File.MaxLine" && field != "File.SyncEvery" {
			return
		}
		path := tempFile(t)
		s, err := history.Open(path, o)
		if err == nil {
			require.NoError(t, s.Append(t.Context(), user))
			require.NoError(t, s.Close())
			require.Len(t, all(t, opened(t, path)), 1)
		}
		requireField(t, err, field, number)
	})
}

func TestAnEntryWithAnyNumbersIsReadBackOrRefused(t *testing.T) {
	for _, body := range []entry.Body{
		entry.Usage{Usage: chat.Usage{Input: 1, Output: 1}, Counted: 1, Cost: 0.5}, entry.Shell{Command: "ls", ExitCode: 1},
		entry.Compaction{Messages: []chat.Message{chat.UserMessage("sum")}, TokensBefore: 1, TokensAfter: 1, Summary: entry.Summary{Files: entry.Files{Read: []string{"a"}, Left: 3}}},
		entry.Plan{Room: 1, Words: 1, Used: 1, Limit: 1, Base: 1}, entry.Refusal{Model: "m", Limit: 1, Tokens: 1, Counted: 1},
	} {
		extremes.Each(body, func(field string, number any, changed entry.Body) {
			path := tempFile(t)
			s := opened(t, path)
			require.NoError(t, s.Append(t.Context(), user, said(chat.Text("a")), user))
			if c, ok := changed.(entry.Compaction); ok {
				c.FirstKept = s.Leaf()
				changed = c
			}
			_, err := s.Add(t.Context(), entry.Entry{Body: changed})
			if f, isFloat := number.(float64); isFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
				require.Error(t, err, "%T.%s %v", changed, field, number)
			} else {
				require.NoError(t, err, "%T.%s %v", changed, field, number)
			}
			want := all(t, s)
			files, err := history.DefaultFileTools().Of(s.PathTo(t.Context(), s.Leaf()))
			require.NoError(t, err)
			require.GreaterOrEqual(t, files.Left, 0, "%T.%s %v", changed, field, number)
			viewOf(t, s)
			require.NoError(t, s.Close())
			require.Equal(t, len(want), len(all(t, opened(t, path))), "%T.%s %v", changed, field, number)
		})
	}
}
