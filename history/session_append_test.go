package history_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/growth"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

func TestAppendRefusesWhatBreaksASession(t *testing.T) {
	const bad = "\xff"
	pairing := func(id, reason string) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			equal(t, &entry.PairingError{CallID: id, Reason: reason}, errorAs[*entry.PairingError](t, err))
		}
	}
	says := func(text string) func(*testing.T, error) {
		return func(t *testing.T, err error) { require.ErrorContains(t, err, text) }
	}
	const unanswerable, twice = "answers no open tool call", "occurs twice in one message"
	for _, tt := range []struct {
		rule  string
		given []chat.Message // appended before
		// refused are the messages of one Append, of which only the last is invalid.
		refused []chat.Message
		want    func(*testing.T, error)
	}{
		{"a system message is refused", nil, []chat.Message{chat.SystemMessage("be brief")}, says("a system message")},
		{"an unknown role is refused", nil, []chat.Message{{Role: "ghost"}}, says(`"ghost"`)},
		{"an empty role is refused", nil, []chat.Message{{}}, says(`unknown role ""`)},
		{"a result has a call", nil, []chat.Message{chat.ToolResult("c1", "x")}, pairing("c1", unanswerable)},
		{"a result's call comes before it", nil, []chat.Message{chat.ToolResult("c1", "x"), calls("c1")}[:1], pairing("c1", unanswerable)},
		{"a result names a call that was made", []chat.Message{calls("c1")}, []chat.Message{chat.ToolResult("c2", "x")}, pairing("c2", unanswerable)},
		{"a result names a call", []chat.Message{calls("c1")}, []chat.Message{chat.ToolResult("", "x")}, pairing("", unanswerable)},
		{
			"a call is answered once", []chat.Message{calls("c1"), chat.ToolResult("c1", "x")},
			[]chat.Message{chat.ToolResult("c1", "y")}, pairing("c1", unanswerable),
		},
		{
			"a call is answered once within one Append", []chat.Message{calls("c1", "c2")},
			[]chat.Message{chat.ToolResult("c2", "x"), chat.ToolResult("c1", "x"), chat.ToolResult("c1", "y")}, pairing("c1", unanswerable),
		},
		{
			"a call is answered once if all are appended together", nil,
			[]chat.Message{calls("c1"), chat.ToolResult("c1", "x"), chat.ToolResult("c1", "y")}, pairing("c1", unanswerable),
		},
		{"two calls of one message have two ids", nil, []chat.Message{chat.UserMessage("go"), calls("c1", "c2", "c1")}, pairing("c1", twice)},
		{"a call's id is UTF-8", nil, []chat.Message{calls(bad)}, says("UTF-8")},
		{"a tool's name is UTF-8", nil, []chat.Message{{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: bad}}}}, says("UTF-8")},
		{
			"a call's arguments are UTF-8", nil,
			[]chat.Message{{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "run", Arguments: bad}}}}, says("UTF-8"),
		},
		{"a participant's name is UTF-8", nil, []chat.Message{{Role: chat.RoleUser, Name: bad}}, says("UTF-8")},
		{"the id of an answered call is UTF-8", nil, []chat.Message{{Role: chat.RoleUser, ToolCallID: bad}}, says("UTF-8")},
		{"a thought is UTF-8", nil, []chat.Message{said(chat.Thinking{Text: bad})}, says("thinking")},
		{"a thought's signature is UTF-8", nil, []chat.Message{said(chat.Thinking{Signature: bad})}, says("thinking")},
		{"a hidden thought is UTF-8", nil, []chat.Message{said(chat.Thinking{Encrypted: bad})}, says("thinking")},
		{"an image's URL is UTF-8", nil, []chat.Message{said(chat.Text("x"), chat.Image{URL: "\xe4", Original: "\xb8\xad"})}, says("part 1")},
		{"an image's media type is UTF-8", nil, []chat.Message{said(chat.Image{MediaType: bad})}, says("part 0")},
		{"an image's detail is UTF-8", nil, []chat.Message{said(chat.Image{Detail: bad})}, says("part 0")},
		{"a document's data are UTF-8", nil, []chat.Message{said(chat.Document{Data: bad})}, says("part 0")},
		{"a document's media type is UTF-8", nil, []chat.Message{said(chat.Document{MediaType: bad})}, says("part 0")},
		{"a cache breakpoint's type is UTF-8", nil, []chat.Message{said(chat.CacheBreakpoint{Type: bad})}, says("part 0")},
		{"a part is not nil", nil, []chat.Message{chat.UserMessage("one"), said(nil)}, says("nil")},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			path := tempFile(t)
			for where, s := range map[string]*history.Session{"in memory": numbered.Session(), "in a file": opened(t, path)} {
				require.NoError(t, s.Append(t.Context(), tt.given...))
				before := content(t, path)
				entries, view, lines := all(t, s), viewOf(t, s), lineCount(t, s)

				tt.want(t, s.Append(t.Context(), tt.refused...))
				equal(t, entries, all(t, s))
				equal(t, view, viewOf(t, s))
				require.Equal(t, lines, lineCount(t, s), where)
				require.Equal(t, before, content(t, path), where)

				// The refused Append leaves no trace: its valid messages are accepted by themselves.
				require.NoError(t, s.Append(t.Context(), tt.refused[:len(tt.refused)-1]...), where)
				require.NoError(t, s.Append(t.Context(), chat.UserMessage("on")), where)
				require.Len(t, all(t, s), len(tt.given)+len(tt.refused), where)
				requireChained(t, s)
			}
		})
	}
}

