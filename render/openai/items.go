package openai

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
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
	params := responses.ResponseNewParams{
		Tools: itemTools(req.Tools), MaxOutputTokens: limit(req.MaxTokens), Temperature: temperature(req.Temperature),
	}
	params.Input.OfInputItemList = inputItems(req.Messages, o)
	if len(req.Tools) > 0 {
		switch {
		case req.Tool != "":
			params.ToolChoice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: req.Tool}
		case req.ToolChoice != chat.ToolChoiceAuto:
			params.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptions(req.ToolChoice))
		}
		params.ParallelToolCalls = oneCall(req)
	}
	if f := req.Format; f != nil {
		written, err := json.Marshal(map[string]any{"type": "json_schema", "name": f.Name, "schema": f.Schema, "strict": f.Strict})
		if err != nil {
			return responses.ResponseNewParams{}, err
		}
		params.Text.Format = param.Override[responses.ResponseFormatTextConfigUnionParam](json.RawMessage(written))
	}
	return params, nil
}

// inputItems converts valid messages for the Responses API.
func inputItems(messages []chat.Message, o Options) responses.ResponseInputParam {
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
	marks   map[position]string
	out     responses.ResponseInputParam
	custom  map[string]bool // ids of the calls whose outputs are custom
}

func (w *itemWriter) raw(item json.RawMessage) {
	w.out = append(w.out, param.Override[responses.ResponseInputItemUnionParam](item))
}

// input writes a system or user message, split around items in it.
func (w *itemWriter) input(i int, m chat.Message) {
	role := responses.EasyInputMessageRole(m.Role)
	if m.Role == chat.RoleSystem && w.options.Developer {
		role = responses.EasyInputMessageRoleDeveloper
	}
	var open []int // parts of a message that is not written yet
	flush := func() {
		if len(open) > 0 || len(m.Content) == 0 {
			message := responses.EasyInputMessageParam{Role: role}
			message.Content.OfString, message.Content.OfInputItemContentList = w.content(i, m, open)
			w.out = append(w.out, responses.ResponseInputItemUnionParam{OfMessage: &message})
		}
		open = nil
	}
	for k, p := range m.Content {
		switch p := p.(type) {
		case chat.Opaque:
			if at, _ := Responses.placeOf(m.Role, p); at == asItem {
				flush()
				w.raw(p.Value)
				continue
			}
			open = append(open, k)
		case chat.Text, chat.Image, chat.Document:
			open = append(open, k)
		}
	}
	flush()
}

// content converts some parts of a message: to one string if all are text, or to a list.
func (w *itemWriter) content(i int, m chat.Message, which []int) (param.Opt[string], responses.ResponseInputMessageContentListParam) {
	list := responses.ResponseInputMessageContentListParam{}
	text, plain := "", true
	for _, k := range which {
		ttl, marked := w.marks[position{i, k}]
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
			input := responses.ResponseInputFileParam{FileData: param.NewOpt(parts.DataURL(p)), Filename: param.NewOpt(parts.FileName(p))}
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

// detail returns the requested resolution, which this API requires.
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
	if content != nil { // the JSON is the same, the type's name is not
		out.Output = param.Override[responses.ResponseInputItemFunctionCallOutputOutputUnionParam](content)
	}
	w.out = append(w.out, responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &out})
}

// assistant writes a message's items in the order in which the model made them: the content, and each call at the place
// that a part keeps for it, else after the content.
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

// assistantWriter collects the content of a message item until it is complete.
type assistantWriter struct {
	*itemWriter
	head    object
	content []json.RawMessage
	texts   []string        // the texts in the content
	ids     map[string]bool // of the reasoning items sent
}

func (a *assistantWriter) reasoning(item json.RawMessage, id string) {
	a.ids[id] = true
	a.raw(item)
}

// text adds a text to the message item, with the fields that its head keeps for it.
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
	a.texts = append(a.texts, text)
}

// flush writes the message item.
func (a *assistantWriter) flush() {
	head, content, texts := a.head, a.content, a.texts
	a.head, a.content, a.texts = nil, nil, nil
	switch {
	case len(content) == 0:
	case head == nil && len(texts) == len(content):
		message := responses.EasyInputMessageParam{Role: responses.EasyInputMessageRoleAssistant}
		for _, word := range texts {
			message.Content.OfString = param.NewOpt(message.Content.OfString.Or("") + word)
		}
		a.out = append(a.out, responses.ResponseInputItemUnionParam{OfMessage: &message})
	default:
		item := a.storedFields(head)
		item.set("type", "message")
		item.set("role", "assistant")
		if item["status"] == nil {
			item.set("status", "completed")
		}
		item["content"] = wire.Marshal(content)
		a.raw(item.raw())
	}
}

// storedFields returns the stored fields of an item, without its id if the reasoning is missing to which the id
// belongs.
func (a *assistantWriter) storedFields(kept object) object {
	item := object{}
	maps.Copy(item, kept)
	if item[items.Follows] != nil && !a.ids[item.text(items.Follows)] {
		delete(item, "id")
	}
	delete(item, items.Follows)
	return item
}

func (a *assistantWriter) call(call chat.ToolCall) {
	kept := objectOf([]byte(call.Signature))
	if delete(kept, dialect.Fields); kept.text("type") == dialect.Fields {
		kept = nil
	}
	item := a.storedFields(kept)
	custom := item.text("type") == parts.CustomCall
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

// reasoningItem returns the original item of a thought, and its id; nil if it did not come from this API. The signature
// is the rest of the item, or in sessions that were imported by earlier versions its id alone.
func reasoningItem(t chat.Thinking) (json.RawMessage, string) {
	item := objectOf([]byte(t.Signature))
	if item == nil && t.Encrypted != "" && strings.HasPrefix(t.Signature, "rs_") {
		item = object{"id": quoted(t.Signature)}
	}
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
