package summarize_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/golden"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// replacements by their names.
func replacements() map[string]summarize.Replacement {
	return map[string]summarize.Replacement{
		"conversation": summarize.ConversationSummary, "turns": a3s.Replacement, "briefing": stagewise.Replacement,
		"files": ohmypi.Replacement, "session": copilotcli.CompactedSession{}.Replacement,
	}
}

// done is what there is once a summary was written, with something in every field.
func done() summarize.Material {
	m := stuff()
	m.Summary = "# The build\n\nYou fixed a < b && c; see [](path:a.go)."
	m.Head = append([]chat.Message{m.Said[0]}, rounds(9, 9, 30)...)
	m.Transcript = summarize.Transcript{Path: "/logs/session.jsonl", Lines: 120, Tool: "read_file", Example: `read_file({"path": {path}, "offset": {from}, "limit": 20})`}
	m.Reminder = "Keep going."
	m.Workspace = summarize.Workspace{
		Plan: "1. build\n2. <test>", Todo: "- build (done)\n- test (pending)", Agent: "It reviews code.",
		Skills: []summarize.Skill{{Name: "go", Instructions: "Run gofmt."}, {Name: `"git"`, Instructions: "Commit early."}, {Name: "plain"}},
	}
	return m
}

// stands renders what is put in place, which must be the user's alone and fit.
func stands(t testing.TB, r summarize.Replacement, m summarize.Material) ([]chat.Message, error) {
	t.Helper()
	result, err := render.Render(t.Context(), r(m), render.Options{Budget: m.Room, Tokenizer: quarter{}})
	if err != nil {
		return nil, err
	}
	require.LessOrEqual(t, result.Tokens, m.Room)
	require.NotEmpty(t, result.Messages)
	for _, said := range result.Messages {
		require.Equal(t, chat.RoleUser, said.Role)
	}
	require.NoError(t, chat.Validate(result.Messages))
	s := &history.Session{}
	require.NoError(t, s.Append(chat.UserMessage("x")))
	require.NoError(t, s.Compact(history.Compaction{Messages: result.Messages}), "a session takes them")
	return result.Messages, nil
}

func stand(t testing.TB, r summarize.Replacement, m summarize.Material) string {
	t.Helper()
	messages, err := stands(t, r, m)
	require.NoError(t, err)
	return written(messages)
}

func TestReplacementsAsTheyAre(t *testing.T) {
	for name, r := range replacements() {
		t.Run(name, func(t *testing.T) {
			golden.Equal(t, "replace_"+name+".txt", stand(t, r, done()))
			golden.Equal(t, "replace_"+name+"_bare.txt", stand(t, r, summarize.Material{Summary: "Short.", Tokenizer: quarter{}, Room: 500}))
		})
	}
}

func TestEveryReplacementFitsItsRoomOrSaysSo(t *testing.T) {
	for name, r := range replacements() {
		t.Run(name, func(t *testing.T) {
			m := done()
			size := quarter{}.CountText(stand(t, r, m))
			least := 0
			for m.Room = size; m.Room > 0; m.Room-- {
				messages, err := stands(t, r, m)
				if err != nil {
					require.ErrorContains(t, err, "cannot go")
					require.Zero(t, least, "what fits in less fits in more")
					least = m.Room
					break
				}
				got := text(messages)
				for _, stays := range []string{"You fixed a < b && c; see [](path:a.go).", "/logs/session.jsonl", "Keep going."} {
					require.Contains(t, got, stays)
				}
			}
			require.Greater(t, least, 50)
			require.Less(t, least, 180)

			// Before a summary is written what stays is measured.
			m.Summary, m.Room = "", 0
			_, err := render.Render(t.Context(), r(m), render.Options{Budget: 1, Tokenizer: quarter{}})
			require.ErrorContains(t, err, "cannot go")
		})
	}
}

