// Package refusal detects errors of providers for requests that are too large, and reads the sizes that they state.
package refusal

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// Sizes are the sizes that an error states for a request that is larger than the model's context window, in tokens as
// the provider counts them. A size that the error does not state is 0. If a provider states only the sum of input and
// answer, Tokens is that sum.
type Sizes struct {
	// Limit is the context window, Tokens the size of the request's input.
	Limit, Tokens int
}

// TooLarge reports whether err says that a request is larger than the model's context window, and returns the sizes that
// it states.
//
// A [*chat.ContextLimitError] anywhere in the chain counts; sizes that it does not have are read from the text of its
// Err. Without one, a [*chat.TransientError] never counts. Of errors with a method StatusCode, an HTTP status of 413
// counts, 401, 402, 403, 404, 408, 409 and 429 do not, and 500 and more do only with the text of a server that is known
// to use them. Any other error counts if its text is one with which a provider, a gateway or a local server is known to
// refuse requests that are too large. Rate limits, quotas and limits of the output do not count.
func TooLarge(err error) (Sizes, bool) {
	if err == nil {
		return Sizes{}, false
	}
	if over, ok := errors.AsType[*chat.ContextLimitError](err); ok {
		named := Sizes{}
		if over.Err != nil {
			named = sizes(unbroken(over.Err))
		}
		if over.Limit > 0 {
			named.Limit = over.Limit
		}
		if over.Tokens > 0 {
			named.Tokens = over.Tokens
		}
		return named, true
	}
	if _, ok := errors.AsType[*chat.TransientError](err); ok {
		return Sizes{}, false
	}
	text, known := unbroken(err), refusalText
	if coded, ok := errors.AsType[interface {
		error
		StatusCode() int
	}](err); ok {
		switch status := coded.StatusCode(); {
		case status == http.StatusRequestEntityTooLarge:
			return sizes(text), true
		case neverRefusals[status]:
			return Sizes{}, false
		case status >= http.StatusInternalServerError:
			known = serverRefusalText
		}
	}
	if rateText.MatchString(text) || !known.MatchString(text) {
		return Sizes{}, false
	}
	return sizes(text), true
}

// unbroken returns the text of an error without line breaks, which some logs add.
func unbroken(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// neverRefusals are statuses that no provider is known to use for a request that is too large.
var neverRefusals = map[int]bool{
	http.StatusUnauthorized: true, http.StatusPaymentRequired: true, http.StatusForbidden: true, http.StatusNotFound: true,
	http.StatusRequestTimeout: true, http.StatusConflict: true, http.StatusTooManyRequests: true,
}

// anyOf returns a regular expression that ignores case and matches any of the patterns.
func anyOf(patterns ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join(patterns, "|"))
}

// rateText matches texts about the quota or the balance of an account, which mention tokens and limits too.
var rateText = anyOf(
	`\bper[ -](?:second|sec|minute|min|hour|day|week|month)\b`, `\b[tr]p[md]\b`,
	`rate.?limit`, `throttl`, `quota`, `too many requests`, `resource.?exhausted`,
	`wait before trying`, `try again (?:in|later)\b`, `retry (?:after|in)\b`, `\bbilling\b`, `\bcredits\b`, `extra usage`,
)

// refusalText matches the refusals of requests that are too large. The tests quote each with its source.
var refusalText = anyOf(
	// Codes, types and stop reasons: OpenAI and compatible servers, LiteLLM, GitHub, llama.cpp, Anthropic.
	`context_length_exceeded`, `context_?window_?exceeded`, `model_max_prompt_tokens_exceeded`, `exceed_context_size_error`,
	`request_too_large`,
	// The context: most providers, "exceeds the context window of this model", "context size has been exceeded".
	`\bmaximum context (?:length|limit|window)\b`,
	`\bexceed(?:s|ed)?\b.{0,50}\bcontext (?:window|length|size|limit)\b`,
	`\bcontext (?:window|length|size|limit)\b.{0,20}\bexceed`,
	`\b(?:longer|greater) than the (?:model\W{1,2}s )?(?:context length|maximum model length)`,
	`when context the overflows`, `reached its context window limit`, `configured context size is`,
	// The prompt: Anthropic, Bedrock, xAI, GitHub, Kimi, GLM, Mistral, Fireworks.
	`\b(?:prompt|input) (?:is )?too long\b`, `maximum prompt length is`, `\bprompt token count of [\d,]+ exceeds`,
	`exceeded model token limit`, `model max length exceeded`, `\bprompt exceeds max length`,
	`too large for model with [\d,]+ maximum`,
	// The tokens of the input: Gemini, OpenAI, Bedrock, Cohere, Writer, DashScope, SiliconFlow, TGI, SGLang, TensorRT-LLM.
	`\binput token count\b.{0,30}\b(?:exceeds the maximum|only supports up to)`, `exceeds the maximum number of tokens`,
	`input tokens exceed the configured limit`, `number of input tokens exceeds maximum length`,
	`total number of tokens \(prompt ?(?:and|\+) ?\w+\) (?:cannot exceed|exceeded)`,
	`tokens in request more than max tokens allowed`, `range of input length should be \[`,
	`length of prompt_tokens \(\d+\) must be less than`, "`inputs` tokens \\+ `max_new_tokens` +must be",
	"`inputs` must have less than", `\b(?:input|prompt) length \(?[\d,]+(?: tokens)?\)? exceeds`,
	`request length [\d,]+ \+ [\d,]+ is greater than max_seq_len`,
	// Advice: Groq, Cerebras, vLLM.
	`reduce the length of the (?:messages|prompt|input)`,
	// The body: proxies, GitHub Models, and what Bedrock checks before it calls the model.
	`request entity too large`, `payload too large`, `content too large`, `request body too large for`,
	`\b413 (?:status code \(no body\)|failed to (?:parse|buffer) (?:the )?request)`,
	`malformed input request: expected maxlength`, `value at 'body' failed to satisfy constraint: member must have length`,
)

