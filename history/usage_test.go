package history_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
)

// What was reported is kept in the session, and counted on from when it is opened again.
func ExampleReportedTokens() {
	session := &history.Session{}
	_, err := session.Add(
		history.Entry{Body: history.Message{Message: chat.UserMessage("Why does the build fail?")}},
		history.Entry{Body: history.Message{Message: chat.AssistantMessage("A test is missing.")}},
		history.Entry{Body: history.Usage{Usage: chat.Usage{Input: 1200, Output: 80}}},
		history.Entry{Body: history.Message{Message: chat.UserMessage("Write it.")}},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(history.ReportedTokens(session.PathTo(""), sizing.Estimator{}))
	// Output: 1383 true <nil>
}

func TestReportedTokens(t *testing.T) {
	usage := func(of string, input, output int) history.Usage {
		return history.Usage{Of: of, Usage: chat.Usage{Input: input, Output: output, CacheRead: input / 2}}
	}
	say := func(m chat.Message) history.Body { return history.Message{Message: m} }
	// Each message takes ten tokens; ids are e1, e2, …
	for _, tt := range []struct {
		rule string
		path []history.Body
		want int
		ok   bool
	}{
		{"nothing was reported", []history.Body{say(user), say(answer)}, 0, false},
		{"input and output, cached ones included once", []history.Body{say(user), say(answer), usage("", 500, 20)}, 520, true},
		{"and what came after", []history.Body{say(user), say(answer), usage("", 500, 20), say(user), history.Shell{Command: "ls"}}, 540, true},
		{"what the model does not see is nothing", []history.Body{say(user), say(answer), usage("", 500, 20), history.Shell{Hidden: true}, history.Label{Text: "x"}}, 520, true},
		{"the newest counts", []history.Body{say(user), say(answer), usage("", 500, 20), say(user), say(answer), usage("", 600, 30), say(user)}, 640, true},
		{"a newer answer without any is counted", []history.Body{say(user), say(answer), usage("", 500, 20), say(user), say(answer), say(user)}, 550, true},
		{"results that stand before the usage came after the answer", []history.Body{say(user), say(calls("a")), say(done("a")), usage("e2", 500, 20)}, 530, true},
		{"usage of an answer before the newest is stale", []history.Body{say(user), say(answer), say(user), say(answer), usage("e2", 500, 20)}, 0, false},
		{"so is that of another entry", []history.Body{say(user), say(answer), usage("e1", 500, 20)}, 0, false},
		{"an answer that was cut off has none", []history.Body{say(user), say(answer), usage("", 500, 20), say(user), say(answer), usage("", 0, 0)}, 540, true},
		{"a compaction makes it void", []history.Body{say(user), say(answer), usage("", 500, 20), summary("so far", ""), say(user)}, 0, false},
		{"until there is another", []history.Body{say(user), say(answer), usage("", 500, 20), summary("so far", ""), say(user), say(answer), usage("", 90, 5)}, 95, true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := &history.Session{}
			for _, b := range tt.path {
				_, err := s.Add(history.Entry{Body: b})
				require.NoError(t, err)
			}
			got, ok, err := history.ReportedTokens(s.PathTo(""), flat{})
			require.NoError(t, err)
			require.Equal(t, tt.ok, ok)
			require.Equal(t, tt.want, got)
		})
	}

	t.Run("another branch says nothing", func(t *testing.T) {
		s := talk(t, user, answer)
		_, err := s.Add(history.Entry{Body: usage("", 500, 20)})
		require.NoError(t, err)
		require.NoError(t, s.Branch("e1"))
		_, ok, err := history.ReportedTokens(s.PathTo(""), flat{})
		require.NoError(t, err)
		require.False(t, ok)
	})
	t.Run("a path that cannot be read", func(t *testing.T) {
		broken := errors.New("broken")
		_, _, err := history.ReportedTokens(iter.Seq2[history.Entry, error](func(yield func(history.Entry, error) bool) {
			yield(history.Entry{}, broken)
		}), flat{})
		require.ErrorIs(t, err, broken)
	})
}
