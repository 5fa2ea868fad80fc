package history_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// deep returns arrays nested to that many levels.
func deep(levels int) json.RawMessage {
	return json.RawMessage(strings.Repeat("[", levels) + strings.Repeat("]", levels))
}

func requireTooDeep(t testing.TB, err error) *entry.DepthError {
	t.Helper()
	tooDeep, ok := errors.AsType[*entry.DepthError](err)
	require.True(t, ok, "%.200v", err)
	return tooDeep
}

func TestAnEntryThatIsNestedTooDeepIsNotWritten(t *testing.T) {
	const maxLevels = 500
	for _, tt := range []struct {
		path  string
		above int // levels of the line above the value
		body  func(value json.RawMessage) entry.Body
	}{
		{"message.content[1].value", 4, func(v json.RawMessage) entry.Body {
			return entry.Message{Message: chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("[[["), chat.Opaque{Value: v}}}}
		}},
		{"message.data", 2, func(v json.RawMessage) entry.Body {
			return entry.Message{Message: chat.UserMessage("hello"), Data: v}
		}},
		{"shell.data", 2, func(v json.RawMessage) entry.Body { return entry.Shell{Output: `"\"[[[`, Data: v} }},
		{"customMessage.content[0].value", 4, func(v json.RawMessage) entry.Body {
			return entry.CustomMessage{Content: chat.Parts{chat.Opaque{Value: v}}}
		}},
		{"customMessage.data", 2, func(v json.RawMessage) entry.Body { return entry.CustomMessage{Data: v} }},
		{"compaction.messages[0].content[0].value", 6, func(v json.RawMessage) entry.Body {
			return entry.Compaction{Messages: []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Opaque{Value: v}}}}}
		}},
		{"compaction.data", 2, func(v json.RawMessage) entry.Body {
			return entry.Compaction{Messages: []chat.Message{chat.UserMessage("so far")}, Summary: entry.Summary{Data: v}}
		}},
		{"branchSummary.data", 2, func(v json.RawMessage) entry.Body { return entry.BranchSummary{Summary: entry.Summary{Data: v}} }},
		{"custom.data", 2, func(v json.RawMessage) entry.Body { return entry.Custom{Data: v} }},
		{"preamble.tools[1].parameters", 4, func(v json.RawMessage) entry.Body {
			return entry.Preamble{Tools: []chat.Tool{{Name: "a"}, {Name: "b", Parameters: v}}}
		}},
		{"later", 1, func(v json.RawMessage) entry.Body {
			return entry.Unknown{Kind: "later", Line: fmt.Appendf(nil, `{"type":"later","id":"x","later": %s}`, v)}
		}},
	} {
		t.Run(tt.path, func(t *testing.T) {
			store := &storage.Memory{}
			s := sessionIn(t, store, history.Options{})
			for _, levels := range []int{maxLevels - tt.above + 1, 9_996, 9_997, 10_000} {
				if levels+tt.above > 10_000 && tt.path == "later" {
					continue // encoding/json does not read it at all
				}
				if levels > 10_000-2 && strings.HasSuffix(tt.path, ".value") {
					continue // written in base64 from this depth on
				}
				_, err := s.Add(t.Context(), entry.Entry{Body: tt.body(deep(levels))})
				tooDeep := requireTooDeep(t, err)
				require.Equal(t, levels+tt.above, tooDeep.Depth)
				require.Equal(t, maxLevels, tooDeep.Max)
				require.Equal(t, tt.path, tooDeep.Path)
				require.Len(t, stored(t, store), 1)
			}
			sessiontest.Add(t, s, entry.Entry{Body: tt.body(deep(maxLevels - tt.above))})
			equal(t, all(t, s), all(t, sessionIn(t, store, history.Options{})))
		})
	}
	store := &storage.Memory{}
	for _, levels := range []int{maxLevels, 20_000} {
		_, err := history.New(t.Context(), store, history.Options{Header: entry.Header{Data: deep(levels)}})
		require.Equal(t, "data", requireTooDeep(t, err).Path)
		require.Empty(t, stored(t, store))
	}
	_ = sessionIn(t, store, history.Options{Header: entry.Header{Data: deep(maxLevels - 1)}})
}

