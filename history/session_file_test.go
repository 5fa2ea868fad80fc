package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sealed"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

var (
	header  = sealed.Line(`{"type":"session","version":4,"id":"S","time":"2026-01-02T03:04:05Z"}`)
	hello   = sealed.Line(`{"type":"message","id":"e1","time":"2026-01-02T03:04:06Z","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}`)
	welcome = sealed.Line(`{"type":"message","id":"e2","parent":"e1","time":"2026-01-02T03:04:07Z","message":{"role":"assistant","content":[{"type":"text","text":"welcome"}]}}`)
)

// everything returns a conversation with every field and every kind of part in it.
func everything() []chat.Message {
	return []chat.Message{
		{Role: chat.RoleUser, Name: "ann", Content: chat.Parts{
			chat.Text("a <b> & \"c\" \u2028 中文 🙂\n"),
			chat.Text("not UTF-8: \xff\xc3("),
			chat.Text(""),
			chat.Image{URL: "https://example.com/a.png", Detail: chat.DetailLow, MediaType: "image/png"},
			chat.NewDocument("application/pdf", []byte("%PDF")),
			chat.CacheBreakpoint{Type: "ephemeral"},
		}},
		{
			Role: chat.RoleAssistant,
			Content: chat.Parts{
				chat.Thinking{Text: "hm <hm>", Signature: "c2ln"},
				chat.Thinking{Encrypted: "b3BhcXVl"},
				chat.Opaque{Value: json.RawMessage(`{"k":[1,2.50,"<é>"]}`), Tokens: 7},
				chat.Opaque{Value: json.RawMessage("{ \"spaced\" : 1 }\n")},
				chat.Opaque{Value: json.RawMessage("no JSON \xff")},
				chat.Opaque{},
				chat.Text("I run two."),
			},
			ToolCalls: []chat.ToolCall{
				{ID: "c1", Name: "read", Arguments: `{"path":"a<b.go","n":1.0}`},
				{ID: "c2", Name: "run", Arguments: `{"cut sho`},
			},
		},
		{Role: chat.RoleTool, ToolCallID: "c2", IsError: true, Content: chat.Parts{chat.Text("exit 1")}},
		{Role: chat.RoleTool, ToolCallID: "c1"},
		{Role: chat.RoleAssistant},
	}
}

func TestAReopenedSessionIsUnchanged(t *testing.T) {
	path := tempFile(t)
	s := opened(t, path)
	require.Equal(t, path, s.Path())
	require.Equal(t, 1, lineCount(t, s), "the header")
	require.NoError(t, s.Append(t.Context(), everything()...))
	require.NoError(t, s.Compact(t.Context(), summary("so far: \xff", "e2")))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("next")))
	entries, view := all(t, s), viewOf(t, s)
	require.NoError(t, s.Close())
	for _, again := range []*history.Session{readOnly(t, path), opened(t, path)} {
		equal(t, entries, all(t, again))
		equal(t, view, viewOf(t, again))
		require.Equal(t, 8, lineCount(t, again))
		require.Nil(t, again.Recovered())
	}
}

// requireChained checks that ids are unique and each entry's parent is the one before it.
func requireChained(t testing.TB, s *history.Session) {
	t.Helper()
	seen := map[string]bool{"": true}
	parent := ""
	for _, e := range all(t, s) {
		require.False(t, seen[e.ID], "the id %q is there twice", e.ID)
		require.Equal(t, parent, e.Parent)
		require.Equal(t, time.UTC, e.Time.Location())
		seen[e.ID], parent = true, e.ID
	}
}

func TestEntriesReturnsTheMessagesThatWereAppended(t *testing.T) {
	s := talk(t, everything()...)
	require.Empty(t, s.Path())
	require.False(t, s.Recall())
	require.NoError(t, s.Compact(t.Context(), summary("so far", "e2")))
	entries := all(t, s)
	for i, m := range everything() {
		require.Equal(t, entry.TypeMessage, entries[i].Type())
		equal(t, m, entries[i].Message())
	}
	require.Equal(t, entry.TypeCompaction, entries[5].Type())
	made := entries[5].Compaction()
	made.Retained = entry.Retained{}
	equal(t, summary("so far", "e2"), made)
	requireChained(t, s)
	entries[0] = entry.Entry{}
	require.Equal(t, "e1", all(t, s)[0].ID, "the caller may change the list")
}

