package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/models"
)

// offline is a [chat.Model] that needs no network: it repeats parts of its prompt, always the same for the same
// request. If the user mentions the transcript, and at every fifth message, it reads the transcript first.
type offline struct {
	tokenizer chat.Tokenizer
	think     time.Duration // for an answer or a summary
}

// Generate answers. A request without Stream is one for a summary.
func (m *offline) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if req.Stream == nil {
		if err := pause(ctx, m.think); err != nil {
			return chat.Response{}, err
		}
		return models.Offline{Tokenizer: m.tokenizer}.Generate(ctx, req)
	}
	response := chat.Response{Usage: chat.Usage{Input: m.tokenizer.CountTools(req.Tools)}}
	for _, message := range req.Messages {
		response.Usage.Input += m.tokenizer.CountMessage(message)
	}
	answer, calls := respond(req)
	pieces := strings.SplitAfter(answer, ", ")
	said := ""
	for _, piece := range pieces {
		if err := pause(ctx, m.think/time.Duration(len(pieces))); err != nil {
			response.Message = chat.AssistantMessage(said)
			return response, err
		}
		req.Stream(chat.Text(piece))
		said += piece
	}
	response.Message = chat.WithCallIDs(chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text(said)}, ToolCalls: calls})
	response.Usage.Output = m.tokenizer.CountMessage(response.Message)
	if len(calls) > 0 {
		response.StopReason = chat.StopToolCalls
	}
	return response, nil
}

// respond returns the answer to a request.
func respond(req chat.Request) (text string, calls []chat.ToolCall) {
	users, question, last := 0, "", req.Messages[len(req.Messages)-1]
	for _, m := range req.Messages {
		if m.Role == chat.RoleUser {
			users++
			question = m.Text()
		}
	}
	if last.Role == chat.RoleTool {
		return fmt.Sprintf("I looked it up, and the transcript begins so there: %s, that is what I found, about: %s.",
			beginning(last.Text()), beginning(question)), nil
	}
	if len(req.Tools) > 0 && (strings.Contains(strings.ToLower(question), "transcript") || users%5 == 0) {
		return "Let me see, I read it up in the transcript.", []chat.ToolCall{{Name: transcriptTool, Arguments: `{"from": 1, "to": 10}`}}
	}
	return fmt.Sprintf("You said: %s, which are %d words, I was shown %d messages, of them %d as yours, and that is all that I know, offline.",
		beginning(question), len(strings.Fields(question)), len(req.Messages), users), nil
}

// beginning returns the first words of a text, in one line.
func beginning(text string) string {
	words := strings.Fields(text)
	if len(words) > 20 {
		words = append(words[:20:20], "…")
	}
	line := []rune(strings.Join(words, " "))
	return string(line[:min(len(line), 200)])
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
