package history_test

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
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/openai"
)

func Example() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	session, err := history.Open(filepath.Join(dir, "session.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	// What is said goes into the session.
	call := chat.ToolCall{ID: "call_1", Name: "build", Arguments: `{}`}
	err = session.Append(
		chat.UserMessage("Why does the build fail?"),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}},
		chat.ToolResult("call_1", "main.go:3: undefined: x"),
	)
	if err != nil {
		log.Fatal(err)
	}

	// The elements show it in a prompt.
	prompt := elements.Fragment{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Session: session},
		history.Request{Session: session},
		history.Rounds{Session: session},
	}
	tokenizer, err := openai.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	result, err := render.Render(context.Background(), prompt, render.Options{Budget: 1000, Tokenizer: tokenizer})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range result.Messages {
		fmt.Printf("%s: %s%v\n", m.Role, m.Text(), m.ToolCalls)
	}
	// Output:
	// system: You are a coding agent.[]
	// user: Why does the build fail?[]
	// assistant: [{call_1 build {} }]
	// tool: main.go:3: undefined: x[]
}

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "session.jsonl")

	session, err := history.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	if err := session.Append(chat.UserMessage("Hello.")); err != nil {
		log.Fatal(err)
	}
	_, err = history.Open(path)
	fmt.Println("a second writer is refused:", errors.Is(err, history.ErrLocked))
	if err := session.Close(); err != nil {
		log.Fatal(err)
	}

	session, err = history.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	last, err := session.Entry(session.Leaf())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("it goes on after", last.Message().Text())
	// Output:
	// a second writer is refused: true
	// it goes on after Hello.
}

// A crash in the middle of a write leaves half a line. Opening the session sets it aside.
func ExampleSession_Recovered() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "session.jsonl")
	torn := `{"type":"session","version":1,"id":"S","time":"2026-01-02T03:04:05Z"}` + "\n" + `{"type":"mess`
	if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
		log.Fatal(err)
	}

	session, err := history.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if r := session.Recovered(); r != nil {
		fmt.Printf("line %d was torn; its %d bytes are in %s\n", r.Line, r.Bytes, filepath.Base(r.SavedTo))
	}
	// Output: line 2 was torn; its 13 bytes are in session.jsonl.torn
}

// Read lets a session be looked at while another process writes it.
func ExampleRead() {
	session, err := history.Read(filepath.Join("testdata", "format.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for e, err := range session.Entries() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.ID, e.Type())
	}
	fmt.Println(session.Append(chat.UserMessage("Hello.")))
	// Output:
	// e1 message
	// e2 message
	// e3 message
	// e4 message
	// e5 message
	// e6 compaction
	// e7 compaction
	// history: the session is open for reading only
}

func ExampleSession_Append() {
	var session history.Session // in memory
	fmt.Println(session.Append(chat.UserMessage("What time is it?")))

	err := session.Append(chat.ToolResult("call_1", "12:00"))
	if pairing, ok := errors.AsType[*history.PairingError](err); ok {
		fmt.Println("refused:", pairing)
	}
	fmt.Println(session.Len(), "entry")
	// Output:
	// <nil>
	// refused: tool call "call_1" answers no open tool call
	// 1 entry
}

func ExampleSession_View() {
	var session history.Session
	err := session.Append(
		chat.UserMessage("What is in go.mod?"),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "call_1", Name: "read", Arguments: `{"path":"go.mod"}`}}},
		chat.ToolResult("call_1", "module example"),
		chat.AssistantMessage("One line."),
		chat.UserMessage("Thank you."),
	)
	if err != nil {
		log.Fatal(err)
	}
	view, err := session.View()
	if err != nil {
		log.Fatal(err)
	}
	for i, turn := range view.Turns {
		fmt.Printf("turn %d: %s\n", i+1, turn.Start.Message().Text())
		for k, round := range turn.Rounds {
			fmt.Printf("  round %d: %d calls, %d results\n", k+1, len(round.Assistant.Message().ToolCalls), len(round.Results))
		}
	}
	// Output:
	// turn 1: What is in go.mod?
	//   round 1: 1 calls, 1 results
	//   round 2: 0 calls, 0 results
	// turn 2: Thank you.
}

// Package summarize makes compactions; this is what one is.
func ExampleSession_Compact() {
	var session history.Session
	err := session.Append(
		chat.UserMessage("Name a color."), chat.AssistantMessage("Red."),
		chat.UserMessage("Another."), chat.AssistantMessage("Blue."),
		chat.UserMessage("One more."),
	)
	if err != nil {
		log.Fatal(err)
	}
	err = session.Compact(history.Compaction{
		Messages:  []chat.Message{chat.UserMessage("<summary>Red was named.</summary>")},
		FirstKept: "e3",
	})
	if err != nil {
		log.Fatal(err)
	}
	view, err := session.View()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(view.Compacted[0].Text())
	for _, turn := range view.Turns {
		fmt.Println(turn.Start.Message().Text())
	}
	fmt.Println(session.Len(), "entries, nothing is lost")
	// Output:
	// <summary>Red was named.</summary>
	// Another.
	// One more.
	// 6 entries, nothing is lost
}

