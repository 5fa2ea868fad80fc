package importer_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// formats are small made-up sessions, one or two for each format, that use everything the format has. Where a format has
// no version of its own, the comment names the version of the agent that writes it so.
var formats = map[string]importer.Program{
	"pi-tree.jsonl":         "pi",
	"claude-code.jsonl":     "claude-code",
	"codex.jsonl":           "codex",
	"codex-old.jsonl":       "codex",
	"openai.json":           "openai-chat",
	"openai-lines.jsonl":    "openai-chat",
	"anthropic.json":        "anthropic-messages",
	"anthropic-lines.jsonl": "anthropic-messages",
	"cline.json":            "anthropic-messages", // 3.60
	"codex-stream.jsonl":    "codex",              // 0.128, exec --json
	"gemini-stream.jsonl":   "gemini-cli",         // 0.49, --output-format stream-json
	"opencode-stream.jsonl": "opencode",           // 1.4, run --format json
	"claude-stream.jsonl":   "claude-code",        // 2.0, --output-format stream-json
	"vscode.json":           "vscode-chat",        // 1.105, "Chat: Export Chat…"
	"vscode-log.jsonl":      "vscode-chat",        // 1.108, chatSessions
	"aider.md":              "aider",              // 0.86
	"promptree.jsonl":       "promptree",
	"gemini.json":           "gemini-cli",     // 0.9
	"gemini-lines.jsonl":    "gemini-cli",     // 0.49
	"swe-agent.json":        "swe-agent",      // 1.1
	"swe-agent-old.json":    "swe-agent",      // 0.7
	"mini-swe-agent.json":   "mini-swe-agent", // 2.0
	"openhands.jsonl":       "openhands",      // SDK 1.0
	"openhands-old.json":    "openhands",      // 0.62
	"copilot.jsonl":         "copilot-cli",    // 1.0
	"opencode.json":         "opencode",       // 1.4
	"goose.json":            "goose",          // 1.20
	"goose-lines.jsonl":     "goose",          // 1.8
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	return sure.Read(t, filepath.Join("testdata", "formats", name))
}

// recordingOf reads a recording that is right.
func recordingOf(t testing.TB, text string) *importer.Recording {
	t.Helper()
	got, err := importer.Read(strings.NewReader(text))
	require.NoError(t, err)
	return got
}

func TestEachFormatIsDetectedAndRead(t *testing.T) {
	page := sure.Content(t, "doc.go")
	for name, format := range formats {
		t.Run(name, func(t *testing.T) {
			got := recordingOf(t, string(fixture(t, name)))
			assert.Equal(t, format, got.Format)
			assert.Contains(t, page, string(format)+":", "the page lists the formats")
			golden.Equal(t, filepath.Join("formats", strings.TrimSuffix(name, filepath.Ext(name))+".golden"), dump(t, got))
		})
	}
}

// dump writes a recording for people to read.
func dump(t *testing.T, r *importer.Recording) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q %s leaf %s\nheader %s\n", r.Format, r.Header.From, r.Header.Time.Format(time.RFC3339Nano), r.Leaf, r.Header.Data)
	for _, rec := range r.Records {
		fmt.Fprintf(&b, "\nline %d %s: %s after %q", rec.Line, rec.Recorded, rec.ID, rec.Parent)
		if !rec.Time.IsZero() {
			fmt.Fprintf(&b, " at %s", rec.Time.Format("15:04:05.000"))
		}
		if rec.Sidechain {
			b.WriteString(", sidechain")
		}
		if rec.Aside {
			b.WriteString(", aside")
		}
		if rec.Usage != (chat.Usage{}) {
			fmt.Fprintf(&b, ", usage %+v", rec.Usage)
		}
		if rec.Cost != 0 {
			fmt.Fprintf(&b, ", cost %v", rec.Cost)
		}
		fmt.Fprintf(&b, "\n  %s %s\n", rec.Type(), body(t, rec.Body))
	}
	b.WriteString("\n")
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: line %d, %d times, %s: %s\n", n.Line, n.Count, n.Kind, n.What)
	}
	return b.String()
}

// body returns a record's body as JSON.
func body(t *testing.T, b entry.Body) string {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(b))
	return strings.TrimSpace(out.String())
}

func TestEveryValueIsInARecordTheHeaderOrANote(t *testing.T) {
	for name := range formats {
		t.Run(name, func(t *testing.T) {
			raw := fixture(t, name)
			got := recordingOf(t, string(raw))
			var kept []string
			collect(t, got.Header.Data, "", func(_, s string) { kept = append(kept, s) })
			for _, r := range got.Records {
				kept = append(kept, r.ID, r.Parent, r.Recorded, r.Time.Format("2006-01-02T15:04:05.000Z"))
				collect(t, []byte(body(t, r.Body)), "", func(path, s string) {
					if raw, err := base64.StdEncoding.DecodeString(s); err == nil && (strings.HasSuffix(path, ".base64") || strings.HasSuffix(path, ".data")) {
						kept = append(kept, s)
						s = string(raw)
					}
					kept = append(kept, s)
					if strings.HasPrefix(s, "{") && json.Valid([]byte(s)) { // arguments of a call
						collect(t, []byte(s), "", func(_, s string) { kept = append(kept, s) })
					}
				})
				u := r.Usage
				kept = append(kept, fmt.Sprint(u.Input-u.CacheRead-u.CacheWrite), fmt.Sprint(u.Output), fmt.Sprint(u.Input),
					fmt.Sprint(u.CacheRead), fmt.Sprint(u.CacheWrite), fmt.Sprint(r.Cost))
			}
			all := strings.Join(kept, "\x00")
			noted := map[string]bool{}
			for _, n := range got.Notes {
				noted[n.What[strings.LastIndexByte(n.What, '.')+1:]] = true
			}
			check := func(path, s string) {
				for _, field := range strings.Split(path, ".") {
					if noted[field] {
						return
					}
				}
				last := path[strings.LastIndexByte(path, '.')+1:]
				if slices.Contains(structural, last) || strings.Contains(path, ".tokens.") { // sums of tokens are in the golden files
					return
				}
				if !strings.Contains(all, s) {
					t.Errorf("%s: %q is lost", path, s)
				}
			}
			if filepath.Ext(name) == ".json" {
				collect(t, raw, "", check)
				return
			}
			for line := range bytes.Lines(raw) {
				if text := strings.TrimSpace(strings.TrimLeft(string(line), "#> ")); filepath.Ext(name) == ".md" {
					require.True(t, strings.Contains(all, text) || strings.HasPrefix(text, "aider chat started at "), text)
					continue
				}
				collect(t, line, "", check)
			}
		})
	}
}

// structural are the fields for types, ids, links and times. Records hold their values in another form.
var structural = []string{
	"type", "role", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "id", "messageId", "output_tokens", "ttl",
	"timestamp", "time", "crc", "status", "kind", "created", "created_at", "startTime", "lastUpdated", "ts", "creationDate", "k",
}

// collect calls a function for each text and number in a JSON value, with its path.
func collect(t *testing.T, raw []byte, path string, f func(path, s string)) {
	t.Helper()
	if len(raw) == 0 {
		return
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, item := range v {
				walk(path+"."+name, item)
			}
		case []any:
			for _, item := range v {
				walk(path, item)
			}
		case string:
			f(path, v)
		case json.Number:
			f(path, v.String())
		}
	}
	walk(path, v)
}
