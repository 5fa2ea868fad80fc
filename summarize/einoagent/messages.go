package einoagent

import (
	"bytes"
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

// opaqueType is the type of the opaque part that holds what [chat.Message] has no word for.
const opaqueType = "eino"

// reasoningField is the signature of thinking that eino has as plain text. Package render/openai names thinking that came in
// this field in the same way.
const reasoningField = "reasoning_content"

// originalKey is the key in a message's Extra of our own message, if eino has no word for something in it.
const originalKey = "_promptree_message"

// taken stands in the opaque part for a text that is a part of its own.
const taken = "-"

// repeated stands there for a text that repeats those of a list of parts, as some models of eino have it.
const repeated = "\x00repeats its parts"

// FromEino returns a message of eino as ours. Texts, images, files given inline, reasoning and tool calls become parts and
// calls. If that is not all, an opaque part at the end holds the rest, and [ToEino] of the result is the message as it was,
// but for StreamingMeta, which eino does not keep either. Values in an Extra keep their types; one whose type is neither a
// basic one nor registered by [schema.RegisterName] is an error.
//
// If a message that FromEino returned was changed since, such as a tool result that was cleared, [ToEino] goes by what it says
// now.
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
	tokens := 1 // it is not sent as it is
	if hasMedia(rest) {
		tokens = 0 // to be estimated
	}
	c.Content = append(c.Content, chat.Opaque{Value: value, Tokens: tokens})
	return c, nil
}

// ToEino returns our message as eino's. What eino has no word for, such as a cache breakpoint, is kept in the message's Extra,
// from which [FromEino] has it back; models of eino do not see it.
func ToEino(m chat.Message) (*schema.Message, error) {
	e, err := toEino(m)
	if err != nil {
		return nil, err
	}
	if back, err := FromEino(e); err == nil {
		_, got, _ := restOf(back)
		_, want, _ := restOf(m)
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

// equal reports whether two messages are the same; empty lists are the same as none.
func equal(a, b chat.Message) bool {
	a.Content, b.Content = cloned(a.Content), cloned(b.Content)
	a.ToolCalls, b.ToolCalls = cloned(a.ToolCalls), cloned(b.ToolCalls)
	return reflect.DeepEqual(a, b)
}

// toEino returns a message of eino with all of ours that eino has a word for.
func toEino(m chat.Message) (*schema.Message, error) {
	rest, others, err := restOf(m)
	if err != nil || rest == nil {
		return plain(others), err
	}
	rest.Role, rest.Name, rest.ToolCallID = schema.RoleType(m.Role), m.Name, m.ToolCallID
	rest.ToolCalls = calls(m.ToolCalls, rest.ToolCalls)
	if fill(rest, others.Content) {
		return rest, nil
	}
	said := plain(others) // the content was changed since
	rest.Content, rest.ReasoningContent = said.Content, said.ReasoningContent
	rest.MultiContent, rest.UserInputMultiContent, rest.AssistantGenMultiContent = nil, said.UserInputMultiContent, said.AssistantGenMultiContent
	return rest, nil
}

// fill puts parts where they were taken, and reports whether they are those.
func fill(rest *schema.Message, parts chat.Parts) bool {
	open := places(rest)
	if len(open) != len(parts) {
		return false
	}
	for i, p := range open {
		if !p.put(parts[i]) {
			return false
		}
	}
	text, thought := listed(rest)
	if rest.Content == repeated {
		rest.Content = text
	}
	if rest.ReasoningContent == repeated {
		rest.ReasoningContent = thought
	}
	return true
}

// takeParts takes the parts out of a message.
func takeParts(m *schema.Message) (list chat.Parts) {
	text, thought := listed(m)
	if text != "" && m.Content == text {
		m.Content = repeated
	}
	if thought != "" && m.ReasoningContent == thought {
		m.ReasoningContent = repeated
	}
	for _, p := range places(m) {
		list = append(list, p.take())
	}
	return list
}

// listed returns the text and the reasoning in a message's lists of parts.
func listed(m *schema.Message) (text, thought string) {
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

// original returns our own message that ToEino kept in one of eino's, unless that was changed since.
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

// plain returns a message of eino that says what ours does, as an application would write it.
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
				imagePlace{common: &image.MessagePartCommon}.put(p)
				e.AssistantGenMultiContent = append(e.AssistantGenMultiContent, schema.MessageOutputPart{Type: schema.ChatMessagePartTypeImageURL, Image: image})
				continue
			}
			image := &schema.MessageInputImage{}
			imagePlace{&image.MessagePartCommon, &image.Detail}.put(p)
			e.UserInputMultiContent = append(e.UserInputMultiContent, schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: image})
		case chat.Document:
			if m.Role == chat.RoleAssistant {
				continue // eino has no files in answers
			}
			file := &schema.MessageInputFile{}
			filePlace{&file.MessagePartCommon}.put(p)
			e.UserInputMultiContent = append(e.UserInputMultiContent, schema.MessageInputPart{Type: schema.ChatMessagePartTypeFileURL, File: file})
		}
	}
	return e
}

