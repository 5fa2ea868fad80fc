package sizing_test

import (
	"errors"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/modelinfo"
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
	prices, err := modelinfo.Prices("claude-opus-4-5")
	if err != nil {
		fmt.Println(err)
		return
	}
	warm := prices.Foretell(sizing.Planned{Input: 100_000, Cached: 98_000, Output: 400})
	cold := prices.Foretell(sizing.Planned{Input: 100_000, Output: 400})
	fmt.Printf("with a warm cache $%.4f\n", prices.Of(warm).Total())
	fmt.Printf("with a cold one   $%.4f\n", prices.Of(cold).Total())

	_, err = modelinfo.Prices("my-own-model")
	fmt.Println(err)
	// Output:
	// with a warm cache $0.0715
	// with a cold one   $0.6350
	// modelinfo: the prices of model "my-own-model" are unknown: read a row with its prices by Read, or write out a sizing.Prices
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

// bytesTokenizer counts every byte as a token, as a byte-level model does. A message costs 3 more.
type bytesTokenizer struct{}

func (bytesTokenizer) CountText(text string) int { return len(text) }

func (b bytesTokenizer) CountPart(part chat.Part) int { return sizingtest.CountPart(b, part) }

func (b bytesTokenizer) CountMessage(m chat.Message) int { return sizingtest.CountMessage(b, m) }

func (b bytesTokenizer) CountTools(tools []chat.Tool) int { return sizingtest.CountTools(b, tools) }
