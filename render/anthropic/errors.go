package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// The API's messages for a request that is larger than the context window.
var (
	promptTooLong = regexp.MustCompile(`prompt is too long(?:: (\d+) tokens > (\d+) maximum)?`)
	noRoomLeft    = regexp.MustCompile("input length and `?max_tokens`? exceed context limit(?:: (\\d+) \\+ (\\d+) > (\\d+))?")
)

// classify turns an error of the SDK into one that a caller can act on: a [*chat.ContextLimitError], a
// [*chat.TransientError], a [*chat.AnswerError] or, for any other, an error with the API's text.
func classify(x *provider.Exchange, err error) error {
	_, transient := errors.AsType[*chat.TransientError](err)
	_, empty := errors.AsType[*chat.EmptyError](err)
	if _, unusable := errors.AsType[*chat.AnswerError](err); transient || unusable || empty {
		return err // of the answer's end
	}
	api, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return orRefusal(x, x.Broken(fmt.Errorf("anthropic: %w", err)))
	}
	if api.Request != nil { // the error's text contains its URL
		shown := *api.Request
		shown.URL = x.URL(shown.URL)
		api.Request = &shown
	}
	return classifyAPI(api, fmt.Errorf("anthropic: %w", err))
}

// orRefusal returns err, the error of an answer without content, or the error that the server sent in its place.
func orRefusal(x *provider.Exchange, err error) error {
	said, ok := x.Refusal()
	if !ok {
		return err
	}
	err = fmt.Errorf("anthropic: %w", said.Err())
	var api sdk.Error
	if api.UnmarshalJSON(said.Raw) == nil {
		api.StatusCode = said.Status
		err = classifyAPI(&api, err)
	}
	return said.Classify(err)
}

func classifyAPI(api *sdk.Error, err error) error {
	if limit := contextLimit(apiMessage(api)); limit != nil {
		limit.Err = err
		return limit
	}
	transient := &chat.TransientError{Err: err}
	switch api.Type() {
	case "request_too_large":
		return &chat.ContextLimitError{Err: err}
	case sdk.ErrorTypeRateLimitError, sdk.ErrorTypeOverloadedError, sdk.ErrorTypeAPIError, sdk.ErrorTypeTimeoutError:
		return transient
	}
	switch code := api.StatusCode; {
	case code == http.StatusRequestEntityTooLarge:
		return &chat.ContextLimitError{Err: err}
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code == http.StatusConflict, code >= http.StatusInternalServerError:
		return transient
	}
	return err
}

// apiMessage returns the text of the API's error.
func apiMessage(api *sdk.Error) string {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(api.RawJSON()), &body) != nil {
		return api.RawJSON()
	}
	return body.Error.Message
}

// contextLimit returns the error for a message that says that a request is too large, and nil for any other message. If
// the request is too large only with its answer, the tokens include the answer.
func contextLimit(message string) *chat.ContextLimitError {
	number := func(s string) int {
		n, _ := strconv.Atoi(s)
		return n
	}
	if m := promptTooLong.FindStringSubmatch(message); m != nil {
		return &chat.ContextLimitError{Tokens: number(m[1]), Limit: number(m[2])}
	}
	if m := noRoomLeft.FindStringSubmatch(message); m != nil {
		return &chat.ContextLimitError{Tokens: number(m[1]) + number(m[2]), Limit: number(m[3])}
	}
	return nil
}

// refusesTemperature reports whether the model refused a temperature.
func refusesTemperature(err error) bool {
	api, ok := errors.AsType[*sdk.Error](err)
	if !ok || api.StatusCode != http.StatusBadRequest {
		return false
	}
	message := apiMessage(api)
	return strings.Contains(message, "temperature") &&
		(strings.Contains(message, "deprecated for this model") || strings.Contains(message, "not supported"))
}

// refusesCompaction reports whether the model refused a compaction block.
func refusesCompaction(err error) bool {
	api, ok := errors.AsType[*sdk.Error](err)
	return ok && api.StatusCode == http.StatusBadRequest && strings.Contains(strings.ToLower(apiMessage(api)), typeCompaction)
}
