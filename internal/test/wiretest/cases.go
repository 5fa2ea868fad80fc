package wiretest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/internal/wire"
)

// A case of a wire format is a folder of two files below internal/wire/FORMAT/testdata/cases: in.json, a message as the API
// writes it, and want.txt, the messages that it becomes, one a line, and what was left over. The codec's own test writes
// want.txt if it has -update; every other reader of the format is held against it. A new case is two files and no Go.

// Cases calls read for each case of a format, and fails the test unless the messages are those of the case. A reader that
// does not read such messages returns false.
func Cases(t *testing.T, format string, read func(t *testing.T, in json.RawMessage) ([]chat.Message, bool)) {
	t.Helper()
	each(t, format, func(t *testing.T, folder string, in json.RawMessage) {
		got, ok := read(t, in)
		if !ok {
			t.Skip("this reader does not read it")
		}
		want := sure.Read(t, filepath.Join(folder, "want.txt"))
		messages, _, _ := strings.Cut(string(want), "left over:")
		require.Empty(t, cmp.Diff(strings.Split(messages, "\n"), strings.Split(text(t, got), "\n")))
	})
}

// Decode is [Cases] for the codec itself, which also says what it left over.
func Decode(t *testing.T, format string, decode func(t *testing.T, in json.RawMessage) ([]chat.Message, wire.Leftovers)) {
	t.Helper()
	each(t, format, func(t *testing.T, folder string, in json.RawMessage) {
		got, left := decode(t, in)
		var b strings.Builder
		b.WriteString(text(t, got))
		for _, l := range left {
			b.WriteString("left over: " + string(l.Why) + ": " + l.What + "\n")
		}
		path, err := filepath.Rel("testdata", filepath.Join(folder, "want.txt"))
		require.NoError(t, err)
		golden.Equal(t, path, b.String())
	})
}

func each(t *testing.T, format string, f func(t *testing.T, folder string, in json.RawMessage)) {
	root := "."
	for ; ; root = filepath.Join(root, "..") {
		if _, err := os.Stat(filepath.Join(root, "go.work")); err == nil {
			break
		}
		require.Less(t, len(root), 40, "there is no go.work above")
	}
	files, err := filepath.Glob(filepath.Join(root, "internal", "wire", format, "testdata", "cases", "*", "in.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	here, err := os.Getwd()
	require.NoError(t, err)
	for _, path := range files {
		path, err = filepath.Abs(path)
		require.NoError(t, err)
		if path, err = filepath.Rel(here, path); err != nil {
			t.Fatal(err)
		}
		t.Run(strings.ReplaceAll(filepath.Base(filepath.Dir(path)), "-", " "), func(t *testing.T) {
			in := sure.Read(t, path)
			f(t, filepath.Dir(path), in)
		})
	}
}

// text returns messages as JSON, one a line. Opaque parts are without white space.
func text(t *testing.T, messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		line, err := plainjson.Marshal(Plain(m))
		require.NoError(t, err)
		b.Write(append(line, '\n'))
	}
	return b.String()
}

// escapes are those that the JSON of an SDK has for <, > and &.
var escapes = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u2028`, "\u2028", `\u2029`, "\u2029")

// Plain returns a message whose opaque parts are without white space, escapes for HTML and counts, and whose content is not nil, as
// two readers that have the same JSON in other forms are compared.
func Plain(m chat.Message) chat.Message {
	content := chat.Parts{}
	for _, p := range m.Content {
		if o, ok := p.(chat.Opaque); ok && json.Valid(o.Value) {
			p = chat.Opaque{Value: json.RawMessage(escapes.Replace(wire.Compacted(o.Value)))}
		}
		content = append(content, p)
	}
	m.Content = content
	return m
}
