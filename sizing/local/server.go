package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/sizing"
)

// Server is a local model server.
type Server struct {
	// URL of the server, http or https, such as "http://localhost:11434". A /v1 at its end, as in the base URL of an
	// OpenAI client, is ignored.
	URL string
	// Model is the name that requests use. It may be empty if the server has only one model.
	Model string
	// Header of each request, for authorisation.
	Header http.Header
	// Client that sends the requests. Defaults to [http.DefaultClient]. Redirects to another scheme, host or port are
	// not followed.
	Client *http.Client
}

// UnknownError is returned if a server does not report a model's context window. It matches [sizing.ErrUnknownWindow].
type UnknownError struct {
	// Server is the product's name, "the server" if it is not known.
	Server string
	// URL of the server without the parts that may be secret: user, query and fragment.
	URL string
	// Model is the name that was asked for.
	Model string
	// Trained is the context length that the model was trained with, in tokens, 0 if unknown. The server may allow
	// less.
	Trained int
	// Advice says what to set.
	Advice string
}

func (e *UnknownError) Error() string {
	of := "its model"
	if e.Model != "" {
		of = fmt.Sprintf("model %q", e.Model)
	}
	trained := ""
	if e.Trained > 0 {
		trained = fmt.Sprintf(", which was trained with %d tokens", e.Trained)
	}
	return fmt.Sprintf("local: %s at %s does not report the context window of %s%s: %s", e.Server, e.URL, of, trained, e.Advice)
}

// Is reports whether the target is [sizing.ErrUnknownWindow].
func (e *UnknownError) Is(target error) bool { return target == sizing.ErrUnknownWindow }

// Window returns the model's context window on this server, in tokens. The error is an [*UnknownError] if the
// server does not report it, and a [*chat.TransientError] if a retry may help: no connection, or status 408, 425, 429
// or 500 and above, as while a model loads. If the context ends, the error is the context's cause.
func (s Server) Window(ctx context.Context) (int, error) {
	a, err := s.asking()
	if err != nil {
		return 0, err
	}
	for _, ask := range []func(context.Context) (int, error){a.lmStudio, a.llamaCpp, a.ollama, a.listed} {
		if n, err := ask(ctx); !errors.Is(err, errOther) {
			return n, err
		}
	}
	return 0, a.unknown("the server", 0, "it is not a known product: set sizing.Window.Tokens to the context length that it was started with")
}

// errOther is returned if an answer is not from the product whose API was called.
var errOther = errors.New("local: another server")

// asking is the state of one call of a Server's methods.
type asking struct {
	Server
	root *url.URL
}

func (s Server) asking() (*asking, error) {
	root, err := url.Parse(s.URL)
	if err != nil || root.Host == "" || root.Scheme != "http" && root.Scheme != "https" {
		return nil, errors.New("local: Server.URL is not an http or https URL")
	}
	root.RawQuery, root.Fragment = "", ""
	root.Path = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(root.Path, "/"), "/v1"), "/")
	return &asking{Server: s, root: root}, nil
}

// place returns the URL as errors show it.
func (a *asking) place() string {
	return (&url.URL{Scheme: a.root.Scheme, Host: a.root.Host, Path: a.root.Path}).String()
}

func (a *asking) unknown(server string, trained int, advice string) error {
	return &UnknownError{Server: server, URL: a.place(), Model: a.Model, Trained: trained, Advice: advice}
}

// absent returns the error for a model that the server does not list.
func (a *asking) absent(server string, has []entry) error {
	if a.Model == "" {
		return a.unknown(server, 0, fmt.Sprintf("it has %d models: set Server.Model to the name that requests use", len(has)))
	}
	var names []string
	for _, e := range has {
		names = append(names, e.ID)
	}
	return a.unknown(server, 0, "it has no model of that name, but "+plaintext.Cut(strings.Join(names, ", "), 300)+": set Server.Model to the name that requests use")
}

// maxAnswer is the largest answer that is read, in bytes.
const maxAnswer = 8 << 20

// refusedError is an answer with status 400 or above.
type refusedError struct {
	status int
	body   string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("it answered with status %d (%q)", e.status, e.body)
}

// StatusCode returns the status of the answer.
func (e *refusedError) StatusCode() int { return e.status }

// get requests a path, with POST if there is a body, and decodes the JSON answer into v. It returns errOther if the
// path does not exist or its answer is not JSON of that form.
func (a *asking) get(ctx context.Context, path string, query url.Values, body, v any) error {
	to := a.root.JoinPath(path)
	to.RawQuery = query.Encode()
	ask := provider.Question{
		URL: to.String(), Header: a.Header, Client: a.Client, Most: maxAnswer,
		Failed: func(status int, refusal string, err error) error {
			if err == nil {
				err = &refusedError{status, refusal}
			}
			return fmt.Errorf("local: asking %s: %w", a.place(), err)
		},
	}
	if body != nil {
		var err error
		if ask.Body, err = json.Marshal(body); err != nil {
			return fmt.Errorf("local: %w", err)
		}
	}
	status, data, err := ask.Ask(ctx)
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed || err == nil && json.Unmarshal(data, v) != nil {
		return errOther
	}
	return err
}
