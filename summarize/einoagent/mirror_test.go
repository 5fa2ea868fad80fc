package einoagent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/compacttest"
)

// script writes messages of eino from words: u1 is the user's, a1 an answer, c1 an answer that calls a tool and r1 its
// result.
func script(words string) (list []*schema.Message) {
	for _, w := range strings.Fields(words) {
		switch w[0] {
		case 'u':
			list = append(list, schema.UserMessage(w))
		case 'a':
			list = append(list, &schema.Message{Role: schema.Assistant, Content: w})
		case 'c':
			m := reads(w[1:])
			m.ResponseMeta = nil
			list = append(list, m)
		case 'r':
			list = append(list, schema.ToolMessage(w, "call_"+w[1:]))
		}
	}
	return list
}

func remember(t testing.TB, s *history.Session, said string) {
	t.Helper()
	for _, e := range script(said) {
		require.NoError(t, s.Append(t.Context(), fromEino(t, e)))
	}
}

func TestEachMessageOfARunsInputIsRecordedOnce(t *testing.T) {
	for _, c := range []struct {
		name, session, input string
		// The session's path after the model has answered aX, and the number of messages that were added.
		path  string
		added int
	}{
		{"first", "", "u1", "u1 aX", 2},
		{"a whole conversation from elsewhere", "", "u1 a1 u2", "u1 a1 u2 aX", 4},
		{"only the new message", "u1 a1", "u2", "u1 a1 u2 aX", 2},
		{"the same words again", "u1 a1", "u1", "u1 a1 u1 aX", 2},
		{"the same words as the last, answered", "u1 a1 u2 a2", "u2", "u1 a1 u2 a2 u2 aX", 2},
		{"the whole conversation", "u1 c1 r1 a1", "u1 c1 r1 a1 u2", "u1 c1 r1 a1 u2 aX", 2},
		{"questions and answers alone", "u1 c1 r1 a1 u2 c2 r2 a2", "u1 a1 u2 a2 u3", "u1 c1 r1 a1 u2 c2 r2 a2 u3 aX", 2},
		{"the end of the conversation", "u1 a1 u2 c2 r2 a2", "u2 c2 r2 a2 u3", "u1 a1 u2 c2 r2 a2 u3 aX", 2},
		{"asked again before an answer", "u1 a1 u2", "u2", "u1 a1 u2 aX", 1},
		{"asked again with a call open", "u1 a1 u2 c2", "u2", "u1 a1 u2 c2 aX", 1},
		{"asked again within the turn, with the whole conversation", "u1 c1 r1 a1 u2 c2 r2", "u1 c1 r1 a1 u2", "u1 c1 r1 a1 u2 c2 r2 aX", 1},
		{"asked again within the turn, with questions and answers", "u1 c1 r1 a1 u2 c2 r2", "u1 a1 u2", "u1 c1 r1 a1 u2 c2 r2 aX", 1},
		{"messages after a crash", "u1 c1 r1 c2 r2 a2", "u1 c2 r2 a2 u3", "u1 c1 r1 c2 r2 a2 u3 aX", 2},
		{"another question after a crash, with questions and answers", "u1 a1 u2 c2 r2", "u1 a1 u2 u3", "u1 a1 u2 c2 r2 u3 aX", 2},
		{"another round than the session has", "u1 c1 r1", "u1 c2 r2", "u1 c2 r2 aX", 3},
		{"another question after a crash", "u1 c1", "u2", "u1 c1 u2 aX", 2},
		{"an answer that is asked for again", "u1 a1 u2 a2", "u1 a1 u2", "u1 a1 u2 aX", 1},
		{"another conversation", "u1 a1", "u5 a5 u6", "u5 a5 u6 aX", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			session := &history.Session{}
			remember(t, session, c.session)
			before := len(compacttest.Said(session))
			m := &scripted{answer: func(int, request) (*schema.Message, error) { return says("aX"), nil }}
			finished(t, agentOf(t, compacttest.Offline(t, session), m, readTool(t, nil)), false, script(c.input)...)
			require.Equal(t, c.path, compacttest.PathWords(t, session))
			require.Equal(t, c.added, len(compacttest.Said(session))-before)
		})
	}
}

