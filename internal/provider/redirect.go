package provider

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// maxRedirects is the maximum number of redirects in a row, as in net/http.
const maxRedirects = 10

// SameOrigin returns a copy of a client that follows redirects only to the same scheme, host and port; any other is a
// [*chat.RedirectError]. By itself net/http sends headers such as X-Api-Key and X-Goog-Api-Key on to another host, and
// on 307 and 308 the body. The client's other checks of redirects still apply.
func SameOrigin(client *http.Client) *http.Client {
	own := *client
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		var s Secrets
		s.collect(via[0])
		refused := &chat.RedirectError{From: origin(via[0].URL, s), To: origin(req.URL, s)}
		switch {
		case !sameOrigin(via[0].URL, req.URL):
			return refused
		case client.CheckRedirect != nil:
			return client.CheckRedirect(req, via)
		case len(via) >= maxRedirects:
			return refused
		}
		return nil
	}
	return &own
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// origin returns the scheme, host and port of a URL without secrets.
func origin(u *url.URL, s Secrets) string {
	const most = 300 // a name has at most 253 bytes
	return s.maskAndCut(u.Scheme+"://"+u.Host, most)
}

// Guarded returns an option that applies the given one and makes the caller's HTTP client follow redirects as
// [SameOrigin] does. It is for the SDKs of OpenAI and Anthropic, whose middleware sees a response only after all
// redirects. C is their configuration of a request, whose type has no exported name: it is inferred from the given
// option, and its field HTTPClient is set. A client that is not an [*http.Client] is not restricted.
func Guarded[C any](option interface{ Apply(*C) error }) interface{ Apply(*C) error } {
	return guarded[C]{option}
}

type guarded[C any] struct{ option interface{ Apply(*C) error } }

// Apply implements an option of an SDK.
func (g guarded[C]) Apply(config *C) error {
	if err := g.option.Apply(config); err != nil {
		return err
	}
	field := reflect.ValueOf(config).Elem().FieldByName("HTTPClient")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*http.Client]() || field.IsNil() {
		return errors.New("provider: the SDK's configuration has no HTTPClient, so redirects cannot be refused: use the version of the SDK that go.mod names")
	}
	field.Set(reflect.ValueOf(SameOrigin(field.Interface().(*http.Client))))
	return nil
}
