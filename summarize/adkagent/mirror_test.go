package adkagent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
)

// script makes contents from words: u1 is a user message, a1 an answer, c1 an answer that calls a tool, and r1 its
// result.
func script(words string) (list []*genai.Content) {
	for _, w := range strings.Fields(words) {
		switch w[0] {
		case 'u':
			list = append(list, user(&genai.Part{Text: w}))
		case 'a':
			list = append(list, said(&genai.Part{Text: w}))
		case 'c':
			list = append(list, said(called("", "read", map[string]any{"path": w[1:]})))
		case 'r':
			list = append(list, user(returned("", "read", map[string]any{"result": w})))
		}
	}
	return list
}

func TestEachMessageOfADKIsRecordedOnce(t *testing.T) {
	for _, c := range []struct {
		name, log, adk, asked string
		// The log's path after the model has answered aX, and the number of messages that were added.
		path  string
		added int
	}{
		{"first", "", "", "u1", "u1 aX", 2},
		{"a conversation from elsewhere", "", "u1 a1", "u2", "u1 a1 u2 aX", 4},
		{"the whole conversation", "u1 c1 r1 a1", "u1 c1 r1 a1", "u2", "u1 c1 r1 a1 u2 aX", 2},
		{"adk starts anew", "u1 c1 r1 a1", "", "u2", "u1 c1 r1 a1 u2 aX", 2},
		{"the same words again", "u1 a1", "u1 a1", "u1", "u1 a1 u1 aX", 2},
		{"adk starts anew with the same words", "u1 a1", "", "u1", "u1 a1 u1 aX", 2},
		{"asked again within the turn", "u1 a1 u2 c2 r2", "u1 a1 u2 c2 r2", "u2", "u1 a1 u2 c2 r2 u2 aX", 2},
		{"asked again within the turn, and adk starts anew", "u1 a1 u2 c2 r2", "", "u2", "u1 a1 u2 c2 r2 aX", 1},
		{"a result that the log lost", "u1 c1", "u1 c1 r1", "u2", "u1 c1 r1 u2 aX", 3},
		{"events were taken out", "u1 a1 u2 a2 u3 a3", "u1 a1", "u4", "u1 a1 u4 aX", 2},
		{"a result came later", "u1 c1 r1 a1", "u1 c1 r2", "u2", "u1 c1 r2 u2 aX", 3},
		{"another conversation", "u1 a1", "u5 a5", "u6", "u5 a5 u6 aX", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &history.Session{}
			require.NoError(t, log.Append(t.Context(), fromADK(t, script(c.log))...))
			before := len(compacttest.Said(log))
			sessions := session.InMemoryService()
			made, err := sessions.Create(t.Context(), &session.CreateRequest{AppName: "app", UserID: "user", SessionID: "s"})
			require.NoError(t, err)
			id := "" // of the last call, as adk sets it
			for _, content := range script(c.adk) {
				e := session.NewEvent(t.Context(), "before")
				e.Author, e.Content = "coder", content
				if p := content.Parts[0]; p.FunctionCall != nil {
					id = "adk-" + p.FunctionCall.Args["path"].(string)
					p.FunctionCall.ID = id
				} else if p.FunctionResponse != nil {
					p.FunctionResponse.ID = id
				}
				if content.Role == genai.RoleUser && content.Parts[0].Text != "" {
					e.Author = "user"
				}
				require.NoError(t, sessions.AppendEvent(t.Context(), made.Session, e))
			}
			m := &scripted{answer: func(int, request) (*model.LLMResponse, error) { return says("aX"), nil }}
			finished(t, runnerOf(t, sessions, agentOf(t, m, readTool(t, nil)), pluginOn(t, compacttest.Offline(t, log))), false, c.asked)
			require.Equal(t, c.path, compacttest.PathWords(t, log))
			require.Equal(t, c.added, len(compacttest.Said(log))-before)
		})
	}
}

func TestRedactedMessagesAreNotRecordedAgain(t *testing.T) {
	log := compacttest.Redacting(t)
	m := &scripted{answer: func(n int, _ request) (*model.LLMResponse, error) {
		if n%2 == 1 {
			return says("done with sk-123"), nil
		}
		return reads("sk-5.go"), nil
	}}
	r := runnerOf(t, session.InMemoryService(), agentOf(t, m, readTool(t, func(agent.Context, string) (string, error) { return "sk-456", nil })), pluginOn(t, compacttest.Offline(t, log)))
	for range 2 {
		require.NoError(t, run(t, r, false, "my key is sk-789").err)
	}
	require.Equal(t, "2 users, 4 answers, 2 results, not compacted", compacttest.Counts(t, log))
	require.Equal(t, 8, len(compacttest.Said(log)))
	require.NotContains(t, compacttest.PathWords(t, log), "sk-")
	require.NotContains(t, asJSON(t, m.requests[3].contents), "sk-")
}

func TestRequestsOfOtherAgentsAreUnchanged(t *testing.T) {
	ask := func(with bool) *scripted {
		worker := rounds(2)
		sub := agentFrom(t, llmagent.Config{Name: "worker", Model: worker, Tools: []tool.Tool{readTool(t, nil)}})
		m := &scripted{answer: func(int, request) (*model.LLMResponse, error) { return transfers("worker"), nil }}
		root := agentFrom(t, llmagent.Config{Model: m, SubAgents: []agent.Agent{sub}})
		r := runnerOf(t, session.InMemoryService(), root)
		if with {
			r = runnerOf(t, session.InMemoryService(), root, pluginOn(t, compacttest.Offline(t, &history.Session{})))
		}
		require.NoError(t, run(t, r, false, question).err)
		return worker
	}
	with, without := ask(true), ask(false)
	require.Len(t, with.requests, 3)
	for i, r := range with.requests {
		require.Equal(t, asJSON(t, without.requests[i].contents), asJSON(t, r.contents))
		require.Equal(t, without.requests[i].instruction, r.instruction)
	}
}
