package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// classify turns an error of the SDK into one that a caller can act on: a [*chat.ContextLimitError], a
// [*chat.TransientError], a [*chat.AnswerError] or, for any other, an error with the API's text.
func classify(x *provider.Exchange, err error) error {
	wrapped := fmt.Errorf("gemini: %w", err)
	api, ok := errors.AsType[genai.APIError](err)
	switch status := x.Status(); {
	case !ok:
		return orRefusal(x, x.Broken(wrapped))
	case status >= http.StatusBadRequest:
		if api.Code != status { // the body says otherwise, or nothing
			api.Code = status
			wrapped = fmt.Errorf("gemini: %w", api)
		}
		return classifyAPI(api, wrapped)
	}
	said := provider.Refusal{Status: api.Code, Type: api.Status, Message: api.Message} // an event of the stream
	return orRefusal(x, said.Classify(classifyAPI(api, wrapped)))
}

// orRefusal returns err, the error of an answer without content, or the error that the server sent in its place.
func orRefusal(x *provider.Exchange, err error) error {
	said, ok := x.Refusal()
	if !ok {
		return err
	}
	var body struct {
		Error struct {
			Details []map[string]any `json:"details"`
		} `json:"error"`
	}
	_ = json.Unmarshal(said.Raw, &body) // another server's error has other details
	api := genai.APIError{Code: said.Status, Message: said.Message, Details: body.Error.Details}
	return said.Classify(classifyAPI(api, fmt.Errorf("gemini: %w", said.Err())))
}

func classifyAPI(api genai.APIError, err error) error {
	if limit := provider.TooLarge(api.Code, err); limit != nil {
		return limit
	}
	if (provider.Refusal{Status: api.Code}).Passes() {
		return &chat.TransientError{RetryAfter: retryAfter(api.Details), Err: err}
	}
	return err
}

// retryAfter returns the delay in the RetryInfo of an error's details, 0 if there is none.
func retryAfter(details []map[string]any) time.Duration {
	for _, d := range details {
		if d["@type"] != "type.googleapis.com/google.rpc.RetryInfo" {
			continue
		}
		text, _ := d["retryDelay"].(string)
		if delay, err := time.ParseDuration(text); err == nil {
			return min(max(delay, 0), provider.MaxWait)
		}
	}
	return 0
}
