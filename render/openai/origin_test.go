package openai_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/openai"
)

// Encrypted reasoning goes back to the server that made it, and to one of which it is not known that it did not.
func TestEncryptedReasoningGoesToNoOtherServer(t *testing.T) {
	s := newServer(t, always(reply{items: []item{textItem("Done.")}}))
	m := s.model(openai.Responses, "gpt-5.2")
	for rule, c := range map[string]struct {
		origin chat.Origin
		sent   bool
	}{
		"its own":                      {chat.Origin{Provider: "openai", Server: s.URL, Model: "gpt-5.2"}, true},
		"another model's":              {chat.Origin{Provider: "openai", Server: s.URL, Model: "gpt-5.1"}, true},
		"one that is not known":        {chat.Origin{}, true},
		"one of which the model alone": {chat.Origin{Model: "gpt-5.1"}, true},
		"another server's":             {chat.Origin{Provider: "openai", Server: "https://me.openai.azure.com", Model: "gpt-5.2"}, false},
		"another provider's":           {chat.Origin{Provider: "gemini"}, false},
	} {
		t.Run(rule, func(t *testing.T) {
			messages := append([]chat.Message{question}, reasoned("a", "secret")...)
			messages[1].Origin = c.origin
			providertest.Generated(t, m, chat.Request{Messages: messages})
			input := s.last(t).Get("input")
			require.Equal(t, c.sent, input.Get(`#(type=="reasoning")`).Exists())
			require.Equal(t, c.sent, input.Get(`#(type=="function_call").id`).String() == "fc_a", "an id without its reasoning would be refused")
			require.Equal(t, "a", input.Get(`#(type=="function_call").call_id`).String())
			require.NotContains(t, s.last(t).Raw, "origin")
		})
	}
}

// What an answer names as its origin says neither the path, nor the user, nor a key, and is asked of nobody.
func TestTheOriginOfAnAnswerIsTheAddressAlone(t *testing.T) {
	s := newServer(t, always(reply{items: []item{textItem("Done.")}}))
	for _, api := range apis {
		m := s.model(api, "gpt-4o")
		before := s.count()
		for range 2 {
			r := providertest.Generated(t, m, chat.Request{Messages: []chat.Message{question}})
			require.Equal(t, chat.Origin{Provider: "openai", Server: s.URL, Model: "gpt-4o"}, r.Message.Origin)
		}
		require.Equal(t, 2, s.count()-before)
	}
}
