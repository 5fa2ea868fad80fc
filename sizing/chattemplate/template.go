package chattemplate

import (
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
	"github.com/promptree-go/promptree/internal/modelname"
	"github.com/promptree-go/promptree/sizing"
)

// Template is the published chat template of a family of models. The zero value writes nothing around texts.
type Template string

// The templates that are known, each the one published with the first model of its family.
const (
	Llama3      Template = "Llama 3"
	Qwen25      Template = "Qwen2.5"
	Qwen3       Template = "Qwen3"
	DeepSeekV3  Template = "DeepSeek-V3"
	MistralNemo Template = "Mistral Nemo"
)

// models lists patterns for the names of models by template. The first that fits applies.
var models = []struct {
	pattern  string
	template Template
	assumed  bool
}{
	{"llama-3.[1-3]*", Llama3, true}, {"llama3.[1-3]*", Llama3, true}, {"meta-llama-3.[1-3]*", Llama3, true},
	{"llama-3*", Llama3, false}, {"llama3*", Llama3, false}, {"meta-llama-3*", Llama3, false},
	{"qwen2.5-vl*", Qwen25, true}, {"qwen2.5-coder*", Qwen25, true}, {"qwen2.5*", Qwen25, false},
	{"qwen3-coder*", Qwen3, true}, {"qwen3-next*", Qwen3, true}, {"qwen3-vl*", Qwen3, true},
	{"qwen3.5*", Qwen3, true}, {"qwen3.6*", Qwen3, true}, {"qwen3.7*", Qwen3, true}, {"qwen3*2507*", Qwen3, true}, {"qwen3*", Qwen3, false},
	{"deepseek-v3.[1-9]*", DeepSeekV3, true}, {"deepseek-v3*", DeepSeekV3, false}, {"deepseek-r1", DeepSeekV3, true},
	{"mistral-nemo*", MistralNemo, false}, {"open-mistral-nemo*", MistralNemo, false}, {"mistral-small*", MistralNemo, true},
}

// ForModel returns the template of a model by its name, such as "qwen3:8b" or "meta-llama/Meta-Llama-3-8B-Instruct", ""
// if none is known. It is assumed if the model is a later one of the family, whose template differs in what the package's
// page says.
func ForModel(model string) (t Template, assumed bool) {
	for _, m := range models {
		if modelname.Fits(m.pattern, model) {
			return m.template, m.assumed
		}
	}
	return "", false
}

// Tokens returns the special tokens that the template writes around messages. A vocabulary that has not all of them is
// another model's.
func (t Template) Tokens() []string {
	switch t {
	case Llama3:
		return []string{llamaStart, "<|start_header_id|>", "<|end_header_id|>", llamaEnd}
	case Qwen25, Qwen3:
		return []string{"<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"}
	case DeepSeekV3:
		return []string{deepSeekStart, deepSeekEnd, deepSeekUser, deepSeekAssistant, deepSeekCalls, deepSeekOutputs}
	case MistralNemo:
		return []string{mistralStart, mistralEnd, "[INST]", "[/INST]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[AVAILABLE_TOOLS]"}
	}
	return nil
}

// Exact reports whether [Template.CountRequest] returns the number of tokens that the model reads. It does not if the
// request has an image, a document or an opaque part, or
//
//   - with Llama 3: tools, calls or results, of which its template knows nothing;
//   - with DeepSeek-V3: tools, which its template leaves out;
//   - with Mistral Nemo: what its template refuses: ids of calls that have not 9 characters, a system message that is not
//     the first, user and assistant messages that do not alternate (calls and results aside).
func (t Template) Exact(req chat.Request) bool {
	if len(req.Tools) > 0 && (t == Llama3 || t == DeepSeekV3) {
		return false
	}
	next := chat.RoleUser // of Mistral's messages
	for i, m := range req.Messages {
		for _, p := range m.Content {
			switch p.(type) {
			case chat.Image, chat.Document, chat.Opaque:
				return false
			}
		}
		switch {
		case t == Llama3 && (m.Role == chat.RoleTool || len(m.ToolCalls) > 0):
			return false
		case t != MistralNemo || m.Role == chat.RoleSystem && i == 0:
		case m.Role == chat.RoleTool:
			if len(m.ToolCallID) != idLength {
				return false
			}
		case len(m.ToolCalls) > 0:
			for _, c := range m.ToolCalls {
				if len(c.ID) != idLength {
					return false
				}
			}
		case m.Role != next:
			return false
		case next == chat.RoleUser:
			next = chat.RoleAssistant
		default:
			next = chat.RoleUser
		}
	}
	return t != ""
}

// idLength is the length of an id of a call that Mistral's template accepts.
const idLength = 9

