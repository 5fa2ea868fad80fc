package gemini_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/gemini"
)

// hostile is a model on a server that may answer anything, with a client that NewClient did not make.
var hostile = providertest.Hostile{
	Model: func(t testing.TB, client *http.Client, url string) chat.Model {
		c, err := genai.NewClient(t.Context(), &genai.ClientConfig{
			APIKey: providertest.Key, Backend: genai.BackendGeminiAPI, HTTPClient: client,
			HTTPOptions: genai.HTTPOptions{BaseURL: url, Headers: http.Header{"Cookie": {"session=" + providertest.Key}, "Authorization": {"Bearer " + providertest.QueryKey}}},
		})
		require.NoError(t, err)
		return &gemini.Model{Client: c, Name: "gemini-3-pro-preview"}
	},
	Answer: piece("STOP", `{"text":"Hm.","thought":true}`, `{"text":"Well."}`, `{"functionCall":{"id":"c1","name":"look","args":{"at":"here"}},"thoughtSignature":"c2ln"}`),
	Stream: "data: " + piece("", `{"text":"Hm.","thought":true}`) + "\r\n\r\ndata: " + piece("", `{"text":"Well."}`) + "\r\n\r\n" +
		"data: " + piece("STOP", `{"functionCall":{"id":"c1","name":"look","args":{"at":"here"}},"thoughtSignature":"c2ln"}`) + "\r\n\r\n",
	Bodies: map[string]string{
		"fields of other types":  "data: {\"candidates\":5}\n\n",
		"parts of other types":   "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":5}]}}]}\n\n",
		"a candidate of nothing": "data: {\"candidates\":[null]}\n\n",
	},
	Count: `{"totalTokens":3}`,
	Own: func(err error) bool {
		_, ended := errors.AsType[*chat.EndError](err)
		_, api := errors.AsType[genai.APIError](err)
		return ended || api
	},
	Packages: []string{"render/gemini.", "genai."},
}

func TestWhateverAServerSendsIsAnAnswerOrATypedError(t *testing.T) { hostile.Test(t) }

func TestErrorsOfServersKeepTheirWordsAndTheirMeaning(t *testing.T) { hostile.TestErrors(t) }

func FuzzAnswers(f *testing.F) {
	hostile.FuzzAnswers(f, func(event map[string]any) bool { return event["candidates"] != nil || event["promptFeedback"] != nil })
}
