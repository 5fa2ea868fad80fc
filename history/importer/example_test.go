package importer_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/history/storage"
)

func ExampleRead() {
	const recorded = `{"type":"session","id":"5a1f","cwd":"/src"}
{"type":"message","message":{"role":"user","content":"How many Go files are there?"}}
{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"ls *.go | wc -l"}}],"usage":{"input":12,"output":31,"cacheRead":2000,"cacheWrite":88}}}
{"type":"message","message":{"role":"toolResult","toolCallId":"c1","content":[{"type":"text","text":"42"}]}}
{"type":"model_change","modelId":"another"}
`
	recording, err := importer.Read(strings.NewReader(recorded))
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, m := range recording.Conversation() {
		fmt.Printf("line %d, %s: %s", e.Line, m.Role, m.Text())
		for _, call := range m.ToolCalls {
			fmt.Printf("%s %s (%d tokens in, %d out)", call.Name, call.Arguments, e.Usage.Input, e.Usage.Output)
		}
		fmt.Println()
	}
	last := recording.Records[len(recording.Records)-1]
	fmt.Printf("line %d, %T\n", last.Line, last.Body)
	// Output:
	// line 2, user: How many Go files are there?
	// line 3, assistant: bash {"command":"ls *.go | wc -l"} (2100 tokens in, 31 out)
	// line 4, tool: 42
	// line 5, entry.ModelChange
}

func ExampleLineError() {
	const torn = `{"type":"session","id":"5a1f","cwd":"/src"}
{"type":"message","message":{"role":"user","cont`
	_, err := importer.Read(strings.NewReader(torn))
	fmt.Println(err)
	// Output:
	// importer: line 2: the last line has no line feed, it may be torn: byte 48: unexpected end of JSON input
}

func ExampleRecording_AppendTo() {
	const recorded = `{"messages":[
{"role":"user","content":"How many Go files are there?"},
{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"count","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"c1","content":"42"}
]}`
	recording, err := importer.Read(strings.NewReader(recorded))
	if err != nil {
		fmt.Println(err)
		return
	}
	session, err := history.New(context.Background(), &storage.Memory{}, history.Options{Header: recording.Header})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := recording.AppendTo(context.Background(), session); err != nil {
		fmt.Println(err)
		return
	}
	view, err := session.View(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(recording.Format)
	for _, turn := range view.Turns {
		fmt.Printf("%s %d round\n", turn.Start.Message().Text(), len(turn.Rounds))
	}
	// Output:
	// openai-chat
	// How many Go files are there? 1 round
}