// CountRequest counts all that the model reads of a request, with the start of the answer: the text that the template
// writes, by the model's vocabulary. text must count an added token, such as <|im_start|>, as one.
//
// The sum of the counts of messages and tools and [Template.Overhead] is this number, or larger where the template writes
// less for a message because of those around it.
func (t Template) CountRequest(text func(string) int, req chat.Request) int {
	w := &writer{text: text}
	switch t {
	case Llama3:
		w.llama3(req)
	case Qwen25:
		w.qwen25(req)
	case Qwen3:
		w.qwen3(req)
	case DeepSeekV3:
		w.deepSeekV3(req)
	case MistralNemo:
		w.mistralNemo(req)
	default:
		for _, m := range req.Messages {
			w.add(m.Text())
		}
	}
	w.flush()
	for _, m := range req.Messages {
		w.tokens = clamp.Sum(w.tokens, media(m))
	}
	if t == Llama3 || t == DeepSeekV3 {
		w.tokens += t.CountTools(text, req.Tools)
	}
	return w.tokens
}

// Overhead returns the tokens of a request besides its messages and tools: the start of the text, the start of the
// answer, and the system message that a template adds if there is none. It belongs in [sizing.Window.Answer].
func (t Template) Overhead(text func(string) int) int {
	switch t {
	case Llama3:
		return text(llamaStart) + text(llamaHeader("assistant"))
	case Qwen25:
		return text(qwenStart("system")) + qwenPromptTokens + text("."+qwenEnd) + text(qwenStart("assistant"))
	case Qwen3:
		return text(qwenStart("assistant")) + text(qwenNoThought)
	case DeepSeekV3:
		return text(deepSeekStart) + text(deepSeekAssistant)
	case MistralNemo:
		return text(mistralStart)
	}
	return 0
}

// CountFrame counts a message without its text parts, as [chat.Joiner] does: what the template writes around them, calls
// with their names and arguments, the id of a result, and the other parts. A name and the failure of a tool are not
// written.
func (t Template) CountFrame(text func(string) int, m chat.Message) (tokens int, joined bool) {
	switch t {
	case Llama3:
		tokens = text(llamaHeader(m.Role)) + text(llamaEnd)
		for _, c := range m.ToolCalls {
			tokens += text(llamaCall(c))
		}
	case Qwen25, Qwen3:
		tokens = t.qwenFrame(text, m)
	case DeepSeekV3:
		tokens = deepSeekFrame(text, m)
	case MistralNemo:
		tokens = mistralFrame(text, m)
	}
	return clamp.Sum(tokens, media(m)), true
}

// CountPart counts a part that is not a text, by itself. Images, documents and opaque parts are estimated, as by
// [sizing.Estimator]: no template says what an image takes. Thinking counts if the template writes it, which only
// Qwen3's does.
func (t Template) CountPart(text func(string) int, p chat.Part) int {
	if p, ok := p.(chat.Thinking); ok {
		if t == Qwen3 {
			return text(p.Text)
		}
		return 0
	}
	return mediaPart(p)
}

// media estimates the images, documents and opaque parts of a message.
func media(m chat.Message) (tokens int) {
	for _, p := range m.Content {
		tokens = clamp.Sum(tokens, mediaPart(p))
	}
	return tokens
}

func mediaPart(p chat.Part) int {
	switch p.(type) {
	case chat.Image, chat.Document, chat.Opaque:
		return sizing.Estimator{}.CountPart(p)
	}
	return 0
}

// preambleTokens are the tokens that a template is assumed to write before a list of tools, if its own writes none.
const preambleTokens = 100

// CountTools counts the definitions of tools, as the template lists them; 0 if there are none. Those of Llama 3 and
// DeepSeek-V3, whose published templates list none, are estimated: 100 tokens, and the JSON of each.
func (t Template) CountTools(text func(string) int, tools []chat.Tool) int {
	if len(tools) == 0 {
		return 0
	}
	w := &writer{text: text}
	switch t {
	case Qwen25, Qwen3:
		w.add("\n\n")
		w.qwenTools(tools)
	case MistralNemo:
		w.mistralTools(tools)
	default:
		w.tokens = preambleTokens
		for _, tool := range tools {
			w.add(toolJSON(tool), "\n")
		}
	}
	w.flush()
	return w.tokens
}

// writer writes what a template does, and counts it.
type writer struct {
	text    func(string) int
	pending strings.Builder
	tokens  int
}

// add writes texts.
func (w *writer) add(texts ...string) {
	for _, text := range texts {
		w.pending.WriteString(text)
	}
}

// addTokens writes a passage of which only the count is known. It begins and ends where a cut does not change counts.
func (w *writer) addTokens(n int) {
	w.flush()
	w.tokens += n
}

// flush counts what was written. A special token, or text before which a cut does not change counts, must follow.
func (w *writer) flush() {
	if w.pending.Len() > 0 {
		w.tokens = clamp.Sum(w.tokens, w.text(w.pending.String()))
		w.pending.Reset()
	}
}

// thoughts returns the thinking of a message.
func thoughts(m chat.Message) (text string, any bool) {
	for _, p := range m.Content {
		if p, ok := p.(chat.Thinking); ok {
			text, any = text+p.Text, true
		}
	}
	return text, any
}
