package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/promptree-go/promptree/internal/callback"
)

// Model answers requests. An implementation is safe for concurrent use, honours the context, and returns a
// [*ContextLimitError] if the request does not fit the context window, a [*ContentError] if something that it holds is
// refused and a [*TransientError] if the same request may succeed later.
//
// Together with an error, the response holds what had arrived by then, which may be nothing: the text so far, the
// thinking and the tool calls that were complete, and the usage if it is known. A call cut off in its arguments is left
// out, and StopReason is not set. An incomplete answer always comes with an error.
//
// Each tool call in an answer has an id that is unique there, even if the server sent none; see [WithCallIDs].
type Model interface {
	Generate(ctx context.Context, req Request) (Response, error)
}

// ModelFunc adapts a function to a [Model].
type ModelFunc func(ctx context.Context, req Request) (Response, error)

// Generate calls f.
func (f ModelFunc) Generate(ctx context.Context, req Request) (Response, error) { return f(ctx, req) }

// Request is a request to a model.
type Request struct {
	// Messages of the prompt; the last is from user or tool.
	Messages []Message
	// Tools that the model may call.
	Tools []Tool
	// Shape is what is asked of the answer. The zero value leaves everything to the provider.
	Shape
	// Purpose is what the request is made for. Defaults to an agent's step.
	Purpose Purpose
	// MaxTokens is the maximum length of the answer. Defaults to the model's own limit.
	MaxTokens int
	// Temperature of sampling. Nil means the model's default.
	Temperature *float64
	// Stream, if set, is called with each piece of the answer as it arrives, never concurrently. Text and thinking come
	// in order. Calls start in the order of Message.ToolCalls, and the pieces of one call come in order; the pieces of
	// parallel calls may alternate. The response repeats all that was streamed.
	Stream func(Delta)
	// OnRepair, if set, is called with what an adapter changed in the request before it is sent, unless the adapter has a
	// listener of its own.
	OnRepair func([]Repair)
}

// Response is a model's answer.
type Response struct {
	// Message of the assistant: text, tool calls or both.
	Message Message
	// Usage as the provider reported it, zero if it did not.
	Usage Usage
	// StopReason says why the answer ended.
	StopReason StopReason
	// RequestBytes is the number of bytes of the request's body, 0 if the model does not say.
	RequestBytes int
	// Compaction is the result of the provider's own compaction of the request's history, in parts that only the
	// provider reads. If the answer is a summary, it is kept beside the summary, unchanged. Nil from models that only
	// answer.
	Compaction []Opaque
	// Digest reports that a program wrote the answer from the request alone, as models.Offline does, and no language model:
	// whether it has the form of a summary is not judged. Off by default.
	Digest bool
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

// Usage is the number of tokens that a request used.
type Usage struct {
	// Input is all input tokens, cached ones included: what is billed.
	Input int `json:"input"`
	// Prompt is the size of the prompt if an answer took several requests, each of which was billed for it. Defaults to Input:
	// see [Usage.Size].
	Prompt int `json:"prompt,omitempty"`
	// Output tokens, thinking included.
	Output int `json:"output"`
	// CacheRead is the part of Input that the provider's cache served.
	CacheRead int `json:"cacheRead,omitempty"`
	// CacheWrite is the part of Input that the provider's cache stored.
	CacheWrite int `json:"cacheWrite,omitempty"`
	// CacheWriteLong is the part of CacheWrite that is stored for the longer of the provider's two lifetimes: an hour
	// with Anthropic, 12 hours with OpenAI.
	CacheWriteLong int `json:"cacheWriteLong,omitempty"`
	// CacheUnknown reports that the provider did not say what its cache served: CacheRead is missing, and not 0. Off by
	// default.
	CacheUnknown bool `json:"cacheUnknown,omitempty"`
}

// Size returns the number of tokens of the prompt, 0 if it is not known. Ratios, limits and triggers take it, prices
// take Input.
func (u Usage) Size() int { return cmp.Or(max(0, u.Prompt), u.Input) }

// Plus returns the sum of both usages, without a size of the prompt.
func (u Usage) Plus(other Usage) Usage {
	return Usage{
		Input: u.Input + other.Input, Output: u.Output + other.Output, CacheRead: u.CacheRead + other.CacheRead,
		CacheWrite: u.CacheWrite + other.CacheWrite, CacheWriteLong: u.CacheWriteLong + other.CacheWriteLong,
		CacheUnknown: u.CacheUnknown || other.CacheUnknown,
	}
}

// Tool describes a tool to a model.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the JSON schema of the arguments. Nil, or null, means that the tool takes none.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Deferred keeps the definition from the model until the provider's own search finds it, so it hardly counts towards
	// the prompt ([Undeferred]). Anthropic has such a search, and OpenAI in Responses; the other adapters declare the tool as
	// any other. Off by default.
	Deferred bool `json:"deferred,omitempty"`
}

// Undeferred returns the tools whose definitions the model sees from the start: those that are not deferred.
func Undeferred(tools []Tool) []Tool {
	if !slices.ContainsFunc(tools, func(t Tool) bool { return t.Deferred }) {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t Tool) bool { return t.Deferred })
}

