package gemini

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// NewClient makes a client of the SDK as [genai.NewClient] does, with the same config, nil included, that refuses redirects to
// another scheme, host or port. Where a [Model] asks, it keeps the arguments of calls as the model wrote them, but for white
// space: the SDK by itself sorts their keys, and whole numbers beyond 2⁵³ lose digits. A Model with any other client makes
// such a client of that one's config.
func NewClient(ctx context.Context, config *genai.ClientConfig) (*genai.Client, error) {
	own := genai.ClientConfig{}
	if config != nil {
		own = *config
	}
	client, err := genai.NewClient(ctx, &own)
	if err != nil {
		return nil, err
	}
	return guard(client)
}

// guarded returns the client to send with.
func (m *Model) guarded() (*genai.Client, error) {
	m.own.Do(func() { m.own.client, m.own.err = guard(m.Client) })
	return m.own.client, m.own.err
}

// guard returns a client like the given one that sends through a transport. The SDK has no option of a request for that.
func guard(client *genai.Client) (*genai.Client, error) {
	config := client.ClientConfig() // as completed from the environment
	if config.HTTPClient == nil {
		return nil, errors.New("gemini: Model.Client has no HTTP client: make it with NewClient")
	}
	if _, ok := config.HTTPClient.Transport.(transport); ok {
		return client, nil
	}
	config.HTTPClient = provider.SameOrigin(config.HTTPClient)
	config.HTTPClient.Transport = transport{config.HTTPClient.Transport}
	if config.APIKey != "" {
		config.Credentials = nil // of which the HTTP client was made, and which the SDK does not take with a key
	}
	guarded, err := genai.NewClient(context.Background(), &config) // which asks nobody
	if err != nil {
		return nil, fmt.Errorf("gemini: Model.Client cannot be copied: %w", err)
	}
	return guarded, nil
}

// exchange is one request of a model.
type exchange struct {
	*provider.Exchange
	key string // under which the answer is to hold arguments
}

// exchangeKey is the key of a context for the exchange that a request belongs to.
type exchangeKey struct{}

func newExchange(streamed bool) exchange {
	return exchange{provider.NewExchange(streamed), "arguments-" + rand.Text()}
}

func (x exchange) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// tidy gives the error of an answer a type, and takes out of it what is not to be told.
func (x exchange) tidy(err error) error {
	_, transient := errors.AsType[*chat.TransientError](err)
	finish, ended := errors.AsType[*FinishError](err)
	switch {
	case ended:
		finish.Reason, finish.Message = genai.FinishReason(x.Told(string(finish.Reason))), x.Told(finish.Message)
	case err != nil && !transient:
		return &chat.AnswerError{Err: err}
	}
	return err
}

// transport sends the requests of models as their exchanges have it, and others as they are.
type transport struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	x, asked := r.Context().Value(exchangeKey{}).(exchange)
	if !asked {
		return next.RoundTrip(r)
	}
	response, err := x.Send(r, next.RoundTrip)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	return wrapBody(response, r, x.key), nil
}
