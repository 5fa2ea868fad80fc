package browsertest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing"
)

// madeUp returns a session of steps, each of which adds a question, a call and its result. Every tenth step changes the
// instructions.
func madeUp(t testing.TB, steps int) *inspect.Steps {
	t.Helper()
	var log inspect.Steps
	var said elements.Nodes
	prices := sizing.Prices{Rates: sizing.Rates{Input: 2.5, CacheRead: 0.25, Output: 15}}
	tokenizer := sizing.Estimator{}
	for i := range steps {
		call := chat.ToolCall{ID: fmt.Sprint("c", i), Name: "read_file", Arguments: fmt.Sprintf(`{"path":"%d.go"}`, i)}
		said = append(said,
			elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(fmt.Sprintf("What is in file %d?", i))}},
			elements.AssistantMessage{Props: elements.Props{Required: true}, ToolCalls: []elements.ToolCall{{ToolCall: call}}},
			elements.ToolMessage{Props: elements.Props{Required: true}, ToolCallID: call.ID, Children: elements.Nodes{elements.Text(fmt.Sprintf("file %d %s", i, strings.Repeat("a line of it\n", 20+i%50)))}},
		)
		clock := elements.SystemMessage{Children: elements.Nodes{elements.Text(fmt.Sprintf("You answer. It is %d o'clock.", i/10))}}
		result, err := render.Render(t.Context(), elements.Nodes{clock, said}, render.Options{Budget: 1 << 22, Tokenizer: tokenizer})
		require.NoError(t, err)
		step := inspect.Step{
			Rendered: inspect.Rendered{Result: result, Model: "gpt-5.4", Tokenizer: tokenizer, Prices: prices},
			Did:      "read_file " + call.Arguments, Usage: chat.Usage{Input: result.Tokens, CacheRead: result.Tokens * 9 / 10, Output: 50}, Explain: "nothing: no condition holds",
		}
		switch {
		case i > 0 && i%10 == 0:
			step.Usage.CacheRead = 0
			step.Break = &inspect.StepCacheBreak{Why: "system message 1 changed: what changes by itself, such as a clock, stands better behind the history", Tokens: result.Tokens - 300, Dollars: float64(result.Tokens-300) * 2.25e-6}
		case i%17 == 16:
			step.Cleared = 1200
		case i%31 == 30:
			step.Notes = []string{"failed: the model gave no summary"}
		}
		step.Dollars = prices.Of(step.Usage).Total()
		require.NoError(t, log.Add(t.Context(), step))
	}
	return &log
}

func openLog(t testing.TB, log *inspect.Steps, o inspect.Options) tab {
	t.Helper()
	return open(t, 1280, 1000, func(page *bytes.Buffer) error { return inspect.Session(page, log, o) })
}

// One click shows the step, the reason and the cost.
func TestTheWorstCacheBreakIsNamedWithItsCost(t *testing.T) {
	t.Parallel()
	p := openLog(t, madeUp(t, 40), inspect.Options{Title: "A session with prices"})
	require.Regexp(t, `✕ 3 cache breaks lost [\d,]+ tokens, which cost \$[\d.]+\. The worst is step 31: [\d,]+ lost, \$`, eval[string](p, `document.querySelector(".summary").textContent`))
	p.click(".summary button", "step 31")
	details := eval[string](p, `document.querySelector(".details").textContent`)
	require.Contains(t, details, "such as a clock, stands better behind the history")
	require.Regexp(t, `Cost\$[\d.]+, \$[\d.]+ in all`, details)
	require.Contains(t, eval[string](p, `document.querySelector(".facts").textContent`), "as reported")
	require.Contains(t, details, "The first difference: message 1, character 19.")
	p.picture("costs")
	p.click(".details button", "Compare with step 30")
	p.do(chromedp.WaitVisible(chromedp.CSS(".compare")))
	require.Contains(t, eval[string](p, `document.querySelector(".compare .verdict").textContent`), "The first difference: message 1")
	p.picture("costs-compare")
	p.click("button", "All steps")
	p.do(chromedp.WaitVisible(chromedp.CSS("#steps")))
	p.click("label", "Only steps")
	eval[bool](p, `(document.querySelector("#steps").focus(), true)`)
	p.press(kb.Home, kb.ArrowDown)
	require.Contains(t, eval[string](p, `document.querySelector(".details").textContent`), "Cleared 1,200 tokens")
}

func TestASessionWithHiddenTextsShowsItsNumbers(t *testing.T) {
	t.Parallel()
	p := openLog(t, madeUp(t, 12), inspect.Options{HideContent: true})
	require.NotContains(t, eval[string](p, `document.documentElement.outerHTML`), "a line of it")
	p.click("#steps .row", "")
	p.click("button", "Open its prompt")
	require.Contains(t, eval[string](p, `document.body.textContent`), "SHA-256")
}
