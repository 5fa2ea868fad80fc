package copilotcli_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestTheRequestShowsTheEarlierAccountApart(t *testing.T) {
	p := copilotcli.Policy().Ask.Prompts[0]
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
	m.Said, m.Reminder, m.Breadcrumb = []chat.Message{chat.UserMessage("USER")}, "", policy.Breadcrumb{}
	m.Workspace = policy.Workspace{
		Plan: "PLAN" + fill, Todo: "TODO" + fill, Agent: "AGENT" + fill,
		Skills: []policy.InvokedSkill{{Name: "NAME1", Instructions: "SKILL1" + fill}, {Name: "NAME2", Path: "PATH2", Instructions: "SKILL2" + fill}},
	}
	marks := []string{"USER", "PLAN", "TODO", "NAME1", "SKILL1", "NAME2 (PATH2)", "SKILL2", "AGENT"}
	m.Room = 4000
	tree := copilotcli.CompactedSession{}.Replacement(m)
	var seen []string
	for budget := 4000; budget > 0; budget-- {
		r, err := render.Render(t.Context(), tree, render.Options{Budget: budget, Tokenizer: compacttest.Quarter{}})
		if err != nil {
			break
		}
		got := compacttest.Text(r.Messages)
		require.Contains(t, got, m.Summary)
		if left := compacttest.MarksIn(got, marks...); len(seen) == 0 || left != seen[len(seen)-1] {
			seen = append(seen, left)
		}
	}
	require.Equal(t, []string{
		"USER PLAN TODO NAME1 NAME2 (PATH2) SKILL2 AGENT", "USER PLAN TODO NAME1 NAME2 (PATH2) AGENT",
		"PLAN TODO NAME1 NAME2 (PATH2) AGENT", "PLAN TODO NAME1 NAME2 (PATH2)", "TODO NAME1 NAME2 (PATH2)", "NAME1 NAME2 (PATH2)", "",
	}, seen)
}

// said returns user messages of that many characters, each of which begins with its number.
func said(lengths ...int) []chat.Message {
	list := make([]chat.Message, len(lengths))
	for i, n := range lengths {
		list[i] = chat.UserMessage(fmt.Sprintf("%03d%s", i+1, strings.Repeat("ö", n-3)))
	}
	return list
}

// material returns a material with what the user said, of which left more messages are not known, and room in tokens.
func material(said []chat.Message, left, room int) policy.Material {
	return policy.Material{
		Summary: "S", Said: said, SaidLeft: left, Tokenizer: compacttest.Quarter{}, Room: room,
	}
}

// copied returns the copies in a replacement, as the number of the message and its characters, with + for the mark of a
// cut, and the number of messages that are left out, in parentheses.
func copied(t *testing.T, m policy.Material) string {
	t.Helper()
	text := compacttest.FormatReplacement(t, copilotcli.CompactedSession{}.Replacement, m)
	_, text, _ = strings.Cut(text, "<user-messages>\n")
	text, _, _ = strings.Cut(text, "\n</user-messages>")
	var list []string
	for line := range strings.SplitSeq(text, "\n") {
		var left int
		switch n, _ := fmt.Sscanf(line, "... %d messages of the user omitted ...", &left); {
		case n == 1:
			list = append(list, fmt.Sprintf("(%d)", left))
		case line != "" && line[0] != '<':
			words, cut := strings.CutSuffix(line, "...<truncated>...")
			list = append(list, fmt.Sprintf("%s:%d%s", words[:min(3, len(words))], utf8.RuneCountInString(line), map[bool]string{true: "+"}[cut]))
		}
	}
	return strings.Join(list, " ")
}

// times returns a list with a number that many times.
func times(n, number int) []int { return slices.Repeat([]int{number}, n) }

