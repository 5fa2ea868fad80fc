package providertest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

// CallServer is a server that answers a question with calls of the tool count, with given ids, and results with a text.
type CallServer struct {
	Model chat.Model
	// Sent returns the ids of the calls and of the results in the last request, in order, and the text of each result.
	Sent func(t *testing.T) (calls, results, texts []string)
	// LeavesOut is set if ids that the server did not give are not sent to it.
	LeavesOut bool
}

// CallIDs checks that each call of an answer has an id of its own, whatever ids a server gives them, streamed or not,
// and that the server accepts the calls and their results in the next request. An id "" is left out of the answer.
func CallIDs(t *testing.T, serve func(t *testing.T, ids []string) CallServer) {
	for _, tt := range []struct {
		rule string
		ids  []string
	}{
		{"ids that the server gives are kept", []string{"a", "b"}},
		{"missing ids are made", []string{"", ""}},
		{"the second of two equal ids is replaced", []string{"a", "a"}},
		{"one missing id is made among others", []string{"a", "", "b"}},
		{"missing and equal ids are both replaced", []string{"", "a", "", "a"}},
	} {
		for _, streamed := range []bool{false, true} {
			t.Run(tt.rule+map[bool]string{true: " streamed"}[streamed], func(t *testing.T) {
				s := serve(t, tt.ids)
				ask := func(messages ...chat.Message) chat.Response {
					req := chat.Request{Messages: messages, Tools: []chat.Tool{{Name: "count"}}}
					heard, hear := Listen(t)
					if streamed {
						req.Stream = hear
					}
					r, err := s.Model.Generate(t.Context(), req)
					require.NoError(t, err)
					if streamed {
						heard.RequireWhole(t, r)
					}
					return r
				}
				question := chat.UserMessage("How many?")
				said := ask(question).Message
				require.Len(t, said.ToolCalls, len(tt.ids))
				first := map[string]bool{"": true}
				ids, sent := make([]string, len(tt.ids)), make([]string, len(tt.ids))
				for i, c := range said.ToolCalls {
					ids[i], sent[i] = c.ID, c.ID
					given := tt.ids[i]
					switch {
					case !first[given]:
						require.Equal(t, given, c.ID)
					case s.LeavesOut:
						sent[i] = ""
					}
					require.LessOrEqual(t, len(c.ID), 40)
					first[given] = true
				}
				requireUnique(t, ids)

				other := ask(question).Message // of the same conversation, so its ids must differ
				for i, c := range other.ToolCalls {
					if ids[i] != tt.ids[i] {
						require.NotContains(t, ids, c.ID)
					}
				}

				messages := []chat.Message{question, said}
				var texts []string
				for i, id := range ids {
					texts = append(texts, fmt.Sprint("result ", i))
					messages = append(messages, chat.ToolResult(id, texts[i]))
				}
				require.Empty(t, ask(messages...).Message.ToolCalls)
				sentCalls, sentResults, sentTexts := s.Sent(t)
				require.Equal(t, sent, sentCalls)
				require.Equal(t, sent, sentResults)
				require.Equal(t, texts, sentTexts)
			})
		}
	}
}

func requireUnique(t *testing.T, ids []string) {
	t.Helper()
	seen := map[string]bool{"": true}
	for _, id := range ids {
		require.False(t, seen[id], "%q", ids)
		seen[id] = true
	}
}
