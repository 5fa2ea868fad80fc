package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider"
)

// Remote is a [chat.Model] that asks an HTTP endpoint for summaries, as oh-my-pi can. It posts
// {"systemPrompt": …, "prompt": …} and reads {"summary": …}.
//
// The system prompt is the request's system messages. If the rest is a single user message, that is the prompt.
// Otherwise the prompt is the history, written as by prompts.PlainHistory but uncut, followed by the last user
// message. Images and documents are named in the text. Tools, temperature and the limit of the answer are not sent.
//
// The error is a [*RemoteError]. It is wrapped in a [*chat.TransientError] if a retry may succeed (no connection, or
// status 408, 425, 429 or from 500 on), and in a [*chat.ContextLimitError] for status 413. A redirect to another
// scheme, host or port is not followed; the RemoteError then holds a [*chat.RedirectError]. If the context ended, the
// error is its cause. Texts of errors hold no secrets, as package chat demands.
type Remote struct {
	// URL of the endpoint, http or https.
	URL string
	// Header is sent with each request, usually for authorisation.
	Header http.Header
	// Client sends the requests. Defaults to [http.DefaultClient], which has no timeout: set policy.Ask.Timeout.
	Client *http.Client
	// MaxBytes limits the size of an answer. Defaults to 4 MiB; 64 MiB is the maximum.
	MaxBytes int64
}

// RemoteError is an error of a [Remote].
type RemoteError struct {
	// Endpoint is the URL without user, query and fragment, which may be secret.
	Endpoint string
	// Status is the HTTP status, or 0 if there was no answer.
	Status int
	// Body is the start of the answer's body if the status is not 200.
	Body string
	// Err is the underlying error, if there is one.
	Err error
}

// Error returns the endpoint, the status and the start of the body or the underlying error.
func (e *RemoteError) Error() string {
	text := "models: the endpoint " + e.Endpoint
	if e.Status != 0 {
		text += fmt.Sprintf(" answered with status %d", e.Status)
	}
	if e.Body != "" {
		text += fmt.Sprintf(" (%q)", e.Body)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *RemoteError) Unwrap() error { return e.Err }

// Generate implements [chat.Model].
func (r Remote) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	target, err := url.Parse(r.URL)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return chat.Response{}, errors.New("models: Remote.URL is not an http or https URL")
	}
	endpoint := (&url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path}).String()
	system, prompt := remotePrompt(req.Messages)
	body, err := json.Marshal(struct {
		SystemPrompt string `json:"systemPrompt"`
		Prompt       string `json:"prompt"`
	}{system, prompt})
	if err != nil {
		return chat.Response{}, err
	}
	failed := func(status int, refusal string, err error) error {
		return &RemoteError{Endpoint: endpoint, Status: status, Body: refusal, Err: err}
	}
	limit := cmp.Or(max(0, r.MaxBytes), 4<<20)
	status, answer, err := provider.Question{
		URL: r.URL, Header: r.Header, Client: r.Client, Body: body, Most: min(limit, provider.MaxAnswer), Failed: failed,
	}.Ask(ctx)
	if err != nil {
		return chat.Response{}, err
	}
	var decoded struct {
		Summary *string `json:"summary"`
	}
	if err := json.Unmarshal(answer, &decoded); err != nil {
		return chat.Response{}, failed(status, "", fmt.Errorf("reading the answer: %w", err))
	}
	if decoded.Summary == nil {
		return chat.Response{}, failed(status, "", errors.New("the answer has no summary"))
	}
	if req.Stream != nil && *decoded.Summary != "" {
		req.Stream(chat.Text(*decoded.Summary))
	}
	return chat.Response{Message: chat.AssistantMessage(*decoded.Summary), RequestBytes: len(body)}, nil
}

// remotePrompt returns the system prompt and the prompt of a request.
func remotePrompt(messages []chat.Message) (system, prompt string) {
	var systems []string
	var rest []chat.Message
	for _, m := range messages {
		if m.Role == chat.RoleSystem {
			systems = append(systems, m.Text())
		} else {
			rest = append(rest, m)
		}
	}
	system = strings.Join(systems, "\n\n")
	last := ""
	if n := len(rest) - 1; n >= 0 && rest[n].Role == chat.RoleUser {
		text, notes := plaintext.Content(rest[n])
		if last = strings.Join(append([]string{text}, notes...), "\n"); n == 0 {
			return system, last
		}
		rest, last = rest[:n], "\n\n"+last
	}
	lines := make([]string, 0, len(rest))
	for _, b := range plaintext.Blocks(rest, nil, nil) {
		lines = append(lines, b.Lines(unchanged, unchanged))
	}
	return system, plaintext.ConversationTag.Holding(strings.Join(lines, "\n")) + last
}

func unchanged(text string) string { return text }
