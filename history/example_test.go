package history_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

func Example() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	session, err := history.Open(filepath.Join(dir, "session.jsonl"), history.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	// Append adds messages to the session.
	call := chat.ToolCall{ID: "call_1", Name: "build", Arguments: `{}`}
	err = session.Append(context.Background(),
		chat.UserMessage("Why does the build fail?"),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}},
		chat.ToolResult("call_1", "main.go:3: undefined: x"),
	)
	if err != nil {
		log.Fatal(err)
	}

	// The elements show it in a prompt.
	prompt := el.Prompt(
		el.System(el.Text("You are a coding agent.")),
		history.All{Session: session},
	)
	tokenizer, err := tiktoken.ForModel("gpt-4o")
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

	session, err := history.Open(path, history.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := session.Append(context.Background(), chat.UserMessage("Hello.")); err != nil {
		log.Fatal(err)
	}
	_, err = history.Open(path, history.Options{})
	fmt.Println("a second writer is refused:", errors.Is(err, storage.ErrLocked))
	if err := session.Close(); err != nil {
		log.Fatal(err)
	}

	session, err = history.Open(path, history.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	last, err := session.Entry(context.Background(), session.Leaf())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("it goes on after", last.Message().Text())
	// Output:
	// a second writer is refused: true
	// it goes on after Hello.
}

// A crash during a write may leave half a line. Open moves it to another file.
func ExampleSession_Recovered() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "session.jsonl")
	torn := `{"type":"session","version":4,"id":"S","time":"2026-01-02T03:04:05Z","crc":"175d6321"}` + "\n" + `{"type":"mess`
	if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
		log.Fatal(err)
	}

	session, err := history.Open(path, history.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if r := session.Recovered(); r != nil {
		fmt.Printf("line %d was torn; its %d bytes are in %s\n", r.Line, r.Bytes, filepath.Base(r.SavedTo))
	}
	// Output: line 2 was torn; its 13 bytes are in session.jsonl.torn
}

// Read opens a session while another process writes to it.
func ExampleRead() {
	session, err := history.Read(filepath.Join("testdata", "format.jsonl"), history.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for e, err := range session.Entries(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.ID, e.Type())
	}
	fmt.Println(session.Append(context.Background(), chat.UserMessage("Hello.")))
	// Output:
	// e1 message
	// e2 message
	// e3 message
	// e4 message
	// e5 message
	// e6 compaction
	// e7 compaction
	// e8 message
	// e9 shell
	// e10 shell
	// e11 customMessage
	// e12 custom
	// e13 label
	// e14 modelChange
	// e15 thinkingChange
	// e16 todos
	// e17 usage
	// e18 compaction
	// e19 branch
	// e20 branchSummary
	// x later
	// storage: the session is open for reading only
}

// Branch continues from an earlier entry. The entries after it remain as another branch.
func ExampleSession_Branch() {
	var session history.Session
	if err := session.Append(context.Background(), chat.UserMessage("Name a color."), chat.AssistantMessage("Red.")); err != nil {
		log.Fatal(err)
	}
	red := session.Leaf()
	if err := session.Append(context.Background(), chat.UserMessage("Another."), chat.AssistantMessage("Crimson.")); err != nil {
		log.Fatal(err)
	}
	left := session.Leaf()
	if err := session.Branch(context.Background(), red); err != nil {
		log.Fatal(err)
	}
	if err := session.Append(context.Background(), chat.UserMessage("One that is not red.")); err != nil {
		log.Fatal(err)
	}
	show := func(path iter.Seq2[entry.Entry, error]) {
		for e, err := range path {
			if err != nil {
				log.Fatal(err)
			}
			if m, ok := e.Shown(); ok {
				fmt.Println(" ", m.Text())
			}
		}
	}
	fmt.Println("now:")
	show(session.PathTo(context.Background(), ""))
	fmt.Println("left behind:")
	show(session.Abandoned(context.Background(), left, session.Leaf()))
	// Output:
	// now:
	//   Name a color.
	//   Red.
	//   One that is not red.
	// left behind:
	//   Another.
	//   Crimson.
}

