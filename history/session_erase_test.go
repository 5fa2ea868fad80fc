package history_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/historytest"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

const secret = "the vault opens at 7 with 3141-5926"

// secretive adds messages with a secret, and later entries that copy it.
func secretive(t *testing.T, s *history.Session) {
	t.Helper()
	ctx := t.Context()
	call := chat.ToolCall{ID: "c1", Name: "write", Arguments: `{"text":"` + secret + `"}`, Signature: "sig"}
	require.NoError(t, s.Append(ctx,
		chat.UserMessage("Remember: "+secret+"\nThat is all."),
		chat.Message{Role: chat.RoleAssistant, Name: "bob", Content: chat.Parts{
			chat.Thinking{Text: "so " + secret, Signature: "s"}, chat.Text("Noted: " + secret), chat.Image{URL: "data:" + secret}, chat.Opaque{Value: []byte(`{"a":"` + secret + `"}`)},
		}, ToolCalls: []chat.ToolCall{call}},
		chat.ToolResult("c1", secret),
		chat.UserMessage("What else?"),
	))
	add(t, s,
		entry.Clearing{Results: []entry.Cleared{{Entry: "e3", Text: "[left out: " + secret + "]"}}, Arguments: []entry.Cleared{{Entry: "e2", Call: "c1", Text: `{"was":"` + secret + `"}`}}},
		entry.Plan{FirstKept: "e4", Instructions: "keep " + secret, Thinking: []chat.Thinking{{Text: "so " + secret, Signature: "s"}}},
		entry.Compaction{
			Plan: "e6", FirstKept: "e4", Messages: []chat.Message{chat.UserMessage("<user-message>\nRemember: " + secret + "\nThat is all.\n</user-message>\nThe user told a number.")},
			Thinking: []chat.Thinking{{Text: "so " + secret, Signature: "s"}}, Summary: entry.Summary{Text: "The user told a number.", Files: entry.Files{Read: []string{"a.go"}}},
		},
		entry.PlanEnd{Plan: "x", Outcome: entry.PlanFailed, Finished: []entry.SummaryAnswer{{Text: "It said:\n" + secret}}},
	)
	left := s.Leaf()
	require.NoError(t, s.Branch(ctx, "e3"))
	add(t, s, entry.BranchSummary{From: left, Summary: entry.Summary{Text: "nothing of it"}})
	require.NoError(t, s.Append(ctx, chat.UserMessage("On.")))
}

func TestErasedContentIsNowhereInTheStore(t *testing.T) {
	for _, where := range []string{"in memory", "in a file"} {
		t.Run(where, func(t *testing.T) {
			ctx, path := t.Context(), tempFile(t)
			store := &storage.Memory{}
			s, err := history.New(ctx, store, history.Options{IDs: numbered.IDs()})
			require.NoError(t, err)
			raw := func() string { return strings.Join(stored(t, store), "\n") }
			if where == "in a file" {
				s, raw = opened(t, path), func() string { return content(t, path) }
			}
			secretive(t, s)
			before, size := all(t, s), len(raw())
			require.Contains(t, raw(), "3141-5926")

			erasure := erase(t, s, "e1", "e2", "e3")
			require.Equal(t, entry.Erasure{Entries: []string{"e1", "e2", "e3"}, Copies: []string{"e5", "e6", "e7", "e8"}, Summaries: []string{"e7"}}, erasure)
			require.NotContains(t, raw(), "3141-5926")
			require.NotContains(t, raw(), "-5926")
			require.Contains(t, raw(), "The user told a number.", "a summary's own words stay")
			if where == "in a file" {
				require.Greater(t, len(raw()), size, "one line was added, and none is shorter")
				require.NoFileExists(t, path+".erasing")
			}

			after := all(t, s)
			require.Len(t, after, len(before)+1)
			for i, e := range before {
				require.Equal(t, []string{e.ID, e.Parent, string(e.Type())}, []string{after[i].ID, after[i].Parent, string(after[i].Type())})
				require.Equal(t, e.Message().Role, after[i].Message().Role)
				require.Equal(t, e.Message().ToolCallID, after[i].Message().ToolCallID)
			}
			equal(t, chat.UserMessage("[erased]"), after[0].Message())
			equal(t, chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("[erased]")}, ToolCalls: []chat.ToolCall{{ID: "c1", Name: "write", Arguments: "{}"}}}, after[1].Message())
			equal(t, chat.ToolResult("c1", "[erased]"), after[2].Message())
			compaction := after[6].Compaction()
			require.Contains(t, compaction.Messages[0].Text(), "[erased]")
			require.Contains(t, compaction.Messages[0].Text(), "The user told a number.")
			require.Empty(t, compaction.Thinking)
			require.Equal(t, []string{"a.go"}, compaction.Files.Read)
			equal(t, entry.Erasure(erasure), after[len(after)-1].Body.(entry.Erasure))

			wanted := viewOf(t, s).Messages()
			for _, m := range wanted {
				require.NotContains(t, m.Text(), "3141-5926")
			}
			require.NoError(t, chat.Validate(append(wanted, chat.AssistantMessage("ok"), chat.UserMessage("on"))))
			if where == "in a file" {
				require.NoError(t, s.Append(ctx, chat.AssistantMessage("Fine.")))
				require.NoError(t, s.Close())
				require.Equal(t, after, all(t, opened(t, path))[:len(after)])
				f, err := storage.ReadFile(path, storage.FileOptions{})
				require.NoError(t, err)
				wrong, err := history.Verify(ctx, f)
				require.NoError(t, err)
				require.Empty(t, wrong)
				require.NoError(t, f.Close())
			}
		})
	}
}

