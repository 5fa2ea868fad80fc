package importer_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// Whichever entry is the leaf, the view obeys the providers' rules.
func TestAppendToAddsEachBranchOfARecording(t *testing.T) {
	for name := range formats {
		t.Run(name, func(t *testing.T) {
			recording := recordingOf(t, string(fixture(t, name)))
			session := appended(t, recording, nil)
			checkAppended(t, recording, session)
			for _, r := range recording.Records {
				checkView(t, session, r.ID)
			}
		})
	}
	for _, path := range []string{generated, recorded} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			recording := sessiontest.Read(t, path)
			session := appended(t, recording, nil)
			checkAppended(t, recording, session)
			for i := 0; i < len(recording.Records); i += 50 {
				checkView(t, session, recording.Records[i].ID)
			}
			checkView(t, session, recording.Leaf)
		})
	}
}

// appended returns a session to which a recording was appended, and checks the errors of the refused records.
func appended(t *testing.T, r *importer.Recording, refused []string) *history.Session {
	t.Helper()
	session := sessiontest.New(t, &storage.Memory{}, history.Options{Header: r.Header})
	notes, err := r.AppendTo(t.Context(), session)
	require.NoError(t, err)
	var got []string
	for _, n := range notes {
		got = append(got, n.What)
	}
	require.Equal(t, refused, got)
	return session
}

// checkAppended checks that the session is the recording's tree.
func checkAppended(t *testing.T, r *importer.Recording, session *history.Session) {
	t.Helper()
	assert.Equal(t, r.Header.From, session.Header().From)
	var want, got []chat.Message
	var usage, reported chat.Usage
	for rec, m := range r.Conversation() {
		want = append(want, m)
		usage = sum(usage, rec.Usage)
	}
	for e, err := range session.PathTo(t.Context(), "") {
		require.NoError(t, err)
		if m, ok := e.Shown(); ok {
			got = append(got, m)
		}
		if u, ok := e.Body.(entry.Usage); ok && u.Of != "" {
			reported = sum(reported, u.Usage)
		}
	}
	require.Empty(t, cmp.Diff(want, got))
	assert.Equal(t, usage, reported)
	for i, rec := range r.Records {
		e := sessiontest.Entry(t, session, rec.ID)
		assert.Equal(t, rec.Type(), e.Type(), rec.ID)
		if i%(1+len(r.Records)/50) > 0 { // the paths of a long recording are long
			continue
		}
		wantPath, gotPath := said(pathOf(r, rec.ID)), []chat.Message(nil)
		if rec.Aside {
			continue
		}
		for e, err := range session.PathTo(t.Context(), rec.ID) {
			require.NoError(t, err)
			if m, ok := e.Shown(); ok {
				gotPath = append(gotPath, m)
			}
		}
		require.Len(t, gotPath, len(wantPath), rec.ID)
	}
}

func pathOf(r *importer.Recording, leaf string) *importer.Recording {
	other := *r
	other.Leaf = leaf
	return &other
}

func sum(a, b chat.Usage) chat.Usage {
	return chat.Usage{
		Input: a.Input + b.Input, Output: a.Output + b.Output,
		CacheRead: a.CacheRead + b.CacheRead, CacheWrite: a.CacheWrite + b.CacheWrite,
		CacheWriteLong: a.CacheWriteLong + b.CacheWriteLong,
	}
}

// checkView checks that the view at an entry, followed by a question, obeys the providers' rules.
func checkView(t *testing.T, session *history.Session, leaf string) {
	t.Helper()
	view, err := session.ViewAt(t.Context(), leaf)
	require.NoError(t, err)
	messages := append([]chat.Message(nil), view.Compacted...)
	for _, turn := range view.Turns {
		if m, ok := turn.Message(); ok {
			messages = append(messages, m)
		}
		for _, round := range turn.Rounds {
			messages = append(messages, round.Messages()...)
		}
	}
	require.NoError(t, chat.Validate(append(messages, chat.UserMessage("And now?"))), leaf)
}

