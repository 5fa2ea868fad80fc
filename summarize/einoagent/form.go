package einoagent

import (
	"cmp"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements/chat"
)

// idKey is the key of eino's own id in a message's Extra.
const idKey = "_eino_msg_id"

// messageForm is the form of [schema.Message].
var messageForm = form[*schema.Message]{
	from: func(m *schema.Message) ([]chat.Message, error) {
		said := withoutID(m)
		if m.Role == schema.Tool && m.Name == "" {
			said.Name, said.ToolName = m.ToolName, ""
		}
		c, err := FromEino(said)
		return []chat.Message{c}, err
	},
	to: prompt, list: conversation, usage: usageOf, calls: (*callIDs).in, reason: reasonOf, answer: response, stream: streamed,
	meta: func(of, to *schema.Message) { to.ResponseMeta = of.ResponseMeta },
}

// conversation returns messages without the data of their responses, which no model needs, with the name of the tool in
// each result, and with results in the order of their calls.
func conversation(messages []*schema.Message) []*schema.Message {
	list := make([]*schema.Message, len(messages))
	var calls []schema.ToolCall // of the last message that is no result
	for i, m := range messages {
		c := *m
		if m.Role == schema.Tool {
			if k := slices.IndexFunc(calls, func(c schema.ToolCall) bool { return c.ID == m.ToolCallID }); k >= 0 {
				c.ToolName = cmp.Or(m.ToolName, calls[k].Function.Name)
			}
			if text, only := onlyText(m.UserInputMultiContent); only {
				c.Content, c.UserInputMultiContent = text, nil
			}
		} else {
			calls, c.ResponseMeta, c.ToolCalls = m.ToolCalls, nil, withoutIndex(m.ToolCalls)
		}
		list[i] = &c
	}
	return inOrder(list, func(m *schema.Message) (ids []string) {
		for _, c := range m.ToolCalls {
			ids = append(ids, c.ID)
		}
		return ids
	}, func(m *schema.Message) (string, bool) { return m.ToolCallID, m.Role == schema.Tool })
}

// onlyText returns the text of parts, and reports whether there are any and they are all texts. A model that takes no other
// parts in results may not take those either.
func onlyText(parts []schema.MessageInputPart) (text string, only bool) {
	for _, p := range parts {
		if p.Type != schema.ChatMessagePartTypeText {
			return "", false
		}
		text += p.Text
	}
	return text, len(parts) > 0
}

// inOrder returns messages with the results of parallel calls in the order of the calls. eino has them in the order in
// which they finished.
func inOrder[M any](messages []M, calls func(M) []string, answers func(M) (string, bool)) []M {
	list := slices.Clone(messages)
	from := 0 // of the results that follow the last message that is none
	for i, m := range list {
		if _, ok := answers(m); !ok {
			from = i + 1
		} else if from > 0 && i > from {
			ids := calls(list[from-1])
			at := func(m M) int {
				id, _ := answers(m)
				return slices.Index(ids, id)
			}
			slices.SortStableFunc(list[from:i+1], func(a, b M) int { return at(a) - at(b) })
		}
	}
	return list
}

// withoutIndex returns calls without their index in a stream, and sets the type "function", which eino assumes if there
// is none.
func withoutIndex(calls []schema.ToolCall) []schema.ToolCall {
	list := cloned(calls)
	for i := range list {
		list[i].Index, list[i].Type = nil, cmp.Or(list[i].Type, "function")
	}
	return list
}

// prompt converts messages for a model of eino. Empty messages are dropped, and empty results get a placeholder.
func prompt(messages []chat.Message) ([]*schema.Message, error) {
	list := make([]*schema.Message, 0, len(messages))
	called := map[string]string{}
	for _, m := range messages {
		e, err := ToEino(m)
		if err != nil {
			return nil, err
		}
		for _, c := range m.ToolCalls {
			called[c.ID] = c.Name
		}
		empty := e.Content == "" && len(e.MultiContent)+len(e.UserInputMultiContent)+len(e.AssistantGenMultiContent)+len(e.ToolCalls) == 0
		switch {
		case empty && e.Role == schema.Tool:
			e.Content = "(no output)"
		case empty:
			continue
		}
		if e.Role == schema.Tool && e.ToolName == "" {
			e.Name, e.ToolName = "", cmp.Or(e.Name, called[e.ToolCallID])
		}
		list = append(list, e)
	}
	return list, nil
}
