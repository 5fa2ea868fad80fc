package einoagent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements/chat"
)

// opaqueType is the type of the opaque part that holds the fields for which [chat.Message] has no equivalent: the rest.
const opaqueType = "eino"

// reasoningField is the signature of thinking that eino has as plain text. Package render/openai uses the same
// signature for thinking that came in this field.
const reasoningField = "reasoning_content"

var errNil = errors.New("einoagent: the message is nil")

// FromEino converts a message of eino. Texts, images, inline files, reasoning and tool calls become parts and calls. If
// that is not all, an opaque part at the end holds the message, so that [ToEino] restores it. Only StreamingMeta is
// lost, which eino does not keep either. Values in an Extra keep their types; a value whose type is neither basic nor
// registered with [schema.RegisterName] is an error.
//
// If the returned message is changed, as when a tool result is cleared, [ToEino] uses the changed content.
func FromEino(m *schema.Message) (chat.Message, error) {
	if m == nil {
		return chat.Message{}, errNil
	}
	c := parts(m)
	rest := detached(m)
	if reflect.DeepEqual(plain(c), rest) {
		return c, nil
	}
	first := firstText(c) == rest.Content
	if first {
		rest.Content = ""
	}
	value, err := pack(opaqueType, rest, first)
	if err != nil {
		return chat.Message{}, fmt.Errorf("einoagent: a message of %s: %w", m.Role, err)
	}
	tokens := 1 // the opaque part itself is not sent
	if hasMedia(rest) {
		tokens = 0 // the tokenizer estimates it
	}
	c.Content = append(c.Content, chat.Opaque{Value: value, Tokens: tokens})
	return c, nil
}

// ToEino converts a message to eino's. What eino cannot express, such as a cache breakpoint, is left out.
func ToEino(m chat.Message) (*schema.Message, error) {
	was, others, err := splitRest(m)
	switch {
	case err != nil:
		return nil, err
	case was == nil:
		return plain(others), nil
	}
	if equal(parts(was), others) {
		return was, nil
	}
	said := plain(others) // the message was changed after FromEino
	said.ToolCalls, said.ToolName, said.Extra, said.ResponseMeta = toCalls(m.ToolCalls, was.ToolCalls), was.ToolName, was.Extra, was.ResponseMeta
	return said, nil
}

// equal reports whether two messages are equal. An empty list equals nil.
func equal(a, b chat.Message) bool {
	a.Content, b.Content = cloned(a.Content), cloned(b.Content)
	a.ToolCalls, b.ToolCalls = cloned(a.ToolCalls), cloned(b.ToolCalls)
	return reflect.DeepEqual(a, b)
}

