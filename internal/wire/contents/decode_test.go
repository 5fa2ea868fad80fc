package contents_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/contents"
)

// decode reads a content.
func decode(t *testing.T, in json.RawMessage) *contents.Decoder {
	t.Helper()
	o, err := wire.Parse(in)
	require.NoError(t, err)
	d := &contents.Decoder{Model: o.Text("role") == "model"}
	o.Each("parts", d.Part)
	return d
}

// all returns the messages that were read.
func all(d *contents.Decoder) []chat.Message {
	m := chat.Message{Role: chat.RoleUser, Content: d.Content, ToolCalls: d.ToolCalls}
	if d.Model {
		m.Role = chat.RoleAssistant
	}
	messages := d.Results
	for i := range messages {
		messages[i].Name = "" // the call has it
	}
	if len(m.Content)+len(m.ToolCalls) > 0 {
		messages = append(messages, m)
	}
	return messages
}

func TestCases(t *testing.T) {
	wiretest.Decode(t, "contents", func(t *testing.T, in json.RawMessage) ([]chat.Message, wire.Leftovers) {
		d := decode(t, in)
		require.NoError(t, d.Malformed)
		return all(d), d.Left
	})
}

func TestAMalformedPartIsKeptWithItsError(t *testing.T) {
	for name, c := range map[string]struct{ part, want string }{
		"a call without an id":        {`{"functionCall":{"name":"n"}}`, "functionCall: id is missing"},
		"a signature that is no text": {`{"functionCall":{"id":"a","name":"n"},"thoughtSignature":7}`, "thoughtSignature: expected a text, found a number"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decode(t, json.RawMessage(`{"role":"model","parts":[{"text":"before"},`+c.part+`]}`))
			require.EqualError(t, d.Malformed, c.want)
			require.Equal(t, chat.Parts{chat.Text("before"), chat.Opaque{Value: json.RawMessage(c.part)}}, d.Content)
		})
	}
}

func TestACallWithoutAnIDIsACallToALenientDecoder(t *testing.T) {
	d := contents.Decoder{Model: true, Lenient: true, Key: "k"}
	for _, raw := range []string{`{"functionCall":{"name":"n"}}`, `{"functionCall":{"id":"a","name":"n","args":{"k":"{\"b\":1}"}}}`, `{"functionCall":{"id":"a","args":{"k":"x","l":1}}}`} {
		o, err := wire.Parse(json.RawMessage(raw))
		require.NoError(t, err)
		d.Part(o)
	}
	require.NoError(t, d.Malformed)
	require.Len(t, d.ToolCalls, 3)
	require.Equal(t, chat.ToolCall{ID: "a", Name: "n", Arguments: `{"b":1}`}, d.ToolCalls[1])
	require.NotContains(t, []string{"", "a"}, d.ToolCalls[0].ID)
	require.NotContains(t, []string{"", "a", d.ToolCalls[0].ID}, d.ToolCalls[2].ID)
	require.Equal(t, `{"k":"x","l":1}`, d.ToolCalls[2].Arguments)
}
