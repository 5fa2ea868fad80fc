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
	switch {
	case len(tools) == 0:
		return 0
	case t == MistralNemo:
		return text(mistralTools(tools))
	}
	lines := strings.Join(toolsJSON(tools, quoted), "\n") + "\n"
	if t == Qwen25 || t == Qwen3 {
		return clamp.Sum(text("\n\n")+qwenToolsBeforeTokens+qwenToolsAfterTokens, text(lines))
	}
	return clamp.Sum(preambleTokens, text(lines))
}
