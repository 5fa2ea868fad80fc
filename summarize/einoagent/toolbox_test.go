package einoagent_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

func TestAnAgentLooksUpWhatItsPromptNoLongerShows(t *testing.T) {
	s := compacttest.WithKey(t)
	m := &scripted{answer: func(n int, r request) (*schema.Message, error) {
		call := schema.ToolCall{ID: string(rune('a' + n)), Type: "function"}
		switch last := r.messages[len(r.messages)-1].Content; n {
		case 0:
			call.Function = schema.FunctionCall{Name: history.ReadTool, Arguments: `{"entry":"nothing"}`}
		case 1:
			require.Contains(t, last, `there is no entry "nothing"`)
			call.Function = schema.FunctionCall{Name: history.SearchTool, Arguments: `{"query":"\"key is\""}`}
		default:
			require.LessOrEqual(t, len(last), 4000)
			_, key, _ := strings.Cut(last, "The key is ")
			return says(key[:3]), nil
		}
		return &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{call}}, nil
	}}
	c := compacttest.Offline(t, s)
	tools, err := einoagent.Tools(einoagent.Options{Compactor: c, Tools: []chat.Toolbox{recall.Tools{}}})
	require.NoError(t, err)
	e := finished(t, agentOf(t, c, m, append(tools, readTool(t, nil))...), false, schema.UserMessage("What was the key?"))
	require.Equal(t, "K-7", e.last())
	require.Len(t, m.requests[0].tools, 3)
	require.Equal(t, c.Current().Tools[0].Name, history.ReadTool)
}

func TestAPictureOfAResultReachesTheModelAndTheSession(t *testing.T) {
	m := &scripted{answer: func(n int, r request) (*schema.Message, error) {
		if n == 0 {
			return &schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{{ID: "a", Type: "function", Function: schema.FunctionCall{Name: "look", Arguments: "{}"}}}}, nil
		}
		parts := r.messages[len(r.messages)-1].UserInputMultiContent
		require.Len(t, parts, 2)
		require.Equal(t, "AAAA", *parts[1].Image.Base64Data)
		return says("I see."), nil
	}}
	s := &history.Session{}
	c := compacttest.Offline(t, s)
	tools, err := einoagent.Tools(einoagent.Options{Compactor: c, Tools: []chat.Toolbox{compacttest.Camera{}}})
	require.NoError(t, err)
	require.Equal(t, "I see.", finished(t, agentOf(t, c, m, tools...), false, schema.UserMessage("Look.")).last())
	result := sessiontest.View(t, s).Messages()[2]
	require.Equal(t, "The harbour.", result.Text())
	require.Contains(t, result.Content, chat.Part(chat.Image{URL: "data:image/png;base64,AAAA"}))
}
