package history_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sealed"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
)

// childEnv makes the test binary a child that appends to the session named in it, see [TestMain].
const childEnv = "PROMPTREE_HISTORY_APPEND_TO"

func TestMain(m *testing.M) {
	flag.Parse()
	if path := os.Getenv(childEnv); path != "" {
		appendUntilKilled(path)
	}
	debug.SetGCPercent(400) // a small heap with much garbage is collected often
	os.Exit(m.Run())
}

// quarter is the tokenizer of most tests: one token for every four bytes, rounded up. A message costs 3 more.
type quarter = sizingtest.Quarter

// words is a tokenizer that counts each word and each line break as a token. A message costs 3 more.
type words struct{}

func (words) CountText(text string) int { return len(strings.Fields(text)) + strings.Count(text, "\n") }

func (words) CountPart(p chat.Part) int { return sizingtest.CountPart(words{}, p) }

func (words) CountMessage(m chat.Message) int { return sizingtest.CountMessage(words{}, m) }

func (words) CountTools([]chat.Tool) int { return 0 }

var (
	viewOf, openedWith, opened, sessionIn = sessiontest.View, sessiontest.Open, sessiontest.Opened, sessiontest.New
	content, cases                        = sure.Content, extremes.Cases
)

// in returns the sizing for a window of that many tokens.
func in(window int) elements.Sizing {
	return elements.Sizing{TokenBudget: window, PromptBudget: window, Tokenizer: quarter{}}
}

// within returns a round as it is shown within limits.
func within(r history.Round, limits history.RoundLimits, s elements.Sizing) []chat.Message {
	for _, u := range (history.View{Turns: []history.Turn{{Rounds: []history.Round{r}}}}).Units(limits, s) {
		return u.Messages
	}
	return nil
}

// startWithin returns the start of a turn as it is shown within limits, and false if it says nothing.
func startWithin(e entry.Entry, limits history.RoundLimits, s elements.Sizing) (chat.Message, bool) {
	for _, u := range (history.View{Turns: []history.Turn{{Start: e}}}).Units(limits, s) {
		return u.Messages[0], true
	}
	return chat.Message{}, false
}

// calls returns an assistant message that calls the tool "run" once for each id.
func calls(ids ...string) chat.Message { return sessiontest.Calls("run", "{}", ids...) }

// said returns an assistant message with these parts.
func said(parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleAssistant, Content: parts}
}

// result returns a tool message with these parts.
func result(callID string, parts ...chat.Part) chat.Message {
	return chat.Message{Role: chat.RoleTool, ToolCallID: callID, Content: parts}
}

// talk returns a session in memory with these messages.
func talk(t testing.TB, messages ...chat.Message) *history.Session {
	t.Helper()
	s := numbered.Session()
	require.NoError(t, s.Append(t.Context(), messages...))
	return s
}

// summary returns a compaction that shows one user message.
func summary(text, firstKept string) entry.Compaction {
	return entry.Compaction{Messages: []chat.Message{chat.UserMessage(text)}, FirstKept: firstKept}
}

// all lists the entries of a session.
func all(t testing.TB, s *history.Session) []entry.Entry {
	t.Helper()
	return list(t, s.Entries(t.Context()))
}

// count returns the number of entries of a session.
func count(t testing.TB, s *history.Session) int {
	t.Helper()
	return len(all(t, s))
}

// stored lists the lines of a store.
func stored(t testing.TB, store storage.Store) []string {
	t.Helper()
	var list []string
	for line, err := range store.Read(t.Context(), 0) {
		require.NoError(t, err)
		list = append(list, string(line.Data))
	}
	return list
}

// lineCount returns the number of lines of a session's store.
func lineCount(t testing.TB, s *history.Session) int {
	t.Helper()
	n, err := s.Lines(t.Context())
	require.NoError(t, err)
	return n
}

// leaves lists the ids of the entries without children.
func leaves(t testing.TB, s *history.Session) []string {
	t.Helper()
	list, err := s.Leaves(t.Context())
	require.NoError(t, err)
	return list
}

// list lists entries.
func list(t testing.TB, entries iter.Seq2[entry.Entry, error]) []entry.Entry {
	t.Helper()
	var list []entry.Entry
	for e, err := range entries {
		require.NoError(t, err)
		list = append(list, e)
	}
	return list
}

// viewWith returns the view that a session would have after a compaction.
func viewWith(t testing.TB, s *history.Session, c entry.Compaction) history.View {
	t.Helper()
	v, err := s.ViewWith(t.Context(), c)
	require.NoError(t, err)
	return v
}

// trying returns a context in which elements show the view that a session would have after a compaction.
func trying(t testing.TB, s *history.Session, c entry.Compaction) context.Context {
	t.Helper()
	return s.WithView(t.Context(), viewWith(t, s, c))
}

// fields returns a view with only its exported fields.
func fields(v history.View) history.View {
	return history.View{Compacted: v.Compacted, Turns: v.Turns}
}

