package summarize_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/golden"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// stuff is what a compaction works with, with something in every field.
func stuff() summarize.Material {
	covered := append([]chat.Message{chat.UserMessage("Fix the build & mind <b>.")}, rounds(1, 2, 40)...)
	covered = append(covered, chat.UserMessage("And the tests."))
	covered = append(covered, rounds(3, 3, 40)...)
	return summarize.Material{
		Covered: covered, TurnPrefix: covered[5:],
		Kept:   append(rounds(4, 4, 40), chat.UserMessage("Now what?")),
		Sent:   append([]chat.Message{chat.SystemMessage("You are a coding agent."), chat.UserMessage("Where <we> are.")}, rounds(7, 7, 40)...),
		System: []chat.Message{chat.SystemMessage("You are a coding agent.")},
		Said: []chat.Message{
			chat.UserMessage("Start a project."), chat.UserMessage("Fix the build & mind <b>."),
		},
		Files:     history.Files{Read: []string{"a & b.go", "c.go"}, Modified: []string{"d\n.go"}},
		Tokenizer: quarter{}, Room: 2000, Words: 1500, ResultTokens: 15,
	}
}

// again is what a second compaction works with, with something said besides.
func again() summarize.Material {
	m := stuff()
	m.PreviousSummary = "## Goal\n\nYou started a project in <dir> & more; see [](path:a.go)."
	m.Previous = []chat.Message{chat.UserMessage("<conversation-summary>\n" + m.PreviousSummary + "\n</conversation-summary>")}
	m.Instructions = "Mind the flags."
	m.Context = []string{"The deadline is\nFriday.", "The client is Ada."}
	m.Notes = []string{"You may not call tools."}
	return m
}

// prompts by their names.
func prompts() map[string]summarize.Prompt {
	return map[string]summarize.Prompt{
		"full": summarize.FullPrompt(), "simple": summarize.SimplePrompt(), "fork": summarize.ForkPrompt(),
		"turns": a3s.Prompt(), "conversation-compaction": copilotcli.Prompt(),
		"briefing": stagewise.Briefing{}.Prompt(), "handoff": ohmypi.Handoff{}.Prompt(), "branch": summarize.BranchPrompt(),
	}
}

// asks renders a request within a window.
func asks(t testing.TB, node elements.Node, window int) ([]chat.Message, error) {
	t.Helper()
	r, err := render.Render(t.Context(), node, render.Options{Budget: window, Tokenizer: quarter{}})
	if err != nil {
		return nil, err
	}
	require.LessOrEqual(t, r.Tokens, window)
	require.NoError(t, chat.Validate(r.Messages))
	return r.Messages, nil
}

func requested(t testing.TB, node elements.Node) []chat.Message {
	t.Helper()
	messages, err := asks(t, node, 20_000)
	require.NoError(t, err)
	return messages
}

// written writes messages for a golden file.
func written(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "=== %s\n%s\n", m.Role, m.Text())
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "--- %s(%s)\n", c.Name, c.Arguments)
		}
	}
	return b.String()
}

func TestPromptsAsTheyAre(t *testing.T) {
	for name, p := range prompts() {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, name, string(p.Mode))
			golden.Equal(t, "prompt_"+name+".txt", written(requested(t, p.Request(stuff()))))
			golden.Equal(t, "prompt_"+name+"_again.txt", written(requested(t, p.Request(again()))))
		})
	}
	handoff := ohmypi.Handoff{}.Prompt()
	golden.Equal(t, "prompt_handoff_prefix.txt", written(requested(t, handoff.Prefix(again()))))
	m := again()
	m.Summary = "## Goal\n\nFix the <build>."
	golden.Equal(t, "prompt_handoff_title.txt", written(requested(t, handoff.Title(m))))
}

func TestEveryPromptSaysWhatMustBeSaid(t *testing.T) {
	for name, p := range prompts() {
		t.Run(name, func(t *testing.T) {
			got := text(requested(t, p.Request(again())))
			for _, want := range []string{"Mind the flags.", "The client is Ada.", "You may not call tools.", "1500 tokens"} {
				require.Contains(t, got, want)
			}
			require.Contains(t, text(requested(t, p.Request(stuff()))), "room for 1500 tokens")
		})
	}
}

