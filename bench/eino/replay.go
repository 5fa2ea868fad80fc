package main

import (
	"context"
	"errors"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/einoagent"
)

const cutOff = "(interrupted)"

// turn is a user message and the messages that answer it.
type turn struct {
	user    string
	answers []chat.Message
	results map[string]string // by call
}

// turnsOf returns the turns of a conversation in a form that an agent's loop can replay: all answers of a turn but the
// last call tools.
func turnsOf(messages []chat.Message) []turn {
	var list []turn
	for _, m := range messages {
		if m.Role == chat.RoleUser {
			list = append(list, turn{user: m.Text(), results: map[string]string{}})
			continue
		}
		if len(list) == 0 {
			continue
		}
		t := &list[len(list)-1]
		over := len(t.answers) > 0 && len(t.answers[len(t.answers)-1].ToolCalls) == 0
		switch {
		case m.Role == chat.RoleTool:
			t.results[m.ToolCallID] = m.Text()
		case !over:
			t.answers = append(t.answers, chat.WithCallIDs(m))
		}
	}
	for i := range list {
		t := &list[i]
		if n := len(t.answers); n == 0 || len(t.answers[n-1].ToolCalls) > 0 {
			t.answers = append(t.answers, chat.AssistantMessage(cutOff))
		}
		for k, m := range t.answers { // text and calls are all that eino's agent takes from a model
			text := m.Text()
			if text == "" && len(m.ToolCalls) == 0 {
				text = cutOff
			}
			t.answers[k].Content = nil
			if text != "" {
				t.answers[k].Content = chat.Parts{chat.Text(text)}
			}
		}
	}
	return list
}

func answersIn(turns []turn) (n int) {
	for _, t := range turns {
		n += len(t.answers)
	}
	return n
}

// player is a model that returns the recorded answers of the current turn, one after the other.
type player struct {
	tally *tally
	turn  turn
	next  int
}

func (p *player) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	tokens, err := p.tally.take(input, false)
	if err != nil {
		return nil, err
	}
	if p.next >= len(p.turn.answers) {
		return nil, errors.New("the agent makes more requests than the recording has answers")
	}
	m, err := einoagent.ToEino(p.turn.answers[p.next])
	if err != nil {
		return nil, err
	}
	p.next++
	output := p.tally.tokenizer.CountMessage(p.turn.answers[p.next-1])
	m.ResponseMeta = &schema.ResponseMeta{Usage: &schema.TokenUsage{PromptTokens: tokens, CompletionTokens: output, TotalTokens: tokens + output}}
	return m, nil
}

func (p *player) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := p.Generate(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}

// played is a tool that returns the recorded results of the current turn.
type played struct {
	name   string
	player *player
}

func (t played) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: t.name, Desc: "A tool of the recorded agent."}, nil
}

func (t played) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	result, ok := t.player.turn.results[compose.GetToolCallID(ctx)]
	if !ok || result == "" {
		return cutOff, nil
	}
	return result, nil
}

// tools returns the tools that were called in a session.
func tools(turns []turn, p *player) (list []tool.BaseTool) {
	var names []string
	for _, t := range turns {
		for _, m := range t.answers {
			for _, c := range m.ToolCalls {
				names = append(names, c.Name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		list = append(list, played{name, p})
	}
	return list
}

// keeper keeps an agent's messages after a run, for the application to continue with.
type keeper struct {
	*adk.BaseChatModelAgentMiddleware
	messages []*schema.Message
}

// AfterAgent keeps the messages without the instruction.
func (k *keeper) AfterAgent(ctx context.Context, s *adk.ChatModelAgentState) (context.Context, error) {
	k.messages = slices.DeleteFunc(slices.Clone(s.Messages), func(m *schema.Message) bool { return m.Role == schema.System })
	return ctx, nil
}
