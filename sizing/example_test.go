package sizing_test

import (
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/openai"
)

func ExampleWindow_Budget() {
	window := sizing.Window{Tokens: 128_000, Answer: 8_000, Threshold: 0.8}

	budget, err := window.Budget(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("without tools:", budget)

	budget, err = window.Budget(6_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("with tools:", budget)

	_, err = sizing.Window{Tokens: 128_000, Threshold: 80}.Budget(0)
	if ambiguous, ok := errors.AsType[*sizing.ThresholdError](err); ok {
		fmt.Println("neither a ratio nor tokens:", ambiguous.Threshold)
	}
	// Output:
	// without tools: 96000
	// with tools: 81000
	// neither a ratio nor tokens: 80
}

func ExamplePrices() {
	prices, err := sizing.PublishedPrices().Of("claude-opus-4-5")
	if err != nil {
		fmt.Println(err)
		return
	}
	warm := prices.Foretell(sizing.Planned{Input: 100_000, Cached: 98_000, Output: 400})
	cold := prices.Foretell(sizing.Planned{Input: 100_000, Output: 400})
	fmt.Printf("with a warm cache $%.4f\n", prices.Of(warm).Total())
	fmt.Printf("with a cold one   $%.4f\n", prices.Of(cold).Total())

	_, err = sizing.PublishedPrices().Of("my-own-model")
	fmt.Println(err)
	// Output:
	// with a warm cache $0.0715
	// with a cold one   $0.6350
	// sizing: the prices of model "my-own-model" are unknown: add a row for it to the table, or write its Prices down
}

func ExampleWindow_Effective() {
	_, err := sizing.Window{}.Effective()
	fmt.Println(err)

	effective, err := sizing.Window{AllowUnknown: true, Answer: 8_000}.Effective()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(effective)
	// Output:
	// sizing: the context window is unknown: set Window.Tokens, or Window.AllowUnknown to take 128,000
	// 120000
}

// bytesTokenizer takes every byte for a token, as a byte-level model does.
type bytesTokenizer struct{}

func (bytesTokenizer) CountText(text string) int { return len(text) }

func (bytesTokenizer) CountPart(part chat.Part) int {
	if text, ok := part.(chat.Text); ok {
		return len(text)
	}
	return 0
}

func (b bytesTokenizer) CountMessage(m chat.Message) int {
	n := len(m.Role) + len(m.Name)
	for _, part := range m.Content {
		n += b.CountPart(part)
	}
	for _, call := range m.ToolCalls {
		n += len(call.Name) + len(call.Arguments)
	}
	return n
}

func (bytesTokenizer) CountTools(tools []chat.Tool) int {
	n := 0
	for _, tool := range tools {
		n += len(tool.Name) + len(tool.Description) + len(tool.Parameters)
	}
	return n
}

// A tokenizer of one's own is any type with the four methods.
func ExampleTokenizer() {
	var tokenizer sizing.Tokenizer = bytesTokenizer{}
	fmt.Println(tokenizer.CountText("hello"))
	fmt.Println(tokenizer.CountMessage(chat.UserMessage("hello")))
	fmt.Println(tokenizer.CountTools(nil))
	// Output:
	// 5
	// 9
	// 0
}

// A text is put together from pieces, and its count from theirs.
func ExampleSpan() {
	counter, err := openai.New("o200k_base")
	if err != nil {
		fmt.Println(err)
		return
	}
	var (
		span sizing.Span
		text string
		sum  int
	)
	for _, piece := range []string{"Counting to", "kens in pie", "ces adds up, even when wor", "ds are cut."} {
		span = span.Join(counter, sizing.Measure(counter, piece))
		text += piece
		sum += counter.CountText(piece)
	}
	fmt.Println("joined:", span.Tokens())
	fmt.Println("whole:", counter.CountText(text))
	fmt.Println("pieces, each alone:", sum)
	// Output:
	// joined: 13
	// whole: 13
	// pieces, each alone: 16
}
