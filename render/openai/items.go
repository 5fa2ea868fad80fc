package openai

import (
	"cmp"
	"encoding/json"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/completions"
	"github.com/promptree-go/promptree/internal/wire/items"
	"github.com/promptree-go/promptree/internal/wire/parts"
)

// ItemsRequest converts a request to the SDK's types for the Responses API, without a model, which the caller adds, as
// [Model] does. A request that breaks a rule is a [*chat.ValidationError]: see [Validate], and [Repair], which repairs
// it.
//
// The input is complete: nothing in it refers to data that OpenAI has stored. An assistant message becomes its
// reasoning, its texts and its calls, in the model's order.
//
// What the API has no equivalent for:
//
//   - Thinking of another provider is left out, since no model can read it. Thinking from [ItemsResponse] is sent back
//     byte for byte, with its id, summary and encrypted content.
//   - The id of a message or call is sent only together with the reasoning that it followed, because OpenAI refuses
//     either alone.
//   - There is no flag for a tool's failure: the result says so in words, and is sent as it is.
//   - A document has no name, so it is sent under one that fits its type. Names of participants are not sent.
//   - Cache breakpoints: see [Options].
//   - Deferred tools ([chat.Tool].Deferred) are sent in namespaces with the API's own search for tools.
//   - A tool choice is not sent if there are no tools, and a tool without parameters takes an empty object. No tool is
//     strict, because a strict schema has a narrower form.
//
// Schemas of tools stay as they were written, with their properties in order.
func ItemsRequest(req chat.Request, o Options) (responses.ResponseNewParams, error) {
	if err := Validate(req, Responses); err != nil {
		return responses.ResponseNewParams{}, err
	}
	params := responses.ResponseNewParams{Tools: itemTools(req.Tools), MaxOutputTokens: optional(int64(req.MaxTokens))}
	if req.Temperature != nil {
		params.Temperature = param.NewOpt(*req.Temperature)
	}
	params.Input.OfInputItemList = inputItems(req.Messages, o)
	if len(req.Tools) > 0 {
		switch {
		case req.Tool != "":
			params.ToolChoice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: req.Tool}
		case req.ToolChoice != chat.ToolChoiceAuto:
			params.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptions(req.ToolChoice))
		}
		if req.OneCall {
			params.ParallelToolCalls = param.NewOpt(false)
		}
	}
	if f := req.Format; f != nil {
		params.Text.Format = param.Override[responses.ResponseFormatTextConfigUnionParam](
			wire.Marshal(map[string]any{"type": "json_schema", "name": f.Name, "schema": f.Schema, "strict": f.Strict}))
	}
	return params, nil
}

// inputItems converts valid messages for the Responses API.
func inputItems(messages []chat.Message, o Options) responses.ResponseInputParam {
	w := itemWriter{Options: o, custom: map[string]bool{}}
	if o.Breakpoints {
		w.marks = Responses.breakpoints(messages)
	}
	for i, m := range messages {
		switch m.Role {
		case chat.RoleAssistant:
			w.assistant(m)
		case chat.RoleTool:
			w.output(i, m)
		default:
			w.input(i, m)
		}
	}
	return w.out
}

type itemWriter struct {
	Options
	marks  map[position]string
	out    responses.ResponseInputParam
	custom map[string]bool // ids of the calls whose outputs are custom
}

func (w *itemWriter) raw(item json.RawMessage) {
	w.out = append(w.out, param.Override[responses.ResponseInputItemUnionParam](item))
}

// input writes a system or user message, split around items in it.
func (w *itemWriter) input(i int, m chat.Message) {
	role := responses.EasyInputMessageRole(m.Role)
	if m.Role == chat.RoleSystem && w.Developer {
		role = responses.EasyInputMessageRoleDeveloper
	}
	open := 0 // the first part of a message that is not written yet
	flush := func(end int) {
		message := responses.EasyInputMessageParam{Role: role}
		message.Content.OfString, message.Content.OfInputItemContentList = w.content(i, m, open, end)
		if message.Content.OfString.Value != "" || message.Content.OfInputItemContentList != nil || len(m.Content) == 0 {
			w.out = append(w.out, responses.ResponseInputItemUnionParam{OfMessage: &message})
		}
		open = end + 1
	}
	for k, p := range m.Content {
		if o, is := p.(chat.Opaque); is {
			if at, _ := items.PlaceOf(m.Role, o); at == items.Whole {
				flush(k)
				w.raw(o.Value)
			}
		}
	}
	flush(len(m.Content))
}

