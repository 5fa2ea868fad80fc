package openai

import (
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/wire/completions"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// chatStream assembles the chunks of Chat Completions and streams them.
type chatStream struct {
	stream                 func(chat.Delta)
	field                  string // the field that shows thinking
	thought, text, refusal strings.Builder
	thinking               bool // the thought may continue
	calls                  provider.CallStream
	usage                  chat.Usage
	finish                 string // the reason, "" before the end
}

func (s *chatStream) add(chunk sdk.ChatCompletionChunk) {
	if chunk.JSON.Usage.Valid() {
		s.usage = chatUsage(chunk.Usage)
	}
	if len(chunk.Choices) == 0 || chunk.Choices[0].Index != 0 {
		return
	}
	choice := chunk.Choices[0]
	delta := choice.Delta
	for _, name := range completions.ThinkingFields {
		if field, ok := delta.JSON.ExtraFields[name]; ok && (s.field == "" || s.field == name) {
			if said := textOf(field.Raw()); said != "" {
				s.field, s.thinking = name, true
				s.thought.WriteString(said)
				s.stream(chat.Thinking{Text: said})
			}
		}
	}
	if delta.Content != "" || delta.Refusal != "" || len(delta.ToolCalls) > 0 || choice.FinishReason != "" {
		s.thinking = false
	}
	if delta.Content != "" {
		s.text.WriteString(delta.Content)
		s.stream(chat.Text(delta.Content))
	}
	s.refusal.WriteString(delta.Refusal)
	for _, call := range delta.ToolCalls {
		custom, ok := call.JSON.ExtraFields["custom"]
		if !ok {
			s.calls.Add(call.Index, call.ID, call.Function.Name, call.Function.Arguments)
			continue
		}
		o := objectOf([]byte(custom.Raw()))
		s.calls.Add(call.Index, call.ID, o.text("name"), o.text("input")).Signature = customSignature
	}
	if choice.FinishReason != "" {
		s.finish = choice.FinishReason
	}
}

// answer returns the part of the answer that has arrived, with these calls.
func (s *chatStream) answer(calls []chat.ToolCall) chatAnswer {
	return chatAnswer{field: s.field, thought: s.thought.String(), text: s.text.String(), refusal: s.refusal.String(), calls: calls}
}

// partial returns the part of the answer that had arrived before it broke off.
func (s *chatStream) partial() chat.Response {
	calls := s.calls.Calls()
	last := len(calls) - 1
	ended := s.finish != "" && s.finish != "length"
	var whole []chat.ToolCall
	for i, c := range calls {
		// The end of a call is not marked. Arguments that are not JSON, such as none or a custom tool's, end with the
		// next call.
		object := strings.HasPrefix(c.Arguments, "{")
		if c.Name != "" && (ended || provider.WholeArguments(c.Arguments) || !object && i < last) {
			whole = append(whole, c)
		}
	}
	a := s.answer(whole)
	if s.thinking {
		a.thought = ""
	}
	return provider.Partial(a.message(), s.usage)
}

// itemStream assembles the events of the Responses API and streams them.
type itemStream struct {
	stream  func(chat.Delta)
	done    []responses.ResponseOutputItemUnion // items that are complete
	text    strings.Builder                     // of a message that is not
	calls   provider.CallStream
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
		if items.IsCall(event.Item.Type) {
			o := objectOf([]byte(event.Item.RawJSON()))
			s.calls.Add(event.OutputIndex, o.text("call_id"), o.text("name"), "")
		}
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		s.calls.Add(event.OutputIndex, "", "", event.Delta)
	case "response.output_item.done":
		if event.Item.Type == "message" {
			s.text.Reset()
		}
		s.done = append(s.done, event.Item)
		s.end(event.OutputIndex, event.Item)
	case "response.completed", "response.incomplete", "response.failed":
		s.answer = &event.Response
	case "error":
		return refusalOf(event.RawJSON(), errStream).classify()
	}
	return nil
}

// end streams the missing rest of a call whose item is complete.
func (s *itemStream) end(index int64, item responses.ResponseOutputItemUnion) {
	if o := objectOf([]byte(item.RawJSON())); o != nil && items.IsCall(item.Type) {
		call := callOf(o)
		s.calls.End(index, call.ID, call.Name, call.Arguments)
	}
}

// partial returns the part of the answer that had arrived before it broke off.
func (s *itemStream) partial() chat.Response {
	m := messageOfItems(slices.DeleteFunc(slices.Clone(s.done), func(item responses.ResponseOutputItemUnion) bool {
		return item.Type != "message" && objectOf([]byte(item.RawJSON())).text("status") == "incomplete"
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
