package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaisdk "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/anthropic"
	"github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/render/openai"
)

// offline is the name of the scripted model ([reader]).
const offline = "offline"

// modelOf returns the model of a name.
func modelOf(ctx context.Context, name string, tokenizer chat.Tokenizer) (chat.Model, error) {
	key := func(variable string) (string, error) {
		if v := os.Getenv(variable); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("-model %s: set %s to a key", name, variable)
	}
	switch {
	case name == offline:
		return reader{tokenizer}, nil
	case strings.HasPrefix(name, "claude"):
		k, err := key("ANTHROPIC_API_KEY")
		return &anthropic.Model{
			Name: name, Client: anthropicsdk.NewClient(anthropicoption.WithoutEnvironmentDefaults(), anthropicoption.WithAPIKey(k)),
			Adjust: func(p *anthropicsdk.MessageNewParams) { p.CacheControl = anthropicsdk.NewCacheControlEphemeralParam() },
		}, err
	case strings.HasPrefix(name, "gemini"):
		k, err := key("GOOGLE_API_KEY")
		if err != nil {
			return nil, err
		}
		client, err := gemini.NewClient(ctx, &genai.ClientConfig{APIKey: k, Backend: genai.BackendGeminiAPI})
		return &gemini.Model{Name: name, Client: client}, err
	}
	k, err := key("OPENAI_API_KEY")
	return &openai.Model{Name: name, Client: openaisdk.NewClient(openaioption.WithAPIKey(k))}, err
}
