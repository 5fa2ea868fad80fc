package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
)

// ItemsRequest is a request in the SDK's form for the Responses API, without a model, which the caller adds, as does
// [Model]. One that breaks a rule is a [*chat.ValidationError]: see [Validate], and [Repair], which mends it. Its input
// stands for itself: nothing in it refers to what OpenAI has stored. An assistant message becomes its reasoning, its texts
// and its calls, each where the model had it.
//
// What that API has no word for:
//
//   - Thinking of another provider is left out: no model can read it back. What [ItemsResponse] made is kept byte for
//     byte, and goes back with its id, summary and encrypted content.
//   - The id of a message or call is sent only together with the reasoning that it followed, for OpenAI refuses the one
//     without the other.
//   - There is no flag for a tool's failure: the result says so in words, and is sent as it is.
//   - A document has no name, so it is sent under one that fits its type. Participants have none at all.
//   - Cache breakpoints: see [Options].
//   - A choice of no tools is not sent where there are none, and a tool without parameters takes an empty object. No tool
//     is strict, for a strict schema must be of a narrower form.
//
// Schemas of tools stay as they were written, their properties in their order.
func ItemsRequest(req chat.Request, o Options) (responses.ResponseNewParams, error) {
	if err := Validate(req, Responses); err != nil {
		return responses.ResponseNewParams{}, err
	}
	params := responses.ResponseNewParams{
		Tools: itemTools(req.Tools), MaxOutputTokens: limit(req.MaxTokens), Temperature: temperature(req.Temperature),
	}
	params.Input.OfInputItemList = items(req.Messages, o)
	if req.ToolChoice != chat.ToolChoiceAuto && len(req.Tools) > 0 {
		params.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptions(req.ToolChoice))
	}
	return params, nil
}

// items gives valid messages as the Responses API takes them.
func items(messages []chat.Message, o Options) responses.ResponseInputParam {
	w := itemWriter{options: o, custom: map[string]bool{}}
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
	options Options
	marks   map[spot]string
	out     responses.ResponseInputParam
	custom  map[string]bool // ids of the calls whose outputs are of the custom kind
}

func (w *itemWriter) raw(item json.RawMessage) {
	w.out = append(w.out, param.Override[responses.ResponseInputItemUnionParam](item))
}

// input writes a system or user message, around items that stand in it.
func (w *itemWriter) input(i int, m chat.Message) {
	role := responses.EasyInputMessageRole(m.Role)
	if m.Role == chat.RoleSystem && w.options.Developer {
		role = responses.EasyInputMessageRoleDeveloper
	}
	var parts []int
	flush := func() {
		if len(parts) > 0 || len(m.Content) == 0 {
			message := responses.EasyInputMessageParam{Role: role}
			message.Content.OfString, message.Content.OfInputItemContentList = w.content(i, m, parts)
			w.out = append(w.out, responses.ResponseInputItemUnionParam{OfMessage: &message})
		}
		parts = nil
	}
	for k, p := range m.Content {
		switch p := p.(type) {
		case chat.Opaque:
			if at, _ := Responses.placeOf(m.Role, p); at == asItem {
				flush()
				w.raw(p.Value)
				continue
			}
			parts = append(parts, k)
		case chat.Text, chat.Image, chat.Document:
			parts = append(parts, k)
		}
	}
	flush()
}

