package einoagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/calls"
	"github.com/promptree-go/promptree/internal/wire/dialect"
	"github.com/promptree-go/promptree/summarize/internal/modelerr"
)

// Model returns a model of eino as a [chat.Model], so that the agent's own model can write the summaries. Tools, tool
// choice, temperature and the limit of the answer are passed as options of the call. A form of the answer is asked for by a
// tool; no parallel calls and an effort, for which eino has no option, are a [*chat.ValidationError].
//
// A refusal as too large ([summarize.ContextLimit]) is a [*chat.ContextLimitError]. A lost connection and an HTTP
// status of 408, 409, 425, 429 or from 500 on are a [*chat.TransientError]. The status is taken from the error's method
// StatusCode, from its field HTTPStatusCode, StatusCode or Code, or from its text, such as "status code: 429". Both
// wrap the model's own error. If the context ended, the error is its cause.
func Model(m model.BaseChatModel) chat.Model { return einoModel[*schema.Message]{m, messageForm} }

// einoModel is a model of eino. It has no option for the form of an answer, and is asked for that by a tool.
type einoModel[M adk.MessageType] struct {
	inner model.BaseModel[M]
	form  form[M]
}

// Generate implements [chat.Model].
func (m einoModel[M]) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	if req.OneCall || req.Effort != chat.EffortDefault {
		return chat.Response{}, chat.Invalid([]chat.Violation{{
			Index: chat.RequestIndex, Rule: chat.RuleShape, Detail: "eino's models have no option for parallel calls and effort: set them on the model",
		}})
	}
	req, asText := provider.FormatAsTool(req, true)
	r, err := m.ask(ctx, req)
	return asText(r), err
}

func (m einoModel[M]) ask(ctx context.Context, req chat.Request) (chat.Response, error) {
	messages, err := m.form.to(req.Messages)
	if err != nil {
		return chat.Response{}, err
	}
	options, err := optionsOf(req)
	if err != nil {
		return chat.Response{}, err
	}
	if req.Stream != nil && m.form.stream != nil {
		reader, err := m.inner.Stream(ctx, messages, options...)
		if err != nil {
			return chat.Response{}, modelerr.Convert(ctx, "einoagent", err)
		}
		defer reader.Close()
		return m.form.stream(ctx, reader, req.Stream)
	}
	answer, err := m.inner.Generate(ctx, messages, options...)
	if err != nil {
		return chat.Response{}, modelerr.Convert(ctx, "einoagent", err)
	}
	r, err := m.form.answer(answer)
	if req.Stream != nil && len(r.Message.Content) > 0 {
		req.Stream(chat.Text(r.Message.Text()))
	}
	return r, err
}

func emptyAnswer() error {
	return &chat.TransientError{Err: errors.New("einoagent: the answer is empty")}
}

func optionsOf(req chat.Request) ([]model.Option, error) {
	var list []model.Option
	tools, err := toEinoTools(req.Tools)
	if err != nil {
		return nil, err
	}
	if len(tools) > 0 {
		list = append(list, model.WithTools(tools))
		switch {
		case req.Tool != "":
			list = append(list, model.WithToolChoice(schema.ToolChoiceForced, req.Tool))
		case req.ToolChoice == chat.ToolChoiceNone:
			list = append(list, model.WithToolChoice(schema.ToolChoiceForbidden))
		case req.ToolChoice == chat.ToolChoiceRequired:
			list = append(list, model.WithToolChoice(schema.ToolChoiceForced))
		}
	}
	if req.MaxTokens > 0 {
		list = append(list, model.WithMaxTokens(req.MaxTokens))
	}
	if req.Temperature != nil {
		list = append(list, model.WithTemperature(float32(*req.Temperature)))
	}
	return list, nil
}

