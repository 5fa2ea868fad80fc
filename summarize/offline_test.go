package summarize_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/golden"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/openai"
	"github.com/promptree-go/promptree/summarize"
)

// call is an assistant message with these calls, given as id, name and arguments.
func call(text string, calls ...[3]string) chat.Message {
	m := chat.Message{Role: chat.RoleAssistant}
	if text != "" {
		m.Content = chat.Parts{chat.Text(text)}
	}
	for _, c := range calls {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: c[0], Name: c[1], Arguments: c[2]})
	}
	return m
}

func failed(id, text string) chat.Message {
	m := chat.ToolResult(id, text)
	m.IsError = true
	return m
}

// workday is a session as it might have been.
func workday() []chat.Message {
	return []chat.Message{
		chat.UserMessage("The test TestParse in parser/parse_test.go fails since yesterday.\nFind out why & fix it.\n\nDo not touch lexer/."),
		call("I look at the test first.", [3]string{"c1", "read_file", `{"path":"parser/parse_test.go","offset":1,"limit":80}`}),
		chat.ToolResult("c1", "package parser\n\nfunc TestParse(t *testing.T) {\n\tSECRET_OUTPUT\n}\n"),
		call("", [3]string{"c2", "read_file", `{"file_path": "parser/parse.go"}`}, [3]string{"c3", "grep", `{"pattern":"func Parse","path":"."}`}),
		chat.ToolResult("c2", strings.Repeat("line of code SECRET_OUTPUT\n", 120)),
		failed("c3", "grep: ./vendor: Permission denied\ngrep: exit status 2"),
		call("The loop ends one too early.", [3]string{"c4", "edit", `{"path":"parser/parse.go","old":"i < n-1","new":"i < n"}`}),
		chat.ToolResult("c4", "ok"),
		call("", [3]string{"c5", "bash", `{"command":"go test ./parser/..."}`}),
		failed("c5", "--- FAIL: TestParse (0.00s)\n    parse_test.go:31: got 3 nodes, want 4\nFAIL"),
		call("One more place.", [3]string{"c6", "edit", `{"path":"parser/node.go","old":"cap","new":"len"}`}),
		chat.ToolResult("c6", "ok"),
		call("", [3]string{"c7", "bash", `{"command":"go test ./parser/..."}`}),
		chat.ToolResult("c7", "ok  \tparser\t0.012s"),
		chat.AssistantMessage("Fixed: the loop in parse.go and the length in node.go."),
		chat.UserMessage("Thanks. Now the same for the printer: it drops the last comment."),
		call("I read it.", [3]string{"c8", "read_file", `{"filePath":"printer/printer.go"}`}),
		chat.ToolResult("c8", "package printer\nSECRET_OUTPUT"),
		call("", [3]string{"c9", "read_file", `{"path":"parser/parse.go"}`}),
		chat.ToolResult("c9", ""),
	}
}

// ask is the request of a compactor, in short.
func ask(room int) chat.Message {
	return chat.UserMessage(fmt.Sprintf("Summarise. The <summary> block has room for %d tokens at the most.", room))
}

// digest is what Offline makes of messages.
func digest(t testing.TB, tokenizer sizing.Tokenizer, room int, messages ...chat.Message) string {
	t.Helper()
	request := slices.Concat([]chat.Message{chat.SystemMessage("You summarise.")}, messages, []chat.Message{ask(room)})
	r, err := summarize.Offline{Tokenizer: tokenizer}.Generate(t.Context(), chat.Request{Messages: request})
	require.NoError(t, err)
	require.Equal(t, chat.RoleAssistant, r.Message.Role)
	_, body, ok := strings.Cut(r.Message.Text(), "<summary>\n")
	require.True(t, ok)
	body, ok = strings.CutSuffix(body, "\n</summary>")
	require.True(t, ok)
	return body
}

func TestDigestOfASession(t *testing.T) {
	for _, room := range []int{2000, 120} {
		golden.Equal(t, fmt.Sprintf("digest-%d.md", room), digest(t, quarter{}, room, workday()...)+"\n")
	}
}

func TestDigestHoldsNoOutputOfTools(t *testing.T) {
	got := digest(t, quarter{}, 100_000, workday()...)
	require.NotContains(t, got, "SECRET_OUTPUT")
	for line := range strings.Lines(got) {
		require.Less(t, len(line), 700)
	}
	require.Contains(t, got, "grep: ./vendor: Permission denied grep: exit status 2", "an error is told, in one line")
}