// serverRefusalText matches refusals with a status of 500 or more: from llama.cpp, from vLLM behind Xinference, and from
// streams that LiteLLM passes on.
var serverRefusalText = anyOf(
	`exceed_context_size_error`, `context size has been exceeded`, `longer than the maximum model length`,
	`exceeds the model\W{1,2}s maximum context length`,
)

// number matches a number of tokens: 128000, 128,000, 128_000, 128k, 1.5M.
const number = `(\d{1,3}(?:[,_]\d{3})+|\d+(?:\.\d+)?k\b|\d+(?:\.\d+)?m\b|\d+)`

func numbered(patterns ...string) []*regexp.Regexp {
	made := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		made[i] = regexp.MustCompile(`(?i)` + strings.ReplaceAll(p, `N`, number))
	}
	return made
}

// limitPatterns match the context window in a refusal; the first that matches counts. N is a number.
var limitPatterns = numbered(
	`maximum context (?:length|limit|window)(?: is| of|:)?(?: only)? \(?N`,
	`too large for model with N`,
	`maximum prompt length is N`,
	`tokens > N maximum`,
	`exceed context limit: N \+ N > N`,
	`maximum number of tokens allowed:? \(?N`,
	`only supports up to N`,
	`exceed(?:s|ed)? the (?:service |configured )?limit of N`,
	`exceeds max token count of N`,
	`context (?:length|window|size|limit)(?: is| of)?(?: only)? \(?N`,
	`\bn_ctx\\?"?: ?N`,
	`token limit: N`,
	`max length: ?N`,
	`range of input length should be \[\d+, ?N\]`,
	"`max_new_tokens` +must be <= N",
	`must have less than N tokens`,
	`max_seq_len \(?N`,
	`while limit is N`,
	`maximum model length of N`,
	`maximum (?:allowed )?(?:input |sequence )?length (?:of )?\(?N`,
	`cannot exceed N`,
	`max size: N tokens`,
)

// tokensPatterns match the size of the input in a refusal; the first that matches counts, and its numbers are added up.
var tokensPatterns = numbered(
	`\(N in (?:the messages|your prompt)`,
	`\(N of text input, N of tool input`,
	`\(N of text input`,
	`N tokens from the input messages`,
	`(?:prompt|request|passed|has|contains?)(?: at least)? N (?:input )?tokens`,
	`resulted in N tokens`,
	`too long: N`,
	`exceed context limit: N`,
	`input token count(?: is)? \(?N`,
	`prompt token count of N`,
	`request \(N tokens`,
	`n_prompt_tokens\\?"?: ?N`,
	`keep the first N tokens`,
	`n_keep: ?N`,
	`the input \(N tokens`,
	`prompt length(?: of)? \(?N`,
	`input length \(?N(?: tokens)?\)? exceeds`,
	`prompt \(length N\)`,
	`requested tokens \(N\)`,
	`request length N`,
	`\(requested: N\)`,
	`given: N`,
	`prompt_tokens \(N\)`,
	`current length is N`,
	`received N`,
	`you requested(?: about| a total of)? N tokens`,
)

// sizes reads the sizes that a refusal states, ignoring the numbers of rate limits.
func sizes(text string) Sizes {
	if rateText.MatchString(text) {
		return Sizes{}
	}
	named := Sizes{}
	for _, p := range limitPatterns {
		if m := p.FindStringSubmatch(text); m != nil {
			named.Limit = tokenCount(m[len(m)-1])
			break
		}
	}
	for _, p := range tokensPatterns {
		if m := p.FindStringSubmatch(text); m != nil {
			for _, part := range m[1:] {
				named.Tokens += tokenCount(part)
			}
			break
		}
	}
	return named
}

// tokenCount returns the number in s, and 0 if it is too small or too large for a context window.
func tokenCount(s string) int {
	const smallest, largest = 100, 1 << 30
	s = strings.ToLower(strings.NewReplacer(",", "", "_", "").Replace(s))
	factor := 1.0
	switch {
	case strings.HasSuffix(s, "k"):
		factor = 1e3
	case strings.HasSuffix(s, "m"):
		factor = 1e6
	}
	f, err := strconv.ParseFloat(strings.TrimRight(s, "km"), 64)
	if f *= factor; err != nil || f < smallest || f > largest {
		return 0
	}
	return int(f)
}