// Schema returns the schema of the parameters without white space around it, nil if there is none.
func (t Tool) Schema() json.RawMessage {
	schema := bytes.TrimSpace(t.Parameters)
	if len(schema) == 0 || string(schema) == "null" {
		return nil
	}
	return schema
}

// ContextLimitError is returned for a request that is larger than the model's context window, or that is refused with
// status 413, which may be about its bytes: summarize.ContextLimit tells the two apart.
type ContextLimitError struct {
	// Limit of the window and Tokens of the request, 0 if the provider did not state them.
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

// Unwrap returns the provider's own error.
func (e *ContextLimitError) Unwrap() error { return e.Err }

// ContentError is returned for a request that is refused for something that it holds: a picture or a document, thinking
// that the server cannot read, or words that its filter refuses. A request without that may be accepted; package summarize
// sends one.
type ContentError struct {
	// Err is the provider's own error.
	Err error
}

func (e *ContentError) Error() string {
	return fmt.Sprintf("chat: the server refuses what the request holds: %v", e.Err)
}

// Unwrap returns Err.
func (e *ContentError) Unwrap() error { return e.Err }

// TransientError is returned if the same request may succeed later: after a rate limit, an overload, a lost connection.
type TransientError struct {
	// RetryAfter is the time that the provider asks to wait, 0 if it did not say.
	RetryAfter time.Duration
	// Err is the cause.
	Err error
}

func (e *TransientError) Error() string { return fmt.Sprintf("chat: try again: %v", e.Err) }

// Unwrap returns the cause.
func (e *TransientError) Unwrap() error { return e.Err }

// AnswerError is returned for an unusable answer: it is not an answer of its API (the URL may be another server's, or a
// proxy is in between), it is larger than the limit, or it ends in an error that a retry does not resolve.
type AnswerError struct {
	// Err says why the answer is unusable.
	Err error
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("chat: unusable answer: %v", e.Err)
}

// Unwrap returns Err.
func (e *AnswerError) Unwrap() error { return e.Err }

// EndError says that an answer ended by a reason that is neither an end, a cut nor a declined answer: the answer failed, or
// the reason is not known. It is wrapped in a [*TransientError] or in an [*AnswerError], and the response that comes
// with it holds the answer so far.
type EndError struct {
	// Reason that the server gave, such as "error", and Message about it, if any.
	Reason, Message string
}

// Error names the reason, and the field of a model that declares it.
func (e *EndError) Error() string {
	text := fmt.Sprintf("chat: the answer ended with %q", e.Reason)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text + ": set it in the model's Ends if it is an end, a cut or a declined answer"
}

// EmptyError says that an answer ended in order and says nothing: no text, no call, or thinking alone. It is wrapped in a
// [*TransientError] if it makes sense to ask again; otherwise the API documents that the turn is over. The response
// that comes with it holds the usage.
type EmptyError struct{}

func (*EmptyError) Error() string { return "chat: the answer ended in order and says nothing" }

// CallbackError is returned if a function that the application passed, such as a hook, an option or a model, panicked, ended
// its goroutine ([runtime.Goexit]), returned an invalid value, or has not returned although its context has ended.
type CallbackError struct {
	// Package that called the function, "history" or "summarize".
	Package string
	// Name of the function, for example "Options.Now", "hook BeforeCompact" or "Target.Tokenizer".
	Name string
	// Err says what it did. Its chain holds the error that it panicked with, or the cause of the context's end.
	Err error
}

func (e *CallbackError) Error() string { return fmt.Sprintf("%s: %s: %v", e.Package, e.Name, e.Err) }

// Unwrap returns Err.
func (e *CallbackError) Unwrap() error { return e.Err }

// Stack returns the stack of a panic, nil if there was none.
func (e *CallbackError) Stack() []byte {
	if p, ok := errors.AsType[*callback.PanicError](e.Err); ok {
		return p.Stack
	}
	return nil
}

// RedirectError is returned for a redirect that is not followed: to another scheme, host or port, which would receive
// the key and the messages too, or to itself too often.
type RedirectError struct {
	// From is the server that was asked and To the target of its redirect, each as scheme://host:port, with the port
	// only if one was named.
	From, To string
}

func (e *RedirectError) Error() string {
	if e.To == e.From {
		return fmt.Sprintf("chat: %s redirects to itself, too often or to a client that does not follow: check the URL", e.From)
	}
	return fmt.Sprintf("chat: %s redirects to %s, where nothing was sent: check the URL, or set it to the other server if that is meant", e.From, e.To)
}

// Delta is a piece of an answer as it streams: [Text], [Thinking] with the next piece of its Text, or [CallDelta]. No
// other type implements it, so a switch over these is complete.
type Delta interface{ delta() }

// CallDelta is a piece of a tool call as it streams.
type CallDelta struct {
	// Index of the call in Message.ToolCalls of the response.
	Index int
	// ID and Name of the call. Both come with its first piece, and are empty in all others.
	ID, Name string
	// Arguments is the next piece of the call's arguments. It may be empty in the first piece.
	Arguments string
}

func (Text) delta()      {}
func (Thinking) delta()  {}
func (CallDelta) delta() {}
