package messages_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/messages"
)

// decode reads a message with its role.
func decode(t *testing.T, in json.RawMessage) *messages.Decoder {
	t.Helper()
	o, err := wire.Parse(in)
	require.NoError(t, err)
	d := &messages.Decoder{Message: chat.Message{Role: chat.Role(o.Text("role"))}}
	require.NoError(t, d.Content(o))
	return d
}

// all returns the messages that were read.
func all(d *messages.Decoder) []chat.Message {
	if len(d.Results) > 0 && len(d.Message.Content) == 0 {
		return d.Results
	}
	return append(d.Results, d.Message)
}

func TestCases(t *testing.T) {
	wiretest.Decode(t, "messages", func(t *testing.T, in json.RawMessage) ([]chat.Message, wire.Leftovers) {
		d := decode(t, in)
		require.NoError(t, d.Malformed)
		return all(d), d.Left
	})
}

func TestADamagedTextIsReadWhereverItStands(t *testing.T) {
	for _, block := range []string{
		`{"type":"text","text":"\ud83d"}`, `{"type":"image","source":{"type":"url","url":"https://e.com/\ud83d"}}`,
		`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a\ud83d"}}`,
		`{"type":"tool_result","tool_use_id":"a","content":"\ud83d"}`, `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"\ud83d"}]}`,
	} {
		d := decode(t, json.RawMessage(`{"role":"user","content":[`+block+`]}`))
		require.NoError(t, d.Malformed, block)
		for _, m := range all(d) {
			for _, p := range m.Content {
				_, opaque := p.(chat.Opaque)
				require.False(t, opaque, block)
			}
		}
	}
}

func TestAMalformedBlockIsKeptWithItsError(t *testing.T) {
	for name, c := range map[string]struct{ block, want string }{
		"no type":                 {`{"text":"a"}`, "content: part 1: type is missing"},
		"a call without an id":    {`{"type":"tool_use","name":"n","input":{}}`, "content: part 1: id is missing"},
		"a call whose id is null": {`{"type":"tool_use","id":null,"name":"n"}`, "content: part 1: id: expected a text, found null"},
		"a text that is a number": {`{"type":"text","text":7}`, "content: part 1: text: expected a text, found a number"},
		"a result of a model":     {`{"type":"tool_result","tool_use_id":"a"}`, `content: part 1: type "tool_result" in a message of role assistant`},
		"a signature of objects":  {`{"type":"thinking","thinking":"a","signature":{}}`, "content: part 1: signature: expected a text, found an object"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decode(t, json.RawMessage(`{"role":"assistant","content":[{"type":"text","text":"before"},`+c.block+`]}`))
			require.EqualError(t, d.Malformed, c.want)
			require.Equal(t, chat.Parts{chat.Text("before"), chat.Opaque{Value: json.RawMessage(c.block)}}, d.Message.Content)
		})
	}
}

// The calls of an answer have ids even if the server sent none or one twice, and arguments of any form.
func TestACallWithoutAnIDIsACallToALenientDecoder(t *testing.T) {
	d := messages.Decoder{Message: chat.Message{Role: chat.RoleAssistant}, Lenient: true}
	require.NoError(t, d.Content(wire.Of("content", json.RawMessage(`[{"type":"tool_use","id":null,"input":{}},{"type":"tool_use","id":"a","name":"n"},{"type":"tool_use","id":"a","name":"n","input":[1, 2]},{"type":"text","text":"x"}]`))))
	calls := d.Message.ToolCalls
	require.Len(t, calls, 3)
	require.Equal(t, chat.ToolCall{ID: "a", Name: "n", Arguments: "{}"}, calls[1])
	require.NotContains(t, []string{"", "a"}, calls[0].ID)
	require.NotContains(t, []string{"", "a", calls[0].ID}, calls[2].ID)
	require.Equal(t, "[1,2]", calls[2].Arguments)
	require.Equal(t, messages.PlaceMark(calls[2].ID), d.Message.Content[2])
}

// An answer that was recorded in pieces is the answer.
func TestPiecesOfAnAnswerAreJoinedInTheirPlaces(t *testing.T) {
	blocks := []string{
		`{"type":"thinking","thinking":"hm","signature":"c2ln"}`, `{"type":"redacted_thinking","data":"x"}`, `{"type":"text","text":"One."}`, `{"type":"tool_use","id":"a","name":"n","input":{}}`,
		`{"type":"tool_use","id":"b","name":"n","input":{},"cache_control":{"type":"ephemeral"}}`, `{"type":"thinking","thinking":"so","signature":"c2ln"}`, `{"type":"tool_use","id":"c","name":"n","input":{}}`,
		`{"type":"text","text":"Two."}`, `{"type":"tool_use","id":"d","name":"n","input":{}}`, `{"type":"tool_use","id":"e","name":"n","input":{}}`,
	}
	read := func(blocks []string) *messages.Decoder {
		d := &messages.Decoder{Message: chat.Message{Role: chat.RoleAssistant}}
		for _, b := range blocks {
			o, err := wire.Parse(json.RawMessage(b))
			require.NoError(t, err)
			d.Block(o)
		}
		return d
	}
	whole := read(blocks)
	for first := range len(blocks) + 1 {
		for second := first; second <= len(blocks); second++ {
			d := read(blocks[:first])
			d.Join(read(blocks[first:second]))
			d.Join(read(blocks[second:]))
			require.Equal(t, whole.Message, d.Message, "%d, %d", first, second)
			require.Equal(t, whole.After, d.After)
		}
	}
}
