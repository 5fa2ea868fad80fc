package openai_test

import (
	"net/http"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/internal/test/sdktest"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/render/openai"
)

func TestBodiesAreWhatTheyWere(t *testing.T) {
	for _, c := range []struct {
		name, model string
		api         openai.API
		as          func(n int, m chat.Message) chat.Message
	}{
		{"chat", "local", openai.ChatCompletions, nil},
		{"responses", "gpt-5.2", openai.Responses, nil},
		{"responses-reasoning", "gpt-5.2", openai.Responses, func(n int, m chat.Message) chat.Message { return openAI(newMemory(), n, m) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := &wiretest.Transport{}
			client := sdk.NewClient(option.WithAPIKey("key"), option.WithBaseURL("https://example.com/v1"), option.WithHTTPClient(&http.Client{Transport: sent}))
			wiretest.Check(t, c.name, &openai.Model{Client: client, Name: c.model, API: c.api}, sent, c.as)
		})
	}
}

func TestTheTableKnowsTheModelsThatTheSDKNames(t *testing.T) {
	except := map[string]string{}
	for why, names := range map[string]string{
		"hears or speaks":                    "gpt-audio-mini gpt-audio-mini-2025-12-15 gpt-4o-audio-preview gpt-4o-audio-preview-2024-10-01 gpt-4o-audio-preview-2024-12-17 gpt-4o-audio-preview-2025-06-03 gpt-4o-mini-audio-preview gpt-4o-mini-audio-preview-2024-12-17",
		"no public source states its window": "gpt-5.1-mini gpt-5.6-cyber gpt-rosalind-research gpt-6-rosalind gpt-daybreak-blue-latest gpt-daybreak-red-latest computer-use-preview computer-use-preview-2025-03-11",
	} {
		for _, name := range strings.Fields(names) {
			except[name] = why
		}
	}
	sdktest.KnowsModels(t, "github.com/openai/openai-go/v3/shared", "ChatModel", except)
}

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

func TestRandomCallsAndResultsArePairedByRepair(t *testing.T) {
	t.Parallel()
	for _, api := range apis {
		providertest.Repaired(t, func(req chat.Request) (chat.Request, []chat.Repair) { return openai.Repair(req, api) },
			func(req chat.Request) error { return openai.Validate(req, api) })
	}
}
