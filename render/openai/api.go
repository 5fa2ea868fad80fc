package openai

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/internal/modelname"
)

// API is one of OpenAI's two APIs for conversations.
type API string

// The APIs. The zero value is Chat Completions, which every compatible server speaks.
const (
	ChatCompletions API = ""
	Responses       API = "responses"
)

// String returns the API's name in OpenAI's documentation.
func (a API) String() string {
	if a == Responses {
		return "Responses"
	}
	return "Chat Completions"
}

// Options of a conversion. The zero value suits any server that speaks the API; [OptionsFor] knows OpenAI's models.
type Options struct {
	// Developer sends system messages with the role "developer", as OpenAI's reasoning models expect. Off by default.
	Developer bool
	// Breakpoints sends cache breakpoints as prompt_cache_breakpoint, which GPT-5.6 and later accept. Without it they
	// are left out: OpenAI's other models cache prefixes by themselves. Off by default.
	Breakpoints bool
	// Thinking says which thinking Chat Completions sends back. Defaults to [ThinkingShown].
	Thinking ThinkingBack
	// Fields sends back all that a server's answer had and package chat has no place for. Without it these are the fields that
	// servers are known to require: thought signatures and details of reasoning. Some servers refuse others that they sent
	// themselves. Off by default.
	Fields bool
}

// ThinkingBack says which thinking is sent back to a server that showed it in a field of its own (reasoning_content or
// reasoning).
type ThinkingBack string

const (
	// ThinkingShown sends back what the server showed, in the field in which it came.
	ThinkingShown ThinkingBack = ""
	// ThinkingOnCalls does so too, and in a conversation with thinking sends the field, empty, with calls whose thinking is
	// gone, since some servers refuse calls without it.
	ThinkingOnCalls ThinkingBack = "calls"
	// ThinkingNone sends none, for servers that refuse the field.
	ThinkingNone ThinkingBack = "none"
)

// OptionsFor returns the options for a model by its name, as OpenAI documents them: "developer" for reasoning models
// (o1 and later, GPT-5 and later), cache breakpoints for GPT-5.6 and later; and ThinkingOnCalls for models of DeepSeek
// and Kimi, which refuse calls without their thinking. For any other name it returns the zero value.
func OptionsFor(model string) Options {
	v, gpt := gptVersion(model)
	o := Options{Developer: reasons(model), Breakpoints: gpt && !v.less(version{5, 6})}
	if slices.ContainsFunc(needThinking, func(pattern string) bool { return modelname.Fits(pattern, model) }) {
		o.Thinking = ThinkingOnCalls
	}
	return o
}

// needThinking are the names of models that refuse calls without their thinking:
//
//   - DeepSeek's: https://api-docs.deepseek.com/guides/thinking_mode
//   - Kimi, as reported in https://github.com/openai/openai-agents-python/issues/2669
//
// GLM asks for it and does not insist (https://docs.z.ai/guides/capabilities/thinking-mode), and so does Qwen
// (https://www.alibabacloud.com/help/en/model-studio/deep-thinking).
var needThinking = []string{"deepseek*", "kimi-*"}

// reasons reports whether OpenAI lists a model among its reasoning models.
func reasons(model string) bool {
	model = baseName(model)
	for _, series := range [...]string{"o1", "o3", "o4-mini", "codex-mini"} {
		if model == series || strings.HasPrefix(model, series+"-") {
			return true
		}
	}
	v, ok := gptVersion(model)
	return ok && !v.less(version{5, 0}) && !strings.Contains(model, "-chat") // those behind ChatGPT, such as gpt-5-chat-latest, do not reason
}

// takesTemperature reports whether a model accepts a temperature. Reasoning models refuse it, except GPT-5.1 to GPT-5.5
// while their effort is "none". GPT-5.1, GPT-5.2 and GPT-5.4 have that effort by default; for later ones nothing is
// assumed.
func takesTemperature(model, effort string) bool {
	if !reasons(model) {
		return true
	}
	name := baseName(model)
	v, ok := gptVersion(name)
	if !ok || v.less(version{5, 1}) || !v.less(version{5, 6}) || strings.Contains(name, "-codex") || strings.Contains(name, "-pro") {
		return false
	}
	return effort == "none" || effort == "" && (v == version{5, 1} || v == version{5, 2} || v == version{5, 4})
}

// baseName returns a model's name without a gateway's vendor prefix and without fine-tuning.
func baseName(model string) string {
	if tuned, ok := strings.CutPrefix(model, "ft:"); ok {
		model, _, _ = strings.Cut(tuned, ":")
	}
	return strings.TrimPrefix(strings.ToLower(model), "openai/")
}

// version of a GPT model.
type version struct{ major, minor int }

func (v version) less(w version) bool {
	return v.major < w.major || v.major == w.major && v.minor < w.minor
}

// gptName matches the names of GPT models with a version, such as "gpt-5.6-sol".
var gptName = regexp.MustCompile(`^gpt-(\d{1,3})(?:\.(\d{1,3}))?(?:-|$)`)

// gptVersion reads the version from a name; false if it has none.
func gptVersion(model string) (version, bool) {
	m := gptName.FindStringSubmatch(baseName(model))
	if m == nil {
		return version{}, false
	}
	return version{number(m[1]), number(m[2])}, true
}

// number returns 0 if the number does not fit an int.
func number(digits string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(digits, ",", ""))
	if err != nil {
		return 0
	}
	return n
}
