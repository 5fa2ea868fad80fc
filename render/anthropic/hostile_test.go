package anthropic_test

import (
	"net/http/httptest"
	"testing"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/providertest"
	"github.com/promptree-go/promptree/render/anthropic"
)

// What is no answer is an error, streamed or not, and leaves no goroutine behind.
func TestHostileAnswers(t *testing.T) {
	providertest.HostileAnswers(t, map[string]string{
		"a delta before its block": "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":7,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n",
		"an end before its start":  "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":-1}\n\n",
		"arguments of no call":     "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\n",
		"fields of other types":    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":5}\n\n",
	}, func(s *httptest.Server) chat.Model {
		return &anthropic.Model{Client: (&server{Server: s}).client(), Name: "claude-test"}
	}, "render/anthropic.", "ssestream")
}
