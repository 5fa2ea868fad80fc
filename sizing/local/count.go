package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
)

// ErrNoCount is returned by [Server.CountTokens] for a server that does not count the tokens of messages.
var ErrNoCount = errors.New("local: the server does not count the tokens of messages")

// CountTokens asks the server how many tokens a request takes as input: messages and tools as the model's chat template
// writes them, and the start of the answer. No model runs. It takes one to three requests with the whole conversation,
// so use it to check a counter or to teach a [sizing.Calibrated], not to count each text:
//
//	n, err := server.CountTokens(ctx, req)
//	counter.Observe(req, chat.Response{Usage: chat.Usage{Input: n}})
//
// The messages are sent in the form of the Chat Completions API, as render/openai sends them. Documents, opaque parts,
// and images outside of user messages are left out.
//
// The error is [ErrNoCount] if the server has none of the paths that the package's page lists, and a
// [*chat.TransientError] as for [Server.Window].
func (s Server) CountTokens(ctx context.Context, req chat.Request) (int, error) {
	a, err := s.asking()
	if err != nil {
		return 0, err
	}
	body := conversation{Model: s.Model, Messages: make([]message, len(req.Messages))}
	for i, m := range req.Messages {
		body.Messages[i] = messageOf(m)
	}
	for _, t := range req.Tools {
		body.Tools = append(body.Tools, tool{"function", chat.Tool{Name: t.Name, Description: t.Description, Parameters: t.Schema()}})
	}
	for _, ask := range []func(context.Context, conversation) (int, error){a.inputTokens, a.template, a.tokenize} {
		if n, err := ask(ctx, body); !errors.Is(err, errOther) {
			return n, err
		}
	}
	return 0, fmt.Errorf("%w: %s: use the usage that it reports with its answers", ErrNoCount, a.place())
}

// inputTokens asks llama-server, since it counts requests.
func (a *asking) inputTokens(ctx context.Context, body conversation) (int, error) {
	var answer struct {
		Tokens tokens `json:"input_tokens"`
	}
	return counted(&answer.Tokens, a.get(ctx, "v1/chat/completions/input_tokens", nil, body, &answer))
}

// template asks an older llama-server: for the text that the model reads, then for its tokens.
func (a *asking) template(ctx context.Context, body conversation) (int, error) {
	var answer struct {
		Prompt string `json:"prompt"`
	}
	if err := a.get(ctx, "apply-template", nil, body, &answer); err != nil {
		return 0, err
	}
	if answer.Prompt == "" {
		return 0, errOther
	}
	text := map[string]any{"model": a.Model, "content": answer.Prompt, "add_special": true, "parse_special": true}
	var list struct {
		Tokens []json.RawMessage `json:"tokens"`
	}
	err := a.get(ctx, "tokenize", nil, text, &list)
	n := tokens(len(list.Tokens))
	return counted(&n, err)
}

// tokenize asks vLLM or SGLang.
func (a *asking) tokenize(ctx context.Context, body conversation) (int, error) {
	var answer struct {
		Count tokens `json:"count"`
	}
	return counted(&answer.Count, a.get(ctx, "tokenize", nil, body, &answer))
}

// counted returns the number that an answer holds once it was read.
func counted(n *tokens, err error) (int, error) {
	if err == nil && *n == 0 {
		err = errOther
	}
	return int(*n), err
}

// conversation is a request in the form of the Chat Completions API.
type conversation struct {
	Model    string    `json:"model,omitempty"`
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools,omitempty"`
}

type message struct {
	Role       chat.Role  `json:"role"`
	Name       string     `json:"name,omitempty"`
	Content    any        `json:"content"` // a text, a list of parts, or null
	Reasoning  string     `json:"reasoning_content,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function calledFunction `json:"function"`
}

type calledFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string    `json:"type"`
	Function chat.Tool `json:"function"`
}

func messageOf(m chat.Message) message {
	out := message{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID}
	var list []map[string]any
	images := false
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			list = append(list, map[string]any{"type": "text", "text": p})
		case chat.Image:
			if m.Role == chat.RoleUser {
				images = true
				list = append(list, map[string]any{"type": "image_url", "image_url": map[string]string{"url": p.URL}})
			}
		case chat.Thinking:
			if p.Signature == "reasoning_content" || p.Signature == "reasoning" { // as render/openai returns it
				out.Reasoning += p.Text
			}
		}
	}
	switch {
	case images:
		out.Content = list
	case len(list) > 0 || len(m.ToolCalls) == 0:
		out.Content = m.Text()
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, toolCall{c.ID, "function", calledFunction{c.Name, c.Arguments}})
	}
	return out
}