// A request that does not fit says so, and is then made in pieces; one that packs leaves out what was done first.
func TestRequestsFitOrSaySo(t *testing.T) {
	m := stuff()
	for n := range 30 {
		m.Covered = append(m.Covered, rounds(10*n+10, 10*n+12, 60)...)
		m.Covered = append(m.Covered, chat.UserMessage(fmt.Sprintf("More of %d.", n)))
	}
	m.Sent = m.Covered
	all := prompts()
	all["briefing, packed"] = stagewise.Briefing{Packs: true}.Prompt()
	all["handoff, packed"] = ohmypi.Handoff{Packs: true}.Prompt()
	for name, p := range all {
		t.Run(name, func(t *testing.T) {
			size := count(quarter{}, requested(t, p.Request(m)))
			packs := p.Mode == summarize.ModeSimple || p.Mode == summarize.ModeBranch || strings.HasSuffix(name, "packed")
			fits := 0
			for window := size; window > size/3; window -= 37 {
				_, err := asks(t, p.Request(m), window)
				if err == nil {
					fits++
					continue
				}
				require.ErrorContains(t, err, "cannot go")
			}
			if packs {
				require.Greater(t, fits, 10)
			} else {
				require.Equal(t, 1, fits)
			}
		})
	}
}

func TestForkSendsTheAgentsRequestAgain(t *testing.T) {
	p := summarize.ForkPrompt()
	require.True(t, p.Tools, "declared as they were")
	m := stuff()
	got := requested(t, p.Request(m))
	equal(t, m.Sent, got[:len(got)-1])
	require.Equal(t, chat.RoleUser, got[len(got)-1].Role)
	require.Contains(t, got[len(got)-1].Text(), "<summary> block")

	summary, err := p.Read(chat.Response{Message: chat.AssistantMessage("<analysis>\nno <summary> yet\n</analysis>\n<summary>\nAll is well.\n</summary>")})
	require.NoError(t, err)
	require.Equal(t, "All is well.", summary)

	m.Sent = nil
	equal(t, requested(t, summarize.FullPrompt().Request(m)), requested(t, p.Request(m)))
}

func TestConversationCompactionRequest(t *testing.T) {
	p := copilotcli.Prompt()
	m := again()
	m.Covered = slices.Insert(slices.Clone(m.Covered), 1, chat.SystemMessage("Be careful."))
	got := requested(t, p.Request(m))
	equal(t, m.System, got[:1])
	require.NotContains(t, text(got), "Be careful.", "system messages are no part of what is summarised")
	equal(t, append(m.Covered[:1:1], m.Covered[2:]...), got[1:len(got)-1])
	last := got[len(got)-1].Text()
	require.True(t, strings.HasPrefix(last, "<conversation-compaction>\n"), last)
	require.True(t, strings.HasSuffix(last, "\n</conversation-compaction>"), last)

	for rule, previous := range map[string]func(*summarize.Material){
		"the words of the summary before": func(m *summarize.Material) { m.Previous = nil },
		"or those in what stands for it":  func(m *summarize.Material) { m.PreviousSummary = "" },
		"whatever its form": func(m *summarize.Material) {
			m.PreviousSummary, m.Previous = "", []chat.Message{chat.UserMessage(m.PreviousSummary)}
		},
	} {
		t.Run(rule, func(t *testing.T) {
			m := again()
			previous(&m)
			got := requested(t, p.Request(m))
			require.Contains(t, got[len(got)-1].Text(), "<previous-summary>\n## Goal\n\nYou started a project in")
			require.Len(t, got, len(m.Covered)+2, "and it is no message")
		})
	}
}

