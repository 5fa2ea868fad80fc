//go:build unix

package promptree_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/internal/test/vocabularytest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/vocabulary"
	"github.com/promptree-go/promptree/sources/instructions"
	"github.com/promptree-go/promptree/sources/skills"
	"github.com/promptree-go/promptree/sources/tools"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/mirror"
	"github.com/promptree-go/promptree/summarize/models"
)

// outside lists everything that somebody outside can lengthen: a model, a tool, a server, a file, another agent. Of each
// it makes n, and returns what is done with them. A new list is a row.
var outside = map[string]func(t *testing.T, n int) func(context.Context) error{
	"parallel calls and their results in one Append": func(t *testing.T, n int) func(context.Context) error {
		list := round(n, "run", "{}")
		return func(ctx context.Context) error { return new(history.Session).Append(ctx, list...) }
	},
	"entries that a search reads": func(t *testing.T, n int) func(context.Context) error {
		return searching(said(t, n), recall.Query{Words: "nowhere"})
	},
	"bytes of one entry that a search reads": func(t *testing.T, n int) func(context.Context) error {
		s := new(history.Session)
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(strings.Repeat("xe", n))))
		return searching(s, recall.Query{Words: "e* f* xf xg \"a b\" xh*"})
	},
	"bytes of one entry that a pattern is held against": func(t *testing.T, n int) func(context.Context) error {
		s := new(history.Session)
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(strings.Repeat("xe", n))))
		return searching(s, recall.Query{Pattern: "[xe]{9}[^xe]ZZ"})
	},
	"look-ups of one message that a search leaves out": func(t *testing.T, n int) func(context.Context) error {
		s := sessiontest.New(t, &storage.Memory{}, history.Options{Cache: history.NewCache(1)})
		require.NoError(t, s.Append(t.Context(), round(n, history.ReadTool, `{"entry":"x"}`)...))
		return searching(s, recall.Query{Words: "nowhere"})
	},
	"values of a schema and of arguments": func(t *testing.T, n int) func(context.Context) error {
		allowed, given := make([]string, n), make([]string, n)
		for i := range n {
			allowed[i], given[i] = fmt.Sprintf("value%07d", i), fmt.Sprintf("value%07d", n-1-i)
		}
		schema := map[string]any{"type": "object", "properties": map[string]any{"list": map[string]any{"items": map[string]any{"enum": allowed}}}}
		return resolving(t, schema, map[string]any{"list": given})
	},
	"objects in objects of arguments": func(t *testing.T, n int) func(context.Context) error {
		arguments := any("end")
		for range n / 15 { // package encoding/json goes 10,000 deep
			arguments = map[string]any{strings.Repeat("n", 200): arguments}
		}
		return resolving(t, map[string]any{"additionalProperties": map[string]any{"$ref": "#"}}, arguments)
	},
	"tools that a search ranks": func(t *testing.T, n int) func(context.Context) error {
		d := &tools.Deferred{Session: new(history.Session)}
		for i := range n {
			d.Tools = append(d.Tools, chat.Tool{Name: fmt.Sprint("tool_", i), Description: "reads the weather"})
		}
		return func(ctx context.Context) error {
			_, _, err := d.Answer(ctx, chat.ToolCall{ID: "x", Name: tools.SearchTool, Arguments: `{"query":"weather"}`})
			return err
		}
	},
	"messages that share what they lead to": func(t *testing.T, n int) func(context.Context) error {
		type message struct {
			Text   string
			Shared *[]*message
		}
		var shared []*message
		var list []message
		for i := range n {
			m := message{fmt.Sprint(i), &shared}
			list, shared = append(list, m), append(shared, &m)
		}
		return func(ctx context.Context) error {
			c := &summarize.Compactor{Session: new(history.Session), Policy: a3s.Policy(), Target: summarize.Target{
				Model: models.Offline{Tokenizer: sizingtest.Quarter{}}, Tokenizer: sizingtest.Quarter{}, Budget: 100_000_000,
			}}
			defer c.Close()
			m := &mirror.Mirror[message]{
				Compactor: c,
				From:      func(m message) ([]chat.Message, error) { return []chat.Message{chat.UserMessage(m.Text)}, nil },
				To:        func(list []chat.Message) ([]message, error) { return make([]message, len(list)), nil },
			}
			_, err := m.Fit(ctx, mirror.Request[message]{Messages: list})
			return err
		}
	},
	"messages of a part of a conversation that repeats itself": func(t *testing.T, n int) func(context.Context) error {
		return func(ctx context.Context) error {
			s, err := history.New(ctx, &storage.Memory{}, history.Options{Cache: history.NewCache(1)})
			if err != nil {
				return err
			}
			c := &summarize.Compactor{Session: s, Policy: a3s.Policy(), Target: summarize.Target{
				Model: models.Offline{Tokenizer: sizingtest.Quarter{}}, Tokenizer: sizingtest.Quarter{}, Budget: 100_000_000,
			}}
			defer c.Close()
			m := mirror.New(c)
			m.Partial = true
			var list []chat.Message
			for range n / 10 {
				list = append(list, chat.UserMessage("continue"), chat.AssistantMessage("ok"))
			}
			if err := s.Append(ctx, list...); err != nil {
				return err
			}
			_, err = m.Fit(ctx, mirror.Request[chat.Message]{Messages: append([]chat.Message{chat.UserMessage("other")}, list...)})
			return err
		}
	},
	"stages in stages of a vocabulary": func(t *testing.T, n int) func(context.Context) error {
		n = min(n, 4000) // package encoding/json goes 10,000 deep
		stage := strings.Repeat(`{"type":"Sequence","normalizers":[`, n) + `{"type":"` + strings.Repeat("x", 10*n) + `"}` + strings.Repeat("]}", n)
		data := bytes.Replace(vocabularytest.JSON(), []byte(`"normalizer":null`), []byte(`"normalizer":`+stage), 1)
		return func(context.Context) error { return unsupported(vocabulary.Read(data)) }
	},
	"what a text has of marks and tags": func(t *testing.T, n int) func(context.Context) error {
		text := ""
		for _, part := range []string{"[cut here ", "left out here [", "< \u200b", "<user ", "\u200b\u00a0<Plan>", "l e f t ", "[\n", "cut\u200bhere[\n"} {
			text += strings.Repeat(part, n)
		}
		return func(context.Context) error { plaintext.Outside(text); return nil }
	},
	"bytes of an added token": func(t *testing.T, n int) func(context.Context) error {
		data := vocabularytest.JSON(strings.Repeat("a", min(n, 256)) + "b")
		return func(context.Context) error {
			v, err := vocabulary.Read(data)
			if err == nil {
				v.Counter(vocabulary.Options{}).CountText(strings.Repeat("a", n))
			}
			return unsupported(v, err)
		}
	},
	"entries that are erased, and their copies": func(t *testing.T, n int) func(context.Context) error {
		s := new(history.Session)
		list := make([]chat.Message, n)
		for i := range list {
			list[i] = chat.UserMessage([]string{"go on", "the same long text that is said again and again", fmt.Sprint("secret: ", i/2)}[i%3])
		}
		require.NoError(t, s.Append(t.Context(), list...))
		var ids []string
		for e, err := range s.Entries(t.Context()) {
			require.NoError(t, err)
			ids = append(ids, e.ID)
		}
		return func(ctx context.Context) error { _, err := s.Erase(ctx, ids[:n/2]...); return err }
	},
	"bytes of an entry that is erased, and of what quotes it": func(t *testing.T, n int) func(context.Context) error {
		var text strings.Builder
		for i := range 10 * n {
			fmt.Fprintf(&text, "line %d of it: %x\n", i, i*i)
		}
		list := []chat.Message{chat.UserMessage(text.String()), chat.AssistantMessage("You said: " + text.String())}
		return func(ctx context.Context) error {
			s, err := history.New(ctx, &storage.Memory{}, history.Options{IDs: numbered.IDs()})
			if err == nil {
				err = s.Append(ctx, list...)
			}
			if err == nil {
				_, err = s.Erase(ctx, "e1")
			}
			return err
		}
	},
	"files in the folder of texts": func(t *testing.T, n int) func(context.Context) error {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		require.NoError(t, os.Mkdir(path+".texts", 0o700))
		for i := range n {
			require.NoError(t, os.WriteFile(filepath.Join(path+".texts", fmt.Sprint(i, ".txt")), []byte("x"), 0o600))
		}
		return func(context.Context) error {
			s, err := history.Open(path, history.Options{})
			if err == nil {
				err = s.Close()
			}
			return err
		}
	},
	"lines of a recording": func(t *testing.T, n int) func(context.Context) error {
		var log bytes.Buffer
		for i := range n {
			fmt.Fprintf(&log, `{"type":"user","uuid":"u%d","parentUuid":"u%d","timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":"x"}}`+"\n", i, i-1)
		}
		return func(context.Context) error { _, err := importer.Read(bytes.NewReader(log.Bytes())); return err }
	},
	"messages of a document": func(t *testing.T, n int) func(context.Context) error {
		list := strings.Repeat(`{"role":"user","content":"`+strings.Repeat("x", 100)+"\"},\n", n)
		document := "{\n\"model\":\"" + strings.Repeat("[{", 20*n) + "\",\"messages\":[" + strings.TrimSuffix(list, ",\n") + "]}"
		return func(context.Context) error { _, err := importer.Read(strings.NewReader(document)); return err }
	},
	"imports of an instruction file": func(t *testing.T, n int) func(context.Context) error {
		files := fstest.MapFS{"AGENTS.md": {Data: []byte(strings.Repeat("see @docs/a.md and @/b\n", n))}, "docs/a.md": {Data: []byte("x\n")}}
		return func(ctx context.Context) error {
			_, err := render.Render(ctx, el.User(&instructions.Files{FS: files}), render.Options{Budget: 10_000_000, Tokenizer: sizingtest.Quarter{}})
			return err
		}
	},
	"skills in a folder": func(t *testing.T, n int) func(context.Context) error {
		files := fstest.MapFS{}
		for i := range n {
			name := fmt.Sprint("skill-", i)
			files[name+"/SKILL.md"] = &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: does it\n---\nDo it.\n")}
		}
		return func(context.Context) error {
			(&skills.Skills{Session: new(history.Session), Folders: []fs.FS{files}}).List()
			return nil
		}
	},
}

