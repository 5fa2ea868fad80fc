package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/openai"
	"github.com/promptree-go/promptree/summarize/policy"
)

const secretItem = `{"id":"cmp_1","type":"compaction","encrypted_content":"gAAAA<secret>"}`

// compacting answers requests for summaries and compactions, the latter as compact says.
func compacting(compact reply) func(openai.API, gjson.Result) reply {
	return func(_ openai.API, request gjson.Result) reply {
		if !request.Get("store").Exists() && request.Get("input").Exists() { // which a compaction does not have
			return compact
		}
		return reply{items: []item{message("msg_1", "<summary>\nThe build was repaired.\n</summary>")}, usage: usage{in: 900, out: 50}}
	}
}

var compactedReply = reply{items: []item{{"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAAA<secret>"}}, usage: usage{in: 800, out: 60, cached: 500}}

// compactingFixture returns a compactor that asks for summaries by an openai.CompactionModel.
func compactingFixture(t *testing.T, s *server) (compacttest.Fixture, *[]error) {
	d := compacttest.New(t, compacttest.Overflowing()...)
	failed := &[]error{}
	d.Policy.Ask.Names = []string{"compaction"}
	d.Models = map[string]policy.Target{"compaction": {Model: openai.CompactionModel{
		Model: s.model(openai.Responses, "gpt-5.2"), OnError: func(err error) { *failed = append(*failed, err) },
	}}}
	return d, failed
}

func TestACompactionIsShownOnlyToTheAPIThatMadeIt(t *testing.T) {
	s := newServer(t, compacting(compactedReply))
	d, failed := compactingFixture(t, s)
	messages := d.Messages()
	require.Empty(t, *failed)
	require.Equal(t, 2, s.count(), "the words and the item")
	done := (*d.Heard)[len(*d.Heard)-1]
	require.Equal(t, chat.Usage{Input: 1700, Output: 110, CacheRead: 500}, done.Usage)

	for _, api := range apis {
		providertest.Generated(t, s.model(api, "gpt-5.2"), chat.Request{Messages: messages, Tools: []chat.Tool{{Name: "read"}}})
		sent := s.last(t)
		require.Contains(t, sent.Raw, "The build was repaired.")
		items := sent.Get(`input.#(type=="compaction")#`).Array()
		if api == openai.ChatCompletions {
			require.NotContains(t, sent.Raw, "secret")
			continue
		}
		require.Len(t, items, 1)
		require.JSONEq(t, secretItem, items[0].Raw)
	}
}

func TestTheRequestForTheSummaryIsNotCompacted(t *testing.T) {
	s := newServer(t, compacting(compactedReply))
	d, _ := compactingFixture(t, s)
	d.Messages()
	var compact, words gjson.Result
	for _, r := range s.requests {
		if r.Get("store").Exists() {
			words = r
		} else {
			compact = r
		}
	}
	asked := words.Get("input").Array()
	given := compact.Get("input").Array()
	require.Len(t, given, len(asked)-1)
	for i, item := range given {
		require.JSONEq(t, asked[i].Raw, item.Raw)
	}
	require.Equal(t, "gpt-5.2", compact.Get("model").String())
}

func TestACompactionThatFailsLeavesTheWords(t *testing.T) {
	for name, compact := range map[string]reply{
		"a refusal":          {status: 404, body: `{"error":{"message":"no such model for compaction"}}`},
		"no item":            {},
		"two items":          {items: []item{{"type": "compaction", "encrypted_content": "a"}, {"type": "compaction", "encrypted_content": "b"}}},
		"an item of another": {items: []item{message("msg_2", "x")}},
	} {
		d, failed := compactingFixture(t, newServer(t, compacting(compact)))
		messages := d.Messages()
		require.Contains(t, compacttest.Text(messages), "The build was repaired.", name)
		require.Len(t, *failed, 1, name)
		for _, m := range messages {
			for _, p := range m.Content {
				_, own := p.(chat.Opaque)
				require.False(t, own, name)
			}
		}
	}
}

func TestAHistoryThatIsTextIsNotCompacted(t *testing.T) {
	s := newServer(t, compacting(compactedReply))
	r := providertest.Generated(t, openai.CompactionModel{Model: s.model(openai.Responses, "gpt-5.2")}, chat.Request{Messages: []chat.Message{
		chat.SystemMessage("You summarise."), chat.UserMessage("<conversation>" + strings.Repeat("words ", 50) + "</conversation>"),
	}})
	require.Nil(t, r.Compaction)
	require.Equal(t, 1, s.count())
	require.Equal(t, 900, r.Usage.Input)
}

func TestAnErrorOfTheWordsIsReturned(t *testing.T) {
	refused := errors.New("quota")
	s := newServer(t, always(compactedReply))
	words := chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) { return chat.Response{}, refused })
	_, err := openai.CompactionModel{Model: s.model(openai.Responses, "gpt-5.2"), Words: words}.Generate(t.Context(), chat.Request{Messages: []chat.Message{
		question, chat.AssistantMessage("42"), question,
	}})
	require.Equal(t, refused, err)
	for _, m := range []*openai.Model{nil, s.model(openai.ChatCompletions, "gpt-5.2")} {
		_, err = openai.CompactionModel{Model: m}.Generate(t.Context(), chat.Request{Messages: []chat.Message{question}})
		require.ErrorContains(t, err, "its API is not Responses")
	}
}

// closing is a transport that closes a channel once an answer was read.
type closing struct{ read chan struct{} }

func (c closing) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		answer.Body = &closingBody{answer.Body, sync.OnceFunc(func() { close(c.read) })}
	}
	return answer, err
}

type closingBody struct {
	io.ReadCloser
	closed func()
}

func (b *closingBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}

func TestTheUsageOfACompactionIsReturnedWithAnErrorOfTheWords(t *testing.T) {
	s := newServer(t, always(compactedReply))
	read := make(chan struct{})
	model := s.model(openai.Responses, "gpt-5.2")
	model.Client = sdk.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey("test"), option.WithHTTPClient(&http.Client{Transport: closing{read}}))
	words := chat.ModelFunc(func(context.Context, chat.Request) (chat.Response, error) {
		<-read
		return chat.Response{}, errors.New("quota")
	})
	r, err := openai.CompactionModel{Model: model, Words: words}.Generate(t.Context(), chat.Request{Messages: []chat.Message{
		question, chat.AssistantMessage("42"), question,
	}})
	require.EqualError(t, err, "quota")
	require.Equal(t, 800, r.Usage.Input)
	require.Nil(t, r.Compaction)
}
