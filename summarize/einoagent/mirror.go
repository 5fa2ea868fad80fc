package einoagent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/callback"
	"github.com/promptree-go/promptree/summarize/internal/framework"
)

const (
	// idKey is the key of eino's own id in a message's Extra.
	idKey = "_eino_msg_id"
	// markKey is the key of the mark in the Extra of a message that was composed from a session. The mark is the
	// session's id, a space and the id of the entry up to which the session was read. In the agent's instruction,
	// instructionMark comes before it.
	markKey         = "_promptree"
	instructionMark = "instruction "
)

// messageData is the data of a message that no model needs.
type messageData struct {
	ID       string               `json:"id,omitempty"`
	Meta     *schema.ResponseMeta `json:"responseMeta,omitempty"`
	ToolName string               `json:"toolName,omitempty"` // only if the call has the same name
}

// state is an agent's list of messages, split by where they come from.
type state struct {
	instruction []*schema.Message // the agent's instruction, without marks
	base        string            // the entry up to which messages were composed from the session; "" when a run starts
	fresh       []*schema.Message // messages that are newer than base
}

// splitState splits an agent's messages.
func splitState(messages []*schema.Message, session string) state {
	var s state
	for _, m := range messages {
		mark, _ := m.Extra[markKey].(string)
		mark, instruction := strings.CutPrefix(mark, instructionMark)
		of, e, _ := strings.Cut(mark, " ")
		switch marked := mark != "" && of == session; {
		case marked && instruction:
			s.instruction, s.base = append(s.instruction, without(m, markKey)), e
		case marked:
			s.base = e
		case m.Role == schema.System && len(s.fresh) == 0 && s.base == "":
			s.instruction = append(s.instruction, m)
		default:
			s.fresh = append(s.fresh, without(m, markKey))
		}
	}
	return s
}

// marked returns a message with a mark, by which a later call recognises it.
func marked(m *schema.Message, prefix, session, id string) *schema.Message {
	c := *m
	c.Extra = maps.Clone(m.Extra)
	if c.Extra == nil {
		c.Extra = map[string]any{}
	}
	c.Extra[markKey] = prefix + session + " " + id
	return &c
}

// body returns the body of a message's entry. The argument names holds the names of called tools by call id.
func body(m *schema.Message, names map[string]string) (entry.Body, error) {
	k := messageData{Meta: m.ResponseMeta}
	k.ID, _ = m.Extra[idKey].(string)
	said := without(m, idKey, markKey)
	said.ResponseMeta = nil
	said.ToolCalls = withoutIndex(said.ToolCalls)
	if m.ToolName != "" && m.ToolName == names[m.ToolCallID] {
		k.ToolName, said.ToolName = m.ToolName, ""
	}
	c, err := FromEino(said)
	if err != nil {
		return nil, err
	}
	if c.Role == chat.RoleSystem {
		return entry.CustomMessage{Name: framework.SystemName, Content: c.Content}, nil
	}
	out := entry.Message{Message: c}
	if k != (messageData{}) {
		if out.Data, err = json.Marshal(k); err != nil {
			return nil, fmt.Errorf("einoagent: encoding the response's metadata: %w", err)
		}
	}
	return out, nil
}

// withoutIndex returns calls without their index in a stream, and sets the type "function", which eino assumes if there
// is none.
func withoutIndex(calls []schema.ToolCall) []schema.ToolCall {
	list := cloned(calls)
	for i := range list {
		list[i].Index = nil
		if list[i].Type == "" {
			list[i].Type = "function"
		}
	}
	return list
}

// toolNames returns the names of the tools that messages call, by call id.
func toolNames(messages []*schema.Message) map[string]string {
	list := map[string]string{}
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			list[c.ID] = c.Function.Name
		}
	}
	return list
}

// prompt converts messages for a model of eino. Empty messages are dropped, and empty results get a placeholder.
func prompt(messages []chat.Message) ([]*schema.Message, error) {
	list := make([]*schema.Message, 0, len(messages))
	called := map[string]string{}
	for _, m := range messages {
		e, err := toEino(m)
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
			e.ToolName = called[e.ToolCallID]
		}
		list = append(list, e)
	}
	return list, nil
}

// record appends to a session the messages that it does not have yet. If the agent went back to an earlier message, the
// session branches there.
func record(ctx context.Context, s *history.Session, st state, called map[string]string) error {
	bodies := make([]entry.Body, len(st.fresh))
	for i, m := range ordered(st.fresh) {
		var err error
		if bodies[i], err = body(m, called); err != nil {
			return err
		}
	}
	write, done := callback.Outlive(ctx) // record even if the run is cancelled
	defer done()
	known, err := logOf(s).Align(write, st.base, bodies)
	if err != nil {
		return fmt.Errorf("einoagent: comparing the conversation with the session: %w", err)
	}
	var entries []entry.Entry
	for _, b := range bodies[known:] {
		entries = append(entries, entry.Entry{Body: b})
	}
	if _, err := s.Add(write, entries...); err != nil {
		return fmt.Errorf("einoagent: recording new messages: %w", err)
	}
	return nil
}

// ordered returns messages with the results of parallel calls in the order of the calls. eino has them in the order in
// which they finished.
func ordered(messages []*schema.Message) []*schema.Message {
	list := slices.Clone(messages)
	position := map[string]int{}
	for i := 0; i < len(list); i++ {
		if list[i].Role != schema.Tool {
			clear(position)
			for k, c := range list[i].ToolCalls {
				position[c.ID] = k
			}
			continue
		}
		from := i
		for i+1 < len(list) && list[i+1].Role == schema.Tool {
			i++
		}
		slices.SortStableFunc(list[from:i+1], func(a, b *schema.Message) int { return position[a.ToolCallID] - position[b.ToolCallID] })
	}
	return list
}

// logOf returns a session as a log of eino's messages.
func logOf(s *history.Session) framework.Log {
	return framework.Log{Session: s, Same: func(had, said entry.Message) bool {
		id := idOf(had)
		return id != "" && id == idOf(said)
	}}
}

func idOf(m entry.Message) string {
	var k messageData
	if m.Data == nil || json.Unmarshal(m.Data, &k) != nil {
		return ""
	}
	return k.ID
}
