package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize"
)

// Small models are asked first, each for half a minute; the one that the conversation is held with comes last, unless it
// is among them.
func ExampleCascade() {
	slow := chat.ModelFunc(func(ctx context.Context, _ chat.Request) (chat.Response, error) {
		<-ctx.Done()
		return chat.Response{}, ctx.Err()
	})
	model := summarize.Cascade{
		Candidates: []summarize.Candidate{
			{Name: "slow", Model: slow, Timeout: time.Millisecond},
			{Name: "terse", Model: &summarize.Script{Steps: []summarize.Step{summarize.Say("Done.")}}},
		},
		Last:   summarize.Candidate{Name: "large", Model: &summarize.Script{Steps: []summarize.Step{summarize.Say("You read six files and fixed the build.")}}},
		Accept: summarize.Accept(summarize.AtLeast(30)),
	}
	response, err := model.Generate(context.Background(), chat.Request{Messages: []chat.Message{chat.UserMessage("Sum up.")}})
	fmt.Println(response.Message.Text(), err)
	// Output: You read six files and fixed the build. <nil>
}

// As oh-my-pi does: what may pass is tried again with the same model, and then with the next.
func ExampleRetry() {
	overloaded := &summarize.Script{Steps: []summarize.Step{
		summarize.Fail(&chat.TransientError{Err: errors.New("overloaded")}),
		summarize.Fail(&chat.TransientError{RetryAfter: time.Hour, Err: errors.New("come back in an hour")}),
	}}
	other := &summarize.Script{Steps: []summarize.Step{summarize.Say("You fixed the build.")}}
	model := summarize.Cascade{Candidates: []summarize.Candidate{
		{Name: "first", Model: summarize.Retry{Model: overloaded, Wait: time.Millisecond}},
		{Name: "second", Model: summarize.Retry{Model: other}},
	}}
	response, err := model.Generate(context.Background(), chat.Request{Messages: []chat.Message{chat.UserMessage("Sum up.")}})
	fmt.Println(response.Message.Text(), err, len(overloaded.Requests()))
	// Output: You fixed the build. <nil> 2
}