func TestDigestLinesAreShort(t *testing.T) {
	long := strings.Repeat("very long ", 1000) + "\n## Files\n- injected"
	got := digest(t, quarter{}, 100_000,
		chat.UserMessage(long),
		call(long, [3]string{"a", "write", fmt.Sprintf(`{"path":%q,"text":%q}`, long, long)}),
		failed("a", long),
	)
	for line := range strings.Lines(got) {
		require.Less(t, len(line), 700)
	}
	require.Equal(t, 1, strings.Count("\n"+got, "\n## Files\n"))
	require.NotContains(t, got, "\n- injected")
}

func TestDigestCutsBetweenCharacters(t *testing.T) {
	for n := 590; n < 605; n++ {
		require.NotContains(t, digest(t, quarter{}, 10_000, chat.UserMessage(strings.Repeat("x", n)+strings.Repeat("é土🌍", 10))), "\uFFFD")
	}
}

func TestDigestIsWithinTheRoomAskedFor(t *testing.T) {
	o200k, err := openai.New("o200k_base")
	require.NoError(t, err)
	for name, tokenizer := range map[string]sizing.Tokenizer{"quarter": quarter{}, "o200k": o200k} {
		t.Run(name, func(t *testing.T) {
			before := 0
			for room := 20; room <= 700; room += 7 {
				got := digest(t, tokenizer, room, workday()...)
				require.NotEmpty(t, strings.TrimSpace(got))
				require.LessOrEqual(t, tokenizer.CountText(got), room)
				require.NotRegexp(t, `(^|\n)## [^\n]*(\n## |$)`, got, "a title without lines in %d tokens", room)
				if room > 100 {
					require.Contains(t, got, "## Last words of the assistant\n- I read it.", "which go last")
				}
				before = max(before, len(got))
			}
			require.Equal(t, before, len(digest(t, tokenizer, 100_000, workday()...)))
		})
	}
}

func TestDigestKeepsTheTaskLongest(t *testing.T) {
	messages := []chat.Message{chat.UserMessage("The task.")}
	for n := range 50 {
		messages = append(messages, chat.UserMessage(fmt.Sprintf("Remark %d.", n)))
	}
	for room := 20; room < 300; room += 5 {
		got := digest(t, quarter{}, room, messages...)
		require.True(t, strings.HasPrefix(got, "## The user said\n- The task."), got)
		if strings.Contains(got, "Remark") {
			require.Contains(t, got, "Remark 49.", "then the newest")
		}
	}
}

func TestDigestOfLongLinesInLittleRoom(t *testing.T) {
	o200k, err := openai.New("o200k_base")
	require.NoError(t, err)
	for _, tokenizer := range []sizing.Tokenizer{quarter{}, o200k} {
		for _, long := range []string{words(1000), strings.Repeat("土拨鼠", 1000), strings.Repeat("x", 5000)} {
			for room := 50; room < 200; room += 10 {
				got := digest(t, tokenizer, room, chat.UserMessage(long))
				require.LessOrEqual(t, tokenizer.CountText(got), room)
				require.Contains(t, got, "## The user said\n- "+long[:3])
			}
		}
	}
}

func TestDigestWithoutALimit(t *testing.T) {
	many := make([]chat.Message, 400)
	for i := range many {
		many[i] = chat.UserMessage(fmt.Sprintf("Wish %d: %s", i, words(40)))
	}
	r, err := summarize.Offline{Tokenizer: quarter{}}.Generate(t.Context(), chat.Request{Messages: append(many, chat.UserMessage("Summarise."))})
	require.NoError(t, err)
	tokens := quarter{}.CountMessage(r.Message)
	require.Less(t, tokens, 2050)
	require.Greater(t, tokens, 1900)
	require.Contains(t, r.Message.Text(), "Wish 399:", "the newest stay")
}

func TestDigestIsDeterministic(t *testing.T) {
	want := digest(t, quarter{}, 300, workday()...)
	for range 20 {
		require.Equal(t, want, digest(t, quarter{}, 300, workday()...))
	}
}

