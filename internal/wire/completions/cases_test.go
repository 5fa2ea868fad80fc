package completions_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/completions"
)

func TestCases(t *testing.T) {
	wiretest.Decode(t, "completions", func(t *testing.T, in json.RawMessage) ([]chat.Message, wire.Leftovers) {
		o, err := wire.Parse(in)
		require.NoError(t, err)
		var left wire.Leftovers
		m, err := completions.Decode(o, &left)
		require.NoError(t, err)
		return []chat.Message{m}, left
	})
}
