package importer_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
)

const header = `{"type":"session","id":"5a1f","timestamp":"2026-01-15T07:58:31.204Z","cwd":"/src"}`

// session returns a pi session with a header and these lines.
func session(lines ...string) string { return header + "\n" + strings.Join(lines, "\n") + "\n" }

// message returns a line of pi with a message.
func message(fields string) string { return `{"type":"message","message":{` + fields + `}}` }

func TestMessagesOfEachRoleAreRead(t *testing.T) {
	user := func(parts ...chat.Part) chat.Message { return chat.Message{Role: chat.RoleUser, Content: parts} }
	assistant := func(parts ...chat.Part) chat.Message { return chat.Message{Role: chat.RoleAssistant, Content: parts} }
	calling := func(calls ...chat.ToolCall) chat.Message {
		return chat.Message{Role: chat.RoleAssistant, ToolCalls: calls}
	}
	tests := []struct {
		rule string
		give string // fields of the message
		want chat.Message
	}{
		{
			"a user's content is a text",
			`"role":"user","content":"Grüße <b> & 👍"`,
			user(chat.Text("Grüße <b> & 👍")),
		},
		{
			"an empty text part is left out",
			`"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"b"}]`,
			user(chat.Text("b")),
		},
		{
			"an empty text is left out",
			`"role":"user","content":""`,
			user(),
		},
		{
			"a blank text is kept",
			`"role":"user","content":[{"type":"text","text":" \n"}]`,
			user(chat.Text(" \n")),
		},
		{
			"escapes are decoded, surrogate pairs too",
			`"role":"user","content":"\ud83d\udc4d \\ud83d \u00e9"`,
			user(chat.Text(`👍 \ud83d é`)),
		},
		{
			"an assistant's texts stay in order",
			`"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b","textSignature":"s"}],"stopReason":"stop"`,
			assistant(chat.Text("a"), chat.Text("b")),
		},
		{
			"thinking that was cut off has no signature",
			`"role":"assistant","content":[{"type":"thinking","thinking":"Hm"},{"type":"thinking","thinking":"So","thinkingSignature":null}]`,
			assistant(chat.Thinking{Text: "Hm"}, chat.Thinking{Text: "So"}),
		},
		{
			"thinking that holds nothing is left out",
			`"role":"assistant","content":[{"type":"thinking","thinking":"","thinkingSignature":""}]`,
			assistant(),
		},
		{
			"redacted thinking is encrypted",
			`"role":"assistant","content":[{"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":"c2Vj","redacted":true}]`,
			assistant(chat.Thinking{Encrypted: "c2Vj"}),
		},
		{
			"arguments keep the order of their keys and lose white space",
			`"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"edit","arguments":{ "z" : 1.50, "a":{"y":[1, 2],"b":"x  y"}, "z":null }}]`,
			calling(chat.ToolCall{ID: "c1", Name: "edit", Arguments: `{"z":1.50,"a":{"y":[1,2],"b":"x  y"},"z":null}`}),
		},
		{
			"arguments are neither escaped nor unescaped",
			`"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"a <b> && é \u00e9 \ud83d"}}]`,
			calling(chat.ToolCall{ID: "c1", Name: "bash", Arguments: `{"command":"a <b> && é \u00e9 \ufffd"}`}),
		},
		{
			"a call that was cut off has the arguments that the recorder parsed",
			`"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"/a"},"partialJson":"{\"path\": \"/a"}],"stopReason":"aborted"`,
			calling(chat.ToolCall{ID: "c1", Name: "read", Arguments: `{"path":"/a"}`}),
		},
		{
			"a tool result may be empty",
			`"role":"toolResult","toolCallId":"c1","content":[]`,
			chat.Message{Role: chat.RoleTool, ToolCallID: "c1"},
		},
		{
			"a command keeps its exit code",
			`"role":"bashExecution","command":"go vet","output":"bad","exitCode":3221225477,"cancelled":false,"truncated":false`,
			shown(entry.Shell{Command: "go vet", Output: "bad", ExitCode: 3221225477}),
		},
		{
			"a command may have no output",
			`"role":"bashExecution","command":"true","output":"","exitCode":0`,
			shown(entry.Shell{Command: "true"}),
		},
		{
			"a command that was cancelled has no exit code",
			`"role":"bashExecution","command":"sleep 9","output":"","exitCode":null,"cancelled":true`,
			shown(entry.Shell{Command: "sleep 9", Cancelled: true}),
		},
		{
			"Python that the user ran becomes a shell entry",
			`"role":"pythonExecution","code":"print(1)","output":"1\n","exitCode":0,"cancelled":false,"truncated":false`,
			shown(entry.Shell{Command: "print(1)", Output: "1\n"}),
		},
		{
			"a hook's message of an older version becomes a custom message",
			`"role":"hookMessage","customType":"hook","content":[{"type":"text","text":"mind the gap"}]`,
			shown(entry.CustomMessage{Name: "hook", Content: chat.Parts{chat.Text("mind the gap")}}),
		},
		{
			"a mentioned file becomes a custom message with its content",
			`"role":"fileMention","files":[{"path":"a.go","content":"package a","lineCount":1}]`,
			shown(entry.CustomMessage{Name: "fileMention", Content: chat.Parts{chat.Text("<file path=\"a.go\">\npackage a\n</file>")}}),
		},
		{
			"a part that only its provider understands is kept as it is",
			`"role":"assistant","content":[{"type":"anthropicServerTool", "block":{"n":1.0}}]`,
			assistant(chat.Opaque{Value: json.RawMessage(`{"type":"anthropicServerTool", "block":{"n":1.0}}`)}),
		},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			got := recordingOf(t, session(message(tt.give)))
			assert.EqualValues(t, "pi", got.Format)
			assert.Equal(t, 2, got.Records[0].Line)
			require.Empty(t, cmp.Diff([]chat.Message{tt.want}, said(got)))
		})
	}
}