// Add adds entries of all types. The model sees some of them.
func ExampleSession_Add() {
	var session history.Session
	_, err := session.Add(context.Background(),
		entry.Entry{Body: entry.ModelChange{Model: "gpt-4o"}},
		entry.Entry{ID: "vet", Body: entry.Shell{Command: "go vet ./...", Output: "main.go:3: undefined: x", ExitCode: 1}},
		entry.Entry{Body: entry.Message{Message: chat.UserMessage("What does that mean?")}},
		entry.Entry{Body: entry.Label{Target: "vet", Text: "the build breaks"}},
	)
	if err != nil {
		log.Fatal(err)
	}
	view, err := session.View(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range view.Messages() {
		fmt.Printf("%s: %s\n", m.Role, m.Text())
	}
	model, _, err := session.Latest(context.Background(), entry.TypeModelChange)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Body.(entry.ModelChange).Model)
	// Output:
	// user: The user ran a command.
	// <shell-command>
	// go vet ./...
	// </shell-command>
	// <shell-output>
	// main.go:3: undefined: x
	// </shell-output>
	// It exited with code 1.
	// user: What does that mean?
	// gpt-4o
}

// Turns reads a path of any length turn by turn.
func ExampleTurns() {
	var session history.Session
	err := session.Append(context.Background(),
		chat.UserMessage("Clean up."),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "call_1", Name: "list"}, {ID: "call_2", Name: "delete"}}},
		chat.ToolResult("call_1", "a.tmp"),
		chat.UserMessage("Stop!"),
		chat.AssistantMessage("I stopped."),
	)
	if err != nil {
		log.Fatal(err)
	}
	for turn, err := range history.Turns(session.PathTo(context.Background(), "")) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(turn.Start.Message().Text())
		for _, round := range turn.Rounds {
			fmt.Println("  results:", len(round.Results), "aborted:", len(round.Aborted()))
		}
	}
	// Output:
	// Clean up.
	//   results: 1 aborted: 1
	// Stop!
	//   results: 0 aborted: 0
}

// A compaction is dropped if its cut is no longer on the path.
func ExampleBoundaryError() {
	var session history.Session
	if err := session.Append(context.Background(), chat.UserMessage("One."), chat.AssistantMessage("Two.")); err != nil {
		log.Fatal(err)
	}
	before := session.Leaf()
	if err := session.Append(context.Background(), chat.UserMessage("Three.")); err != nil {
		log.Fatal(err)
	}
	compaction := entry.Compaction{Messages: []chat.Message{chat.UserMessage("So far.")}, FirstKept: session.Leaf()}
	if err := session.Branch(context.Background(), before); err != nil { // the user takes the last message back
		log.Fatal(err)
	}
	err := session.Compact(context.Background(), compaction)
	if dropped, ok := errors.AsType[*entry.BoundaryError](err); ok {
		fmt.Println("The entry", dropped.Reason)
	}
	// Output: The entry is on another branch
}

// Salvage opens a log without the lines that cannot be read.
func ExampleRead_salvage() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "session.jsonl")
	lines := `{"type":"session","version":4,"id":"S","time":"2026-01-02T03:04:05Z","crc":"175d6321"}
{"type":"message","id":"e1","message":{"role":"user","content":[{"type":"text","text":"Hello."}]},"crc":"481951dd"}
{"type":"mess@@@@@@@@@@@@@@@
{"type":"message","id":"e3","parent":"e2","message":{"role":"user","content":[{"type":"text","text":"Still there?"}]},"crc":"fc637015"}
`
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		log.Fatal(err)
	}
	_, err = history.Read(path, history.Options{})
	if corrupt, ok := errors.AsType[*storage.CorruptError](err); ok {
		fmt.Println("line", corrupt.Line, "cannot be read")
	}
	session, err := history.Read(path, history.Options{Salvage: true})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for e, err := range session.Entries(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Message().Text())
	}
	// Output:
	// line 3 cannot be read
	// Hello.
	// Still there?
}

// New keeps a session in any Store.
func ExampleNew() {
	session, err := history.New(context.Background(), &storage.Memory{}, history.Options{Header: entry.Header{ID: "S"}})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	fmt.Println(session.Header().ID, entries(session))
	// Output: S 0
}

