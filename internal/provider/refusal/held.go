package refusal

import "regexp"

// heldOf returns what a text names of what a request holds.
func heldOf(text string) Held {
	switch {
	case thinkingText.MatchString(text):
		return HeldThinking
	case mediaText.MatchString(text), ofMediaText.MatchString(text):
		return HeldMedia
	}
	return HeldUnknown
}

// wrong matches what is wrong with a part of a request.
const wrong = `(?:\bnot?\b|n.t\b|unable to|failed to|cannot|unsupported|unknown variant|invalid|corrupt|malformed|exceeds?|too (?:large|many|big))`

const media = `\b(?:images?|image_url|pictures?|documents?|pdfs?|media|multimodal)\b`

var (
	// mediaText matches what servers say of a picture or document that they cannot read: Anthropic's "Could not process
	// image", OpenAI's "Invalid image data".
	mediaText = anyOf(wrong+`.{0,60}`+media, media+`.{0,60}`+wrong)
	// ofMediaText matches limits of pictures in bytes or pixels.
	ofMediaText = anyOf(`\b(?:images?|pictures?|documents?|pdfs?|media|data-uri)\b.{0,60}(?:exceed|larger|too |at most|per request)`, `at most \d+ (?:images?|documents?|videos?)`)
	// noImagesText matches what llama.cpp says with status 500, and OpenRouter with 404; moderatedText what OpenRouter and
	// xAI say with 403.
	noImagesText  = anyOf(`\bimage input is not supported`, `\bsupport image input`)
	moderatedText = anyOf(`\brequires moderation on\b`, `\bSAFETY_CHECK`)
	// thinkingText matches refusals of encrypted or signed thinking: OpenAI's and Anthropic's.
	thinkingText = anyOf(
		`invalid_encrypted_content`, `\bencrypted[ _](?:content|reasoning)\b`, `\bsignature\b.{0,60}\bthinking\b`, `\bthinking\b.{0,80}(?:signature|cannot be modified|invalid)`,
		`thought[_ ]signature`, `\breasoning\b.{0,60}(?:could not|cannot|not be found|invalid|without its required)`, `without its required .{0,9}\breasoning\b`,
	)
	// filterText matches the refusals of filters: Azure's, Google's, DashScope's, Bedrock's, DeepSeek's, Kimi's, MiniMax's,
	// GLM's.
	filterText = anyOf(
		`content[_ -]?(?:filter|management policy)`, `responsible ?ai`, `data_?inspection_?failed`, `inappropriate content`, `prohibited_content`,
		`\b(?:flagged|blocked|rejected)\b.{0,60}\b(?:safety|policy|policies|moderation|guardrail|filter)`, `\b(?:safety|usage|content) polic(?:y|ies)\b`, `sensitive (?:words?|content)`,
		`content exists risk`, `considered high risk`, `new_sensitive`, `敏感`,
	)
	// outputText matches texts about the length of the answer that was asked for, and outputLimits its limit.
	outputText   = anyOf("max_(?:completion_|output_|new_)?tokens", `maxoutputtokens`, `\b(?:output|completion) tokens?\b`, `maximum tokens you requested`)
	outputLimits = numbered(
		`> N, which`, "(?:supports? )?at most `?N", "less than or equal to `?N", `range of max_tokens (?:is|should be) \[\d+, ?N`, `model limit (?:of )?N`, `limit of N`, `\(inclusive\) to N`, `<= ?N`,
		`(?:maximum|max)(?: value| allowed)?(?: output tokens)?(?: is| of)? \(?N`, `lower than N`,
	)
	// parameterText matches texts about a setting of the request, a key, a bill or a model: nothing that it holds.
	parameterText = anyOf(`\bunknown (?:parameter|field|argument)`, `\bapi[ _-]?key\b`, `\bcredit`, `\bbilling\b`, `\bmodel (?:was )?not found\b`, `no such model`, `image(?:_size|_config| generation)`)
	// droppedText matches a connection that was closed before an answer.
	droppedText = regexp.MustCompile(`\b(?:unexpected )?EOF\b|(?i:connection reset|broken pipe|connection (?:was )?(?:forcibly )?closed|server closed (?:idle )?connection|ECONNRESET|EPIPE)`)
)

// looksTooLarge reports whether a text that no known server is quoted with may say that a request has too many tokens: it
// names what has a size, and an excess, in one of several languages, and is about the input and not about the answer, a
// rate or a batch.
func looksTooLarge(text string) bool {
	return sizedText.MatchString(text) && excessText.MatchString(text) && (inputText.MatchString(text) || !unlikeText.MatchString(text))
}

var (
	sizedText = anyOf(
		`\btokens?\b`, `token_?(?:count|limit)`, `prompt_tokens`, `\bcontext\b`, `context_`, `\bprompts?\b`, `\binput`, `\bmessages?\b`, `n_ctx`, `max_?(?:seq|model|position)`, `sequence`,
		`\bkontext`, `\beingabe`, `\bcontext[eo]\b`, `\bentrada\b`, `\bentrée\b`, `上下文`, `输入`, `提示`, `トークン`, `コンテキスト`, `入力`, `контекст`, `токен`, `컨텍스트`, `토큰`,
	)
	inputText  = anyOf(`\bcontext (?:length|size|limit)\b`, `\bin (?:the|your) (?:messages|prompt)\b`, `\btext input\b`, `\blength of the (?:messages|prompt|input)`, `\binputs?\W{1,2}tokens\b`, `\bprompt and\b`)
	excessText = anyOf(
		`exceed`, `\btoo (?:long|large|big|many)\b`, `\b(?:longer|larger|greater|more|bigger|less) than\b`, `\bless or equal\b`, `\bover(?:flow|run|size)`, `\bmax(?:imum)?\b`, `\blimit`, `[\d)] ?>=? ?[\d(n]`, `\bmust (?:be|have)\b.{0,30}(?:<|less|at most)`,
		`range of .{0,30}\[`, `\bonly supports?\b`, `\bcannot (?:fit|truncate)\b`, `\b(?:reduce|shorten|truncate)\b`, `does(?: not|n.t) fit`, `no room`, `\bcapacity\b`,
		`zu (?:lang|groß)`, `überschr`, `\btrop (?:long|grand)`, `dépass`, `\bdemasiad`, `supera`, `excede`, `超出`, `超过`, `过长`, `太长`, `超え`, `長すぎ`, `превыш`, `слишком`, `초과`, `너무`,
	)
	unlikeText = anyOf(
		`max_?(?:completion_?|output_?|new_?)?tokens`, `\b(?:output|completion|response|answer)\b`, `\bbatch`, `per request`, `\bsubscription\b`, `\bplease wait\b`, `\bafford\b`,
		`call_?id`, `\btool`, `\bat least\b`, `reformat`, `maximum tokens`, `\bunknown\b`, `\b(?:images?|documents?|pdf)\b`, `must contain`, `not supported`, `scanner`,
	)
)