// fixed opens a session whose header, ids and times are always the same.
func fixed(t *testing.T, path string) *history.Session {
	t.Helper()
	s, err := history.Open(path, history.Options{
		IDs: numbered.IDs(), Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }, Header: entry.Header{ID: "S"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// People, models and later versions read the format.
func TestTheFormatOnDiskDoesNotChangeUnnoticed(t *testing.T) {
	path := tempFile(t)
	s := fixed(t, path)
	require.NoError(t, s.Append(t.Context(), everything()...))
	require.NoError(t, s.Compact(t.Context(), entry.Compaction{
		Messages: []chat.Message{chat.UserMessage("so far")}, FirstKept: "e2", TokensBefore: 100, TokensAfter: 10, Mode: "full",
	}))
	require.NoError(t, s.Compact(t.Context(), summary("all of it", "")))
	made := entry.Summary{Text: "words", Files: entry.Files{Read: []string{"a.go"}, Modified: []string{"b.go"}}, Extension: true, Data: []byte(`{"k":1.0}`)}
	add(
		t, s,
		entry.Message{Message: chat.UserMessage("noted"), Data: []byte(`{"k":1.0}`)},
		entry.Shell{Command: "make <all>", Output: "fine\n"},
		entry.Shell{Command: "cat", Output: "\xff", ExitCode: 2, Cancelled: true, Hidden: true, Data: []byte(`[]`)},
		entry.CustomMessage{Name: "hook", Content: chat.Parts{chat.Text("look")}, Data: []byte(`[]`)},
		entry.Custom{Name: "own", Data: []byte(`"x"`)},
		entry.Label{Target: "e1", Text: "here"},
		entry.ModelChange{Provider: "p", Model: "m"},
		entry.ThinkingChange{Level: "high"},
		entry.Todos{Text: "first this", Items: []entry.Todo{{Text: "that", Status: "pending"}}},
		entry.Usage{Of: "e5", Model: "m", Usage: chat.Usage{Input: 10, Output: 2, CacheRead: 5, CacheWrite: 1}, Cost: 0.25},
		entry.Compaction{Messages: []chat.Message{chat.UserMessage("S")}, LastCovered: "e8", Title: "t", Summary: made},
	)
	require.NoError(t, s.Branch(t.Context(), "e8"))
	_, err := s.Add(t.Context(),
		entry.Entry{Parent: "e8", Body: entry.BranchSummary{From: "e18", Summary: made}},
		entry.Entry{Body: entry.Unknown{Kind: "later", Line: []byte(`{"type":"later","id":"x","parent":"e1", "later": 1.0}`)}},
	)
	require.NoError(t, err)
	golden.Equal(t, "format.jsonl", content(t, path))

	old, err := history.Read(filepath.Join("testdata", "format.jsonl"), history.Options{})
	require.NoError(t, err)
	equal(t, all(t, s), all(t, old))
}

// tornHead is the first line of a file with a torn end.
const tornHead = "promptree: what a crash left at the end of a log:\n"

func TestATornLastLineIsSetAside(t *testing.T) {
	for rule, torn := range map[string]string{
		"cut within a line":            welcome[:len(welcome)/2],
		"cut after one byte":           "{",
		"cut within the checksum":      welcome[:len(welcome)-1],
		"garbage without a line break": "\x00\x00\x00\x00",
	} {
		t.Run(rule, func(t *testing.T) {
			whole := header + "\n" + hello + "\n"
			path := file(t, whole+torn)

			reader := readOnly(t, path)
			equal(t, &storage.Recovery{Line: 3, Bytes: int64(len(torn))}, reader.Recovered())
			require.Equal(t, 1, count(t, reader))
			require.Equal(t, whole+torn, content(t, path), "reading changes nothing")
			require.NoFileExists(t, path+".torn")

			s := opened(t, path)
			equal(t, &storage.Recovery{Line: 3, Bytes: int64(len(torn)), SavedTo: path + ".torn"}, s.Recovered())
			equal(t, all(t, reader), all(t, s))
			require.Equal(t, 2, lineCount(t, s))
			require.Equal(t, whole, content(t, path))
			require.Equal(t, tornHead+torn, content(t, path+".torn"))

			require.NoError(t, s.Append(t.Context(), chat.AssistantMessage("again")))
			require.Equal(t, 3, lineCount(t, s))
			after := readOnly(t, path)
			require.Nil(t, after.Recovered())
			equal(t, all(t, s), all(t, after))
		})
	}
}

// A line break shows that a line was acknowledged.
func TestALastLineWithALineBreakThatCannotBeReadIsDamage(t *testing.T) {
	for _, tt := range []struct{ rule, last, says string }{
		{"garbage", "\x00\x00\x00\x00", "invalid character"},
		{"a cut line", welcome[:40], "unexpected end"},
		{"an empty line", "", "unexpected end"},
		{"a changed byte", strings.Replace(welcome, "welcome", "welcame", 1), "its checksum is not that of its bytes"},
		{"a lost checksum", welcome[:strings.Index(welcome, `,"crc"`)] + "}", "it does not end in a checksum"},
		{"a byte that is not UTF-8", sealed.Line(strings.Replace(welcome, "welcome", "wel\xffome", 1)), "not valid UTF-8"},
		{"an id that an entry has", hello, `a second entry with the id "e1"`},
		{"an id that an entry of the path has", sealed.Line(strings.Replace(hello, `"id":"e1"`, `"id":"e1","parent":"e1"`, 1)), `a second entry with the id "e1"`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for _, before := range []string{header + "\n" + hello + "\n", header + "\n" + hello + "\n" + strings.ReplaceAll(welcome, "e2", "e3") + "\n"} {
				before = sealed.Log(before)
				path := tempFile(t)
				require.NoError(t, os.WriteFile(path, []byte(before+tt.last+"\n"), 0o600))
				line := strings.Count(before, "\n") + 1
				for _, open := range []func(string, history.Options) (*history.Session, error){history.Open, history.Read} {
					_, err := open(path, history.Options{})
					requireCorrupt(t, err, path, line)
					require.ErrorContains(t, err, tt.says)
					require.ErrorContains(t, err, fmt.Sprintf("line %d, from byte %d on: ", line, len(before)))
				}
				store, err := storage.ReadFile(path, storage.FileOptions{})
				require.NoError(t, err)
				wrong, err := history.Verify(t.Context(), store)
				require.NoError(t, err)
				require.Len(t, wrong, 1)
				requireCorrupt(t, wrong[0], path, line)
				require.ErrorContains(t, wrong[0], tt.says)
				require.EqualValues(t, len(before), wrong[0].Byte)
				require.Equal(t, before+tt.last+"\n", content(t, path))
				require.NoFileExists(t, path+".torn")

				s := openedWith(t, path, history.Options{Salvage: true})
				equal(t, wrong, s.Skipped())
				require.Equal(t, line-2, count(t, s))
				require.NoError(t, s.Close())
			}
		})
	}
}

// A line that has its checksum was written whole.
func TestALastLineThatLacksOnlyItsLineBreakIsKept(t *testing.T) {
	whole := header + "\n" + hello + "\n" + welcome
	for _, end := range []string{"", "\x0b", "\x00", "n", "}", "\r"} {
		t.Run(fmt.Sprintf("%q in its place", end), func(t *testing.T) {
			path := file(t, whole+end)
			reader := readOnly(t, path)
			equal(t, &storage.Recovery{Line: 3, Whole: true}, reader.Recovered())
			require.Equal(t, "e2", reader.Leaf())
			require.Equal(t, 3, lineCount(t, reader))
			require.Equal(t, whole+end, content(t, path), "reading changes nothing")

			s := opened(t, path)
			equal(t, &storage.Recovery{Line: 3, Whole: true}, s.Recovered())
			require.Equal(t, whole+"\n", content(t, path))
			require.NoFileExists(t, path+".torn")
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("again")))
			require.NoError(t, reader.Refresh(t.Context()))
			equal(t, all(t, s), all(t, reader))
			require.Equal(t, 4, lineCount(t, reader))
		})
	}
}

