package openai

import (
	"context"
	"errors"
	"slices"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/completions"
	"github.com/promptree-go/promptree/internal/wire/dialect"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// Counter returns a tokenizer that counts messages as they are sent to an API with these options, using a tokenizer such as
// that of package sizing/tiktoken. It differs from the latter where [ChatRequest] and [ItemsRequest] change a message:
//
//   - thinking that is not sent back counts 0;
//   - encrypted reasoning counts by the length of its encrypted form, for which OpenAI gives no rule. The estimate is
//     that of OpenAI's own Codex: three quarters of the length, less 650 bytes, at 4 bytes a token;
//   - fields of an answer and of its calls that are sent back count as the text of their JSON, others 0;
//   - an opaque part that only stores the fields or the place of an item counts 0;
//   - images and documents of a tool's result count in the user message in which Chat Completions receives them.
//
// OpenAI publishes no rule for what an item of the Responses API costs beyond its texts; the rule of Chat Completions
// is used. [Model.CountTokens] asks OpenAI.
func Counter(api API, o Options, t chat.Tokenizer) chat.Tokenizer {
	c := counter{Tokenizer: t, api: api, options: o}
	if j, ok := t.(chat.Joiner); ok {
		return joiner{counter: c, inner: j}
	}
	return c
}

type counter struct {
	chat.Tokenizer
	api     API
	options Options
}

// CountMessage counts a message as it is sent.
func (c counter) CountMessage(m chat.Message) int {
	sent, more := c.sent(m)
	return c.Tokenizer.CountMessage(sent) + more
}

// CountPart counts a part of an assistant message as it is sent, and any other part as the tokenizer does.
func (c counter) CountPart(p chat.Part) int {
	kept, more := c.part(chat.RoleAssistant, p)
	if kept {
		more += c.Tokenizer.CountPart(p)
	}
	return more
}

// part reports whether a part of a message is sent as it is, and the tokens of what is sent besides, or instead.
func (c counter) part(role chat.Role, p chat.Part) (kept bool, more int) {
	switch p := p.(type) {
	case chat.Thinking:
		switch {
		case c.api == ChatCompletions:
			return c.options.Thinking != ThinkingNone && (isReasoningField(p.Signature) || p.Signature == dialect.ThinkingChunk), 0
		case items.Thought(p) == nil:
			return false, 0
		case p.Encrypted != "":
			return false, encryptedTokens(len(p.Encrypted))
		}
	case chat.Opaque:
		if role != chat.RoleAssistant {
			break
		}
		at, o := c.api.placeOf(role, p)
		if at == asFields {
			return false, c.fields(o)
		}
		return at != items.Head && at != items.Mark && (at != items.Whole || c.api != ChatCompletions), 0
	}
	return true, 0
}

// sent returns a message without the parts that are not sent or are counted here, and the tokens of the latter.
func (c counter) sent(m chat.Message) (chat.Message, int) {
	content := make(chat.Parts, 0, len(m.Content))
	more, media := 0, false
	for _, p := range m.Content {
		kept, tokens := c.part(m.Role, p)
		if more += tokens; kept {
			content = append(content, p)
		}
		switch p.(type) {
		case chat.Image, chat.Document:
			media = media || m.Role == chat.RoleTool && c.api == ChatCompletions
		}
	}
	if media {
		more += c.Tokenizer.CountMessage(chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text(mediaIntro(m.ToolCallID))}})
		more += c.Tokenizer.CountText(followsText)
	}
	if len(content) < len(m.Content) {
		m.Content = content
	}
	if c.api == ChatCompletions {
		for k, call := range m.ToolCalls {
			if fields, _ := completions.CallFields(call); fields != nil {
				more += c.fields(fields)
				m.ToolCalls = slices.Clone(m.ToolCalls)
				m.ToolCalls[k].Signature = ""
			}
		}
	}
	return m, more
}

// encryptedTokens estimates the tokens of a thought from the length of its encrypted form.
func encryptedTokens(length int) int {
	const overhead, bytesPerToken = 650, 4
	return max(0, length/4*3-overhead) / bytesPerToken
}

// fields returns the tokens of those of an answer's fields that are sent back.
func (c counter) fields(kept *wire.Object) int {
	sent := completions.Back(kept, c.options.Fields)
	if len(sent) == 0 {
		return 0
	}
	return c.Tokenizer.CountText(string(wire.Marshal(sent)))
}

// joiner is a counter whose tokenizer is a [chat.Joiner].
type joiner struct {
	counter
	inner chat.Joiner
}

// SafeCut calls the tokenizer's own method.
func (j joiner) SafeCut(before, after rune) bool { return j.inner.SafeCut(before, after) }

// CountFrame counts a message as it is sent, without its text.
func (j joiner) CountFrame(m chat.Message) (int, bool) {
	sent, more := j.sent(m)
	tokens, joined := j.inner.CountFrame(sent)
	return tokens + more, joined
}

// CountTokens asks OpenAI for the number of input tokens of a request, tools included, in the form of the Responses
// API, whatever the model's API is: the two differ by a few tokens. The request is repaired as by [Model.Generate], but
// OnRepair is not called. Errors are those of Generate. Few other servers support this request.
func (m *Model) CountTokens(ctx context.Context, req chat.Request) (int, error) {
	asked := Model{Name: m.Name, API: Responses, Options: m.Options, Effort: m.Effort, AdjustItems: m.AdjustItems}
	req, _ = provider.FormatAsTool(req, m.FormatAsTool)
	req, _, err := asked.repaired(req)
	if err != nil {
		return 0, err
	}
	p, err := asked.itemsRequest(req)
	if err != nil {
		return 0, err
	}
	params := responses.InputTokenCountParams{Model: param.NewOpt(p.Model), Tools: p.Tools, Reasoning: p.Reasoning}
	params.Input.OfResponseInputItemArray, params.Text.Format = p.Input.OfInputItemList, p.Text.Format
	x := provider.NewExchange(false)
	count, err := m.Client.Responses.InputTokens.Count(ctx, params, m.requestOptions(x)...)
	switch {
	case err != nil:
		return 0, x.Err(ctx, classify(x, err))
	case count == nil || !count.JSON.InputTokens.Valid(): // also nil for JSON's null
		return 0, x.Err(ctx, orRefusal(x, &chat.AnswerError{Err: errors.New("openai: the answer holds no count")}))
	}
	return int(count.InputTokens), nil
}