// streamed reads a streamed answer.
func streamed(ctx context.Context, reader *schema.StreamReader[*schema.Message], to func(chat.Delta)) (chat.Response, error) {
	var chunks []*schema.Message
	ids, started := &callIDs{}, calls.Stream{Stream: to}
	for {
		chunk, err := reader.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return partialResponse(chunks), modelerr.Convert(ctx, "einoagent", err)
		}
		if chunk == nil {
			continue
		}
		chunk = ids.in(chunk)
		chunks = append(chunks, chunk)
		for _, p := range parts(chunk).Content {
			switch p := p.(type) {
			case chat.Thinking:
				to(chat.Thinking{Text: p.Text})
			case chat.Text:
				to(p)
			}
		}
		for _, c := range chunk.ToolCalls {
			index := int64(calls.NoIndex)
			if c.Index != nil {
				index = int64(*c.Index)
			}
			started.Add(index, c.ID, c.Function.Name, c.Function.Arguments)
		}
	}
	started.Flush()
	if len(chunks) == 0 {
		return chat.Response{}, emptyAnswer()
	}
	answer, err := schema.ConcatMessages(chunks)
	if err != nil {
		return chat.Response{}, &chat.AnswerError{Err: err}
	}
	return response(answer)
}

// partialResponse returns the part of an interrupted answer that had arrived. Calls whose arguments are not valid JSON
// were cut off and are dropped.
func partialResponse(chunks []*schema.Message) chat.Response {
	answer, err := schema.ConcatMessages(chunks)
	var r chat.Response
	if err == nil {
		r, err = response(answer)
	}
	if err != nil {
		return chat.Response{}
	}
	r.Message.ToolCalls = slices.DeleteFunc(r.Message.ToolCalls, func(c chat.ToolCall) bool { return !json.Valid([]byte(c.Arguments)) })
	return provider.Partial(r.Message, r.Usage)
}

// response converts an answer.
func response(answer *schema.Message) (chat.Response, error) {
	if answer == nil {
		return chat.Response{}, emptyAnswer()
	}
	said := withoutID(answer)
	said.Role, said.ResponseMeta = schema.Assistant, nil
	said.ToolCalls = withoutIndex(said.ToolCalls)
	m, err := FromEino(said)
	if err != nil {
		return chat.Response{}, err
	}
	return ended(chat.Response{Message: chat.WithCallIDs(m), Usage: usageOf(answer)}, reasonOf(answer))
}

func reasonOf(m *schema.Message) string { return orZero(m.ResponseMeta).FinishReason }

func usageOf(m *schema.Message) chat.Usage { return tokenUsage(orZero(m.ResponseMeta).Usage) }

func tokenUsage(reported *schema.TokenUsage) chat.Usage {
	u := orZero(reported)
	return chat.Usage{
		Input: u.PromptTokens, Output: u.CompletionTokens,
		CacheRead: u.PromptTokenDetails.CachedTokens, CacheWrite: u.PromptTokenDetails.CacheWriteTokens,
	}
}

// orZero returns what a pointer points to, the zero value if it is nil.
func orZero[T any](p *T) T { return *cmp.Or(p, new(T)) }

// ended returns an answer that ended by a reason, in the words of any provider. One that is not an end, a cut or a declined
// answer is an error ([*chat.EndError]) with the answer as its response.
func ended(r chat.Response, reason string) (chat.Response, error) {
	stop, err := dialect.Stop(reason, "", r.Message, nil)
	if errors.Is(err, dialect.ErrNothing) {
		err = emptyAnswer()
	}
	r.StopReason = stop
	return r, err
}

// callIDs sets the ids of calls in a streamed answer, as [chat.WithCallIDs] does. The zero value is ready to use.
type callIDs struct {
	chat.CallIDs
	at map[int]string // the ids of the answer's calls, by the model's index
}

// in returns a chunk with an id in each call that starts there.
func (c *callIDs) in(m *schema.Message) *schema.Message {
	out := *m
	out.ToolCalls = cloned(m.ToolCalls)
	for i := range out.ToolCalls {
		call := &out.ToolCalls[i]
		if call.Index == nil {
			call.ID = c.Next(call.ID)
			continue
		}
		id, known := c.at[*call.Index]
		switch {
		case !known:
			if c.at == nil {
				c.at = map[int]string{}
			}
			call.ID = c.Next(call.ID)
			c.at[*call.Index] = call.ID
		case call.ID != "":
			call.ID = id
		}
	}
	return &out
}
