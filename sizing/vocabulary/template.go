package vocabulary

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// Template counts what a chat template adds to the texts of a request. Its methods are given a function that counts a
// text exactly. An implementation is comparable and safe for concurrent use.
type Template interface {
	// CountFrame counts a message without its text parts. If joined is true, these are counted as one text, else each
	// by itself. See [chat.Joiner].
	CountFrame(text func(string) int, m chat.Message) (tokens int, joined bool)
	// CountPart counts a part of a message's content that is not a [chat.Text].
	CountPart(text func(string) int, p chat.Part) int
	// CountTools counts the definitions of one tool or more.
	CountTools(text func(string) int, tools []chat.Tool) int
}

// estimate is a [Template] for models whose chat template is not known. Texts count exactly, and what stands around them
// as most templates have it: 5 tokens a message, 10 a tool call, tools as the JSON of their definitions.
type estimate struct{}

const (
	frameTokens = 5
	callTokens  = 10
)

// CountFrame estimates a message's frame.
func (e estimate) CountFrame(text func(string) int, m chat.Message) (tokens int, joined bool) {
	tokens = frameTokens + text(m.Name)
	for _, call := range m.ToolCalls {
		tokens += callTokens + text(call.Name) + text(call.Arguments)
	}
	for _, part := range m.Content {
		if _, ok := part.(chat.Text); !ok {
			tokens += e.CountPart(text, part)
		}
	}
	return tokens, true
}

// CountPart counts thinking and documents of plain text as their text, and other parts as [sizing.Estimator] does.
func (estimate) CountPart(text func(string) int, p chat.Part) int {
	switch p := p.(type) {
	case chat.Thinking:
		return text(p.Text)
	case chat.Document:
		if content, err := base64.StdEncoding.DecodeString(p.Data); err == nil && strings.HasPrefix(p.MediaType, "text/") {
			return text(string(content))
		}
	}
	return sizing.Estimator{}.CountPart(p)
}

// CountTools counts the JSON of each tool's definition.
func (estimate) CountTools(text func(string) int, tools []chat.Tool) (tokens int) {
	for _, tool := range tools {
		name, _ := json.Marshal(tool.Name)
		description, _ := json.Marshal(tool.Description)
		tokens += text(`{"type": "function", "function": {"name": ` + string(name) + `, "description": ` + string(description) +
			`, "parameters": ` + string(tool.Parameters) + `}}`)
	}
	return tokens
}