// No entry of the same Add is written.
func TestDepthErrorNamesTheEntryAndTheValue(t *testing.T) {
	s := talk(t, chat.UserMessage("hello"))
	nest := func(before, after string) json.RawMessage {
		return json.RawMessage(strings.Repeat(before, 200) + `[7, {"k": ` + string(deep(400)) + "}]" + strings.Repeat(after, 200))
	}
	_, err := s.Add(t.Context(),
		entry.Entry{Body: entry.Custom{Name: "fine"}},
		entry.Entry{Body: entry.Custom{Data: nest(`{"a b":0,"\u00e9\"":1,"list":[null,"]",`, "]}")}},
	)
	require.EqualError(t, err, "history: custom 2 of 2: its JSON is nested 804 levels deep, more than 500: in custom.data: flatten the value, or keep it as text")
	require.Equal(t, 1, count(t, s))

	for _, invalid := range []string{":", `{":`, `{"`, "]}", `{":[`} {
		_, err = s.Add(t.Context(), entry.Entry{Body: entry.Custom{Data: append([]byte(invalid), deep(600)...)}})
		require.ErrorContains(t, err, "history: custom: ")
	}
}

// Another program may have written it.
func TestADeeperEntryInAStoreIsRead(t *testing.T) {
	line := fmt.Sprintf(`{"type":"custom","id":"e1","time":"2026-01-02T03:04:05Z","custom":{"name":"n","data":%s}}`, deep(5_000))
	s := openedWith(t, file(t, header, line, ""), history.Options{})
	defer s.Close()
	require.Len(t, all(t, s)[0].Body.(entry.Custom).Data, 10_000)
}

func TestInvalidJSONIsAnErrorThatNamesTheField(t *testing.T) {
	s := talk(t, chat.UserMessage("hello"))
	for path, body := range map[string]entry.Body{
		"custom.data":                  entry.Custom{Data: []byte("{")},
		"message.data":                 entry.Message{Message: chat.UserMessage("a"), Data: []byte("1 2")},
		"preamble.tools[0].parameters": entry.Preamble{Tools: []chat.Tool{{Parameters: []byte("{a}")}}},
	} {
		_, err := s.Add(t.Context(), entry.Entry{Body: body})
		require.ErrorContains(t, err, path+" is not valid JSON")
	}
	_, err := history.New(t.Context(), &storage.Memory{}, history.Options{Header: entry.Header{Data: []byte("{")}})
	require.ErrorContains(t, err, "history: the header: data is not valid JSON")
	require.Equal(t, 1, count(t, s))
}

// Programs that read a log as text, and stores that keep it as text, rely on it.
func TestEveryLineIsValidUTF8(t *testing.T) {
	store := &storage.Memory{}
	s := sessionIn(t, store, history.Options{Header: entry.Header{From: "a\xff", Data: []byte("\"\xff\"")}})
	add(
		t, s,
		entry.Message{Message: chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("\xff"), chat.Opaque{Value: []byte("\"\xff\"")}}}},
		entry.Custom{Name: "\xff", Data: []byte("\"\xff\"")},
	)
	for _, line := range stored(t, store) {
		require.Equal(t, strings.ToValidUTF8(line, "?"), line)
	}
	require.Equal(t, "\"\ufffd\"", string(s.Header().Data))
	require.Equal(t, "\"\ufffd\"", string(all(t, s)[1].Body.(entry.Custom).Data))
}

func TestABodyThatIsAPointerIsRefused(t *testing.T) {
	s := talk(t, chat.UserMessage("hello"))
	for _, body := range []entry.Body{
		&entry.Label{Target: "e1"},
		&entry.Unknown{Kind: "later", Line: []byte(`{"type":"later","id":"x","later":1}`)},
		struct{ entry.Custom }{},
	} {
		_, err := s.Add(t.Context(), entry.Entry{Body: body})
		require.ErrorContains(t, err, "not a pointer")
	}
	require.Equal(t, 1, count(t, s))
}

func TestTheCallerMayChangeAMessageAfterAppend(t *testing.T) {
	s := &history.Session{}
	value := []byte(`{"k":1}`)
	m := chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Opaque{Value: value}}}
	require.NoError(t, s.Append(t.Context(), m))
	copy(value, "xxxxx")
	m.Content[0] = chat.Text("other")
	equal(t, chat.Parts{chat.Opaque{Value: []byte(`{"k":1}`)}}, all(t, s)[0].Message().Content)
}
