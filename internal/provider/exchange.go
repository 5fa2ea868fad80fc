package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider/refusal"
)

// MaxErrorText is the maximum length, in bytes, of the text of an error of an [Exchange].
const MaxErrorText = 8 << 10

// Exchange is one request of a model and its answer. Whatever the server sends, a bounded number of bytes is read, and
// the texts of errors are bounded and free of the request's secrets. It is not safe for concurrent use.
type Exchange struct {
	streamed bool
	secrets  Secrets
	sent     int         // bytes of the last request's body
	header   http.Header // of the last response
	status   int
	body     *boundedBody // of the last response, nil if it is a refusal
}

// NewExchange returns an exchange, with the limits of a stream if streamed is set.
func NewExchange(streamed bool) *Exchange { return &Exchange{streamed: streamed} }

// Do is a middleware for the SDKs: it sends a request with next, and bounds the response. A redirect that was not
// followed is a [*chat.RedirectError], and any other response that is neither a success nor an error a
// [*chat.AnswerError].
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
	x.header, x.status, x.body, x.sent = nil, 0, nil, int(max(0, req.ContentLength))
	x.secrets.collect(req)
	res, err := next(req)
	if err != nil {
		return res, err
	}
	if res.Body == nil { // a transport of the caller's may not set it
		res.Body = http.NoBody
	}
	if res.Request != nil { // the transport may have added a key
		x.secrets.collect(res.Request)
	}
	x.header, x.status = res.Header, res.StatusCode
	res.Status = x.Masked(res.Status)
	for name, values := range res.Header {
		if name != "Set-Cookie" && name != "Location" { // no error quotes these
			for i := range values {
				values[i] = x.Masked(values[i])
			}
		}
	}
	if !x.answered() {
		res.Body, res.ContentLength = &refusalBody{ReadCloser: res.Body, secrets: x.secrets}, -1
		return res, nil
	}
	x.body = newBody(res.Body, res.ContentLength, x.streamed)
	res.Body = x.body
	return res, nil
}

// Partial returns the response that comes with an error: the part of the answer that had arrived. A message without
// content and calls becomes the zero value.
func Partial(m chat.Message, usage chat.Usage) chat.Response {
	if len(m.Content) == 0 && len(m.ToolCalls) == 0 {
		m = chat.Message{}
	}
	return chat.Response{Message: m, Usage: usage}
}

// By returns a model's answer to the last request, or the part of it that arrived, with its origin and what was sent.
func (x *Exchange) By(origin chat.Origin, r chat.Response) chat.Response {
	if r.Message.Role != "" {
		r.Message.Origin, r.RequestBytes = origin, x.sent
	}
	return r
}

// Status returns the status of the last response, 0 if there was none.
func (x *Exchange) Status() int { return x.status }

// Done reports whether the last response was a stream whose end the server marked, by "data: [DONE]".
func (x *Exchange) Done() bool { return x.body != nil && x.body.done }

// Object returns the answer if the server sent an object in the place of a stream (hermes-agent#21522), else nil.
func (x *Exchange) Object() json.RawMessage {
	if x.body == nil || x.body.err != nil {
		return nil
	}
	return x.body.start
}

func (x *Exchange) answered() bool {
	return x.status >= http.StatusOK && x.status < http.StatusMultipleChoices
}

// Masked returns a text of the server without secrets, cut to 1 KiB.
func (x *Exchange) Masked(s string) string { return x.secrets.maskAndCut(s, 1<<10) }

// URL returns a URL without secrets.
func (x *Exchange) URL(u *url.URL) *url.URL {
	shown := *u
	shown.RawQuery = x.secrets.Mask(u.RawQuery)
	return &shown
}

// Broken returns the error of an exchange that ended without a whole answer or a refusal: a [*chat.TransientError] if the
// connection was lost, and a [*chat.AnswerError] if the server had begun an answer, or sent a page for people.
func (x *Exchange) Broken(err error) error {
	_, redirected := errors.AsType[*chat.RedirectError](err)
	_, unusable := errors.AsType[*chat.AnswerError](err)
	switch {
	case redirected, unusable:
		return err
	case x.answered() && strings.HasPrefix(x.header.Get("Content-Type"), "text/html"):
		name, _, _ := strings.Cut(err.Error(), ":") // the rest may read as a lost connection
		return &chat.AnswerError{Err: fmt.Errorf("%s: the server sent a page and no answer: is its address right", name)}
	case Lost(err):
		return &chat.TransientError{Err: err}
	case x.answered():
		return &chat.AnswerError{Err: err}
	}
	return err
}

// Err returns the error for the caller: the cause of a context that ended, else the given error. A
// [*chat.TransientError] states the wait that the response asks for, and a refusal for what a request holds is a
// [*chat.ContentError]. No text in the chain is longer than [MaxErrorText]
// bytes or holds a secret: an error with such a text is replaced by one that hides the errors below it.
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
	if kind := refusal.Of(err).Kind; kind == refusal.Content || kind == refusal.Filter {
		return &chat.ContentError{Err: err}
	}
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
	if x.mayBeShown(err, most) {
		return err
	}
	cleaned := &cleanedError{text: x.secrets.maskAndCut(err.Error(), most-len("…")), err: err}
	if redirect, ok := errors.AsType[*chat.RedirectError](err); ok {
		cleaned.below = &chat.RedirectError{From: x.Masked(redirect.From), To: x.Masked(redirect.To)}
	}
	return cleaned
}

// mayBeShown reports whether no text in an error's chain is too long or holds a secret.
func (x *Exchange) mayBeShown(err error, most int) bool {
	for e := range refusal.Chain(err) {
		if text := e.Error(); len(text) > most || x.secrets.Mask(text) != text {
			return false
		}
	}
	return true
}

// cleanedError replaces an error whose text is too long or holds a secret. Its own text is cut and masked. [errors.Is]
// finds the errors in the chain; [errors.As] does not, because that would reveal them.
type cleanedError struct {
	text  string
	err   error
	below error // an error of the chain that may be shown, or nil
}

func (e *cleanedError) Error() string        { return e.text }
func (e *cleanedError) Is(target error) bool { return errors.Is(e.err, target) }
func (e *cleanedError) Unwrap() error        { return e.below }