// How many of them, and how long, the published program says, see below.
func TestASessionHasCopiesOfTheUsersMessages(t *testing.T) {
	require.Empty(t, copied(t, material(nil, 0, 20_000)), "none if none is covered")
	require.Equal(t, "001:10 (989) 984:10 985:10 986:10 987:10 988:10 989:10 990:10 991:10 992:10 993:10 994:10 995:10 996:10 997:10 998:10 999:10",
		copied(t, material(said(times(999, 10)...), 7, 20_000)), "those that are known no more are counted, and are after the first")
	m := material([]chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: "https://example.com/U1.png"}}}}, 0, 2000)
	require.Contains(t, compacttest.FormatReplacement(t, copilotcli.CompactedSession{}.Replacement, m), "[attached: image https://example.com/U1.png]")
}

// published returns the copies that the published program (@github/copilot 1.0.40) makes of messages of these lengths,
// in the form of copied.
func published(lengths []int) string {
	one := func(i, n int) string {
		if n < lengths[i] {
			return fmt.Sprintf("%03d:%d+", i+1, n)
		}
		return fmt.Sprintf("%03d:%d", i+1, n)
	}
	share := 0.8
	total := 0
	for _, n := range lengths {
		total += n
	}
	var list []string
	switch {
	case len(lengths) == 1:
		return one(0, min(30_000, total))
	case len(lengths) <= 20 && total <= 30_000:
		for i, n := range lengths {
			list = append(list, one(i, n))
		}
		return strings.Join(list, " ")
	}
	oldest := int(math.Floor(30_000 * (1 - share)))
	newest := 30_000 - oldest
	end, taken := len(lengths), 0
	for end > 0 && len(lengths)-end < int(math.Floor(20*share)) && taken+lengths[end-1] <= newest {
		end--
		taken += lengths[end]
		list = append([]string{one(end, lengths[end])}, list...)
	}
	if end == len(lengths) {
		end--
		list = []string{one(end, newest)}
	}
	var first []string
	start, taken := 0, 0
	for start < end && start < max(1, int(math.Floor(20*(1-share)))) && taken+lengths[start] <= oldest {
		taken += lengths[start]
		first = append(first, one(start, lengths[start]))
		start++
	}
	if start == 0 && end > 0 {
		first = []string{one(0, oldest)}
		start = 1
	}
	if start < end {
		first = append(first, fmt.Sprintf("(%d)", end-start))
	}
	return strings.Join(append(first, list...), " ")
}

func TestCopiesOfAnyMessagesAreThePublishedPrograms(t *testing.T) {
	cases := [][]int{ // on both sides of each limit
		{29_000, 600, 400}, {29_000, 600, 401}, times(20, 10), times(23, 10), {30_001}, {3000, 2999, 3, 1000, 12_001, 12_000},
		{3000, 2999, 3, 1000, 12_002, 12_000}, {3000, 3000, 3, 1000, 12_001, 12_000}, {10, 6000, 10, 10, 24_001, 10}, {100, 29_901}, {6000, 10, 24_000},
	}
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 26))
		lengths := make([]int, 1+r.IntN(40))
		most := []int{100, 2000, 10_000, 40_000}[r.IntN(4)]
		for i := range lengths {
			lengths[i] = 3 + r.IntN(most)
			if r.IntN(4) == 0 {
				lengths[i] = 600 * (1 + r.IntN(10))
			}
		}
		cases = append(cases, lengths)
	}
	for _, lengths := range cases {
		require.Equal(t, published(lengths), copied(t, material(said(lengths...), 0, 50_000)), "%v", lengths)
	}
}

func TestInASmallRoomCopiesFollowTheSameRulesWithFewerCharacters(t *testing.T) {
	for room := 150; room < 9000; room += 150 {
		for rule, users := range map[string][]chat.Message{
			"a huge first message":  said(50_000, 30, 40),
			"a huge newest message": said(30, 40, 50_000),
			"many messages":         said(times(100, 500)...),
		} {
			got := strings.Fields(copied(t, material(users, 0, room)))
			require.NotEmpty(t, got, "%s in %d tokens", rule, room)
			require.Equal(t, "001", got[0][:3], "%s in %d tokens: %s", rule, room, got)
			require.Equal(t, fmt.Sprintf("%03d", len(users)), got[len(got)-1][:3], "%s in %d tokens: %s", rule, room, got)
		}
	}
}
