package einoagent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

func TestATemplateWorksInAChain(t *testing.T) {
	refused := errors.New("no question")
	template := einoagent.Template(func(_ context.Context, variables map[string]any) (elements.Node, error) {
		question, ok := variables["question"].(string)
		if !ok {
			return nil, refused
		}
		return elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(question)}}, nil
	}, render.Options{Budget: 200, Tokenizer: compacttest.Estimator})
	m := &scripted{answer: func(_ int, r request) (*schema.Message, error) { return says("about " + r.messages[0].Content), nil }}
	chain, err := compose.NewChain[map[string]any, *schema.Message]().AppendChatTemplate(template).AppendChatModel(m).Compile(t.Context())
	require.NoError(t, err)
	answer, err := chain.Invoke(t.Context(), map[string]any{"question": "trees"})
	require.NoError(t, err)
	require.Equal(t, "about trees", answer.Content)
	_, err = chain.Invoke(t.Context(), map[string]any{})
	require.ErrorIs(t, err, refused)
	_, err = chain.Invoke(t.Context(), map[string]any{"question": compacttest.FileContent("a.go")})
	var over *render.BudgetExceededError
	require.ErrorAs(t, err, &over)
}
