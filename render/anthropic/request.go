package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// Request converts a request to the SDK's types, without a model, which the caller adds, as [Model] does. A request
// that breaks a rule is a [*chat.ValidationError]: see [Validate], and [Repair], which repairs it.
//
//   - System messages, wherever they are, become the system prompt, in their order.
//   - Neighbours of one role become one message. So do tool messages and the user message after them, which then begins
//     with the results.
//   - A cache breakpoint becomes cache_control of the last block before it that can carry it; before the first message
//     that is the last tool. One at the very start is ignored. A lifetime of up to five minutes becomes "5m", a longer
//     one "1h", the maximum; without one the API decides.
//   - The block of a [CompactionModel], which a compactor keeps beside a summary in words, becomes the first message,
//     because the API does not show the model any message before it. Of several blocks only the last is sent.
//   - Deferred tools ([chat.Tool].Deferred) are sent with defer_loading, and the API's own search by BM25 after the tools.
//   - Opaque parts are sent with every string and number as written. The SDK removes white space between them, and
//     writes <, > and & as JSON escapes.
//
// What the API has no equivalent for:
//
//   - Names of participants, the detail of an image, and signatures of calls that are not from this package are left
//     out.
//   - A document of any type of text is sent as plain text.
//   - An answer without a limit gets one of 8,192 tokens, because the API requires one.
//   - A tool choice is not sent if there are no tools, and a tool without parameters takes an empty object.
//
// Schemas of tools stay as they were written, with their properties in order.
func Request(req chat.Request) (sdk.MessageNewParams, error) { return request(req, 0) }

// request is Request for a model that accepts at most this number of images. 0 is the lowest limit of any model.
func request(req chat.Request, images int) (sdk.MessageNewParams, error) {
	if err := accepts(images).Validate(req); err != nil {
		return sdk.MessageNewParams{}, err
	}
	return write(req), nil
}

// write converts a valid request to the SDK's types.
func write(req chat.Request) sdk.MessageNewParams {
	w := writer{plan: planCache(req)}
	for i, m := range req.Messages {
		w.message(i, m)
	}
	if w.compaction != nil {
		w.messages = slices.Insert(w.messages, 0, sdk.NewAssistantMessage(param.Override[sdk.ContentBlockParamUnion](w.compaction)))
	}
	req.MaxTokens = cmp.Or(req.MaxTokens, usualMaxTokens)
	p := sdk.MessageNewParams{
		MaxTokens:  int64(req.MaxTokens),
		Messages:   w.messages,
		System:     w.prompt,
		Tools:      w.tools(req.Tools),
		ToolChoice: toolChoice(req), OutputConfig: outputConfig(req),
	}
	if req.Temperature != nil {
		p.Temperature = sdk.Float(*req.Temperature)
	}
	return p
}

func toolChoice(req chat.Request) (choice sdk.ToolChoiceUnionParam) {
	one := param.Opt[bool]{}
	if req.OneCall {
		one = sdk.Bool(true)
	}
	switch {
	case len(req.Tools) == 0:
	case req.Tool != "":
		choice.OfTool = &sdk.ToolChoiceToolParam{Name: req.Tool, DisableParallelToolUse: one}
	case req.ToolChoice == chat.ToolChoiceNone:
		choice.OfNone = new(sdk.NewToolChoiceNoneParam())
	case req.ToolChoice == chat.ToolChoiceRequired:
		choice.OfAny = &sdk.ToolChoiceAnyParam{DisableParallelToolUse: one}
	case req.OneCall:
		choice.OfAuto = &sdk.ToolChoiceAutoParam{DisableParallelToolUse: one}
	}
	return choice
}

// forced reports whether a request requires a call, with which the API accepts no thinking.
func forced(choice sdk.ToolChoiceUnionParam) bool { return choice.OfAny != nil || choice.OfTool != nil }

// outputConfig returns the effort and the form that a request asks for. Without effort a model does not think.
func outputConfig(req chat.Request) (c sdk.OutputConfigParam) {
	if req.Effort != chat.EffortNone {
		c.Effort = sdk.OutputConfigEffort(req.Effort)
	}
	if f := req.Format; f != nil {
		c.Format = param.Override[sdk.JSONOutputFormatParam](json.RawMessage(`{"type":"json_schema","schema":` + string(f.Tool().Schema()) + `}`))
	}
	return c
}

// writer converts the messages of a valid request.
type writer struct {
	plan     *cachePlan
	prompt   []sdk.TextBlockParam
	messages []sdk.MessageParam
	// compaction is the last block of a CompactionModel.
	compaction json.RawMessage
}

func (w *writer) tools(tools []chat.Tool) []sdk.ToolUnionParam {
	var out []sdk.ToolUnionParam
	deferred, control := false, w.plan.control(blockKey{kind: blockTool, message: chat.RequestIndex})
	for i, t := range tools {
		schema := t.Schema()
		if schema == nil {
			schema = json.RawMessage(emptySchema)
		}
		tool := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		if t.Deferred {
			deferred, tool.DeferLoading = true, sdk.Bool(true)
		}
		if i == len(tools)-1 && !deferred {
			tool.CacheControl = control
		}
		out = append(out, sdk.ToolUnionParam{OfTool: tool})
	}
	if deferred { // the API refuses cache_control on a deferred tool
		search := &sdk.ToolSearchToolBm25_20251119Param{Type: sdk.ToolSearchToolBm25_20251119TypeToolSearchToolBm25_20251119, CacheControl: control}
		out = append(out, sdk.ToolUnionParam{OfToolSearchToolBm25_20251119: search})
	}
	return out
}

