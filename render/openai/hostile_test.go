package openai_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/providertest"
	"github.com/promptree-go/promptree/render/openai"
)

func TestHugeRequestsAreMended(t *testing.T) {
	const n = 20_000
	same := asked(strings.Split(strings.Repeat("a,", n), ",")...)
	messages := []chat.Message{question, same}
	for i := range n {
		messages = append(messages, chat.ToolResult("a", "1"), asked(fmt.Sprint(i)))
	}
	for i := range n {
		messages = append(messages, chat.ToolResult(fmt.Sprint(i), "1"))
	}
	for _, api := range apis {
		mended, _ := openai.Repair(chat.Request{Messages: messages}, api)
		require.NoError(t, openai.Validate(mended, api))
	}
}

// What is no answer is an error, streamed or not, and leaves no goroutine behind.
func TestHostileAnswers(t *testing.T) {
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			providertest.HostileAnswers(t, map[string]string{
				"fields of other types": `data: {"choices":7,"output":"x","type":5}` + "\n\n",
				"an unknown event":      `data: {"type":"response.new","delta":5}` + "\n\ndata: [DONE]\n\n",
			}, func(s *httptest.Server) chat.Model {
				return &openai.Model{Client: sdk.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("none")), Name: "local", API: api}
			}, "render/openai.", "ssestream")
		})
	}
}