func TestEachTornEndIsSavedToAFileOfItsOwn(t *testing.T) {
	path := file(t, header, hello, "")
	for _, side := range []string{path + ".torn", path + ".torn.1", path + ".torn.2"} {
		require.NoError(t, os.WriteFile(path, []byte(content(t, path)+filepath.Ext(side)), 0o600))
		s := openedWith(t, path, history.Options{})
		equal(t, &storage.Recovery{Line: 3, Bytes: int64(len(filepath.Ext(side))), SavedTo: side}, s.Recovered())
		require.Equal(t, tornHead+filepath.Ext(side), content(t, side))
		require.NoError(t, s.Close())
	}
}

func TestATornHeaderIsSetAside(t *testing.T) {
	for rule, torn := range map[string]string{
		"one byte":                        "{",
		"half":                            header[:len(header)/2],
		"all but the end of its checksum": header[:len(header)-1],
	} {
		t.Run(rule, func(t *testing.T) {
			path := file(t, torn)
			_, err := history.Read(path, history.Options{})
			requireCorrupt(t, err, path, 1)

			s := opened(t, path)
			equal(t, &storage.Recovery{Line: 1, Bytes: int64(len(torn)), SavedTo: path + ".torn"}, s.Recovered())
			require.Equal(t, tornHead+torn, content(t, path+".torn"))
			require.Zero(t, count(t, s))
			require.Equal(t, 1, lineCount(t, s))
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("hello")))
			equal(t, all(t, s), all(t, readOnly(t, path)))
		})
	}
}