// Appends are faster if the newest entries may be lost with the power.
func ExampleOpen_sync() {
	dir, err := os.MkdirTemp("", "session")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	session, err := history.Open(filepath.Join(dir, "session.jsonl"), history.Options{
		File: storage.FileOptions{Sync: storage.SyncInterval, SyncEvery: 5 * time.Second},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(session.Append(context.Background(), chat.UserMessage("Hello.")))
	fmt.Println(session.Close())
	// Output:
	// <nil>
	// <nil>
}

func ExampleSession_Append() {
	var session history.Session // in memory
	fmt.Println(session.Append(context.Background(), chat.UserMessage("What time is it?")))

	err := session.Append(context.Background(), chat.ToolResult("call_1", "12:00"))
	if pairing, ok := errors.AsType[*entry.PairingError](err); ok {
		fmt.Println("refused:", pairing)
	}
	fmt.Println(entries(&session), "entry")
	// Output:
	// <nil>
	// refused: tool call "call_1" answers no open tool call
	// 1 entry
}

func ExampleSession_View() {
	var session history.Session
	err := session.Append(context.Background(),
		chat.UserMessage("What is in go.mod?"),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "call_1", Name: "read", Arguments: `{"path":"go.mod"}`}}},
		chat.ToolResult("call_1", "module example"),
		chat.AssistantMessage("One line."),
		chat.UserMessage("Thank you."),
	)
	if err != nil {
		log.Fatal(err)
	}
	view, err := session.View(context.Background())
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

// Package summarize makes compactions. A compaction can also be made by hand.
func ExampleSession_Compact() {
	var session history.Session
	err := session.Append(context.Background(),
		chat.UserMessage("Name a color."), chat.AssistantMessage("Red."),
		chat.UserMessage("Another."), chat.AssistantMessage("Blue."),
		chat.UserMessage("One more."),
	)
	if err != nil {
		log.Fatal(err)
	}
	view, err := session.View(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	err = session.Compact(context.Background(), entry.Compaction{
		Messages:  []chat.Message{chat.UserMessage("<summary>Red was named.</summary>")},
		FirstKept: view.Turns[1].Start.ID,
	})
	if err != nil {
		log.Fatal(err)
	}
	if view, err = session.View(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(view.Compacted[0].Text())
	for _, turn := range view.Turns {
		fmt.Println(turn.Start.Message().Text())
	}
	fmt.Println(entries(&session), "entries, nothing is lost")
	// Output:
	// <summary>Red was named.</summary>
	// Another.
	// One more.
	// 6 entries, nothing is lost
}

// ViewWith shows the effect of a compaction before it is made.
func ExampleSession_ViewWith() {
	var session history.Session
	err := session.Append(context.Background(), chat.UserMessage(strings.Repeat("Once more. ", 100)), chat.AssistantMessage("Red."), chat.UserMessage("Why?"))
	if err != nil {
		log.Fatal(err)
	}
	prompt := el.Prompt(history.Conversation{Session: &session}, history.TurnStart{Session: &session})
	tokenizer, err := tiktoken.ForModel("gpt-4o")
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
	compaction := entry.Compaction{Messages: []chat.Message{chat.UserMessage("Red was named.")}}
	fmt.Println(tokens(ctx), "tokens now")
	view, err := session.ViewWith(ctx, compaction)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tokens(session.WithView(ctx, view)), "tokens with the compaction")
	fmt.Println(entries(&session), "entries as before")
	// Output:
	// 317 tokens now
	// 14 tokens with the compaction
	// 3 entries as before
}

// History is required unless it is Droppable. Then the oldest rounds are dropped first.
func ExampleConversation() {
	var session history.Session
	err := session.Append(context.Background(),
		chat.UserMessage("Name a color."), chat.AssistantMessage("Red. "+strings.Repeat("It is warm. ", 50)),
		chat.UserMessage("Another."), chat.AssistantMessage("Blue."),
		chat.UserMessage("One more."),
	)
	if err != nil {
		log.Fatal(err)
	}
	tokenizer, err := tiktoken.ForModel("gpt-4o")
	if err != nil {
		log.Fatal(err)
	}
	for _, droppable := range []bool{false, true} {
		prompt := el.Prompt(
			history.Conversation{Session: &session, Droppable: droppable},
			history.TurnStart{Session: &session},
		)
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

func ExampleClip() {
	tokenizer, err := tiktoken.ForModel("gpt-4o")
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
	// test 3
	// [... 4962 tokens cut here ...]
	// test 996 passed
	// test 997 passed
	// test 998 passed
	// test 999 passed
	// 999 passed, 1 failed
}

// entries returns the number of entries in a session.
func entries(s *history.Session) int {
	n := 0
	for _, err := range s.Entries(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		n++
	}
	return n
}
