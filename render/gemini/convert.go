package gemini

import (
	"encoding/json"
	"math"
	"slices"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callid"
)

// Request is a request in the SDK's form, as its GenerateContent takes it, without a model, which the caller adds, as does
// [Model]. One that breaks a rule is a [*chat.ValidationError]: see [Validate], and [Repair], which mends it.
//
//   - System messages at the start become the system instruction. Gemini has no other place for one: a later message
//     stands where it stood, as user content in <system-message> tags.
//   - A user message is a content of its own. Assistant messages that follow each other are one content, and so are the
//     tool messages that answer one assistant message, in the order in which its calls are sent.
//   - Ids that [chat.WithCallIDs] made are not sent: some servers know no ids of calls and refuse them, such as Vertex AI. The
//     order says which response is whose.
//   - A tool's text is the output of a function response, or its error. Images and documents of it go into the response
//     too; for legacy models they come after all responses, under a line that names the call.
//   - A text stays a text, and so does each part on its own. A data URL is sent inline, another URL as a reference.
//   - Opaque parts are Gemini's own: a part as JSON, or one of the two notes that [Response] leaves.
//
// What Gemini has no word for:
//
//   - Cache breakpoints are left out: Gemini caches the longest prefix that it has seen by itself. A cache of your own
//     goes into the config, with [Model.Adjust].
//   - The name of a user stands before the text ("Ann: hello"); other roles' names are left out.
//   - Thinking of another provider is sent as the text of a thought. Its signature and its encrypted form, which nobody
//     else can read, are left out.
//   - An image's detail is left out unless [Options.MediaResolution] is set.
//   - No arguments at all are an empty object. A number in arguments that the SDK cannot hold (it has them as float64)
//     is a string of its digits, and the order of keys is the SDK's. A [Model] sends arguments as they were written.
//   - A choice of no tools is not sent where there are none.
func Request(req chat.Request, o Options) ([]*genai.Content, *genai.GenerateContentConfig, error) {
	contents, config, _, err := request(req, o)
	return contents, config, err
}

// request is a request in the SDK's form, and the arguments of its calls as they are written, in the order of the contents.
func request(req chat.Request, o Options) ([]*genai.Content, *genai.GenerateContentConfig, []json.RawMessage, error) {
	if err := Validate(req, o); err != nil {
		return nil, nil, nil, err
	}
	p, _ := convert(req.Messages, o)
	written := argumentsOf(p.Contents, req.Messages)
	leaveOutNewIDs(p.Contents)
	config := &genai.GenerateContentConfig{SystemInstruction: p.System, Tools: tools(req.Tools)}
	if req.MaxTokens > 0 {
		config.MaxOutputTokens = int32(min(req.MaxTokens, math.MaxInt32))
	}
	if req.Temperature != nil {
		config.Temperature = new(float32(*req.Temperature))
	}
	modes := map[chat.ToolChoice]genai.FunctionCallingConfigMode{
		chat.ToolChoiceNone: genai.FunctionCallingConfigModeNone, chat.ToolChoiceRequired: genai.FunctionCallingConfigModeAny,
	}
	if mode := modes[req.ToolChoice]; mode != "" && len(req.Tools) > 0 { // Gemini refuses one where there is nothing to call
		config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: mode}}
	}
	return p.Contents, config, written, nil
}

// Contents is a part of a conversation in the SDK's form, as [Request] has it: messages at which the rules on what follows what are
// not checked. Results of calls that are not among the messages are left out. What cannot be sent is a [*chat.ValidationError].
func Contents(messages []chat.Message, o Options) (system *genai.Content, contents []*genai.Content, err error) {
	p, violations := convert(messages, o)
	leaveOutNewIDs(p.Contents)
	return p.System, p.Contents, chat.Invalid(violations)
}

// leaveOutNewIDs leaves out the ids of calls and responses that no server gave.
func leaveOutNewIDs(contents []*genai.Content) {
	for _, content := range contents {
		for _, p := range content.Parts {
			if p.FunctionCall != nil && callid.IsNew(p.FunctionCall.ID) {
				p.FunctionCall.ID = ""
			}
			if p.FunctionResponse != nil && callid.IsNew(p.FunctionResponse.ID) {
				p.FunctionResponse.ID = ""
			}
		}
	}
}

