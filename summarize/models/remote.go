package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/provider"
)

// Remote is a [chat.Model] that has summaries written by an HTTP endpoint, as oh-my-pi can: it posts {"systemPrompt", "prompt"}
// and reads {"summary"}.
//
// The system messages of a request are the system prompt. Its one user message is the prompt; of a request with more
// messages the history is written as summarize.PlainHistory does, uncut, and what the user says last stands after it. Images,
// documents and the like are named in the text. Tools, temperature and the limit of the answer are not sent.
//
// The error is a [*RemoteError]: within a [*chat.TransientError] where the same may succeed later (no connection, status
// 408, 425, 429 or 500 and above), within a [*chat.ContextLimitError] for status 413. If the context ends it is the
// context's cause. A redirect to another scheme, host or port is not followed: it is a [*chat.RedirectError] in the
// RemoteError. Errors tell no more than package chat allows.
type Remote struct {
	// URL of the endpoint, http or https.
	URL string
	// Header is sent along, for authorisation.
	Header http.Header
	// Client that sends. Defaults to [http.DefaultClient], which has no timeout: set one in
	// summarize.Ask.Timeout.
	Client *http.Client
	// MaxBytes of an answer, 64 MiB at most. Defaults to 4 MiB.
	MaxBytes int64
}

// RemoteError reports what went wrong with a [Remote].
type RemoteError struct {
	// Endpoint is the URL without what may be secret in it: user, query and fragment.
	Endpoint string
	// Status of the answer, 0 if there was none.
	Status int
	// Body is how the answer of another status than 200 begins.
	Body string
	// Err is what went wrong besides.
	Err error
}

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

// Unwrap returns what went wrong.
func (e *RemoteError) Unwrap() error { return e.Err }

// Generate posts the request.
func (r Remote) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	target, err := url.Parse(r.URL)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return chat.Response{}, errors.New("models: Remote.URL is no URL of http or https")
	}
	failed := &RemoteError{Endpoint: (&url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path}).String()}
	system, prompt := remotePrompt(req.Messages)
	body, err := json.Marshal(struct {
		SystemPrompt string `json:"systemPrompt"`
		Prompt       string `json:"prompt"`
	}{system, prompt})
	if err != nil {
		return chat.Response{}, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(body))
	if err != nil {
		return chat.Response{}, fmt.Errorf("models: %w", err)
	}
	for name, values := range r.Header {
		post.Header[name] = values
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "application/json")
	client := r.Client
	if client == nil {
		client = http.DefaultClient
	}
	x := provider.NewExchange(false)
	answer, err := x.Send(post, provider.SameOrigin(client).Do)
	if err != nil {
		return chat.Response{}, x.Err(ctx, lost(x, failed, err))
	}
	defer answer.Body.Close()
	most := r.MaxBytes
	if most <= 0 {
		most = 4 << 20
	}
	most = min(most, provider.MaxAnswer)
	failed.Status = answer.StatusCode
	data, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	if err != nil {
		return chat.Response{}, x.Err(ctx, lost(x, failed, err))
	}
	if answer.StatusCode != http.StatusOK {
		failed.Body = plaintext.Cut(x.Told(strings.TrimSpace(string(data))), 300)
		return chat.Response{}, x.Err(ctx, refused(failed))
	}
	if int64(len(data)) > most {
		failed.Err = &provider.SizeError{What: "the answer", Most: most}
		return chat.Response{}, failed
	}
	var said struct {
		Summary *string `json:"summary"`
	}
	if err := json.Unmarshal(data, &said); err != nil {
		failed.Err = x.Clean(fmt.Errorf("reading the answer: %w", err))
		return chat.Response{}, failed
	}
	if said.Summary == nil {
		failed.Err = errors.New("the answer has no summary")
		return chat.Response{}, failed
	}
	if req.Stream != nil && *said.Summary != "" {
		req.Stream(chat.Text(*said.Summary))
	}
	return chat.Response{Message: chat.AssistantMessage(*said.Summary)}, nil
}

// lost returns the error of a request without an answer that could be read.
func lost(x *provider.Exchange, failed *RemoteError, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL, which may hold a secret
	}
	failed.Err = x.Clean(err)
	_, redirected := errors.AsType[*chat.RedirectError](err)
	if _, large := errors.AsType[*provider.SizeError](err); large || redirected {
		return failed
	}
	return &chat.TransientError{Err: failed}
}

// refused returns the error of a status.
func refused(failed *RemoteError) error {
	switch status := failed.Status; {
	case status == http.StatusRequestEntityTooLarge:
		return &chat.ContextLimitError{Err: failed}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		return &chat.TransientError{Err: failed}
	}
	return failed
}

// remotePrompt returns a request as the two texts that the endpoint takes.
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
	if len(rest) == 1 && rest[0].Role == chat.RoleUser {
		text, notes := plaintext.Content(rest[0])
		return system, strings.Join(append([]string{text}, notes...), "\n")
	}
	var last string
	if n := len(rest) - 1; n > 0 && rest[n].Role == chat.RoleUser {
		text, notes := plaintext.Content(rest[n])
		rest, last = rest[:n], "\n\n"+strings.Join(append([]string{text}, notes...), "\n")
	}
	lines := make([]string, 0, len(rest))
	for _, b := range plaintext.Blocks(rest, nil, nil) {
		lines = append(lines, plaintext.Untagged(b.Lines(asItIs, asItIs)))
	}
	return system, plaintext.Tagged(plaintext.ConversationTag, strings.Join(lines, "\n")) + last
}

func asItIs(text string) string { return text }
