package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/internal/provider"
)

// classify turns an error of the SDK into one that a caller can act on: a [*chat.ContextLimitError], a
// [*chat.TransientError], a [*chat.AnswerError] or, for any other, an error with the API's text.
func classify(x *provider.Exchange, err error) error {
	wrapped := fmt.Errorf("gemini: %w", err)
	api, ok := errors.AsType[genai.APIError](err)
	if !ok {
		return orRefusal(x, x.Broken(wrapped))
	}
	r := provider.Refusal{Status: api.Code, Type: api.Status, Message: api.Message, Wait: retryAfter(api.Details)}
	status := x.Status()
	if r.Answered = status < http.StatusBadRequest; r.Answered { // an event of the stream
		return orRefusal(x, r.Typed(wrapped))
	}
	if r.Status = status; api.Code != status { // the body says otherwise, or nothing
		api.Code = status
		wrapped = fmt.Errorf("gemini: %w", api)
	}
	return r.Typed(wrapped)
}

// orRefusal returns err, the error of an answer without content, or the error that the server sent in its place.
func orRefusal(x *provider.Exchange, err error) error {
	return x.OrRefused("gemini", func(r *provider.Refusal) {
		var body struct {
			Error struct {
				Details []map[string]any `json:"details"`
			} `json:"error"`
		}
		_ = json.Unmarshal(r.Raw, &body) // another server's error has other details
		r.Wait = retryAfter(body.Error.Details)
	}, err)
}

// retryAfter returns the delay in the RetryInfo of an error's details, 0 if there is none.
func retryAfter(details []map[string]any) time.Duration {
	for _, d := range details {
		if d["@type"] != "type.googleapis.com/google.rpc.RetryInfo" {
			continue
		}
		text, _ := d["retryDelay"].(string)
		if delay, err := time.ParseDuration(text); err == nil {
			return max(delay, 0)
		}
	}
	return 0
}
