package counters_test

import (
	"fmt"
	"log"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/vocabularytest"
	"github.com/promptree-go/promptree/sizing/chattemplate"
	"github.com/promptree-go/promptree/sizing/counters"
	"github.com/promptree-go/promptree/sizing/vocabulary"
)

func ExampleFor() {
	qwen, err := vocabulary.Read(vocabularytest.JSON(chattemplate.Qwen3.Tokens()...)) // or Open("Qwen3-8B/tokenizer.json")
	if err != nil {
		log.Fatal(err)
	}
	have := counters.ModelVocabulary{Vocabulary: qwen, Models: []string{"qwen3*"}}
	for _, model := range []string{"qwen3:8b", "gpt-5.2", "claude-sonnet-5"} {
		counter := counters.For(model, have)
		fmt.Printf("%s: %s, %s\n", model, counter.Kind(), counter.Reason)
		if counter.Calibrated != nil {
			req := chat.Request{Messages: []chat.Message{chat.UserMessage("Hello!")}}
			counter.Calibrated.Observe(req, chat.Response{Usage: chat.Usage{Input: 9}}) // with each answer
			fmt.Printf("%s: %s\n", model, counter.Kind())
		}
	}
	// Output:
	// qwen3:8b: exact, the model's vocabulary and the chat template of Qwen3
	// gpt-5.2: exact, OpenAI's encoding
	// claude-sonnet-5: estimated, OpenAI's o200k_base, corrected by reported usage: no vocabulary of this model was given
	// claude-sonnet-5: calibrated
}
