// Package refusal classifies errors of models by what they say about a request, its size or what it holds, and reads the
// sizes that they state.
package refusal

import (
	"cmp"
	"errors"
	"iter"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// Kind says what an error of a model says about a request.
type Kind int

// The kinds.
const (
	None    Kind = iota // nothing that a smaller or another request would answer
	Tokens              // larger than the context window, or HTTP 413 without words
	Body                // too many bytes, an image too large, or refused by a proxy: not a limit in tokens
	Opaque              // HTTP 400 without words, or with words that may mean the size
	Output              // more output asked for than the model gives
	Content             // something that it holds: a picture, a document, encrypted thinking
	Filter              // its words
	Dropped             // the connection was closed without an answer, as some do when a body is too large
)

// Held is what the words of a refusal name of what the request holds.
type Held int

// What words name. The zero value is nothing.
const (
	HeldUnknown  Held = iota
	HeldMedia         // a picture or a document
	HeldThinking      // encrypted or signed thinking
)

// Refusal is what an error says about a request. A size that the error does not state is 0. If a provider states only the
// sum of input and answer, Tokens is that sum.
type Refusal struct {
	Kind Kind
	// Limit is the context window, or of Output the most tokens of an answer, Tokens the size of the request's input, all
	// as the provider counts them.
	Limit, Tokens int
	// Held is what the words name of a request that is refused for what it holds, or for its bytes.
	Held Held
	// Sized reports that the words of an Opaque refusal look like ones about the size.
	Sized bool
}

// OfContent reports whether a request is refused for a part that it holds, and not for its size.
func (r Refusal) OfContent() bool {
	return r.Kind == Content || r.Kind == Filter || r.Kind == Body && r.Held == HeldMedia
}

// Of returns what err says about a request.
//
// A [*chat.ContextLimitError] anywhere in the chain is Tokens, and sizes that it does not have are read from the text of
// its Err; if it has none and the text is about the body, it is Body. Without one, a [*chat.TransientError] is None.
//
// The HTTP status of an error is that of a method StatusCode, or of a field StatusCode, HTTPStatusCode or Code of a
// struct. With 413, an error is Body if its text is about the body, and else Tokens. With 401, 402, 403, 404, 408, 409
// and 429 it is None. With 500 and more it is Tokens if its text states the context window, or is that of a server that is
// known to use them.
//
// Any other error is Tokens if its text is one with which a provider, a gateway or a local server is known to refuse
// requests that are larger than the context window; Body if its text is about bytes, images or a proxy; Opaque if its
// status, or the status in its text, is 400 and its text says nothing else. Rate limits, quotas and limits of the output
// are None. An error is Output, Content or Filter only with status 400, 422 or none, or with words that a server is known
// to send with another, and with status 400 or 422 it is Opaque too if its text looks like one about the size, though no
// known server has it ([looksTooLarge]). A closed connection is Dropped in any case.
func Of(err error) Refusal {
	if err == nil {
		return Refusal{}
	}
	if over, ok := errors.AsType[*chat.ContextLimitError](err); ok {
		r := Refusal{Kind: Tokens}
		if over.Err != nil {
			text := said(over.Err)
			if over.Limit <= 0 && over.Tokens <= 0 && !namesTokens(text) && ofBody(text, http.StatusRequestEntityTooLarge) {
				return Refusal{Kind: Body, Held: heldOf(text)}
			}
			r = tooLarge(text)
		}
		r.Limit = cmp.Or(max(0, over.Limit), r.Limit)
		r.Tokens = cmp.Or(max(0, over.Tokens), r.Tokens)
		return r
	}
	text, status := said(err), Status(err)
	if status == 0 && droppedText.MatchString(text) {
		return Refusal{Kind: Dropped}
	}
	if _, ok := errors.AsType[*chat.TransientError](err); ok {
		return Refusal{}
	}
	switch {
	case status == http.StatusRequestEntityTooLarge:
		if !namesTokens(text) && ofBody(text, status) {
			return Refusal{Kind: Body, Held: heldOf(text)}
		}
		return tooLarge(text)
	case oddly(status) && noImagesText.MatchString(text):
		return Refusal{Kind: Content, Held: HeldMedia}
	case oddly(status) && moderatedText.MatchString(text):
		return Refusal{Kind: Filter}
	case neverRefusals[status], rateText.MatchString(text):
		return Refusal{}
	case status >= http.StatusInternalServerError:
		if r := tooLarge(text); serverRefusalText.MatchString(text) || refusalText.MatchString(text) && r.Limit > 0 {
			return r
		}
		return Refusal{}
	case refusalText.MatchString(text):
		return tooLarge(text)
	case ofBody(text, status):
		return Refusal{Kind: Body, Held: heldOf(text)}
	case entityText.MatchString(text):
		return tooLarge(text)
	case saysNothing(text, status):
		return Refusal{Kind: Opaque}
	case status != 0 && status != http.StatusBadRequest && status != http.StatusUnprocessableEntity:
		return Refusal{}
	case outputText.MatchString(text):
		limit := first(outputLimits, text)
		if strings.Contains(text, "(exclusive)") { // Vertex AI's
			limit--
		}
		if limit > 0 {
			return Refusal{Kind: Output, Limit: limit}
		}
	case filterText.MatchString(text) && !pageText.MatchString(text):
		return Refusal{Kind: Filter}
	case heldOf(text) != HeldUnknown && !parameterText.MatchString(text):
		return Refusal{Kind: Content, Held: heldOf(text)}
	case (status != 0 || is400.MatchString(text)) && looksTooLarge(text):
		return Refusal{Kind: Opaque, Sized: true}
	}
	return Refusal{}
}

// said returns what a server says in an error: its text without the request's method and URL, and without line breaks,
// which some logs add.
func said(err error) string {
	return strings.Join(strings.Fields(requestLine.ReplaceAllString(err.Error(), "")), " ")
}

// requestLine matches the method and the URL in the errors of SDKs and of net/http.
var requestLine = regexp.MustCompile(`(?i)\b(?:get|post|put|patch) "[^"]*":? ?`)

// Status returns the HTTP status of an error, 0 if it has none.
func Status(err error) int {
	if coded, ok := errors.AsType[interface {
		error
		StatusCode() int
	}](err); ok {
		return coded.StatusCode()
	}
	for e := range Chain(err) {
		v := reflect.Indirect(reflect.ValueOf(e))
		if v.Kind() != reflect.Struct {
			continue
		}
		for _, name := range [...]string{"StatusCode", "HTTPStatusCode", "Code"} {
			field, ok := v.Type().FieldByName(name)
			if !ok || len(field.Index) > 1 || !v.FieldByIndex(field.Index).CanInt() {
				continue
			}
			if status := v.FieldByIndex(field.Index).Int(); status >= http.StatusBadRequest && status < 600 {
				return int(status)
			}
		}
	}
	return 0
}

// Chain yields an error and all that it wraps, each before what it wraps itself.
func Chain(err error) iter.Seq[error] {
	return func(yield func(error) bool) { walk(err, yield) }
}

func walk(err error, yield func(error) bool) bool {
	if err == nil {
		return true
	}
	var inner []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	}
	return yield(err) && !slices.ContainsFunc(inner, func(e error) bool { return !walk(e, yield) })
}