// content is some of a message's parts: one string where they are text and nothing else, or a list.
func (w *itemWriter) content(i int, m chat.Message, parts []int) (param.Opt[string], responses.ResponseInputMessageContentListParam) {
	list := responses.ResponseInputMessageContentListParam{}
	text, plain := "", true
	for _, k := range parts {
		ttl, marked := w.marks[spot{i, k}]
		plain = plain && !marked
		switch p := m.Content[k].(type) {
		case chat.Text:
			text += string(p)
			input := responses.ResponseInputTextParam{Text: string(p)}
			if marked {
				input.PromptCacheBreakpoint = responses.NewResponseInputTextPromptCacheBreakpointParam()
				input.PromptCacheBreakpoint.Ttl = ttl
			}
			list = append(list, responses.ResponseInputContentUnionParam{OfInputText: &input})
		case chat.Image:
			plain = false
			input := responses.ResponseInputImageParam{ImageURL: param.NewOpt(p.URL), Detail: responses.ResponseInputImageDetail(detail(p))}
			if marked {
				input.PromptCacheBreakpoint = responses.NewResponseInputImagePromptCacheBreakpointParam()
				input.PromptCacheBreakpoint.Ttl = ttl
			}
			list = append(list, responses.ResponseInputContentUnionParam{OfInputImage: &input})
		case chat.Document:
			plain = false
			input := responses.ResponseInputFileParam{FileData: param.NewOpt(dataURL(p)), Filename: param.NewOpt(fileName(p))}
			if marked {
				input.PromptCacheBreakpoint = responses.NewResponseInputFilePromptCacheBreakpointParam()
				input.PromptCacheBreakpoint.Ttl = ttl
			}
			list = append(list, responses.ResponseInputContentUnionParam{OfInputFile: &input})
		case chat.Opaque:
			plain = false
			list = append(list, param.Override[responses.ResponseInputContentUnionParam](p.Value))
		}
	}
	if plain {
		return param.NewOpt(text), nil
	}
	return param.Opt[string]{}, list
}

// detail is the resolution asked for, which this API wants said.
func detail(p chat.Image) chat.ImageDetail {
	if p.Detail == "" {
		return chat.DetailAuto
	}
	return p.Detail
}

// output writes a tool's result.
func (w *itemWriter) output(i int, m chat.Message) {
	all := make([]int, 0, len(m.Content))
	for k := range m.Content {
		all = append(all, k)
	}
	text, content := w.content(i, m, all)
	if w.custom[m.ToolCallID] {
		out := responses.ResponseCustomToolCallOutputParam{CallID: m.ToolCallID}
		out.Output.OfString = text
		if content != nil {
			out.Output = param.Override[responses.ResponseCustomToolCallOutputOutputUnionParam](content)
		}
		w.out = append(w.out, responses.ResponseInputItemUnionParam{OfCustomToolCallOutput: &out})
		return
	}
	out := responses.ResponseInputItemFunctionCallOutputParam{CallID: param.NewOpt(m.ToolCallID)}
	out.Output.OfString = text
	if content != nil { // the same JSON under types of another name
		out.Output = param.Override[responses.ResponseInputItemFunctionCallOutputOutputUnionParam](content)
	}
	w.out = append(w.out, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &out})
}

// assistant writes a message's items in the order in which the model made them: the content, and the calls where a part
// keeps their place, else after it.
func (w *itemWriter) assistant(m chat.Message) {
	a := assistantWriter{itemWriter: w, ids: map[string]bool{}}
	sent := map[string]bool{}
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			a.text(string(p))
		case chat.Thinking:
			if item, id := reasoningItem(p); item != nil {
				a.flush()
				a.reasoning(item, id)
			}
		case chat.Opaque:
			switch at, o := Responses.placeOf(m.Role, p); at {
			case asContent:
				a.content = append(a.content, p.Value)
			case asHead:
				a.flush()
				a.head = o
			case asCall:
				a.flush()
				for _, call := range m.ToolCalls {
					if id := o.text("call_id"); call.ID == id && !sent[id] {
						sent[id] = true
						a.call(call)
					}
				}
			case asItem:
				a.flush()
				if o.text("type") == "reasoning" {
					a.reasoning(p.Value, o.text("id"))
				} else {
					a.raw(p.Value)
				}
			}
		}
	}
	a.flush()
	for _, call := range m.ToolCalls {
		if !sent[call.ID] {
			a.call(call)
		}
	}
}

// assistantWriter collects a message item's content until it is whole.
type assistantWriter struct {
	*itemWriter
	head    object
	content []json.RawMessage
	words   []string        // the texts of the content, while it is nothing else
	ids     map[string]bool // of the reasoning items sent
}

