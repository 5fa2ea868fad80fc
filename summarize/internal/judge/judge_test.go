package judge_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/internal/judge"
	"github.com/promptree-go/promptree/summarize/policy"
)

// rules are the defaults of a policy.
func rules() policy.Judge { return policy.Policy{}.WithDefaults().Ask.Judge }

// judgedAs judges the text of an answer to a prompt that asked for a form, for 200,000 characters in 4,000.
func judgedAs(text string, asked policy.AnswerForm) error {
	a := judge.Answer{Response: chat.Response{Message: chat.AssistantMessage(text)}, Asked: asked, Covered: 200_000, Room: 4_000}
	a.Summary, a.Open, a.Closed = judge.Read(text, asked.Tag)
	return judge.Judge(a, rules())
}

var inBlock, withHeadings = policy.AnswerForm{Tag: "summary"}, policy.AnswerForm{Headings: true}

func TestNoSummaryOfASessionIsRefused(t *testing.T) {
	n := 0
	for _, s := range sessions {
		for form, write := range forms {
			text := write(s)
			n++
			require.NoError(t, judgedAs("<analysis>\nhm\n</analysis>\n\n<summary>\n"+text+"\n</summary>", inBlock), "%s, %s", s.language, form)
			require.NoError(t, judgedAs(text, policy.AnswerForm{}), "%s, %s", s.language, form)
			if form != "plain text" {
				require.NoError(t, judgedAs(text, withHeadings), "%s, %s", s.language, form)
			}
		}
	}
	require.GreaterOrEqual(t, n, 40)
}

// PROMPTREE_SUMMARIES is a folder with recorded summaries, a file each.
func TestNoRecordedSummaryIsRefused(t *testing.T) {
	dir := os.Getenv("PROMPTREE_SUMMARIES")
	if dir == "" {
		t.Skip("PROMPTREE_SUMMARIES is not set")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, judgedAs(string(data), policy.AnswerForm{}), file)
	}
}

func TestTheTextOfAThoughtIsCutOffTheFront(t *testing.T) {
	const words = "## Goal\nThe words of </think> stay, and <think> too."
	for _, thought := range []string{
		"<think>\nPRIVATE\n</think>\n", "<thinking>PRIVATE</thinking>", "<thought>\nPRIVATE</thought>\n\n", "<reasoning>PRIVATE</reasoning>", "<analysis>PRIVATE</analysis>\n",
		"<scratchpad>PRIVATE</scratchpad>", "<reflection>PRIVATE</reflection>", "[THINK]PRIVATE[/THINK]", "◁think▷PRIVATE◁/think▷", "<seed:think>PRIVATE</seed:think>",
		"<|channel|>analysis<|message|>PRIVATE<|end|><|start|>assistant<|channel|>final<|message|>", "PRIVATE\n</think>\n", "\n<think>a</think>\n<think>PRIVATE</think>\n",
		"<|begin_of_thought|>PRIVATE<|end_of_thought|>", "",
	} {
		got, _, _ := judge.Read(thought+words, "")
		require.Equal(t, words, got, thought)
		got, open, closed := judge.Read(thought+"<summary>\n"+words+"\n</summary>", "summary")
		require.Equal(t, words, got, thought)
		require.True(t, open && closed, thought)
		got, _, _ = judge.Read(thought+"<summary>\n"+words+"\n</summary>", "")
		require.Equal(t, words, got, thought)
	}
}

func TestASummaryMayBeginAndEndLikeOtherThings(t *testing.T) {
	text := forms["headings"](sessions[0])
	for _, written := range []string{
		"HTTP/2 for the gateway.\n\n" + text, "Data: 14/03/2025\n\n" + text, "Event: the scanner was updated.\n\n" + text, "<html> stays in the template.\n\n" + text,
		"<heading>Goal</heading>\n" + text, "<header>Goal</header>\n" + text, "<errors_and_fixes>\nnone\n</errors_and_fixes>\n" + text,
		"<tools_used>\nread, edit\n</tools_used>\n" + text, text + "\n<tool_usage>\nread 12 times\n</tool_usage>", text + "\nThe last answer was <tool_result>EOF</tool_result>",
		"> " + strings.ReplaceAll(text, "\n", "\n> "), "【目标】\n" + forms["plain text"](sessions[8]), "■ 目的\n" + forms["plain text"](sessions[9]),
	} {
		require.NoError(t, judgedAs(written, withHeadings), written)
		require.NoError(t, judgedAs("<summary>\n"+written+"\n</summary>", inBlock), written)
	}
	for _, mark := range []string{"<|im_end|>", "\n<|eot_id|>", "<|end|>", "<|return|>", "<｜end▁of▁sentence｜>", "<end_of_turn>\n", "</s>", "<|im_end|>\n<|endoftext|>"} {
		got, _, _ := judge.Read(text+mark, "")
		require.Equal(t, text, got, mark)
		require.NoError(t, judgedAs(text+mark, withHeadings), mark)
		require.NoError(t, judgedAs("<summary>\n"+text+"\n</summary>"+mark, inBlock), mark)
	}
	for _, other := range []string{
		"HTTP/1.1 502 Bad Gateway\n\n" + text, "data: {\"id\": 1}\n\n" + text, "event: message_start\ndata: x\n\n" + text, "<html><head>\n" + text, "<Error><Code>Denied</Code></Error>\n" + text,
		"<function=read>\n" + text, "<tool_call>\n" + text, "<invoke name=\"read\">\n" + text, text + "\n</function_calls>", text + "<|tool_call_end|>",
	} {
		require.ErrorContains(t, judgedAs(other, withHeadings), "markup", other)
	}
}