// calls returns tool calls of eino, each with what is known of it besides.
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

// place is where a message of eino holds something that is a part of ours. Take leaves a mark there, which put replaces.
type place interface {
	take() chat.Part
	put(p chat.Part) bool
}

// places returns those of a message that hold something, in the order of our parts.
func places(m *schema.Message) []place {
	var list []place
	for i := range m.MultiContent {
		p := &m.MultiContent[i]
		switch {
		case p.Type == schema.ChatMessagePartTypeText && p.Text != "":
			list = append(list, textPlace{&p.Text})
		case p.Type == schema.ChatMessagePartTypeImageURL && p.ImageURL != nil && p.ImageURL.URL != "":
			list = append(list, legacyImage{&p.ImageURL.URL, &p.ImageURL.MIMEType, &p.ImageURL.Detail})
		}
	}
	for i := range m.UserInputMultiContent {
		p := &m.UserInputMultiContent[i]
		switch {
		case p.Type == schema.ChatMessagePartTypeText && p.Text != "":
			list = append(list, textPlace{&p.Text})
		case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil && located(&p.Image.MessagePartCommon):
			list = append(list, imagePlace{&p.Image.MessagePartCommon, &p.Image.Detail})
		case p.Type == schema.ChatMessagePartTypeFileURL && p.File != nil && p.File.Base64Data != nil && p.File.URL == nil:
			list = append(list, filePlace{&p.File.MessagePartCommon})
		}
	}
	for i := range m.AssistantGenMultiContent {
		p := &m.AssistantGenMultiContent[i]
		switch {
		case p.Type == schema.ChatMessagePartTypeText && p.Text != "":
			list = append(list, textPlace{&p.Text})
		case p.Type == schema.ChatMessagePartTypeReasoning && p.Reasoning != nil && p.Reasoning.Text != "":
			list = append(list, thoughtPlace{&p.Reasoning.Text, p.Reasoning.Signature})
		case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil && located(&p.Image.MessagePartCommon):
			list = append(list, imagePlace{common: &p.Image.MessagePartCommon})
		}
	}
	if m.Content != "" && m.Content != repeated {
		list = append([]place{textPlace{&m.Content}}, list...)
	}
	if m.ReasoningContent != "" && m.ReasoningContent != repeated {
		list = append([]place{thoughtPlace{&m.ReasoningContent, ""}}, list...)
	}
	return list
}

type textPlace struct{ text *string }

func (t textPlace) take() chat.Part {
	p := chat.Text(*t.text)
	*t.text = taken
	return p
}

func (t textPlace) put(p chat.Part) bool {
	text, ok := p.(chat.Text)
	*t.text = string(text)
	return ok
}

type thoughtPlace struct {
	text      *string
	signature string
}

func (t thoughtPlace) take() chat.Part {
	p := chat.Thinking{Text: *t.text, Signature: t.signature}
	if p.Signature == "" {
		p.Signature = reasoningField // unsigned thinking is not shown
	}
	*t.text = taken
	return p
}

func (t thoughtPlace) put(p chat.Part) bool {
	thought, ok := p.(chat.Thinking)
	*t.text = thought.Text
	return ok
}

// located reports whether a part has exactly one of a URL and data, and is told from the other by it.
func located(c *schema.MessagePartCommon) bool {
	if c.Base64Data != nil {
		return c.URL == nil && c.MIMEType != "" && !strings.ContainsAny(c.MIMEType, ";,")
	}
	return c.URL != nil && (*c.URL == taken || !isInline(*c.URL))
}

func isInline(url string) bool { _, _, ok := inline(url); return ok }