// parts converts a message as far as [chat.Message] has an equivalent.
func parts(m *schema.Message) chat.Message {
	c := chat.Message{Role: chat.Role(m.Role), Name: m.Name, ToolCallID: m.ToolCallID}
	text, thought := "", "" // in lists, which some models repeat in Content and ReasoningContent
	say := func(s string) {
		if s != "" {
			text += s
			c.Content = append(c.Content, chat.Text(s))
		}
	}
	for _, p := range m.MultiContent {
		switch {
		case p.Type == schema.ChatMessagePartTypeText:
			say(p.Text)
		case p.Type == schema.ChatMessagePartTypeImageURL && p.ImageURL != nil && p.ImageURL.URL != "":
			c.Content = append(c.Content, chat.Image{URL: p.ImageURL.URL, Detail: chat.ImageDetail(p.ImageURL.Detail), MediaType: p.ImageURL.MIMEType})
		}
	}
	for _, p := range m.UserInputMultiContent {
		switch {
		case p.Type == schema.ChatMessagePartTypeText:
			say(p.Text)
		case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil && located(p.Image.MessagePartCommon):
			c.Content = append(c.Content, imageOf(p.Image.MessagePartCommon, p.Image.Detail))
		case p.Type == schema.ChatMessagePartTypeFileURL && p.File != nil && p.File.Base64Data != nil && p.File.URL == nil:
			c.Content = append(c.Content, chat.Document{Data: *p.File.Base64Data, MediaType: p.File.MIMEType})
		}
	}
	for _, p := range m.AssistantGenMultiContent {
		switch {
		case p.Type == schema.ChatMessagePartTypeText:
			say(p.Text)
		case p.Type == schema.ChatMessagePartTypeReasoning && p.Reasoning != nil && p.Reasoning.Text != "":
			thought += p.Reasoning.Text
			c.Content = append(c.Content, thinking(p.Reasoning.Text, p.Reasoning.Signature))
		case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil && located(p.Image.MessagePartCommon):
			c.Content = append(c.Content, imageOf(p.Image.MessagePartCommon, ""))
		}
	}
	if m.Content != "" && m.Content != text {
		c.Content = append(chat.Parts{chat.Text(m.Content)}, c.Content...)
	}
	if m.ReasoningContent != "" && m.ReasoningContent != thought {
		c.Content = append(chat.Parts{thinking(m.ReasoningContent, "")}, c.Content...)
	}
	for _, call := range m.ToolCalls {
		c.ToolCalls = append(c.ToolCalls, chat.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return c
}

// thinking returns a thought. Unsigned thinking is not shown.
func thinking(text, signature string) chat.Thinking {
	return chat.Thinking{Text: text, Signature: cmp.Or(signature, reasoningField)}
}

// located reports whether a part has either a URL or inline data, not both, so that a [chat.Image] can hold it without
// loss.
func located(c schema.MessagePartCommon) bool {
	if c.Base64Data != nil {
		return c.URL == nil && c.MIMEType != "" && !strings.ContainsAny(c.MIMEType, ";,")
	}
	return c.URL != nil
}

func imageOf(c schema.MessagePartCommon, detail schema.ImageURLDetail) chat.Image {
	if c.Base64Data != nil {
		return chat.Image{URL: "data:" + c.MIMEType + ";base64," + *c.Base64Data, Detail: chat.ImageDetail(detail)}
	}
	return chat.Image{URL: *c.URL, MediaType: c.MIMEType, Detail: chat.ImageDetail(detail)}
}

func common(i chat.Image) schema.MessagePartCommon {
	if mediaType, data, ok := inline(i.URL); ok {
		return schema.MessagePartCommon{Base64Data: &data, MIMEType: mediaType}
	}
	return schema.MessagePartCommon{URL: &i.URL, MIMEType: i.MediaType}
}

// inline returns the media type and the data of a base64 data URL.
func inline(url string) (mediaType, data string, ok bool) {
	head, data, ok := strings.Cut(url, ",")
	mediaType, isData := strings.CutPrefix(head, "data:")
	mediaType, is64 := strings.CutSuffix(mediaType, ";base64")
	return mediaType, data, ok && isData && is64 && mediaType != "" && !strings.Contains(mediaType, ";")
}

// plain returns a message of eino with the same content, as an application would write it.
func plain(m chat.Message) *schema.Message {
	e := &schema.Message{
		Role: schema.RoleType(m.Role), Name: m.Name, ToolCallID: m.ToolCallID, ToolCalls: toCalls(m.ToolCalls, nil),
	}
	texts, media := 0, false
	for _, p := range m.Content {
		switch p.(type) {
		case chat.Text:
			texts++
		case chat.Image, chat.Document:
			media = true
		}
	}
	listed := media || texts > 1 && m.Role == chat.RoleUser
	list := func(p schema.MessageInputPart) {
		switch {
		case m.Role != chat.RoleAssistant:
			e.UserInputMultiContent = append(e.UserInputMultiContent, p)
		case p.Image != nil:
			image := &schema.MessageOutputImage{MessagePartCommon: p.Image.MessagePartCommon}
			e.AssistantGenMultiContent = append(e.AssistantGenMultiContent, schema.MessageOutputPart{Type: p.Type, Image: image})
		case p.File == nil: // eino has no files in answers
			e.AssistantGenMultiContent = append(e.AssistantGenMultiContent, schema.MessageOutputPart{Type: p.Type, Text: p.Text})
		}
	}
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Thinking:
			e.ReasoningContent += p.Text
		case chat.Text:
			if listed {
				list(schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: string(p)})
			} else {
				e.Content += string(p)
			}
		case chat.Image:
			list(schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: common(p), Detail: schema.ImageURLDetail(p.Detail)}})
		case chat.Document:
			list(schema.MessageInputPart{Type: schema.ChatMessagePartTypeFileURL, File: &schema.MessageInputFile{MessagePartCommon: schema.MessagePartCommon{Base64Data: &p.Data, MIMEType: p.MediaType}}})
		}
	}
	return e
}

