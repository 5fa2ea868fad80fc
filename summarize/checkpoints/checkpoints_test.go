package checkpoints_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/summarize/checkpoints"
)

// compacted appends a message and a compaction to a session, and returns the id of the compaction.
func compacted(t *testing.T, s *history.Session) string {
	t.Helper()
	added := sessiontest.Add(t, s, entry.Entry{Body: entry.Message{Message: chat.UserMessage("Go on.")}})
	added = sessiontest.Add(t, s, entry.Entry{Body: entry.Compaction{Messages: []chat.Message{chat.UserMessage("In short.")}, FirstKept: added[0].ID}})
	return added[0].ID
}

// added adds a checkpoint.
func added(t testing.TB, f *checkpoints.Folder, s *history.Session, compaction, title, summary string) checkpoints.Checkpoint {
	t.Helper()
	point, err := f.Add(t.Context(), s, compaction, title, summary)
	require.NoError(t, err)
	return point
}

func listed(t testing.TB, f *checkpoints.Folder) []checkpoints.Checkpoint {
	t.Helper()
	list, err := f.List()
	require.NoError(t, err)
	return list
}

func TestCheckpointsAreNumberedListedAndIndexedByBranch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	folder := &checkpoints.Folder{Dir: dir}
	s := numbered.Session()
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("Start.")))
	list := listed(t, folder)
	require.Empty(t, list, "none before the first")
	first := added(t, folder, s, compacted(t, s), "Täglich: [the] build/../fix", "# Täglich\n\nAll of it.")
	second := added(t, folder, s, compacted(t, s), "Second.", "Second.")

	list = listed(t, folder)
	require.Equal(t, []checkpoints.Checkpoint{first, second}, list)
	require.Equal(t, filepath.Join(dir, "001-täglich-the-build-fix.md"), first.Path)
	require.Equal(t, []int{1, 2}, []int{first.Number, second.Number})
	require.Equal(t, "Second.", second.Title)
	require.NotEmpty(t, first.Compaction)
	require.Contains(t, sure.Content(t, first.Path), "\nAll of it.\n")
	index := sure.Content(t, filepath.Join(dir, "index.md"))
	require.Contains(t, index, "2 made")
	require.Contains(t, index, "2. [Second.](002-second.md)")

	require.NoError(t, s.Branch(t.Context(), first.Compaction))
	require.NoError(t, folder.Index(t.Context(), s))
	const rest = "\n1 more where the conversation has gone another way since.\n\n2. [Second.](002-second.md)\n"
	made := "\n1 made, each when the conversation was compacted.\n\n1. [Täglich: \\[the\\] build/../fix](001-täglich-the-build-fix.md)\n"
	require.Equal(t, "# Checkpoints\n"+made+rest, sure.Content(t, filepath.Join(dir, "index.md")), "the other branch is listed separately")

	require.NoError(t, s.Branch(t.Context(), second.Compaction))
	require.NoError(t, folder.Index(t.Context(), s))
	require.Equal(t, index, sure.Content(t, filepath.Join(dir, "index.md")))
	require.NoError(t, (&checkpoints.Folder{Dir: filepath.Join(dir, "none")}).Index(t.Context(), s), "nothing to list")
}

func TestCheckpointWithoutATitleIsNumbered(t *testing.T) {
	folder := &checkpoints.Folder{Dir: t.TempDir()}
	point := added(t, folder, numbered.Session(), "e1", " \n", "x")
	require.Equal(t, "Checkpoint 1", point.Title)
	require.Equal(t, filepath.Join(folder.Dir, "001-checkpoint-1.md"), point.Path)
}

func TestCheckpointThatCannotBeWrittenIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := (&checkpoints.Folder{Dir: file}).Add(t.Context(), numbered.Session(), "e1", "x", "x")
	require.Error(t, err)
}

func TestACheckpointIsErased(t *testing.T) {
	folder := &checkpoints.Folder{Dir: filepath.Join(t.TempDir(), "checkpoints")}
	s := numbered.Session()
	require.NoError(t, folder.Erase(t.Context(), s, "e1"), "no folder")
	say := func(text string) string {
		require.NoError(t, s.Append(t.Context(), chat.UserMessage(text)))
		return s.Leaf()
	}
	compact := func(kept, title string) {
		require.NoError(t, s.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("In short.")}, FirstKept: kept, Title: title, Checkpoints: folder.Dir}))
		added(t, folder, s, s.Leaf(), title, "Text of "+title)
	}
	say("Nothing.")
	compact(say("Begin."), "The start")
	secret := say("Ann Miller, 12 High Street, 555-0199")
	compact(say("Go on."), "Ann Miller")
	erasure, err := s.Erase(t.Context(), secret)
	require.NoError(t, err)
	require.Len(t, erasure.Summaries, 1)
	require.Equal(t, []string{folder.Dir}, erasure.Folders)
	for range 2 { // the second time it changes nothing
		require.NoError(t, folder.Erase(t.Context(), s, erasure.Summaries...))
		files, err := filepath.Glob(filepath.Join(folder.Dir, "*.md"))
		require.NoError(t, err)
		require.Len(t, files, 3)
		for _, file := range files {
			require.NotContains(t, file, "miller")
			require.NotContains(t, sure.Content(t, file), "Miller")
		}
		require.Contains(t, sure.Content(t, filepath.Join(folder.Dir, "index.md")), "2. [\\[erased\\]](002-erased.md)")
		require.Contains(t, sure.Content(t, filepath.Join(folder.Dir, "001-the-start.md")), "Text of The start")
	}
}
