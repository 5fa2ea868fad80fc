package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/calls"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// itemStream assembles the events of the Responses API and streams them.
type itemStream struct {
	stream  func(chat.Delta)
	done    []responses.ResponseOutputItemUnion // items that are complete
	text    strings.Builder                     // of a message that is not
	calls   calls.Stream
	thought summaryPart
	answer  *responses.Response // set at the end
}

// add processes an event. It returns the error of an event that ends the stream with one.
func (s *itemStream) add(event responses.ResponseStreamEventUnion) error {
	switch event.Type {
	case "response.output_text.delta":
		if event.Delta != "" {
			s.text.WriteString(event.Delta)
			s.stream(chat.Text(event.Delta))
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		if event.Delta != "" {
			s.stream(chat.Thinking{Text: s.thought.separator(event) + event.Delta})
		}
	case "response.output_item.added":
		if c, ok := items.CallOf(json.RawMessage(event.Item.RawJSON())); ok {
			s.calls.Add(event.OutputIndex, c.ID, c.Name, "")
		}
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		s.calls.Add(event.OutputIndex, "", "", event.Delta)
	case "response.output_item.done":
		if event.Item.Type == "message" {
			s.text.Reset()
		}
		s.done = append(s.done, event.Item)
		s.end(event.OutputIndex, event.Item)
	case "response.completed", "response.done", "response.incomplete", "response.failed": // oh-my-pi#4692
		s.answer = &event.Response
	case "error":
		return reported([]byte(event.RawJSON()), errStream)
	}
	return nil
}

// end streams the missing rest of a call whose item is complete.
func (s *itemStream) end(index int64, item responses.ResponseOutputItemUnion) {
	if c, ok := items.CallOf(json.RawMessage(item.RawJSON())); ok {
		s.calls.End(index, c.ID, c.Name, c.Arguments)
	}
}

// partial returns the part of the answer that had arrived before it broke off.
func (s *itemStream) partial() chat.Response {
	m := messageOfItems(slices.DeleteFunc(slices.Clone(s.done), func(item responses.ResponseOutputItemUnion) bool {
		return item.Type != "message" && item.Status == "incomplete"
	}), &s.calls.IDs)
	if s.text.Len() > 0 {
		m.Content = append(m.Content, chat.Text(s.text.String()))
	}
	var usage chat.Usage
	if s.answer != nil {
		usage = itemsUsage(s.answer.Usage)
	}
	return provider.Partial(m, usage)
}

// summaryPart identifies the part of a summary that was streamed last. Parts are separated as in the message.
type summaryPart struct {
	item          string
	summary, text int64
}

// separator returns the separator between the last part and that of the event.
func (p *summaryPart) separator(e responses.ResponseStreamEventUnion) string {
	was := *p
	*p = summaryPart{item: e.ItemID, summary: e.SummaryIndex, text: e.ContentIndex}
	if was.item == p.item && was != *p && was.item != "" {
		return "\n\n"
	}
	return ""
}
