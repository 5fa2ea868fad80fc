package gemini

import (
	"slices"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
)

// Prompt is a conversation in the types of Google's SDK.
type Prompt struct {
	// System instruction, from the system messages that come first; nil where there are none.
	System *genai.Content
	// Contents of the conversation.
	Contents []*genai.Content
}

// Convert turns messages into what Gemini takes:
//
//   - System messages at the start become the system instruction. Gemini has no other place for one: a later message
//     stands where it stood, as user content in <system-message> tags.
//   - A user message is a content of its own. Assistant messages that follow each other are one content, and so are the
//     tool messages that answer one assistant message, in the order of its calls.
//   - A tool's text is the output of a function response, or its error. Images and documents of it go into the response
//     too; for legacy models they come after all responses, under a line that names the call.
//   - A text stays a text, and so does each part on its own. A data URL is sent inline, another URL as a reference.
//   - Opaque parts are Gemini's own: a part as JSON, or one of the two notes that [FromContent] leaves.
//
// Documented fallbacks, where Gemini has no word for ours:
//
//   - Cache breakpoints are left out: Gemini caches the longest prefix that it has seen by itself. A cache of your own
//     goes into Model.Config.CachedContent.
//   - The name of a user stands before the text ("Ann: hello"); other roles' names are left out.
//   - Thinking of another provider is sent as the text of a thought. Its signature and its encrypted form, which nobody
//     else can read, are left out.
//   - An image's detail is left out unless [Options.MediaResolution] is set.
//   - No arguments at all are an empty object. A number in arguments that the SDK cannot hold (it has them as float64)
//     is sent as a string of its digits. The order of keys is the SDK's.
//   - Bytes that are not UTF-8 are sent as U+FFFD, as JSON knows nothing else.
//
// What cannot be sent at all is a [*chat.ValidationError] that names each such part; [Repair] mends it. Convert looks at
// single messages: whether they obey Gemini's rules together is for [Validate] to say.
func Convert(messages []chat.Message, options Options) (Prompt, error) {
	c := converter{options: options}
	for i, m := range messages {
		c.message(i, m)
	}
	c.endResults()
	if len(c.violations) > 0 {
		return Prompt{}, &chat.ValidationError{Violations: c.violations}
	}
	return c.prompt, nil
}

// converter walks a list of messages.
type converter struct {
	options    Options
	prompt     Prompt
	violations []chat.Violation
	begun      bool // a message other than the system's was met

	calls   []chat.ToolCall // of the assistant message before
	results []result        // that answer it, so far
}

// result is a function response, and the media that stands beside it.
type result struct {
	place int // of the call among those of its message
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
		c.calls = m.ToolCalls
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

// result takes a tool message, whose place is that of its call.
func (c *converter) result(i int, m chat.Message) {
	c.begun = true
	place := slices.IndexFunc(c.calls, func(call chat.ToolCall) bool { return call.ID == m.ToolCallID })
	if place < 0 {
		c.report(i, []fault{{part: wholeMessage, rule: chat.RuleOrphan, detail: "it answers no call of the assistant message before it"}})
		return
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
