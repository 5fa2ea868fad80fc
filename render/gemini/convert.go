package gemini

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callid"
)

// Options of a conversion. The zero value is for Gemini 3 and later; [OptionsFor] knows the older models.
type Options struct {
	// Legacy is for models before Gemini 3. They accept no media in a function response, so media is sent beside it,
	// and they do not require thought signatures. Off by default.
	Legacy bool

	written bool // calls have their arguments as a text (raw.go)
}

// OptionsFor returns the options for a model by its name, such as "gemini-2.5-flash" or "models/gemini-3-pro". For any
// other name it returns the zero value.
func OptionsFor(model string) Options {
	_, version, found := strings.Cut(model, "gemini-")
	if !found {
		return Options{}
	}
	major, _, _ := strings.Cut(version, "-")
	major, _, _ = strings.Cut(major, ".")
	generation, err := strconv.Atoi(major)
	return Options{Legacy: err == nil && generation < 3}
}

// Request converts a request to the SDK's types, without a model, which the caller adds, as [Model] does. A request
// that breaks a rule is a [*chat.ValidationError]: see [Validate], and [Repair], which repairs it.
//
//   - System messages at the start become the system instruction. Gemini has no place for later ones: each stays where
//     it is, as user content in <system-message> tags.
//   - Each user message is one content. Consecutive assistant messages are one content, and so are the tool messages
//     that answer one assistant message, in the order in which its calls are sent.
//   - Ids made by [chat.WithCallIDs] are not sent, because some servers, such as Vertex AI, refuse ids of calls.
//     Responses are then matched by order.
//   - A tool's text is the output of a function response, or its error. The result's images and documents go into the
//     response too; for legacy models they come after all responses, under a line that names the call.
//   - Each text stays a separate part. A data URL is sent inline, another URL as a reference.
//   - An opaque part is sent as a part of Gemini's, unless it is one of the two notes that [Response] makes.
//
// What the API has no equivalent for:
//
//   - The name of a user is put before the text ("Ann: hello"). Names of other participants are left out, and so is the
//     detail of an image.
//   - Thinking of another provider is sent as the text of a thought. Its signature and its encrypted form, which nobody
//     else can read, are left out.
//   - Cache breakpoints are left out: Gemini caches the longest prefix that it has seen by itself. A cache of your own
//     is set in the config, by [Model].Adjust.
//   - Empty arguments become an empty object. A number in arguments that the SDK cannot hold (it uses float64) becomes
//     a string of its digits, and the order of keys is the SDK's. A [Model] sends arguments as they were written.
//   - A tool choice is not sent if there are no tools.
//
// The SDK sorts the keys in schemas of tools.
func Request(req chat.Request, o Options) ([]*genai.Content, *genai.GenerateContentConfig, error) {
	if err := Validate(req, o); err != nil {
		return nil, nil, err
	}
	p := convert(req.Messages, o)
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
	choice := genai.FunctionCallingConfig{Mode: modes[req.ToolChoice]}
	if req.Tool != "" {
		choice = genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeAny, AllowedFunctionNames: []string{req.Tool}}
	}
	if choice.Mode != "" && len(req.Tools) > 0 { // Gemini refuses a choice without tools
		config.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &choice}
	}
	if req.Format != nil {
		config.ResponseMIMEType, config.ResponseJsonSchema = "application/json", req.Format.Schema
	}
	config.ThinkingConfig = thinking(req.Effort, o)
	return p.Contents, config, nil
}