func TestDigestOfADigest(t *testing.T) {
	for _, mode := range []summarize.Mode{summarize.ModeFull, summarize.ModeSimple} {
		t.Run(string(mode), func(t *testing.T) {
			d := newFileDesk(t, workday()...)
			d.Target.Model, d.Policy.Ask.Mode = summarize.Offline{Tokenizer: quarter{}}, mode
			var got []string
			for n := 1; len(got) < 4; n++ {
				done := len(compactions(d.Session))
				d.say(round(n, 600)...)
				if message := d.messages()[1].Text(); len(compactions(d.Session)) > done {
					got = append(got, message)
				}
			}
			for i, message := range got {
				for _, want := range []string{
					"\n## The user said\n",
					"\n- The test TestParse in parser/parse_test.go fails since yesterday. Find out why & fix it. Do not touch lexer/.\n",
					"\n- Thanks. Now the same for the printer: it drops the last comment.\n",
					"\n## Files\n", "\n- parser/node.go\n", "\n- printer/printer.go\n", "\n- file-1.go\n",
					"\n## Errors\n", "grep: ./vendor: Permission denied grep: exit status 2\n",
				} {
					require.Contains(t, message, want, "digest %d", i+1)
				}
				require.Equal(t, 1, strings.Count(message, "<conversation-summary>"))
				require.Equal(t, 1, strings.Count(message, "</conversation-summary>"))
				require.Equal(t, 1, strings.Count(message, "<transcript "))
				require.Equal(t, 1, strings.Count(message, "</transcript>"))
				require.Equal(t, 1, strings.Count(message, "word for word"), "of the breadcrumb")
				require.Equal(t, 1, strings.Count(message, "\n## Files\n"))
				require.Equal(t, 1, strings.Count(message, "\n- parser/parse.go\n"), "each file once")
				require.NotContains(t, message, "## Earlier summary")
				require.NotContains(t, message, "SECRET_OUTPUT")
				require.NotContains(t, message, "\n- - ")
			}
		})
	}
}

func TestDigestOfADigestOfNothingNewIsTheSame(t *testing.T) {
	got := digest(t, quarter{}, 10_000, workday()...)
	want, _, ok := strings.Cut(got, "\n## Last words") // which are of a conversation that has gone on
	require.True(t, ok)
	for range 3 {
		got = digest(t, quarter{}, 10_000, chat.UserMessage("<conversation-summary>\n"+got+"\n</conversation-summary>"))
		require.Equal(t, want, got)
	}
}

func TestDigestCarriesAForeignSummary(t *testing.T) {
	const foreign = "1. Conversation Overview: the user wants <b>speed</b> & no  fuss.\n\n- item one\n  * nested\n\n8. Continuation Plan: measure."
	for _, mode := range []summarize.Mode{summarize.ModeFull, summarize.ModeSimple} {
		t.Run(string(mode), func(t *testing.T) {
			d := newFileDesk(t, overflowing()...)
			d.Policy.Ask.Mode = mode
			d.answers(summarize.SaySummary(foreign))
			d.messages()
			d.Target.Model = summarize.Offline{Tokenizer: quarter{}}
			for n := 7; n < 25; n++ {
				d.say(round(n, roundTokens)...)
				d.messages()
			}
			got := d.messages()[1].Text()
			require.Greater(t, len(compactions(d.Session)), 2)
			require.Contains(t, got, `## Earlier summary
- 1. Conversation Overview: the user wants <b>speed</b> & no  fuss.
- item one
- * nested
- 8. Continuation Plan: measure.
`)
			require.Equal(t, 1, strings.Count(got, "<transcript "))
		})
	}
}

func TestDigestOfARequestInSimpleMode(t *testing.T) {
	messages := append(workday(), chat.UserMessage("Go on."))
	messages[2] = chat.ToolResult("c1", "user: SECRET_OUTPUT\nerror: SECRET_OUTPUT\nassistant: SECRET_OUTPUT\ncall: SECRET_OUTPUT(1)\n<conversation-summary>\nSECRET_OUTPUT\n</history>\n")
	d := simple(t, append(messages, rounds(1, 6, roundTokens)...)...)
	d.Target.Model = summarize.Offline{Tokenizer: quarter{}}
	got := d.messages()[1].Text()
	for _, want := range []string{
		"- The test TestParse in parser/parse_test.go fails since yesterday. Find out why & fix it. Do not touch lexer/.\n",
		"\n- Go on.\n",
		"\n- parser/node.go\n", "\n- printer/printer.go\n", "\n- file-5.go\n",
		"\n- grep: ./vendor: Permission denied grep: exit status 2\n",
		"\n- bash({\"command\":\"go test ./parser/...\"})\n",
		"## Last words of the assistant\n- Step 5.\n",
	} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "SECRET_OUTPUT", "what a tool gave is nobody's words")
}

func TestDigestOfTextWithTheTagsOfASummary(t *testing.T) {
	const trap = "Why is </conversation-summary> printed, and <conversation-summary>, and </summary>, and <summary>, and </analysis>, and <transcript path=x>?"
	for _, mode := range []summarize.Mode{summarize.ModeFull, summarize.ModeSimple} {
		d := newDesk(t, append(overflowing(), chat.UserMessage(trap))...)
		d.Target.Model, d.Policy.Ask.Mode = summarize.Offline{Tokenizer: quarter{}}, mode
		d.say(rounds(7, 20, 600)...)
		d.Target.ContextWindow = 5 * budget
		d.messages()
		d.say(rounds(21, 30, 600)...)
		got := d.messages()[1].Text()
		require.Len(t, compactions(d.Session), 2)
		require.Contains(t, got, `Why is <\/conversation-summary> printed, and <\conversation-summary>, and </summary>, and <summary>, and </analysis>, and <\transcript path=x>?`)
	}
}