// round returns an answer with n calls, and their results.
func round(n int, tool, arguments string) []chat.Message {
	list := []chat.Message{chat.UserMessage("go"), {Role: chat.RoleAssistant}}
	for i := range n {
		id := fmt.Sprint("call", i)
		list[1].ToolCalls = append(list[1].ToolCalls, chat.ToolCall{ID: id, Name: tool, Arguments: arguments})
		list = append(list, chat.ToolResult(id, "done"))
	}
	return list
}

// said returns a session of n messages, each of which is read from its line.
func said(t *testing.T, n int) *history.Session {
	s := sessiontest.New(t, &storage.Memory{}, history.Options{Cache: history.NewCache(1)})
	entries := make([]entry.Entry, n)
	for i := range entries {
		entries[i].Body = entry.Message{Message: chat.UserMessage(fmt.Sprint("message ", i))}
	}
	sessiontest.Add(t, s, entries...)
	return s
}

func searching(s *history.Session, q recall.Query) func(context.Context) error {
	return func(ctx context.Context) error { _, err := recall.Tools{Session: s}.Search(ctx, q); return err }
}

// resolving returns a call of a deferred tool.
func resolving(t *testing.T, schema, arguments any) func(context.Context) error {
	data := sure.JSON(t, schema)
	given := sure.JSON(t, map[string]any{"name": "f", "arguments": arguments})
	d := &tools.Deferred{Session: new(history.Session), Tools: []chat.Tool{{Name: "f", Parameters: data}}}
	return func(context.Context) error {
		_, ok, err := d.Resolve(chat.ToolCall{ID: "x", Name: tools.CallTool, Arguments: string(given)})
		if !ok {
			err = errors.New("it is not a call of the tool")
		}
		return err
	}
}

