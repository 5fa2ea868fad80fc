package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render/openai"
)

// localServer returns a server that speaks Chat Completions.
func localServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range []string{"There ", "are ", "42."} {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", word)
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],")
		fmt.Fprint(w, "\"usage\":{\"prompt_tokens\":25,\"completion_tokens\":4,\"prompt_tokens_details\":{\"cached_tokens\":16}}}\n\ndata: [DONE]\n\n")
	}))
}

func Example() {
	server := localServer()
	defer server.Close()
	model := &openai.Model{
		Client: sdk.NewClient(option.WithBaseURL(server.URL+"/v1"), option.WithAPIKey("none")),
		Name:   "qwen3",
	}
	response, err := model.Generate(context.Background(), chat.Request{
		Messages: []chat.Message{chat.SystemMessage("You count files."), chat.UserMessage("How many Go files are there?")},
		Stream: func(d chat.Delta) {
			if text, ok := d.(chat.Text); ok {
				fmt.Print(text)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("\n%d tokens in, %d of them cached\n", response.Usage.Input, response.Usage.CacheRead)
	// Output:
	// There are 42.
	// 25 tokens in, 16 of them cached
}

// A history that another provider's model has written may break OpenAI's rules.
func ExampleRepair() {
	req := chat.Request{Messages: []chat.Message{
		chat.UserMessage("How many Go files are there?"),
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "fs.count", Arguments: "{}"}}},
		chat.UserMessage("Well?"),
	}}
	err := openai.Validate(req, openai.Responses)
	if invalid, ok := errors.AsType[*chat.ValidationError](err); ok {
		for _, violation := range invalid.Violations {
			fmt.Println(violation)
		}
	}
	repaired, changes := openai.Repair(req, openai.Responses)
	for _, change := range changes {
		fmt.Println("repaired", change)
	}
	for _, m := range repaired.Messages {
		fmt.Printf("%s: %q\n", m.Role, m.Text())
	}
	// Output:
	// message 1: every tool call is answered: call "c1" has no result
	// message 1: ids and names of calls are of the API's form: call 0 has the name "fs.count"
	// repaired message 1: ids and names of calls are of the API's form: the name of call "c1" changed to "fs_count_393e500c"
	// repaired message 1: every tool call is answered: call "c1" had no result: a failed one added
	// user: "How many Go files are there?"
	// assistant: ""
	// tool: "There is no result: the call was interrupted."
	// user: "Well?"
}

func ExampleItemsRequest() {
	params, err := openai.ItemsRequest(chat.Request{Messages: []chat.Message{
		chat.SystemMessage("You count files."),
		chat.UserMessage("How many Go files are there?"),
	}}, openai.OptionsFor("gpt-5.2"))
	if err != nil {
		log.Fatal(err)
	}
	data, err := json.Marshal(params)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(data))
	// Output:
	// {"input":[{"content":"You count files.","role":"developer"},{"content":"How many Go files are there?","role":"user"}]}
}
