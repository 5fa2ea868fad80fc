package summarize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// requestsOf returns the prompts by their modes.
func requestsOf() map[string]policy.Prompt {
	return map[string]policy.Prompt{
		"full": prompts.FullPrompt(), "simple": prompts.SimplePrompt(), "fork": prompts.ForkPrompt(),
		"turns": a3s.Policy().Ask.Prompts[0], "conversation-compaction": copilotcli.Policy().Ask.Prompts[0],
		"briefing": stagewise.Briefing{}.Prompt(), "handoff": ohmypi.Handoff{}.Prompt(), "branch": prompts.BranchPrompt(),
	}
}

func TestPromptsMatchTheirGoldenFiles(t *testing.T) {
	for name, p := range requestsOf() {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, name, string(p.Mode))
			golden.Equal(t, "prompt_"+name+".txt", format(mustRenderRequest(t, p.Request(firstMaterial()))))
			golden.Equal(t, "prompt_"+name+"_again.txt", format(mustRenderRequest(t, p.Request(secondMaterial()))))
		})
	}
	handoff := ohmypi.Handoff{}.Prompt()
	golden.Equal(t, "prompt_handoff_prefix.txt", format(mustRenderRequest(t, handoff.Prefix(secondMaterial()))))
	m := secondMaterial()
	m.Summary = "## Goal\n\nFix the <build>."
	golden.Equal(t, "prompt_handoff_title.txt", format(mustRenderRequest(t, handoff.Title(m))))
}

func TestEveryPromptHasTheInstructionsTheContextAndTheRoom(t *testing.T) {
	for name, p := range requestsOf() {
		t.Run(name, func(t *testing.T) {
			got := text(mustRenderRequest(t, p.Request(secondMaterial())))
			for _, want := range []string{"Mind the flags.", "The client is Ada.", "You may not call tools.", "1500 tokens"} {
				require.Contains(t, got, want)
			}
			require.Contains(t, text(mustRenderRequest(t, p.Request(firstMaterial()))), "room for 1500 tokens")
		})
	}
}

// A request that does not fit is an error, and is then made in segments. A prompt that packs leaves out the oldest work
// instead.
func TestARequestFitsOrIsAnError(t *testing.T) {
	m := firstMaterial()
	for n := range 30 {
		m.Covered = append(m.Covered, rounds(10*n+10, 10*n+12, 60)...)
		m.Covered = append(m.Covered, chat.UserMessage(fmt.Sprintf("More of %d.", n)))
	}
	m.Sent = m.Covered
	all := requestsOf()
	all["briefing, packed"] = stagewise.Briefing{Packs: true}.Prompt()
	all["handoff, packed"] = ohmypi.Handoff{Packs: true}.Prompt()
	for name, p := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			size := count(quarter{}, mustRenderRequest(t, p.Request(m)))
			packs := p.Mode == policy.ModeSimple || p.Mode == prompts.ModeBranch || strings.HasSuffix(name, "packed")
			fits := 0
			for window := size; window > size/3; window -= 37 * 400 / extremes.Cases(400) {
				_, err := renderRequest(t, p.Request(m), window)
				if err == nil {
					fits++
					continue
				}
				require.ErrorContains(t, err, "cannot be removed")
			}
			if packs {
				require.Greater(t, fits, extremes.Cases(12))
			} else {
				require.Equal(t, 1, fits)
			}
		})
	}
}

func TestForkSendsTheAgentsRequestAgain(t *testing.T) {
	p := prompts.ForkPrompt()
	require.True(t, p.Tools, "tools are declared as in the agent's request")
	m := firstMaterial()
	got := mustRenderRequest(t, p.Request(m))
	equal(t, m.Sent, got[:len(got)-1])
	require.Equal(t, chat.RoleUser, got[len(got)-1].Role)
	require.Contains(t, got[len(got)-1].Text(), "<summary> block")

	require.Equal(t, policy.AnswerForm{Tag: "summary"}, p.Asked)

	m.Sent = nil
	equal(t, mustRenderRequest(t, prompts.FullPrompt().Request(m)), mustRenderRequest(t, p.Request(m)))
}

