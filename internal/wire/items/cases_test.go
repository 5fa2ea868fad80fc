package items_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/items"
)

// A case is a list of items: the assistant's, which are one message, or one of the user or a tool.
func TestCases(t *testing.T) {
	wiretest.Decode(t, "items", func(t *testing.T, in json.RawMessage) ([]chat.Message, wire.Leftovers) {
		var left wire.Leftovers
		return read(t, in, &left), left
	})
}

func read(t *testing.T, in json.RawMessage, left *wire.Leftovers) (said []chat.Message) {
	t.Helper()
	a := items.Answer{Left: left}
	require.NoError(t, wire.Each(in, func(o *wire.Object, _ int) error {
		if role := o.Peek("role"); role == "" && !o.Given("output") || role == "assistant" {
			return a.Add(o)
		}
		m, err := items.Input(o, left)
		said = append(said, m)
		return err
	}))
	if a.Message.Role != "" {
		said = append(said, a.Message)
	}
	return said
}

// What an answer's items become is written so that it becomes the same again.
func TestWhatIsReadIsWrittenBack(t *testing.T) {
	wiretest.Cases(t, "items", func(t *testing.T, in json.RawMessage) ([]chat.Message, bool) {
		m := read(t, in, nil)[0]
		if m.Role != chat.RoleAssistant {
			return nil, false
		}
		var list []json.RawMessage
		for _, item := range items.Encode(m) {
			raw := item.Raw
			switch {
			case item.Call != nil:
				raw = wire.Marshal(map[string]string{"type": "function_call", "call_id": item.Call.ID, "name": item.Call.Name, "arguments": item.Call.Arguments})
			case raw == nil:
				raw = wire.Marshal(map[string]string{"type": "message", "role": "assistant", "content": item.Text})
			}
			list = append(list, raw)
		}
		return read(t, wire.Marshal(list), nil), true
	})
}
