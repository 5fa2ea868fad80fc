package openai

import (
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

// Compaction is a [chat.Model] for summaries that has OpenAI compact the history too (POST /responses/compact): the
// answer is a summary in words, and beside it, in [chat.Response].Compaction, the item that OpenAI made, encrypted. A
// compactor keeps both: a model of the Responses API is shown the words and the item, any other the words.
//
//	compactor.Models = map[string]summarize.Target{"compaction": {Model: openai.Compaction{Model: model}}}
//	compactor.Policy.Ask.Names = []string{"compaction"}
//
// What is compacted are the messages before the last, which asks for the summary. So prompts that show the history as
// messages, and not as text, have something to compact; of any other the answer is the words alone. Nothing in the item
// can be redacted or erased apart.
type Compaction struct {
	// Model that compacts, with the API [Responses].
	Model *Model
	// Words writes the summary in words. Defaults to Model.
	Words chat.Model
	// OnError, if set, is called with the error of a compaction that failed, from the goroutine of Generate. The answer
	// is the words alone then.
	OnError func(error)
}

var _ chat.Model = Compaction{}

// Generate asks for both at the same time. The errors are those of Words.
func (c Compaction) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if c.Model == nil || c.Model.API != Responses {
		return chat.Response{}, errors.New("openai: Compaction.Model is not set or its API is not Responses: set both")
	}
	words := c.Words
	if words == nil {
		words = c.Model
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	var made compacted
	var failed error
	var both sync.WaitGroup
	both.Go(func() {
		made, failed = callback.Call(asking, func(ctx context.Context) (compacted, error) { return c.Model.compact(ctx, req) })
	})
	r, err := words.Generate(ctx, req)
	if err != nil {
		cancel() // nobody wants the other alone
	}
	both.Wait()
	switch {
	case err != nil:
		return r, err
	case failed != nil && ctx.Err() != nil:
		return r, context.Cause(ctx)
	case failed != nil && c.OnError != nil:
		c.OnError(failed)
	}
	r.Compaction = made.items
	r.Usage.Input += made.usage.Input
	r.Usage.Output += made.usage.Output
	r.Usage.CacheRead += made.usage.CacheRead
	r.Usage.CacheWrite += made.usage.CacheWrite
	r.Usage.CacheWriteLong += made.usage.CacheWriteLong
	return r, nil
}

// compacted is what a compaction came to.
type compacted struct {
	items []chat.Opaque
	usage chat.Usage
}

// compact has OpenAI compact the messages before the last. Without an answer among them there is nothing to compact.
func (m *Model) compact(ctx context.Context, req chat.Request) (compacted, error) {
	said := req.Messages[:max(0, len(req.Messages)-1)]
	if !slices.ContainsFunc(said, func(m chat.Message) bool { return m.Role == chat.RoleAssistant }) {
		return compacted{}, nil
	}
	mended, err := m.prepare(chat.Request{Messages: said}, nil)
	if err != nil {
		return compacted{}, err
	}
	if err := Validate(mended, Responses); err != nil {
		return compacted{}, err
	}
	params := responses.ResponseCompactParams{Model: responses.ResponseCompactParamsModel(m.Name), PromptCacheKey: optional(m.CacheKey)}
	params.Input.OfResponseInputItemArray = items(mended.Messages, m.options())
	x := provider.NewExchange(false)
	answer, err := m.Client.Responses.Compact(ctx, params, m.requestOptions(x)...)
	if err != nil {
		return compacted{}, x.Err(ctx, classify(x, err))
	}
	if answer == nil { // JSON's null
		return compacted{}, emptyAnswer()
	}
	made := compacted{usage: itemsUsage(answer.Usage)}
	for _, item := range answer.Output { // the user's messages, which are in the words, and what stands for the rest
		if item.Type == "compaction" {
			made.items = append(made.items, chat.Opaque{Value: json.RawMessage(item.RawJSON()), Tokens: made.usage.Output})
		}
	}
	if len(made.items) != 1 {
		return compacted{}, &chat.AnswerError{Err: fmt.Errorf("openai: the answer has %d compaction items, not one", len(made.items))}
	}
	return made, nil
}