// inline returns the parts of a data URL in base64.
func inline(url string) (mediaType, data string, ok bool) {
	head, data, ok := strings.Cut(url, ",")
	mediaType, isData := strings.CutPrefix(head, "data:")
	mediaType, is64 := strings.CutSuffix(mediaType, ";base64")
	return mediaType, data, ok && isData && is64 && mediaType != "" && !strings.Contains(mediaType, ";")
}

type imagePlace struct {
	common *schema.MessagePartCommon
	detail *schema.ImageURLDetail // nil in answers
}

func (i imagePlace) take() chat.Part {
	p := chat.Image{}
	if c := i.common; c.Base64Data != nil {
		p.URL = "data:" + c.MIMEType + ";base64," + *c.Base64Data
	} else {
		p.URL, p.MediaType = *c.URL, c.MIMEType
	}
	i.common.Base64Data, i.common.MIMEType, i.common.URL = nil, "", new(taken)
	if i.detail != nil {
		p.Detail = chat.ImageDetail(*i.detail)
		*i.detail = ""
	}
	return p
}

func (i imagePlace) put(p chat.Part) bool {
	image, ok := p.(chat.Image)
	if mediaType, data, ok := inline(image.URL); ok {
		i.common.URL, i.common.Base64Data, i.common.MIMEType = nil, &data, mediaType
	} else {
		i.common.URL, i.common.MIMEType = &image.URL, image.MediaType
	}
	if i.detail != nil {
		*i.detail = schema.ImageURLDetail(image.Detail)
	}
	return ok
}

// legacyImage is an image as eino had it before.
type legacyImage struct {
	url, mediaType *string
	detail         *schema.ImageURLDetail
}

func (l legacyImage) take() chat.Part {
	p := chat.Image{URL: *l.url, Detail: chat.ImageDetail(*l.detail), MediaType: *l.mediaType}
	*l.url, *l.detail, *l.mediaType = taken, "", ""
	return p
}

func (l legacyImage) put(p chat.Part) bool {
	image, ok := p.(chat.Image)
	*l.url, *l.detail, *l.mediaType = image.URL, schema.ImageURLDetail(image.Detail), image.MediaType
	return ok
}

type filePlace struct{ common *schema.MessagePartCommon }

func (f filePlace) take() chat.Part {
	p := chat.Document{Data: *f.common.Base64Data, MediaType: f.common.MIMEType}
	f.common.Base64Data, f.common.MIMEType = new(taken), ""
	return p
}

func (f filePlace) put(p chat.Part) bool {
	document, ok := p.(chat.Document)
	f.common.Base64Data, f.common.MIMEType = &document.Data, document.MediaType
	return ok
}

// hasMedia reports whether something that a model is sent is nowhere but in the rest of a message.
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

// detached returns a copy that can be changed in all but what its maps hold. What is empty is the same as what is missing there.
func detached(m *schema.Message) *schema.Message {
	c := *m
	detach(reflect.ValueOf(&c).Elem())
	return &c
}

// detach makes a value share no memory with that of which it is a copy, but for maps.
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

// extras returns the Extras of a message, in an order that follows from the rest of it.
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
	// Extras by their number, of those that are not empty.
	Extras map[int]json.RawMessage `json:"extras,omitempty"`
}

func encodeRest(rest *schema.Message) (json.RawMessage, error) {
	out := restJSON{Type: opaqueType, Message: rest}
	for i, extra := range extras(rest) {
		if len(*extra) == 0 {
			continue
		}
		value, err := encodeValue(*extra)
		if err != nil {
			return nil, err
		}
		if out.Extras == nil {
			out.Extras = map[int]json.RawMessage{}
		}
		out.Extras[i] = value
		*extra = nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// restOf returns what the opaque part of a message holds, nil if it has none, and the message without it.
func restOf(m chat.Message) (*schema.Message, chat.Message, error) {
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
		for k, extra := range extras(in.Message) {
			value, ok := in.Extras[k]
			if !ok {
				continue
			}
			decoded, err := decodeValue(value)
			if err != nil {
				return nil, m, unreadable(m, err)
			}
			*extra, _ = decoded.(map[string]any)
		}
		m.Content = slices.Delete(slices.Clone(m.Content), i, i+1)
		return in.Message, m, nil
	}
	return nil, m, nil
}

func unreadable(m chat.Message, err error) error {
	return fmt.Errorf("einoagent: the opaque part of a message of %s cannot be read: %w", m.Role, err)
}
