package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Model answers requests. An implementation is safe for concurrent use, honours the context, and returns a
// [*ContextLimitError] where the request does not fit and a [*TransientError] where trying again may help.
//
// With an error the response holds what had arrived by then, which may be nothing: the text so far, the thinking and the
// tool calls that were whole, and the usage if it is known. A call cut off in its arguments is left out, and StopReason is
// not set. An answer that did not arrive whole always comes with an error.
//
// Each call of an answer has an id that no other call of it has, whatever the server sent: see [WithCallIDs].
type Model interface {
	Generate(ctx context.Context, req Request) (Response, error)
}

// ModelFunc is a function that is a [Model].
type ModelFunc func(ctx context.Context, req Request) (Response, error)

// Generate calls f.
func (f ModelFunc) Generate(ctx context.Context, req Request) (Response, error) { return f(ctx, req) }

// Request is what a model is asked.
type Request struct {
	// Messages of the prompt, the last from user or tool.
	Messages []Message
	// Tools that the model is told of.
	Tools []Tool
	// ToolChoice says whether the model may call them. Defaults to [ToolChoiceAuto].
	ToolChoice ToolChoice
	// MaxTokens of the answer. Defaults to the model's own limit.
	MaxTokens int
	// Temperature of sampling. Nil leaves the model's own.
	Temperature *float64
	// Stream, if set, is called with each piece of the answer as it arrives, never twice at once. Text and thinking come in
	// order. Calls begin in the order of Message.ToolCalls, and the pieces of one call come in order; the pieces of parallel
	// calls may alternate. The response holds all that was streamed again.
	Stream func(Delta)
}

// ToolChoice says whether a model may call tools.
type ToolChoice string

// The choices. The zero value is auto.
const (
	ToolChoiceAuto     ToolChoice = ""
	ToolChoiceNone     ToolChoice = "none"
	ToolChoiceRequired ToolChoice = "required"
)

// Response is a model's answer.
type Response struct {
	// Message of the assistant: text, tool calls or both.
	Message Message
	// Usage as the provider reported it; zero where it did not.
	Usage Usage
	// StopReason says why the answer ended.
	StopReason StopReason
	// Compaction is what the provider's own compaction made of the request's history, in parts that only the provider reads. Of a
	// model that is asked for a summary it is kept beside the summary, as it came. Nil from models that only answer.
	Compaction []Opaque
}

// StopReason says why an answer ended.
type StopReason string

// The reasons that all providers share. The zero value is an ordinary end.
const (
	StopEnd       StopReason = ""
	StopToolCalls StopReason = "toolCalls"
	StopMaxTokens StopReason = "maxTokens"
	StopFiltered  StopReason = "filtered"
)

// Usage is what a request took, in tokens.
type Usage struct {
	// Input tokens in all, cached ones included.
	Input int `json:"input"`
	// Output tokens, thinking included.
	Output int `json:"output"`
	// CacheRead is the part of Input that the provider's cache served.
	CacheRead int `json:"cacheRead,omitempty"`
	// CacheWrite is the part of Input that the provider's cache took in.
	CacheWrite int `json:"cacheWrite,omitempty"`
	// CacheWriteLong is the part of CacheWrite that is kept for the longer of the provider's two lifetimes: an hour with
	// Anthropic, 12 hours with OpenAI.
	CacheWriteLong int `json:"cacheWriteLong,omitempty"`
}

// Tool describes a tool to a model.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON schema of the arguments. None, or null, is a tool that takes none.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// Schema is the schema of the parameters without white space around it, nil where there is none.
func (t Tool) Schema() json.RawMessage {
	schema := bytes.TrimSpace(t.Parameters)
	if len(schema) == 0 || string(schema) == "null" {
		return nil
	}
	return schema
}

// ContextLimitError tells that a request is larger than the model's context window.
type ContextLimitError struct {
	// Limit of the window and Tokens of the request, 0 where the provider did not say.
	Limit, Tokens int
	// Err is the provider's own error.
	Err error
}

func (e *ContextLimitError) Error() string {
	var said []string
	if e.Tokens > 0 {
		said = append(said, fmt.Sprintf("%d tokens", e.Tokens))
	}
	if e.Limit > 0 {
		said = append(said, fmt.Sprintf("limit %d", e.Limit))
	}
	text := "chat: the request is larger than the context window"
	if len(said) > 0 {
		text += " (" + strings.Join(said, ", ") + ")"
	}
	if e.Err == nil {
		return text
	}
	return text + ": " + e.Err.Error()
}

// Unwrap gives the provider's own error.
func (e *ContextLimitError) Unwrap() error { return e.Err }

// TransientError tells that the same request may succeed later: a rate limit, an overload, a lost connection.
type TransientError struct {
	// RetryAfter is how long the provider asks to wait; 0 where it did not say.
	RetryAfter time.Duration
	// Err is what happened.
	Err error
}

func (e *TransientError) Error() string { return fmt.Sprintf("chat: try again: %v", e.Err) }

// Unwrap gives what happened.
func (e *TransientError) Unwrap() error { return e.Err }

// AnswerError is the error of an answer that is of no use: it is not an answer of its API (the URL may be another server's,
// or a proxy stands before it), it is more than is read of one, or it ends in an error that asking again does not mend.
type AnswerError struct {
	// Err is what is wrong with the answer.
	Err error
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("chat: the answer is of no use: %v", e.Err)
}

// Unwrap returns what is wrong with the answer.
func (e *AnswerError) Unwrap() error { return e.Err }

// RedirectError is the error of a redirect that is not followed: to another scheme, host or port, where
// the key and the messages would go too, or to itself too often.
type RedirectError struct {
	// From is the server that was asked and To where it redirects, each as scheme://host:port, the port only where one was
	// named.
	From, To string
}

func (e *RedirectError) Error() string {
	if e.To == e.From {
		return fmt.Sprintf("chat: %s redirects to itself, too often or to a client that does not follow: check the URL", e.From)
	}
	return fmt.Sprintf("chat: %s redirects to %s, where nothing was sent: check the URL, or set it to the other server if that is meant", e.From, e.To)
}
