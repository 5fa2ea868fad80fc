package importer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
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
	for name := range formats {
		f.Add(fixture(f, name))
	}
	f.Fuzz(check)
}

// Each format has its own target, which puts the fuzzed data after a first line of that format. The seeds are the
// format's session and each of its lines, once and twice.

func FuzzPi(f *testing.F) { fuzzFormat(f, "pi-tree.jsonl", header+"\n") }

func FuzzClaudeCode(f *testing.F) {
	fuzzFormat(f, "claude-code.jsonl", `{"type":"summary","summary":"a","leafUuid":"u"}`+"\n")
}

func FuzzCodex(f *testing.F) {
	fuzzFormat(f, "codex.jsonl", `{"timestamp":"2026-03-01T08:00:00.000Z","type":"session_meta","payload":{"id":"a"}}`+"\n")
}

func FuzzCodexOld(f *testing.F) {
	fuzzFormat(f, "codex-old.jsonl", `{"id":"a","timestamp":"2025-07-01T12:00:00.000Z","instructions":null}`+"\n")
}

func FuzzVSCode(f *testing.F) {
	f.Add(fixture(f, "vscode.json"))
	fuzzFormat(f, "vscode-log.jsonl", `{"kind":0,"v":{"responderUsername":"a","requests":[]}}`+"\n")
}

func FuzzClaudeStream(f *testing.F) {
	fuzzFormat(f, "claude-stream.jsonl", `{"type":"system","subtype":"init","session_id":"a"}`+"\n")
}

func FuzzAider(f *testing.F) {
	fuzzFormat(f, "aider.md", "# aider chat started at 2026-08-01 09:00:00\n")
}

func FuzzOpenAI(f *testing.F) {
	f.Add(fixture(f, "openai.json"))
	fuzzFormat(f, "openai-lines.jsonl", `{"role":"system","content":"a"}`+"\n")
}

func FuzzAnthropic(f *testing.F) {
	f.Add(fixture(f, "anthropic.json"))
	fuzzFormat(f, "anthropic-lines.jsonl", `{"system":"a","messages":[]}`+"\n")
}

func FuzzGemini(f *testing.F) {
	f.Add(fixture(f, "gemini.json"))
	fuzzFormat(f, "gemini-lines.jsonl", `{"sessionId":"a","projectHash":"b"}`+"\n")
}

func FuzzSWEAgent(f *testing.F) {
	f.Add(fixture(f, "swe-agent.json"))
	f.Add(fixture(f, "mini-swe-agent.json"))
	f.Fuzz(check)
}

func FuzzOpenHands(f *testing.F) {
	f.Add(fixture(f, "openhands-old.json"))
	fuzzFormat(f, "openhands.jsonl", `{"id":"a","source":"user","kind":"PauseEvent"}`+"\n")
}

func FuzzCopilot(f *testing.F) {
	fuzzFormat(f, "copilot.jsonl", `{"type":"session.start","id":"a","timestamp":"2026-05-01T10:00:00Z","parentId":null,"data":{}}`+"\n")
}

func FuzzOpencode(f *testing.F) {
	f.Add(fixture(f, "opencode.json"))
	f.Fuzz(check)
}

func FuzzGoose(f *testing.F) {
	f.Add(fixture(f, "goose.json"))
	fuzzFormat(f, "goose-lines.jsonl", `{"working_dir":"/","description":"a"}`+"\n")
}

func FuzzPromptree(f *testing.F) {
	fuzzFormat(f, "promptree.jsonl", `{"type":"session","version":4,"id":"a","time":"2026-04-01T07:00:00Z","crc":"ed78cc27"}`+"\n")
}

func fuzzFormat(f *testing.F, name, first string) {
	all := fixture(f, name)
	f.Add(all)
	for line := range bytes.Lines(all) {
		f.Add(line)
		f.Add(append(bytes.Clone(line), line...))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, append([]byte(first), data...)) })
}

// check reads a recording and checks what is true of every one: it is a tree of complete entries, or an error that
// names a line; unreadable lines can be skipped; and a session accepts it, and its views obey the providers' rules.
func check(t *testing.T, data []byte) {
	lines := bytes.Count(data, []byte("\n")) + 1
	got, err := importer.Read(bytes.NewReader(data))
	if err != nil {
		checkError(t, got, err, lines)
		first := bytes.IndexByte(data, '\n')
		if _, headless := importer.Read(bytes.NewReader(data[:max(0, first)])); headless != nil {
			return // the first line shows no format
		}
		got, err = importer.Options{SkipUnreadable: true}.Read(bytes.NewReader(data))
		if err != nil {
			checkError(t, got, err, lines)
			return
		}
	}
	checkRecording(t, got, lines)
	if len(got.Records) > 200 {
		return // checking the views would take long
	}
	s := sessiontest.New(t, &storage.Memory{}, history.Options{})
	_, err = got.AppendTo(t.Context(), s)
	require.NoError(t, err)
	leaves, err := s.Leaves(t.Context())
	require.NoError(t, err)
	for _, leaf := range leaves {
		checkView(t, s, leaf)
	}
}