// shown returns the message that shows a body in a prompt.
func shown(b entry.Body) chat.Message {
	m, _ := entry.Entry{Body: b}.Shown()
	return m
}

// said returns the messages of a conversation.
func said(r *importer.Recording) []chat.Message {
	var list []chat.Message
	for _, m := range r.Conversation() {
		list = append(list, m)
	}
	return list
}

func TestTheCostThatARecorderComputedIsKept(t *testing.T) {
	recording := recordingOf(t, session(
		message(`"role":"user","content":"go"`),
		message(`"role":"assistant","content":[{"type":"text","text":"a"}],"usage":{"input":10,"cost":{"input":0.00005,"total":0.0357}}`),
		`{"type":"model_usage","usage":{"input":7,"cost":{"total":0.5}}}`,
	))
	assert.InDelta(t, 0.0357, recording.Records[1].Cost, 0)
	assert.InDelta(t, 0.5, recording.Records[2].Body.(entry.Usage).Cost, 0)
	assert.Equal(t, []importer.Note{{Line: 3, Count: 1, Kind: "no place", What: "usage.cost.input"}}, recording.Notes)

	_, err := importer.Read(strings.NewReader(session(message(`"role":"assistant","content":[],"usage":{"cost":{"total":-1}}`))))
	require.ErrorContains(t, err, "usage: cost: total: -1 is not a number of 0 or more")
}

func TestCacheWritesOfAnthropicAreCountedByLifetime(t *testing.T) {
	got := recordingOf(t, `{"role":"user","content":"a"}
{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"b"}],"usage":{"input_tokens":3,"output_tokens":8,`+
		`"cache_read_input_tokens":50,"cache_creation_input_tokens":7,"cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":2}}}`)
	require.Len(t, got.Records, 2)
	assert.Equal(t, chat.Usage{Input: 60, Output: 8, CacheRead: 50, CacheWrite: 7, CacheWriteLong: 2}, got.Records[1].Usage)
	assert.Empty(t, got.Notes)
}

