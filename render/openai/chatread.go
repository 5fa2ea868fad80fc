package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"

	"github.com/promptree-go/promptree/elements/chat"
)

// ReadChat reads the messages and tools of a request to Chat Completions, as a program that uses the SDK holds them. It is
// the inverse of [ChatRequest]: what that wrote is read so that it writes the same bytes again.
//
//   - A user message with the images and documents of a tool's result, as [ChatRequest] writes it, is read as part of the
//     result.
//   - Thinking in a server's own field is a [chat.Thinking] with the name of the field as the signature.
//   - A part, or fields of an assistant message, for which package chat has no place is a [chat.Opaque]; fields of a call
//     are its signature. They are sent back to Chat Completions only.
//
// A message that cannot be read so is an error that names it: one of role "function", or of another role with a field
// that is not OpenAI's.
func ReadChat(params sdk.ChatCompletionNewParams) (chat.Request, error) {
	var r chatReader
	for i, m := range params.Messages {
		raw, err := json.Marshal(m)
		if err == nil {
			err = r.message(objectOf(raw))
		}
		if err != nil {
			return chat.Request{}, fmt.Errorf("openai: message %d cannot be read: %w", i, err)
		}
	}
	request := chat.Request{Messages: r.out}
	for i, t := range params.Tools {
		raw, err := json.Marshal(t)
		if err != nil {
			return chat.Request{}, fmt.Errorf("openai: tool %d cannot be read: %w", i, err)
		}
		o := objectOf(raw)
		request.Tools = append(request.Tools, toolOf(objectOf(o[o.text("type")])))
	}
	return request, nil
}

// toolOf reads the definition of a tool. For a custom one that is its name and description.
func toolOf(o object) chat.Tool {
	return chat.Tool{Name: o.text("name"), Description: o.text("description"), Parameters: o["parameters"]}
}

type chatReader struct {
	out []chat.Message
}

func (r *chatReader) message(o object) error {
	m := chat.Message{Role: chat.Role(o.text("role")), Name: o.text("name"), ToolCallID: o.text("tool_call_id")}
	if m.Role == "developer" {
		m.Role = chat.RoleSystem
	}
	switch m.Role {
	case chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool:
	default:
		return fmt.Errorf("its role is %q: use system, developer, user, assistant or tool", m.Role)
	}
	if m.Role == chat.RoleAssistant {
		m.Content = takeThinking(o)
	}
	content, err := contentOf(o["content"], chatPart)
	if err != nil {
		return err
	}
	if m.Role == chat.RoleUser && r.resultMedia(content) {
		return nil
	}
	m.Content = append(m.Content, content...)
	var calls []object
	if o["tool_calls"] != nil && json.Unmarshal(o["tool_calls"], &calls) != nil {
		return fmt.Errorf("its tool_calls are not a list of objects")
	}
	for _, c := range calls {
		m.ToolCalls = append(m.ToolCalls, readChatCall(c))
	}
	for _, key := range []string{"role", "name", "content", "tool_call_id", "tool_calls"} {
		delete(o, key)
	}
	o.drop("refusal", "null")
	switch {
	case m.Role == chat.RoleAssistant && len(o) > 0:
		o.set("type", chatFields)
		m.Content = append(m.Content, chat.Opaque{Value: o.raw()})
	case len(o) > 0:
		return fmt.Errorf("its fields %s are not known", strings.Join(o.keys(), ", "))
	}
	r.out = append(r.out, m)
	return nil
}

// chatFields is the type of an opaque part, or of a call's signature, with fields of an assistant message, or of a call,
// that package chat has no place for. It is not OpenAI's.
const chatFields = "chat.fields"

// takeThinking removes the thinking that a server showed from a message's fields, and returns it.
func takeThinking(o object) chat.Parts {
	var parts chat.Parts
	for _, field := range reasoningFieldNames {
		text := o.text(field)
		if text != "" {
			parts = append(parts, chat.Thinking{Text: text, Signature: field})
		}
		if text != "" || string(o[field]) == `""` || string(o[field]) == "null" {
			delete(o, field)
		}
	}
	return parts
}

