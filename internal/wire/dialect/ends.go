// Package dialect holds what servers send otherwise than the makers of the APIs that they speak, as data with sources. A
// dialect has no name: it is a set of tolerances, all of which hold at once. Where two contradict each other, a field of
// the model chooses.
//
// One rule runs through all: what is not understood is never taken for complete.
package dialect

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/parts"
)

// Pause is the reason of an answer that the API interrupted to go on with it: a long turn of its own tools, or a
// compaction.
const Pause chat.StopReason = "pauseTurn"

// failed is the reason of an answer that failed and may succeed if it is asked for again. No answer has it.
const failed chat.StopReason = "failed"

// ends are the reasons why an answer ended, as [plain] writes them. No two APIs mean different things by one word.
//
//	OpenAI                 https://platform.openai.com/docs/api-reference/chat/object
//	Anthropic              https://docs.claude.com/en/api/handling-stop-reasons
//	Gemini                 https://ai.google.dev/api/generate-content#FinishReason
//	DeepSeek               https://api-docs.deepseek.com/api/create-chat-completion
//	GLM                    https://docs.z.ai/api-reference/llm/chat-completion, opencode#18813
//	Mistral                https://docs.mistral.ai/api/ (model_length)
//	Cohere, TGI, Together, Bedrock   litellm/litellm_core_utils/core_helpers.py, _FINISH_REASON_MAP
//	gateways               pass on the words of the API behind them, in that API's case or in their own: tool-calls,
//	                       content-filter (vercel/ai, language-model-v1-finish-reason.ts), MaxTokens
var ends = map[string]chat.StopReason{
	"stop": chat.StopEnd, "endturn": chat.StopEnd, "stopsequence": chat.StopEnd,
	"complete": chat.StopEnd, // Cohere
	"end":      chat.StopEnd, // gateways (pi#2106)
	"eos":      chat.StopEnd, // Together
	"eostoken": chat.StopEnd, // TGI

	"toolcalls": chat.StopToolCalls, "functioncall": chat.StopToolCalls, "tooluse": chat.StopToolCalls,

	"length": chat.StopMaxTokens, "maxtokens": chat.StopMaxTokens, "maxoutputtokens": chat.StopMaxTokens,
	"modellength":                chat.StopMaxTokens, // Mistral
	"modelcontextwindowexceeded": chat.StopMaxTokens, // Anthropic, GLM
	"continuation":               chat.StopMaxTokens, // Gemini: the answer is not complete, and another request goes on with it

	"contentfilter": chat.StopFiltered, "refusal": chat.StopFiltered,
	"contentfiltered": chat.StopFiltered, "filtered": chat.StopFiltered, // LiteLLM, package chat
	"sensitive":           chat.StopFiltered, // GLM
	"errortoxic":          chat.StopFiltered, // Cohere
	"guardrailintervened": chat.StopFiltered, // Bedrock
	"safety":              chat.StopFiltered, "recitation": chat.StopFiltered, "language": chat.StopFiltered, "blocklist": chat.StopFiltered,
	"prohibitedcontent": chat.StopFiltered, "spii": chat.StopFiltered, "imagesafety": chat.StopFiltered,
	"imageprohibitedcontent": chat.StopFiltered, "imagerecitation": chat.StopFiltered,

	"pauseturn": Pause, "compaction": Pause,

	"error":                      failed, // OpenRouter, Mistral: a failure behind the gateway (https://openrouter.ai/docs/api-reference/errors)
	"networkerror":               failed, // GLM
	"insufficientsystemresource": failed, // DeepSeek
	"abort":                      failed, // vLLM (vllm/v1/engine/__init__.py), SGLang
	"malformedfunctioncall":      failed, // Gemini: the model may correct it
	"malformedresponse":          failed, // Gemini
	"unexpectedtoolcall":         failed, // Gemini
	"toomanytoolcalls":           failed, // Gemini
}

// plain returns a reason in lower case, without what joins its words.
func plain(reason string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(reason))
}

// filtered is the prefix of the reasons with which Google's Chat Completions ends an answer whose call it dropped, such as
// "function_call_filter: MALFORMED_FUNCTION_CALL".
const filtered = "functioncallfilter:"

