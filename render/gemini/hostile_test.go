package gemini_test

import (
	"net/http/httptest"
	"testing"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/providertest"
)

// What is no answer is an error, streamed or not, and leaves no goroutine behind.
func TestHostileAnswers(t *testing.T) {
	providertest.HostileAnswers(t, map[string]string{
		"fields of other types":  "data: {\"candidates\":5}\n\n",
		"parts of other types":   "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":5}]}}]}\n\n",
		"a candidate of nothing": "data: {\"candidates\":[null]}\n\n",
	}, func(s *httptest.Server) chat.Model { return (&api{Server: s}).model(t) }, "render/gemini.", "genai.")
}