func TestCharactersAreMeasuredOnTheConversation(t *testing.T) {
	for _, c := range []struct {
		rule string
		said []chat.Message
		want int // of 1000 tokens
	}{
		{"four to a token of English", []chat.Message{chat.UserMessage(words(200)), chat.AssistantMessage(words(200))}, 4000},
		{"fewer to a token of Chinese", []chat.Message{chat.UserMessage(strings.Repeat("修复构建", 200))}, 1333},
		{"tool output does not count", append([]chat.Message{chat.UserMessage(strings.Repeat("修复构建", 200))}, rounds(1, 9, 300)...), 1339},
		{"tool output counts if there is little else", append([]chat.Message{chat.UserMessage("Go.")}, rounds(1, 9, 300)...), 3900},
		{"no conversation counts as English", nil, 4000},
		{"one character that takes a token", []chat.Message{chat.UserMessage("a")}, 1000},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m := policy.Material{Words: 1000, Tokenizer: quarter{}, Covered: c.said}
			require.InDelta(t, c.want, prompts.Characters(m), 100)
			m.Words = 0
			require.Zero(t, prompts.Characters(m))
		})
	}
	dense := policy.Material{
		Words: 1000, Covered: []chat.Message{chat.UserMessage(words(100))},
	}
	dense.Tokenizer = scaled{by: 100}
	require.Equal(t, 500, prompts.Characters(dense), "at least half a character to a token")
	dense.Tokenizer = nil
	require.Equal(t, 4000, prompts.Characters(dense))
}

// scaled multiplies the counts of quarter by a factor.
type scaled struct {
	quarter
	by int
}

func (s scaled) CountText(text string) int { return s.by * s.quarter.CountText(text) }

func TestEveryPromptNamesTheLanguage(t *testing.T) {
	for name, p := range requestsOf() {
		require.Contains(t, text(mustRenderRequest(t, p.Request(firstMaterial()))), "Write in the language of the conversation", name)
	}
	handoff := ohmypi.Handoff{}.Prompt()
	require.Contains(t, text(mustRenderRequest(t, handoff.Prefix(firstMaterial()))), "Write in the language of the conversation")
	require.Contains(t, text(mustRenderRequest(t, handoff.Title(summarizedMaterial()))), "in the language in which they are written")
	require.Contains(t, text(mustRenderRequest(t, summarize.ShortenRequest(firstMaterial(), "## A\n\nx"))), "Write in the language in which the summary is written")
}

// Requests that show messages leave out pictures, documents, thinking and anything that only a provider reads.
func TestRequestsOfMessagesAreText(t *testing.T) {
	signed := chat.Thinking{Text: "hm", Signature: "s"}
	opaque := chat.Opaque{Value: []byte(`{"x":1}`)}
	picture := chat.Image{URL: "data:image/png;base64,AAAA"}
	covered := []chat.Message{
		{Role: chat.RoleUser, Content: chat.Parts{chat.Text("Look."), picture, chat.NewDocument("application/pdf", []byte("12345")), opaque}},
		{Role: chat.RoleAssistant, Content: chat.Parts{signed, opaque, chat.Text("I look.")}, ToolCalls: []chat.ToolCall{{ID: "a", Name: "shot", Arguments: "{}"}, {ID: "b", Name: "shot", Arguments: "{}"}}},
		{Role: chat.RoleTool, ToolCallID: "a", Content: chat.Parts{picture}},
		{Role: chat.RoleTool, ToolCallID: "b", Content: chat.Parts{opaque}},
		{Role: chat.RoleAssistant, Content: chat.Parts{signed}, ToolCalls: []chat.ToolCall{{ID: "c", Name: "shot", Arguments: "{}"}}},
		chat.ToolResult("c", "done"),
		{Role: chat.RoleAssistant, Content: chat.Parts{signed}},
		{Role: chat.RoleUser, Content: chat.Parts{opaque}},
		chat.AssistantMessage("Done."),
	}
	for _, name := range []string{"full", "fork", "conversation-compaction"} {
		t.Run(name, func(t *testing.T) {
			m := firstMaterial()
			m.Sent, m.Covered = nil, covered
			got := mustRenderRequest(t, requestsOf()[name].Request(m)) // checks that it is valid
			for _, message := range got {
				for _, part := range message.Content {
					require.IsType(t, chat.Text(""), part)
				}
			}
			all := text(got)
			require.Contains(t, all, "[attached: image image/png, 3 bytes]")
			require.Contains(t, all, "[attached: document application/pdf, 5 bytes]")
			require.Contains(t, all, "I look.")
			require.NotContains(t, all, "hm")
			require.Equal(t, chat.Parts{signed, opaque, chat.Text("I look.")}, covered[1].Content, "the history itself is unchanged")
		})
	}
}

