package openai

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire/completions"
	"github.com/promptree-go/promptree/internal/wire/dialect"
	"github.com/promptree-go/promptree/internal/wire/items"
	"github.com/promptree-go/promptree/internal/wire/parts"
)

// ChatRequest converts a request to the SDK's types for Chat Completions, without a model, which the caller adds, as
// [Model] does. A request that breaks a rule is a [*chat.ValidationError]: see [Validate], and [Repair], which repairs
// it.
//
// What the API has no equivalent for:
//
//   - Thinking that a server showed in a field of its own (reasoning_content, as DeepSeek and local servers have it),
//     or in a part of the content, is sent back: see [ThinkingBack]. Any other thinking is left out: OpenAI's models think
//     anew in each round.
//   - Images and documents of a tool's result, which may hold text only, follow in a user message after all results of
//     the round.
//   - There is no flag for a tool's failure: the result says so in words, and is sent as it is.
//   - A document has no name, so it is sent under one that fits its type.
//   - Fields that a message keeps for the Responses API (ids, phases, places of calls) are left out.
//   - Cache breakpoints: see [Options].
//   - A tool choice is not sent if there are no tools.
//
// Schemas of tools stay as they were written, with their properties in order.
func ChatRequest(req chat.Request, o Options) (sdk.ChatCompletionNewParams, error) {
	if err := Validate(req, ChatCompletions); err != nil {
		return sdk.ChatCompletionNewParams{}, err
	}
	params := sdk.ChatCompletionNewParams{
		Messages: chatMessages(req.Messages, o), Tools: chatTools(req.Tools),
		MaxCompletionTokens: optional(int64(req.MaxTokens)),
	}
	if req.Temperature != nil {
		params.Temperature = param.NewOpt(*req.Temperature)
	}
	if len(req.Tools) > 0 { // OpenAI refuses a choice without tools
		switch {
		case req.Tool != "":
			params.ToolChoice.OfFunctionToolChoice = &sdk.ChatCompletionNamedToolChoiceParam{Function: sdk.ChatCompletionNamedToolChoiceFunctionParam{Name: req.Tool}}
		case req.ToolChoice != chat.ToolChoiceAuto:
			params.ToolChoice.OfAuto = param.NewOpt(string(req.ToolChoice))
		}
		if req.OneCall {
			params.ParallelToolCalls = param.NewOpt(false)
		}
	}
	if f := req.Format; f != nil {
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: f.Name, Schema: f.Schema, Strict: param.NewOpt(f.Strict)},
		}
	}
	return params, nil
}

// chatMessages converts valid messages for Chat Completions.
func chatMessages(messages []chat.Message, o Options) []sdk.ChatCompletionMessageParamUnion {
	c := chatWriter{Options: o}
	if o.Thinking == ThinkingOnCalls {
		c.onCalls = shownField(messages)
	}
	if o.Breakpoints {
		c.marks = ChatCompletions.breakpoints(messages)
	}
	for i, m := range messages {
		if m.Role != chat.RoleTool {
			c.flush()
		}
		c.message(i, m)
	}
	c.flush()
	return c.out
}

type chatWriter struct {
	Options
	onCalls string // the field that calls without thinking have, empty; "" for none
	marks   map[position]string
	out     []sdk.ChatCompletionMessageParamUnion
	media   []sdk.ChatCompletionContentPartUnionParam // images and documents in the results of this round
}

// flush sends the images and documents of the round's results.
func (c *chatWriter) flush() {
	if len(c.media) > 0 {
		c.out = append(c.out, sdk.UserMessage(c.media))
		c.media = nil
	}
}

func (c *chatWriter) message(i int, m chat.Message) {
	var out sdk.ChatCompletionMessageParamUnion
	switch m.Role {
	case chat.RoleSystem:
		out = c.system(i, m)
	case chat.RoleAssistant:
		out = c.assistant(m)
	case chat.RoleTool:
		out = c.tool(i, m)
	default:
		out = c.user(i, m)
	}
	c.out = append(c.out, out)
}

