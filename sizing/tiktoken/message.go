package tiktoken

import (
	"encoding/base64"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/counting"
)

// ReplyPriming is the number of tokens that start every answer and count as input. It is counted once per request and
// not in any message, so it belongs in [sizing.Window.Answer].
const ReplyPriming = 3

// The tokens of a message besides those of its texts, by OpenAI's cookbook for GPT-3.5 and later.
const (
	messageTokens = 3
	nameTokens    = 1
)

// CountMessage counts a message as the Chat Completions API takes it: 3 tokens, the tokens of every text in its JSON
// object, each on its own, and 1 more for each name. The texts are
//
//   - the role;
//   - the content, its text parts joined. In a user or tool message with an image or an opaque part, the content is a
//     list instead, and each text counts alone, with the word "text" for its type;
//   - the name, except in a tool message, which has none there;
//   - the id, type ("function"), name and arguments of each tool call of an assistant message;
//   - the id of the call that a tool message answers.
//
// Images and documents in user and tool messages count as in [Counter.CountPart]; OpenAI takes none in other messages,
// so there they count 0. Opaque parts count in every message, and thinking in the assistant's. Neither is part of the
// Chat Completions API; they are counted for adapters that send them anyway.
func (c *Counter) CountMessage(m chat.Message) int { return counting.Message(c, m) }

// CountFrame counts a message without its text: the result of [Counter.CountMessage] less the tokens of the text parts.
// It also reports whether the text parts are counted joined, which they are unless the content is sent as a list.
func (c *Counter) CountFrame(m chat.Message) (tokens int, joined bool) {
	list := isList(m)
	tokens = messageTokens + c.CountText(string(m.Role))
	if m.Name != "" && m.Role != chat.RoleTool {
		tokens += nameTokens + c.CountText(m.Name)
	}
	if m.Role == chat.RoleTool {
		tokens += c.CountText(m.ToolCallID)
	}
	if m.Role == chat.RoleAssistant {
		for _, call := range m.ToolCalls {
			tokens += c.countCall(call)
		}
	}
	for _, part := range m.Content {
		switch part := part.(type) {
		case chat.Text:
			if list {
				tokens += c.CountText("text")
			}
		case chat.Image, chat.Document:
			if !textOnly(m.Role) {
				tokens += c.CountPart(part)
			}
		case chat.Thinking:
			if m.Role == chat.RoleAssistant {
				tokens += c.CountPart(part)
			}
		default:
			tokens += c.CountPart(part)
		}
	}
	return tokens, !list
}

func (c *Counter) countCall(call chat.ToolCall) int {
	n := c.CountText(call.ID) + c.CountText("function") + c.CountText(call.Arguments)
	if call.Name != "" {
		n += nameTokens + c.CountText(call.Name)
	}
	return n
}

// textOnly reports whether messages of a role hold no images and documents.
func textOnly(role chat.Role) bool { return role == chat.RoleSystem || role == chat.RoleAssistant }

// isList reports whether a message's content is sent as a list of parts. Documents alone do not make it a list.
func isList(m chat.Message) bool {
	if textOnly(m.Role) {
		return false
	}
	for _, part := range m.Content {
		switch part.(type) {
		case chat.Image, chat.Opaque:
			return true
		}
	}
	return false
}

// CountPart counts one part of a message's content:
//
//   - a text as [Counter.CountText];
//   - an image by OpenAI's formula, never as the text of its URL. GPT-4o takes 85 tokens in low detail, else 85 plus
//     170 for each tile of 512 pixels, after the image was scaled down to fit 2048 pixels and its shorter side to 768.
//     GPT-5.2 and later, and the small models since GPT-4.1, take a rate for each patch of 32 pixels, after the image
//     was scaled down to a maximum number of patches. [ForModel] uses OpenAI's figures for the model. If the detail is
//     left to OpenAI, it counts as high; if the size is not known (behind an https URL, or not a PNG, JPEG, GIF or
//     WebP), the image counts as the largest, which is 1,445 tokens with GPT-4o;
//   - a document of plain text ("text/…") as its text. For other documents OpenAI publishes no rule: it sends the model
//     the text and an image of each page. The count is a high estimate: the largest image, and 1 token for each 4 bytes
//     of the file. Scanned pages take far fewer; many pages of nothing but compressed text may take more;
//   - thinking as its text, without its signature and its encrypted form;
//   - an opaque part as the tokens that it states;
//   - a cache breakpoint as 0.
func (c *Counter) CountPart(part chat.Part) int {
	switch part := part.(type) {
	case chat.Text:
		return c.CountText(string(part))
	case chat.Image:
		return c.countImage(part)
	case chat.Document:
		return c.countDocument(part)
	case chat.Thinking:
		return c.CountText(part.Text)
	case chat.Opaque:
		return max(0, part.Tokens)
	default:
		return 0
	}
}

// bytesPerToken is the number of bytes of a document that count as one token.
const bytesPerToken = 4

func (c *Counter) countDocument(d chat.Document) int {
	if strings.HasPrefix(d.MediaType, "text/") {
		if text, err := base64.StdEncoding.DecodeString(d.Data); err == nil {
			return c.CountText(string(text))
		}
	}
	size := base64.StdEncoding.DecodedLen(len(d.Data))
	if size == 0 {
		return 0
	}
	return c.images.largest() + (size+bytesPerToken-1)/bytesPerToken
}