func TestBranchMessagesAreTheNewestThatFit(t *testing.T) {
	say := func(id, text string) entry.Entry {
		return entry.Entry{ID: id, Body: entry.Message{Message: chat.UserMessage(text)}}
	}
	of := func(e entry.Entry, tokens int) entry.Entry { // the same message, filled up to that many tokens
		return say(e.ID, e.ID+strings.Repeat("x", 4*(tokens-3)-len(e.ID)))
	}
	label := entry.Entry{ID: "l", Body: entry.Label{Target: "a", Text: "here"}}
	compaction := entry.Entry{ID: "c", Body: entry.Compaction{Messages: []chat.Message{chat.UserMessage("c" + strings.Repeat("y", 399)), chat.UserMessage("d" + strings.Repeat("y", 399))}}}
	branch := entry.Entry{ID: "s", Body: entry.BranchSummary{Summary: entry.Summary{Text: "b" + strings.Repeat("y", 399)}}}
	message := func(m chat.Message) entry.Entry {
		return entry.Entry{ID: m.ToolCallID, Body: entry.Message{Message: m}}
	}
	use := toolUse("read", "{}", "done")
	for _, c := range []struct {
		rule    string
		entries []entry.Entry
		budget  int
		want    string
	}{
		{"all messages if they fit", []entry.Entry{of(say("a", ""), 50), of(say("b", ""), 50)}, 100, "a b"},
		{"the newest if not all fit", []entry.Entry{of(say("a", ""), 50), of(say("b", ""), 50)}, 99, "b"},
		{"no message older than one that does not fit", []entry.Entry{of(say("a", ""), 5), of(say("b", ""), 60), of(say("e", ""), 50)}, 100, "e"},
		{"no message if the newest does not fit", []entry.Entry{of(say("a", ""), 50)}, 49, ""},
		{"no message for a label", []entry.Entry{label, of(say("b", ""), 50)}, 100, "b"},
		{"the messages of a compaction", []entry.Entry{compaction, of(say("b", ""), 50)}, 1000, "c d b"},
		{"a compaction over the budget, if less than nine tenths are used", []entry.Entry{say("a", "a"), compaction, of(say("b", ""), 89)}, 100, "c d b"},
		{"no compaction over the budget at nine tenths", []entry.Entry{compaction, of(say("b", ""), 90)}, 100, "b"},
		{"a branch summary over the budget, if less than nine tenths are used", []entry.Entry{branch, of(say("b", ""), 89)}, 100, "< b"},
		{"no result without its call", []entry.Entry{message(use[0]), message(use[1]), of(say("b", ""), 50)}, 54, "b"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var got []string
			messages, err := prompts.BranchMessages(sessiontest.Along(c.entries), c.budget, quarter{})
			require.NoError(t, err)
			for _, m := range messages {
				got = append(got, m.Text()[:1])
			}
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

func TestBranchThatCannotBeReadIsAnError(t *testing.T) {
	broken := errors.New("broken")
	_, err := prompts.BranchMessages(func(yield func(entry.Entry, error) bool) { yield(entry.Entry{}, broken) }, 100, quarter{})
	require.ErrorIs(t, err, broken)
}
