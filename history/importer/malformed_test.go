package importer_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/test/sealed"
)

func TestAMalformedLineIsAnErrorThatNamesIt(t *testing.T) {
	hello := message(`"role":"user","content":"hello"`)
	part := func(role, part string) string {
		return session(hello, message(`"role":"`+role+`","content":[{"type":"text","text":"a"},`+part+`]`), hello)
	}
	linked := func(lines ...string) string {
		for i, l := range lines {
			lines[i] = `{"type":"label",` + l + `}`
		}
		return session(lines...)
	}
	claude := `{"type":"summary","summary":"a","leafUuid":"b"}` + "\n"
	const vscodeLog = `{"kind":0,"v":{"responderUsername":"a","requests":[]}}` + "\n"
	own := sealed.Line(`{"type":"session","version":4,"id":"a","time":"2026-01-01T00:00:00Z"}`) + "\n"
	tests := []struct {
		name, give string
		line       int
		want       string // suffix of the error
	}{
		{"nothing", "", 1, `and messages of OpenAI and Anthropic as JSON: there is nothing to read`},
		{"blank lines only", "\n \n", 1, "there is nothing to read"},
		{"not JSON", "hello\n", 1, "invalid character 'h' looking for beginning of value"},
		{"no header", hello + "\n", 1, `its first object is of type "message"`},
		{"no type", "\n{}\n", 2, "its first object has neither a type nor messages"},
		{"a header without id", `{"type":"session"}`, 1, `its first object is of type "session"`},
		{"a title and no header", `{"type":"title","v":1,"title":"a","pad":" "}` + "\n" + hello, 2, `expected the header, found a line of type "message"`},
		{"a torn header", `{"type":"sess`, 1, "the last line has no line feed, it may be torn: byte 13: unexpected end of JSON input"},

		{"bad JSON", session(hello, `{"type":}`, hello), 3, "byte 9: invalid character '}' looking for beginning of value"},
		{"two values on a line", session(`{"type":"a"} {"type":"b"}`), 2, "byte 14: invalid character '{' after top-level value"},
		{"not an object", session(`"message"`), 2, "expected an object, found a text"},
		{"null", session(`null`), 2, "expected an object, found null"},
		{"a last line that is torn", session(hello) + `{"type":"message","mess`, 3, "the last line has no line feed, it may be torn: byte 23: unexpected end of JSON input"},
		{"a last line torn within a character", session(hello) + "{\"type\":\"\xc3", 3, "it may be torn: byte 12: unexpected end of JSON input"},

		{"type is missing", session(`{"id":"a"}`), 2, "type is missing"},
		{"a conversation of goose that is a text", `{"working_dir":"/","description":"","conversation":"a"}`, 1, "conversation: not a list of parts"},
		{"a second session", session(hello, header), 3, "a second session begins"},
		{"message is missing", session(`{"type":"message"}`), 2, "message is missing"},
		{"role is missing", session(message(`"content":"a"`)), 2, "message: role is missing"},

		{"content is missing", session(message(`"role":"user"`)), 2, "message: content is missing"},
		{"an assistant's content is a text", session(message(`"role":"assistant","content":"a"`)), 2, "message: content: expected a list, found a text"},
		{"a tool's content is a text", session(message(`"role":"toolResult","toolCallId":"c","content":"a"`)), 2, "message: content: expected a list, found a text"},
		{"a part is not an object", part("user", `"b"`), 3, "message: content: part 1: expected an object, found a text"},
		{"a part has no type", part("user", `{"text":"b"}`), 3, "message: content: part 1: type is missing"},
		{"a text has no text", part("user", `{"type":"text"}`), 3, "message: content: part 1: text is missing"},
		{"an image has no data", part("user", `{"type":"image","mimeType":"image/png"}`), 3, "message: content: part 1: data is missing"},
		{"an image has no media type", part("user", `{"type":"image","data":"aa"}`), 3, "message: content: part 1: mimeType is missing"},
		{"a user thinks", part("user", `{"type":"thinking","thinking":"b"}`), 3, `message: content: part 1: type "thinking" in a message of role user`},
		{"a user calls a tool", part("user", `{"type":"toolCall","id":"c","name":"n","arguments":{}}`), 3, `message: content: part 1: type "toolCall" in a message of role user`},
		{"thinking without a text", part("assistant", `{"type":"thinking"}`), 3, "message: content: part 1: thinking is missing"},
		{"a signature is not a text", part("assistant", `{"type":"thinking","thinking":"b","thinkingSignature":{}}`), 3, "message: content: part 1: thinkingSignature: expected a text, found an object"},
		{"redacted is not a boolean", part("assistant", `{"type":"thinking","thinking":"b","redacted":"yes"}`), 3, "message: content: part 1: redacted: expected true or false, found a text"},
		{"a call has no id", part("assistant", `{"type":"toolCall","name":"n","arguments":{}}`), 3, "message: content: part 1: id is missing"},
		{"a call has no name", part("assistant", `{"type":"toolCall","id":"c","arguments":{}}`), 3, "message: content: part 1: name is missing"},
		{"a call has no arguments", part("assistant", `{"type":"toolCall","id":"c","name":"n"}`), 3, "message: content: part 1: arguments is missing"},
		{"arguments are a text", part("assistant", `{"type":"toolCall","id":"c","name":"n","arguments":"{}"}`), 3, "message: content: part 1: arguments: expected an object, found a text"},
		{"a result names no call", session(message(`"role":"toolResult","content":[]`)), 2, "message: toolCallId is missing"},
		{"isError is not a boolean", session(message(`"role":"toolResult","toolCallId":"c","content":[],"isError":0`)), 2, "message: isError: expected true or false, found a number"},
		{"a command is missing", session(message(`"role":"bashExecution","output":""`)), 2, "message: command is missing"},
		{"an output is missing", session(message(`"role":"bashExecution","command":"ls"`)), 2, "message: output is missing"},
		{"an exit code is a text", session(message(`"role":"bashExecution","command":"ls","output":"","exitCode":"1"`)), 2, "message: exitCode: expected a number, found a text"},
		{"excludeFromContext is not a boolean", session(message(`"role":"bashExecution","command":"ls","output":"","excludeFromContext":1`)), 2, "message: excludeFromContext: expected true or false, found a number"},
		{"usage is not an object", session(message(`"role":"assistant","content":[],"usage":5`)), 2, "message: usage: expected an object, found a number"},
		{"a count is negative", session(message(`"role":"assistant","content":[],"usage":{"input":-1}`)), 2, "message: usage: input: -1 is not a whole number from 0 to 536870912"},

		{"an id is not a text", linked(`"id":7`), 2, "id: expected a text, found a number"},

		{"Claude Code: no message", claude + `{"type":"user","uuid":"u"}`, 2, "message is missing"},
		{"Claude Code: a role differs from the line's type", claude + `{"type":"user","uuid":"u","message":{"role":"assistant","content":[]}}`, 2, `message: role "assistant" in a line of type "user"`},
		{"Claude Code: a result from the assistant", claude + `{"type":"assistant","uuid":"u","message":{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"a"}]}}`, 2, `content: part 0: type "tool_result" in a message of role assistant`},
		{"Claude Code: a call without a name", claude + `{"type":"assistant","uuid":"u","message":{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}}`, 2, "part 0: name is missing"},
		{"Claude Code: a count is not a number", claude + `{"type":"assistant","uuid":"u","message":{"role":"assistant","content":[],"usage":{"input_tokens":"many"}}}`, 2, "usage: input_tokens: expected a number, found a text"},
		{"Codex: arguments are not a text", codex + `{"type":"response_item","payload":{"type":"function_call","name":"a","arguments":{},"call_id":"b"}}`, 2, "payload: arguments: expected a text, found an object"},
		{"Codex: an output is a number", codex + `{"type":"response_item","payload":{"type":"function_call_output","call_id":"b","output":7}}`, 2, "payload: output: expected a list, found a number"},
		{"OpenAI: a result without the id of its call", `{"role":"tool","content":"a"}`, 1, "tool_call_id is missing"},
		{"OpenAI: neither message nor request", `{"role":"user","content":"a"}` + "\n{}", 2, "role is missing"},
		{"a document: a message of a list", "[\n  {\"role\": \"user\",\n   \"content\": \"a\"},\n\n  {\"role\": \"tool\"}\n]", 5, "tool_call_id is missing"},
		{"a document: invalid JSON", "{\n\"messages\": [\n{\"role\" \"user\"}\n]}", 3, "invalid character '\"' after object key"},
		{"a document: torn", "[\n{\"role\":\"user\"},\n", 2, "unexpected end of JSON input"},
		{"a document: neither message nor request", "{\n\"a\": 1\n}", 1, "its first object has neither a type nor messages"},
		{"a document: a list of something else", "[\n1]", 1, "part 0: expected an object, found a number"},
		{"VS Code: a change to the whole leaves a list", vscodeLog + `{"kind":2,"v":[1]}`, 2, "the change leaves no object"},
		{"VS Code: a change to the whole leaves nothing", vscodeLog + `{"kind":0}`, 2, "the change leaves no object"},
		{"promptree: a later version", `{"type":"session","version":5,"id":"a","time":"2026-01-01T00:00:00Z"}`, 1, "the session has format 5, this version reads 4: use the version of promptree that wrote it, or package importer if another program did"},
		{"promptree: a missing parent", own + sealed.Line(`{"type":"custom","id":"b","parent":"c","time":"2026-01-01T00:00:00Z","custom":{"name":"a"}}`), 2, `its parent "c" is missing`},
		{"promptree: a message without a body", own + sealed.Line(`{"type":"message","id":"b","time":"2026-01-01T00:00:00Z"}`), 2, "a message without a body"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := importer.Read(strings.NewReader(tt.give))
			assert.Nil(t, got)
			bad, ok := errors.AsType[*importer.LineError](err)
			require.True(t, ok, "the error is %v", err)
			assert.Equal(t, tt.line, bad.Line)
			assert.True(t, strings.HasSuffix(err.Error(), tt.want), "the error is %v", err)
		})
	}
}

