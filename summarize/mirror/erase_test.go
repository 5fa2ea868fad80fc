package mirror_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sources/skills"
	"github.com/promptree-go/promptree/summarize/checkpoints"
	"github.com/promptree-go/promptree/summarize/mirror"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/record"
)

// Random conversations with skills, edits that branch, compactions, checkpoints and what the application adds, with text files
// or the tools of recall. After an erasure, and one of what it lists, nothing that can be read holds what was erased: no
// file, prompt, page or answer of a search.
func TestNothingDerivedHoldsWhatWasErased(t *testing.T) {
	t.Parallel()
	erased, compacted, files := 0, 0, 0
	for seed := range uint64(extremes.Cases(40)) {
		r := rand.New(rand.NewPCG(seed, 66))
		dir := t.TempDir()
		s := sessiontest.Open(t, filepath.Join(dir, "s.jsonl"), history.Options{Recall: seed%2 == 0})
		secret := func() string { return fmt.Sprintf("%016x%016x%016x", r.Uint64(), r.Uint64(), r.Uint64()) }
		skill := secret()
		known := &skills.Skills{Session: s, Folders: []fs.FS{fstest.MapFS{"deploy/SKILL.md": {Data: []byte("---\nname: deploy\ndescription: deploys\n---\nUse " + skill + "\n")}}}}
		c := compactorOn(t, s, 5000)
		if c.Policy = policies.All()[policies.Names()[seed%6]]; seed%2 == 1 {
			c.Checkpoints = &checkpoints.Folder{Dir: filepath.Join(dir, "checkpoints")}
			c.Policy.Replace.Checkpoints = true
		}
		m := mirror.New(c)
		m.Prompt = elements.Nodes{skills.Loaded{Skills: known}, history.All{Session: s}}
		var list []chat.Message
		var secrets []string
		say := func(m chat.Message) { list = append(list, m) }
		text := func() string {
			secrets = append(secrets, secret())
			said := fmt.Sprintf("%x\nkey: %s\n", r.Uint64(), secrets[len(secrets)-1])
			for range r.IntN(200) {
				said += fmt.Sprintf("%x went to %d. ", r.Uint32(), r.IntN(1000))
			}
			return said
		}
		for turn := range 6 {
			say(chat.UserMessage(text()))
			if turn%2 == 0 {
				call := chat.ToolCall{ID: fmt.Sprint("c", turn), Name: skills.ToolName, Arguments: `{"skill":"deploy"}`}
				say(chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}})
				result, _, err := known.Answer(t.Context(), call)
				require.NoError(t, err)
				say(result)
			}
			say(chat.AssistantMessage(text()))
			for range min(turn, r.IntN(3)) { // nothing that a model sees
				more := []entry.Body{
					entry.Shell{Command: "echo " + secrets[r.IntN(len(secrets))], Output: text(), Hidden: true},
					entry.Custom{Name: "app", Data: json.RawMessage(`{"said":["` + secrets[r.IntN(len(secrets))] + `"]}`)},
					entry.Todos{Text: text(), Items: []entry.Todo{{Text: secrets[r.IntN(len(secrets))]}}},
					entry.Label{Target: s.Leaf(), Text: secrets[r.IntN(len(secrets))]},
				}
				sessiontest.Add(t, s, entry.Entry{Body: more[r.IntN(len(more))]})
			}
			if r.IntN(3) == 0 {
				list[0] = chat.UserMessage(text())
			}
			fitted, err := m.Fit(t.Context(), mirror.Request[chat.Message]{Messages: append(list[:len(list):len(list)], chat.UserMessage("go on")), Tools: known.Declared()})
			require.NoError(t, err)
			if fitted.Compacted {
				compacted++
			}
		}
		var gone, ids []string
		for e, err := range s.Entries(t.Context()) {
			require.NoError(t, err)
			for _, word := range append(secrets, skill) {
				if strings.Contains(e.Message().Text(), word) && r.IntN(4) == 0 {
					gone, ids = append(gone, word), append(ids, e.ID)
				}
			}
		}
		for range 5 { // what is listed may hold more
			erasure, err := s.Erase(t.Context(), ids...)
			require.NoError(t, err)
			if len(erasure.Folders) > 0 {
				require.Equal(t, []string{c.Checkpoints.Dir}, erasure.Folders)
				require.NoError(t, c.Checkpoints.Erase(t.Context(), s, append(erasure.Copies, erasure.Summaries...)...))
				files++
			}
			if ids = append(erasure.Holders, erasure.Summaries...); len(ids) == 0 {
				break
			}
		}
		for i, said := range list {
			for _, word := range gone {
				if strings.Contains(said.Text(), word) { // the owner takes it out of its list, too
					list[i].Content = chat.Parts{chat.Text("[erased]")}
				}
			}
		}
		fitted, err := m.Fit(t.Context(), mirror.Request[chat.Message]{Messages: append(list, chat.UserMessage("on")), Tools: known.Declared()})
		require.NoError(t, err)
		everything := map[string]string{"the prompt": fmt.Sprint(fitted.Result.Messages)}
		log, err := record.Session(t.Context(), s, sizingtest.Quarter{}, 0, sizing.Prices{})
		require.NoError(t, err)
		var page strings.Builder
		require.NoError(t, inspect.Session(&page, log, inspect.Options{}))
		everything["the page"] = page.String()
		for _, word := range gone {
			answer, err := recall.Tools{Session: s}.Search(t.Context(), recall.Query{Words: `"` + word[:32] + `"`})
			require.NoError(t, err)
			require.Contains(t, answer, "nothing matches", "seed %d", seed)
			for e, err := range s.Entries(t.Context()) { // on all branches
				require.NoError(t, err)
				require.NotContains(t, e.Text(), word[:32], "seed %d", seed)
			}
		}
		require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				data, err := os.ReadFile(path)
				everything[path] = string(data)
				return err
			}
			return err
		}))
		for where, all := range everything {
			for _, word := range gone {
				require.False(t, strings.Contains(all, word[:32]) || strings.Contains(all, word[16:]), "seed %d: %s", seed, where)
			}
		}
		require.NoError(t, s.Close())
		erased += len(gone)
	}
	require.Positive(t, erased)
	require.Positive(t, compacted)
	require.Positive(t, files)
}

