package instructions_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/sources/instructions"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// An agent works for 100 steps in a small window, with compactions, a restart every 30 steps, and a file that changes
// every 25.
func TestInstructionsOutliveCompactionsAndRestartsAndChangeThePrefixOnlyWhereTheyMust(t *testing.T) {
	for name, late := range map[string]bool{"at their places": false, "at the end until the next compaction": true} {
		t.Run(name, func(t *testing.T) {
			const budget = 4000
			rules := func(version int) string {
				return fmt.Sprintf("Rules of version %d. %s", version, strings.Repeat("Be brief. ", 50))
			}
			fsys := project(map[string]string{"AGENTS.md": rules(0), "a/CLAUDE.md": "See @x.md", "a/x.md": "imported text"})
			log := filepath.Join(t.TempDir(), "session.jsonl")
			compactions, changed, fronts := 0, 0, map[string]int{}
			front, mayChange := "", true
			var session *history.Session
			var compactor *summarize.Compactor
			var prompt el.Nodes
			open := func() {
				session = sessiontest.Open(t, log, history.Options{})
				files := &instructions.Files{FS: fsys, Dir: "a", OnChange: func([]string) { changed++ }}
				if late {
					files.Session = session
				}
				prompt = el.Prompt(
					el.User(files), history.Conversation{Session: session}, history.TurnStart{Session: session}, history.TurnRounds{Session: session},
					instructions.Changes{Files: files},
				)
				compactor = &summarize.Compactor{
					Session: session, Policy: compacttest.Unjudged(copilotchat.Policy()),
					Target: policy.Target{Model: models.Offline{Tokenizer: sizingtest.Quarter{}}, Tokenizer: sizingtest.Quarter{}, Budget: budget},
					Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
						if e.Kind == event.Done {
							compactions++
							mayChange = mayChange || late
						}
					})},
				}
				mayChange = mayChange || late // what changed is at its place again
			}
			end := func() {
				require.NoError(t, compactor.Close())
				require.NoError(t, session.Close())
			}
			open()
			for step := range 100 {
				if step%25 == 24 {
					fsys["AGENTS.md"] = &fstest.MapFile{Data: []byte(rules(step/25 + 1))}
					mayChange = mayChange || !late
				}
				if step%30 == 29 {
					end()
					open()
				}
				require.NoError(t, session.Append(t.Context(), chat.UserMessage(fmt.Sprintf("question %d %s", step, strings.Repeat("word ", 150)))))
				result, err := compactor.Render(t.Context(), prompt)
				require.NoError(t, err)
				require.LessOrEqual(t, result.Tokens, budget)
				where := compactor.Breakdown(t.Context())
				require.Equal(t, result.Tokens, where.Instructions+where.History)
				var all strings.Builder
				for _, m := range result.Messages {
					all.WriteString(m.Text())
				}
				require.Contains(t, all.String(), rules((step+1)/25), "step %d", step)
				require.Contains(t, all.String(), imported("a/x.md", "imported text"))
				if text := result.Messages[0].Text(); text != front {
					require.True(t, mayChange, "step %d", step)
					front, mayChange = text, false
					fronts[text]++
				}
				require.NoError(t, session.Append(t.Context(), chat.AssistantMessage(fmt.Sprintf("answer %d", step))))
			}
			end()
			require.Greater(t, compactions, 3)
			require.Positive(t, changed)
			require.GreaterOrEqual(t, len(fronts), 4, "each version was shown at its place")
			for _, times := range fronts {
				require.Equal(t, 1, times, "no version came back")
			}
		})
	}
}
