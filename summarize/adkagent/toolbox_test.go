package adkagent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/summarize/adkagent"
)

func TestAnAgentLooksUpWhatItsPromptNoLongerShows(t *testing.T) {
	s := compacttest.WithKey(t)
	m := &scripted{answer: func(n int, r request) (*model.LLMResponse, error) {
		name, arguments, last := history.ReadTool, map[string]any{"entry": "nothing"}, ""
		if f := r.contents[len(r.contents)-1].Parts[0].FunctionResponse; f != nil {
			last = fmt.Sprint(f.Response["result"], f.Response["error"])
		}
		switch n {
		case 0:
		case 1:
			require.Contains(t, last, `there is no entry "nothing"`)
			name, arguments = history.SearchTool, map[string]any{"query": `"key is"`}
		case 2:
			_, key, _ := strings.Cut(last, "The key is ")
			require.NotEmpty(t, key, last)
			name, arguments = history.ReadTool, map[string]any{"entry": s.Header().ID, "from": 24_000}
			for e := range s.PathTo(t.Context(), "") {
				arguments["entry"] = e.ID
				break
			}
		default:
			require.LessOrEqual(t, len(last), 4100)
			_, key, _ := strings.Cut(last, "The key is ")
			return says(key[:3]), nil
		}
		return &model.LLMResponse{Content: genai.NewContentFromFunctionCall(name, arguments, genai.RoleModel)}, nil
	}}
	c := compacttest.Offline(t, s)
	tools, err := adkagent.Tools(adkagent.Options{Agent: "coder", Compactor: c, Tools: []chat.Toolbox{recall.Tools{}}})
	require.NoError(t, err)
	r := runnerOf(t, session.InMemoryService(), agentOf(t, m, append(tools, readTool(t, nil))...), pluginOn(t, c))
	e := follow(r.Run(t.Context(), "user", "1", genai.NewContentFromText("What was the key?", genai.RoleUser), agent.RunConfig{}))
	require.NoError(t, e.err)
	require.Equal(t, "K-7", e.last())
}

func TestAPictureOfAResultReachesTheModelAndTheSession(t *testing.T) {
	m := &scripted{answer: func(n int, r request) (*model.LLMResponse, error) {
		if n == 0 {
			return &model.LLMResponse{Content: genai.NewContentFromFunctionCall("look", nil, genai.RoleModel)}, nil
		}
		parts := r.contents[len(r.contents)-1].Parts // a model of this generation takes pictures beside results
		require.Equal(t, map[string]any{"result": "The harbour."}, parts[0].FunctionResponse.Response)
		require.Equal(t, []byte{0, 0, 0}, parts[len(parts)-1].InlineData.Data)
		return says("I see."), nil
	}}
	s := &history.Session{}
	c := compacttest.Offline(t, s)
	tools, err := adkagent.Tools(adkagent.Options{Agent: "coder", Compactor: c, Tools: []chat.Toolbox{compacttest.Camera{}}})
	require.NoError(t, err)
	r := runnerOf(t, session.InMemoryService(), agentOf(t, m, tools...), pluginOn(t, c))
	e := follow(r.Run(t.Context(), "user", "1", genai.NewContentFromText("Look.", genai.RoleUser), agent.RunConfig{}))
	require.NoError(t, e.err)
	require.Equal(t, "I see.", e.last())
	view := sessiontest.View(t, s)
	require.Contains(t, view.Messages()[2].Content, chat.Part(chat.Image{URL: "data:image/png;base64,AAAA", MediaType: "image/png"}))
}
