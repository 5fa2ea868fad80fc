package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/apitest"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/render/anthropic"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/render/openai"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/frugal"
)

// forecast is a typed answer. A day may lack its wind, so the schema is no strict one.
type forecast struct {
	City string `json:"city"`
	Days []struct {
		Sky  string   `json:"sky"`
		Wind *float64 `json:"wind,omitempty"`
	} `json:"days"`
}

// The form of an answer goes with the question from provider to provider, and requests for summaries have none.
func TestASessionHasTypedAnswersOfEachProvider(t *testing.T) {
	session, err := history.Open(filepath.Join(t.TempDir(), "session.jsonl"), history.Options{})
	require.NoError(t, err)
	defer session.Close()
	look, err := agent.Tool("look", "Looks at the sky.", func(context.Context, struct{}) (string, error) { return "sun, and clouds", nil })
	require.NoError(t, err)
	form := map[string]string{ // where a request holds the schema
		"openai:gpt-4o": "response_format.json_schema.schema", "openai:local:8b": "response_format.json_schema.schema",
		"openai-responses:gpt-4o": "text.format.schema", "anthropic:claude-test": "output_config.format.schema", "gemini:gemini-test": "generationConfig.responseJsonSchema",
	}
	summaries, calls := 0, 0
	for round, w := range append(ways, ways...) {
		setKey(t, w.keyOf, apitest.Key)
		answered := 0
		s := apitest.Serve(t, w.api, func(a apitest.Asked) apitest.Answer {
			switch answered++; answered {
			case 1:
				require.Contains(t, a.Body.Get(form[w.model]).String(), `"wind"`)
				calls++
				return apitest.Answer{Text: "I look.", Calls: []apitest.Call{{ID: fmt.Sprint("call_", calls), Name: "look", Arguments: "{}"}}}
			case 2:
				return apitest.Answer{Text: "Sunny, I say."} // which is no JSON
			}
			return apitest.Answer{Text: `{"city":"Rome","days":[{"sky":"sun"},{"sky":"clouds","wind":3.5}]}`}
		})
		s.Rule = func(a *apitest.Asked) string {
			if a.Body.Get(form[w.model]).Exists() == a.Summary() {
				return "the form of the answer goes with the question, and only with it"
			}
			return ""
		}
		chosen, err := choose(w.model, s.URL)
		require.NoError(t, err)
		chosen.window, chosen.table = 6000, modelinfo.Published()
		model, err := chosen.open(t.Context())
		require.NoError(t, err)
		compactor := &summarize.Compactor{Session: session, Policy: frugal.Policy(), Target: summarize.Target{
			Model: model, Name: chosen.name, Tokenizer: sizing.Estimator{}, Budget: 1200, ContextWindow: 6000,
		}}
		worker := &agent.Agent{Compactor: compactor, System: "You look at the sky.", Tools: []chat.Toolbox{look}, MaxTokens: 1000, Stream: func(chat.Delta) {}}
		got, err := agent.Ask[forecast](t.Context(), worker, fmt.Sprintf("How will it be, asked for the %dth time?", round))
		require.NoError(t, err, w.name)
		require.Equal(t, "Rome", got.City)
		require.Len(t, got.Days, 2)
		require.InDelta(t, 3.5, *got.Days[1].Wind, 0)
		require.NoError(t, compactor.Close())
		_, _, more := s.Seen(t)
		summaries += more
	}
	require.NotEmpty(t, compacttest.Compactions(session))
	require.Positive(t, summaries)
}

// asks returns the error of a question for a typed answer to a model that every provider would refuse or take.
func asks[T any](t *testing.T) error {
	t.Helper()
	taken := errors.New("every provider takes the request")
	model := chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		req.MaxTokens = 100
		for _, o := range []string{"gemini-2.5-pro", "gemini-3-pro"} {
			if err := gemini.Validate(req, gemini.OptionsFor(o)); err != nil {
				return chat.Response{}, err
			}
		}
		return chat.Response{}, cmp.Or(openai.Validate(req, openai.ChatCompletions), openai.Validate(req, openai.Responses), anthropic.Validate(req), taken)
	})
	c := &summarize.Compactor{Session: &history.Session{}, Target: summarize.Target{Model: model, Tokenizer: sizing.Estimator{}, Budget: 10_000}}
	_, err := agent.Ask[T](t.Context(), &agent.Agent{Compactor: c}, "How is it?")
	if errors.Is(err, taken) {
		return nil
	}
	return err
}

func TestEveryProviderTakesTheFormOfAStruct(t *testing.T) {
	for name, err := range map[string]error{
		"nothing":          asks[struct{}](t),
		"bytes":            asks[struct{ B [][]byte }](t),
		"bounded numbers":  asks[struct{ U uint8 }](t),
		"arrays":           asks[struct{ A [3][2]int }](t),
		"times":            asks[struct{ T *time.Time }](t),
		"whatever is JSON": asks[struct{ R, A any }](t),
		"raw JSON":         asks[struct{ R json.RawMessage }](t),
		"own encodings": asks[struct {
			N *big.Int
			A netip.Addr
		}](t),
		"maps":     asks[struct{ M map[string][]uint16 }](t),
		"optional": asks[forecast](t),
		"in one":   asks[struct{ forecast }](t),
		"another name": asks[struct {
			A int `json:"ä b.c/d~e"`
		}](t),
	} {
		require.NoError(t, err, name)
	}
}
