package copilotcli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/compacttest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestTheRequestShowsTheHistoryAsMessagesAndTheEarlierAccountApart(t *testing.T) {
	p := copilotcli.Prompt()
	m := compacttest.SecondMaterial()
	m.Covered = slices.Insert(slices.Clone(m.Covered), 1, chat.SystemMessage("Be careful."))
	got := compacttest.MustRenderRequest(t, p.Request(m))
	compacttest.Equal(t, m.System, got[:1])
	require.NotContains(t, compacttest.Text(got), "Be careful.", "system messages are not summarised")
	compacttest.Equal(t, append(m.Covered[:1:1], m.Covered[2:]...), got[1:len(got)-1])
	last := got[len(got)-1].Text()
	require.True(t, strings.HasPrefix(last, "<conversation-compaction>\n"), last)
	require.True(t, strings.HasSuffix(last, "\n</conversation-compaction>"), last)

	for rule, previous := range map[string]func(*policy.Material){
		"the account is the earlier summary": func(m *policy.Material) { m.Previous = nil },
		"or is found in its replacement":     func(m *policy.Material) { m.PreviousSummary = "" },
		"in whatever form": func(m *policy.Material) {
			m.PreviousSummary, m.Previous = "", []chat.Message{chat.UserMessage(m.PreviousSummary)}
		},
	} {
		t.Run(rule, func(t *testing.T) {
			m := compacttest.SecondMaterial()
			previous(&m)
			got := compacttest.MustRenderRequest(t, p.Request(m))
			require.Contains(t, got[len(got)-1].Text(), "<previous-summary>\n## Goal\n\nYou started a project in")
			require.Len(t, got, len(m.Covered)+2, "the account is not a message")
		})
	}
}

func TestPartsOfASessionAreLeftOutInOrderAndTheSummaryStays(t *testing.T) {
	fill := strings.Repeat(" and so on", 12)
	m := compacttest.SummarizedMaterial()
	m.Said, m.Reminder, m.Breadcrumb = nil, "", policy.Breadcrumb{}
	for n := range 3 {
		m.Said = append(m.Said, chat.UserMessage(fmt.Sprintf("U%d%s", n+1, fill)))
	}
	m.Workspace = policy.Workspace{
		Plan: "PLAN" + fill, Todo: "TODO" + fill, Agent: "AGENT" + fill,
		Skills: []policy.Skill{{Name: "NAME1", Instructions: "SKILL1" + fill}, {Name: "NAME2", Instructions: "SKILL2" + fill}},
	}
	marks := []string{"U1", "U2", "U3", "PLAN", "TODO", "NAME1", "SKILL1", "SKILL2", "AGENT"}
	m.Room = 4000
	tree := copilotcli.CompactedSession{}.Replacement(m)
	var seen []string
	for budget := 4000; budget > 0; budget-- {
		r, err := render.Render(t.Context(), tree, render.Options{Budget: budget, Tokenizer: compacttest.Quarter{}})
		if err != nil {
			break
		}
		got := compacttest.Text(r.Messages)
		got = strings.ReplaceAll(got, `<skill name="NAME1">`, "") // the names are also in a line of their own
		if left := compacttest.MarksIn(got, marks...); len(seen) == 0 || left != seen[len(seen)-1] {
			seen = append(seen, left)
		}
	}
	require.Equal(t, []string{
		"U1 U2 U3 PLAN TODO NAME1 SKILL1 SKILL2 AGENT", "U1 U2 U3 PLAN TODO NAME1 SKILL2 AGENT", "U1 U2 U3 PLAN TODO NAME1 AGENT",
		"U1 U3 PLAN TODO NAME1 AGENT", "U1 PLAN TODO NAME1 AGENT", "PLAN TODO NAME1 AGENT", "PLAN TODO NAME1", "TODO NAME1", "NAME1", "",
	}, seen)
}

func TestASessionHasCopiesOfTheUsersMessages(t *testing.T) {
	users := func(n, tokens int) []chat.Message {
		list := make([]chat.Message, n)
		for i := range list {
			list[i] = chat.UserMessage(fmt.Sprintf("U%d %s", i+1, compacttest.Words(tokens-1)))
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
		{"all if there is room", copilotcli.CompactedSession{}, users(3, 100), "U1 U2 U3", ""},
		{"none if none is covered", copilotcli.CompactedSession{}, nil, "", ""},
		{"the first and the newest if there is less room", copilotcli.CompactedSession{}, users(9, 100), "U1 U5 U6 U7 U8 U9", "[3 messages of the user left out here]"},
		{"fewer if UserShare is lower", copilotcli.CompactedSession{UserShare: 0.11}, users(9, 100), "U1 U9", "[7 messages of the user left out here]"},
		{"a long message is cut", copilotcli.CompactedSession{}, users(1, 700), "U1", "tokens cut here"},
		{"a message is cut to UserTokens", copilotcli.CompactedSession{UserTokens: 50}, users(3, 100), "U1 U2 U3", "tokens cut here"},
		{"none if not even the first has room", copilotcli.CompactedSession{UserShare: 0.01}, users(2, 100), "", ""},
		{"a picture is named", copilotcli.CompactedSession{}, []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: "https://example.com/U1.png"}}}}, "U1", "[attached: image https://example.com/U1.png]"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m := policy.Material{
				Summary: "S", Covering: policy.Covering{Said: c.users},
				Sizes: policy.Sizes{Tokenizer: compacttest.Quarter{}, Room: 2000},
			}
			got := compacttest.FormatReplacement(t, c.session.Replacement, m)
			require.Equal(t, c.want, compacttest.MarksIn(got, "U1", "U2", "U3", "U4", "U5", "U6", "U7", "U8", "U9"))
			require.Contains(t, got, c.note)
			require.Equal(t, c.want != "", strings.Contains(got, "<user-messages>"))
			if c.note == "" {
				require.NotContains(t, got, "left out")
				require.NotContains(t, got, "cut here")
			}
		})
	}
}
