package sizing_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// provider reports the usage of made-up requests, counted by its own rule.
type provider struct {
	perByte   float64
	overhead  int
	reasoning int // tokens of an answer that are not sent back
}

func (p provider) message(m chat.Message) float64 {
	n := 4.0
	for _, part := range m.Content {
		n += p.perByte * float64(len(part.(chat.Text)))
	}
	for _, c := range m.ToolCalls {
		n += 20 + p.perByte*float64(len(c.Name)+len(c.Arguments))
	}
	return n
}

func (p provider) input(req chat.Request) int {
	n := float64(p.overhead)
	for _, m := range req.Messages {
		n += p.message(m)
	}
	return int(n)
}

// talk returns the estimates and the true tokens of a conversation of that many rounds, each observed.
func talk(p provider, counter *sizing.Calibrated, rounds int, seed uint64) (estimates, inputs []int, last chat.Request) {
	d := rand.New(rand.NewPCG(seed, 2))
	text := func(most int) string { return strings.Repeat("some words of text, ", 1+d.IntN(most)) }
	req := chat.Request{Messages: []chat.Message{chat.UserMessage(text(5))}}
	for i := range rounds {
		answer := chat.Message{
			Role: chat.RoleAssistant, Content: chat.Parts{chat.Text(text(20))},
			ToolCalls: []chat.ToolCall{{ID: fmt.Sprint("c", i), Name: "look", Arguments: fmt.Sprintf(`{"at":%q}`, text(2))}},
		}
		estimates, inputs = append(estimates, counter.CountRequest(req)), append(inputs, p.input(req))
		response := chat.Response{Message: answer, Usage: chat.Usage{Input: p.input(req), Output: int(p.message(answer)) + p.reasoning}}
		counter.Observe(req, response)
		req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], answer, chat.ToolResult(answer.ToolCalls[0].ID, text(60)))
	}
	return estimates, inputs, req
}

func TestCalibratedLearnsTokensPerTextAndPerRequest(t *testing.T) {
	for _, p := range []provider{
		{perByte: 0.2}, {perByte: 0.25, overhead: 500}, {perByte: 0.35, overhead: 2_000},
		{perByte: 0.25, reasoning: 400}, {perByte: 0.3, overhead: 300, reasoning: 60},
	} {
		t.Run(fmt.Sprintf("%+v", p), func(t *testing.T) {
			counter := &sizing.Calibrated{}
			_, _, req := talk(p, counter, 60, 1)
			var messages float64
			for _, m := range req.Messages {
				messages += p.message(m)
			}
			counted := 0
			for _, m := range req.Messages {
				counted += counter.CountMessage(m)
			}
			require.InEpsilon(t, messages, counted, 0.03, "the sum of the messages")
			fresh := chat.Request{Messages: req.Messages[len(req.Messages)-20:]}
			require.InEpsilon(t, p.input(fresh), counter.CountRequest(fresh), 0.08, "a new request")
			require.InEpsilon(t, p.input(req), counter.CountRequest(req), 0.01, "a request that continues the last")
		})
	}
}

// An agent that shows its state in the last message, and takes it out again in the next request.
func TestCalibratedLearnsWhereTheLastMessageChanges(t *testing.T) {
	for _, state := range []int{1, 100, 1000} { // a short one, one about as long as a round, one as long as ten
		p := provider{perByte: 0.4, overhead: 300}
		counter, plain := &sizing.Calibrated{}, &sizing.Calibrated{}
		untaught := counter.Margin()
		_, _, whole := talk(p, plain, 60, 1)
		for i := 1; i <= len(whole.Messages); i += 2 {
			last := chat.UserMessage(strings.Repeat(fmt.Sprintf("state of step %d, ", i), state/4+1))
			req := chat.Request{Messages: append(whole.Messages[:i:i], last)}
			response := chat.Response{Message: chat.AssistantMessage("Done."), Usage: chat.Usage{Input: p.input(req), Output: 6}}
			if i < len(whole.Messages) {
				response = chat.Response{Message: whole.Messages[i], Usage: chat.Usage{Input: p.input(req), Output: int(p.message(whole.Messages[i]))}}
			}
			counter.Observe(req, response)
		}
		text := chat.UserMessage(strings.Repeat("some words of text, ", 50))
		require.InEpsilon(t, p.message(text), counter.CountMessage(text), 0.05, "state of %d words", state)
		require.Less(t, counter.Margin(), 0.6*untaught, "state of %d words", state)
		next := chat.Request{Messages: append(whole.Messages[:len(whole.Messages):len(whole.Messages)], chat.UserMessage("another state"))}
		require.InEpsilon(t, p.input(next), counter.CountRequest(next), 0.02, "a request that replaces the last message")
	}
}

