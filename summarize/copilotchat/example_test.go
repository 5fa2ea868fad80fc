package copilotchat_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
)

// prompt returns the prompt of Copilot Chat. The current turn stays longer than the turns before it, and has the first
// claim on the room.
func prompt(s *history.Session) el.Node {
	return el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		history.Conversation{Session: s, Props: el.Props(el.Priority(700), el.Grow(1)), Droppable: true},
		history.TurnStart{Session: s, Props: el.Props(el.Priority(900), el.Grow(2))},
		history.TurnRounds{Session: s, Props: el.Props(el.Priority(899), el.Grow(2))}, // of this turn
	)
}

// Without a compactor the oldest rounds of earlier turns are pruned, as Copilot Chat does before it makes a summary.
func Example_prompt() {
	session := &history.Session{}
	for n := 1; n <= 3; n++ {
		question, answer := chat.UserMessage(fmt.Sprintf("Question %d", n)), chat.AssistantMessage(fmt.Sprintf("The answer to question %d", n))
		if err := session.Append(context.Background(), question, answer); err != nil {
			log.Fatal(err)
		}
	}
	result, err := render.Render(context.Background(), prompt(session), render.Options{Budget: 50, Tokenizer: tiktoken.O200k()})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range result.Messages {
		fmt.Printf("%s: %s\n", m.Role, m.Text())
	}
	// Output:
	// system: You are a coding agent.
	// user: Question 2
	// assistant: The answer to question 2
	// user: Question 3
	// assistant: The answer to question 3
}

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

	p := copilotchat.Policy()
	p.Cut.Share = 0.1 // keep more than the newest round
	p.Replace.ReadTool = "view"
	p.Ask.Judge.Off = true // the summary has four words
	compactor := &summarize.Compactor{
		Session: session, Policy: p,
		Target: summarize.Target{
			Model:     &models.Script{Steps: []models.Reply{models.SaySummary("Two files were read.")}},
			Tokenizer: tokenizer, Budget: 1_500, ContextWindow: 8_000,
			Tools: []chat.Tool{{Name: "view", Parameters: []byte(`{"properties":{"path":{"type":"string"}}}`)}},
		},
		Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
			if e.Kind == event.Done {
				fmt.Printf("%d summarised, %d kept\n", e.Covered, e.Kept)
			}
		})},
	}
	defer compactor.Close()
	result, err := compactor.Render(context.Background(), prompt(session))
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