func TestBriefingBudgetHints(t *testing.T) {
	const verbatim, light, oldest = "word for word, shorten nothing", "tighten its oldest sections a little", "condense its oldest sections"
	for _, c := range []struct {
		rule     string
		target   int
		previous int // characters
		want     string
	}{
		{"the first has none", 0, 0, ""},
		{"a short one is taken over", 0, 1, verbatim},
		{"below 60% too", 0, 17_999, verbatim},
		{"from 60% on it is condensed lightly", 0, 18_000, light},
		{"up to 85%", 0, 25_499, light},
		{"from 85% on its oldest sections are condensed", 0, 25_500, oldest},
		{"and above the target", 0, 40_000, oldest},
		{"of a target of one's own", 1000, 599, verbatim},
		{"at its 60%", 1000, 600, light},
		{"at its 85%", 1000, 850, oldest},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m := stuff()
			m.Words = 50_000
			m.PreviousSummary = strings.Repeat("ä", c.previous)
			got, err := asks(t, stagewise.Briefing{Target: c.target}.Prompt().Request(m), 100_000)
			require.NoError(t, err)
			last := got[len(got)-1].Text()
			for _, hint := range []string{verbatim, light, oldest} {
				require.Equal(t, hint == c.want, strings.Contains(last, hint), hint)
			}
			if c.target == 0 {
				c.target = 30_000
			}
			require.Contains(t, last, fmt.Sprintf("Aim at %d characters.", c.target))
			require.Equal(t, c.previous > 0, strings.Contains(last, "<previous-chat-history>"))
		})
	}
}

// The goal of a briefing is within its room, whatever the language.
func TestBriefingAimsAtWhatThereIsRoomFor(t *testing.T) {
	const longer = "rather be longer than lose a detail"
	chinese := chat.UserMessage(strings.Repeat("修复构建", 100))
	for _, c := range []struct {
		rule   string
		said   []chat.Message
		words  int
		target int
		aim    int
	}{
		{"where there is room the target is the goal, and longer is better", rounds(1, 3, 40), 20_000, 0, 30_000},
		{"where there is none the room is the goal", []chat.Message{chat.UserMessage(words(100))}, 1000, 0, 4000},
		{"which in Chinese is fewer characters", []chat.Message{chinese}, 1000, 0, 1333},
		{"a target of one's own is lowered too", []chat.Message{chinese}, 1000, 8000, 1333},
		{"or is below it", []chat.Message{chinese}, 10_000, 8000, 8000},
		{"nothing known is no limit", nil, 0, 0, 30_000},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m := stuff()
			m.Covered, m.Words = c.said, c.words
			if c.said == nil {
				m.Covered = rounds(1, 1, 40)
			}
			m.PreviousSummary = strings.Repeat("x", c.aim*7/10) // of that same target
			got := text(requested(t, stagewise.Briefing{Target: c.target}.Prompt().Request(m)))
			require.Contains(t, got, fmt.Sprintf("Aim at %d characters", c.aim))
			require.Contains(t, got, "70% of that. Room gets scarce")
			full := c.target
			if full == 0 {
				full = 30_000
			}
			require.Equal(t, c.aim == full, strings.Contains(got, longer))
		})
	}
}

func TestCharactersAreMeasuredOnTheConversation(t *testing.T) {
	for _, c := range []struct {
		rule string
		said []chat.Message
		want int // of 1000 tokens
	}{
		{"English has four to a token", []chat.Message{chat.UserMessage(words(200)), chat.AssistantMessage(words(200))}, 4000},
		{"Chinese fewer", []chat.Message{chat.UserMessage(strings.Repeat("修复构建", 200))}, 1333},
		{"what tools gave does not count", append([]chat.Message{chat.UserMessage(strings.Repeat("修复构建", 200))}, rounds(1, 9, 300)...), 1339},
		{"unless there is little else", append([]chat.Message{chat.UserMessage("Go.")}, rounds(1, 9, 300)...), 3900},
		{"nothing said is as English", nil, 4000},
		{"there are no fewer than one in two tokens", []chat.Message{chat.UserMessage("a")}, 1000},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m := summarize.Material{Words: 1000, Covered: c.said, Tokenizer: quarter{}}
			require.InDelta(t, c.want, m.Characters(), 100)
			m.Words = 0
			require.Zero(t, m.Characters())
		})
	}
	dense := summarize.Material{Words: 1000, Covered: []chat.Message{chat.UserMessage(words(100))}}
	dense.Tokenizer = scaled{by: 100}
	require.Equal(t, 500, dense.Characters(), "at least half a character to a token")
	dense.Tokenizer = nil
	require.Equal(t, 4000, dense.Characters())
}