func checkError(t *testing.T, got *importer.Recording, err error, lines int) {
	t.Helper()
	bad, ok := errors.AsType[*importer.LineError](err)
	switch {
	case got != nil:
		t.Errorf("both a recording and an error: %v", err)
	case !ok:
		t.Errorf("not a LineError: %v", err)
	case bad.Line < 1 || bad.Line > lines:
		t.Errorf("line %d of %d: %v", bad.Line, lines, err)
	}
}

func checkRecording(t *testing.T, got *importer.Recording, lines int) {
	t.Helper()
	ids := map[string]bool{"": true}
	for _, r := range got.Records {
		if r.Line < 1 || r.Line > lines {
			t.Errorf("line %d of %d", r.Line, lines)
		}
		if ids[r.ID] || !ids[r.Parent] || r.Body == nil || len(r.ID) > entry.MaxID {
			t.Errorf("bad record: id %q, parent %q, body %T", r.ID, r.Parent, r.Body)
		}
		ids[r.ID] = true
		if m, ok := r.Shown(); ok {
			checkMessage(t, m)
		}
	}
	if !ids[got.Leaf] {
		t.Errorf("no record has the leaf's id %q", got.Leaf)
	}
	for _, n := range got.Notes {
		if n.Count < 1 || n.Line < 1 || n.Line > lines || n.Kind == "" {
			t.Errorf("bad note in %d lines: %+v", lines, n)
		}
	}
}

// checkMessage checks what is true of every message that was read.
func checkMessage(t *testing.T, m chat.Message) {
	t.Helper()
	if text := m.Text(); !utf8.ValidString(text) {
		t.Errorf("invalid UTF-8: %q", text)
	}
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Thinking:
			if p == (chat.Thinking{}) {
				t.Error("an empty thought")
			}
		case chat.Opaque:
			if !json.Valid(p.Value) {
				t.Errorf("an opaque part that is not JSON: %q", p.Value)
			}
		}
	}
}

func TestARecordingTakesASmallMultipleOfItsLengthInMemory(t *testing.T) {
	const size = 1 << 19
	fill := func(first, piece, last string) string {
		return first + strings.Repeat(piece, size/len(piece)) + last
	}
	tests := []struct{ name, give string }{
		{"pi lines", fill(header+"\n", `{"type":"a"}`+"\n", "")},
		{"pi messages", fill(header+"\n", message(`"role":"user","content":"a"`)+"\n", "")},
		{"pi parts", fill(header+"\n"+`{"type":"message","message":{"role":"user","content":[`, `{"type":"a"},`, `{}]}}`)},
		{"Claude Code lines", fill(`{"type":"a","sessionId":"s"}`+"\n", `{"type":"a"}`+"\n", "")},
		{"Codex lines", fill(`{"timestamp":"a","type":"a","payload":{}}`+"\n", `{"type":"a"}`+"\n", "")},
		{"Codex items", fill(`{"timestamp":"a","type":"a","payload":{}}`+"\n", `{"type":"reasoning","encrypted_content":"a"}`+"\n", "")},
		{"chat lines", fill("", `{"role":"user","content":"a"}`+"\n", "")},
		{"chat messages", fill("[", `{"role":"user"},`, `{"role":"user"}]`)},
		{"promptree lines", fill(`{"type":"session","version":4,"id":"a","time":"2026-04-01T07:00:00Z","crc":"ed78cc27"}`+"\n", `{"type":"b","id":"a"}`+"\n", "")},
		{"unreadable lines", fill(header+"\n", "x\n", "")},
		{"fields of an object", fill(header+"\n"+`{"type":"message",`, `"a":0,`, `"message":{"role":"user","content":""}}`)},
		{"nested lists", fill(header+"\n"+`{"type":"a","a":`, "[", "")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := heap()
			got, err := importer.Options{SkipUnreadable: true}.Read(strings.NewReader(tt.give))
			after := heap()
			if err != nil {
				require.ErrorAs(t, err, new(*importer.LineError), err)
			}
			if after > before {
				assert.Less(t, (after-before)/uint64(len(tt.give)), uint64(64), "bytes of memory per byte")
			}
			runtime.KeepAlive(got)
		})
	}
}

// heap returns the number of bytes in use on the heap.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
