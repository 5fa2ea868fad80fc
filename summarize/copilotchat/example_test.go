package copilotchat_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/models"
)

// The agent's prompt is that of Copilot Chat: what the user asks and what was done about it stay longer than what was before,
// and have the first claim on the room.
func Example() {
	dir, err := os.MkdirTemp("", "promptree")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	session, err := history.Open(filepath.Join(dir, "session.jsonl"), history.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if err := session.Append(context.Background(), chat.UserMessage("Why does the build fail?")); err != nil {
		log.Fatal(err)
	}
	for n := 1; n <= 6; n++ {
		step := chat.AssistantMessage(fmt.Sprintf("I read file %d.", n))
		step.ToolCalls = []chat.ToolCall{{ID: fmt.Sprint("call-", n), Name: "view", Arguments: fmt.Sprintf(`{"path":"file%d.go"}`, n)}}
		if err := session.Append(context.Background(), step, chat.ToolResult(step.ToolCalls[0].ID, strings.Repeat("a line of code\n", 60))); err != nil {
			log.Fatal(err)
		}
	}
	tokenizer := tiktoken.O200k()

	policy := copilotchat.Policy()
	policy.Cut.Share = 0.1 // keep more than the newest round
	policy.Place.ReadTool = "view"
	compactor := &summarize.Compactor{
		Session: session, Policy: policy,
		Target: summarize.Target{
			Model:     &models.Script{Steps: []models.Step{models.SaySummary("Two files were read.")}},
			Tokenizer: tokenizer, Budget: 1_500, ContextWindow: 8_000,
			Tools: []chat.Tool{{Name: "view", Parameters: []byte(`{"properties":{"path":{"type":"string"}}}`)}},
		},
		OnEvent: func(e summarize.Event) {
			if e.Kind == summarize.EventDone {
				fmt.Printf("%d summarised, %d kept\n", e.Covered, e.Kept)
			}
		},
	}
	defer compactor.Close()
	result, err := compactor.Render(context.Background(), elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Props: elements.Props{Priority: new(700), FlexGrow: 1}, Session: session},
		history.TurnStart{Props: elements.Props{Priority: new(900), FlexGrow: 2}, Session: session},
		history.TurnRounds{Props: elements.Props{Priority: new(899), FlexGrow: 2}, Session: session}, // of this turn
	})
	if err != nil {
		log.Fatal(err)
	}
	summary := result.Messages[1].Text()
	fmt.Println("names the transcript:", strings.Contains(summary, session.Path()))
	fmt.Println("and how to read it:", strings.Contains(summary, "\nview({"))
	// Output:
	// 5 summarised, 2 kept
	// names the transcript: true
	// and how to read it: true
}