func TestCalibratedLearnsNothingFromARequestOfAnotherKind(t *testing.T) {
	counter := &sizing.Calibrated{}
	talk(provider{perByte: 0.3}, counter, 20, 1)
	text := chat.UserMessage(strings.Repeat("some words of text, ", 50))
	before := counter.CountMessage(text)
	for _, messages := range [][]chat.Message{
		{chat.UserMessage("What is the weather like?")},
		{chat.UserMessage("What is the weather like?"), chat.UserMessage("And tomorrow?"), chat.UserMessage("And then?")},
	} {
		counter.Observe(chat.Request{Messages: messages, Tools: []chat.Tool{{Name: fmt.Sprint("tool", len(messages))}}}, chat.Response{Usage: chat.Usage{Input: 9_000}})
		require.Equal(t, before, counter.CountMessage(text))
	}
}

func TestCalibratedCountsATenthMoreBeforeTheFirstObservation(t *testing.T) {
	counter := &sizing.Calibrated{Base: bytesTokenizer{}}
	require.Equal(t, 0, counter.CountText(""))
	require.Equal(t, 110, counter.CountText(strings.Repeat("a", 100)))
	require.Equal(t, 115, counter.CountMessage(chat.UserMessage(strings.Repeat("a", 100))))
	require.Equal(t, 11, counter.CountTools([]chat.Tool{{Name: "tool", Description: "a tool"}}))
	require.Equal(t, 7, counter.CountPart(chat.Opaque{Tokens: 7}))
	require.InDelta(t, 0.3, counter.Margin(), 1e-9)
	counter.Observe(chat.Request{Messages: []chat.Message{chat.UserMessage("a")}}, chat.Response{})
	require.Equal(t, 110, counter.CountText(strings.Repeat("a", 100)), "a response without usage changes nothing")
	require.False(t, counter.Observed())
	counter.Observe(chat.Request{Messages: []chat.Message{chat.UserMessage("a")}}, chat.Response{Usage: chat.Usage{Input: 9}})
	require.True(t, counter.Observed())
}

// An answer that was cut since it was observed counts by its text again.
func TestAnObservedAnswerCountsAsReported(t *testing.T) {
	counter := &sizing.Calibrated{}
	answer := chat.AssistantMessage(strings.Repeat("word ", 100))
	counter.Observe(chat.Request{Messages: []chat.Message{chat.UserMessage("a")}},
		chat.Response{Message: answer, Usage: chat.Usage{Input: 10, Output: 101}})
	require.Equal(t, 101, counter.CountMessage(answer))
	require.Less(t, counter.CountMessage(chat.AssistantMessage("word ")), 20)

	hidden := chat.AssistantMessage("Yes.")
	counter.Observe(chat.Request{Messages: []chat.Message{chat.UserMessage("b")}},
		chat.Response{Message: hidden, Usage: chat.Usage{Input: 10, Output: 5_000}})
	require.Less(t, counter.CountMessage(hidden), 20, "reasoning that is not sent back is not counted")
}

func TestMarginFallsWithEvidence(t *testing.T) {
	counter := &sizing.Calibrated{}
	before := counter.Margin()
	for range 4 {
		talk(provider{perByte: 0.28}, counter, 10, 3)
		require.Less(t, counter.Margin(), before)
		before = counter.Margin()
	}
	require.Less(t, before, 0.15)
	// It grows again when an estimate was wrong.
	req := chat.Request{Messages: []chat.Message{chat.UserMessage("a")}}
	counter.Observe(req, chat.Response{Usage: chat.Usage{Input: 100}})
	for i := range 10 {
		req.Messages = append(req.Messages, chat.UserMessage(strings.Repeat("word ", 200)))
		counter.Observe(req, chat.Response{Usage: chat.Usage{Input: 100 + 2_000*(i+1)}})
	}
	require.Greater(t, counter.Margin(), before)
}

func TestASafeTokenizerCountsMoreAndDoesNotLearn(t *testing.T) {
	counter := &sizing.Calibrated{Base: bytesTokenizer{}}
	text := strings.Repeat("word ", 200)
	safe := counter.Safe()
	require.Equal(t, 1430, safe.CountText(text))
	require.Equal(t, 1430, safe.CountPart(chat.Text(text)))
	require.Equal(t, 1437, safe.CountMessage(chat.UserMessage(text)))
	require.Equal(t, 0, safe.CountTools(nil))
	talk(provider{perByte: 0.5}, counter, 20, 4)
	require.Less(t, counter.CountText(text), 1_000)
	require.Equal(t, 1430, safe.CountText(text))
}

