package provider

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
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

// WithCalls returns the messages with what change makes of the calls of answers that do not match an origin.
func WithCalls(messages []chat.Message, own chat.Origin, change func(chat.ToolCall) chat.ToolCall) []chat.Message {
	messages = slices.Clone(messages)
	for i, m := range messages {
		if !m.Origin.Matches(own) {
			messages[i].ToolCalls = slices.Clone(m.ToolCalls)
			for k, c := range m.ToolCalls {
				messages[i].ToolCalls[k] = change(c)
			}
		}
	}
	return messages
}

// Without returns the messages without the parts for which leave reports true, and without a message that then holds
// nothing. The given ones are not changed.
func Without(messages []chat.Message, leave func(chat.Message, chat.Part) bool) []chat.Message {
	out := make([]chat.Message, 0, len(messages))
	for _, m := range messages {
		leaves := func(p chat.Part) bool { return leave(m, p) }
		if slices.ContainsFunc(m.Content, leaves) {
			m.Content = slices.DeleteFunc(slices.Clone(m.Content), leaves)
			if len(m.Content) == 0 && len(m.ToolCalls) == 0 && m.Role != chat.RoleTool {
				continue
			}
		}
		out = append(out, m)
	}
	return out
}
