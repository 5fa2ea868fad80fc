package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/internal/provider"
)

// CompactionModel is a [chat.Model] for summaries that also has OpenAI compact the history (POST /responses/compact): the
// answer is the summary in words, and beside it, in [chat.Response].Compaction, the item that OpenAI made, encrypted. A
// compactor keeps both: a model of the Responses API is shown the words and the item, any other model the words alone.
//
//	compactor.Models = map[string]policy.Target{"compaction": {Model: openai.CompactionModel{Model: model}}}
//	compactor.Policy.Ask.Names = []string{"compaction"}
//
// OpenAI compacts the messages before the last, which asks for the summary. These messages must be the history itself:
// if the prompt holds the history as text in a single message, there is nothing to compact, and the answer is the words
// alone. Parts of the item cannot be redacted or erased.
type CompactionModel struct {
	// Model that compacts, with the API [Responses].
	Model *Model
	// Words writes the summary in words. Defaults to Model.
	Words chat.Model
	// OnError, if set, is called with the error of a compaction that failed, from the goroutine of Generate. The answer
	// is then the words alone.
	OnError func(error)
}

var _ chat.Model = CompactionModel{}

// Generate asks for the words and the item at the same time. Its errors are those of Words.
func (c CompactionModel) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if c.Model == nil || c.Model.API != Responses {
		return chat.Response{}, errors.New("openai: CompactionModel.Model is not set or its API is not Responses: set both")
	}
	words := cmp.Or[chat.Model](c.Words, c.Model)
	compactCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	var made chat.Response
	var failed error
	var group sync.WaitGroup
	group.Go(func() {
		made, failed = callback.Call(compactCtx, func(ctx context.Context) (chat.Response, error) { return c.Model.compact(ctx, req) })
	})
	r, err := words.Generate(ctx, req)
	if err != nil {
		cancel() // the item is of no use without the words
	}
	group.Wait()
	r.Usage = r.Usage.Plus(made.Usage)
	switch {
	case err != nil:
		return r, err
	case failed != nil && ctx.Err() != nil:
		return r, context.Cause(ctx)
	case failed != nil && c.OnError != nil:
		c.OnError(failed)
	}
	r.Compaction = made.Compaction
	return r, nil
}

// compact has OpenAI compact the messages before the last, and returns the item and its usage. Without an answer among them
// there is nothing to compact.
func (m *Model) compact(ctx context.Context, req chat.Request) (chat.Response, error) {
	history := req.Messages[:max(0, len(req.Messages)-1)]
	if !slices.ContainsFunc(history, func(m chat.Message) bool { return m.Role == chat.RoleAssistant }) {
		return chat.Response{}, nil
	}
	repaired, _, err := m.repaired(chat.Request{Messages: history})
	if err != nil {
		return chat.Response{}, err
	}
	if err := Validate(repaired, Responses); err != nil {
		return chat.Response{}, err
	}
	params := responses.ResponseCompactParams{Model: responses.ResponseCompactParamsModel(m.Name), PromptCacheKey: optional(m.CacheKey)}
	params.Input.OfResponseInputItemArray = inputItems(repaired.Messages, m.options())
	x := provider.NewExchange(false)
	answer, err := m.Client.Responses.Compact(ctx, params, m.requestOptions(x)...)
	if err != nil {
		return chat.Response{}, x.Err(ctx, classify(x, err))
	}
	if answer == nil { // JSON's null
		return chat.Response{}, emptyAnswer()
	}
	made := chat.Response{Usage: itemsUsage(answer.Usage)}
	for _, item := range answer.Output { // the user's messages, which the words cover, and the compaction of the others
		if item.Type == "compaction" {
			made.Compaction = append(made.Compaction, chat.Opaque{Value: json.RawMessage(item.RawJSON()), Tokens: made.Usage.Output})
		}
	}
	if len(made.Compaction) != 1 {
		return chat.Response{}, x.Err(ctx, orRefusal(x, &chat.AnswerError{Err: fmt.Errorf("openai: the answer has %d compaction items, not one", len(made.Compaction))}))
	}
	return made, nil
}