// neverRefusals are statuses that no provider is known to use for a request that is too large.
var neverRefusals = map[int]bool{
	http.StatusUnauthorized: true, http.StatusPaymentRequired: true, http.StatusForbidden: true, http.StatusNotFound: true,
	http.StatusRequestTimeout: true, http.StatusConflict: true, http.StatusTooManyRequests: true,
}

// oddly reports whether a server is known to refuse what a request holds with a status that says something else.
func oddly(status int) bool {
	return status == http.StatusForbidden || status == http.StatusNotFound || status == http.StatusInternalServerError
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

// refusalText matches the refusals of requests that are larger than the context window. The tests quote each with its
// source.
var refusalText = anyOf(
	// Codes, types and stop reasons: OpenAI and compatible servers, LiteLLM, GitHub, llama.cpp, Anthropic.
	`context_length_exceeded`, `context_?window_?exceeded`, `model_max_prompt_tokens_exceeded`, `exceed_context_size_error`,
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
	// The body, in tokens: GitHub Models.
	`request body too large for .{0,60}\btokens\b`,
)

// entityText matches the names of HTTP status 413.
var entityText = anyOf(`request entity too large`, `payload too large`, `content too large`, `\b413 status code \(no body\)`)

// serverRefusalText matches refusals with a status of 500 or more: codes that gateways pass on, from llama.cpp, from vLLM
// behind Xinference, and from streams that LiteLLM passes on.
var serverRefusalText = anyOf(
	`context_length_exceeded`, `context_?window_?exceeded`, `exceed_context_size_error`, `context size has been exceeded`,
	`longer than the maximum model length`, `exceeds the model\W{1,2}s maximum context length`,
)

// namesTokens reports whether a text is about the context window or names a number of tokens.
func namesTokens(text string) bool {
	return refusalText.MatchString(text) || tokensText.MatchString(text)
}

var tokensText = anyOf(`\d[km]? tokens\b`)

// ofBody reports whether the text of an error with this status, 0 if it is not known, is about the bytes of a request, or
// its images, or the page of a proxy.
func ofBody(text string, status int) bool {
	text = url.ReplaceAllString(text, "")
	if bodyText.MatchString(text) {
		return !answerText.MatchString(text)
	}
	switch {
	case status == http.StatusRequestEntityTooLarge, status == 0 && is413.MatchString(text):
		return proxyText.MatchString(text) || unreadText.MatchString(text)
	case status == http.StatusBadRequest, status == 0 && is400.MatchString(text):
		return pageText.MatchString(text) || proxyText.MatchString(text) && saysNothing(proxyText.ReplaceAllString(text, ""), status)
	}
	return false
}

var (
	url   = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>()\\]+`)
	is413 = anyOf(`\b413\b`, entityText.String()[len(`(?i)`):])
	is400 = anyOf(`\b400\b`, `\bbad ?request`)
)

// A number of bytes: 20971520 bytes, 5 MB, 4.5MB, 100 KiB; and the words that say that something is too large.
const (
	bytesText = `\d[\d.,_]* ?(?:bytes?|[kmg]i?b)\b`
	excess    = `(?:exceed|too (?:large|big|long)|larger than|greater than|\blimit|\bmax(?:imum)?\b)`
)

// bodyText matches the refusals of requests that have too many bytes, or too many or too large images. The tests quote
// each with its source.
var bodyText = anyOf(
	// Codes, types and settings: Anthropic, Vercel, Express, nginx.
	`request_too_large`, `payload_too_large`, `payloadtoolargeerror`, `entity\.too\.large`, `client_max_body_size`,
	// Bytes: Gemini, Anthropic, DashScope, GitHub.
	excess+`.{0,80}`+bytesText, bytesText+`.{0,80}`+excess,
	// The body: gateways, frameworks and net/http.
	`\bbody (?:size|length)\b`, `\bbody[a-z' ]{0,20} (?:too (?:large|big|long)|exceed)`, `\bmax(?:imum)? .{0,30}\brequest body\b`,
	`\blength limit exceeded\b`, `\brequest (?:header or cookie too large|is too large to send)`, `\b(?:request|payload) size (?:exceed|is too large|limit)`,
	`\bexceeds? (?:the )?max(?:imum)?(?: allowed)? size\b`, `\bmax(?:imum)?[ _](?:allowed )?(?:request|payload|content|upload)[ _]size\b`,
	// The length of a text in characters or bytes: OpenAI, Bedrock, Jackson.
	`string too long\. expected a string with maximum length \d{6}`, `string value length \(\d+\) exceeds`,
	`malformed input request: expected maxlength`, `value at 'body' failed to satisfy constraint: member must have length`,
	// Images and documents: Anthropic, Bedrock, OpenAI, vLLM, Fireworks, DashScope, Kimi.
	`\b(?:images?|documents?|pdf|media|attachments?)\b[^.]{0,60} (?:exceeds?|exceeded|too (?:large|big|many)|larger than)\b`,
	`\btoo (?:many|large|big|much) (?:images?|documents?|pdf pages|media|attachments?)\b`,
	`\b(?:at most|maximum of|up to) \d+ (?:images?|documents?|pdf pages|videos?)\b`,
	`\bmax data-uri per request\b`,
)

// answerText matches texts about the size of an answer, or of memory, which mention bytes too.
var answerText = anyOf(`\b(?:answer|response|output|completion)(?: body)? (?:is |was )?(?:too large|larger than|exceed)`, `out of memory`)

// pageText matches the page of a server for browsers, and proxyText also the name of a proxy.
var (
	pageText  = anyOf(`<!doctype html`, `<html\b`)
	proxyText = anyOf(`<!doctype html`, `<html\b`, `\b(?:nginx|cloudflare|openresty|envoy|traefik|haproxy)\b(?:/[\d.]+)?`)
)

// unreadText matches the text of GitHub Copilot for a body that it did not read because of its size.
var unreadText = anyOf(`failed to parse request`)

// saysNothing reports whether the text of an error with this status, 0 if it is not known, is that of HTTP status 400
// without a reason.
func saysNothing(text string, status int) bool {
	text = url.ReplaceAllString(strings.ReplaceAll(text, `\`, ""), "")
	if status != http.StatusBadRequest && (status != 0 || !is400.MatchString(text)) {
		return false
	}
	for _, empty := range emptyTexts {
		text = empty.ReplaceAllString(text, " ")
	}
	return !wordText.MatchString(text)
}

// emptyTexts match what says nothing in the text of an error: in this order, the names of callers before it, ids, the
// keys of JSON, and words.
var emptyTexts = []*regexp.Regexp{
	anyOf(`^(?:(?:[\w.-]+|unusable answer):(?: |$))+`),
	anyOf(`["']?\b(?:request[_-]?id|workspace[_-]?id|trace[_-]?id|user_id|provider_name|is_byok)\b["']?\)?\s*[:=]\s*(?:"[^"]*"|'[^']*'|[\w:-]+)`, `\breq_\w+`),
	anyOf(`["'][\w-]+["']\s*:`),
	anyOf(
		`\b(?:openai\.|litellm\.|google\.genai\.errors\.)?(?:bad_?request(?:_?error|_?exception)?|invalid_?request(?:_?error)?|api_?(?:status_?)?error|client_?error|openai_?error|openai_?exception)\b`,
		`\b(?:(?:the|your) )?(?:bad|invalid|malformed) request\b`, `\b(?:google )?request (?:failed|is invalid|was invalid|was malformed)(?: with)?`,
		`\brequest contains an invalid argument\b`, `\binvalid[_ ]argument\b`, `\b(?:(?:the|upstream) )?(?:provider|upstream) returned (?:an )?error\b`,
		`\b(?:(?:http|unexpected|response) )?status(?: code)?\b`, `\bhttp(?:/\d(?:\.\d)?)?\b`, `\b400\b`, `\bno (?:body|reason given)\b`,
		`\b(?:code|message|details)\b\s*:`, `\b(?:(?:an|unknown|(?:openai )?api|anthropic|google|server|upstream) )?error(?: code| message)?\b`, `\b(?:null|none)\b`, `\bmap\[\]`,
	),
}

// wordText matches a word or a number.
var wordText = regexp.MustCompile(`[\pL\pN]`)

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
	`(?:too large for model with|maximum prompt length is) N`,
	`tokens > N maximum`,
	`exceed context limit: N \+ N > N`,
	`maximum number of tokens allowed:? \(?N`,
	`(?:only supports up to|exceed(?:s|ed)? the (?:service |configured )?limit of|exceeds max token count of) N`,
	`context (?:length|window|size|limit)(?: is| of)?(?: only)? \(?N`,
	`\bn_ctx\\?"?: ?N`,
	`(?:token limit|max length): ?N`,
	`range of input length should be \[\d+, ?N\]`,
	"`max_new_tokens` +must be <= N",
	`must have less than N tokens`,
	`max_(?:seq|model)_len \(?N`,
	`(?:while limit is|maximum model length of) N`,
	`maximum (?:allowed )?(?:input |sequence )?length (?:of )?\(?N`,
	`cannot exceed N`,
	`max size: N tokens`,
)

// tokensPatterns match the size of the input in a refusal; the first that matches counts, and its numbers are added up.
var tokensPatterns = numbered(
	`\(N in (?:the messages|your prompt)`,
	`\(N of text input(?:, N of tool input)?`,
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
	`(?:requested tokens|prompt_tokens) \(N\)`,
	`(?:request length|\(requested:|given:|current length is|received) N`,
	`you requested(?: about| a total of)? N tokens`,
)

// tooLarge returns a refusal of kind [Tokens], with the sizes that its text states, ignoring the numbers of rate limits.
func tooLarge(text string) Refusal {
	named := Refusal{Kind: Tokens}
	if rateText.MatchString(text) {
		return named
	}
	named.Limit = first(limitPatterns, text)
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

// first returns the last number of the first pattern that matches, 0 if none does.
func first(patterns []*regexp.Regexp, text string) int {
	for _, p := range patterns {
		if m := p.FindStringSubmatch(text); m != nil {
			return tokenCount(m[len(m)-1])
		}
	}
	return 0
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