func TestAppendAcceptsUnusualMessages(t *testing.T) {
	for _, tt := range []struct {
		rule     string
		messages []chat.Message
	}{
		{"no messages", nil},
		{"a session that starts with an assistant's message", []chat.Message{chat.AssistantMessage("hello")}},
		{"text that is not UTF-8", []chat.Message{chat.UserMessage("\xff")}},
		{"an opaque value that is not JSON", []chat.Message{said(chat.Opaque{Value: json.RawMessage("\xff")})}},
		{"an assistant message that was cut short", []chat.Message{said()}},
		{"a call without a name", []chat.Message{{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1"}}}}},
		{"arguments that were cut short", []chat.Message{{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "run", Arguments: `{"a`}}}}},
		{"results in another order than their calls", []chat.Message{calls("c1", "c2"), chat.ToolResult("c2", "x"), chat.ToolResult("c1", "y")}},
		{"a result that comes late", []chat.Message{calls("c1"), calls("c2"), chat.UserMessage("on"), chat.ToolResult("c1", "y")}},
		{"a user message with a call's id does not answer the call", []chat.Message{calls("c1"), {Role: chat.RoleUser, ToolCallID: "c1"}, chat.ToolResult("c1", "x")}},
		{"an id that is used again after its result", []chat.Message{calls("c1"), chat.ToolResult("c1", "x"), calls("c1"), chat.ToolResult("c1", "y")}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			together, oneByOne := numbered.Session(), opened(t, tempFile(t))
			require.NoError(t, together.Append(t.Context(), tt.messages...))
			for _, m := range tt.messages {
				require.NoError(t, oneByOne.Append(t.Context(), m))
			}
			require.Equal(t, len(tt.messages), count(t, together))
			require.Equal(t, shape(viewOf(t, together)), shape(viewOf(t, oneByOne)))
			equal(t, all(t, oneByOne), all(t, readOnly(t, oneByOne.Path())))
		})
	}
}

// Neither earlier branches nor refused appends have an effect.
func TestAResultIsAcceptedIfItsPathHasTheOpenCall(t *testing.T) {
	t.Parallel()
	accepted, refused := 0, 0
	for seed := range uint64(cases(200)) {
		r := rand.New(rand.NewPCG(seed, 9))
		store := &storage.Memory{}
		s := sessionIn(t, store, history.Options{})
		require.NoError(t, s.Append(t.Context(), user))
		id := func() string { return fmt.Sprint("c", r.IntN(6)) }
		for range 60 {
			before := list(t, s.PathTo(t.Context(), ""))
			switch r.IntN(9) {
			case 8: // another process goes on
				s = sessionIn(t, store, history.Options{})
			case 0:
				require.NoError(t, s.Branch(t.Context(), before[r.IntN(len(before))].ID))
			case 1:
				require.NoError(t, s.Append(t.Context(), calls(id())))
			case 2: // all or none
				require.Error(t, s.Append(t.Context(), calls("d"), chat.ToolResult("d", "x"), chat.ToolResult("d", "y")))
			default:
				call, open := id(), false
				for _, e := range before {
					if m := e.Message(); m.ToolCallID == call {
						open = false
					} else if len(m.ToolCalls) > 0 && m.ToolCalls[0].ID == call {
						open = true
					}
				}
				err := s.Append(t.Context(), chat.ToolResult(call, "x"))
				if open {
					require.NoError(t, err, "seed %d", seed)
					accepted++
					continue
				}
				require.ErrorAs(t, err, new(*entry.PairingError), "seed %d: %v", seed, err)
				refused++
			}
		}
	}
	require.Greater(t, accepted, cases(500))
	require.Greater(t, refused, cases(500))
}

// parallel returns an answer with parallel calls, and their results, the last call's first.
func parallel(calls int) []chat.Message {
	m := chat.Message{Role: chat.RoleAssistant}
	var results []chat.Message
	for i := range calls {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: fmt.Sprint("c", i), Name: "read", Arguments: "{}"})
		results = append(results, chat.ToolResult(fmt.Sprint("c", calls-1-i), "text"))
	}
	return append([]chat.Message{chat.UserMessage("read"), m}, results...)
}

func TestManyParallelCallsAreAppendedInLinearTime(t *testing.T) {
	fresh := func() *history.Session {
		return sessionIn(t, &storage.Memory{}, history.Options{})
	}
	t.Run("at once", func(t *testing.T) {
		growth.Check(t, extremes.All(), func(calls int) {
			require.NoError(t, fresh().Append(t.Context(), parallel(calls)...))
		})
	})
	t.Run("one at a time", func(t *testing.T) {
		growth.Check(t, extremes.All(), func(calls int) {
			s := fresh()
			for _, m := range parallel(calls) {
				require.NoError(t, s.Append(t.Context(), m))
			}
		})
	})
	t.Run("with ids of their own", func(t *testing.T) {
		growth.Check(t, extremes.All(), func(calls int) {
			var entries []entry.Entry
			for i, m := range parallel(calls) {
				entries = append(entries, entry.Entry{ID: fmt.Sprint("e", i), Body: entry.Message{Message: m}})
			}
			_, err := fresh().Add(t.Context(), entries...)
			require.NoError(t, err)
		})
	})
	t.Run("and shown", func(t *testing.T) {
		growth.Check(t, extremes.All(), func(calls int) {
			s := fresh()
			require.NoError(t, s.Append(t.Context(), parallel(calls)...))
			v := sessiontest.View(t, s)
			require.Len(t, v.Messages(), calls+2)
			require.Empty(t, v.Turns[0].Rounds[0].Aborted())
		})
	})
}
