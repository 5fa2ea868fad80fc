package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/sizing/modelinfo"
	"github.com/promptree-go/promptree/summarize/frugal"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/replay"
)

// A policy is a value whose parts can be changed. What a change costs and what it forgets shows on one's own recordings,
// before any money is spent.
func ExampleRun() {
	ctx := context.Background()
	recording, err := importer.Read(strings.NewReader(recorded()))
	if err != nil {
		log.Fatal(err)
	}
	prices, err := modelinfo.Prices("claude-opus-4-5")
	if err != nil {
		log.Fatal(err)
	}
	session := &replay.Session{Recording: recording, Prices: prices}

	mine := frugal.Policy()
	mine.Name = "mine"
	mine.Trigger = policy.Trigger{{Ratio: 0.5, Background: true}, {On: policy.OnBudgetExceeded}}
	mine.Clear = policy.Clear{}
	for _, p := range []policy.Policy{mine, frugal.Policy()} {
		result, err := replay.Run(ctx, session, p, replay.Options{ContextWindow: 64_000})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s compacts %d times and costs $%.1f; never compacting costs $%.1f\n",
			result.Policy, len(result.Compactions), result.Bill.Kept, result.Bill.Uncompacted)
	}
	// Output:
	// mine compacts 5 times and costs $1.9; never compacting costs $3.0
	// frugal compacts 1 times and costs $1.8; never compacting costs $3.0
}

// recorded returns the messages of an agent that reads sixty files, as OpenAI's API has them.
func recorded() string {
	messages := []map[string]any{{"role": "user", "content": "Read all files and say which of them open a socket."}}
	for n := range 60 {
		id := fmt.Sprint("call", n)
		call := map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "read", "arguments": fmt.Sprintf(`{"path":"file%d.go"}`, n)}}
		messages = append(messages,
			map[string]any{"role": "assistant", "content": "The next one.", "tool_calls": []any{call}},
			map[string]any{"role": "tool", "tool_call_id": id, "content": strings.Repeat(fmt.Sprintf("line of file %d\n", n), 400)})
	}
	data, err := json.Marshal(messages)
	if err != nil {
		log.Fatal(err)
	}
	return string(data)
}