func TestCopiesAreErasedWhereverTheyStand(t *testing.T) {
	const line = "the vault opens at 7 with 3141-5926, and the back door is never locked"
	message := func(text string) entry.Body { return entry.Message{Message: chat.UserMessage(text)} }
	call := func(id string) entry.Body {
		return entry.Message{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: id, Name: "load", Arguments: `{}`}}}}
	}
	result := func(id, text string) entry.Body { return entry.Message{Message: chat.ToolResult(id, text)} }
	kept := func(of, text string) entry.Body {
		return entry.Custom{Name: "promptree skills/" + of, Of: of, Data: []byte(inJSON(text))}
	}
	index := func(names string) entry.Body {
		return entry.Compaction{Messages: []chat.Message{chat.UserMessage("So far."), chat.UserMessage("<history-index>\nNames:\n(read entry ID: /l.jsonl)\n" + names + "\n</history-index>")}}
	}
	type place struct {
		parent string // "" for the entry before
		body   entry.Body
	}
	for _, tt := range []struct {
		rule            string
		list            []place // e1, e2 and so on
		erase           string
		copies, holders []string
	}{
		{"a message on another branch", []place{{"", message(line)}, {"", message("a")}, {"root", message("b")}, {"", message(line)}}, "e1", []string{"e5"}, nil},
		{"a short message on another branch", []place{{"", message("x")}, {"", message("pin 4711")}, {"e1", message("pin 4711")}}, "e3", []string{"e2"}, nil},
		{"not a short message on the same path", []place{{"", message("pin 4711")}, {"", message("a")}, {"", message("pin 4711")}}, "e1", nil, []string{"e3"}},
		{"not a short message before it", []place{{"", message("pin 4711")}, {"", message("a")}, {"", message("pin 4711")}}, "e3", nil, []string{"e1"}},
		{"a long message on the same path", []place{{"", message(line)}, {"", message("a")}, {"", message(line)}}, "e3", []string{"e1"}, nil},
		{"the same words of another role", []place{{"", call("1")}, {"", result("1", line)}, {"", entry.CustomMessage{Name: "n", Content: chat.Parts{chat.Text(line)}}}}, "e2", []string{"e3"}, nil},
		{"what a source keeps of a result, before it", []place{{"", call("1")}, {"", kept("1", line)}, {"", result("1", "# Deploy\n"+line)}}, "e3", []string{"e2"}, nil},
		{"what a source keeps of the same at another call", []place{{"", call("1")}, {"", kept("1", line)}, {"", result("1", line)}, {"", call("2")}, {"", kept("2", line)}, {"", result("2", line+"\n(again)")}}, "e6", []string{"e2", "e5"}, []string{"e3"}},
		{"not what a source keeps of another result", []place{{"", call("1")}, {"", kept("2", "# Deploy\nwith care and a licence")}, {"", result("1", "# Deploy\n"+line)}}, "e3", nil, []string{"e2"}},
		{"not what others hold, which is listed", []place{{"", message("key:\n" + line)}, {"", message("You said: " + line)}, {"", entry.Label{Target: "e1", Text: line}}, {"", entry.Custom{Name: "app", Data: []byte(inJSON(line))}}, {"", message("innocent")}}, "e1", nil, []string{"e2", "e3", "e4"}},
		{"names in an index", []place{{"", message("see vault-3141 and door.go")}, {"", message("other.go")}, {"", index("e1: vault-3141, other.go\ne2: door.go")}}, "e1", []string{"e3"}, nil},
		{"a placeholder of it", []place{{"", call("1")}, {"", result("1", "PIN=4711 "+line)}, {"", entry.Clearing{Results: []entry.Cleared{{Entry: "e2", Text: "[left out; names: PIN=4711]"}}}}}, "e2", []string{"e3"}, nil},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			path := tempFile(t)
			s := openedWith(t, path, history.Options{IDs: numbered.IDs()})
			for _, p := range tt.list {
				if p.parent == "root" { // which takes an id
					require.NoError(t, s.Branch(t.Context(), ""))
					p.parent = ""
				}
				sessiontest.Add(t, s, entry.Entry{Parent: p.parent, Body: p.body})
			}
			erasure := erase(t, s, tt.erase)
			require.Equal(t, tt.copies, erasure.Copies)
			require.Equal(t, tt.holders, erasure.Holders)
			erase(t, s, erasure.Holders...)
			require.NoError(t, s.Close())
			for _, secret := range []string{"vault-3141", "pin 4711", "PIN=4711"} {
				if strings.Contains(fmt.Sprint(tt.list), secret) {
					require.NotContains(t, content(t, path), secret)
				}
			}
		})
	}
}

