package openai

import (
	"context"
	"errors"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
)

// emptyAnswer tells that a server answered without an answer.
func emptyAnswer() error {
	return &chat.TransientError{Err: errors.New("openai: the answer holds no message")}
}

func (m *Model) generateChat(ctx context.Context, params sdk.ChatCompletionNewParams, stream func(chat.Delta)) (chat.Response, error) {
	if stream != nil {
		return m.streamChat(ctx, params, stream)
	}
	answer, err := m.Client.Chat.Completions.New(ctx, params, m.requestOptions()...)
	if err != nil {
		return chat.Response{}, classify(ctx, err)
	}
	return ChatResponse(answer)
}

// streamChat reads an answer as it comes in.
func (m *Model) streamChat(ctx context.Context, params sdk.ChatCompletionNewParams, stream func(chat.Delta)) (chat.Response, error) {
	events := m.Client.Chat.Completions.NewStreaming(ctx, params, m.requestOptions()...)
	defer events.Close()
	var a chatAnswer
	var calls callParts
	var text, refusal, thought strings.Builder
	var response chat.Response
	finish := ""
	for events.Next() {
		chunk := events.Current()
		if chunk.JSON.Usage.Valid() {
			response.Usage = chatUsage(chunk.Usage)
		}
		if len(chunk.Choices) == 0 || chunk.Choices[0].Index != 0 {
			continue
		}
		choice := chunk.Choices[0]
		delta := choice.Delta
		for _, name := range reasoningFieldNames {
			if field, ok := delta.JSON.ExtraFields[name]; ok && (a.field == "" || a.field == name) {
				if said := textOf(field.Raw()); said != "" {
					a.field = name
					thought.WriteString(said)
					stream(chat.Thinking{Text: said})
				}
			}
		}
		if delta.Content != "" {
			text.WriteString(delta.Content)
			stream(chat.Text(delta.Content))
		}
		refusal.WriteString(delta.Refusal)
		for _, call := range delta.ToolCalls {
			calls.add(call)
		}
		if choice.FinishReason != "" {
			finish = choice.FinishReason
		}
	}
	if err := events.Err(); err != nil {
		return chat.Response{}, classify(ctx, err)
	}
	if finish == "" {
		return chat.Response{}, classify(ctx, errBrokenOff)
	}
	a.thought, a.text, a.refusal, a.calls = thought.String(), text.String(), refusal.String(), calls.calls()
	response.Message = a.message()
	response.StopReason = stopOf(finish, response.Message)
	return response, nil
}

// callParts collects calls of which the arguments come in pieces, each piece with the index of its call.
type callParts struct {
	parts []*callPart
}

type callPart struct {
	index     int64
	call      chat.ToolCall
	arguments strings.Builder
}

func (c *callParts) add(delta sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	var part *callPart
	// The last call of an index is the one that goes on; some servers give every call the index 0 and a new id.
	for _, p := range slices.Backward(c.parts) {
		if p.index == delta.Index {
			part = p
			break
		}
	}
	if part == nil || delta.ID != "" && part.call.ID != "" && delta.ID != part.call.ID {
		part = &callPart{index: delta.Index}
		c.parts = append(c.parts, part)
	}
	if delta.ID != "" {
		part.call.ID = delta.ID
	}
	if part.call.Name == "" {
		part.call.Name = delta.Function.Name
	}
	part.arguments.WriteString(delta.Function.Arguments)
	if custom, ok := delta.JSON.ExtraFields["custom"]; ok {
		o := objectOf([]byte(custom.Raw()))
		if part.call.Name == "" {
			part.call.Name = o.text("name")
		}
		part.call.Signature = `{"type":"` + customCall + `"}`
		part.arguments.WriteString(o.text("input"))
	}
}

func (c *callParts) calls() []chat.ToolCall {
	slices.SortStableFunc(c.parts, func(a, b *callPart) int { return int(a.index - b.index) })
	var out []chat.ToolCall
	for _, p := range c.parts {
		p.call.Arguments = p.arguments.String()
		out = append(out, p.call)
	}
	return out
}

