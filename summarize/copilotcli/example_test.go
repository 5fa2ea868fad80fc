package copilotcli_test

import (
	"context"
	"fmt"
	"log"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/policy"
)

func ExampleCompactedSession() {
	result, err := render.Render(context.Background(), copilotcli.CompactedSession{}.Replacement(policy.Material{
		Summary: "# The build\n\nmain.go does not compile.", Room: 1000, Tokenizer: sizing.Estimator{},
		Said:      []chat.Message{chat.UserMessage("Why does the build fail?")},
		Workspace: policy.Workspace{Todo: "- fix main.go (pending)"},
	}), render.Options{Budget: 1000, Tokenizer: sizing.Estimator{}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Messages[0].Text())
	// Output:
	// The conversation before this point was compacted. What follows stands for it.
	// <conversation-summary>
	// # The build
	//
	// main.go does not compile.
	// </conversation-summary>
	// <user-messages>
	// <user-message>
	// Why does the build fail?
	// </user-message>
	// </user-messages>
	// <todo>
	// - fix main.go (pending)
	// </todo>
}
