package chattemplate_test

import (
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/chattemplate"
)

// What the template writes around a text, seen by a function that should count.
func ExampleTemplate_CountFrame() {
	count := func(text string) int { // of a vocabulary of sizing/vocabulary
		fmt.Print(text)
		return 0
	}
	chattemplate.Qwen3.CountFrame(count, chat.UserMessage("Hello!"))
	// Output:
	// <|im_start|>user
	// <|im_end|>
}

func ExampleForModel() {
	for _, model := range []string{"qwen3:8b", "qwen3-coder:30b", "phi4"} {
		template, assumed := chattemplate.ForModel(model)
		fmt.Printf("%s: %q %v\n", model, template, assumed)
	}
	// Output:
	// qwen3:8b: "Qwen3" false
	// qwen3-coder:30b: "Qwen3" true
	// phi4: "" false
}