func TestARecordingIsReadLineByLine(t *testing.T) {
	hello := message(`"role":"user","content":"hello"`)
	hi := []string{"hello"}
	tests := []struct {
		rule, give string
		wantLines  []int
		wantTexts  []string
		wantOthers map[string]int
	}{
		{"a header alone is an empty session", header, nil, nil, nil},
		{"the last line needs no line feed", header + "\n" + hello, []int{2}, hi, nil},
		{"lines may end with CR LF", header + "\r\n" + hello + "\r\n", []int{2}, hi, nil},
		{"blank lines are skipped, but counted", "\n" + header + "\n\n \t\n" + hello + "\n\n", []int{5}, hi, nil},
		{
			"lines that are not messages become records of other types",
			session(
				`{"type":"compaction","summary":"…","firstKeptEntryIndex":3,"tokensBefore":50000}`,
				`{"type":"model_change","modelId":"m"}`,
				hello,
				`{"type":"thinking_level_change","thinkingLevel":"off"}`,
				`{"type":"model_change","modelId":"n"}`,
				`{"type":"custom_message","customType":"x","content":"…"}`,
				`{"type":"branch_summary","summary":"…"}`,
				`{"type":"from the future"}`,
			),
			[]int{4, 7, 8}, []string{
				"hello", shown(entry.CustomMessage{Name: "x", Content: chat.Parts{chat.Text("…")}}).Text(),
				shown(entry.BranchSummary{Summary: entry.Summary{Text: "…"}}).Text(),
			},
			map[string]int{"compaction": 1, "model_change": 2, "thinking_level_change": 1, "from the future": 1},
		},
		{
			"a command that the user hid from the model is not shown",
			session(hello, message(`"role":"bashExecution","command":"env","output":"","excludeFromContext":true`)),
			[]int{2}, hi, map[string]int{"message": 1},
		},
		{
			"entries may be linked",
			`{"type":"session","version":3,"id":"s"}
			{"type":"model_change","id":"a","parentId":null}
			{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"one"}}
			{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"two"}}`,
			[]int{3, 4}, []string{"one", "two"}, map[string]int{"model_change": 1},
		},
		{
			"an entry whose parent is missing follows the entry before it",
			session(
				`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}`,
				`{"type":"message","id":"c","parentId":"label","message":{"role":"user","content":"two"}}`,
			),
			[]int{2, 3}, []string{"one", "two"}, nil,
		},
		{
			"a line may be longer than the read buffer",
			session(message(`"role":"user","content":"` + strings.Repeat("0123456789", 40_000) + `"`)),
			[]int{2}, []string{strings.Repeat("0123456789", 40_000)}, nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			got, err := importer.Read(iotest.HalfReader(strings.NewReader(tt.give)))
			require.NoError(t, err)
			var lines []int
			var texts []string
			var others map[string]int
			for e, m := range got.Conversation() {
				lines = append(lines, e.Line)
				texts = append(texts, m.Text())
			}
			for _, e := range got.Records {
				if _, ok := e.Shown(); !ok {
					if others == nil {
						others = map[string]int{}
					}
					others[e.Recorded]++
				}
			}
			assert.Equal(t, tt.wantLines, lines)
			assert.Equal(t, tt.wantTexts, texts)
			assert.Equal(t, tt.wantOthers, others)
			assert.EqualValues(t, "pi", got.Format)
		})
	}
}

func TestReadReturnsTheReadersError(t *testing.T) {
	broken := errors.New("disk on fire")
	r := io.MultiReader(strings.NewReader(header+"\n"), iotest.ErrReader(broken))
	got, err := importer.Read(r)
	assert.Nil(t, got)
	require.ErrorIs(t, err, broken)
	assert.EqualError(t, err, "importer: read line 2: disk on fire")
	_, isLine := errors.AsType[*importer.LineError](err)
	assert.False(t, isLine, "the line is not the cause")
}

func TestThinkingThatAServerShowedInAFieldGoesBackInIt(t *testing.T) {
	for name, tt := range map[string]struct{ log, want string }{
		"pi, of a version that wrote no signature":  {session(message(`"role":"assistant","api":"openai-completions","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"a"}]`)), "reasoning_content"},
		"pi, with the field that it wrote":          {session(message(`"role":"assistant","api":"openai-completions","content":[{"type":"thinking","thinking":"Hm.","thinkingSignature":"reasoning"},{"type":"text","text":"a"}]`)), "reasoning"},
		"pi, of an answer that was cut off":         {session(message(`"role":"assistant","api":"openai-completions","stopReason":"aborted","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"a"}]`)), ""},
		"pi, of another API":                        {session(message(`"role":"assistant","api":"anthropic-messages","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"a"}]`)), ""},
		"OpenAI's messages, as DeepSeek has them":   {`[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning_content":"Hm."}]`, "reasoning_content"},
		"OpenAI's messages, as OpenRouter has them": {`[{"role":"user","content":"q"},{"role":"assistant","content":"a","reasoning":"Hm."}]`, "reasoning"},
	} {
		t.Run(name, func(t *testing.T) {
			m := said(recordingOf(t, tt.log))
			require.Contains(t, m[len(m)-1].Content, chat.Part(chat.Thinking{Text: "Hm.", Signature: tt.want}))
		})
	}
}
