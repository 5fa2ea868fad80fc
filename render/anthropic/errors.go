package anthropic

import (
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
	r := refusalOf(api)
	addNumbers(&r)
	return r.Typed(fmt.Errorf("anthropic: %w", err))
}

// orRefusal returns err, the error of an answer without content, or the error that the server sent in its place.
func orRefusal(x *provider.Exchange, err error) error {
	return x.OrRefused("anthropic", addNumbers, err)
}

// refusalOf returns an error of the API. In a stream it has the status of success, which says nothing.
func refusalOf(api *sdk.Error) provider.Refusal {
	r := provider.ReadRefusal([]byte(api.RawJSON()))
	if r.Status = api.StatusCode; r.Status < http.StatusBadRequest || (provider.Refusal{Type: r.Type}).Passes() {
		r.Status = 0
	}
	return r
}

// addNumbers adds what only this API says of a request that is too large. If it is that only with its answer, the tokens
// include the answer.
func addNumbers(r *provider.Refusal) {
	if r.Type == "request_too_large" {
		r.Limit = &chat.ContextLimitError{}
	}
	if m := noRoomLeft.FindStringSubmatch(r.Message); m != nil {
		input, _ := strconv.Atoi(m[1]) // few digits
		answer, _ := strconv.Atoi(m[2])
		limit, _ := strconv.Atoi(m[3])
		r.Limit = &chat.ContextLimitError{Tokens: input + answer, Limit: limit}
	}
}

// noRoomLeft matches the API's message for a request whose input leaves no room for the answer. Numbers of more digits than
// these are none of tokens.
var noRoomLeft = regexp.MustCompile("input length and `?max_tokens`? exceed context limit: (\\d{1,12}) \\+ (\\d{1,12}) > (\\d{1,12})\\b")

// refusesForm returns the message, in lower case, with which the API refused a request as wrong; "" if it did not.
func refusesForm(err error) string {
	if api, ok := errors.AsType[*sdk.Error](err); ok && api.StatusCode == http.StatusBadRequest {
		return strings.ToLower(refusalOf(api).Message)
	}
	return ""
}

// refusesTemperature reports whether the model refused a temperature.
func refusesTemperature(err error) bool {
	said := refusesForm(err)
	return strings.Contains(said, "temperature") && (strings.Contains(said, "deprecated for this model") || strings.Contains(said, "not supported"))
}

// refusesCompaction reports whether the model refused a compaction block.
func refusesCompaction(err error) bool { return strings.Contains(refusesForm(err), typeCompaction) }