func requireCorrupt(t testing.TB, err error, path string, line int) {
	t.Helper()
	corrupt := errorAs[*storage.CorruptError](t, err)
	require.Equal(t, path, corrupt.Path)
	require.Equal(t, line, corrupt.Line)
	require.Error(t, corrupt.Err)
	require.ErrorIs(t, err, corrupt.Err)
	require.ErrorContains(t, err, path)
}

func TestAnErrorOfOpenSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	_, err := history.Open(filepath.Join(dir, "none", "session.jsonl"), history.Options{IDs: numbered.IDs()})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "make it first")
	_, err = history.Read(filepath.Join(dir, "session.jsonl"), history.Options{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoFileExists(t, filepath.Join(dir, "session.jsonl"))

	_, err = history.Open(file(t, header, hello, "garbage", strings.Replace(welcome, `"e2"`, `"e3"`, 1), ""), history.Options{})
	require.ErrorContains(t, err, "line 3")
	require.ErrorContains(t, err, "Options.Salvage")
}

func TestALogThatCannotBeReadIsNotChanged(t *testing.T) {
	const label = `{"type":"smell","id":"e2","parent":"e1","time":"2026-01-02T03:04:05Z","smell":"x"}`
	for _, tt := range []struct {
		rule  string
		lines []string
		line  int
		says  string
	}{
		{"garbage in the middle", []string{header, "garbage", welcome, ""}, 2, "invalid character"},
		{"a torn line in the middle", []string{header, hello, welcome[:50], label, ""}, 3, "unexpected end"},
		{"garbage in the middle and a torn end", []string{header, "garbage", welcome, "torn"}, 2, "invalid character"},
		{"an empty line in the middle", []string{header, hello, "", welcome, ""}, 3, "unexpected end"},
		{"an entry without a type", []string{header, `{"id":"e1"}`, welcome, ""}, 2, "no type"},
		{"an entry without an id", []string{header, `{"type":"smell"}`, welcome, ""}, 2, "no id"},
		{"a message without a body", []string{header, `{"type":"message","id":"e1"}`, welcome, ""}, 2, "a message without a body"},
		{"a compaction without a body", []string{header, `{"type":"compaction","id":"e1"}`, welcome, ""}, 2, "a compaction without a body"},
		{"a file that is not a session", []string{"Dear diary,", "today", ""}, 1, "not the header of a session"},
		{"a file of one line that is not a session", []string{"Dear diary,", ""}, 1, "not the header of a session"},
		{"a file of one line without a line break that is not a session", []string{"Dear diary,"}, 1, "header of a session"},
		{"JSON that is not a session", []string{`{"type":"module"}`, ""}, 1, `"module"`},
		{"JSON without a line break that is not a session", []string{`{"type":"module"}`}, 1, "header of a session"},
		{"a session that lost its header", []string{hello, welcome, ""}, 1, `"message"`},
		{"a newer format", []string{strings.Replace(header, `"version":4`, `"version":5`, 1), `{"new":true}`, ""}, 1, "format 5, this version reads 4"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			path := file(t, tt.lines...)
			before := content(t, path)
			for how, open := range map[string]func(string, history.Options) (*history.Session, error){"Open": history.Open, "Read": history.Read} {
				s, err := open(path, history.Options{})
				require.Nil(t, s, how)
				requireCorrupt(t, err, path, tt.line)
				require.ErrorContains(t, err, tt.says, how)
				require.Equal(t, before, content(t, path), how)
				require.NoFileExists(t, path+".torn", how)
			}
			require.NoError(t, os.WriteFile(path, []byte(header+"\n"), 0o600))
			s, err := history.Open(path, history.Options{IDs: numbered.IDs()})
			require.NoError(t, err, "a failed Open releases the lock")
			require.NoError(t, s.Close())
		})
	}
}