func TestAnotherSessionShowsAnErasureAfterRefresh(t *testing.T) {
	store := &storage.Memory{}
	one := sessionIn(t, store, history.Options{IDs: numbered.IDs()})
	secretive(t, one)
	require.NoError(t, one.Branch(t.Context(), "e8"))
	other := sessionIn(t, store, history.Options{})
	require.Contains(t, fmt.Sprint(viewOf(t, other).Messages()), "3141-5926")
	erase(t, one, "e1")
	require.NoError(t, other.Refresh(t.Context()))
	require.NotContains(t, fmt.Sprint(viewOf(t, other).Messages()), "3141-5926")
	equal(t, viewOf(t, one).Messages(), viewOf(t, other).Messages())
}

func TestEntriesOfEveryTypeCanBeErased(t *testing.T) {
	path := tempFile(t)
	require.NoError(t, os.WriteFile(path, []byte(content(t, "testdata/format.jsonl")), 0o600))
	s := opened(t, path)
	var list []string
	for _, e := range all(t, s) {
		list = append(list, e.ID)
	}
	erase(t, s, list...)
	for _, word := range []string{"hello", "so far", "make", "look", "first this", "words", "a.go", `"k":1`} {
		require.NotContains(t, content(t, path), word)
	}
	for _, e := range all(t, s) {
		_, err := s.ViewAt(t.Context(), e.ID)
		require.NoError(t, err, e.ID)
	}
}

func TestErasingAnUnknownEntryIsAnError(t *testing.T) {
	s := talk(t, user)
	_, err := s.Erase(t.Context(), "nobody")
	require.ErrorAs(t, err, new(*storage.NoEntryError))
	none, err := s.Erase(t.Context())
	require.NoError(t, err)
	require.Zero(t, none)
	plain := sessionIn(t, &plainStore{Store: &storage.Memory{}}, history.Options{})
	_, err = plain.Erase(t.Context(), "x")
	require.ErrorIs(t, err, history.ErrNotErasable)
	require.ErrorIs(t, plain.Remove(t.Context()), history.ErrNotErasable)
}

// plainStore is a store with only the methods of [storage.Store].
type plainStore struct{ storage.Store }

