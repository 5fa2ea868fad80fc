package provider

import (
	"errors"
	"net/http"
	"net/url"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
)

// Address is the address of the server of an SDK's client, as a [chat.Origin] has it. The SDKs of OpenAI and Anthropic keep
// it among their options, so it is read from a request that is not sent. It is safe for concurrent use.
type Address struct {
	once sync.Once
	is   string
}

// Of returns the address. The function makes a request with a client that calls look before any other middleware.
func (a *Address) Of(ask func(look func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error))) string {
	a.once.Do(func() {
		ask(func(r *http.Request, _ func(*http.Request) (*http.Response, error)) (*http.Response, error) {
			a.is = ServerOf(r.URL)
			return nil, errors.New("provider: the request is not sent")
		})
	})
	return a.is
}

// ServerOf returns the address of a server, as a [chat.Origin] has it.
func ServerOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// By returns a model's answer, or the part of it that arrived, with its origin.
func By(origin chat.Origin, r chat.Response) chat.Response {
	if r.Message.Role != "" {
		r.Message.Origin = origin
	}
	return r
}