// toCalls converts tool calls. Those of rest supply the other fields of the calls with the same id.
func toCalls(calls []chat.ToolCall, rest []schema.ToolCall) []schema.ToolCall {
	var list []schema.ToolCall
	rest = slices.Clone(rest)
	for _, c := range calls {
		call := schema.ToolCall{ID: c.ID, Type: "function"}
		if i := slices.IndexFunc(rest, func(r schema.ToolCall) bool { return r.ID == c.ID }); i >= 0 {
			call = rest[i]
			rest = slices.Delete(rest, i, i+1)
		}
		call.Function = schema.FunctionCall{Name: c.Name, Arguments: c.Arguments}
		list = append(list, call)
	}
	return list
}

// hasMedia reports whether a message holds media, which a model is sent, that [chat.Message] has no equivalent for.
func hasMedia(m *schema.Message) bool {
	for _, p := range m.MultiContent {
		if p.AudioURL != nil || p.VideoURL != nil {
			return true
		}
	}
	return slices.ContainsFunc(m.UserInputMultiContent, func(p schema.MessageInputPart) bool {
		return p.Audio != nil || p.Video != nil || p.ToolSearchResult != nil
	}) || slices.ContainsFunc(m.AssistantGenMultiContent, func(p schema.MessageOutputPart) bool {
		return p.Audio != nil || p.Video != nil
	})
}

// withoutID returns a message without eino's own id.
func withoutID(m *schema.Message) *schema.Message {
	c := *m
	c.Extra = maps.Clone(m.Extra)
	delete(c.Extra, idKey)
	return &c
}

// detached returns a deep copy, except that maps are shared. Empty slices and maps become nil.
func detached[T any](of *T) *T {
	c := *of
	detach(reflect.ValueOf(&c).Elem())
	return &c
}

// detach replaces pointers and slices in a value by deep copies. Maps stay shared.
func detach(v reflect.Value) {
	switch k := v.Kind(); {
	case (k == reflect.Slice || k == reflect.Map) && v.Len() == 0:
		v.SetZero()
	case k == reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				detach(field)
			}
		}
	case k == reflect.Pointer && !v.IsNil():
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(v.Elem())
		v.Set(p)
		detach(p.Elem())
	case k == reflect.Slice:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		v.Set(list)
		for i := range list.Len() {
			detach(list.Index(i))
		}
	}
}

func cloned[T any](list []T) []T { return append([]T(nil), list...) }

// splitRest returns the rest that a message's opaque part holds, and the message without that part. The rest is nil if
// there is no such part.
func splitRest(m chat.Message) (*schema.Message, chat.Message, error) {
	for i, p := range m.Content {
		o, _ := p.(chat.Opaque)
		rest, first, err := unpack[schema.Message](opaqueType, o)
		if err != nil {
			return nil, m, fmt.Errorf("einoagent: the opaque part of a message of %s cannot be read: %w", m.Role, err)
		}
		if rest == nil {
			continue
		}
		if m.Content = slices.Delete(slices.Clone(m.Content), i, i+1); first {
			rest.Content = firstText(m)
		}
		return rest, m, nil
	}
	return nil, m, nil
}

func firstText(m chat.Message) string {
	for _, p := range m.Content {
		if t, ok := p.(chat.Text); ok {
			return string(t)
		}
	}
	return ""
}
