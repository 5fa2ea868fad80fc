package models_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/summarize/models"
)

var _ chat.Model = (*models.Script)(nil)
var _ chat.Model = models.Offline{}

func TestScriptTakesItsStepsInOrder(t *testing.T) {
	down := errors.New("down")
	var s models.Script
	s.Steps = []models.Reply{models.Say("one"), models.SaySummary("two"), models.Fail(down)}
	require.Empty(t, s.Requests())
	request := func(text string) chat.Request {
		return chat.Request{Messages: []chat.Message{chat.UserMessage(text)}, MaxTokens: len(text)}
	}
	r := providertest.Generated(t, &s, request("first"))
	require.Equal(t, chat.Response{Message: chat.AssistantMessage("one")}, r)
	r = providertest.Generated(t, &s, request("second"))
	require.Equal(t, "<analysis>\nscripted\n</analysis>\n<summary>\ntwo\n</summary>", r.Message.Text())
	_, err := s.Generate(t.Context(), request("third"))
	require.ErrorIs(t, err, down)
	for range 2 {
		_, err = s.Generate(t.Context(), request("more"))
		require.ErrorContains(t, err, "the script is over")
	}

	requests := s.Requests()
	require.Equal(t, []chat.Request{request("first"), request("second"), request("third"), request("more"), request("more")}, requests)
	requests[0].MaxTokens = -1
	require.Equal(t, len("first"), s.Requests()[0].MaxTokens, "Requests returns a copy")
}

func TestScriptWithoutStepsFails(t *testing.T) {
	_, err := new(models.Script).Generate(t.Context(), chat.Request{})
	require.ErrorContains(t, err, "the script is over")
}

func TestScriptReturnsTheCauseOfACancelledContext(t *testing.T) {
	why := errors.New("no more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	s := models.Script{Steps: []models.Reply{models.Say("one")}}
	_, err := s.Generate(ctx, chat.Request{})
	require.ErrorIs(t, err, why)
	require.Len(t, s.Requests(), 1, "the request is remembered")
}

func TestScriptStepSeesTheRequest(t *testing.T) {
	s := models.Script{Steps: []models.Reply{func(_ context.Context, r chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage("You said: " + r.Messages[0].Text())}, nil
	}}}
	r := providertest.Generated(t, &s, chat.Request{Messages: []chat.Message{chat.UserMessage("Hello.")}})
	require.Equal(t, "You said: Hello.", r.Message.Text())
}

func TestScriptIsSafeForConcurrentUse(t *testing.T) {
	const n = 50
	s := models.Script{Steps: make([]models.Reply, n)}
	var taken [n]int
	for i := range s.Steps {
		s.Steps[i] = func(context.Context, chat.Request) (chat.Response, error) {
			taken[i]++
			return chat.Response{}, nil
		}
	}
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			_, err := s.Generate(t.Context(), chat.Request{})
			if err != nil {
				t.Error(err)
			}
			s.Requests()
		})
	}
	group.Wait()
	for i, times := range taken {
		require.Equal(t, 1, times, "step %d", i)
	}
}
