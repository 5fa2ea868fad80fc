package importer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/importer"
)

func FuzzRead(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte(header))
	f.Add([]byte(session(
		message(`"role":"user","content":"hello \ud83d\udc4d"`),
		message(`"role":"assistant","content":[{"type":"thinking","thinking":"a","thinkingSignature":"b"},{"type":"toolCall","id":"c","name":"n","arguments":{"a": 1}}],"usage":{"input":1,"cacheRead":2}`),
		message(`"role":"toolResult","toolCallId":"c","content":[{"type":"image","data":"aa","mimeType":"image/png"}],"isError":true`),
		message(`"role":"bashExecution","command":"ls","output":"a","exitCode":1,"truncated":true`),
		`{"type":"compaction","id":"a","parentId":null}`,
	)))
	f.Add([]byte(session(`{"type":"label","id":"a"}`, `{"type":"label","id":"b"}`)))
	f.Add([]byte(session(message(`"role":"user","content":"\ud83d"`), "\xff")))
	f.Add([]byte(session("", "[[[[", `{"type":"message","message":{"role":"user","content":[[]]}}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := importer.Read(bytes.NewReader(data))
		lines := bytes.Count(data, []byte("\n")) + 1
		if err != nil {
			bad, ok := errors.AsType[*importer.LineError](err)
			switch {
			case got != nil:
				t.Errorf("a recording and an error: %v", err)
			case !ok:
				t.Errorf("no line is to blame: %v", err)
			case bad.Line < 1 || bad.Line > lines:
				t.Errorf("line %d of %d: %v", bad.Line, lines, err)
			}
			return
		}
		last := 0
		for _, e := range got.Entries {
			if e.Line <= last || e.Line > lines {
				t.Errorf("line %d of %d after line %d", e.Line, lines, last)
			}
			last = e.Line
			checkMessage(t, e.Message)
		}
	})
}

// checkMessage checks what holds of every message that was read.
func checkMessage(t *testing.T, m chat.Message) {
	t.Helper()
	if text := m.Text(); !utf8.ValidString(text) {
		t.Errorf("the text %q is not valid", text)
	}
	for _, p := range m.Content {
		if p == chat.Text("") || p == (chat.Thinking{}) {
			t.Errorf("an empty part %#v", p)
		}
	}
	for _, c := range m.ToolCalls {
		var compact bytes.Buffer
		err := json.Compact(&compact, []byte(c.Arguments))
		if err != nil || compact.String() != c.Arguments || !strings.HasPrefix(c.Arguments, "{") {
			t.Errorf("the arguments are %q", c.Arguments)
		}
	}
}