func TestASignAloneLeavesADoubtIfThereIsATextOfSomeLength(t *testing.T) {
	text := forms["headings"](sessions[0])
	plain := forms["plain text"](sessions[0])
	loop := strings.Repeat("And then it goes on and on, line after line, as it went on before.\n", 30)
	called := func(text string) judge.Answer {
		a := judge.Answer{Asked: inBlock, Covered: 200_000, Room: 12_000}
		a.Response = chat.Response{Message: chat.AssistantMessage(text), StopReason: chat.StopToolCalls}
		a.Response.Message.ToolCalls = []chat.ToolCall{{ID: "x", Name: "read"}}
		a.Summary, a.Open, a.Closed = judge.Read(text, "summary")
		return a
	}
	for _, c := range []struct {
		rule     string
		err      error
		doubtful bool
	}{
		{"a summary without the tag", judgedAs(text, inBlock), true},
		{"a tag that is not closed", judgedAs("<summary>\n"+text, inBlock), true},
		{"a summary without a heading", judgedAs(plain, withHeadings), true},
		{"a summary that repeats a part", judgedAs(text+"\n"+loop, withHeadings), true},
		{"a short summary with its form", judge.Judge(judge.Answer{Summary: text[:300], Asked: withHeadings, Covered: 200_000, Room: 12_000}, rules()), true},
		{"a call beside a closed tag", judge.Judge(called("<summary>\n"+text+"\n</summary>"), rules()), true},
		{"a call beside a tag that is not closed", judge.Judge(called("<summary>\n"+text), rules()), false},
		{"a short summary without its form", judge.Judge(judge.Answer{Summary: plain[:300], Asked: withHeadings, Covered: 200_000, Room: 12_000}, rules()), false},
		{"a short summary of no form", judge.Judge(judge.Answer{Summary: plain[:300], Covered: 200_000, Room: 12_000}, rules()), false},
		{"a summary that repeats a part, without a heading", judgedAs(plain+"\n"+loop, withHeadings), false},
		{"next to nothing", judgedAs("## Goal\nIt is done.", withHeadings), false},
	} {
		refused, ok := errors.AsType[*policy.SummaryError](c.err)
		require.True(t, ok, "%s: %v", c.rule, c.err)
		require.Equal(t, c.doubtful, refused.Doubtful, "%s: %s", c.rule, refused.Reason)
	}
}

func TestTheFloorIsAShareOfWhatIsCovered(t *testing.T) {
	text := forms["headings"](sessions[0])
	for _, c := range []struct{ covered, room, size, floor int }{
		{0, 0, 29, 30}, {1_000, 0, 39, 40}, {1_000_000, 0, 199, 200}, {1_000_000, 400, 99, 100}, {1_000_000, 100, 29, 30},
	} {
		at := func(size int) *policy.SummaryError {
			err := judge.Judge(judge.Answer{Summary: text[:size], Covered: c.covered, Room: c.room}, rules())
			refused, _ := errors.AsType[*policy.SummaryError](err)
			return refused
		}
		require.Contains(t, at(c.size).Reason, "next to nothing", "%+v", c)
		if short := at(c.floor); short != nil {
			require.NotContains(t, short.Reason, "next to nothing", "%+v", c)
		}
	}
}

func TestWithoutTheJudgementTheChecksOfTheSystemsHold(t *testing.T) {
	at := func(text string, stop chat.StopReason) error {
		a := judge.Answer{Response: chat.Response{StopReason: stop}, Asked: inBlock, Covered: 1 << 20}
		a.Summary, a.Open, a.Closed = judge.Read(text, "summary")
		return judge.Judge(a, policy.Judge{Off: true})
	}
	require.NoError(t, at("<summary>{}</summary>", ""))
	require.NoError(t, at(strings.Repeat("a", 30), ""))
	require.ErrorContains(t, at(strings.Repeat("a", 29), ""), "no <summary> block, and 29 characters")
	require.ErrorContains(t, at("<summary>\n\u200b</summary>", ""), "empty")
	require.ErrorContains(t, at("<summary>{}</summary>", chat.StopMaxTokens), "cut off")
	require.ErrorContains(t, at("<summary>{}</summary>", chat.StopFiltered), "filtered")
}