func chatUsage(u sdk.CompletionUsage) chat.Usage {
	return chat.Usage{
		Input: int(u.PromptTokens), Output: int(u.CompletionTokens),
		CacheRead: int(u.PromptTokensDetails.CachedTokens), CacheWrite: int(u.PromptTokensDetails.CacheWriteTokens),
	}
}

// stopOf is why an answer of Chat Completions ended.
func stopOf(finish string, m chat.Message) chat.StopReason {
	switch {
	case finish == "length":
		return chat.StopMaxTokens
	case finish == "content_filter", isRefusal(m):
		return chat.StopFiltered
	case len(m.ToolCalls) > 0: // some servers say "stop"
		return chat.StopToolCalls
	default:
		return chat.StopEnd
	}
}

// isRefusal tells of an answer in which the model says that it will not answer.
func isRefusal(m chat.Message) bool {
	return slices.ContainsFunc(m.Content, func(p chat.Part) bool {
		o, ok := p.(chat.Opaque)
		return ok && objectOf(o.Value).text("type") == "refusal"
	})
}

func (m *Model) generateItems(ctx context.Context, params responses.ResponseNewParams, stream func(chat.Delta)) (chat.Response, error) {
	if stream != nil {
		return m.streamItems(ctx, params, stream)
	}
	answer, err := m.Client.Responses.New(ctx, params, m.requestOptions()...)
	if err != nil {
		return chat.Response{}, classify(ctx, err)
	}
	return ItemsResponse(answer)
}

// streamItems reads an answer as it comes in.
func (m *Model) streamItems(ctx context.Context, params responses.ResponseNewParams, stream func(chat.Delta)) (chat.Response, error) {
	events := m.Client.Responses.NewStreaming(ctx, params, m.requestOptions()...)
	defer events.Close()
	var done []responses.ResponseOutputItemUnion // what has come in whole
	var answer *responses.Response
	var thought apart
	for events.Next() {
		switch event := events.Current(); event.Type {
		case "response.output_text.delta":
			if event.Delta != "" {
				stream(chat.Text(event.Delta))
			}
		case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
			if event.Delta != "" {
				stream(chat.Thinking{Text: thought.between(event) + event.Delta})
			}
		case "response.output_item.done":
			done = append(done, event.Item)
		case "response.completed", "response.incomplete", "response.failed":
			answer = &event.Response
		case "error":
			return chat.Response{}, refusalOf(event.RawJSON(), errStream).classify()
		}
	}
	switch err := events.Err(); {
	case err != nil:
		return chat.Response{}, classify(ctx, err)
	case answer == nil:
		return chat.Response{}, classify(ctx, errBrokenOff)
	}
	output := answer.Output
	if len(output) == 0 { // some servers leave it out at the end
		output = done
	}
	return itemsResponse(answer, output)
}

// apart remembers which part of a summary came last, so that the parts stand apart as they do in the message.
type apart struct {
	item          string
	summary, text int64
}

// between is what stands between the part that came last and that of the event.
func (p *apart) between(e responses.ResponseStreamEventUnion) string {
	was := *p
	*p = apart{item: e.ItemID, summary: e.SummaryIndex, text: e.ContentIndex}
	if was.item == p.item && was != *p && was.item != "" {
		return "\n\n"
	}
	return ""
}

// errStream is the error under one that came as an event.
var errStream = errors.New("the server ended the stream with an error")

// errFailed is the error under one that a response holds.
var errFailed = errors.New("the response failed")

func itemsUsage(u responses.ResponseUsage) chat.Usage {
	return chat.Usage{
		Input: int(u.InputTokens), Output: int(u.OutputTokens),
		CacheRead: int(u.InputTokensDetails.CachedTokens), CacheWrite: int(u.InputTokensDetails.CacheWriteTokens),
	}
}
