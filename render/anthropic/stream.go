package anthropic

import (
	"context"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/calls"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// stream sends a request and collects its answer. With an error, it returns the part that had arrived.
func (m *Model) stream(ctx context.Context, x *provider.Exchange, params sdk.MessageNewParams, stream func(chat.Delta)) (chat.Response, error) {
	events := m.Client.Messages.NewStreaming(ctx, params, m.options(x, params)...)
	defer events.Close()
	s := answerStream{stream: stream, calls: calls.Stream{Stream: stream}, stopped: map[int64]bool{}}
	for events.Next() {
		if err := s.add(events.Current()); err != nil {
			return s.partial(), fmt.Errorf("the stream of the answer: %w", err)
		}
		m.applied(events.Current())
	}
	if err := events.Err(); err != nil {
		return s.partial(), err
	}
	if !s.whole {
		return s.partial(), provider.ErrBrokenOff
	}
	s.answer.Content = s.blocks()
	r, err := response(&s.answer, m.Ends)
	if err != nil {
		r = s.partial()
	}
	return r, err
}

// answerStream assembles the events of an answer and streams them.
type answerStream struct {
	stream  func(chat.Delta) // nil if the caller does not stream
	answer  sdk.Message
	calls   calls.Stream
	stopped map[int64]bool // complete blocks, by index
	whole   bool
}

func (s *answerStream) add(e sdk.MessageStreamEventUnion) error {
	if e.Type == "message_start" && len(s.answer.Content)+len(e.Message.Content) > 0 {
		return errors.New("a message starts with blocks in it")
	}
	before := s.answer.Usage
	if err := s.answer.Accumulate(e); err != nil {
		return err
	}
	switch e.Type {
	case "message_delta":
		u := &s.answer.Usage
		if u.InputTokens+u.CacheReadInputTokens+u.CacheCreationInputTokens == 0 && !e.Usage.JSON.ExtraFields["iterations"].Valid() { // zeros erase nothing
			u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens = before.InputTokens, before.CacheReadInputTokens, before.CacheCreationInputTokens
		}
		s.whole = s.answer.StopReason != "" // some servers do not send what marks the end
	case "content_block_start":
		if b := s.answer.Content[e.Index]; b.Type == messages.TypeToolUse {
			s.calls.Add(e.Index, b.ID, b.Name, "")
		}
	case "content_block_delta":
		switch e.Delta.Type {
		case "text_delta":
			s.send(e.Delta.Text != "", chat.Text(e.Delta.Text))
		case "thinking_delta":
			s.send(e.Delta.Thinking != "", chat.Thinking{Text: e.Delta.Thinking})
		case "input_json_delta":
			if s.answer.Content[e.Index].Type == messages.TypeToolUse {
				s.calls.Add(e.Index, "", "", e.Delta.PartialJSON)
			}
		case "compaction_delta":
			return addFields(&s.answer.Content[e.Index], e.JSON.Delta.Raw())
		}
	case "content_block_stop":
		s.stopped[e.Index] = true
		s.end(e.Index)
	case "message_stop":
		s.whole = true
	}
	if s.whole {
		for i := range s.answer.Content {
			s.end(int64(i))
		}
	}
	return nil
}

func (s *answerStream) send(said bool, d chat.Delta) {
	if s.stream != nil && said {
		s.stream(d)
	}
}

// end streams the missing rest of a call whose block is complete: arguments that did not come in pieces.
func (s *answerStream) end(index int64) {
	if b := s.answer.Content[index]; b.Type == messages.TypeToolUse {
		s.calls.End(index, b.ID, b.Name, string(b.Input))
	}
}

// blocks returns the blocks of the answer, with the ids under which calls were streamed and with arguments as received,
// since the SDK drops incomplete ones.
func (s *answerStream) blocks() []sdk.ContentBlockUnion {
	blocks := slices.Clone(s.answer.Content)
	calls := s.calls.Calls()
	for i := range blocks {
		if blocks[i].Type == messages.TypeToolUse {
			blocks[i].ID, blocks[i].Input = calls[0].ID, []byte(calls[0].Arguments)
			calls = calls[1:]
		}
	}
	return blocks
}

// partial returns the part of the answer that had arrived before it broke off.
func (s *answerStream) partial() chat.Response {
	answer := s.answer
	answer.Content = nil
	for i, b := range s.blocks() {
		switch {
		case b.Type == messages.TypeText && b.Text == "", b.Type == messages.TypeToolUse && !calls.Whole(string(b.Input)):
		case b.Type == messages.TypeText || s.stopped[int64(i)]:
			answer.Content = append(answer.Content, b)
		}
	}
	r := converted(&answer)
	return provider.Partial(r.Message, r.Usage)
}
