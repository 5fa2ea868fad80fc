package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/promptree-go/promptree/elements/chat"
)

// MaxErrorText is the maximum length, in bytes, of the text of an error of an [Exchange].
const MaxErrorText = 8 << 10

// Exchange is one request of a model and its answer. Whatever the server sends, a bounded number of bytes is read, and
// the texts of errors are bounded and free of the request's secrets. It is not safe for concurrent use.
type Exchange struct {
	streamed bool
	secrets  secrets
	header   http.Header // of the last response
	status   int
}

// NewExchange returns an exchange, with the limits of a stream if streamed is set.
func NewExchange(streamed bool) *Exchange { return &Exchange{streamed: streamed} }

// Do is a middleware for the SDKs: it sends a request by next, and bounds the response. A response that is neither a
// success nor an error is a [*chat.RedirectError] for a redirect that was not followed, or else a [*chat.AnswerError].
func (x *Exchange) Do(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := x.Send(req, next)
	if err != nil || x.answered() || x.status >= http.StatusBadRequest {
		return res, err
	}
	_ = res.Body.Close() // the body is not needed
	to, err := res.Location()
	if err != nil {
		return nil, &chat.AnswerError{Err: fmt.Errorf("status %d without a Location header", x.status)}
	}
	return nil, &chat.RedirectError{From: origin(req.URL, x.secrets), To: origin(to, x.secrets)}
}

// Send is [Exchange.Do] for a transport: it returns redirects for the client to follow.
func (x *Exchange) Send(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	x.header, x.status = nil, 0
	x.secrets.learn(req)
	res, err := next(req)
	if err != nil {
		return res, err
	}
	if res.Body == nil { // a transport of the caller's may not set it
		res.Body = http.NoBody
	}
	if res.Request != nil { // as sent: a transport may have added a key
		x.secrets.learn(res.Request)
	}
	x.header, x.status = res.Header, res.StatusCode
	res.Status = x.Told(res.Status)
	for name, values := range res.Header {
		if name != "Set-Cookie" && name != "Location" { // these are not quoted by any error
			for i := range values {
				values[i] = x.Told(values[i])
			}
		}
	}
	if !x.answered() {
		res.Body, res.ContentLength = &refusalBody{ReadCloser: res.Body, secrets: x.secrets}, -1
		return res, nil
	}
	res.Body = newBody(res.Body, res.ContentLength, x.streamed)
	return res, nil
}

// Status returns the status of the last response, 0 if there was none.
func (x *Exchange) Status() int { return x.status }

func (x *Exchange) answered() bool {
	return x.status >= http.StatusOK && x.status < http.StatusMultipleChoices
}

// Told returns a text of the server without secrets, cut to 1 KiB.
func (x *Exchange) Told(s string) string { return x.secrets.shown(s, 1<<10) }

// URL returns a URL without secrets.
func (x *Exchange) URL(u *url.URL) *url.URL {
	shown := *u
	shown.RawQuery = x.secrets.mask(u.RawQuery)
	return &shown
}

// Broken returns the error of an exchange that ended without an answer or a refusal: a [*chat.TransientError] if the
// connection was lost, and a [*chat.AnswerError] if there was an answer.
func (x *Exchange) Broken(err error) error {
	_, redirected := errors.AsType[*chat.RedirectError](err)
	_, useless := errors.AsType[*chat.AnswerError](err)
	switch {
	case redirected, useless:
		return err
	case Lost(err):
		return &chat.TransientError{Err: err}
	case x.answered():
		return &chat.AnswerError{Err: err}
	}
	return err
}

// Err returns the error for the caller: the cause of a context that ended, else the given error. A
// [*chat.TransientError] has the wait that the response asks for. No text in the chain is longer than [MaxErrorText]
// bytes or holds a secret: an error with such a text is cut off from those below it.
func (x *Exchange) Err(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return x.Clean(err)
}

// Clean is [Exchange.Err] for errors that did not come from a context.
func (x *Exchange) Clean(err error) error {
	err = x.clean(err)
	if _, untyped := err.(*cleanedError); untyped && x.answered() {
		return &chat.AnswerError{Err: err}
	}
	return err
}

func (x *Exchange) clean(err error) error {
	switch e := err.(type) { // not errors.As: only the outermost counts
	case *chat.TransientError:
		wait, says := Wait(x.header)
		if !says {
			wait = e.RetryAfter
		}
		return &chat.TransientError{RetryAfter: wait, Err: x.clean(e.Err)}
	case *chat.ContextLimitError:
		return &chat.ContextLimitError{Limit: e.Limit, Tokens: e.Tokens, Err: x.clean(e.Err)}
	case *chat.AnswerError:
		return &chat.AnswerError{Err: x.clean(e.Err)}
	}
	const most = MaxErrorText - 256 // leaves room for the text of the types above
	if x.harmless(err, most) {
		return err
	}
	cleaned := &cleanedError{text: x.secrets.shown(err.Error(), most-len("…")), err: err}
	if redirect, ok := errors.AsType[*chat.RedirectError](err); ok {
		cleaned.below = &chat.RedirectError{From: x.Told(redirect.From), To: x.Told(redirect.To)}
	}
	return cleaned
}

// harmless reports whether every text of a chain may be shown.
func (x *Exchange) harmless(err error, most int) bool {
	if err == nil {
		return true
	}
	if text := err.Error(); len(text) > most || x.secrets.mask(text) != text {
		return false
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return x.harmless(e.Unwrap(), most)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if !x.harmless(inner, most) {
				return false
			}
		}
	}
	return true
}

// cleanedError has the text of an error that is too long or holds a secret, cut and masked. [errors.Is] finds what is
// below it; [errors.As] does not, because that would reveal it.
type cleanedError struct {
	text  string
	err   error
	below error // an error that may be revealed, or nil
}

func (e *cleanedError) Error() string        { return e.text }
func (e *cleanedError) Is(target error) bool { return errors.Is(e.err, target) }
func (e *cleanedError) Unwrap() error        { return e.below }
