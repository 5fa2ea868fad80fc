package einoagent

import (
	"bytes"
	"cmp"
	"encoding/json"
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

// originalKey is the key in a message's Extra of the [chat.Message] that it was made from, if eino cannot express all
// of it.
const originalKey = "_promptree_message"

// takenMark replaces, in the rest, a text that became a part.
const takenMark = "-"

// repeatedMark replaces, in the rest, a text that repeats the texts of a list of parts. Some models of eino do that.
const repeatedMark = "\x00repeats its parts"

// FromEino converts a message of eino. Texts, images, inline files, reasoning and tool calls become parts and calls. If
// anything remains, an opaque part at the end holds it, so that [ToEino] restores the message. Only StreamingMeta is
// lost, which eino does not keep either. Values in an Extra keep their types; a value whose type is neither basic nor
// registered with [schema.RegisterName] is an error.
//
// If the returned message is changed, as when a tool result is cleared, [ToEino] uses the changed content.
func FromEino(m *schema.Message) (chat.Message, error) {
	if m == nil {
		return chat.Message{}, errors.New("einoagent: the message is nil")
	}
	if c, ok := original(m); ok {
		return c, nil
	}
	rest := detached(m)
	c := chat.Message{Role: chat.Role(m.Role), Name: m.Name, ToolCallID: m.ToolCallID}
	c.Content = takeParts(rest)
	for i, call := range m.ToolCalls {
		c.ToolCalls = append(c.ToolCalls, chat.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		rest.ToolCalls[i].Function = schema.FunctionCall{}
	}
	if reflect.DeepEqual(plain(c), detached(m)) {
		return c, nil
	}
	rest.Role, rest.Name, rest.ToolCallID = "", "", ""
	value, err := encodeRest(rest)
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

// ToEino converts a message to eino's. If eino cannot express something, such as a cache breakpoint, the message's
// Extra keeps the original, from which [FromEino] restores it. Models of eino do not see it.
func ToEino(m chat.Message) (*schema.Message, error) {
	e, err := toEino(m)
	if err != nil {
		return nil, fmt.Errorf("einoagent: %w", err)
	}
	if back, err := FromEino(e); err == nil {
		_, got, _ := splitRest(back)
		_, want, _ := splitRest(m)
		if equal(got, want) {
			return e, nil
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("einoagent: %w", err)
	}
	e.Extra = maps.Clone(e.Extra)
	if e.Extra == nil {
		e.Extra = map[string]any{}
	}
	e.Extra[originalKey] = string(data)
	return e, nil
}

// equal reports whether two messages are equal. An empty list equals nil.
func equal(a, b chat.Message) bool {
	a.Content, b.Content = cloned(a.Content), cloned(b.Content)
	a.ToolCalls, b.ToolCalls = cloned(a.ToolCalls), cloned(b.ToolCalls)
	return reflect.DeepEqual(a, b)
}

// toEino converts what eino can express of a message.
func toEino(m chat.Message) (*schema.Message, error) {
	rest, others, err := splitRest(m)
	if err != nil || rest == nil {
		return plain(others), err
	}
	rest.Role, rest.Name, rest.ToolCallID = schema.RoleType(m.Role), m.Name, m.ToolCallID
	rest.ToolCalls = calls(m.ToolCalls, rest.ToolCalls)
	if fillSlots(rest, others.Content) {
		return rest, nil
	}
	said := plain(others) // the content was changed after FromEino
	rest.Content, rest.ReasoningContent = said.Content, said.ReasoningContent
	rest.MultiContent, rest.UserInputMultiContent, rest.AssistantGenMultiContent = nil, said.UserInputMultiContent, said.AssistantGenMultiContent
	return rest, nil
}

// fillSlots puts parts back where takeParts took them, and reports whether they fit there.
func fillSlots(rest *schema.Message, parts chat.Parts) bool {
	list := slots(rest)
	if len(list) != len(parts) {
		return false
	}
	for i, p := range list {
		if !p.put(parts[i]) {
			return false
		}
	}
	text, thought := textAndReasoning(rest)
	if rest.Content == repeatedMark {
		rest.Content = text
	}
	if rest.ReasoningContent == repeatedMark {
		rest.ReasoningContent = thought
	}
	return true
}

// takeParts moves the parts out of a message and leaves marks in their slots.
func takeParts(m *schema.Message) (list chat.Parts) {
	text, thought := textAndReasoning(m)
	if text != "" && m.Content == text {
		m.Content = repeatedMark
	}
	if thought != "" && m.ReasoningContent == thought {
		m.ReasoningContent = repeatedMark
	}
	for _, p := range slots(m) {
		list = append(list, p.take())
	}
	return list
}

// textAndReasoning returns the text and the reasoning in a message's lists of parts.
func textAndReasoning(m *schema.Message) (text, thought string) {
	for _, p := range m.MultiContent {
		if p.Type == schema.ChatMessagePartTypeText {
			text += p.Text
		}
	}
	for _, p := range m.UserInputMultiContent {
		if p.Type == schema.ChatMessagePartTypeText {
			text += p.Text
		}
	}
	for _, p := range m.AssistantGenMultiContent {
		switch {
		case p.Type == schema.ChatMessagePartTypeText:
			text += p.Text
		case p.Type == schema.ChatMessagePartTypeReasoning && p.Reasoning != nil:
			thought += p.Reasoning.Text
		}
	}
	return text, thought
}

// original returns the message that ToEino kept in the Extra, unless eino's message was changed since.
func original(m *schema.Message) (c chat.Message, ok bool) {
	data, ok := m.Extra[originalKey].(string)
	if !ok || json.Unmarshal([]byte(data), &c) != nil {
		return chat.Message{}, false
	}
	e, err := toEino(c)
	if err != nil || !reflect.DeepEqual(e, detached(without(m, originalKey))) {
		return chat.Message{}, false
	}
	return c, true
}

// plain returns a message of eino with the same content, as an application would write it.
func plain(m chat.Message) *schema.Message {
	e := &schema.Message{
		Role: schema.RoleType(m.Role), Name: m.Name, ToolCallID: m.ToolCallID, ToolCalls: calls(m.ToolCalls, nil),
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
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Thinking:
			e.ReasoningContent += p.Text
		case chat.Text:
			switch {
			case !listed:
				e.Content += string(p)
			case m.Role == chat.RoleAssistant:
				e.AssistantGenMultiContent = append(e.AssistantGenMultiContent, schema.MessageOutputPart{Type: schema.ChatMessagePartTypeText, Text: string(p)})
			default:
				e.UserInputMultiContent = append(e.UserInputMultiContent, schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: string(p)})
			}
		case chat.Image:
			if m.Role == chat.RoleAssistant {
				image := &schema.MessageOutputImage{}
				imageSlot(&image.MessagePartCommon, nil).put(p)
				e.AssistantGenMultiContent = append(e.AssistantGenMultiContent, schema.MessageOutputPart{Type: schema.ChatMessagePartTypeImageURL, Image: image})
				continue
			}
			image := &schema.MessageInputImage{}
			imageSlot(&image.MessagePartCommon, &image.Detail).put(p)
			e.UserInputMultiContent = append(e.UserInputMultiContent, schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: image})
		case chat.Document:
			if m.Role == chat.RoleAssistant {
				continue // eino has no files in answers
			}
			file := &schema.MessageInputFile{}
			fileSlot(&file.MessagePartCommon).put(p)
			e.UserInputMultiContent = append(e.UserInputMultiContent, schema.MessageInputPart{Type: schema.ChatMessagePartTypeFileURL, File: file})
		}
	}
	return e
}

// calls converts tool calls. Those of rest supply the other fields of the calls with the same id.
func calls(calls []chat.ToolCall, rest []schema.ToolCall) []schema.ToolCall {
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

// slot is a field of eino's message that corresponds to a part: the part, and a function that puts another one of the
// same type in its place.
type slot struct {
	part chat.Part
	put  func(chat.Part) bool
}

// take puts a mark in the place of the part, and returns it.
func (s slot) take() chat.Part {
	switch s.part.(type) {
	case chat.Text:
		s.put(chat.Text(takenMark))
	case chat.Thinking:
		s.put(chat.Thinking{Text: takenMark})
	case chat.Image:
		s.put(chat.Image{URL: takenMark})
	case chat.Document:
		s.put(chat.Document{Data: takenMark})
	}
	return s.part
}

// slots returns the slots of a message that hold something, in the order of the parts.
func slots(m *schema.Message) []slot {
	var list []slot
	for i := range m.MultiContent {
		p := &m.MultiContent[i]
		switch {
		case p.Type == schema.ChatMessagePartTypeText && p.Text != "":
			list = append(list, textSlot(&p.Text))
		case p.Type == schema.ChatMessagePartTypeImageURL && p.ImageURL != nil && p.ImageURL.URL != "":
			list = append(list, legacyImageSlot(&p.ImageURL.URL, &p.ImageURL.MIMEType, &p.ImageURL.Detail))
		}
	}
	for i := range m.UserInputMultiContent {
		p := &m.UserInputMultiContent[i]
		switch {
		case p.Type == schema.ChatMessagePartTypeText && p.Text != "":
			list = append(list, textSlot(&p.Text))
		case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil && located(&p.Image.MessagePartCommon):
			list = append(list, imageSlot(&p.Image.MessagePartCommon, &p.Image.Detail))
		case p.Type == schema.ChatMessagePartTypeFileURL && p.File != nil && p.File.Base64Data != nil && p.File.URL == nil:
			list = append(list, fileSlot(&p.File.MessagePartCommon))
		}
	}
	for i := range m.AssistantGenMultiContent {
		p := &m.AssistantGenMultiContent[i]
		switch {
		case p.Type == schema.ChatMessagePartTypeText && p.Text != "":
			list = append(list, textSlot(&p.Text))
		case p.Type == schema.ChatMessagePartTypeReasoning && p.Reasoning != nil && p.Reasoning.Text != "":
			list = append(list, thoughtSlot(&p.Reasoning.Text, p.Reasoning.Signature))
		case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil && located(&p.Image.MessagePartCommon):
			list = append(list, imageSlot(&p.Image.MessagePartCommon, nil))
		}
	}
	if m.Content != "" && m.Content != repeatedMark {
		list = append([]slot{textSlot(&m.Content)}, list...)
	}
	if m.ReasoningContent != "" && m.ReasoningContent != repeatedMark {
		list = append([]slot{thoughtSlot(&m.ReasoningContent, "")}, list...)
	}
	return list
}

func textSlot(text *string) slot {
	return slot{chat.Text(*text), func(p chat.Part) bool {
		t, ok := p.(chat.Text)
		*text = string(t)
		return ok
	}}
}

func thoughtSlot(text *string, signature string) slot {
	// Unsigned thinking is not shown.
	return slot{chat.Thinking{Text: *text, Signature: cmp.Or(signature, reasoningField)}, func(p chat.Part) bool {
		thought, ok := p.(chat.Thinking)
		*text = thought.Text
		return ok
	}}
}

// located reports whether a part has either a URL or inline data, not both, so that a [chat.Image] can hold it without
// loss.
func located(c *schema.MessagePartCommon) bool {
	if c.Base64Data != nil {
		return c.URL == nil && c.MIMEType != "" && !strings.ContainsAny(c.MIMEType, ";,")
	}
	return c.URL != nil && (*c.URL == takenMark || !isInline(*c.URL))
}

func isInline(url string) bool { _, _, ok := inline(url); return ok }

// inline returns the media type and the data of a base64 data URL.
func inline(url string) (mediaType, data string, ok bool) {
	head, data, ok := strings.Cut(url, ",")
	mediaType, isData := strings.CutPrefix(head, "data:")
	mediaType, is64 := strings.CutSuffix(mediaType, ";base64")
	return mediaType, data, ok && isData && is64 && mediaType != "" && !strings.Contains(mediaType, ";")
}

// imageSlot is the slot of an image, whose detail is nil in answers.
func imageSlot(c *schema.MessagePartCommon, detail *schema.ImageURLDetail) slot {
	var image chat.Image
	if c.Base64Data != nil {
		image.URL = "data:" + c.MIMEType + ";base64," + *c.Base64Data
	} else if c.URL != nil {
		image.URL, image.MediaType = *c.URL, c.MIMEType
	}
	if detail == nil {
		detail = new(schema.ImageURLDetail)
	}
	image.Detail = chat.ImageDetail(*detail)
	return slot{image, func(p chat.Part) bool {
		image, ok := p.(chat.Image)
		if mediaType, data, ok := inline(image.URL); ok {
			c.URL, c.Base64Data, c.MIMEType = nil, &data, mediaType
		} else {
			c.URL, c.Base64Data, c.MIMEType = &image.URL, nil, image.MediaType
		}
		*detail = schema.ImageURLDetail(image.Detail)
		return ok
	}}
}

// legacyImageSlot is the slot of an image in the deprecated MultiContent.
func legacyImageSlot(url, mediaType *string, detail *schema.ImageURLDetail) slot {
	return slot{chat.Image{URL: *url, Detail: chat.ImageDetail(*detail), MediaType: *mediaType}, func(p chat.Part) bool {
		image, ok := p.(chat.Image)
		*url, *detail, *mediaType = image.URL, schema.ImageURLDetail(image.Detail), image.MediaType
		return ok
	}}
}

func fileSlot(c *schema.MessagePartCommon) slot {
	var document chat.Document
	if c.Base64Data != nil {
		document = chat.Document{Data: *c.Base64Data, MediaType: c.MIMEType}
	}
	return slot{document, func(p chat.Part) bool {
		document, ok := p.(chat.Document)
		c.Base64Data, c.MIMEType = &document.Data, document.MediaType
		return ok
	}}
}

// hasMedia reports whether the rest of a message holds media that a model is sent.
func hasMedia(m *schema.Message) bool {
	for _, p := range m.UserInputMultiContent {
		if p.Audio != nil || p.Video != nil || p.ToolSearchResult != nil {
			return true
		}
	}
	for _, p := range m.AssistantGenMultiContent {
		if p.Audio != nil || p.Video != nil {
			return true
		}
	}
	for _, p := range m.MultiContent {
		if p.AudioURL != nil || p.VideoURL != nil {
			return true
		}
	}
	return false
}

// without returns a message without some keys of its Extra.
func without(m *schema.Message, keys ...string) *schema.Message {
	c := *m
	c.Extra = maps.Clone(m.Extra)
	for _, key := range keys {
		delete(c.Extra, key)
	}
	return &c
}

// detached returns a deep copy, except that maps are shared. Empty slices and maps become nil.
func detached(m *schema.Message) *schema.Message {
	c := *m
	detach(reflect.ValueOf(&c).Elem())
	return &c
}

// detach replaces pointers and slices in a value by deep copies. Maps stay shared.
func detach(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			detach(field)
		}
	case reflect.Pointer:
		if v.CanSet() && !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(v.Elem())
			v.Set(p)
			detach(p.Elem())
		}
	case reflect.Slice:
		if !v.CanSet() {
			return
		}
		if v.Len() == 0 {
			v.SetZero()
			return
		}
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		v.Set(list)
		for i := range list.Len() {
			detach(list.Index(i))
		}
	case reflect.Map:
		if v.CanSet() && v.Len() == 0 {
			v.SetZero()
		}
	}
}

