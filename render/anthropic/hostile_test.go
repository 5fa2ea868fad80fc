package anthropic_test

import (
	"errors"
	"net/http"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/anthropic"
)

// hostile is a model on a server that may answer anything.
var hostile = providertest.Hostile{
	Model: func(_ testing.TB, client *http.Client, url string) chat.Model {
		return &anthropic.Model{Name: "claude-test", Client: sdk.NewClient(
			option.WithoutEnvironmentDefaults(), option.WithBaseURL(url), option.WithAPIKey(providertest.Key), option.WithHTTPClient(client),
			option.WithQuery("key", providertest.QueryKey), option.WithHeader("Authorization", "Bearer "+providertest.Key), option.WithHeader("Cookie", "session="+providertest.Key),
		)}
	},
	OnlyStreams: true,
	Stream: `event: message_start
data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","content":[],"model":"claude-test","stop_reason":null,"usage":{"input_tokens":3,"cache_read_input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Well."}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"count","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`,
	Bodies: map[string]string{
		"a delta before its block": "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":7,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n",
		"an end before its start":  "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":-1}\n\n",
		"arguments of no call":     "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\n",
		"a start with blocks":      "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"count\",\"input\":{}}]}}\n\n",
		"a compaction of no block": "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":null}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"compaction_delta\",\"content\":5}}\n\n",
		"fields of other types":    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":5}\n\n",
	},
	Count: `{"input_tokens":3}`,
	Own: func(err error) bool {
		_, ok := errors.AsType[*sdk.Error](err)
		return ok
	},
	Packages: []string{"render/anthropic.", "ssestream"},
}

func TestWhateverAServerSendsIsAnAnswerOrATypedError(t *testing.T) { hostile.Test(t) }

func TestErrorsOfServersKeepTheirWordsAndTheirMeaning(t *testing.T) { hostile.TestErrors(t) }

func FuzzAnswers(f *testing.F) {
	hostile.FuzzAnswers(f, func(event map[string]any) bool { return event["type"] == "message_stop" })
}