// itemBreakpoint marks the end of a cached prefix; the zero value marks none.
type itemBreakpoint = responses.ResponseInputTextPromptCacheBreakpointParam

// content converts the parts of a message from one index to another: to one string if all are text, or to a list.
func (w *itemWriter) content(i int, m chat.Message, from, to int) (param.Opt[string], responses.ResponseInputMessageContentListParam) {
	list := responses.ResponseInputMessageContentListParam{}
	text, plain := "", true
	for k, p := range m.Content[from:to] {
		var mark itemBreakpoint
		ttl, marked := w.marks[position{i, from + k}]
		if marked {
			mark = responses.NewResponseInputTextPromptCacheBreakpointParam()
			mark.Ttl = ttl
		}
		var out responses.ResponseInputContentUnionParam
		switch p := p.(type) {
		case chat.Text:
			text += string(p)
			out.OfInputText = &responses.ResponseInputTextParam{Text: string(p), PromptCacheBreakpoint: mark}
		case chat.Image:
			out.OfInputImage = &responses.ResponseInputImageParam{
				ImageURL: param.NewOpt(p.URL), Detail: responses.ResponseInputImageDetail(cmp.Or(p.Detail, chat.DetailAuto)), // which is required
				PromptCacheBreakpoint: responses.ResponseInputImagePromptCacheBreakpointParam(mark),
			}
		case chat.Document:
			out.OfInputFile = &responses.ResponseInputFileParam{
				FileData: param.NewOpt(parts.DataURL(p)), Filename: param.NewOpt(parts.FileName(p)),
				PromptCacheBreakpoint: responses.ResponseInputFilePromptCacheBreakpointParam(mark),
			}
		case chat.Opaque:
			out = param.Override[responses.ResponseInputContentUnionParam](p.Value)
		default:
			continue
		}
		plain = plain && out.OfInputText != nil && !marked
		list = append(list, out)
	}
	if plain {
		return param.NewOpt(text), nil
	}
	return param.Opt[string]{}, list
}

// output writes a tool's result.
func (w *itemWriter) output(i int, m chat.Message) {
	text, content := w.content(i, m, 0, len(m.Content))
	if w.custom[m.ToolCallID] {
		out := responses.ResponseInputItemParamOfCustomToolCallOutput(m.ToolCallID, text.Value)
		if content != nil {
			out.OfCustomToolCallOutput.Output = param.Override[responses.ResponseCustomToolCallOutputOutputUnionParam](content)
		}
		w.out = append(w.out, out)
		return
	}
	out := responses.ResponseInputItemFunctionCallOutputParam{CallID: param.NewOpt(m.ToolCallID)}
	out.Output.OfString = text
	if content != nil { // the JSON is the same, the type's name is not
		out.Output = param.Override[responses.ResponseInputItemFunctionCallOutputOutputUnionParam](content)
	}
	w.out = append(w.out, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &out})
}

// assistant writes a message's items in the order in which the model made them.
func (w *itemWriter) assistant(m chat.Message) {
	for _, item := range items.Encode(m) {
		switch call := item.Call; {
		case item.Raw != nil:
			w.raw(item.Raw)
		case call != nil:
			w.out = append(w.out, responses.ResponseInputItemParamOfFunctionCall(call.Arguments, call.ID, call.Name))
		default:
			w.out = append(w.out, responses.ResponseInputItemParamOfMessage(item.Text, responses.EasyInputMessageRoleAssistant))
		}
	}
	for _, c := range m.ToolCalls {
		_, w.custom[c.ID] = completions.CallFields(c)
	}
}
