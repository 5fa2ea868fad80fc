package mirror_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/mirror"
	"github.com/promptree-go/promptree/summarize/models"
)

// An application with a list of messages of its own type.
func Example() {
	type Message struct{ From, Text string }
	compactor := &summarize.Compactor{
		Session: &history.Session{}, // one of history.Open is there after a restart
		Policy:  a3s.Policy(),
		Target:  summarize.Target{Model: models.Offline{Tokenizer: sizing.Estimator{}}, Tokenizer: sizing.Estimator{}, Budget: 4000},
	}
	defer compactor.Close()
	m := &mirror.Mirror[Message]{
		Compactor: compactor,
		From: func(m Message) ([]chat.Message, error) {
			return []chat.Message{{Role: chat.Role(m.From), Content: chat.Parts{chat.Text(m.Text)}}}, nil
		},
		To: func(list []chat.Message) (out []Message, err error) {
			for _, c := range list {
				out = append(out, Message{string(c.Role), c.Text()})
			}
			return out, nil
		},
	}
	ask := func([]Message) Message { return Message{"assistant", strings.Repeat("It rains and rains. ", 30)} }

	ctx := context.Background()
	var list []Message
	for day := range 20 {
		list = append(list, Message{"user", fmt.Sprintf("What is the weather on day %d?", day+1)})
		fitted, err := m.Fit(ctx, mirror.Request[Message]{System: "You know the weather.", Messages: list})
		if err != nil {
			log.Fatal(err)
		}
		if fitted.Compacted {
			fmt.Printf("day %d: %d messages instead of %d\n", day+1, len(fitted.Messages), len(list))
		}
		list = append(list, ask(fitted.Messages))
	}
	if err := m.EndTurn(ctx, list); err != nil {
		log.Fatal(err)
	}
	// Output:
	// day 12: 15 messages instead of 23
	// day 16: 15 messages instead of 31
	// day 20: 15 messages instead of 39
}

// A list of chat.Message, whose answers have usage to record.
func ExampleNew() {
	model := chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage("The linker."), Usage: chat.Usage{Input: 20, Output: 3}}, nil
	})
	compactor := &summarize.Compactor{
		Session: &history.Session{}, Policy: a3s.Policy(),
		Target: summarize.Target{Model: model, Tokenizer: sizing.Estimator{}, Budget: 100_000},
	}
	defer compactor.Close()
	m := mirror.New(compactor)

	ctx := context.Background()
	list := []chat.Message{chat.UserMessage("What fails?")}
	fitted, err := m.Fit(ctx, mirror.Request[chat.Message]{System: "You build.", Messages: list})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := model.Generate(ctx, chat.Request{Messages: append([]chat.Message{chat.SystemMessage("You build.")}, fitted.Messages...)})
	if err != nil {
		log.Fatal(err)
	}
	said, err := m.Answered(ctx, answer.Usage, string(answer.StopReason), answer.Message)
	if err != nil {
		log.Fatal(err)
	}
	list = append(list, said...)               // without its calls, if it was cut off
	list[0] = chat.UserMessage("What failed?") // edited: the session branches, and keeps the first wording
	fitted, err = m.Fit(ctx, mirror.Request[chat.Message]{System: "You build.", Messages: append(list, chat.UserMessage("Really?"))})
	if err != nil {
		log.Fatal(err)
	}
	for _, message := range fitted.Messages {
		fmt.Println(message.Role, message.Text())
	}
	// Output:
	// user What failed?
	// assistant The linker.
	// user Really?
}
