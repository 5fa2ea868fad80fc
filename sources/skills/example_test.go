package skills_test

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log"
	"testing/fstest"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/sources/skills"
)

// What the agent loads stands in the result of the tool, and after a compaction behind the summary.
func Example() {
	ctx, session := context.Background(), &history.Session{}
	folder := fstest.MapFS{ // os.OpenRoot(".agents/skills") and its FS
		"release/SKILL.md":          {Data: []byte("---\nname: release\ndescription: How to release a version. Use before any tag.\n---\nRun .ci/run first.\n")},
		"release/references/tag.md": {Data: []byte("Tags are never moved.\n")},
	}
	known := &skills.Skills{Session: session, Folders: []fs.FS{folder}}
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent."), skills.Catalogue{Skills: known}),
		history.Compacted{Session: session},
		skills.Loaded{Skills: known},
		history.Conversation{Session: session, TurnsOnly: true},
		history.TurnStart{Session: session},
		history.TurnRounds{Session: session},
	)
	show := func(title string) {
		result, err := render.Render(ctx, prompt, render.Options{Budget: 4000, Tokenizer: tiktoken.O200k()})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("== %s\n", title)
		for _, m := range result.Messages {
			fmt.Printf("%s: %s\n", m.Role, cmp.Or(m.Text(), "(calls the tool)"))
		}
	}

	call := chat.ToolCall{ID: "1", Name: skills.ToolName, Arguments: `{"skill":"release"}`} // as the model asks for it
	result, ok, err := known.Answer(ctx, call)
	if err != nil || !ok {
		log.Fatal(ok, err)
	}
	asks := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}
	if err := session.Append(ctx, chat.UserMessage("Release it."), asks, result, chat.AssistantMessage("Done.")); err != nil {
		log.Fatal(err)
	}
	show("before a compaction")
	if err := session.Compact(ctx, entry.Compaction{Messages: []chat.Message{chat.UserMessage("(It was released.)")}}); err != nil {
		log.Fatal(err)
	}
	if err := session.Append(ctx, chat.UserMessage("And again.")); err != nil {
		log.Fatal(err)
	}
	show("after it")

	// Output:
	// == before a compaction
	// system: You are a coding agent.
	// <skills>
	// Skills are instructions for kinds of tasks. Before a task that one is for, load it with load_skill.
	// - release: How to release a version. Use before any tag.
	// </skills>
	// user: Release it.
	// assistant: (calls the tool)
	// tool: <skill name="release" file="SKILL.md">
	// Run .ci/run first.
	// (Files of the skill, which load_skill loads: references/tag.md)
	// </skill>
	// assistant: Done.
	// == after it
	// system: You are a coding agent.
	// <skills>
	// Skills are instructions for kinds of tasks. Before a task that one is for, load it with load_skill.
	// - release: How to release a version. Use before any tag.
	// </skills>
	// user: (It was released.)
	// user: What was loaded of skills earlier in this conversation:
	// <skill name="release" file="SKILL.md">
	// Run .ci/run first.
	// (Files of the skill, which load_skill loads: references/tag.md)
	// </skill>
	// user: And again.
}