// shape writes a view as "compacted | user: assistant(result result) assistant | user:", with the ids of messages.
func shape(v history.View) string {
	var turns []string
	for _, m := range v.Compacted {
		turns = append(turns, m.Text())
	}
	for _, t := range v.Turns {
		turn := []string{t.Start.ID + ":"}
		for _, r := range t.Rounds {
			var results []string
			for _, e := range r.Results {
				results = append(results, e.ID)
			}
			said := r.Assistant.ID
			for _, e := range r.Between {
				said += "&" + e.ID
			}
			turn = append(turn, fmt.Sprintf("%s(%s)", said, strings.Join(results, " ")))
		}
		turns = append(turns, strings.Join(turn, " "))
	}
	return strings.Join(turns, " | ")
}

// prompt shows a session with the three elements.
func prompt(s *history.Session) elements.Nodes {
	return elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Session: s},
		history.TurnStart{Session: s},
		history.TurnRounds{Session: s},
	}
}

// rendered returns the messages of a prompt rendered within a budget.
func rendered(t testing.TB, root elements.Node, budget int) []chat.Message {
	t.Helper()
	r, err := render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: quarter{}})
	require.NoError(t, err)
	return r.Messages
}

// renderedIn returns the messages of a prompt rendered with a context, as JSON.
func renderedIn(t testing.TB, ctx context.Context, root elements.Node) string {
	t.Helper()
	r, err := render.Render(ctx, root, render.Options{Budget: 1 << 20, Tokenizer: quarter{}})
	require.NoError(t, err)
	return string(sure.JSON(t, r.Messages))
}

// tempFile returns the path of a session file that does not exist yet.
func tempFile(t testing.TB) string { return filepath.Join(t.TempDir(), "session.jsonl") }

// erase erases entries.
func erase(t testing.TB, s *history.Session, ids ...string) entry.Erasure {
	t.Helper()
	erasure, err := s.Erase(t.Context(), ids...)
	require.NoError(t, err)
	return erasure
}

// viewAt returns the view of the path to an entry.
func viewAt(t testing.TB, s *history.Session, id string) history.View {
	t.Helper()
	v, err := s.ViewAt(t.Context(), id)
	require.NoError(t, err)
	return v
}

// file writes lines to a new file, without a line feed after the last one.
func file(t testing.TB, lines ...string) string {
	t.Helper()
	path := tempFile(t)
	require.NoError(t, os.WriteFile(path, []byte(sealed.Log(strings.Join(lines, "\n"))), 0o600))
	return path
}

// equal fails with a diff if two values differ.
func equal(t testing.TB, want, got any) {
	t.Helper()
	if v, ok := want.(history.View); ok {
		want = fields(v)
	}
	if v, ok := got.(history.View); ok {
		got = fields(v)
	}
	if reflect.DeepEqual(want, got) {
		return // far faster than a diff
	}
	require.Empty(t, cmp.Diff(want, got))
}

// dump writes messages in a readable form.
func dump(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "--- %s", m.Role)
		if m.ToolCallID != "" {
			fmt.Fprintf(&b, " answers %s", m.ToolCallID)
		}
		if m.IsError {
			b.WriteString(", an error")
		}
		b.WriteByte('\n')
		for _, p := range m.Content {
			if text, ok := p.(chat.Text); ok {
				fmt.Fprintln(&b, string(text))
			} else {
				fmt.Fprintf(&b, "%+v\n", p)
			}
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "%s = %s(%s)\n", c.ID, c.Name, c.Arguments)
		}
	}
	return b.String()
}

// The rules of cutting as policies combine them.
var (
	newestRound     = history.Cut{}
	toolBoundary    = history.Cut{ToolBoundary: true}
	newestTokens    = history.Cut{Tokens: 20_000, SinceCompaction: true}
	firstAndNewest  = history.Cut{First: 2, Messages: 20}
	shareOrMessages = history.Cut{Share: 0.2, Tokens: 40_000, Messages: 10}
)

// keepingRule clears all output but the newest 40,000 tokens.
func keepingRule() history.ClearRule {
	return history.ClearRule{Keep: 40_000, Placeholder: func(history.ClearedOutput) string {
		return "[output pruned — re-read file or re-run command if needed]"
	}}
}

// savingRule clears older output if that saves 20,000 tokens, and never the output of some tools.
func savingRule() history.ClearRule {
	return history.ClearRule{Keep: 40_000, Saves: 20_000, Never: []string{"skill", "read"}, Placeholder: func(o history.ClearedOutput) string {
		return fmt.Sprintf("[Output truncated - %d tokens]", o.Tokens)
	}}
}

// readOnly opens a session for reading, and closes it at the end of the test.
func readOnly(t testing.TB, path string) *history.Session {
	t.Helper()
	s, err := history.Read(path, history.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// errorAs returns the error of a type that err is or wraps.
func errorAs[E error](t testing.TB, err error) E {
	t.Helper()
	as, ok := errors.AsType[E](err)
	require.True(t, ok, "the error is %v", err)
	return as
}