// The log of a session made from a recording is a recording itself, and makes the same session again.
func TestARecordingAppendedAndReadAgainIsUnchanged(t *testing.T) {
	paths := []string{generated, recorded}
	for name := range formats {
		paths = append(paths, filepath.Join("testdata", "formats", name))
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			recording := sessiontest.Read(t, path)
			own := recordingOf(t, string(appendedLog(t, recording)))
			assert.EqualValues(t, "promptree", own.Format)
			assert.Empty(t, own.Notes)
			assert.Equal(t, recording.Leaf == "", own.Leaf == "")
			assert.Empty(t, cmp.Diff(said(recording), said(own)))

			taken := map[string]importer.Record{}
			usage := map[string]entry.Usage{}
			for _, rec := range own.Records {
				taken[rec.ID] = rec
				if u, ok := rec.Body.(entry.Usage); ok {
					usage[u.Of] = u
				}
			}
			for _, rec := range recording.Records {
				got := taken[rec.ID]
				if !rec.Time.IsZero() { // otherwise it is the time of the append
					assert.Equal(t, rec.Time, got.Time, rec.ID)
				}
				assert.Equal(t, rec.Type(), got.Type(), rec.ID)
				if want := body(t, rec.Body); rec.Type() != entry.TypeCompaction { // FirstKept may move from a result to its call
					assert.JSONEq(t, want, body(t, got.Body), rec.ID)
				}
				if _, alone := rec.Body.(entry.Usage); !alone {
					assert.Equal(t, rec.Usage, got.Usage, rec.ID)
					assert.Equal(t, rec.Cost, got.Cost, rec.ID)
				}
				assert.Equal(t, rec.Usage, usage[rec.ID].Usage, rec.ID)
				assert.Equal(t, rec.Cost, usage[rec.ID].Cost, rec.ID)
			}

			require.Empty(t, cmp.Diff(entriesOf(t, own), entriesOf(t, recordingOf(t, string(appendedLog(t, own))))))
		})
	}
}

// appendedLog returns the log of a session to which a recording was appended.
func appendedLog(t *testing.T, r *importer.Recording) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	session := sessiontest.Open(t, path, history.Options{})
	_, err := r.AppendTo(t.Context(), session)
	require.NoError(t, err)
	require.NoError(t, session.Close())
	return sure.Read(t, path)
}

var offset = regexp.MustCompile(`,"at":\d+`)

// entriesOf returns the lines of a dump without the header and the byte offsets in compactions. The id and time of an
// entry that starts a new root are the session's own, and are replaced.
func entriesOf(t *testing.T, r *importer.Recording) []string {
	t.Helper()
	roots := map[string]bool{}
	for _, rec := range r.Records {
		if rec.Type() == entry.TypeBranch && rec.Parent == "" {
			roots[rec.ID] = true
		}
	}
	var lines []string
	for line := range strings.Lines(dump(t, &importer.Recording{Records: r.Records, Leaf: r.Leaf})) {
		for id := range roots {
			if strings.Contains(line, "branch: "+id) {
				line, _, _ = strings.Cut(line, " at ")
			}
			line = strings.ReplaceAll(line, id, "root")
		}
		lines = append(lines, offset.ReplaceAllString(line, ""))
	}
	return lines
}

func TestWhatASessionRefusesBecomesACustomEntry(t *testing.T) {
	tests := []struct{ rule, give, want string }{
		{
			"a result without its call",
			session(message(`"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"a"}]`)),
			`history: message: tool call "c" answers no open tool call`,
		},
		{
			"two calls of one id in a message",
			session(message(`"role":"assistant","content":[{"type":"toolCall","id":"c","name":"a","arguments":{}},{"type":"toolCall","id":"c","name":"b","arguments":{}}]`)),
			`history: message: tool call "c" occurs twice in one message`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			recording := recordingOf(t, tt.give+message(`"role":"user","content":"go on"`))
			s := appended(t, recording, []string{tt.want})
			e := sessiontest.Entry(t, s, recording.Records[0].ID)
			assert.Equal(t, "refused", e.Body.(entry.Custom).Name)
			assert.Contains(t, string(e.Body.(entry.Custom).Data), `"c"`)
			e = sessiontest.Entry(t, s, recording.Leaf)
			assert.Equal(t, "go on", e.Message().Text())
		})
	}
}

// entries returns the number of entries in a session.
func entries(t *testing.T, s *history.Session) int {
	t.Helper()
	return len(compacttest.Entries(t, s))
}

func TestARecordingAppendedTwiceStartsANewRoot(t *testing.T) {
	recording := recordingOf(t, string(fixture(t, "pi-tree.jsonl")))
	session := appended(t, recording, nil)
	once := entries(t, session)
	notes, err := recording.AppendTo(t.Context(), session)
	require.NoError(t, err)
	assert.Empty(t, notes)
	assert.Greater(t, entries(t, session), 2*once)
	var got []chat.Message
	for e, err := range session.PathTo(t.Context(), "") {
		require.NoError(t, err)
		if m, ok := e.Shown(); ok {
			got = append(got, m)
		}
	}
	assert.Equal(t, said(recording), got, "the path starts at the new root")
	checkView(t, session, "")
}

