package adkagent_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
)

// A request and its round of tools, in a conversation of many messages.
func BenchmarkRequest(b *testing.B) {
	for _, with := range []bool{false, true} {
		for _, n := range []int{500, 5000} {
			b.Run(fmt.Sprintf("promptree=%v/messages=%d", with, n), func(b *testing.B) {
				compactor := compacttest.Offline(b, &history.Session{})
				compactor.Target.Budget = 10_000_000
				var plugins []*plugin.Plugin
				if with {
					plugins = append(plugins, pluginOn(b, compactor))
				}
				sessions := session.InMemoryService()
				made, err := sessions.Create(b.Context(), &session.CreateRequest{AppName: "app", UserID: "user", SessionID: "s"})
				require.NoError(b, err)
				for i := range n {
					e := session.NewEvent(b.Context(), "before")
					e.Author, e.Content = "user", genai.NewContentFromText(compacttest.FileContent(fmt.Sprintf("u%d", i)), genai.RoleUser)
					if i%2 == 1 {
						e.Author, e.Content = "coder", genai.NewContentFromText(compacttest.FileContent(fmt.Sprintf("a%d", i)), genai.RoleModel)
					}
					require.NoError(b, sessions.AppendEvent(b.Context(), made.Session, e))
				}
				m := &scripted{answer: compacttest.Reading[request](func(i int) bool {
					switch {
					case i == 1:
						b.ResetTimer()
					case i > b.N:
						b.StopTimer()
					}
					return i > b.N
				}, reads, says)}
				require.NoError(b, run(b, runnerOf(b, sessions, agentOf(b, m, readTool(b, nil)), plugins...), false, question).err)
			})
		}
	}
}