// Whether a compaction helps is seen before it is made.
func ExamplePreview() {
	var session history.Session
	err := session.Append(chat.UserMessage(strings.Repeat("Once more. ", 100)), chat.AssistantMessage("Red."), chat.UserMessage("Why?"))
	if err != nil {
		log.Fatal(err)
	}
	prompt := elements.Fragment{history.Conversation{Session: &session}, history.Request{Session: &session}}
	tokenizer, err := openai.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	tokens := func(ctx context.Context) int {
		result, err := render.Render(ctx, prompt, render.Options{Budget: 10_000, Tokenizer: tokenizer})
		if err != nil {
			log.Fatal(err)
		}
		return result.Tokens
	}
	ctx := context.Background()
	compaction := history.Compaction{Messages: []chat.Message{chat.UserMessage("Red was named.")}}
	fmt.Println(tokens(ctx), "tokens now")
	fmt.Println(tokens(history.Preview(ctx, &session, compaction)), "tokens with the compaction")
	fmt.Println(session.Len(), "entries as before")
	// Output:
	// 317 tokens now
	// 14 tokens with the compaction
	// 3 entries as before
}

// History is required unless it is droppable: then the oldest rounds go first.
func ExampleConversation() {
	var session history.Session
	err := session.Append(
		chat.UserMessage("Name a color."), chat.AssistantMessage("Red. "+strings.Repeat("It is warm. ", 50)),
		chat.UserMessage("Another."), chat.AssistantMessage("Blue."),
		chat.UserMessage("One more."),
	)
	if err != nil {
		log.Fatal(err)
	}
	tokenizer, err := openai.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	for _, droppable := range []bool{false, true} {
		prompt := elements.Fragment{
			history.Conversation{Session: &session, Droppable: droppable},
			history.Request{Session: &session},
		}
		result, err := render.Render(context.Background(), prompt, render.Options{Budget: 100, Tokenizer: tokenizer})
		if over, ok := errors.AsType[*render.BudgetExceededError](err); ok {
			fmt.Println("required:", over.Needed, "tokens do not fit", over.Budget)
			continue
		}
		fmt.Println("droppable:")
		for _, m := range result.Messages {
			fmt.Println(" ", m.Role, m.Text())
		}
	}
	// Output:
	// required: 234 tokens do not fit 100
	// droppable:
	//   user Name a color.
	//   user Another.
	//   assistant Blue.
	//   user One more.
}

// A round is sent whole, whatever became of it.
func ExampleRound_Messages() {
	var session history.Session
	err := session.Append(
		chat.UserMessage("Clean up."),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{
			{ID: "call_1", Name: "list", Arguments: `{}`}, {ID: "call_2", Name: "delete", Arguments: `{"path":"tmp"}`},
		}},
		chat.ToolResult("call_2", ""),
		chat.UserMessage("Stop!"), // call_1 was interrupted
	)
	if err != nil {
		log.Fatal(err)
	}
	tokenizer, err := openai.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	view, err := session.View()
	if err != nil {
		log.Fatal(err)
	}
	round := view.Turns[0].Rounds[0]
	for _, m := range round.Messages(history.Limits{}, sizing.Sizing{Window: 8000, Tokenizer: tokenizer}) {
		if m.Role == chat.RoleTool {
			fmt.Println(m.ToolCallID, m.Text())
		}
	}
	// Output:
	// call_1 (no result: the call was interrupted)
	// call_2 (no output)
}

func ExampleTurn_Message() {
	var session history.Session
	if err := session.Append(chat.UserMessage("Hello."), chat.UserMessage("  ")); err != nil {
		log.Fatal(err)
	}
	view, err := session.View()
	if err != nil {
		log.Fatal(err)
	}
	for _, turn := range view.Turns {
		m, ok := turn.Message()
		fmt.Printf("%q %v\n", m.Text(), ok)
	}
	// Output:
	// "Hello." true
	// "" false
}

func ExampleClip() {
	tokenizer, err := openai.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	var output strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&output, "test %d passed\n", i)
	}
	output.WriteString("999 passed, 1 failed\n")
	fmt.Println(history.Clip(tokenizer, output.String(), 62, 0.4))
	// Output:
	// test 0 passed
	// test 1 passed
	// test 2 passed
	// [... 4971 tokens cut here; the session's transcript has them ...]
	// test 997 passed
	// test 998 passed
	// test 999 passed
	// 999 passed, 1 failed
}