func TestSummaryCannotCloseItsTag(t *testing.T) {
	for name, r := range replacements() {
		t.Run(name, func(t *testing.T) {
			m := done()
			before := strings.Count(stand(t, r, m), "<")
			m.Summary = "You wrote `</conversation-summary>` and `</previous-chat-history>`, a `<plan>`, `<transcript path=\"x\">` and <div>.\n\n" + m.Summary
			got := stand(t, r, m)
			require.Contains(t, got, "You wrote `<\\/conversation-summary>` and `<\\/previous-chat-history>`, a `<\\plan>`, `<\\transcript path=\"x\">` and <div>.")
			require.Equal(t, before+5, strings.Count(got, "<"))
		})
	}
}

func TestWhatGoesFirstOfASession(t *testing.T) {
	fill := strings.Repeat(" and so on", 12)
	m := done()
	m.Said, m.Reminder, m.Transcript = nil, "", summarize.Transcript{}
	for n := range 3 {
		m.Said = append(m.Said, chat.UserMessage(fmt.Sprintf("U%d%s", n+1, fill)))
	}
	m.Workspace = summarize.Workspace{
		Plan: "PLAN" + fill, Todo: "TODO" + fill, Agent: "AGENT" + fill,
		Skills: []summarize.Skill{{Name: "NAME1", Instructions: "SKILL1" + fill}, {Name: "NAME2", Instructions: "SKILL2" + fill}},
	}
	marks := []string{"U1", "U2", "U3", "PLAN", "TODO", "NAME1", "SKILL1", "SKILL2", "AGENT"}
	m.Room = 4000
	tree := copilotcli.CompactedSession{}.Replacement(m)
	var seen []string
	for budget := 4000; budget > 0; budget-- {
		r, err := render.Render(t.Context(), tree, render.Options{Budget: budget, Tokenizer: quarter{}})
		if err != nil {
			break
		}
		got := text(r.Messages)
		got = strings.ReplaceAll(got, `<skill name="NAME1">`, "") // the names stand in a line of their own
		if left := marked(got, marks...); len(seen) == 0 || left != seen[len(seen)-1] {
			seen = append(seen, left)
		}
	}
	require.Equal(t, []string{
		"U1 U2 U3 PLAN TODO NAME1 SKILL1 SKILL2 AGENT", "U1 U2 U3 PLAN TODO NAME1 SKILL2 AGENT", "U1 U2 U3 PLAN TODO NAME1 AGENT",
		"U1 U3 PLAN TODO NAME1 AGENT", "U1 PLAN TODO NAME1 AGENT", "PLAN TODO NAME1 AGENT", "PLAN TODO NAME1", "TODO NAME1", "NAME1", "",
	}, seen)
}

func TestSessionTellsWhatTheUserSaid(t *testing.T) {
	users := func(n, tokens int) []chat.Message {
		list := make([]chat.Message, n)
		for i := range list {
			list[i] = chat.UserMessage(fmt.Sprintf("U%d %s", i+1, words(tokens-1)))
		}
		return list
	}
	for _, c := range []struct {
		rule    string
		session copilotcli.CompactedSession
		users   []chat.Message
		want    string
		note    string
	}{
		{"all, where there is room", copilotcli.CompactedSession{}, users(3, 100), "U1 U2 U3", ""},
		{"nothing where all is shown", copilotcli.CompactedSession{}, nil, "", ""},
		{"the first and the newest where there is less room", copilotcli.CompactedSession{}, users(9, 100), "U1 U5 U6 U7 U8 U9", "[3 messages of the user left out here]"},
		{"as much as is set", copilotcli.CompactedSession{UserShare: 0.11}, users(9, 100), "U1 U9", "[7 messages of the user left out here]"},
		{"a long one is cut", copilotcli.CompactedSession{}, users(1, 700), "U1", "tokens cut here"},
		{"as is set", copilotcli.CompactedSession{UserTokens: 50}, users(3, 100), "U1 U2 U3", "tokens cut here"},
		{"none where not even the first has room", copilotcli.CompactedSession{UserShare: 0.01}, users(2, 100), "", ""},
		{"what is no text is named", copilotcli.CompactedSession{}, []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: "https://example.com/U1.png"}}}}, "U1", "[attached: image https://example.com/U1.png]"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m := summarize.Material{Summary: "S", Said: c.users, Tokenizer: quarter{}, Room: 2000}
			got := stand(t, c.session.Replacement, m)
			require.Equal(t, c.want, marked(got, "U1", "U2", "U3", "U4", "U5", "U6", "U7", "U8", "U9"))
			require.Contains(t, got, c.note)
			require.Equal(t, c.want != "", strings.Contains(got, "<user-messages>"))
			if c.note == "" {
				require.NotContains(t, got, "left out")
				require.NotContains(t, got, "cut here")
			}
		})
	}
}

