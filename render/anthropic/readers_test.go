package anthropic_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/test/wiretest"
	"github.com/promptree-go/promptree/render/anthropic"
)

// The readers of a message: that of requests, as raw JSON and in the SDK's types, that of answers, and the importer.

func fromRequest(t *testing.T, in json.RawMessage) ([]chat.Message, bool) {
	read, err := anthropic.ReadRequest(sdk.MessageNewParams{Messages: []sdk.MessageParam{param.Override[sdk.MessageParam](in)}})
	return read.Messages, err == nil
}

func fromAnswer(t *testing.T, in json.RawMessage) ([]chat.Message, bool) {
	if !strings.HasPrefix(string(in), `{"role":"assistant","content":[`) || strings.Contains(string(in), "cache_control") {
		return nil, false // the API writes no such answer
	}
	var m sdk.Message
	if err := json.Unmarshal(in, &m); err != nil {
		return nil, false
	}
	r, _ := anthropic.Response(&m) // without a stop reason
	answer := r.Message
	for i, c := range answer.ToolCalls { // an answer's arguments are kept with their white space
		var compact json.RawMessage
		if raw, err := json.Marshal(json.RawMessage(c.Arguments)); err == nil {
			compact = raw
		}
		answer.ToolCalls[i].Arguments = string(compact)
		if c.Arguments == "" {
			answer.ToolCalls[i].Arguments = "{}"
		}
	}
	return []chat.Message{answer}, true
}

func fromRecording(t *testing.T, in json.RawMessage) (said []chat.Message, ok bool) {
	r, err := importer.Read(strings.NewReader(`{"anthropic_version":"2023-06-01","messages":[` + string(in) + `]}`))
	if err != nil {
		return nil, false
	}
	for _, m := range r.Conversation() {
		said = append(said, m)
	}
	return said, true
}

func TestEveryReaderReadsACaseAlike(t *testing.T) {
	for name, read := range map[string]func(*testing.T, json.RawMessage) ([]chat.Message, bool){
		"a request": fromRequest, "an answer": fromAnswer, "a recording": fromRecording,
	} {
		t.Run(name, func(t *testing.T) {
			wiretest.Cases(t, "messages", func(t *testing.T, in json.RawMessage) ([]chat.Message, bool) {
				return read(t, json.RawMessage(strings.TrimSpace(string(in))))
			})
		})
	}
}

// written returns a message as JSON, with blocks that may be anything.
func (d dice) written() string {
	value := func() string {
		return d.one(`"a"`, `"b"`, `""`, `null`, `7`, `{}`, `[]`, `"\ud83d\udc4d"`, `{"type":"direct"}`, `{"type":"x","tool_id":"s"}`, `{"type":"url","url":"https://e.com"}`, `{"type":"ephemeral","ttl":"1h"}`, `true`)
	}
	var block func(depth int) string
	block = func(depth int) string {
		switch d.IntN(12) {
		case 0:
			return `{"type":"text","text":"x"}`
		case 1:
			return fmt.Sprintf(`{"type":"tool_use","id":"c%d","name":"n","input":{"a":%s}}`, d.IntN(100000), value())
		case 2:
			return `{"type":"thinking","thinking":"hm","signature":"s"}`
		}
		fields := []string{fmt.Sprintf(`"type":%q`, d.one("text", "text", "image", "document", "thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use", "future"))}
		for _, name := range []string{"text", "id", "name", "input", "thinking", "signature", "data", "tool_use_id", "is_error", "caller", "toolset_name", "citations", "cache_control", "title"} {
			if d.IntN(4) == 0 {
				fields = append(fields, fmt.Sprintf("%q:%s", name, value()))
			}
		}
		switch d.IntN(6) {
		case 0:
			fields = append(fields, `"source":`+value())
		case 1, 2:
			fields = append(fields, fmt.Sprintf(`"source":{"type":%q,"media_type":"text/plain","data":%s,%q:%s}`, d.one("base64", "url", "text", "file"), value(), d.one("url", "media_type", "x"), value()))
		}
		if depth < 2 && d.IntN(3) == 0 {
			fields = append(fields, `"content":[`+block(depth+1)+`,`+block(depth+1)+`]`)
		} else if d.IntN(3) == 0 {
			fields = append(fields, `"content":`+value())
		}
		d.Shuffle(len(fields), func(i, k int) { fields[i], fields[k] = fields[k], fields[i] })
		return "{" + strings.Join(fields, ",") + "}"
	}
	var blocks []string
	for range 1 + d.IntN(4) {
		blocks = append(blocks, block(0))
	}
	return fmt.Sprintf(`{"role":%q,"content":[%s]}`, d.one("user", "assistant"), strings.Join(blocks, ","))
}

// FuzzReaders reads the same JSON by every reader. What a recording may not hold, the others may refuse or keep.
func FuzzReaders(f *testing.F) {
	for seed := range uint64(3000) {
		f.Add(seed, "")
	}
	f.Fuzz(func(t *testing.T, seed uint64, in string) {
		if in == "" {
			in = dice{rand.New(rand.NewPCG(seed, 3))}.written()
		}
		want, ok := fromRecording(t, json.RawMessage(in))
		if !ok || len(want) == 0 {
			return
		}
		ids := map[string]bool{}
		for _, c := range want[len(want)-1].ToolCalls {
			if ids[c.ID] || c.ID == "" {
				return // a reader of answers gives it another id
			}
			ids[c.ID] = true
		}
		for name, read := range map[string]func(*testing.T, json.RawMessage) ([]chat.Message, bool){"a request": fromRequest, "an answer": fromAnswer} {
			got, ok := read(t, json.RawMessage(in))
			if !ok && name == "an answer" {
				continue
			}
			require.True(t, ok, in)
			require.Empty(t, cmp.Diff(plainAll(want), plainAll(got)), "%s: %s", name, in)
		}
	})
}

// plainAll returns the messages that hold something, in the form in which they are compared.
func plainAll(messages []chat.Message) (out []chat.Message) {
	for _, m := range messages {
		if len(m.Content)+len(m.ToolCalls) > 0 || m.Role == chat.RoleTool {
			out = append(out, wiretest.Plain(m))
		}
	}
	return out
}
