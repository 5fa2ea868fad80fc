package entry_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/sealed"
	"github.com/promptree-go/promptree/sizing"
)

func TestAnEntryOfEachTypeIsReadBackFromItsLine(t *testing.T) {
	t.Parallel()
	data := json.RawMessage(`{"k":[1,2.50,"<é>"]}`)
	summary := entry.Summary{Text: "so far", Files: entry.Files{Read: []string{"a.go"}, Modified: []string{"b.go"}}, Extension: true, Data: data}
	for _, body := range []entry.Body{
		entry.Message{Message: chat.ToolResult("c1", "ok"), Data: data},
		entry.Shell{Command: "make <all>", Output: "not UTF-8: \xff\n", ExitCode: 2, Cancelled: true, Hidden: true, Data: data},
		entry.Shell{Command: "true"},
		entry.CustomMessage{Name: "hook", Content: chat.Parts{chat.Text("look"), chat.Image{URL: "u"}}, Data: data},
		entry.Compaction{
			Messages: []chat.Message{chat.UserMessage("S")}, FirstKept: "e2", LastCovered: "e1", TokensBefore: 9, TokensAfter: 3,
			Mode: "full", Title: "t", Summary: summary, Thinking: []chat.Thinking{{Text: "hm <hm> \u2028", Signature: "s+/="}, {Encrypted: "b3Bh"}},
		},
		entry.BranchSummary{From: "e7", Summary: summary},
		entry.Branch{From: "e9"},
		entry.Custom{Name: "x", Data: data},
		entry.Label{Target: "e1", Text: "here"},
		entry.Pin{Ref: entry.Ref{ID: "e1", At: 7}},
		entry.ModelChange{Provider: "p", Model: "m"},
		entry.ThinkingChange{Level: "high"},
		entry.Todos{Text: "first this", Items: []entry.Todo{{Text: "that", Status: "pending"}}},
		entry.Usage{Of: "e3", Model: "m", Usage: chat.Usage{Input: 10, Output: 2, CacheRead: 5}, Cost: 0.25},
		entry.Usage{Of: "e3", Usage: chat.Usage{Input: 10, Output: 2, CacheWrite: 5, CacheWriteLong: 3}, Sent: sizing.Sent{
			Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Tools: "e3b0", System: 1, Marks: []sizing.Mark{{Messages: 1, Tokens: 9, Digest: "8769"}},
		}},
	} {
		t.Run(fmt.Sprintf("%T", body), func(t *testing.T) {
			want := entry.Entry{ID: "e4", Parent: "e3", Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Body: body}
			raw, err := want.Encode()
			require.NoError(t, err)
			require.NotContains(t, string(raw), "\n")
			require.True(t, want.Type().Known())
			got, err := entry.Decode(raw)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(want, got))
			again, err := got.Encode()
			require.NoError(t, err)
			require.Equal(t, string(raw), string(again))
		})
	}
}

func TestUnknownEntriesAreWrittenBackUnchanged(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"type":"smell","id":"s","parent":"e1","time":"2026-01-02T03:04:05Z","smell": {"deep":[1.0]} }`,
		`{"later":true,"type":"later","id":"s","message":"by another meaning"}`,
	} {
		raw := sealed.Line(raw)
		e, err := entry.Decode([]byte(raw))
		require.NoError(t, err)
		require.IsType(t, entry.Unknown{}, e.Body)
		require.Equal(t, "s", e.ID)
		again, err := e.Encode()
		require.NoError(t, err)
		require.Equal(t, raw, string(again))
	}
}
