package history_test

import (
	"crypto/rand"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/log"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// crashed leaves the file that a writer leaves that died.
func crashed(t *testing.T, path string) {
	t.Helper()
	s := openedWith(t, path, history.Options{IDs: numbered.IDs()})
	writer := content(t, path+".writer")
	require.NoError(t, s.Close())
	sure.Write(t, path+".writer", writer)
}

func lengthy(text string) chat.Message {
	return chat.UserMessage(text + strings.Repeat(" and so on", 300))
}

// Whatever is done with a session, and however its folder of texts is set up, files that promptree did not write stay as
// they are, and the session goes on.
func TestOnlyTextsThatPromptreeWroteAreRemovedOrOverwritten(t *testing.T) {
	t.Parallel()
	part := ".promptree-" + rand.Text()
	foreign := map[string]string{
		"thesis.txt": "mine", "e1.txt.part": "mine", "movie.part": "mine", "12345.part": "mine", "e2.txt": "written by hand in place of a text", "e9.txt": "Entry e9 of my diary\n",
		"copy of e1.txt": "Entry e1 (message of role user), word for word from line 3 on.\n", "e3.md": "Entry e3 (message), word for word from line 3 on.\n",
		part + ".part.txt": "mine", strings.ToLower(part) + ".part": "mine", "inside/e1.txt": "mine", "empty.txt": "", "id-00.txt": "Entry \"a\" (message), word for word from line 3 on.",
	}
	for rule, o := range map[string]history.Options{
		"by default": {}, "without texts": {File: storage.FileOptions{NoTexts: true}}, "with the tools of recall": {Recall: true},
	} {
		for _, place := range []string{"in the folder", "behind a link in its place", "behind links in the folder", "a file in its place"} {
			for _, died := range []bool{true, false} {
				t.Run(rule+", "+place, func(t *testing.T) {
					t.Parallel()
					path, elsewhere := tempFile(t), t.TempDir()
					texts := path + ".texts"
					s := opened(t, path)
					require.NoError(t, s.Append(t.Context(), lengthy("one"), chat.AssistantMessage("x"), lengthy("two")))
					require.NoError(t, s.Close())
					folder := elsewhere
					switch place {
					case "in the folder":
						folder = texts
					case "behind a link in its place":
						require.NoError(t, os.RemoveAll(texts))
						require.NoError(t, os.Symlink(elsewhere, texts))
					case "a file in its place":
						require.NoError(t, os.RemoveAll(texts))
						sure.Write(t, texts, "mine")
					}
					for name, text := range foreign {
						sure.Write(t, filepath.Join(folder, name), text)
					}
					if place == "behind links in the folder" {
						for name := range foreign {
							_ = os.Remove(filepath.Join(texts, name))
							_ = os.Symlink(filepath.Join(elsewhere, name), filepath.Join(texts, name))
						}
					}
					if died {
						crashed(t, path)
					}
					check := func(after string) {
						got := sure.Tree(t, folder)
						for name, text := range foreign {
							require.Equal(t, text, got[filepath.Join(folder, name)], "%s: %s", after, name)
						}
						if place == "behind a link in its place" || place == "behind links in the folder" {
							require.Len(t, got, len(foreign), "%s: nothing is written through a link", after)
						}
					}
					o.IDs = nil
					s = openedWith(t, path, o)
					check("Open")
					require.NoError(t, s.Append(t.Context(), chat.AssistantMessage("y"), lengthy("three")))
					check("Append")
					if rule == "by default" && (place == "behind a link in its place" || place == "a file in its place") {
						require.ErrorIs(t, s.TextsErr(), storage.ErrForeign)
						e := sessiontest.Entry(t, s, "")
						require.Equal(t, "entry "+e.ID+" of "+path, s.Handle(e, 0, 0), "a mark names what is there")
					}
					erase(t, s, "e1", "e3")
					check("Erase")
					require.NoError(t, s.Remove(t.Context()))
					check("Remove")
					if place == "in the folder" {
						got := sure.Tree(t, texts)
						require.Equal(t, len(foreign), len(got), "what promptree wrote is gone: %v", slices.Collect(maps.Keys(got)))
					}
				})
			}
		}
	}
}

func TestTextsAreRemovedHoweverTheLogWasOpened(t *testing.T) {
	for rule, o := range map[string]history.Options{
		"by default": {}, "without texts": {File: storage.FileOptions{NoTexts: true}}, "with the tools of recall": {Recall: true},
	} {
		t.Run(rule, func(t *testing.T) {
			path := tempFile(t)
			s := opened(t, path)
			added, err := s.Add(t.Context(),
				entry.Entry{ID: "Odd/\n\"id\"", Body: entry.Message{Message: lengthy("one")}}, entry.Entry{Body: entry.Message{Message: lengthy("two")}}, entry.Entry{Body: entry.Message{Message: lengthy("three")}})
			require.NoError(t, err)
			files := []string{s.TextPath(added[0].ID), s.TextPath(added[1].ID), s.TextPath(added[2].ID)}
			for _, f := range files {
				require.FileExists(t, f)
			}
			require.NoError(t, s.Close())
			s = openedWith(t, path, o)
			erase(t, s, added[0].ID, added[1].ID)
			require.NoFileExists(t, files[0])
			require.NoFileExists(t, files[1])
			require.FileExists(t, files[2])
			require.NoError(t, s.Remove(t.Context()))
			require.NoDirExists(t, path+".texts")
		})
	}
}

// textsOf returns the texts that a session should have beside it.
func textsOf(t *testing.T, s *history.Session) map[string]string {
	t.Helper()
	want := map[string]string{}
	for _, e := range all(t, s) {
		if log.HasText(e) {
			want[s.TextPath(e.ID)] = string(e.TextFile())
		}
	}
	return want
}

func TestOpeningBringsTheTextsInStepWithTheLog(t *testing.T) {
	for _, tt := range []struct {
		rule string
		harm func(t *testing.T, path string)
	}{
		{"nothing happened", func(*testing.T, string) {}},
		{"a text was removed", func(t *testing.T, path string) { require.NoError(t, os.Remove(path+".texts/e3.txt")) }},
		{"all texts were removed", func(t *testing.T, path string) { require.NoError(t, os.RemoveAll(path+".texts")) }},
		{"a writer died between the text and the entry", func(t *testing.T, path string) {
			crashed(t, path)
			sure.Write(t, path+".texts/e7.txt", string(entry.Entry{ID: "e7", Body: entry.Message{Message: lengthy("not said")}}.TextFile()))
		}},
		{"a writer died in the middle of a text", func(t *testing.T, path string) {
			crashed(t, path)
			sure.Write(t, path+".texts/.promptree-"+rand.Text()+".part", "Entr")
		}},
		{"a writer died in the middle of an entry that has a text", func(t *testing.T, path string) {
			sure.Write(t, path+".texts/e7.txt", string(entry.Entry{ID: "e7", Body: entry.Message{Message: lengthy("not said")}}.TextFile()))
			sure.Write(t, path, content(t, path)+`{"type":"message","id":"e7"`)
		}},
		{"a writer died in an erasure, before it removed the text", func(t *testing.T, path string) {
			text := content(t, path+".texts/e3.txt")
			s := openedWith(t, path, history.Options{})
			erase(t, s, "e3")
			require.NoError(t, s.Close())
			sure.Write(t, path+".texts/e3.txt", text)
			crashed(t, path)
		}},
		{"a writer died in an erasure, after it removed the text", func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path+".texts/e1.txt"))
			crashed(t, path)
		}},
		{"the texts were off for a while", func(t *testing.T, path string) {
			s := openedWith(t, path, history.Options{Recall: true})
			require.NoError(t, s.Append(t.Context(), lengthy("five")))
			require.NoError(t, s.Close())
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			path := tempFile(t)
			s := opened(t, path)
			require.NoError(t, s.Append(t.Context(), lengthy("one"), chat.AssistantMessage("x"), lengthy("two"), lengthy("three")))
			add(t, s, entry.Compaction{FirstKept: "e4", Messages: []chat.Message{chat.UserMessage("so far")}})
			erase(t, s, "e2")
			require.NoError(t, s.Close())
			tt.harm(t, path)
			s = openedWith(t, path, history.Options{})
			require.NoError(t, s.TextsErr())
			want, got := textsOf(t, s), sure.Tree(t, path+".texts")
			require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
			require.True(t, maps.Equal(want, got))
			require.NoError(t, s.Close())
		})
	}
}

func TestATextOfALineThatCannotBeReadIsKept(t *testing.T) {
	path := tempFile(t)
	s := opened(t, path)
	require.NoError(t, s.Append(t.Context(), lengthy("one"), chat.AssistantMessage("x"), lengthy("two")))
	require.NoError(t, s.Close())
	crashed(t, path)
	sure.Write(t, path, strings.Replace(content(t, path), "one and", "One and", 1))
	before := sure.Tree(t, path+".texts")
	s = openedWith(t, path, history.Options{Salvage: true})
	require.ErrorAs(t, s.TextsErr(), new(*storage.CorruptError))
	require.True(t, maps.Equal(before, sure.Tree(t, path+".texts")))
	require.NoError(t, s.Close())
}
