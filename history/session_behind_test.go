package history_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

func TestAnAnswerIsPlacedBehindWhatWasAnswered(t *testing.T) {
	said := func(m chat.Message) entry.Entry { return entry.Entry{Body: entry.Message{Message: m}} }
	user := func(text string) entry.Entry { return said(chat.UserMessage(text)) }
	usage := entry.Entry{Body: entry.Usage{Model: "m", Usage: chat.Usage{Input: 1}}}
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "look", Arguments: "{}"}}}
	for name, c := range map[string]struct {
		since []entry.Entry // of the answered message
		want  []string      // texts of the path behind it; nil for a conflict
	}{
		"nothing was said":                {[]entry.Entry{{Body: entry.Custom{Name: "x"}}}, []string{"custom", "Answer.", "usage"}},
		"the user went on":                {[]entry.Entry{user("And?")}, []string{"Answer.", "usage", "And?"}},
		"what was paid is not paid twice": {[]entry.Entry{{Body: entry.Custom{Name: "x"}}, user("And?"), usage, {Body: entry.Shell{Command: "ls"}}}, []string{"custom", "Answer.", "usage", "And?", "shell"}},
		"somebody else answered":          {[]entry.Entry{user("And?"), said(chat.AssistantMessage("No."))}, nil},
		"somebody else calls tools":       {[]entry.Entry{said(call), said(chat.ToolResult("c", "ships"))}, nil},
		"it was compacted":                {[]entry.Entry{user("And?"), {Body: entry.Compaction{Messages: []chat.Message{chat.UserMessage("Summary.")}}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			store := &storage.Memory{}
			s := sessionIn(t, store, history.Options{})
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("What?")))
			leaf := s.Leaf()
			sessiontest.Add(t, s, c.since...)
			before, err := s.Lines(t.Context())
			require.NoError(t, err)
			added, err := s.AddBehind(t.Context(), leaf, said(chat.AssistantMessage("Answer.")), usage)
			if c.want == nil {
				require.ErrorAs(t, err, new(*storage.ConflictError))
				after, err := s.Lines(t.Context())
				require.NoError(t, err)
				require.Equal(t, before, after)
				return
			}
			require.NoError(t, err)
			require.Len(t, added, 2)
			require.Equal(t, "Answer.", added[0].Message().Text())
			again := sessionIn(t, store, history.Options{})
			for _, s := range []*history.Session{s, again} {
				var path []string
				for e, err := range s.PathTo(t.Context(), "") {
					require.NoError(t, err)
					if e.Of != "" {
						require.Equal(t, sessiontest.Entry(t, s, e.Of).Body, e.Body)
					}
					require.Equal(t, slices.Contains(path, "usage"), e.Of != "", "what is said again names what it is of")
					if text := e.Message().Text(); text != "" {
						path = append(path, text)
					} else {
						path = append(path, string(e.Type()))
					}
				}
				require.Equal(t, append([]string{"What?"}, c.want...), path)
			}
			firsts := func() (ids []string) {
				for e, err := range s.PathTo(t.Context(), "") {
					require.NoError(t, err)
					if e.Of != "" {
						ids = append(ids, e.Of)
					}
				}
				return ids
			}
			of := firsts()
			_, err = s.AddBehind(t.Context(), added[1].ID, said(chat.AssistantMessage("More.")))
			require.NoError(t, err)
			require.Equal(t, of, firsts(), "a copy of a copy names the first")
		})
	}
	s := &history.Session{}
	_, err := s.AddBehind(t.Context(), "nobody", user("x"))
	require.ErrorAs(t, err, new(*storage.ConflictError))
}
