package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// The messages of the Gemini API and of Google Cloud for a request that is larger than the context window. The first
// number is the request's, the second the limit.
var tooLong = []*regexp.Regexp{
	regexp.MustCompile(`(?i)input token count \(?(\d+)\)? exceeds the maximum number of tokens allowed \(?(\d+)\)?`),
	regexp.MustCompile(`(?i)input token count is (\d+) but (?:the )?model only supports up to (\d+)`),
}

// tooLongWithoutNumbers matches the message without numbers.
var tooLongWithoutNumbers = regexp.MustCompile(`(?i)token count exceeds the maximum number of tokens`)

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
	switch {
	case api.Code == http.StatusBadRequest || api.Code == http.StatusRequestEntityTooLarge:
		for _, pattern := range tooLong {
			if m := pattern.FindStringSubmatch(api.Message); m != nil {
				return &chat.ContextLimitError{Tokens: number(m[1]), Limit: number(m[2]), Err: err}
			}
		}
		if tooLongWithoutNumbers.MatchString(api.Message) || api.Code == http.StatusRequestEntityTooLarge {
			return &chat.ContextLimitError{Err: err}
		}
	case api.Code == http.StatusTooManyRequests || api.Code == http.StatusRequestTimeout || api.Code == http.StatusConflict || api.Code >= http.StatusInternalServerError:
		return &chat.TransientError{RetryAfter: retryAfter(api.Details), Err: err}
	}
	return err
}

// number returns 0 if the number does not fit an int.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
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
