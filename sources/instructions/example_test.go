package instructions_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sources/instructions"
)

// A program opens the project's folder with os.OpenRoot, and sets FS to the root's FS.
func ExampleFiles() {
	project := fstest.MapFS{
		"AGENTS.md":        {Data: []byte("Write tests. The style is in @docs/style.md\n")},
		"docs/style.md":    {Data: []byte("Use tabs.\n")},
		"web/CLAUDE.md":    {Data: []byte("Run `npm test`; `@docs` is an alias.\n")},
		"web/ui/README.md": {Data: []byte("Nothing.\n")},
	}
	result, err := render.Render(context.Background(), el.User(&instructions.Files{FS: project, Dir: "web/ui"}), render.Options{Budget: 1000, Tokenizer: sizing.Estimator{}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Messages[0].Text())
	fmt.Println(result.Breakdown().Instructions == result.Tokens)
	// Output:
	// <instructions path="AGENTS.md">
	// Write tests. The style is in @docs/style.md
	// <imported path="docs/style.md">
	// Use tabs.
	// </imported>
	// </instructions>
	// <instructions path="web/CLAUDE.md">
	// Run `npm test`; `@docs` is an alias.
	// </instructions>
	// true
}

// The prefix of the prompt stays as it was, so that the provider reads it from its cache.
func ExampleChanges() {
	ctx, session := context.Background(), &history.Session{}
	project := fstest.MapFS{"AGENTS.md": {Data: []byte("Use tabs.")}}
	files := &instructions.Files{FS: project, Session: session, OnChange: func(paths []string) { fmt.Println("changed:", paths) }}
	prompt := el.Prompt(
		el.User(files),
		history.All{Session: session},
		instructions.Changes{Files: files},
	)
	if err := session.Append(ctx, chat.UserMessage("Format main.go.")); err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"Use tabs.", "Use spaces."} {
		project["AGENTS.md"] = &fstest.MapFile{Data: []byte(text)}
		result, err := render.Render(ctx, prompt, render.Options{Budget: 1000, Tokenizer: sizing.Estimator{}})
		if err != nil {
			log.Fatal(err)
		}
		for _, m := range result.Messages {
			fmt.Println(m.Text())
		}
	}
	// Output:
	// <instructions path="AGENTS.md">
	// Use tabs.
	// </instructions>
	// Format main.go.
	// changed: [AGENTS.md]
	// <instructions path="AGENTS.md">
	// Use tabs.
	// </instructions>
	// Format main.go.
	// Instruction files changed. What stands here replaces what stands above under the same path.
	// <instructions path="AGENTS.md">
	// Use spaces.
	// </instructions>
}
