package openai

import (
	"context"
	"errors"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/calls"
	"github.com/promptree-go/promptree/internal/wire/completions"
	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// askChat sends a request and decodes the answer.
func (m *Model) askChat(ctx context.Context, x *provider.Exchange, params sdk.ChatCompletionNewParams, req chat.Request) (chat.Response, error) {
	if req.Stream != nil {
		return m.streamChat(ctx, x, params, req)
	}
	answer, err := m.Client.Chat.Completions.New(ctx, params, m.requestOptions(x)...)
	switch {
	case err != nil:
		return chat.Response{}, classify(x, err)
	case answer == nil, len(answer.Choices) > 0 && !answer.Choices[0].JSON.Message.Valid(): // JSON's null
		return chat.Response{}, orRefusal(x, emptyAnswer())
	}
	r, err := chatResponse(answer, m.answer(req), m.Ends)
	if err != nil {
		err = orRefusal(x, err)
	}
	return r, err
}

// streamChat reads an answer while it streams.
func (m *Model) streamChat(ctx context.Context, x *provider.Exchange, params sdk.ChatCompletionNewParams, req chat.Request) (chat.Response, error) {
	events := m.Client.Chat.Completions.NewStreaming(ctx, params, m.requestOptions(x)...)
	defer events.Close()
	a := m.answer(req)
	for events.Next() {
		chunk := events.Current()
		raw := []byte(chunk.RawJSON())
		if len(chunk.Choices) == 0 && !chunk.JSON.Usage.Valid() && provider.ReadRefusal(raw).Message != "" {
			return provider.Partial(a.Partial(a.Finish != ""), a.Usage), reported(raw, errStream)
		}
		a.Add(raw)
	}
	if err := events.Err(); err != nil {
		stop, failed := dialect.Stop(a.Finish, "", a.Partial(true), m.Ends)
		whole := a.Finish != "" && failed == nil && stop != chat.StopMaxTokens
		return provider.Partial(a.Partial(whole), a.Usage), classify(x, err)
	}
	whole := x.Object()
	a.Add(whole)
	if a.Finish == "" && !x.Done() && whole == nil {
		return provider.Partial(a.Partial(false), a.Usage), classify(x, provider.ErrBrokenOff)
	}
	r, err := ended(a, m.Ends)
	if errors.Is(err, dialect.ErrNothing) {
		err = classify(x, provider.ErrBrokenOff)
	}
	return r, err
}

// answer returns what puts the answer to a request together.
func (m *Model) answer(req chat.Request) *completions.Answer {
	a := &completions.Answer{Stream: req.Stream, Tools: map[string]bool{}, MaxTokens: req.MaxTokens, Opened: m.Dialect.ThinkingOpened, Cumulative: m.Dialect.Cumulative}
	for _, t := range req.Tools {
		a.Tools[t.Name] = true
	}
	return a
}

// askItems sends a request and decodes the answer.
func (m *Model) askItems(ctx context.Context, x *provider.Exchange, params responses.ResponseNewParams, stream func(chat.Delta)) (chat.Response, error) {
	if stream != nil {
		return m.streamItems(ctx, x, params, stream)
	}
	answer, err := m.Client.Responses.New(ctx, params, m.requestOptions(x)...)
	switch {
	case err != nil:
		return chat.Response{}, classify(x, err)
	case answer == nil: // JSON's null
		return chat.Response{}, emptyAnswer()
	}
	r, err := itemsResponse(answer, answer.Output, new(chat.CallIDs), m.Ends)
	if err != nil && answer.Status != responses.ResponseStatusFailed && answer.Status != responses.ResponseStatusCancelled {
		err = orRefusal(x, err)
	}
	return r, err
}

// streamItems reads an answer while it streams.
func (m *Model) streamItems(ctx context.Context, x *provider.Exchange, params responses.ResponseNewParams, stream func(chat.Delta)) (chat.Response, error) {
	events := m.Client.Responses.NewStreaming(ctx, params, m.requestOptions(x)...)
	defer events.Close()
	s := itemStream{stream: stream, calls: calls.Stream{Stream: stream}}
	for events.Next() {
		if err := s.add(events.Current()); err != nil {
			return s.partial(), err
		}
	}
	switch err := events.Err(); {
	case err != nil:
		return s.partial(), classify(x, err)
	case s.answer == nil:
		return s.partial(), classify(x, provider.ErrBrokenOff)
	}
	output := s.answer.Output
	if len(output) == 0 { // some servers leave it out at the end
		output = s.done
	}
	response, err := itemsResponse(s.answer, output, &s.calls.IDs, m.Ends)
	if err != nil {
		return s.partial(), err
	}
	for i, item := range output {
		s.end(int64(i), item) // some servers do not stream calls
	}
	return response, nil
}
