package main

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model/gemini"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/genai"

	"github.com/promptree-go/promptree/history"
	count "github.com/promptree-go/promptree/render/gemini"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/adkagent"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/mirror"
)

// promptree gives each agent a session in a file of its own.
func promptree() runner.PluginConfig {
	llm, err := gemini.NewModel(context.Background(), "gemini-flash-latest", &genai.ClientConfig{})
	if err != nil {
		log.Fatal(err)
	}
	var mu sync.Mutex
	compactors := map[string]*summarize.Compactor{}
	p, err := adkagent.New(adkagent.Options{Choose: func(ctx agent.ReadonlyContext) (mirror.Mirrored, error) {
		mu.Lock()
		defer mu.Unlock()
		name := strings.ReplaceAll(ctx.AgentName()+ctx.Branch(), "/", "_")
		if compactors[name] == nil {
			said, err := history.Open(filepath.Join(os.Getenv("SESSIONS"), name+".jsonl"), history.Options{})
			if err != nil {
				return mirror.Mirrored{}, err
			}
			compactors[name] = &summarize.Compactor{
				Session: said, Policy: copilotcli.Policy(),
				Target: summarize.Target{Model: adkagent.Model(llm), Name: llm.Name(), Tokenizer: count.Tokenizer{}, ContextWindow: 4000, Budget: 3500},
			}
		}
		return mirror.Mirrored{Compactor: compactors[name]}, nil
	}})
	if err != nil {
		log.Fatal(err)
	}
	return runner.PluginConfig{Plugins: []*plugin.Plugin{p}}
}