func TestUnknownEntriesAreKeptButNotShown(t *testing.T) {
	const label = `{"type":"smell","id":"l-7","parent":"e1","time":"2026-01-02T03:04:05Z","smell":{"deep":[1.0]}}`
	path := file(t, header, hello, label, strings.Replace(welcome, `"parent":"e1"`, `"parent":"l-7"`, 1), "")
	before := content(t, path)
	s := opened(t, path)
	require.Equal(t, "e1: e2()", shape(viewOf(t, s)))
	require.Equal(t, entry.Type("smell"), all(t, s)[1].Type())
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("on")))
	require.Equal(t, "e3", all(t, s)[3].ID)
	require.True(t, strings.HasPrefix(content(t, path), before))
	require.NoError(t, s.Compact(t.Context(), summary("so far", "l-7")), "it is kept with the message after it")
	require.Equal(t, "so far | e1: e2() | e3:", shape(viewOf(t, s)))
}

func TestNewIDsSkipTakenOnes(t *testing.T) {
	s := opened(t, file(t, header, strings.Replace(hello, `"e1"`, `"e2"`, 1), ""))
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("on"), chat.UserMessage("and on")))
	require.Equal(t, []string{"e2", "e1", "e3"}, ids(t, s.PathTo(t.Context(), "")))
}

func TestIDsSortByTime(t *testing.T) {
	var s history.Session
	for range 2000 {
		require.NoError(t, s.Append(t.Context(), user))
	}
	list := ids(t, s.PathTo(t.Context(), ""))
	require.True(t, slices.IsSorted(list))
	require.Len(t, slices.Compact(list), 2000)
	require.Regexp(t, "^[0-9a-z]{20}$", list[0])

	now := time.Now()
	again, err := history.New(t.Context(), &storage.Memory{}, history.Options{Now: func() time.Time {
		now = now.Add(-time.Hour) // a clock that runs backwards
		return now
	}})
	require.NoError(t, err)
	require.NoError(t, again.Append(t.Context(), user, user, user))
	require.True(t, slices.IsSorted(ids(t, again.PathTo(t.Context(), ""))))
}

func TestALogHasOneWriterAndManyReaders(t *testing.T) {
	path := tempFile(t)
	writer := opened(t, path)
	require.NoError(t, writer.Append(t.Context(), chat.UserMessage("one")))
	before := content(t, path)

	second, err := history.Open(path, history.Options{IDs: numbered.IDs()})
	require.ErrorIs(t, err, storage.ErrLocked)
	require.ErrorContains(t, err, path)
	require.Nil(t, second)
	require.Equal(t, before, content(t, path))

	reader := readOnly(t, path)
	require.Equal(t, path, reader.Path())
	require.ErrorIs(t, reader.Append(t.Context(), chat.UserMessage("two")), storage.ErrReadOnly)
	require.ErrorIs(t, reader.Compact(t.Context(), summary("so far", "")), storage.ErrReadOnly)
	require.Equal(t, 1, count(t, reader))
	require.Equal(t, "e1:", shape(viewOf(t, reader)))
	require.Equal(t, before, content(t, path))

	require.NoError(t, writer.Append(t.Context(), chat.UserMessage("two")))
	require.Equal(t, 1, count(t, reader), "a reader has the entries as of its last refresh")
	require.NoError(t, reader.Close())
	require.ErrorIs(t, reader.Append(t.Context(), chat.UserMessage("three")), storage.ErrClosed)
	require.NoError(t, writer.Append(t.Context(), chat.UserMessage("three")), "closing a reader does not release the writer's lock")
	_, err = history.Open(path, history.Options{IDs: numbered.IDs()})
	require.ErrorIs(t, err, storage.ErrLocked)

	require.NoError(t, writer.Close())
	require.Equal(t, 3, count(t, opened(t, path)))
}