// thinking returns the thinking of an effort, as Google maps it for the models of OpenAI's API
// (https://ai.google.dev/gemini-api/docs/openai#thinking). Gemini 3 cannot do without, so its least level stands for none.
func thinking(e chat.Effort, o Options) *genai.ThinkingConfig {
	if e == chat.EffortDefault {
		return nil
	}
	if o.Legacy {
		return &genai.ThinkingConfig{ThinkingBudget: new(map[chat.Effort]int32{chat.EffortLow: 1_024, chat.EffortMedium: 8_192, chat.EffortHigh: 24_576}[e])}
	}
	return &genai.ThinkingConfig{ThinkingLevel: map[chat.Effort]genai.ThinkingLevel{
		chat.EffortNone: genai.ThinkingLevelMinimal, chat.EffortLow: genai.ThinkingLevelLow,
		chat.EffortMedium: genai.ThinkingLevelMedium, chat.EffortHigh: genai.ThinkingLevelHigh,
	}[e]}
}

// Contents converts a part of a conversation to the SDK's types, as [Request] does, without checking the rules about
// the order of messages. Results of calls that are not among the messages are left out. A message that cannot be sent
// is a [*chat.ValidationError].
func Contents(messages []chat.Message, o Options) (system *genai.Content, contents []*genai.Content, err error) {
	p := convert(messages, o)
	return p.System, p.Contents, o.accepts().ValidateMessages(messages)
}

// convert converts messages. Parts that are not valid are left out, and so are the ids of calls and responses that
// [chat.WithCallIDs] made.
func convert(messages []chat.Message, options Options) converter {
	c := converter{options: options}
	for _, m := range messages {
		c.message(m)
	}
	c.endResults()
	for _, content := range c.Contents {
		for _, p := range content.Parts {
			if p.FunctionCall != nil && callid.IsNew(p.FunctionCall.ID) {
				p.FunctionCall.ID = ""
			}
			if p.FunctionResponse != nil && callid.IsNew(p.FunctionResponse.ID) {
				p.FunctionResponse.ID = ""
			}
		}
	}
	return c
}

// converter walks a list of messages and holds the conversation in the SDK's types.
type converter struct {
	// System instruction, from the system messages that come first; nil if there are none.
	System *genai.Content
	// Contents of the conversation.
	Contents []*genai.Content

	options Options
	begun   bool // a message other than a system message was met

	calls   []chat.ToolCall // of the last assistant message, in the order in which they are sent
	results []result        // the results of those calls so far
}

// result is a function response with the media sent beside it.
type result struct {
	place int // the index of its call in the order in which they are sent
	parts []*genai.Part
}

func (c *converter) message(m chat.Message) {
	if m.Role == chat.RoleTool {
		c.result(m)
		return
	}
	c.endResults()
	parts, _ := c.options.parts(m, c.begun)
	switch {
	case m.Role == chat.RoleSystem && !c.begun:
		if c.System == nil {
			c.System = &genai.Content{}
		}
		c.System.Parts = append(c.System.Parts, parts...)
	case m.Role == chat.RoleAssistant:
		c.begun = true
		c.calls = inOrder(m.ToolCalls, parts)
		if n := len(c.Contents); n > 0 && c.Contents[n-1].Role == genai.RoleModel {
			c.Contents[n-1].Parts = append(c.Contents[n-1].Parts, parts...)
			return
		}
		c.Contents = append(c.Contents, &genai.Content{Role: genai.RoleModel, Parts: parts})
	default:
		c.begun = true
		c.calls = nil
		c.Contents = append(c.Contents, &genai.Content{Role: genai.RoleUser, Parts: parts})
	}
}

// inOrder returns calls in the order of their parts in the message.
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

// result adds a tool message in the place of its call.
func (c *converter) result(m chat.Message) {
	c.begun = true
	place := slices.IndexFunc(c.calls, func(call chat.ToolCall) bool { return call.ID == m.ToolCallID })
	if place < 0 {
		return // package chat reports it
	}
	parts, _ := c.options.responseParts(m, c.calls[place].Name)
	c.results = append(c.results, result{place: place, parts: parts})
}

// endResults makes one content of the responses to one message's calls: all responses in the order of the calls, then
// their media.
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
	c.Contents = append(c.Contents, content)
	c.results = nil
}