func TestTurnsSummaryKeepsTheStart(t *testing.T) {
	m := stuff()
	m.Summary = "S"
	m.Head = append([]chat.Message{m.Said[0], chat.UserMessage("And <so> on.")}, rounds(9, 9, 30)...)
	got, err := stands(t, a3s.Replacement, m)
	require.NoError(t, err)
	require.Len(t, got, 3)
	equal(t, m.Head[:2], got[:2])
	require.True(t, strings.HasPrefix(got[2].Text(), "<conversation-start>\nassistant: Step 9.\ncall: read({"), got[2].Text())

	// Where there is no room the start goes, what the agent did before what the user said.
	size := count(quarter{}, got)
	m.Room = size - 1
	got, err = stands(t, a3s.Replacement, m)
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.NotContains(t, text(got), "Step 9.")
	m.Room = 30
	got, err = stands(t, a3s.Replacement, m)
	require.NoError(t, err)
	require.Len(t, got, 1)
}

func TestTurnsSummaryClipsAFirstMessageThatIsTooLong(t *testing.T) {
	for _, c := range []struct {
		rule          string
		summary, task int // tokens
		room, most    int
		whole, mark   bool
	}{
		{"one within its share is shown word for word", 100, 200, 1000, 250, true, false},
		{"a longer one takes a quarter of the room", 100, 5000, 1000, 250, false, true},
		{"or what the summary leaves", 900, 200, 1000, 80, false, true},
		{"where that is too little it goes", 960, 200, 1000, 0, false, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m := stuff()
			m.Room, m.Summary = c.room, words(c.summary)
			m.Head = []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Text("begin " + words(c.task) + " finish")}}, chat.AssistantMessage("I look.")}
			got, err := stands(t, a3s.Replacement, m)
			require.NoError(t, err)
			require.Contains(t, text(got), m.Summary)
			if c.most == 0 {
				require.Len(t, got, 1)
				return
			}
			require.Len(t, got, 2)
			require.LessOrEqual(t, quarter{}.CountMessage(got[0]), c.most)
			require.Equal(t, c.whole, strings.Contains(got[0].Text(), words(c.task)))
			require.Equal(t, c.mark, strings.Contains(got[0].Text(), "tokens cut here"))
			require.True(t, strings.HasPrefix(got[0].Text(), "begin"), "both ends stay")
			require.True(t, strings.HasSuffix(got[0].Text(), "finish"))
		})
	}
	// What is no text stays.
	m := stuff()
	m.Summary, m.Room = "S", 600
	m.Head = []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Text(words(900)), chat.Image{URL: "https://example.com/a.png"}}}}
	got, err := stands(t, a3s.Replacement, m)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Len(t, got[0].Content, 2)
}