// emptySchema is the schema of a tool without parameters.
const emptySchema = `{"type":"object"}`

func (w *writer) system(i int, m chat.Message) {
	for k, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			w.prompt = append(w.prompt, sdk.TextBlockParam{Text: string(p), CacheControl: w.control(i, k)})
		case chat.Opaque:
			w.prompt = append(w.prompt, param.Override[sdk.TextBlockParam](p.Value))
		}
	}
}

func (w *writer) control(message, part int) sdk.CacheControlEphemeralParam {
	return w.plan.control(blockKey{kind: blockPart, message: message, index: part})
}

func (w *writer) message(i int, m chat.Message) {
	role, blocks := sdk.MessageParamRoleUser, w.content
	switch m.Role {
	case chat.RoleSystem:
		w.system(i, m)
		return
	case chat.RoleAssistant:
		role, blocks = sdk.MessageParamRoleAssistant, w.assistant
	case chat.RoleTool:
		blocks = w.result
	}
	if n := len(w.messages); n == 0 || w.messages[n-1].Role != role {
		w.messages = append(w.messages, sdk.MessageParam{Role: role})
	}
	last := &w.messages[len(w.messages)-1]
	last.Content = append(last.Content, blocks(i, m)...)
}

// content returns the content of a user message.
func (w *writer) content(i int, m chat.Message) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	for k, p := range m.Content {
		switch o := p.(type) {
		case chat.Opaque:
			if isKeptCompaction(m, o) {
				w.compaction = o.Value
				continue
			}
		case chat.Text, chat.Image, chat.Document:
		default:
			continue
		}
		out = append(out, w.block(i, k, p))
	}
	return out
}

// block returns a part that any message may have as a block.
func (w *writer) block(i, k int, p chat.Part) (b sdk.ContentBlockParamUnion) {
	switch p := p.(type) {
	case chat.Text:
		b.OfText = &sdk.TextBlockParam{Text: string(p), CacheControl: w.control(i, k)}
	case chat.Image:
		source, _ := imageSource(p)
		b.OfImage = &sdk.ImageBlockParam{Source: source, CacheControl: w.control(i, k)}
	case chat.Document:
		source, _ := documentSource(p)
		b.OfDocument = &sdk.DocumentBlockParam{Source: source, CacheControl: w.control(i, k)}
	case chat.Opaque:
		return param.Override[sdk.ContentBlockParamUnion](p.Value)
	}
	return b
}

// assistant returns the content of an assistant message and its calls, each at the place that [Response] marked, else
// after the content.
func (w *writer) assistant(i int, m chat.Message) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	sent := map[int]bool{}
	call := func(k int) {
		if !sent[k] {
			out = append(out, sdk.ContentBlockParamUnion{OfToolUse: w.call(i, k, m.ToolCalls[k])})
			sent[k] = true
		}
	}
	for k, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			out = append(out, w.block(i, k, p))
		case chat.Thinking:
			block := sdk.NewThinkingBlock(p.Signature, p.Text)
			if p.Encrypted != "" {
				block = sdk.NewRedactedThinkingBlock(p.Encrypted)
			}
			out = append(out, block)
		case chat.Opaque:
			switch b, _ := parseOpaque(p); b.Type {
			case messages.TypeToolUse:
				call(b.call(m))
			case messages.TypeCitations:
				if n := len(out); n > 0 && out[n-1].OfText != nil {
					for _, c := range b.Citations {
						out[n-1].OfText.Citations = append(out[n-1].OfText.Citations, param.Override[sdk.TextCitationParamUnion](c))
					}
				}
			default:
				out = append(out, param.Override[sdk.ContentBlockParamUnion](p.Value))
			}
		}
	}
	for k := range m.ToolCalls {
		call(k)
	}
	return out
}

func (w *writer) call(i, k int, c chat.ToolCall) *sdk.ToolUseBlockParam {
	b := &sdk.ToolUseBlockParam{
		ID: c.ID, Name: c.Name, Input: json.RawMessage(c.Arguments),
		CacheControl: w.plan.control(blockKey{kind: blockCall, message: i, index: k}),
	}
	if from, ok := messages.ParseCaller(c.Signature); ok {
		if from.Toolset != "" {
			b.ToolsetName = sdk.String(from.Toolset)
		}
		if len(from.Caller) > 0 {
			b.Caller = param.Override[sdk.ToolUseBlockParamCallerUnion](from.Caller)
		}
	}
	return b
}

// result returns a tool message as a block of the user message that follows the calls.
func (w *writer) result(i int, m chat.Message) []sdk.ContentBlockParamUnion {
	b := &sdk.ToolResultBlockParam{
		ToolUseID: m.ToolCallID, CacheControl: w.plan.control(blockKey{kind: blockResult, message: i}),
	}
	if m.IsError {
		b.IsError = sdk.Bool(true)
	}
	for k, p := range m.Content {
		switch p := p.(type) {
		case chat.Opaque:
			b.Content = append(b.Content, param.Override[sdk.ToolResultBlockParamContentUnion](p.Value))
		case chat.Text, chat.Image, chat.Document:
			block := w.block(i, k, p)
			b.Content = append(b.Content, sdk.ToolResultBlockParamContentUnion{OfText: block.OfText, OfImage: block.OfImage, OfDocument: block.OfDocument})
		}
	}
	return []sdk.ContentBlockParamUnion{{OfToolResult: b}}
}