func TestTextThatGoCannotHoldIsReplacedAndNoted(t *testing.T) {
	for give, want := range map[string]string{
		"a\xffb\xed\xa0\xbdc": "a\uFFFDb\uFFFDc", `a\ud83d`: "a\uFFFD", `a\uDC4D\ud83db`: "a\uFFFD\uFFFDb", `\\\ud83d\ud83d\udc4d`: `\` + "\uFFFD👍",
		`\\ud83d`: `\ud83d`, "👍": "👍",
	} {
		line := message(`"role":"user","content":"` + give + `"`)
		document := "[\n{\"role\":\"user\",\"content\":\"" + give + "\"}\n]"
		for _, text := range []string{session(message(`"role":"user","content":"a"`), line), document} {
			got, err := importer.Read(strings.NewReader(text))
			require.NoError(t, err, give)
			list := said(got)
			require.Equal(t, want, list[len(list)-1].Text())
			require.Equal(t, strings.Contains(want, "\uFFFD"), slices.ContainsFunc(got.Notes, func(n importer.Note) bool { return n.Kind == "replaced" }))
		}
	}
}

// Windows writes exports so, and programs print lines before theirs.
func TestWhatStandsBeforeARecordingIsPassedOver(t *testing.T) {
	utf16Of := func(order binary.AppendByteOrder, text string) string {
		var b []byte
		for _, unit := range utf16.Encode([]rune("\uFEFF" + text)) {
			b = order.AppendUint16(b, unit)
		}
		return string(b)
	}
	for _, name := range []string{"codex.jsonl", "opencode.json", "openai.json", "gemini.json", "claude-code.jsonl", "goose.json"} {
		text := string(fixture(t, name))
		want := recordingOf(t, text)
		for before, give := range map[string]string{
			"a mark": "\uFEFF" + text, "UTF-16, little endian": utf16Of(binary.LittleEndian, text), "UTF-16, big endian": utf16Of(binary.BigEndian, text),
			"a status line": "Exporting session: ses_1\n" + text, "log lines": "[INFO] [start] x\n\n> npm run export\n" + text,
			"a mark and a status line": "\uFEFFdone.\r\n" + text,
		} {
			got, err := importer.Read(strings.NewReader(give))
			require.NoError(t, err, "%s: %s", name, before)
			require.Equal(t, want.Format, got.Format)
			require.Equal(t, said(want), said(got), "%s: %s", name, before)
		}
	}
}

func TestLineErrorNamesTheLineAndWrapsTheCause(t *testing.T) {
	_, err := importer.Read(strings.NewReader(session(`{"type":"label"}`, `{"type"`)))
	assert.EqualError(t, err, "importer: line 3: byte 7: unexpected end of JSON input")
	_, ok := errors.AsType[*json.SyntaxError](err)
	assert.True(t, ok)
}

func TestThinkingThatGoesOnAfterATextIsAPartOfItsOwn(t *testing.T) {
	got := recordingOf(t, `{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"id":"a","type":"agent_message","text":"Hi."}}
{"type":"item.completed","item":{"id":"b","type":"reasoning","text":"Hm.","delta":true}}
`)
	require.Equal(t, chat.Parts{chat.Text("Hi."), chat.Thinking{Text: "Hm."}}, got.Records[len(got.Records)-1].Message().Content)
}