func TestMethodsOfAClosedSessionFail(t *testing.T) {
	for where, s := range map[string]*history.Session{"in memory": {}, "in a file": opened(t, tempFile(t))} {
		t.Run(where, func(t *testing.T) {
			require.NoError(t, s.Append(t.Context(), chat.UserMessage("one")))
			require.NoError(t, s.Close())
			require.NoError(t, s.Close(), "closing twice does nothing")
			require.ErrorIs(t, s.Append(t.Context(), chat.UserMessage("two")), storage.ErrClosed)
			require.ErrorIs(t, s.Compact(t.Context(), summary("so far", "")), storage.ErrClosed)
			_, err := s.View(t.Context())
			require.ErrorIs(t, err, storage.ErrClosed)
			for _, err := range s.Entries(t.Context()) {
				require.ErrorIs(t, err, storage.ErrClosed)
			}
			_, err = s.Lines(t.Context())
			require.ErrorIs(t, err, storage.ErrClosed)
			require.ErrorIs(t, s.Refresh(t.Context()), storage.ErrClosed)
			require.Nil(t, s.Recovered())
		})
	}
}

func TestAnUnreadableBodyIsAnErrorOnlyIfItIsNeeded(t *testing.T) {
	smell := strings.Replace(hello, `"type":"text"`, `"type":"smell"`, 1)
	_, err := history.Open(file(t, header, smell, welcome, ""), history.Options{})
	require.ErrorContains(t, err, "line 2")
	require.ErrorContains(t, err, "smell", "it is shown")

	path := file(t, header, hello, welcome, "")
	s := opened(t, path)
	require.NoError(t, s.Append(t.Context(), user))
	require.NoError(t, s.Compact(t.Context(), summary("so far", "e3")))
	require.NoError(t, s.Close())
	require.NoError(t, os.WriteFile(path, []byte(sealed.Log(strings.Replace(content(t, path), `"type":"text"`, `"type":"smell"`, 1))), 0o600))
	before := content(t, path)
	s = opened(t, path)
	require.Equal(t, before, content(t, path))
	require.Equal(t, "so far | e3:", shape(viewOf(t, s)), "it is covered")
	require.NoError(t, s.Append(t.Context(), chat.AssistantMessage("on")))
	_, err = s.ViewAt(t.Context(), "e2")
	requireCorrupt(t, err, path, 2)
	require.ErrorContains(t, err, "smell")
	_ = sessiontest.Entry(t, s, "e2")
	require.Error(t, s.Branch(t.Context(), "e2"))
	require.Equal(t, "so far | e3: e5()", shape(viewOf(t, s)))
}

func TestAnEmptyFileIsANewSession(t *testing.T) {
	path := file(t)
	_, err := history.Read(path, history.Options{})
	requireCorrupt(t, err, path, 1)
	s := opened(t, path)
	require.Nil(t, s.Recovered())
	require.Zero(t, count(t, s))
	require.Equal(t, 1, lineCount(t, s))
}

func TestARelativePathIsMadeAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	s := opened(t, "session.jsonl")
	require.True(t, filepath.IsAbs(s.Path()))
	require.FileExists(t, s.Path())
}

// readable lists the entries up to the first whose body cannot be read.
func readable(s *history.Session) []entry.Entry {
	var list []entry.Entry
	for e, err := range s.Entries(context.Background()) {
		if err != nil {
			break
		}
		list = append(list, e)
	}
	return list
}

// requireSalvaged checks that Salvage reads each whole line of a log or lists it in Skipped.
func requireSalvaged(t testing.TB, path string, readErr error) {
	t.Helper()
	s, err := history.Read(path, history.Options{Salvage: true, File: storage.FileOptions{MaxLine: 1 << 10}})
	if err != nil {
		requireCorrupt(t, err, path, 1)
		return
	}
	defer s.Close()
	headers := 1
	if skipped := s.Skipped(); len(skipped) > 0 && skipped[0].Line == 1 {
		headers = 0
	}
	require.Equal(t, lineCount(t, s), headers+count(t, s)+len(s.Skipped()))
	if corrupt, ok := errors.AsType[*storage.CorruptError](readErr); ok {
		require.LessOrEqual(t, s.Skipped()[0].Line, corrupt.Line)
	}
	for _, id := range leaves(t, s) {
		_, _ = s.ViewAt(t.Context(), id)
	}
}

