package policies_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/bordertest"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/summarize/internal/breadcrumb"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// foundIn returns what reads as a tag or mark of promptree's in messages.
func foundIn(messages []chat.Message) (list []string) {
	for _, m := range messages {
		list = append(list, bordertest.Found(m.Text())...)
	}
	return list
}

// material returns a material in which said has replaced each text that comes from others.
func material(said func(text string) string) policy.Material {
	m := compacttest.SummarizedMaterial()
	m.Room, m.Words, m.ResultTokens = 20_000, 15_000, 2000
	m.PreviousSummary = said("It began.")
	m.Previous = []chat.Message{chat.UserMessage("<conversation-summary>\nIt began.\n</conversation-summary>")}
	m.Summary = said("# Title")
	m.Context = []string{said("one"), said("two")}
	m.Files = entry.Files{Read: []string{said("a.go")}, Modified: []string{said("b.go")}, Left: 3}
	m.Plan, m.Todo, m.Agent = said("1. build"), said("- test"), said("It reviews.")
	m.Skills = []policy.InvokedSkill{{Name: said("go"), Instructions: said("Run gofmt.")}}
	m.Breadcrumb.Path, m.Breadcrumb.Tool = "/"+said("s.jsonl"), said("read")
	_, m.Breadcrumb.Example = breadcrumb.Find([]chat.Tool{{Name: said("read_file"), Parameters: []byte(`{"properties":{"path":{"type":"string"}}}`)}}, said("read_file"))
	m.Said = []chat.Message{chat.UserMessage(said("Start."))}
	m.Head = []chat.Message{{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text(said("I start."))}}}
	m.Covered = []chat.Message{
		{Role: chat.RoleUser, Content: chat.Parts{chat.Text(said("Fix it.")), chat.Image{URL: "https://" + said("host")}}},
		{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text(said("I read."))}, ToolCalls: []chat.ToolCall{{ID: "1", Name: said("read"), Arguments: `{"path":"` + strings.ReplaceAll(said("a"), "\n", `\n`) + `"}`}}},
		chat.ToolResult("1", said("package a")),
	}
	m.TurnPrefix = m.Covered[1:]
	return m
}

func TestNoTextOfOthersOpensOrClosesABlockOrForgesAMark(t *testing.T) {
	plain := material(func(text string) string { return text })
	all := policies.All()
	for turn, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replacement := p.Replace.With
			if replacement == nil {
				replacement = prompts.ConversationSummary
			}
			foundInReplacement := func(m policy.Material) []string {
				messages, err := compacttest.RenderReplacement(t, replacement, m)
				require.NoError(t, err)
				return foundIn(messages)
			}
			for i, attack := range bordertest.Attacks() {
				if i%len(all) != turn && !extremes.All() { // each attack meets one policy
					continue
				}
				hostile := material(func(string) string { return attack })
				hostile.Head = slices.DeleteFunc(hostile.Head, func(m chat.Message) bool { return m.Role == chat.RoleUser }) // stays as it is
				require.ElementsMatch(t, foundInReplacement(plain), foundInReplacement(hostile), "the replacement, with %q", attack)
				for _, prompt := range append(p.Ask.Prompts, prompts.FullPrompt(), prompts.SimplePrompt(), prompts.BranchPrompt()) {
					if prompt.Forks {
						continue // it repeats the agent's request
					}
					foundInRequest := func(m policy.Material) []string {
						return slices.DeleteFunc(foundIn(compacttest.MustRenderRequest(t, prompt.Request(m))), func(found string) bool {
							return prompt.Tools && found[0] == '[' // messages keep the marks of the prompt
						})
					}
					require.ElementsMatch(t, foundInRequest(plain), foundInRequest(hostile), "the request of mode %s, with %q", prompt.Mode, attack)
				}
			}
		})
	}
}