func (a *assistantWriter) reasoning(item json.RawMessage, id string) {
	a.ids[id] = true
	a.raw(item)
}

// text adds a text to the message item, with what its head keeps for it.
func (a *assistantWriter) text(text string) {
	part := object{}
	var kept []json.RawMessage
	if json.Unmarshal(a.head["content"], &kept) == nil && len(a.content) < len(kept) {
		if o := objectOf(kept[len(a.content)]); o != nil {
			part = o
		}
	}
	part.set("type", "output_text")
	part.set("text", text)
	if part["annotations"] == nil {
		part["annotations"] = json.RawMessage("[]")
	}
	a.content = append(a.content, part.raw())
	a.words = append(a.words, text)
}

// flush writes the message item.
func (a *assistantWriter) flush() {
	head, content, words := a.head, a.content, a.words
	a.head, a.content, a.words = nil, nil, nil
	switch {
	case len(content) == 0:
	case head == nil && len(words) == len(content):
		message := responses.EasyInputMessageParam{Role: responses.EasyInputMessageRoleAssistant}
		for _, word := range words {
			message.Content.OfString = param.NewOpt(message.Content.OfString.Or("") + word)
		}
		a.out = append(a.out, responses.ResponseInputItemUnionParam{OfMessage: &message})
	default:
		item := a.whole(head)
		item.set("type", "message")
		item.set("role", "assistant")
		if item["status"] == nil {
			item.set("status", "completed")
		}
		item["content"] = mustMarshal(content)
		a.raw(item.raw())
	}
}

// whole is what is kept of an item, without its id where the reasoning is missing that the id belongs to.
func (a *assistantWriter) whole(kept object) object {
	item := object{}
	for key, value := range kept {
		item[key] = value
	}
	if item[followsKey] != nil && !a.ids[item.text(followsKey)] {
		delete(item, "id")
	}
	delete(item, followsKey)
	return item
}

// followsKey is where what is kept of an item names the reasoning item that it followed.
const followsKey = "follows"

func (a *assistantWriter) call(call chat.ToolCall) {
	kept := objectOf([]byte(call.Signature))
	item := a.whole(kept)
	custom := item.text("type") == customCall
	item.set("call_id", call.ID)
	item.set("name", call.Name)
	if custom {
		a.custom[call.ID] = true
		item.set("input", call.Arguments)
	} else {
		delete(a.custom, call.ID)
		item.set("type", "function_call")
		item.set("arguments", call.Arguments)
	}
	if kept != nil {
		a.raw(item.raw())
		return
	}
	a.out = append(a.out, responses.ResponseInputItemUnionParam{OfFunctionCall: &responses.ResponseFunctionToolCallParam{
		CallID: call.ID, Name: call.Name, Arguments: call.Arguments,
	}})
}

// reasoningItem is the item that a thought was, and its id; nil where it was none of this API.
func reasoningItem(t chat.Thinking) (json.RawMessage, string) {
	item := objectOf([]byte(t.Signature))
	if item == nil {
		return nil, ""
	}
	item.set("type", "reasoning")
	if item["summary"] == nil {
		item["summary"] = json.RawMessage("[]")
		if t.Text != "" {
			item["summary"] = json.RawMessage(`[{"type":"summary_text","text":` + string(quoted(t.Text)) + `}]`)
		}
	}
	if t.Encrypted != "" {
		item.set("encrypted_content", t.Encrypted)
	}
	return item.raw(), item.text("id")
}

func itemTools(tools []chat.Tool) []responses.ToolUnionParam {
	var out []responses.ToolUnionParam
	for _, t := range tools {
		schema := t.Schema()
		if schema == nil {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		f := responses.FunctionToolParam{Name: t.Name, Description: optional(t.Description), Strict: param.NewOpt(false)}
		f.SetExtraFields(map[string]any{"parameters": schema})
		out = append(out, responses.ToolUnionParam{OfFunction: &f})
	}
	return out
}