// The second copy gets new ids.
func TestReferencesBetweenEntriesFollowTheirNewIDs(t *testing.T) {
	call := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "ls", Arguments: "{}"}}}
	path := filepath.Join(t.TempDir(), "own.jsonl")
	own := sessiontest.Open(t, path, history.Options{IDs: numbered.IDs()})
	require.NoError(t, own.Append(t.Context(), chat.UserMessage("What is there?"), call, chat.ToolResult("c", "a file")))
	sessiontest.Add(t, own, entry.Entry{Body: entry.Clearing{Results: []entry.Cleared{{Entry: "e3", Text: "[cleared]"}}}},
		entry.Entry{Body: entry.Plan{FirstKept: "e2"}},
		entry.Entry{Body: entry.PlanEnd{Plan: "e5", Outcome: entry.PlanFailed}},
	)
	want := sessiontest.View(t, own)
	require.NoError(t, own.Close())
	recording := recordingOf(t, string(sure.Read(t, path)))
	session := appended(t, recording, nil)
	notes, err := recording.AppendTo(t.Context(), session)
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Equal(t, want.Messages(), sessiontest.View(t, session).Messages())
	plan, _ := sessiontest.Latest(t, session, entry.TypePlan)
	end, _ := sessiontest.Latest(t, session, entry.TypePlanEnd)
	require.Equal(t, plan.ID, end.Body.(entry.PlanEnd).Plan)
	require.Equal(t, call, sessiontest.Entry(t, session, plan.Body.(entry.Plan).FirstKept).Message())
	require.Equal(t, end.Parent, plan.ID)
}

func TestEachTypeThatHoldsAnIDFollowsItsNewID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.jsonl")
	own := sessiontest.Open(t, path, history.Options{IDs: numbered.IDs()})
	require.NoError(t, own.Append(t.Context(), chat.UserMessage("One."),
		chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "ls", Arguments: "{}"}}}, chat.ToolResult("c", "a file"), chat.UserMessage("Two.")))
	bodies := []entry.Body{
		entry.Label{Target: "e2", Text: "x"}, entry.Pin{Ref: entry.Ref{ID: "e2"}}, entry.Usage{Of: "e2", Usage: chat.Usage{Input: 1}},
		entry.Clearing{Results: []entry.Cleared{{Entry: "e3", Text: "x"}}, Arguments: []entry.Cleared{{Entry: "e2", Call: "c", Text: "{}"}}},
		entry.Plan{FirstKept: "e2"}, entry.PlanEnd{Plan: "e9", Outcome: entry.PlanRetried, Finished: []entry.SummaryAnswer{{From: "e2", To: "e2", Text: "x"}}},
		entry.Refusal{Unit: entry.UnitHeld, Held: []entry.Held{{Entry: "e2", Part: -1, State: entry.HeldBlamed}}},
		entry.Compaction{Messages: []chat.Message{chat.UserMessage("x")}, FirstKept: "e2"}, entry.BranchSummary{From: "e2", Summary: entry.Summary{Text: "x"}},
		entry.Erasure{Entries: []string{"e2"}, Copies: []string{"e2"}, Holders: []string{"e2"}, Summaries: []string{"e2"}}, entry.Branch{From: "e2"},
	}
	for _, b := range bodies {
		sessiontest.Add(t, own, entry.Entry{Of: "e2", Body: b})
	}
	require.NoError(t, own.Close())
	recording := recordingOf(t, string(sure.Read(t, path)))
	session := appended(t, recording, nil)
	_, err := recording.AppendTo(t.Context(), session)
	require.NoError(t, err)
	seen := map[entry.Type]int{}
	for e, err := range session.PathTo(t.Context(), "") {
		require.NoError(t, err)
		if e.Type() != entry.TypeMessage && e.Parent != "" { // the new root says which leaf was left
			seen[e.Type()]++
			require.NotRegexp(t, `"e\d+"`, string(sure.JSON(t, e)), "an id of the first copy")
		}
	}
	for _, b := range bodies {
		require.Positive(t, seen[entry.Entry{Body: b}.Type()], "%T", b)
	}
}

func TestAppendToReturnsTheStoresError(t *testing.T) {
	recording := recordingOf(t, string(fixture(t, "pi-tree.jsonl")))
	session := sessiontest.Open(t, filepath.Join(t.TempDir(), "session.jsonl"), history.Options{})
	require.NoError(t, session.Close())
	_, err := recording.AppendTo(t.Context(), session)
	require.ErrorIs(t, err, storage.ErrClosed)
}

func TestOnlyTheEntryThatIsNestedTooDeepIsRefused(t *testing.T) {
	for _, levels := range []int{495, 600, 9_990, 9_996} {
		block := `{"type":"newKind","n":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + "}"
		recording := recordingOf(t, session(
			message(`"role":"user","content":"one"`), message(`"role":"assistant","content":[`+block+`]`), message(`"role":"user","content":"two"`),
		))
		s := sessiontest.New(t, &storage.Memory{}, history.Options{Header: recording.Header})
		notes, err := recording.AppendTo(t.Context(), s)
		require.NoError(t, err)
		kept, text := 0, ""
		for e, err := range s.Entries(t.Context()) {
			require.NoError(t, err)
			if c, ok := e.Body.(entry.Custom); ok && c.Name == "refused" {
				require.NoError(t, json.Unmarshal(c.Data, &text))
			}
			kept++
		}
		require.Equal(t, 3, kept)
		if levels < 496 {
			require.Empty(t, notes)
			continue
		}
		require.Len(t, notes, 1)
		require.Contains(t, notes[0].What, "more than 500: in message.content[0].value:")
		require.Contains(t, text, `"type":"newKind"`)
	}
}