// scaled counts so many times as many tokens.
type scaled struct {
	quarter
	by int
}

func (s scaled) CountText(text string) int { return s.by * s.quarter.CountText(text) }

// Every prompt that asks for a text names the language, and no number that is larger than its room.
func TestEveryPromptNamesTheLanguage(t *testing.T) {
	for name, p := range prompts() {
		require.Contains(t, text(requested(t, p.Request(stuff()))), "Write in the language of the conversation", name)
	}
	handoff := ohmypi.Handoff{}.Prompt()
	require.Contains(t, text(requested(t, handoff.Prefix(stuff()))), "Write in the language of the conversation")
	require.Contains(t, text(requested(t, handoff.Title(done()))), "in the language in which they are written")
	require.Contains(t, text(requested(t, summarize.ShortenRequest(stuff(), "## A\n\nx"))), "Write in the language in which the summary is written")
}

// Requests that show messages show no picture, no document, no thinking and nothing that only a provider reads.
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
			m := stuff()
			m.Sent, m.Covered = nil, covered
			got := requested(t, prompts()[name].Request(m)) // which are valid
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
			require.Equal(t, chat.Parts{signed, opaque, chat.Text("I look.")}, covered[1].Content, "what it is made of stays as it is")
		})
	}
}

func TestBriefingShowsWhatStagewiseShows(t *testing.T) {
	m := stuff()
	lines := stagewise.ToolLines{"read": func(c stagewise.Call) string { return "looked at " + c.Argument("path") }}
	got := requested(t, stagewise.Briefing{Tools: lines, Mentions: func(chat.Message) []string { return []string{"x.go"} }}.Prompt().Request(m))
	require.Len(t, got, 2)
	require.Contains(t, got[1].Text(), "<user>\nFix the build & mind <b>.\n[mentioned: x.go]\n</user>\n<assistant>\nStep 1.\n")
	require.Contains(t, got[1].Text(), "[looked at file-1.go]\n")
	require.NotContains(t, got[1].Text(), "[output 001]", "what a tool gave is not shown")
}

func TestHandoffRequests(t *testing.T) {
	p := ohmypi.Handoff{}.Prompt()
	first, update := text(requested(t, p.Request(stuff()))), text(requested(t, p.Request(again())))
	require.Contains(t, first, "Write notes on the conversation above")
	require.NotContains(t, first, "<previous-summary>\n")
	require.Contains(t, update, "Bring those notes up to date")
	require.Contains(t, update, "<previous-summary>\n## Goal\n")
	require.Contains(t, update, "<additional-context>\n- The deadline is\n  Friday.\n- The client is Ada.\n</additional-context>")

	prefix := text(requested(t, p.Prefix(again())))
	require.Contains(t, prefix, "And the tests.", "the turn that is cut")
	require.NotContains(t, prefix, "Fix the build", "and no other")
	require.NotContains(t, prefix, "started a project")

	own := text(requested(t, ohmypi.Handoff{Ask: "Say it in a word."}.Prompt().Request(again())))
	require.Contains(t, own, "Say it in a word.")
	require.NotContains(t, own, "## Constraints")
	require.Contains(t, own, "Ada")

	m := stuff()
	m.Covered, m.ResultTokens = rounds(1, 1, 500), 200
	long, short := text(requested(t, p.Request(m))), text(requested(t, ohmypi.Handoff{Results: 50}.Prompt().Request(m)))
	require.Greater(t, len(long)-len(short), 500)
}