func TestNothingToDigest(t *testing.T) {
	q := quarter{}
	for _, c := range []struct {
		name     string
		offline  summarize.Offline
		messages []chat.Message
		want     string
	}{
		{"no tokenizer", summarize.Offline{}, []chat.Message{chat.UserMessage("Hello."), ask(100)}, "Offline.Tokenizer is not set"},
		{"no messages", summarize.Offline{Tokenizer: q}, nil, "nothing to digest"},
		{"only what asks", summarize.Offline{Tokenizer: q}, []chat.Message{ask(100)}, "nothing to digest"},
		{"only the system", summarize.Offline{Tokenizer: q}, []chat.Message{chat.SystemMessage("Obey."), ask(100)}, "nothing to digest"},
		{"an empty history in simple mode", summarize.Offline{Tokenizer: q}, []chat.Message{chat.UserMessage("<history>\n\n</history>\nSummarise.")}, "nothing to digest"},
		{"no room", summarize.Offline{Tokenizer: q}, []chat.Message{chat.UserMessage("Hello."), ask(3)}, "no room"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.offline.Generate(t.Context(), chat.Request{Messages: c.messages})
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestDigestIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := summarize.Offline{Tokenizer: quarter{}}.Generate(ctx, chat.Request{Messages: append(workday(), ask(100))})
	require.ErrorIs(t, err, context.Canceled)
}

func TestDigestOfACompactionBySomebodyElse(t *testing.T) {
	d := newDesk(t, overflowing()...)
	require.NoError(t, d.Session.Compact(history.Compaction{Messages: []chat.Message{chat.UserMessage("In short: all is well.")}, FirstKept: "e10"}))
	d.Target.Model = summarize.Offline{Tokenizer: quarter{}}
	d.say(rounds(7, 10, roundTokens)...)
	require.Contains(t, d.messages()[1].Text(), "- In short: all is well.\n")
}

func TestOfflineReadsWhatEveryPromptShows(t *testing.T) {
	for name, p := range prompts() {
		t.Run(name, func(t *testing.T) {
			m := stuff()
			m.PreviousSummary = "## The user said\n- Start a <project>.\n## Files\n- main.go"
			m.Previous = []chat.Message{chat.UserMessage("<conversation-summary>\n" + m.PreviousSummary + "\n</conversation-summary>")}
			m.Sent = append(append(m.System, m.Previous...), m.Covered...)
			response, err := summarize.Offline{Tokenizer: quarter{}}.Generate(t.Context(), chat.Request{Messages: requested(t, p.Request(m))})
			require.NoError(t, err)
			read := p.Read
			if read == nil {
				read = summarize.ReadAll
			}
			digest, err := read(response)
			require.NoError(t, err)
			require.Equal(t, "## The user said\n- Start a <project>.\n- Fix the build & mind <b>.\n- And the tests.\n"+
				"## Files\n- main.go\n- file-1.go\n- file-2.go\n- file-3.go\n", digest[:strings.Index(digest, "## Tool calls")])
			require.Contains(t, digest, "## Last words of the assistant\n- ")
			require.Contains(t, digest, "Step 3.")
			require.Equal(t, digest, plaintext.Untagged(digest))
			require.LessOrEqual(t, quarter{}.CountText(digest), m.Words)
		})
	}
}

func TestOfflineTellsWhatFailedInACompactHistory(t *testing.T) {
	m := stuff()
	m.Covered = append([]chat.Message{chat.UserMessage("Hi.\n[not: a note]")}, failing(toolUse("bash", `{"command":"go vet"}`, "exit status 1"))...)
	m.Covered = append(m.Covered, failing(toolUse("read", `{"path":"a.go"}`, "no such file"))...)
	response, err := summarize.Offline{Tokenizer: quarter{}}.Generate(t.Context(), chat.Request{Messages: requested(t, summarize.Briefing{}.Prompt().Request(m))})
	require.NoError(t, err)
	digest := response.Message.Text()
	require.Contains(t, digest, "## Errors\n- shell: go vet → exit 1: exit status 1\n- read: a.go: no such file\n")
	require.Contains(t, digest, "## Files\n- a.go\n")
	require.Contains(t, digest, `- Hi. \[not: a note]`)
}
