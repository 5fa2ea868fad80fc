package importer

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/completions"
)

// usageNames holds a format's names for the counts of usage, "" for those that it does not have.
type usageNames struct {
	input, output, cacheRead, cacheWrite string
	more                                 string // a further count of output, such as that of thinking
	apart                                bool   // cached tokens are counted separately from the input
}

var (
	anthropicUsage = usageNames{
		input: "input_tokens", output: "output_tokens", cacheRead: "cache_read_input_tokens", cacheWrite: "cache_creation_input_tokens", apart: true,
	}
	geminiUsage  = usageNames{input: "input", output: "output", more: "thoughts", cacheRead: "cached"}
	piUsage      = usageNames{input: "input", output: "output", cacheRead: "cacheRead", cacheWrite: "cacheWrite", apart: true}
	codexUsage   = usageNames{input: "input_tokens", output: "output_tokens", cacheRead: "cached_input_tokens", cacheWrite: "cache_write_input_tokens"}
	copilotUsage = usageNames{input: "inputTokens", output: "outputTokens", cacheRead: "cacheReadTokens", cacheWrite: "cacheWriteTokens"}
	clineUsage   = usageNames{input: "prompt", output: "completion", cacheRead: "cached"}
)

// read reads the counts of an object.
func (n usageNames) read(u *wire.Object) chat.Usage {
	usage := chat.Usage{
		Input: u.Count(n.input), Output: u.Count(n.output) + u.Count(n.more), CacheRead: u.Count(n.cacheRead), CacheWrite: u.Count(n.cacheWrite),
	}
	if n.apart {
		usage.Input += usage.CacheRead + usage.CacheWrite
	}
	return usage
}

// anthropicUsage reads the field "usage", if present.
func (b *builder) anthropicUsage(o *wire.Object) (usage chat.Usage) {
	if !o.Given("usage") {
		return usage
	}
	u := o.Object("usage")
	usage = anthropicUsage.read(u)
	b.inside(u, "usage.", "cache_creation", func(lifetimes *wire.Object) {
		usage.CacheWriteLong = lifetimes.Count("ephemeral_1h_input_tokens")
		lifetimes.Count("ephemeral_5m_input_tokens") // the rest of CacheWrite
	})
	b.rest("usage", u)
	return usage
}

// chatUsage reads the field "usage", if it is an object, as Anthropic's or one of OpenAI's APIs reports it.
func (b *builder) chatUsage(o *wire.Object) (usage chat.Usage) {
	u := o.Inside("usage")
	switch {
	case u == nil:
		return usage
	case !u.Is("input_tokens_details", wire.KindObject) && !u.Given("prompt_tokens"):
		return b.anthropicUsage(o)
	}
	u = o.Object("usage")
	completions.ReadUsage(&usage, u)
	for _, name := range u.Rest() {
		if details := u.Inside(name); details != nil {
			b.rest("usage."+name, details)
			u.Skip(name)
		}
	}
	b.rest("usage", u)
	return usage
}