func (c *chatWriter) system(i int, m chat.Message) sdk.ChatCompletionMessageParamUnion {
	text, list := c.texts(i, m)
	if c.Developer {
		out := sdk.ChatCompletionDeveloperMessageParam{Name: optional(m.Name)}
		out.Content.OfString, out.Content.OfArrayOfContentParts = text, list
		return sdk.ChatCompletionMessageParamUnion{OfDeveloper: &out}
	}
	out := sdk.ChatCompletionSystemMessageParam{Name: optional(m.Name)}
	out.Content.OfString, out.Content.OfArrayOfContentParts = text, list
	return sdk.ChatCompletionMessageParamUnion{OfSystem: &out}
}

func (c *chatWriter) user(i int, m chat.Message) sdk.ChatCompletionMessageParamUnion {
	out := sdk.ChatCompletionUserMessageParam{Name: optional(m.Name)}
	var list []sdk.ChatCompletionContentPartUnionParam
	plain := true // only texts without marks, which are sent as one string
	for k, p := range m.Content {
		mark := c.mark(i, k)
		if part, ok := userPart(p, mark); ok {
			plain = plain && part.OfText != nil && mark == breakpoint{}
			list = append(list, part)
		}
	}
	if plain {
		out.Content.OfString = param.NewOpt(m.Text())
	} else {
		out.Content.OfArrayOfContentParts = list
	}
	return sdk.ChatCompletionMessageParamUnion{OfUser: &out}
}

// breakpoint marks the end of a cached prefix; the zero value marks none. The SDK has one such type for each kind of part.
type breakpoint = sdk.ChatCompletionContentPartTextPromptCacheBreakpointParam

// mark returns the breakpoint of part k of message i.
func (c *chatWriter) mark(i, k int) (mark breakpoint) {
	if ttl, marked := c.marks[position{i, k}]; marked {
		mark = sdk.NewChatCompletionContentPartTextPromptCacheBreakpointParam()
		mark.Ttl = ttl
	}
	return mark
}

// userPart converts a part of a user's content.
func userPart(p chat.Part, mark breakpoint) (out sdk.ChatCompletionContentPartUnionParam, ok bool) {
	switch p := p.(type) {
	case chat.Text:
		out.OfText = textPart(p, mark)
	case chat.Image:
		out.OfImageURL = &sdk.ChatCompletionContentPartImageParam{
			ImageURL:              sdk.ChatCompletionContentPartImageImageURLParam{URL: p.URL, Detail: string(p.Detail)},
			PromptCacheBreakpoint: sdk.ChatCompletionContentPartImagePromptCacheBreakpointParam(mark),
		}
	case chat.Document:
		out.OfFile = &sdk.ChatCompletionContentPartFileParam{
			File: sdk.ChatCompletionContentPartFileFileParam{
				FileData: param.NewOpt(parts.DataURL(p)), Filename: param.NewOpt(parts.FileName(p)),
			},
			PromptCacheBreakpoint: sdk.ChatCompletionContentPartFilePromptCacheBreakpointParam(mark),
		}
	case chat.Opaque:
		out = param.Override[sdk.ChatCompletionContentPartUnionParam](p.Value)
	default:
		return out, false
	}
	return out, true
}

func textPart(text chat.Text, mark breakpoint) *sdk.ChatCompletionContentPartTextParam {
	return &sdk.ChatCompletionContentPartTextParam{Text: string(text), PromptCacheBreakpoint: mark}
}

// texts converts content of a role that has only text: to one string, or to a list if a part is marked or opaque.
func (c *chatWriter) texts(i int, m chat.Message) (param.Opt[string], []sdk.ChatCompletionContentPartTextParam) {
	list := []sdk.ChatCompletionContentPartTextParam{}
	lists := false
	for k, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			mark := c.mark(i, k)
			lists = lists || mark != breakpoint{}
			list = append(list, *textPart(p, mark))
		case chat.Opaque:
			lists = true
			list = append(list, param.Override[sdk.ChatCompletionContentPartTextParam](p.Value))
		}
	}
	if lists {
		return param.Opt[string]{}, list
	}
	return param.NewOpt(m.Text()), nil
}

func (c *chatWriter) tool(i int, m chat.Message) sdk.ChatCompletionMessageParamUnion {
	out := sdk.ChatCompletionToolMessageParam{ToolCallID: m.ToolCallID}
	out.Content.OfString, out.Content.OfArrayOfContentParts = c.texts(i, m)
	media := false
	for _, p := range m.Content {
		switch p.(type) {
		case chat.Image, chat.Document:
			if !media {
				media = true
				c.media = append(c.media, sdk.TextContentPart(mediaIntro(m.ToolCallID)))
			}
			part, _ := userPart(p, breakpoint{})
			c.media = append(c.media, part)
		}
	}
	if media && strings.TrimSpace(m.Text()) == "" && out.Content.OfArrayOfContentParts == nil {
		out.Content.OfString = param.NewOpt(followsText)
	}
	return sdk.ChatCompletionMessageParamUnion{OfTool: &out}
}