// What is said again on another branch names the entry that it is a copy of, the first of equal ones first. Both are
// erased together, whatever rules of redaction were followed when each was written.
func TestWhatIsSaidAgainOnABranchNamesWhatItIsOf(t *testing.T) {
	none := func(text string) string { return text }
	hide := func(text string) string { return strings.ReplaceAll(text, "hunter2", "[password]") }
	for _, partial := range []bool{false, true} {
		fit := followed(t, &storage.Memory{}, partial)
		list := []chat.Message{chat.UserMessage("a"), chat.AssistantMessage("pin 4711, hunter2"), chat.UserMessage("go on"), chat.AssistantMessage("ok"), chat.UserMessage("go on")}
		_, _, err := fit(none, list...)
		require.NoError(t, err)
		list[0] = chat.UserMessage("b")
		s, _, err := fit(hide, list...)
		require.NoError(t, err)
		var entries []entry.Entry
		for e, err := range s.Entries(t.Context()) {
			require.NoError(t, err)
			if e.Type() == entry.TypeMessage {
				entries = append(entries, e)
			}
		}
		require.Len(t, entries, 10)
		require.Empty(t, entries[5].Of, "it was edited")
		for i, e := range entries[6:] {
			require.Equal(t, entries[i+1].ID, e.Of)
		}
		erasure, err := s.Erase(t.Context(), entries[1].ID)
		require.NoError(t, err)
		require.Equal(t, []string{entries[6].ID}, erasure.Copies)
		erasure, err = s.Erase(t.Context(), entries[8].ID)
		require.NoError(t, err)
		require.Equal(t, []string{entries[3].ID}, erasure.Copies, "from the copy to what it is of")
	}
}