// unsupported returns no error for a vocabulary that was refused.
func unsupported(_ *vocabulary.Vocabulary, err error) error {
	if errors.As(err, new(*vocabulary.UnsupportedError)) {
		return nil
	}
	return err
}

// cpu returns the time that the process has computed, which other processes do not change.
func cpu(t *testing.T) time.Duration {
	var use syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// Ten times as much takes at most 1.3 times n log n allocations, and five times linear time of computing: what no longer
// fits a processor's cache takes two to three times, n² ten.
func TestWhatOthersLengthenGrowsSlowly(t *testing.T) {
	sizes := []int{1000, 10_000}
	if extremes.All() {
		sizes = append(sizes, 100_000)
	}
	for name, prepare := range outside {
		t.Run(name, func(t *testing.T) {
			allocations, times := make([]float64, len(sizes)), make([]time.Duration, len(sizes))
			for i, n := range sizes {
				run, last := prepare(t, n), max(i-1, 0)
				grown := float64(n) / float64(sizes[last])
				limit := time.Duration(5 * grown * float64(max(times[last], 10*time.Millisecond)))
				for try := range 3 { // whatever else the machine does
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					start := cpu(t)
					require.NoError(t, run(t.Context()))
					took := cpu(t) - start
					runtime.ReadMemStats(&after)
					if try == 0 {
						allocations[i], times[i] = float64(after.Mallocs-before.Mallocs), took
					}
					if times[i] = min(times[i], took); i == len(sizes)-1 && took <= limit {
						break // no larger size is held against it
					}
				}
				if i > 0 {
					require.LessOrEqual(t, allocations[i], 1.3*grown*math.Log(float64(n))/math.Log(float64(sizes[last]))*max(allocations[last], 1000), "allocations of %d: %v", n, allocations)
					require.LessOrEqual(t, times[i], limit, "time of %d: %v", n, times)
				}
			}
			t.Log(sizes, times, allocations)
		})
	}
}

// Wherever in its work a call's context ends, the call computes for less than half a second more, and its error is the
// context's unless it was done. Writes are finished first. Calls without a context are here because their rows are.
func TestNoCallGoesOnWhenItsContextHasEnded(t *testing.T) {
	if testing.Short() {
		t.Skip("measures how long calls compute, which the race detector lengthens")
	}
	for name, prepare := range outside {
		t.Run(name, func(t *testing.T) {
			run := prepare(t, 8000)
			for after, done := 20*time.Millisecond, false; !done; after *= 5 {
				ctx, cancel := context.WithCancel(t.Context())
				result, start := make(chan error, 1), cpu(t)
				go func() { result <- run(ctx) }()
				for cpu(t)-start < after && len(result) == 0 {
					time.Sleep(time.Millisecond)
				}
				ended := cpu(t)
				cancel()
				err := <-result
				took := cpu(t) - ended
				require.Less(t, took, 500*time.Millisecond, "ended after %v", after)
				if done = err == nil; !done {
					require.ErrorIs(t, err, context.Canceled)
				}
			}
		})
	}
}
