package tracing

import "go.opentelemetry.io/otel/attribute"

// names holds the names that differ between versions of the conventions, see the package comment.
type names struct {
	latest     bool
	provider   string // attribute
	cacheWrite string // attribute
	duration   string // metric
}

var (
	namesOld = names{
		provider: "gen_ai.system", cacheWrite: "gen_ai.usage.cache_creation.input_tokens", duration: "gen_ai.client.operation.duration",
	}
	namesLatest = names{
		latest: true, provider: "gen_ai.provider.name", cacheWrite: "gen_ai.usage.cache_write.input_tokens", duration: "gen_ai.client.inference.duration",
	}
)

// Attributes with the same name in all versions of the conventions.
const (
	keyOperation      = attribute.Key("gen_ai.operation.name")
	keyConversation   = attribute.Key("gen_ai.conversation.id")
	keyCompacted      = attribute.Key("gen_ai.conversation.compacted")
	keyModel          = attribute.Key("gen_ai.request.model")
	keyMaxTokens      = attribute.Key("gen_ai.request.max_tokens")
	keyTemperature    = attribute.Key("gen_ai.request.temperature")
	keyStream         = attribute.Key("gen_ai.request.stream")
	keyFinish         = attribute.Key("gen_ai.response.finish_reasons")
	keyFirstChunk     = attribute.Key("gen_ai.response.time_to_first_chunk")
	keyInput          = attribute.Key("gen_ai.usage.input_tokens")
	keyOutput         = attribute.Key("gen_ai.usage.output_tokens")
	keyCacheRead      = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyTokenType      = attribute.Key("gen_ai.token.type")
	keyModality       = attribute.Key("gen_ai.token.modality")
	keyInputMessages  = attribute.Key("gen_ai.input.messages")
	keyOutputMessages = attribute.Key("gen_ai.output.messages")
	keyErrorType      = attribute.Key("error.type")
)

// Our own attributes.
const (
	keyReason         = attribute.Key("promptree.reason")
	keyOutcome        = attribute.Key("promptree.outcome")
	keyPolicy         = attribute.Key("promptree.policy")
	keyPlan           = attribute.Key("promptree.plan")
	keyMode           = attribute.Key("promptree.mode")
	keyBackground     = attribute.Key("promptree.background")
	keyWhy            = attribute.Key("promptree.why")
	keyCovered        = attribute.Key("promptree.covered")
	keyKept           = attribute.Key("promptree.kept")
	keyCalls          = attribute.Key("promptree.calls")
	keySummary        = attribute.Key("promptree.summary")
	keyFunction       = attribute.Key("promptree.function")
	keyWhen           = attribute.Key("promptree.when")
	keyPurpose        = attribute.Key("promptree.purpose")
	keyChange         = attribute.Key("promptree.change")
	keyBudget         = attribute.Key("promptree.budget")
	keyTokens         = attribute.Key("promptree.tokens")
	keyTokensBefore   = attribute.Key("promptree.tokens.before")
	keyTokensAfter    = attribute.Key("promptree.tokens.after")
	keyTokensDropped  = attribute.Key("promptree.tokens.dropped")
	keyTokensTrimmed  = attribute.Key("promptree.tokens.trimmed")
	keyTokensLost     = attribute.Key("promptree.tokens.lost")
	keyMessages       = attribute.Key("promptree.messages")
	keyMessagesBefore = attribute.Key("promptree.messages.before")
	keyMessagesAfter  = attribute.Key("promptree.messages.after")
	keyDollars        = attribute.Key("promptree.dollars")
)