// prompt is a conversation in the types of Google's SDK.
type prompt struct {
	// System instruction, from the system messages that come first; nil where there are none.
	System *genai.Content
	// Contents of the conversation.
	Contents []*genai.Content
}

// convert turns messages into what Gemini takes. What cannot be sent is a violation, message by message.
func convert(messages []chat.Message, options Options) (prompt, []chat.Violation) {
	c := converter{options: options}
	for i, m := range messages {
		c.message(i, m)
	}
	c.endResults()
	return c.prompt, c.violations
}

// converter walks a list of messages.
type converter struct {
	options    Options
	prompt     prompt
	violations []chat.Violation
	begun      bool // a message other than the system's was met

	calls   []chat.ToolCall // of the assistant message before, in the order in which they are sent
	results []result        // that answer it, so far
}

// result is a function response, and the media that stands beside it.
type result struct {
	place int // of the call among those that are sent
	parts []*genai.Part
}

func (c *converter) report(i int, faults []fault) {
	for _, f := range faults {
		c.violations = append(c.violations, chat.Violation{Index: i, Rule: f.rule, Detail: f.detail})
	}
}

func (c *converter) message(i int, m chat.Message) {
	if m.Role == chat.RoleTool {
		c.result(i, m)
		return
	}
	c.endResults()
	parts, faults := c.options.parts(m, c.begun)
	c.report(i, faults)
	switch {
	case m.Role == chat.RoleSystem && !c.begun:
		if c.prompt.System == nil {
			c.prompt.System = &genai.Content{}
		}
		c.prompt.System.Parts = append(c.prompt.System.Parts, parts...)
	case m.Role == chat.RoleAssistant:
		c.begun = true
		c.calls = inOrder(m.ToolCalls, parts)
		if n := len(c.prompt.Contents); n > 0 && c.prompt.Contents[n-1].Role == genai.RoleModel {
			c.prompt.Contents[n-1].Parts = append(c.prompt.Contents[n-1].Parts, parts...)
			return
		}
		c.prompt.Contents = append(c.prompt.Contents, &genai.Content{Role: genai.RoleModel, Parts: parts})
	default:
		c.begun = true
		c.calls = nil
		c.prompt.Contents = append(c.prompt.Contents, &genai.Content{Role: genai.RoleUser, Parts: parts})
	}
}

// inOrder returns calls in the order in which they are among the parts of their message.
func inOrder(calls []chat.ToolCall, parts []*genai.Part) []chat.ToolCall {
	places := make(map[string]int, len(calls))
	for i, p := range parts {
		if p.FunctionCall != nil {
			places[p.FunctionCall.ID] = i
		}
	}
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b chat.ToolCall) int { return places[a.ID] - places[b.ID] })
	return calls
}

// result takes a tool message, whose place is that of its call.
func (c *converter) result(i int, m chat.Message) {
	c.begun = true
	place := slices.IndexFunc(c.calls, func(call chat.ToolCall) bool { return call.ID == m.ToolCallID })
	if place < 0 {
		return // which is chat's matter
	}
	parts, faults := c.options.responseParts(m, c.calls[place].Name)
	c.report(i, faults)
	c.results = append(c.results, result{place: place, parts: parts})
}

// endResults puts the responses to one message's calls into one content: all responses in the order of their calls, then
// what stands beside them.
func (c *converter) endResults() {
	if len(c.results) == 0 {
		return
	}
	slices.SortStableFunc(c.results, func(a, b result) int { return a.place - b.place })
	content := &genai.Content{Role: genai.RoleUser}
	for _, r := range c.results {
		content.Parts = append(content.Parts, r.parts[0])
	}
	for _, r := range c.results {
		content.Parts = append(content.Parts, r.parts[1:]...)
	}
	c.prompt.Contents = append(c.prompt.Contents, content)
	c.results = nil
}