func cloned[T any](list []T) []T { return append([]T(nil), list...) }

// extras returns the Extras of a message, in an order that is the same after the message was written as JSON and read.
func extras(m *schema.Message) (list []*map[string]any) {
	var collect func(v reflect.Value)
	collect = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for _, field := range v.Fields() {
				if field.CanSet() {
					collect(field)
				}
			}
		case reflect.Pointer:
			if !v.IsNil() {
				collect(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				collect(v.Index(i))
			}
		case reflect.Map:
			if extra, ok := v.Addr().Interface().(*map[string]any); ok {
				list = append(list, extra)
			}
		}
	}
	collect(reflect.ValueOf(m).Elem())
	return list
}

// restJSON is the value of the opaque part.
type restJSON struct {
	Type    string          `json:"type"`
	Message *schema.Message `json:"message"`
	// Extras holds the Extras that are not empty, by their index in extras(Message).
	Extras map[int]value `json:"extras,omitempty"`
}

func encodeRest(rest *schema.Message) (json.RawMessage, error) {
	out := restJSON{Type: opaqueType, Message: rest}
	for i, values := range extras(rest) {
		if len(*values) == 0 {
			continue
		}
		if out.Extras == nil {
			out.Extras = map[int]value{}
		}
		var err error
		if out.Extras[i], err = encode(*values); err != nil {
			return nil, err
		}
		*values = nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// splitRest returns the rest that a message's opaque part holds, and the message without that part. The rest is nil if
// there is no such part.
func splitRest(m chat.Message) (*schema.Message, chat.Message, error) {
	for i, p := range m.Content {
		o, ok := p.(chat.Opaque)
		if !ok {
			continue
		}
		var kind struct{ Type string }
		if json.Unmarshal(o.Value, &kind) != nil || kind.Type != opaqueType {
			continue
		}
		var in restJSON
		err := json.Unmarshal(o.Value, &in)
		if err == nil && in.Message == nil {
			err = errors.New("it has no message")
		}
		if err != nil {
			return nil, m, unreadable(m, err)
		}
		for k, values := range extras(in.Message) {
			if of, ok := in.Extras[k]; ok {
				decoded, err := of.decode()
				if err != nil {
					return nil, m, unreadable(m, err)
				}
				*values, _ = decoded.(map[string]any)
			}
		}
		m.Content = slices.Delete(slices.Clone(m.Content), i, i+1)
		return in.Message, m, nil
	}
	return nil, m, nil
}

func unreadable(m chat.Message, err error) error {
	return fmt.Errorf("the opaque part of a message of %s cannot be read: %w", m.Role, err)
}