func TestTheSameObservationsGiveTheSameCounts(t *testing.T) {
	a, b := &sizing.Calibrated{}, &sizing.Calibrated{}
	first, _, _ := talk(provider{perByte: 0.3, overhead: 100}, a, 40, 5)
	second, _, _ := talk(provider{perByte: 0.3, overhead: 100}, b, 40, 5)
	require.Equal(t, first, second)
	require.Equal(t, a.Margin(), b.Margin())
}

func TestImplausibleUsageDoesNotMakeCountsImplausible(t *testing.T) {
	d := rand.New(rand.NewPCG(6, 6))
	counter := &sizing.Calibrated{}
	req := chat.Request{}
	for range 500 {
		req.Messages = append(req.Messages, chat.UserMessage(strings.Repeat("word \xff 12 {}", d.IntN(50))))
		if d.IntN(20) == 0 {
			req.Messages = nil
		}
		counter.Observe(req, chat.Response{
			Message: chat.AssistantMessage(strings.Repeat("a", d.IntN(9))),
			Usage:   chat.Usage{Input: d.IntN(1<<40) - 1<<39, Output: d.IntN(1<<40) - 1<<39},
		})
		n := counter.CountText(strings.Repeat("word ", 100))
		require.GreaterOrEqual(t, n, 0)
		require.Less(t, n, 10_000)
	}
}

// asked is a tokenizer that records how often it counts a text.
type asked struct {
	chat.Tokenizer
	times *int
}

func (a asked) CountText(text string) int {
	*a.times++
	return a.Tokenizer.CountText(text)
}

// A conversation is counted again at each step, but each text only once, whatever is learnt in between.
func TestCalibratedCountsATextOnce(t *testing.T) {
	times := 0
	counter := &sizing.Calibrated{Base: asked{sizing.Estimator{}, &times}}
	long := chat.UserMessage(strings.Repeat("a story of 3 parts; ", 50))
	before := counter.CountMessage(long)
	require.Equal(t, 1, times)
	counter.Observe(chat.Request{Messages: []chat.Message{long}}, chat.Response{Message: long, Usage: chat.Usage{Input: 2 * before, Output: before}})
	safe := counter.Safe()
	times = 0
	require.Positive(t, counter.CountMessage(long))
	require.Positive(t, safe.CountMessage(long))
	require.Zero(t, times)

	learning := &sizing.Calibrated{}
	counter = &sizing.Calibrated{Base: learning}
	before = counter.CountMessage(long)
	talk(provider{perByte: 3}, learning, 3, 1)
	require.Greater(t, counter.CountMessage(long), before, "a base that learns is asked again")
}

func TestATextThatWasForgottenCountsTheSame(t *testing.T) {
	text := func(i int) string { return strings.Repeat(fmt.Sprintf("text number %d, ", i), 1+i%9) }
	counter, fresh := &sizing.Calibrated{}, &sizing.Calibrated{}
	for i := range 50_000 {
		counter.CountText(text(i))
	}
	for i := 0; i < 50_000; i += 99 {
		require.Equal(t, fresh.CountText(text(i)), counter.CountText(text(i)))
	}
}

func TestCalibratedIsSafeForConcurrentUse(t *testing.T) {
	counter := &sizing.Calibrated{}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 20 {
				if i%2 == 0 {
					talk(provider{perByte: 0.3}, counter, 3, uint64(i))
				}
				counter.CountMessage(chat.UserMessage("word"))
				counter.Safe().CountText("word")
				counter.Margin()
			}
		})
	}
	group.Wait()
}

func ExampleCalibrated() {
	counter := &sizing.Calibrated{} // better: with the exact counter of another model as Base
	question := chat.UserMessage("How many Go files are there?")
	fmt.Println("before:", counter.CountMessage(question))

	request := chat.Request{Messages: []chat.Message{question}}
	response := chat.Response{Message: chat.AssistantMessage("There are 42."), Usage: chat.Usage{Input: 310, Output: 9}}
	counter.Observe(request, response)

	request.Messages = append(request.Messages, response.Message, chat.UserMessage("And tests?"))
	fmt.Println("the next request:", counter.CountRequest(request))
	fmt.Println("of which the answer takes:", counter.CountMessage(response.Message))
	// Output:
	// before: 14
	// the next request: 327
	// of which the answer takes: 9
}
