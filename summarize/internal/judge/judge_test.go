package judge_test

import (
	"errors"
	"fmt"
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
	const words = "## Goal\nThe words of </think>\nstay, and <think> too."
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
		"# 502 Bad Gateway under load\n\n" + text + "\nIt says \"I'm sorry, but I can't help with that.\" and <tool_call>, and N/A for TODO.",
		"### " + strings.Join(sessions[0].parts[:], "\n### "),
		"> " + strings.ReplaceAll(text, "\n", "\n> "), "【目标】\n" + forms["plain text"](sessions[6]), "■ 目的\n" + forms["plain text"](sessions[7]),
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
		"<function=read>\n" + text, "<tool_call>\n" + text, "<invoke name=\"read\">\n" + text, "*** Begin Patch\n" + text, "diff --git a/x b/x\n" + text, "Thought: hm\nAction: read\n" + text, text + "\n</function_calls>", text + "<|tool_call_end|>",
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

func TestASummaryNamesWhatItCovers(t *testing.T) {
	var given strings.Builder
	for i := range 200 {
		fmt.Fprintf(&given, "I read src/part%d.go, see %s there.\n", i, sessions[0].parts[i%5])
	}
	given.WriteString(strings.Join(sessions[0].parts[:], " ") + "\n")
	sorry := "I'm really sorry, but I'm unable to do this. It seems that the conversation includes material that I can't process, and an account of it might misrepresent what was discussed, e.g. its course and/or its end. I understand that this is frustrating, and I do want to be helpful. If you could tell me which part matters most to you, or share the key points yourself, I'd be more than happy to help you organise them into something useful. Thank you!"
	gateway := "# 502 Bad Gateway\n\nThe server met an error. Try again in 30 seconds, and quote what stands below, e.g. to your administrator.\n\n- Request: 7f2c9a1e-55d0\n- Host: api.gateway.internal\n- Time: 2025-11-02T14:12:55Z\n\n---\n\nnginx/1.25.3, as of today, here and now, wherever you are"
	plain, long := forms["plain text"](sessions[0]), strings.Join(sessions[3].parts[:], " ")+strings.Join(sessions[4].parts[:], " ")
	for _, c := range []struct {
		rule, text string
		asked      policy.AnswerForm
		wants      string
		doubtful   bool
	}{
		{"an apology where no form is asked for", sorry, policy.AnswerForm{}, "names nothing", false},
		{"an apology under a heading", "## Apology\n" + sorry, withHeadings, "names nothing", true},
		{"a text of some length in the tag", "<summary>" + long + "</summary>", inBlock, "names nothing", true},
		{"the conversation", given.String(), policy.AnswerForm{}, "repeats the conversation", false},
		{"a call is no heading", plain + "\n<tool_call>\nread it\n</tool_call>\nThen I go on.", withHeadings, "no heading", true},
		{"a page of an error with a heading", gateway, withHeadings, "names nothing", false},
		{"a text of some length that names nothing", "## Goal\n" + long, withHeadings, "names nothing", true},
		{"a short text that names it, where no form is asked for", plain[:300], policy.AnswerForm{}, "too short", true},
		{"a text that names it", plain, policy.AnswerForm{}, "<nil>", false},
		{"headings without a text", "## Goal of the session\nN/A\n\n## What was done in it\nnone\n\n## Files that were changed\nTODO", withHeadings, "under its headings", false},
		{"the conversation with who said what", "Assistant: It begins.\nUser: " + strings.ReplaceAll(given.String(), "there.\n", "there.\nFine by me.\nAgent: "), policy.AnswerForm{}, "repeats the conversation", false},
		{"a part of a line of the conversation", "## Goal\n" + strings.Join(sessions[0].parts[:], " ")[10:300], withHeadings, "repeats the conversation", false},
		{"code below a heading", "## Goal\nIn src/part1.go:\n```go\n" + plain + "\n```", withHeadings, "it is code", false},
		{"a text in a fence for Markdown", "```markdown\n" + plain + "\n```", policy.AnswerForm{}, "<nil>", false},
		{"a call below headings", "# Goal\n\n## Done\n\n{\"name\": \"read\", \"arguments\": {\"path\": \"src/part1.go\"}}\n" + plain, withHeadings, "markup", false},
		{"a call in Python's words", "[read(path=\"src/part1.go\"), bash(command=\"go test ./src/part2.go\")]" + plain, policy.AnswerForm{}, "markup", false},
	} {
		a := judge.Answer{Asked: c.asked, Given: given.String(), Said: given.String(), Covered: given.Len(), Room: 40_000}
		a.Summary, a.Open, a.Closed = judge.Read(c.text, c.asked.Tag)
		err := judge.Judge(a, rules())
		require.Contains(t, fmt.Sprint(err), c.wants, c.rule)
		refused, _ := errors.AsType[*policy.SummaryError](err)
		require.Equal(t, c.doubtful, refused != nil && refused.Doubtful, "%s: %v", c.rule, err)
		a.Given += strings.Join(strings.Fields(c.text), "\n") // an earlier answer
		require.Equal(t, err, judge.Judge(a, rules()), c.rule)
		a.Covered *= 10 // few names for its length
		require.NotContains(t, fmt.Sprint(judge.Judge(a, rules())), "names nothing", c.rule)
	}
}

func TestTalkIsDoubtfulThoughItNamesWhatItCovers(t *testing.T) {
	plain := forms["plain text"](sessions[0])
	for _, talk := range []string{
		"Now I see the problem. " + plain, "Okay, next I need to check reader.go. " + plain, "Let me continue with the next step. " + plain, "I'll read the config file now. " + plain,
		"I'm sorry, but I can't summarize this conversation. " + plain, "Unfortunately, I cannot help with that. " + plain, "As an AI, I have no access to it. " + plain,
		plain + " Let me open reader.go. " + plain, plain + "\nNow let me rename it everywhere.", plain + " Should I rename it as well?", plain + " Is there anything else I can help you with?",
		strings.ReplaceAll(plain, ".\n", "?\n"),
		plain + " Would you like me to go on with reader.go?", plain + "\nPlease let me know how you want to proceed with go.mod.",
	} {
		require.ErrorContains(t, judgedAs(talk, policy.AnswerForm{}), "goes on with the work", talk)
		refused, _ := errors.AsType[*policy.SummaryError](judgedAs("<summary>\n# The build\n\n## Summary\n"+talk+"\n</summary>", inBlock))
		require.True(t, refused != nil && refused.Doubtful, talk)
		refused, _ = errors.AsType[*policy.SummaryError](judgedAs(talk, withHeadings))
		require.True(t, refused != nil && !refused.Doubtful, "it has no heading either: %s", talk)
	}
	for _, good := range []string{
		"Let me summarise what happened. " + plain, "Sure, I'll recap: " + plain, "I was asked to fix the build. " + plain, "I now have to replace bufio.ScanLines. " + plain, "I've fixed it. " + plain, "First, I renamed scanner.Token. " + plain,
		strings.ReplaceAll(forms["plain text"](sessions[6]), "\n", "？是的。\n"), // no line ends with it
		plain + " It said \"Let me read go.mod.\" and stopped.", plain + " Is it needed?", plain + "\nI'll go on with reader.go. Let me know if you need anything else.", plain + "\nI can't run Windows here. Should the split function keep \\r?",
	} {
		require.NoError(t, judgedAs(good, policy.AnswerForm{}), good)
	}
}

func TestTheFloorIsAShareOfWhatIsCovered(t *testing.T) {
	text := forms["headings"](sessions[0])
	for _, c := range []struct{ covered, room, size, floor int }{
		{0, 0, 29, 30}, {1_000, 0, 39, 40}, {1_000_000, 0, 199, 200}, {1_000_000, 400, 99, 100}, {1_000_000, 100, 29, 30},
	} {
		at := func(size int) string {
			return fmt.Sprint(judge.Judge(judge.Answer{Summary: text[:size], Covered: c.covered, Room: c.room}, rules()))
		}
		require.Contains(t, at(c.size), "next to nothing", "%+v", c)
		require.NotContains(t, at(c.floor), "next to nothing", "%+v", c)
	}
	chinese := string([]rune(strings.Join(sessions[6].parts[:], ""))[:150])
	require.NotContains(t, fmt.Sprint(judgedAs(chinese, policy.AnswerForm{})), "next to nothing", chinese)
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
