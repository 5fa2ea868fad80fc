package openai

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire"
)

// classify turns an error of the SDK into one that a caller can act on: a [*chat.ContextLimitError], a
// [*chat.TransientError], a [*chat.AnswerError] or, for any other, an error with the server's text.
func classify(x *provider.Exchange, err error) error {
	if api, ok := errors.AsType[*sdk.Error](err); ok {
		r := provider.ReadRefusal([]byte(api.RawJSON()))
		r.Status, r.Code, r.Type = api.StatusCode, cmp.Or(r.Code, api.Code), cmp.Or(r.Type, api.Type)
		return refused(r, err)
	}
	if event, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return reported(event.Event.Data, err)
	}
	return orRefusal(x, x.Broken(fmt.Errorf("openai: %w", err)))
}

// orRefusal returns err, the error of an answer without content, or the error that the server sent in its place.
func orRefusal(x *provider.Exchange, err error) error { return x.OrRefused("openai", addNumbers, err) }

// normalizeErrors is a middleware for the SDK's client that converts error bodies to the form that the SDK reads,
// {"error":{"message":…}}. Some servers write the inner object alone (vLLM), some a text (Ollama), and a proxy writes a
// page, for which the SDK would lose the status.
func normalizeErrors(request *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	response, err := next(request)
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // the rest is not needed
	if err != nil {
		return nil, err
	}
	if o, err := wire.Parse(body); err != nil || !o.Is("error", wire.KindObject) {
		r := provider.ReadRefusal(body)
		body = wire.Marshal(map[string]any{"error": map[string]string{"message": cmp.Or(r.Message, string(body)), "type": r.Type, "code": r.Code}})
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	return response, nil
}

// reported returns the SDK's error for an error that the server reported in a stream or an answer.
func reported(raw []byte, err error) error {
	r := provider.ReadRefusal(raw)
	r.Answered = true
	return refused(r, err)
}

// refused returns the SDK's error for a refusal as one that a caller can act on.
func refused(r provider.Refusal, err error) error {
	text := plaintext.Cut(strings.ToValidUTF8(cmp.Or(r.Message, strings.TrimSpace(string(r.Raw)), "no reason given"), ""), 1000) // a proxy's error page may be long
	if r.Code != "" {
		text += " (" + plaintext.Cut(r.Code, 100) + ")"
	}
	addNumbers(&r)
	return r.Typed(fmt.Errorf("openai: %s: %w", text, err))
}

// addNumbers adds the sizes and the wait that only OpenAI's messages state so.
func addNumbers(r *provider.Refusal) {
	if m := tooMuch.FindStringSubmatch(r.Message); m != nil {
		r.Limit = &chat.ContextLimitError{Limit: number(m[1]), Tokens: number(m[2])}
	}
	if m := tryAgainIn.FindStringSubmatch(r.Message); m != nil {
		r.Wait, _ = time.ParseDuration(m[1]) // 0 if it is too long
	}
}

// tooMuch matches the message of OpenAI's rate limiter for a single request over the limit.
var tooMuch = regexp.MustCompile(`(?i)request too large for .*limit:? ([\d,]+), requested:? ([\d,]+)`)

// tryAgainIn matches the wait in OpenAI's messages: "Please try again in 1m30.5s", "in 20ms".
var tryAgainIn = regexp.MustCompile(`(?i)try again in ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)`)

// emptyAnswer returns the error for an answer without content.
func emptyAnswer() error {
	return &chat.TransientError{Err: errors.New("openai: the answer holds no message")}
}

// errStream is wrapped by the error of a stream that reported an error as an event.
var errStream = errors.New("the server ended the stream with an error")

// errFailed is wrapped by the error of a response that reports one.
var errFailed = errors.New("the response failed")