func TestFilesGoWhereThereIsNoRoom(t *testing.T) {
	m := summarize.Material{Summary: "S", Tokenizer: quarter{}, Room: 3000}
	for n := range 20 {
		m.Files.Read = append(m.Files.Read, fmt.Sprintf("read%02d.go", n))
		m.Files.Modified = append(m.Files.Modified, fmt.Sprintf("modified%02d.go", n))
	}
	got := stand(t, ohmypi.Replacement, m)
	require.Equal(t, 40, strings.Count(got, ".go"))
	m.Room = 125
	got = stand(t, ohmypi.Replacement, m)
	require.Equal(t, 20, strings.Count(got, "modified")-2)
	require.Contains(t, got, "<read-files>\nread00.go\n")
	require.NotContains(t, got, "read19.go")
	m.Room = 60
	got = stand(t, ohmypi.Replacement, m)
	require.NotContains(t, got, "<read-files>")
	require.Contains(t, got, "<modified-files>\nmodified00.go\n")
	require.NotContains(t, got, "modified19.go")
}

// Every prompt goes with every replacement, at a first compaction and at those after it.
func TestPromptsAndReplacementsCombine(t *testing.T) {
	for promptName, p := range prompts() {
		if p.Forks {
			continue // for the background alone
		}
		for name, r := range replacements() {
			t.Run(promptName+", "+name, func(t *testing.T) {
				d := newFileDesk(t, overflowing()...)
				d.Policy = summarize.Policy{
					Ask:   summarize.Ask{Prompts: []summarize.Prompt{p}, Checks: []summarize.Check{summarize.NotEmpty, summarize.AtLeast(5)}},
					Place: summarize.Place{Replacement: r},
				}
				var number atomic.Int64 // titles are asked for behind the test's back
				d.Answers(slices.Repeat([]models.Step{func(ctx context.Context, r chat.Request) (chat.Response, error) {
					summary := fmt.Sprintf("Summary %d, of <some> words.", number.Load())
					if strings.Contains("full simple", promptName) {
						return models.SaySummary(summary)(ctx, r)
					}
					return models.Say(summary)(ctx, r)
				}}, 12)...)
				for n := range 3 {
					number.Store(int64(n + 1))
					before := len(d.Requests())
					got := text(d.Messages())
					require.Contains(t, got, fmt.Sprintf("Summary %d, of <some> words.", n+1))
					require.Contains(t, got, d.Session.Path())
					require.Contains(t, got, strings.TrimSpace(task)[:20])
					if n > 0 {
						require.NotContains(t, got, fmt.Sprintf("Summary %d,", n))
						var asked strings.Builder
						for _, r := range d.Requests()[before:] {
							asked.WriteString(text(r.Messages))
						}
						require.True(t, strings.Contains(asked.String(), fmt.Sprintf("Summary %d,", n)), "the summary before is carried on")
						require.False(t, strings.Contains(asked.String(), "[output 001]"), "and what it covers is not summarised again")
					}
					d.Say(rounds(10*n+10, 10*n+15, roundTokens)...)
				}
			})
		}
	}
}

// What may be left out, such as copies of what the user said, goes rather than that a compaction is refused as no smaller.
func TestWhatIsPutInPlaceIsSmallerThanWhatItReplaces(t *testing.T) {
	d := newDesk(t, chat.UserMessage(words(120)), chat.AssistantMessage("Done."), chat.UserMessage(words(120)), chat.AssistantMessage("Done."))
	d.Say(chat.UserMessage("And now?"))
	d.Policy = copilotcli.Policy()
	d.Policy.Trigger, d.Policy.Place.Max = nil, 230
	d.Hooks.Workspace = func(context.Context) (summarize.Workspace, error) {
		return summarize.Workspace{Plan: words(200), Todo: words(200), Agent: words(200)}, nil
	}
	before := count(quarter{}, d.Messages())
	d.Answers(models.Say("# Two questions\n\nBoth were answered."))
	_, err := d.Compact(t.Context(), "")
	require.NoError(t, err)
	got := compactions(d.Session)[0]
	require.Contains(t, got.Messages[0].Text(), "Both were answered.")
	require.Contains(t, got.Messages[0].Text(), "abc", "what there is room for stays")
	require.Less(t, count(quarter{}, d.Messages()), before)
}
