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
		a := items.Answer{Left: &left}
		var said []chat.Message
		require.NoError(t, wire.Each(in, func(o *wire.Object, _ int) error {
			if role := o.Peek("role"); role == "" && !o.Given("output") || role == "assistant" {
				return a.Add(o)
			}
			m, err := items.Input(o, &left)
			said = append(said, m)
			return err
		}))
		if a.Message.Role != "" {
			said = append(said, a.Message)
		}
		return said, left
	})
}
