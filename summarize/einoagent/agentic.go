package einoagent

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements/chat"
)

// NewAgentic returns the middleware for agents of [schema.AgenticMessage], whose blocks the provider's own tools write
// too. It is otherwise that of [New].
func NewAgentic(o Options) (adk.TypedChatModelAgentMiddleware[*schema.AgenticMessage], error) {
	return newMiddleware(o, agenticForm)
}

// AgenticModel returns a model of [schema.AgenticMessage] as a [chat.Model], like [Model]. Streamed answers arrive in one
// piece.
func AgenticModel(m model.AgenticModel) chat.Model {
	return einoModel[*schema.AgenticMessage]{m, agenticForm}
}

// agenticForm is the form of [schema.AgenticMessage].
var agenticForm = form[*schema.AgenticMessage]{
	from: fromAgentic, to: toAgentic, usage: agenticUsage, calls: withAgenticIDs, reason: agenticReason, answer: agenticAnswer,
	meta: func(of, to *schema.AgenticMessage) { to.ResponseMeta = of.ResponseMeta },
	list: func(list []*schema.AgenticMessage) []*schema.AgenticMessage {
		return inOrder(list, agenticCalls, agenticAnswers)
	},
}

// agenticAnswer converts an answer.
func agenticAnswer(m *schema.AgenticMessage) (chat.Response, error) {
	said, err := fromAgentic(m)
	if err != nil || len(said) != 1 {
		return chat.Response{}, cmp.Or(err, emptyAnswer())
	}
	return ended(chat.Response{Message: chat.WithCallIDs(said[0]), Usage: agenticUsage(m)}, agenticReason(m))
}

// agenticReason returns why an answer ended, in its provider's words.
func agenticReason(m *schema.AgenticMessage) string {
	switch r := orZero(m.ResponseMeta); {
	case r.ClaudeExtension != nil:
		return r.ClaudeExtension.StopReason
	case r.GeminiExtension != nil:
		return r.GeminiExtension.FinishReason
	case r.OpenAIExtension != nil && r.OpenAIExtension.IncompleteDetails != nil:
		return r.OpenAIExtension.IncompleteDetails.Reason
	}
	return ""
}

func agenticUsage(m *schema.AgenticMessage) chat.Usage {
	return tokenUsage(orZero(m.ResponseMeta).TokenUsage)
}

// agenticCalls returns the ids of the calls of a message.
func agenticCalls(m *schema.AgenticMessage) (ids []string) {
	for _, b := range m.ContentBlocks {
		if b != nil && b.FunctionToolCall != nil {
			ids = append(ids, b.FunctionToolCall.CallID)
		}
	}
	return ids
}

// agenticAnswers returns the id of the call that a message answers, and whether it answers one.
func agenticAnswers(m *schema.AgenticMessage) (string, bool) {
	if len(m.ContentBlocks) == 1 && m.ContentBlocks[0] != nil && m.ContentBlocks[0].FunctionToolResult != nil {
		return m.ContentBlocks[0].FunctionToolResult.CallID, true
	}
	return "", false
}

// withAgenticIDs returns an answer in which each call has an id.
func withAgenticIDs(ids *callIDs, m *schema.AgenticMessage) *schema.AgenticMessage {
	out := *m
	out.ContentBlocks = cloned(m.ContentBlocks)
	for i, b := range out.ContentBlocks {
		if b != nil && b.FunctionToolCall != nil && b.FunctionToolCall.CallID == "" && b.FunctionToolCall.Name != "" {
			block, call := *b, *b.FunctionToolCall
			call.CallID, block.FunctionToolCall = ids.Next(""), &call
			out.ContentBlocks[i] = &block
		}
	}
	return &out
}

// fromAgentic converts a message: texts, images, inline files, reasoning, calls, and the results of calls, each of which
// becomes a message of its own.
func fromAgentic(m *schema.AgenticMessage) (list []chat.Message, err error) {
	if m == nil {
		return nil, errNil
	}
	said := chat.Message{Role: chat.Role(m.Role)}
	for _, b := range m.ContentBlocks {
		if b == nil {
			continue
		}
		rest := *b
		rest.StreamingMeta = nil
		if r := b.FunctionToolResult; r != nil {
			result := chat.Message{Role: chat.RoleTool, Name: r.Name, ToolCallID: r.CallID}
			for _, c := range r.Content {
				if c == nil {
					continue
				}
				of := schema.ContentBlock{Type: schema.ContentBlockType(inputType + c.Type), UserInputText: c.Text, UserInputImage: c.Image, UserInputAudio: c.Audio, UserInputVideo: c.Video, UserInputFile: c.File, Extra: c.Extra}
				if result.Content, err = appendBlock(result.Content, of, false); err != nil {
					return nil, err
				}
			}
			list = append(list, result)
			continue
		}
		if c := b.FunctionToolCall; c != nil && m.Role == schema.AgenticRoleTypeAssistant {
			said.ToolCalls = append(said.ToolCalls, chat.ToolCall{ID: c.CallID, Name: c.Name, Arguments: c.Arguments})
			if rest.FunctionToolCall = nil; len(rest.Extra) == 0 {
				continue
			}
		}
		if said.Content, err = appendBlock(said.Content, rest, m.Role == schema.AgenticRoleTypeAssistant); err != nil {
			return nil, err
		}
	}
	if len(said.Content)+len(said.ToolCalls) > 0 {
		list = append(list, said)
	}
	return list, nil
}

