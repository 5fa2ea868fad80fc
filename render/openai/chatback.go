package openai

import (
	"encoding/json"
	"errors"
	"slices"

	sdk "github.com/openai/openai-go/v3"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/completions"
	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// ChatResponse converts an answer of Chat Completions, from its choices of index 0, so that [ChatRequest] sends it back:
//
//   - Thinking that a server shows is a [chat.Thinking], with the name of its field as the signature. That of a part of the
//     content has the part's type, and that in tags at the start of the text has none.
//   - The text is a [chat.Text]. A refusal is a [chat.Opaque], because it is not an answer.
//   - Calls have the ids of [chat.WithCallIDs].
//   - What package chat has no place for is a [chat.Opaque], fields of a call are its signature. Of these, a request holds
//     what the server must get back: see [Options].
//
// An answer that ended in order and says nothing is a [*chat.EmptyError] in a [*chat.TransientError]. An answer without
// a choice is a [*chat.TransientError], and so is one without a reason for its end that says nothing. A reason that is
// not an end, a cut or a declined answer is an error with the answer so far: a [*chat.EndError] in a
// [*chat.TransientError] or a [*chat.AnswerError].
func ChatResponse(answer *sdk.ChatCompletion) (chat.Response, error) {
	return chatResponse(answer, &completions.Answer{}, nil)
}

func chatResponse(answer *sdk.ChatCompletion, a *completions.Answer, ends map[string]chat.StopReason) (chat.Response, error) {
	if len(answer.Choices) == 0 {
		return chat.Response{}, emptyAnswer()
	}
	raw := json.RawMessage(answer.RawJSON())
	if len(raw) == 0 { // the caller made it
		raw = wire.Marshal(answer)
	}
	a.Add(raw)
	r, err := ended(a, ends)
	if errors.Is(err, dialect.ErrNothing) {
		err = emptyAnswer()
	}
	return r, err
}

// ended returns an answer of which no more comes. With an error it is the part that is whole.
func ended(a *completions.Answer, ends map[string]chat.StopReason) (chat.Response, error) {
	cut, _ := dialect.Stop(a.Finish, "", chat.Message{}, ends)
	m := a.Whole(cut == chat.StopMaxTokens)
	stop, err := dialect.End(a.Finish, a.Failure, m, ends)
	switch {
	case err != nil:
		return provider.Partial(a.Partial(false), a.Usage), err
	case isRefusal(m) && stop != chat.StopMaxTokens:
		stop = chat.StopFiltered
	case stop == chat.StopToolCalls && a.MaxTokens > 0 && a.Usage.Output == a.MaxTokens:
		stop = chat.StopMaxTokens
	}
	return chat.Response{Message: m, Usage: a.Usage, StopReason: stop}, nil
}

// isRefusal reports whether the model refused to answer.
func isRefusal(m chat.Message) bool {
	return slices.ContainsFunc(m.Content, func(p chat.Part) bool {
		o, ok := p.(chat.Opaque)
		part := wire.ObjectOf(o.Value)
		return ok && part != nil && part.Peek("type") == "refusal"
	})
}
