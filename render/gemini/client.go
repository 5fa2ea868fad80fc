package gemini

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
)

// NewClient creates a client of the SDK as [genai.NewClient] does, from the same config, which may be nil. The client
// refuses redirects to another scheme, host or port. For a [Model], it keeps the arguments of calls as the model wrote
// them except for white space, while the SDK by itself sorts their keys and rounds whole numbers beyond 2⁵³. A Model
// with any other client creates such a client from that one's config.
func NewClient(ctx context.Context, config *genai.ClientConfig) (*genai.Client, error) {
	own := *cmp.Or(config, &genai.ClientConfig{})
	client, err := genai.NewClient(ctx, &own)
	if err != nil {
		return nil, err
	}
	return guard(client)
}

// guarded returns the client for sending.
func (m *Model) guarded() (*genai.Client, error) {
	m.own.Do(func() { m.own.client, m.own.err = guard(m.Client) })
	return m.own.client, m.own.err
}

// guard returns a client like the given one with a [transport] and without redirects to other servers, for which the
// SDK has no options of a request.
func guard(client *genai.Client) (*genai.Client, error) {
	config := client.ClientConfig() // completed from the environment
	if config.HTTPClient == nil {
		return nil, errors.New("gemini: Model.Client has no HTTP client: make it with NewClient")
	}
	if _, ok := config.HTTPClient.Transport.(transport); ok {
		return client, nil
	}
	config.HTTPClient = provider.SameOrigin(config.HTTPClient)
	config.HTTPClient.Transport = transport{config.HTTPClient.Transport}
	if config.APIKey != "" {
		config.Credentials = nil // they are part of the HTTP client, and the SDK refuses them together with a key
	}
	guarded, err := genai.NewClient(context.Background(), &config) // does not use the network
	if err != nil {
		return nil, fmt.Errorf("gemini: Model.Client cannot be copied: %w", err)
	}
	return guarded, nil
}

// exchange is one request of a model and its answer.
type exchange struct {
	*provider.Exchange
	key string // the key under which the answer holds arguments
}

// exchangeKey is the context key for the exchange of a request.
type exchangeKey struct{}

func newExchange(streamed bool) exchange {
	return exchange{provider.NewExchange(streamed), "arguments-" + rand.Text()}
}

// in returns a context that tells the transport the exchange.
func (x exchange) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// answerError returns the error of an answer that cannot be used, without secrets.
func (x exchange) answerError(err error) error {
	_, transient := errors.AsType[*chat.TransientError](err)
	end, ended := errors.AsType[*chat.EndError](err)
	switch {
	case ended:
		end.Reason, end.Message = x.Masked(end.Reason), x.Masked(end.Message)
	case err != nil && !transient:
		return &chat.AnswerError{Err: err}
	}
	return err
}

// transport sends the requests of models by their exchanges, and others unchanged.
type transport struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := cmp.Or(t.next, http.DefaultTransport)
	x, ok := r.Context().Value(exchangeKey{}).(exchange)
	if !ok {
		return next.RoundTrip(r)
	}
	response, err := x.Send(r, next.RoundTrip)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	return wrapBody(response, r, x.key), nil
}
