package history

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

func TestAnEntryOfEachTypeIsReadBackFromItsLine(t *testing.T) {
	t.Parallel()
	data := json.RawMessage(`{"k":[1,2.50,"<é>"]}`)
	summary := Summary{Text: "so far", Files: Files{Read: []string{"a.go"}, Modified: []string{"b.go"}}, Extension: true, Data: data}
	for _, body := range []Body{
		Message{Message: chat.ToolResult("c1", "ok"), Data: data},
		Shell{Command: "make <all>", Output: "not UTF-8: \xff\n", ExitCode: 2, Cancelled: true, Hidden: true, Data: data},
		Shell{Command: "true"},
		CustomMessage{Name: "hook", Content: chat.Parts{chat.Text("look"), chat.Image{URL: "u"}}, Data: data},
		Compaction{
			Messages: []chat.Message{chat.UserMessage("S")}, FirstKept: "e2", LastCovered: "e1", TokensBefore: 9, TokensAfter: 3,
			Mode: "full", Title: "t", Summary: summary, Thinking: []chat.Thinking{{Text: "hm <hm> \u2028", Signature: "s+/="}, {Encrypted: "b3Bh"}},
		},
		BranchSummary{From: "e7", Summary: summary},
		Branch{From: "e9"},
		Custom{Name: "x", Data: data},
		Label{Target: "e1", Text: "here"},
		ModelChange{Provider: "p", Model: "m"},
		ThinkingChange{Level: "high"},
		Todos{Text: "first this", Items: []Todo{{Text: "that", Status: "pending"}}},
		Usage{Of: "e3", Model: "m", Usage: chat.Usage{Input: 10, Output: 2, CacheRead: 5}, Cost: 0.25},
		Usage{Of: "e3", Usage: chat.Usage{Input: 10, Output: 2, CacheWrite: 5, CacheWriteLong: 3}, Sent: sizing.Sent{
			Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Tools: "e3b0", System: 1, Marks: []sizing.Mark{{Messages: 1, Tokens: 9, Digest: "8769"}},
		}},
	} {
		t.Run(string(body.kind()), func(t *testing.T) {
			want := Entry{ID: "e4", Parent: "e3", Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Body: body}
			raw, err := want.encode()
			require.NoError(t, err)
			require.NotContains(t, string(raw), "\n")
			require.True(t, known(body.kind()))
			got, err := decode(raw)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(want, got))
			again, err := got.encode()
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
		e, err := decode([]byte(raw))
		require.NoError(t, err)
		require.IsType(t, Unknown{}, e.Body)
		require.Equal(t, "s", e.ID)
		again, err := e.encode()
		require.NoError(t, err)
		require.Equal(t, raw, string(again))
	}
}
