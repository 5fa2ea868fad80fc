package importer

import (
	"cmp"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
)

// providers maps the names that recorders have for providers and their APIs to those of a [chat.Origin]. A gateway speaks
// for others, and is not among them.
var providers = map[string]string{
	"anthropic": "anthropic", "anthropic-messages": "anthropic",
	"openai": "openai", "openai-completions": "openai", "openai-responses": "openai", "openai-codex-responses": "openai",
	"google": "gemini", "gemini": "gemini", "google-generative-ai": "gemini", "google-vertex": "gemini",
}

// providerOf maps the formats that only speak to one API to its provider.
var providerOf = map[Program]string{
	formatClaudeCode: "anthropic", formatAnthropic: "anthropic", formatCodex: "openai", formatOpenAI: "openai", formatGemini: "gemini",
}

// setOrigins says of each answer who wrote it: the model that was recorded with it, or else the one that was changed to
// before it on its path. Logs of promptree say it themselves, or it is not known.
func (b *builder) setOrigins() {
	if b.rec.Format == formatPromptree {
		return
	}
	current := map[string]chat.Origin{} // by record: that of the answer after it
	for i, r := range b.rec.Records {
		origin := current[r.Parent]
		switch body := r.Body.(type) {
		case entry.ModelChange:
			origin = chat.Origin{Provider: providers[body.Provider], Model: body.Model}
		case entry.Message:
			if body.Role != chat.RoleAssistant {
				break
			}
			if body.Origin.Model == "" {
				body.Origin = origin
			}
			if body.Origin.Model != "" {
				body.Origin.Provider = cmp.Or(body.Origin.Provider, providerOf[b.rec.Format])
			}
			b.rec.Records[i].Body = body
		}
		current[r.ID] = origin
	}
}