// ErrNothing is the error of an answer that says nothing, neither a text nor a whole call, without a reason for its end.
var ErrNothing = errors.New("the answer has no reason for its end and says nothing")

// Stop returns why an answer ended by the reason that the server gave, in any case and however its words are joined.
// Reasons that the caller declared come first. Without a reason, which the end of a stream or of a body stands for, an
// answer that says something has ended. An answer that ends within the arguments of a call was cut off, whatever its
// reason says (vllm#58228). A reason that announces calls is no end without one: they are lost. That and any other
// reason is an error with a [*chat.EndError] in it: a [*chat.TransientError] if the answer failed and may succeed
// if it is asked for again, else a [*chat.AnswerError].
func Stop(reason, detail string, m chat.Message, declared map[string]chat.StopReason) (chat.StopReason, error) {
	word := plain(reason)
	stop, known := declared[reason]
	if !known {
		stop, known = ends[word]
	}
	err := &chat.EndError{Reason: reason, Message: detail}
	switch {
	case reason == "" && !says(m):
		return "", ErrNothing
	case len(m.ToolCalls) > 0 && (reason == "" || known && (stop == chat.StopEnd || stop == chat.StopToolCalls)): // some servers say "stop"
		if endsWithin(m.ToolCalls[len(m.ToolCalls)-1]) {
			return chat.StopMaxTokens, nil
		}
		return chat.StopToolCalls, nil
	case reason == "":
		return chat.StopEnd, nil
	case stop == chat.StopToolCalls && len(m.ToolCalls) == 0:
		err.Message = cmp.Or(detail, "the answer holds no call")
		return "", &chat.TransientError{Err: err}
	case stop == failed, strings.HasPrefix(word, filtered):
		return "", &chat.TransientError{Err: err}
	case known:
		return stop, nil
	}
	return "", &chat.AnswerError{Err: err}
}

// End is [Stop] for a whole answer. One that ended in order and says nothing is a [*chat.EmptyError] in a
// [*chat.TransientError].
func End(reason, detail string, m chat.Message, declared map[string]chat.StopReason) (chat.StopReason, error) {
	stop, err := Stop(reason, detail, m, declared)
	if err == nil && Empty(stop, m) {
		return "", &chat.TransientError{Err: &chat.EmptyError{}}
	}
	return stop, err
}

// Empty reports whether an answer that ended in order says nothing: it has no text, no call, and no other part but
// thinking, in any form, and the fields that package chat has no place for.
func Empty(stop chat.StopReason, m chat.Message) bool {
	return stop == chat.StopEnd && len(m.ToolCalls) == 0 && strings.TrimSpace(m.Text()) == "" && !slices.ContainsFunc(m.Content, func(p chat.Part) bool {
		switch p := p.(type) {
		case chat.Text, chat.Thinking:
			return false
		case chat.Opaque:
			return !silent(p)
		}
		return true
	})
}

// silent reports whether a part that package chat has no place for says nothing to a user: it holds [Fields], the
// fields of a message of the Responses API, its reasoning, a thought of Gemini, its signature or white space.
func silent(p chat.Opaque) bool {
	o, err := wire.Parse(p.Value)
	if err != nil {
		return false
	}
	switch o.Peek("type") {
	case Fields, "reasoning":
		return true
	case "message":
		return !o.Has("role")
	case "":
		names := o.Names()
		o.Skip("thoughtSignature")
		return len(names) > 0 && (len(o.Names()) == 0 || string(o.Look("thought")) == "true" ||
			len(o.Names()) == 1 && o.Is("text", wire.KindText) && strings.TrimSpace(o.Peek("text")) == "")
	}
	return false
}

// endsWithin reports whether the arguments of a call are an object that is not complete.
func endsWithin(c chat.ToolCall) bool {
	if !strings.HasPrefix(strings.TrimSpace(c.Arguments), "{") || strings.Contains(c.Signature, parts.CustomCall) {
		return false
	}
	var object json.RawMessage
	return errors.Is(json.NewDecoder(strings.NewReader(c.Arguments)).Decode(&object), io.ErrUnexpectedEOF)
}

// says reports whether a message has a text, or a call whose arguments are whole.
func says(m chat.Message) bool {
	return strings.TrimSpace(m.Text()) != "" || slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool {
		return c.Arguments == "" || json.Valid([]byte(c.Arguments))
	})
}
