package provider

import "github.com/promptree-go/promptree/elements/chat"

// The rules of single APIs, beyond those that OpenAI, Anthropic and Gemini share. Each adapter says in its documentation
// what the limits of its API are, and in which messages it takes what.
const (
	// RuleUTF8: text, thinking, ids and arguments of calls, and definitions of tools are valid UTF-8. JSON cannot hold
	// anything else, and the SDKs would replace it silently.
	RuleUTF8 chat.Rule = "text is UTF-8"
	// RulePlace: images and documents are in messages of roles that may hold them: of users and tools, for Responses of
	// the system too, for Gemini of assistants.
	RulePlace chat.Rule = "images and documents are where the API takes them"
	// RuleMedia: images and documents are of a kind that the API accepts, inline or at an address of a scheme that it
	// reads. OpenAI: any image, at http or https. Anthropic: images in JPEG, PNG, GIF or WebP, at https, and documents
	// that are PDF or text. Gemini: any with a media type, at https or gs. Documents are in base64.
	RuleMedia chat.Rule = "images and documents are of kinds that the API takes"
	// RuleImageSize: an image has at most 8,000 pixels a side, or 2,000 if there are more than 20 images (Anthropic).
	RuleImageSize chat.Rule = "images are not too large"
	// RuleImageCount: there are at most 1,500 images (OpenAI), 100 or what the model's MaxImages says (Anthropic), or
	// 3,000 (Gemini).
	RuleImageCount chat.Rule = "not more images than the API takes"
	// RuleImageBytes: a request, inline images included, has at most 512 MB (OpenAI), 32 MB and 10 MB an image in base64
	// (Anthropic), or 100 MB (Gemini).
	RuleImageBytes chat.Rule = "not more bytes of images than the API takes"
	// RuleOpaque: an opaque part is one that the API accepts in a message of its role, and not a call or a result.
	RuleOpaque chat.Rule = "opaque parts are the API's"
	// RuleCallForm: ids of calls and names of their tools are of the API's form. Ids have at most 40 characters in Chat
	// Completions and 64 in Responses, and consist of letters, digits, _ and - for Anthropic. Names consist of letters,
	// digits, _ and -, at most 64 (OpenAI) or 128 (Anthropic); for Gemini of these, . and :, at most 128, and start with a
	// letter or _.
	RuleCallForm chat.Rule = "ids and names of calls are of the API's form"
	// RuleCallUnique: no two calls of a conversation have the same id, by which results are matched (Responses,
	// Anthropic).
	RuleCallUnique chat.Rule = "ids of calls are unique"
	// RuleArguments: the arguments of a call are a JSON object (Anthropic, Gemini, servers of Chat Completions).
	RuleArguments chat.Rule = "arguments are a JSON object"
	// RuleToolForm: the name of a declared tool obeys RuleCallForm. For Anthropic its schema, if any, is of type "object".
	RuleToolForm chat.Rule = "tool definitions are of the API's form"
	// RuleName: in Chat Completions a participant's name has at most 64 characters, none of them white space or < | \ / >.
	RuleName chat.Rule = "names of participants are plain"
)

// The rules of OpenAI's Responses.
const (
	// RuleReasoning: a reasoning item is followed by the item that followed it, a message or a call of the same answer.
	RuleReasoning chat.Rule = "a reasoning item keeps the item that follows it"
	// RuleReadable: a reasoning item has its encrypted content, or its plain text, as from local servers. OpenAI cannot
	// look up any other, because nothing is stored.
	RuleReadable chat.Rule = "a reasoning item can be read back"
)

// The rules of Anthropic.
const (
	// RuleTools: tools are declared if messages hold calls or results.
	RuleTools chat.Rule = "tools are declared where the history has calls"
	// RuleFirst: the first message besides system messages is the user's. Roles then alternate, because neighbours of one
	// role are merged.
	RuleFirst chat.Rule = "the first message is from the user"
	// RuleErrorResult: the result of a tool that failed holds only text.
	RuleErrorResult chat.Rule = "a failed result holds only text"
	// RuleThinkingForm: thinking is text with a signature, or encrypted and nothing else.
	RuleThinkingForm chat.Rule = "thinking is signed or encrypted"
	// RuleThinkingMerged: an assistant message directly after another one, with which it is merged, has no thinking.
	RuleThinkingMerged chat.Rule = "thinking is first after merging"
	// RuleServerTool: a call of one of the API's own tools is answered before the next user message, and no such result
	// is without its call. Only a turn that was paused may leave a call open.
	RuleServerTool chat.Rule = "calls of the API's own tools keep their results"
	// RuleCacheType: the type of a cache breakpoint is "ephemeral", or empty.
	RuleCacheType chat.Rule = "cache breakpoints are ephemeral"
	// RuleCacheCount: at most four blocks carry a cache breakpoint.
	RuleCacheCount chat.Rule = "at most four cache breakpoints"
	// RuleCacheOrder: in the order tools, system, messages, no breakpoint of an hour comes after one of five minutes.
	RuleCacheOrder chat.Rule = "longer cache lifetimes come first"
	// RuleToolSearch: a client's own tool_search is called only if it is declared, and calls are answered only with
	// references to tools that are declared as deferred, among which the API looks for them.
	RuleToolSearch chat.Rule = "no stale tool_search"
)

// The rules of Gemini.
const (
	// RuleCallTurn: a function call follows a user message or a function response, and so is never first.
	RuleCallTurn chat.Rule = "function calls follow a user or function response turn"
	// RuleEmptyPart: every part holds something besides a thought signature.
	RuleEmptyPart chat.Rule = "no empty parts"
	// RuleSignature: in the current turn, which is everything after the last user message, the first call of each
	// message has its thought signature. Legacy models do not require it.
	RuleSignature chat.Rule = "calls of the current turn carry their thought signature"
	// RuleSignatureForm: a thought signature is base64, as Gemini writes it. Only Gemini can check that it is unchanged.
	RuleSignatureForm chat.Rule = "thought signatures are base64"
)
