package openai_test

import (
	"fmt"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/openai"
)

// Every call is run once with its own arguments, and the server gets back what it wants.
func TestALoopOf40StepsGoesOnWithEachDialect(t *testing.T) {
	t.Parallel()
	tools := []chat.Tool{{Name: "look"}, {Name: "look_up"}}
	answer := func(n int) providertest.Said {
		s := providertest.Said{Thought: fmt.Sprintf("I am at %d.", n), Text: fmt.Sprintf("Step %d.", n), Usage: chat.Usage{Input: 100 + n, Output: 7, CacheRead: 50 + n}}
		for k := range n % 4 { // from none to three
			s.Calls = append(s.Calls, chat.ToolCall{ID: fmt.Sprintf("call_%d_%d", n, k), Name: tools[(n+k)%2].Name, Arguments: fmt.Sprintf(`{"at":"%d/%d","of":{"x":[%d]}}`, n, k, k)})
		}
		return s
	}
	for _, d := range providertest.Dialects() {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s streamed %t", d.Name, streamed), func(t *testing.T) {
				s := d.Serve(t, answer)
				name := d.Model
				if name == "" {
					name = "local"
				}
				m := &openai.Model{Client: sdk.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("none")), Name: name}
				messages := []chat.Message{question}
				for n := range 40 {
					want := answer(n)
					req := chat.Request{Messages: messages, Tools: tools}
					heard, hear := providertest.Listen(t)
					if streamed {
						req.Stream = hear
					}
					r, err := m.Generate(t.Context(), req)
					require.NoError(t, err)
					require.Equal(t, want.Text, r.Message.Text())
					require.Equal(t, want.Usage, r.Usage)
					require.Len(t, r.Message.ToolCalls, len(want.Calls))
					for i, c := range r.Message.ToolCalls {
						c.Signature = ""
						require.Equal(t, want.Calls[i], c)
						messages = append(messages, chat.ToolResult(c.ID, "done"))
					}
					if streamed {
						heard.RequireWhole(t, r)
					}
					if thought := thoughtOf(r.Message); d.Thought != "" {
						require.Equal(t, want.Thought, thought)
					}
					results := messages[len(messages)-len(want.Calls):]
					messages = append(append(messages[:len(messages)-len(want.Calls):len(messages)-len(want.Calls)], r.Message), results...)
					if len(want.Calls) == 0 {
						messages = append(messages, question)
					}
				}
			})
		}
	}
}

func thoughtOf(m chat.Message) string {
	for _, p := range m.Content {
		if t, ok := p.(chat.Thinking); ok {
			return t.Text
		}
	}
	return ""
}