func readChatCall(o object) chat.ToolCall {
	custom := o.text("type") == "custom"
	kind := "function"
	if custom {
		kind = "custom"
	}
	inner := objectOf(o[kind])
	call := chat.ToolCall{ID: o.text("id"), Name: inner.text("name"), Arguments: inner.text("arguments")}
	if custom {
		call.Arguments, call.Signature = inner.text("input"), `{"type":"`+customCall+`"}`
		return call
	}
	for _, key := range []string{"id", "type", "function", "index"} {
		delete(o, key)
	}
	if len(o) > 0 {
		o.set("type", chatFields)
		call.Signature = string(o.raw())
	}
	return call
}

// resultMedia adds a user message's content to the results that it belongs to, and reports whether it belongs to any.
func (r *chatReader) resultMedia(content chat.Parts) bool {
	if len(content) == 0 || r.resultOf(content[0]) == nil {
		return false
	}
	var to *chat.Message
	for _, p := range content {
		if next := r.resultOf(p); next != nil {
			if to = next; to.Text() == followsText {
				to.Content = nil
			}
		} else {
			to.Content = append(to.Content, p)
		}
	}
	return true
}

// resultOf returns the result of the last round to whose images a text leads over; nil if it does not.
func (r *chatReader) resultOf(p chat.Part) *chat.Message {
	for i := len(r.out) - 1; i >= 0 && r.out[i].Role == chat.RoleTool; i-- {
		if p == chat.Part(chat.Text(mediaIntro(r.out[i].ToolCallID))) {
			return &r.out[i]
		}
	}
	return nil
}

// contentOf reads content that is a text or a list of parts. The function reads a part, and returns nil for one that is
// kept as it is.
func contentOf(raw json.RawMessage, part func(object) chat.Part) (chat.Parts, error) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil { // null too
		if text == "" {
			return nil, nil
		}
		return chat.Parts{chat.Text(text)}, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, fmt.Errorf("its content is neither a text nor a list of parts")
	}
	var parts chat.Parts
	for _, raw := range list {
		o := objectOf(raw)
		mark := objectOf(o[breakpointKey])
		read := part(o.without(breakpointKey))
		switch {
		case read == nil:
			parts = append(parts, chat.Opaque{Value: raw})
		case mark != nil:
			parts = append(parts, read, chat.CacheBreakpoint{Lifetime: lifetimeOf(mark.text("ttl"))})
		default:
			parts = append(parts, read)
		}
	}
	return parts, nil
}

// breakpointKey is the field of a part that ends a cached prefix.
const breakpointKey = "prompt_cache_breakpoint"

// lifetimeOf is the inverse of lifetime.
func lifetimeOf(ttl string) time.Duration {
	d, _ := time.ParseDuration(ttl)
	return d
}

// chatPart reads a part of Chat Completions; nil if package chat has none like it.
func chatPart(o object) chat.Part {
	switch kind := o.text("type"); {
	case kind == "text" && len(o) == 2:
		return chat.Text(o.text("text"))
	case kind == "image_url" && len(o) == 2:
		image := objectOf(o["image_url"])
		p := chat.Image{URL: image.text("url"), Detail: chat.ImageDetail(image.text("detail"))}
		delete(image, "url")
		delete(image, "detail")
		if len(image) == 0 {
			return p
		}
	case kind == "file" && len(o) == 2:
		if d, ok := documentOf(objectOf(o["file"])); ok {
			return d
		}
	}
	return nil
}

// documentOf reads a file that is sent with its data, under the name that [ChatRequest] and [ItemsRequest] give it.
func documentOf(file object) (chat.Document, bool) {
	head, data, ok := strings.Cut(file.text("file_data"), ";base64,")
	d := chat.Document{MediaType: strings.TrimPrefix(head, "data:"), Data: data}
	return d, ok && dataURL(d) == file.text("file_data") && file.text("filename") == fileName(d)
}

// keys returns the names of an object's fields, in order.
func (o object) keys() []string {
	var keys []string
	for key := range o {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