// mediaIntro returns the text before the images and documents of a tool's result.
func mediaIntro(callID string) string {
	return fmt.Sprintf("What tool call %q returned besides text:", callID)
}

// followsText replaces the text of a result that has none.
const followsText = "(It follows in the next user message.)"

// assistantPart is a part of the content of an assistant message.
type assistantPart = sdk.ChatCompletionAssistantMessageParamContentArrayOfContentPartUnion

func (c *chatWriter) assistant(m chat.Message) sdk.ChatCompletionMessageParamUnion {
	var out sdk.ChatCompletionAssistantMessageParam
	out.Name = optional(m.Name)
	var list []assistantPart
	lists, fields, thought := false, false, false
	extra := map[string]any{}
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			list = append(list, assistantPart{OfText: textPart(p, breakpoint{})})
		case chat.Opaque:
			switch at, o := ChatCompletions.placeOf(m.Role, p); at {
			case items.Content:
				lists = true
				list = append(list, param.Override[assistantPart](p.Value))
			case asFields:
				sent := completions.Back(o, c.Fields)
				fields = fields || len(sent) > 0
				maps.Copy(extra, sent)
			}
		case chat.Thinking:
			switch {
			case c.Thinking == ThinkingNone:
			case p.Signature == dialect.ThinkingChunk:
				lists = true
				list = append(list, param.Override[assistantPart](completions.Chunk(p)))
			case isReasoningField(p.Signature):
				thought = true
				before, _ := extra[p.Signature].(string)
				extra[p.Signature] = before + p.Text
			}
		}
	}
	if c.onCalls != "" && !thought && len(m.ToolCalls) > 0 {
		extra[c.onCalls] = ""
	}
	switch {
	case lists:
		out.Content.OfArrayOfContentParts = list
	case len(list) > 0 || len(m.ToolCalls) == 0 && !fields:
		out.Content.OfString = param.NewOpt(m.Text())
	}
	for _, call := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, c.call(call))
	}
	out.SetExtraFields(extra)
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &out}
}

// shownField returns the field of the last thinking that a server showed; "" if there is none.
func shownField(messages []chat.Message) string {
	for _, m := range slices.Backward(messages) {
		for _, p := range m.Content {
			if t, ok := p.(chat.Thinking); ok && isReasoningField(t.Signature) {
				return t.Signature
			}
		}
	}
	return ""
}

func isReasoningField(name string) bool { return slices.Contains(dialect.ThinkingFields[:], name) }

func (c *chatWriter) call(call chat.ToolCall) sdk.ChatCompletionMessageToolCallUnionParam {
	fields, custom := completions.CallFields(call)
	sent := completions.Back(fields, c.Fields)
	if custom {
		out := sdk.ChatCompletionMessageCustomToolCallParam{
			ID: call.ID, Custom: sdk.ChatCompletionMessageCustomToolCallCustomParam{Name: call.Name, Input: call.Arguments},
		}
		out.SetExtraFields(sent)
		return sdk.ChatCompletionMessageToolCallUnionParam{OfCustom: &out}
	}
	out := sdk.ChatCompletionMessageFunctionToolCallParam{
		ID: call.ID, Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Name, Arguments: call.Arguments},
	}
	out.SetExtraFields(sent)
	return sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &out}
}

func chatTools(tools []chat.Tool) []sdk.ChatCompletionToolUnionParam {
	var out []sdk.ChatCompletionToolUnionParam
	for _, t := range tools {
		f := shared.FunctionDefinitionParam{Name: t.Name, Description: optional(t.Description)}
		if schema := t.Schema(); schema != nil {
			f.SetExtraFields(map[string]any{"parameters": schema})
		}
		out = append(out, sdk.ChatCompletionFunctionTool(f))
	}
	return out
}

// optional returns a parameter that is left out if its value is zero.
func optional[T comparable](value T) param.Opt[T] {
	if value == *new(T) {
		return param.Opt[T]{}
	}
	return param.NewOpt(value)
}
