package provider

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// Question is a request in JSON to a server that has no SDK.
type Question struct {
	URL    string
	Header http.Header
	Client *http.Client // defaults to [http.DefaultClient]
	Body   []byte       // posted; without one the request is a GET
	Most   int64        // the size of an answer in bytes, up to [MaxAnswer]
	// Failed returns the error for an answer that did not come: its status, 0 without any, and either the start of the body
	// of a refusal or the error, whose text does not hold the URL.
	Failed func(status int, refusal string, err error) error
}

// Ask returns the status and the whole answer. A redirect elsewhere is not followed. The error is wrapped in a
// [*chat.TransientError] if a retry may succeed: there was no connection, it was lost, or the status is 408, 425, 429 or
// from 500 on; for status 413 in a [*chat.ContextLimitError]. It is the cause of a context that ended.
func (q Question) Ask(ctx context.Context) (status int, answer []byte, err error) {
	method := http.MethodGet
	if q.Body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, q.URL, bytes.NewReader(q.Body))
	if err != nil {
		return 0, nil, q.Failed(0, "", errors.New("the URL is invalid"))
	}
	maps.Copy(req.Header, q.Header)
	req.Header.Set("Accept", "application/json")
	if q.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	x := NewExchange(false)
	res, err := x.Send(req, SameOrigin(cmp.Or(q.Client, http.DefaultClient)).Do)
	if err == nil {
		defer res.Body.Close()
		answer, err = io.ReadAll(io.LimitReader(res.Body, q.Most+1))
	}
	if err == nil && x.answered() && int64(len(answer)) > q.Most {
		err = &SizeError{What: "the answer", Most: q.Most}
	}
	switch _, large := errors.AsType[*SizeError](err); {
	case err != nil:
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the URL, which may hold a secret
		}
		_, redirected := errors.AsType[*chat.RedirectError](err)
		if err = q.Failed(x.status, "", x.Clean(err)); !large && !redirected {
			err = &chat.TransientError{Err: err}
		}
	case !x.answered():
		err = q.Failed(x.status, plaintext.Cut(x.Masked(strings.TrimSpace(string(answer))), 300), nil)
		switch status := x.status; {
		case status == http.StatusRequestEntityTooLarge:
			err = &chat.ContextLimitError{Err: err}
		case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
			err = &chat.TransientError{Err: err}
		}
	}
	return x.status, answer, x.Err(ctx, err)
}