func TestMergeSplitTurn(t *testing.T) {
	require.Equal(t, "Before.\n\n---\n\n**Turn Context (split turn):**\n\nNow.", ohmypi.Handoff{}.Prompt().Merge("Before.", "Now."))
	require.Equal(t, "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nNow.", ohmypi.Handoff{}.Prompt().Merge(" ", "Now."))
}

func TestBranchMessages(t *testing.T) {
	say := func(id, text string) history.Entry {
		return history.Entry{ID: id, Body: history.Message{Message: chat.UserMessage(text)}}
	}
	of := func(e history.Entry, tokens int) history.Entry { // a message of so many tokens in all
		return say(e.ID, e.ID+strings.Repeat("x", 4*(tokens-3)-len(e.ID)))
	}
	label := history.Entry{ID: "l", Body: history.Label{Target: "a", Text: "here"}}
	compaction := history.Entry{ID: "c", Body: history.Compaction{Messages: []chat.Message{chat.UserMessage("c" + strings.Repeat("y", 399)), chat.UserMessage("d" + strings.Repeat("y", 399))}}}
	branch := history.Entry{ID: "s", Body: history.BranchSummary{Summary: history.Summary{Text: "b" + strings.Repeat("y", 399)}}}
	message := func(m chat.Message) history.Entry {
		return history.Entry{ID: m.ToolCallID, Body: history.Message{Message: m}}
	}
	use := toolUse("read", "{}", "done")
	for _, c := range []struct {
		rule    string
		entries []history.Entry
		budget  int
		want    string
	}{
		{"all that fits", []history.Entry{of(say("a", ""), 50), of(say("b", ""), 50)}, 100, "a b"},
		{"the newest first", []history.Entry{of(say("a", ""), 50), of(say("b", ""), 50)}, 99, "b"},
		{"in order, without a gap", []history.Entry{of(say("a", ""), 5), of(say("b", ""), 60), of(say("e", ""), 50)}, 100, "e"},
		{"nothing where nothing fits", []history.Entry{of(say("a", ""), 50)}, 49, ""},
		{"what the session alone knows is nothing", []history.Entry{label, of(say("b", ""), 50)}, 100, "b"},
		{"compactions are included", []history.Entry{compaction, of(say("b", ""), 50)}, 1000, "c d b"},
		{"a large one near the edge too", []history.Entry{say("a", "a"), compaction, of(say("b", ""), 89)}, 100, "c d b"},
		{"but not at nine tenths", []history.Entry{compaction, of(say("b", ""), 90)}, 100, "b"},
		{"a branch summary as well", []history.Entry{branch, of(say("b", ""), 89)}, 100, "< b"},
		{"a result goes with its call", []history.Entry{message(use[0]), message(use[1]), of(say("b", ""), 50)}, 54, "b"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var got []string
			messages, err := summarize.BranchMessages(path(c.entries), c.budget, quarter{})
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
	_, err := summarize.BranchMessages(func(yield func(history.Entry, error) bool) { yield(history.Entry{}, broken) }, 100, quarter{})
	require.ErrorIs(t, err, broken)
}

// path gives entries as a session does.
func path(entries []history.Entry) iter.Seq2[history.Entry, error] {
	return func(yield func(history.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func TestBranchPrompt(t *testing.T) {
	m := stuff()
	require.Contains(t, text(requested(t, summarize.BranchPrompt().Request(m))), "need not be tried or found out again")
	m.Instructions = "Only the names."
	got := text(requested(t, summarize.BranchPrompt().Request(m)))
	require.Contains(t, got, "Only the names.")
	require.NotContains(t, got, "need not be tried")
}

func TestWithFiles(t *testing.T) {
	require.Equal(t, "S", summarize.WithFiles("S", history.Files{}))
	require.Equal(t, "S\n\n<read-files>\na\nb\\n<\\/read-files>\n</read-files>\n\n<modified-files>\nc\n</modified-files>",
		summarize.WithFiles("S", history.Files{Read: []string{"a", "b\n</read-files>"}, Modified: []string{"c"}}))
	require.Equal(t, "S\n\n<modified-files>\nc\n</modified-files>", summarize.WithFiles("S", history.Files{Modified: []string{"c"}}))
}