// FuzzOpen opens a file of any content: either the file is refused and unchanged, or its whole lines are kept, the rest
// is set aside, and the session can be appended to.
func FuzzOpen(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "{", header, header + "\n", header + "\n" + hello + "\n" + welcome + "\n", header + "\n" + hello + "\n" + welcome,
		header + "\n" + hello + "\n\x00\n", header + "\n\n" + hello + "\n", hello + "\n", header + "\nnull\n", header + "\n{}\n",
		header + "\n" + `{"type":"compaction","id":"x","compaction":{"messages":[],"firstKept":"e9"}}` + "\n" + hello + "\n",
		header + "\n" + `{"type":"message","id":"x","message":{"role":"tool","toolCallId":"c"}}` + "\n",
		header + "\n" + `{"type":"message","id":"x","message":{"role":"ghost","content":null}}` + "\n",
		header + "\n" + hello + "\n" + `{"type":"branch","id":"b","parent":"e1","branch":{"from":"e1"}}` + "\n" + `{"type":"shell","id":"s","parent":"b","shell":{"hidden":true}}` + "\n",
		header + "\n" + `{"type":"later","id":"x","message":7}` + "\n" + hello + "\n" + welcome + "\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = []byte(sealed.Log(string(data)))
		path := file(t, string(data))
		reader, readErr := history.Read(path, history.Options{})
		require.Equal(t, string(data), content(t, path))
		requireSalvaged(t, path, readErr)
		s, err := history.Open(path, history.Options{IDs: numbered.IDs()})
		if err != nil {
			require.Error(t, readErr)
			require.Equal(t, string(data), content(t, path))
			require.NoFileExists(t, path+".torn")
			return
		}
		torn := 0
		if r := s.Recovered(); r != nil && !r.Whole {
			torn = int(r.Bytes)
			require.Equal(t, tornHead+string(data[len(data)-torn:]), content(t, path+".torn"))
		}
		whole := string(data[:len(data)-torn])
		require.True(t, strings.HasPrefix(content(t, path), whole))
		if whole != "" {
			require.NoError(t, readErr)
			equal(t, readable(reader), readable(s))
		}
		for leaf := range s.Entries(t.Context()) {
			_, _ = s.ViewAt(t.Context(), leaf.ID)
		}
		for _, err := range history.Turns(s.PathTo(t.Context(), "")) {
			_ = err
		}
		require.NoError(t, s.Append(t.Context(), chat.UserMessage("on")))
		before := readable(s)
		require.NoError(t, s.Close())
		again := readOnly(t, path)
		require.Nil(t, again.Recovered())
		equal(t, before, readable(again))
	})
}

// What is written in the meantime does not keep a reader busy.
func TestASnapshotEndsWhereTheFileEnded(t *testing.T) {
	path := file(t, header, hello, "")
	store, err := storage.ReadFile(path, storage.FileOptions{Snapshot: true})
	require.NoError(t, err)
	s := sessionIn(t, store, history.Options{})
	defer s.Close()
	for e, err := range s.Entries(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, "e1", e.ID)
		require.NoError(t, opened(t, path).Append(t.Context(), chat.UserMessage("more")))
	}
	require.NoError(t, s.Refresh(t.Context()))
	require.Equal(t, 1, count(t, s))
	wrong, err := history.Verify(t.Context(), store)
	require.NoError(t, err)
	require.Empty(t, wrong)
}

func TestALogOfAnotherFormatIsNeitherSalvagedNorDamaged(t *testing.T) {
	other := sealed.Line(strings.Replace(header, `"version":4`, `"version":5`, 1))
	path := file(t, other, hello, "")
	before := content(t, path)
	for _, open := range []func(string, history.Options) (*history.Session, error){history.Open, history.Read} {
		for _, salvage := range []bool{false, true} {
			_, err := open(path, history.Options{Salvage: salvage})
			require.Equal(t, 5, errorAs[*entry.FormatError](t, err).Version)
			require.NotContains(t, err.Error(), "Options.Salvage", "it does not help")
			require.Equal(t, before, content(t, path))
		}
	}
	store, err := storage.ReadFile(path, storage.FileOptions{})
	require.NoError(t, err)
	wrong, err := history.Verify(t.Context(), store)
	require.ErrorAs(t, err, new(*entry.FormatError))
	require.Empty(t, wrong)

	damaged := strings.Replace(header, `"version":4`, `"version":5`, 1) // by a flipped bit, as the checksum shows
	require.NoError(t, os.WriteFile(path, []byte(damaged+"\n"+hello+"\n"), 0o600))
	s := openedWith(t, path, history.Options{Salvage: true})
	require.Equal(t, 1, count(t, s))
	require.NoError(t, s.Close())
}