func TestARemovedSessionIsGone(t *testing.T) {
	path := tempFile(t)
	s := opened(t, path)
	secretive(t, s)
	require.NoError(t, s.Close())
	require.NoError(t, os.WriteFile(path, []byte(content(t, path)+"torn "+secret), 0o600))
	s = opened(t, path)
	require.FileExists(t, path+".torn")
	require.NoError(t, s.Remove(t.Context()))
	for _, file := range []string{path, path + ".torn", path + ".writer"} {
		require.NoFileExists(t, file)
	}
	_, err := s.View(t.Context())
	require.ErrorIs(t, err, storage.ErrClosed)
	require.NoError(t, s.Close())
}

// The power is cut after each write and sync in turn.
func TestAfterAPowerCutAnErasureIsCompleteOrHasNotHappened(t *testing.T) {
	done, undone := 0, 0
	for cut := range 12 {
		disk := &historytest.Disk{}
		s := openedOn(t, disk, storage.SyncAlways)
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(secret+" one"), chat.AssistantMessage(secret+" two")))
		stop := errors.New("cut")
		disk.FailAfter(cut, stop)
		_, err := s.Erase(t.Context(), "e1", "e2")
		finished := err == nil
		disk.FailAfter(-1, nil)
		_ = s.Close()
		disk.PowerCut(nil)
		s, err = openOn(disk, storage.SyncAlways)
		require.NoError(t, err, "cut %d", cut)
		left := strings.Count(string(disk.ReadFile(onDisk)), "3141-5926")
		require.Contains(t, []int{0, 2}, left, "cut %d", cut)
		if finished {
			require.Zero(t, left)
		}
		require.Len(t, all(t, s)[:2], 2)
		require.NoError(t, s.Append(t.Context(), chat.UserMessage("on")))
		require.NoError(t, s.Close())
		if left == 0 {
			done++
		} else {
			undone++
		}
	}
	require.Positive(t, done)
	require.Positive(t, undone)
}

// What is made of a plan was read before what was erased since was gone.
func TestAnErasureEndsThePlansBeforeIt(t *testing.T) {
	store := &storage.Memory{}
	s, err := history.New(t.Context(), store, history.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("One."), chat.AssistantMessage("Two."), chat.UserMessage("Three.")))
	two, three := all(t, s)[1].ID, s.Leaf()
	for _, erased := range []bool{true, false} {
		add(t, s, entry.Plan{FirstKept: three})
		plan := s.Leaf()
		for _, body := range []entry.Body{
			entry.PlanEnd{Plan: plan, Outcome: entry.PlanRetried, Finished: []entry.SummaryAnswer{{To: two, Text: "Of two."}}},
			entry.Compaction{Plan: plan, FirstKept: three, Messages: []chat.Message{chat.UserMessage("Of two.")}},
		} {
			process, err := history.New(t.Context(), store, history.Options{}) // that runs the plan
			require.NoError(t, err)
			if erased {
				erase(t, s, two)
			}
			_, err = process.Add(t.Context(), entry.Entry{Body: body})
			if !erased {
				require.NoError(t, err)
				continue
			}
			boundary, dropped := errors.AsType[*entry.BoundaryError](err)
			require.True(t, dropped, err)
			require.Equal(t, plan, boundary.ID)
		}
	}
}

// An answer for a part of an unfinished summary is erased with any entry that it covers, in whatever words it tells of it.
func TestAnAnswerForAPartOfASummaryIsErasedWithWhatItCovers(t *testing.T) {
	s := numbered.Session()
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("One."), chat.AssistantMessage("Two."), chat.UserMessage("Three."), chat.AssistantMessage("Four.")))
	answers := []entry.SummaryAnswer{{To: "e1", Text: "Of one."}, {To: "e3", Text: "Of one to three."}, {From: "e3", To: "e3", Text: "Of three."}}
	for _, a := range answers {
		add(t, s, entry.PlanEnd{Plan: "x", Outcome: entry.PlanRetried, Finished: []entry.SummaryAnswer{a}})
	}
	erase(t, s, "e2")
	var left []string
	for _, e := range all(t, s) {
		if end, ok := e.Body.(entry.PlanEnd); ok {
			for _, a := range end.Finished {
				left = append(left, a.Text)
			}
		}
	}
	require.Equal(t, []string{"Of one."}, left)
}