// appendBlock appends a block of an answer or of another message as a part. If that is not all of it, an opaque part after
// it holds the block.
func appendBlock(parts chat.Parts, b schema.ContentBlock, answer bool) (chat.Parts, error) {
	p, tokens := part(&b), 0 // which the tokenizer estimates
	if p != nil {
		plain := block(p, answer)
		if parts, plain.Type, tokens = append(parts, p), b.Type, 1; reflect.DeepEqual(*plain, b) {
			return parts, nil
		}
	} else if b.Type == schema.ContentBlockTypeFunctionToolCall {
		tokens = 1 // the call is elsewhere
	}
	value, err := pack(blockType, detached(&b), false)
	if err != nil {
		return nil, fmt.Errorf("einoagent: a block of type %q: %w", b.Type, err)
	}
	return append(parts, chat.Opaque{Value: value, Tokens: tokens}), nil
}

// part returns what [chat.Message] can hold of a block, or nil.
func part(b *schema.ContentBlock) chat.Part {
	switch {
	case b.UserInputText != nil:
		return chat.Text(b.UserInputText.Text)
	case b.AssistantGenText != nil:
		return chat.Text(b.AssistantGenText.Text)
	case b.Reasoning != nil:
		return thinking(b.Reasoning.Text, b.Reasoning.Signature)
	case b.UserInputImage != nil && b.UserInputImage.Base64Data != "" && b.UserInputImage.MIMEType != "":
		return imageOf(schema.MessagePartCommon{Base64Data: &b.UserInputImage.Base64Data, MIMEType: b.UserInputImage.MIMEType}, b.UserInputImage.Detail)
	case b.UserInputImage != nil:
		return imageOf(schema.MessagePartCommon{URL: &b.UserInputImage.URL, MIMEType: b.UserInputImage.MIMEType}, b.UserInputImage.Detail)
	case b.UserInputFile != nil && b.UserInputFile.Base64Data != "":
		return chat.Document{Data: b.UserInputFile.Base64Data, MediaType: b.UserInputFile.MIMEType}
	}
	return nil
}

// inputType is what types of blocks begin with that an application passes, but not those in results of tools.
const inputType = "user_input_"

// blockType is the type of the opaque part that holds a block.
const blockType = "eino block"

// toAgentic converts messages. What eino cannot express, such as a cache breakpoint, is left out.
func toAgentic(messages []chat.Message) ([]*schema.AgenticMessage, error) {
	var list []*schema.AgenticMessage
	called := map[string]string{}
	for _, m := range messages {
		e := &schema.AgenticMessage{Role: schema.AgenticRoleType(m.Role)}
		if m.Role == chat.RoleTool {
			e.Role = schema.AgenticRoleTypeUser
		}
		for i, p := range m.Content {
			if o, ok := p.(chat.Opaque); ok {
				b, _, err := unpack[schema.ContentBlock](blockType, o)
				if err != nil {
					return nil, fmt.Errorf("einoagent: the opaque part of a message of %s cannot be read: %w", m.Role, err)
				}
				if b == nil {
					continue
				}
				if p := part(b); p == nil {
					e.ContentBlocks = append(e.ContentBlocks, b)
				} else if i > 0 && m.Content[i-1] == p { // else it was changed since
					e.ContentBlocks[len(e.ContentBlocks)-1] = b
				}
				continue
			}
			if b := block(p, m.Role == chat.RoleAssistant); b != nil {
				e.ContentBlocks = append(e.ContentBlocks, b)
			}
		}
		for _, c := range m.ToolCalls {
			called[c.ID] = c.Name
			call := schema.NewContentBlock(&schema.FunctionToolCall{CallID: c.ID, Name: c.Name, Arguments: c.Arguments})
			for i, b := range e.ContentBlocks { // what remained of a call's block
				if b.Type == call.Type && b.FunctionToolCall == nil {
					call.Extra = b.Extra
					e.ContentBlocks = append(e.ContentBlocks[:i:i], e.ContentBlocks[i+1:]...)
					break
				}
			}
			e.ContentBlocks = append(e.ContentBlocks, call)
		}
		if m.Role == chat.RoleTool {
			r := &schema.FunctionToolResult{CallID: m.ToolCallID, Name: cmp.Or(called[m.ToolCallID], m.Name)}
			for _, b := range e.ContentBlocks {
				c := &schema.FunctionToolResultContentBlock{Text: b.UserInputText, Image: b.UserInputImage, Audio: b.UserInputAudio, Video: b.UserInputVideo, File: b.UserInputFile, Extra: b.Extra}
				c.Type = schema.FunctionToolResultContentBlockType(strings.TrimPrefix(string(b.Type), inputType))
				r.Content = append(r.Content, c)
			}
			e.ContentBlocks = []*schema.ContentBlock{schema.NewContentBlock(r)}
		}
		if len(e.ContentBlocks) > 0 {
			list = append(list, e)
		}
	}
	return list, nil
}

// block converts a part of an answer or of another message, or returns nil.
func block(p chat.Part, answer bool) *schema.ContentBlock {
	switch p := p.(type) {
	case chat.Text:
		if answer {
			return schema.NewContentBlock(&schema.AssistantGenText{Text: string(p)})
		}
		return schema.NewContentBlock(&schema.UserInputText{Text: string(p)})
	case chat.Thinking:
		r := &schema.Reasoning{Text: p.Text, Signature: p.Signature}
		if p.Signature == reasoningField {
			r.Signature = ""
		}
		return schema.NewContentBlock(r)
	case chat.Image:
		c := common(p)
		return schema.NewContentBlock(&schema.UserInputImage{
			Detail: schema.ImageURLDetail(p.Detail), URL: orZero(c.URL), Base64Data: orZero(c.Base64Data), MIMEType: c.MIMEType,
		})
	case chat.Document:
		return schema.NewContentBlock(&schema.UserInputFile{Base64Data: p.Data, MIMEType: p.MediaType})
	}
	return nil
}
