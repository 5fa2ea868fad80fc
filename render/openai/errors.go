package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider"
)

// refusal is an error reported by a server, as the body of an HTTP error or within a stream.
type refusal struct {
	status              int // 0 in a stream
	code, kind, message string
	raw                 string
	err                 error
}

// classify turns an error of the SDK into one that a caller can act on: a [*chat.ContextLimitError], a
// [*chat.TransientError], a [*chat.AnswerError] or, for any other, an error with the server's text.
func classify(x *provider.Exchange, err error) error {
	if api, ok := errors.AsType[*sdk.Error](err); ok {
		return refusal{
			status: api.StatusCode, code: api.Code, kind: api.Type, message: api.Message, raw: api.RawJSON(), err: err,
		}.classify()
	}
	if event, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return refusalOf(string(event.Event.Data), err).classify()
	}
	if said, ok := x.Refusal(); ok {
		return answered(said)
	}
	return x.Broken(fmt.Errorf("openai: %w", err))
}

// answered returns the error that a server sent in the place of an answer.
func answered(said provider.Refusal) error {
	r := refusal{status: said.Status, code: said.Code, kind: said.Type, message: said.Message, raw: string(said.Raw), err: said.Err()}
	return said.Classify(r.classifyAs(fmt.Errorf("openai: %w", r.err)))
}

// orRefusal returns err, the error of an answer without content, or the error that the server sent in its place.
func orRefusal(x *provider.Exchange, err error) error {
	if said, ok := x.Refusal(); ok {
		return answered(said)
	}
	return err
}

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
	object := gjson.ParseBytes(body)
	if !gjson.ValidBytes(body) || !object.Get("error").IsObject() {
		inner := map[string]string{"message": string(body)}
		switch {
		case gjson.ValidBytes(body) && object.Get("error").Type == gjson.String:
			inner["message"] = object.Get("error").String()
		case gjson.ValidBytes(body) && object.Get("message").Exists():
			for _, field := range [...]string{"message", "type", "code"} {
				inner[field] = object.Get(field).String()
			}
		}
		if body, err = json.Marshal(map[string]any{"error": inner}); err != nil {
			return nil, err
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	return response, nil
}

// refusalOf reads a refusal from the JSON of an error object, however it is nested.
func refusalOf(raw string, err error) refusal {
	object := gjson.Parse(raw)
	for _, path := range [...]string{"response.error", "error"} {
		if inner := object.Get(path); inner.IsObject() {
			object = inner
			break
		}
	}
	return refusal{
		code: object.Get("code").String(), kind: object.Get("type").String(), message: object.Get("message").String(),
		raw: object.Raw, err: err,
	}
}

// classify returns the refusal as an error that a caller can act on.
func (r refusal) classify() error {
	if r.message == "" {
		r.message = strings.TrimSpace(r.raw)
	}
	return r.classifyAs(fmt.Errorf("openai: %s: %w", r.text(), r.err))
}

// classifyAs is classify for an error with the refusal's text.
func (r refusal) classifyAs(err error) error {
	switch {
	case r.tooLarge():
		limit, tokens := r.numbers()
		return &chat.ContextLimitError{Limit: limit, Tokens: tokens, Err: err}
	case r.transient():
		return &chat.TransientError{RetryAfter: r.wait(), Err: err}
	case r.status == 0:
		return &chat.AnswerError{Err: err}
	default:
		return err
	}
}

// text returns the message and the code for an error.
func (r refusal) text() string {
	text := plaintext.Cut(strings.ToValidUTF8(r.message, ""), 1000) // a proxy's error page may be long
	if text == "" {
		text = "no reason given"
	}
	if r.code != "" {
		text += " (" + plaintext.Cut(r.code, 100) + ")"
	}
	return text
}

// limitCodes are codes and types of errors for requests that are too large: OpenAI's, GitHub's, llama.cpp's.
var limitCodes = map[string]bool{
	"context_length_exceeded": true, "model_max_prompt_tokens_exceeded": true, "exceed_context_size_error": true,
}

// limitText matches the messages for such errors: OpenAI's in its two APIs and for GPT-5, those of OpenAI's rate
// limiter for a single request over the limit, and those of vLLM, llama.cpp, Ollama, LM Studio and GitHub.
var limitText = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`maximum context length`,
	`exceeds? the (?:model'?s )?(?:maximum )?context (?:window|length|size)`,
	`exceeds? the available context size`,
	`input tokens exceed the configured limit`,
	`request too large for .* (?:limit|requested)`,
	`is longer than the maximum model length`,
	`too long to fit into the model`,
	`greater than the context length`, `when context the overflows`,
	`prompt token count of [\d,]+ exceeds`,
}, "|"))

// tooLarge reports whether a smaller request would be accepted.
func (r refusal) tooLarge() bool {
	if r.status == http.StatusRequestEntityTooLarge || limitCodes[r.code] || limitCodes[r.kind] {
		return true
	}
	return (r.status < 500 || r.status == 0) && limitText.MatchString(r.message)
}

var (
	limitNumber = regexp.MustCompile(`(?i)(?:context length (?:is|of)(?: only)?|configured limit of|maximum model length of|` +
		`exceeds the limit of|context size \(|\(context length|limit:?) ([\d,]+)|context size \(([\d,]+) tokens`)
	tokensNumber = regexp.MustCompile(`(?i)(?:resulted in|you requested|requested:?|total length|\(length|token count of|request has|` +
		`keep the first) ([\d,]+)|request \(([\d,]+) tokens`)
)

// numbers returns the limit and the tokens that the refusal states, 0 if it does not.
func (r refusal) numbers() (limit, tokens int) {
	limit, tokens = number(limitNumber, r.message), number(tokensNumber, r.message)
	if limit == 0 { // llama.cpp has them as fields
		limit = int(gjson.Get(r.raw, "n_ctx").Int())
	}
	if tokens == 0 {
		tokens = int(gjson.Get(r.raw, "n_prompt_tokens").Int())
	}
	return limit, tokens
}

func number(pattern *regexp.Regexp, text string) int {
	m := pattern.FindStringSubmatch(text)
	for _, group := range m[min(1, len(m)):] {
		if n, err := strconv.Atoi(strings.ReplaceAll(group, ",", "")); err == nil {
			return n
		}
	}
	return 0
}

// transient reports whether the same request may be accepted later. An empty account does not count.
func (r refusal) transient() bool {
	if r.code == "insufficient_quota" || r.kind == "insufficient_quota" {
		return false
	}
	switch r.status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	case 0: // in a stream
		switch {
		case r.code == "rate_limit_exceeded", r.code == "server_error", r.kind == "server_error",
			r.code == "server_is_overloaded", r.code == "slow_down":
			return true
		}
		return false
	default:
		return r.status >= 500
	}
}

// tryAgainIn matches the wait in OpenAI's messages: "Please try again in 1m30.5s", "in 20ms".
var tryAgainIn = regexp.MustCompile(`(?i)try again in ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)`)

// wait returns the time that the message asks to wait, 0 if it does not say.
func (r refusal) wait() time.Duration {
	if m := tryAgainIn.FindStringSubmatch(r.message); m != nil {
		if wait, err := time.ParseDuration(m[1]); err == nil {
			return min(wait, provider.MaxWait)
		}
	}
	return 0
}
