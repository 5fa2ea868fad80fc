package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/openai"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
)

// work fills a session with a question and steps of an agent, more than 1,000 tokens of them.
func work(session *history.Session) error {
	err := session.Append(chat.UserMessage("Why does the build fail?"))
	for n := 1; n <= 6 && err == nil; n++ {
		step := chat.AssistantMessage(fmt.Sprintf("I read file %d.", n))
		step.ToolCalls = []chat.ToolCall{{ID: fmt.Sprint("call-", n), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"file%d.go"}`, n)}}
		err = session.Append(step, chat.ToolResult(step.ToolCalls[0].ID, strings.Repeat("a line of code\n", 60)))
	}
	return err
}

func ExampleCompactor_Render() {
	tokenizer, err := openai.New("o200k_base")
	if err != nil {
		log.Fatal(err)
	}
	session := &history.Session{}
	if err := work(session); err != nil {
		log.Fatal(err)
	}
	prompt := elements.Fragment{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Session: session},
		history.Request{Session: session},
		history.Rounds{Session: session},
	}
	compactor := &summarize.Compactor{
		Session: session,
		Target: summarize.Target{
			Model:     &models.Script{Steps: []models.Step{models.SaySummary("Five files were read; all are fine.")}},
			Tokenizer: tokenizer, Budget: 1_000, ContextWindow: 8_000,
		},
		Policy: summarize.CopilotChat(),
	}
	defer compactor.Close()
	result, err := compactor.Render(context.Background(), prompt)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range result.Messages {
		first, _, _ := strings.Cut(m.Text(), "\n")
		fmt.Printf("%s: %s\n", m.Role, first)
	}
	fmt.Println(result.Messages[1].Text())
	// Output:
	// system: You are a coding agent.
	// user: <conversation-summary>
	// user: Why does the build fail?
	// assistant: I read file 6.
	// tool: a line of code
	// <conversation-summary>
	// Five files were read; all are fine.
	// </conversation-summary>
}

// What cannot be made to fit is an error that still says how much was needed, and why compaction did not help.
func ExampleFailedError() {
	tokenizer, err := openai.New("o200k_base")
	if err != nil {
		log.Fatal(err)
	}
	session := &history.Session{}
	if err := work(session); err != nil {
		log.Fatal(err)
	}
	prompt := elements.Fragment{
		elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(strings.Repeat("Never forget this. ", 300))}},
		history.Request{Session: session},
		history.Rounds{Session: session},
	}
	compactor := &summarize.Compactor{
		Session: session, Target: summarize.Target{Model: models.Offline{Tokenizer: tokenizer}, Tokenizer: tokenizer, Budget: 1_000},
	}
	_, err = compactor.Render(context.Background(), prompt)
	if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
		fmt.Println("over the budget:", over.Needed > over.Budget)
	}
	fmt.Println("no room:", errors.Is(err, summarize.ErrNoRoom))
	fmt.Println("entries in the session:", session.Len())
	// Output:
	// over the budget: true
	// no room: true
	// entries in the session: 13
}

// The agent's prompt is that of Copilot Chat: what the user asks and what was done about it stay longer than what was before,
// and have the first claim on the room.
func ExampleCopilotChat() {
	dir, err := os.MkdirTemp("", "promptree")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	session, err := history.Open(filepath.Join(dir, "session.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if err := work(session); err != nil {
		log.Fatal(err)
	}
	tokenizer, err := openai.New("o200k_base")
	if err != nil {
		log.Fatal(err)
	}

	policy := summarize.CopilotChat()
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
	result, err := compactor.Render(context.Background(), elements.Fragment{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Props: elements.Props{Priority: new(700), FlexGrow: 1}, Session: session},
		history.Request{Props: elements.Props{Priority: new(900), FlexGrow: 2}, Session: session},
		history.Rounds{Props: elements.Props{Priority: new(899), FlexGrow: 2}, Session: session}, // of this turn
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
