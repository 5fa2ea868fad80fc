package importer_test

import (
	"bytes"
	"encoding/json"
	"errors"
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
		ids := map[string]bool{"": true}
		for _, r := range got.Records {
			if r.Line < last || r.Line > lines {
				t.Errorf("line %d of %d after line %d", r.Line, lines, last)
			}
			last = r.Line
			if ids[r.ID] || !ids[r.Parent] || r.Body == nil {
				t.Errorf("the record %q goes on from %q with a %T", r.ID, r.Parent, r.Body)
			}
			ids[r.ID] = true
			if m, ok := r.Shown(); ok {
				checkMessage(t, m)
			}
		}
		if !ids[got.Leaf] {
			t.Errorf("the leaf %q is not there", got.Leaf)
		}
		for _, n := range got.Notes {
			if n.Count < 1 || n.Line < 1 || n.Line > lines || n.Reason == "" {
				t.Errorf("a note %+v of %d lines", n, lines)
			}
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
		switch p := p.(type) {
		case chat.Text:
			if p == "" {
				t.Error("an empty text")
			}
		case chat.Thinking:
			if p == (chat.Thinking{}) {
				t.Error("an empty thought")
			}
		case chat.Opaque:
			if !json.Valid(p.Value) {
				t.Errorf("an opaque part %q", p.Value)
			}
		}
	}
}