func TestResultsOfParallelCallsMayArriveInAnyOrder(t *testing.T) {
	session := &history.Session{}
	m := &scripted{answer: func(n int, _ request) (*schema.Message, error) {
		if n == 0 {
			return reads("a.go", "b.go"), nil
		}
		return says("done"), nil
	}}
	a := agentOf(t, compacttest.Offline(t, session), m, readTool(t, nil))
	first := schema.UserMessage(question)
	got := finished(t, a, false, first)
	for _, order := range [][]int{{0, 1, 2, 3}, {0, 2, 1, 3}} {
		before := len(compacttest.Said(session))
		input := []*schema.Message{first}
		for _, i := range order {
			e := *got.said[i]
			e.Extra = nil // as if the application did not keep it
			input = append(input, &e)
		}
		finished(t, a, false, append(input, schema.UserMessage("again"))...)
		require.Equal(t, before+2, len(compacttest.Said(session)))
		require.NoError(t, session.Branch(t.Context(), leafAfter(t, session, before)))
	}
}

// leafAfter returns the id of the n-th message of a session.
func leafAfter(t testing.TB, s *history.Session, n int) (id string) {
	t.Helper()
	for e, err := range s.Entries(t.Context()) {
		require.NoError(t, err)
		if e.Type() == entry.TypeMessage {
			if n--; n == 0 {
				return e.ID
			}
		}
	}
	return ""
}

func TestRedactedMessagesAreNotRecordedAgain(t *testing.T) {
	session := compacttest.Redacting(t)
	m := &scripted{answer: func(n int, _ request) (*schema.Message, error) {
		if n%2 == 1 {
			return says("done with sk-123"), nil
		}
		return reads(fmt.Sprintf("%d.go", n)), nil
	}}
	a := agentOf(t, compacttest.Offline(t, session), m, readTool(t, func(context.Context, string) (string, error) { return "sk-456", nil }))
	first := schema.UserMessage("my key is sk-789")
	got := finished(t, a, false, first)
	got = finished(t, a, false, append(append([]*schema.Message{first}, got.said...), schema.UserMessage("again"))...)
	require.Equal(t, "2 users, 4 answers, 2 results, not compacted", compacttest.Counts(t, session))
	require.NotContains(t, compacttest.PathWords(t, session), "sk-")
}

func TestExtrasReasoningAndToolNamesAreSentBackUnchanged(t *testing.T) {
	session := &history.Session{}
	m := &scripted{answer: func(n int, _ request) (*schema.Message, error) {
		if n == 1 {
			return says("done"), nil
		}
		m := reads("a.go")
		m.Extra = map[string]any{"thought_signature": []byte{0xff, 1}}
		m.ToolCalls[0].Extra = map[string]any{"signature": signature{[]byte("s")}}
		return m, nil
	}}
	finished(t, agentOf(t, compacttest.Offline(t, session), m, readTool(t, nil)), false, schema.UserMessage(question))
	answer, result := m.requests[1].messages[2], m.requests[1].messages[3]
	require.Equal(t, []byte{0xff, 1}, answer.Extra["thought_signature"])
	require.Equal(t, signature{[]byte("s")}, answer.ToolCalls[0].Extra["signature"])
	require.Equal(t, "What is there?", answer.ReasoningContent)
	require.Equal(t, "read", result.ToolName)
}

func TestOrdinaryMessagesNeedNoOpaquePart(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		session := &history.Session{}
		m := &scripted{answer: func(n int, _ request) (*schema.Message, error) {
			if n == 1 {
				return says("done"), nil
			}
			return reads("a.go", "b.go"), nil
		}}
		finished(t, agentOf(t, compacttest.Offline(t, session), m, readTool(t, nil)), streaming, schema.UserMessage(question))
		for e, err := range session.PathTo(t.Context(), "") {
			require.NoError(t, err)
			for _, p := range e.Message().Content {
				_, opaque := p.(chat.Opaque)
				require.False(t, opaque, "%v", p)
			}
		}
		usage, ok, err := session.Latest(t.Context(), entry.TypeUsage)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, chat.Usage{Input: 100, Output: 10}, usage.Body.(entry.Usage).Usage)
	}
}
