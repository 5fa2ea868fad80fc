package importer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
)

// Lines that name the one before them may come in any order after the first, and twice.
func TestTheLinesOfATreeMayComeInAnyOrderAndTwice(t *testing.T) {
	for _, name := range []string{"copilot.jsonl", "openhands.jsonl"} {
		t.Run(name, func(t *testing.T) {
			lines := slices.Collect(strings.Lines(string(fixture(t, name))))
			if name == "openhands.jsonl" {
				for i := 1; i < len(lines); i++ {
					lines[i] = strings.Replace(lines[i], `{`, fmt.Sprintf(`{"parent_id":"v%d",`, i), 1)
				}
			}
			want := recordingOf(t, strings.Join(lines, ""))
			first, rest := lines[0], slices.Clone(lines[1:])
			slices.Reverse(rest)
			got := recordingOf(t, first+strings.Join(rest, ""))
			require.Equal(t, said(want), said(got))
			require.Equal(t, want.Leaf, got.Leaf)
			require.True(t, slices.ContainsFunc(got.Notes, func(n importer.Note) bool { return n.Kind == "reordered" }))

			got = recordingOf(t, strings.Join(slices.Insert(slices.Clone(lines), 3, lines[2]), ""))
			require.Equal(t, said(want), said(got))
			require.True(t, slices.ContainsFunc(got.Notes, func(n importer.Note) bool { return n.Kind == "repeated" && n.Line == 4 }))
		})
	}
}

// A message that cannot be read is left out of a document, too.
func TestAnUnreadableMessageOfADocumentIsSkippedOnRequest(t *testing.T) {
	for name, damage := range map[string][2]string{
		"gemini.json":         {`"type": "gemini", "content": "Only`, `"type": 7, "content": "Only`},
		"swe-agent-old.json":  {`"role": "assistant"`, `"role": 7`},
		"mini-swe-agent.json": {`{"role": "user"`, `{"role": 7`},
		"openhands-old.json":  {`"action": "message", "args": {"content": "It is`, `"action": "message", "args": {"content": 7, "was": "It is`},
		"opencode.json":       {`"id": "msg_5", "sessionID": "ses_1", "role": "user"`, `"id": "msg_5", "sessionID": "ses_1", "role": "critic"`},
		"goose.json":          {`{"type": "text", "text": "Do."}`, `{"type": "text", "text": 7}`},
		"openai.json":         {`"role": "user"`, `"role": 7`},
	} {
		t.Run(name, func(t *testing.T) {
			whole := string(fixture(t, name))
			require.Contains(t, whole, damage[0])
			i := strings.LastIndex(whole, damage[0])
			text := whole[:i] + damage[1] + whole[i+len(damage[0]):]
			_, err := importer.Read(strings.NewReader(text))
			var bad *importer.LineError
			require.ErrorAs(t, err, &bad)
			line := 1 + strings.Count(text[:i], "\n")
			require.InDelta(t, line, bad.Line, 1)
			want := recordingOf(t, whole)
			got, err := importer.Options{SkipUnreadable: true}.Read(strings.NewReader(text))
			require.NoError(t, err)
			require.Len(t, said(got), len(said(want))-1)
			require.True(t, slices.ContainsFunc(got.Notes, func(n importer.Note) bool { return n.Kind == importer.Unreadable && n.Line == bad.Line }))
		})
	}
}

func TestAnAnswerOfAnEarlierOpencodeIsOneForEachRequest(t *testing.T) {
	step := func(text, tool string) string {
		return fmt.Sprintf(`{"type":"step-start"},{"type":"text","text":%q},{"type":"tool","callID":%q,"tool":"read","state":{"status":"completed","input":{},"output":"x","title":"","metadata":{}}},
			{"type":"step-finish","cost":0.5,"tokens":{"input":5,"output":9,"reasoning":2,"cache":{"read":3,"write":1}}}`, text, tool)
	}
	got := recordingOf(t, `{"info":{"id":"s"},"messages":[{"info":{"id":"m","role":"assistant","cost":1,"tokens":{"input":10,"output":18,"reasoning":4,"cache":{"read":6,"write":2}}},"parts":[`+step("one", "a")+","+step("two", "b")+`]}]}`)
	var answers []string
	for _, r := range got.Records {
		if m := r.Message(); m.Role == chat.RoleAssistant {
			answers = append(answers, m.Text())
			require.Len(t, m.ToolCalls, 1)
			require.Equal(t, chat.Usage{Input: 9, Output: 9, CacheRead: 3, CacheWrite: 1}, r.Usage, "its output counts the thinking")
			require.InDelta(t, 0.5, r.Cost, 0)
		}
	}
	require.Equal(t, []string{"one", "two"}, answers)
}

func TestALineThatIsThereTwiceIsReadOnce(t *testing.T) {
	for _, name := range []string{"codex.jsonl", "goose-lines.jsonl", "claude-code.jsonl", "gemini-lines.jsonl"} {
		lines := slices.Collect(strings.Lines(string(fixture(t, name))))
		want := recordingOf(t, strings.Join(lines, ""))
		for i := 1; i < len(lines); i++ {
			got := recordingOf(t, strings.Join(slices.Insert(slices.Clone(lines), i, lines[i]), ""))
			require.Equal(t, said(want), said(got), "%s: line %d", name, i+1)
		}
	}
}

func TestAMessageThatIsTwiceInAListIsReadOnce(t *testing.T) {
	message := `{"id":"a","role":"assistant","created":1754000000,"content":[{"type":"toolRequest","id":"c","toolCall":{"value":{"name":"ls"}}}]}`
	export := func(messages string) string { return `{"id":"s","working_dir":"/","conversation":[` + messages + `]}` }
	want := recordingOf(t, export(message))
	got := recordingOf(t, export(message+","+message))
	require.Equal(t, said(want), said(got))
	require.Equal(t, []importer.Note{{Line: 1, Count: 1, Kind: "repeated", What: "the one before"}}, got.Notes)
}

func TestAnEventOfALaterVersionIsNoted(t *testing.T) {
	for name, give := range map[string]struct{ event, what string }{
		"copilot.jsonl":      {`{"type":"assistant.sketch","data":{},"id":"z","timestamp":"2026-02-01T08:00:00Z","parentId":"e19"}`, "assistant.sketch"},
		"openhands.jsonl":    {`{"id":"z","source":"agent","kind":"SketchEvent"}`, "SketchEvent"},
		"openhands-old.json": {`{"id":900,"source":"agent","action":"sketch","args":{}}`, "action.sketch"},
		"gemini-lines.jsonl": {`{"id":"z","timestamp":"2026-02-01T08:00:00Z","type":"sketch","content":"a"}`, "sketch"},
	} {
		t.Run(name, func(t *testing.T) {
			whole := strings.TrimSpace(string(fixture(t, name)))
			text := whole + "\n" + give.event
			if list, ok := strings.CutSuffix(whole, "]"); ok {
				text = list + "," + give.event + "]"
			}
			want := recordingOf(t, whole)
			got := recordingOf(t, text)
			require.Equal(t, said(want), said(got))
			i := slices.IndexFunc(got.Notes, func(n importer.Note) bool { return n.Kind == "unknown" })
			require.GreaterOrEqual(t, i, 0)
			require.Equal(t, give.what, got.Notes[i].What)
			require.False(t, slices.ContainsFunc(want.Notes, func(n importer.Note) bool { return n.Kind == "unknown" }))
		})
	}
}

// Events of OpenHands that name no parent still name the action that they answer.
func TestAResultOfOpenHandsMayComeBeforeItsCall(t *testing.T) {
	lines := slices.Collect(strings.Lines(string(fixture(t, "openhands.jsonl"))))
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"action_id"`) })
	result := lines[at]
	late := slices.Insert(slices.Delete(slices.Clone(lines), at, at+1), 1, result)
	want := recordingOf(t, strings.Join(lines, ""))
	got := recordingOf(t, strings.Join(late, ""))
	require.ElementsMatch(t, said(want), said(got))
	require.True(t, slices.ContainsFunc(got.Notes, func(n importer.Note) bool { return n.Kind == "reordered" && n.Line == 2 }))
}

func TestTheMessagesOfOneAnswerOfGooseAreOne(t *testing.T) {
	part := func(content string) string {
		return `{"id":"a","role":"assistant","created":1754000000,"content":[` + content + `],"metadata":{"userVisible":true,"agentVisible":true,"inference":{"provider":"ollama","requestedModel":"qwen3"}}}`
	}
	got := recordingOf(t, part(`{"type":"reasoning","text":"hm"}`)+"\n"+part(`{"type":"text","text":"so"}`))
	require.Equal(t, []chat.Message{{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "hm"}, chat.Text("so")}, Origin: chat.Origin{Model: "qwen3"}}}, said(got))
	require.Equal(t, entry.ModelChange{Provider: "ollama", Model: "qwen3"}, got.Records[0].Body)
}

func TestAThoughtThatHoldsNothingIsNoted(t *testing.T) {
	for name, give := range map[string]string{
		"Gemini CLI": `{"sessionId":"s","projectHash":"p","messages":[{"id":"a","type":"gemini","content":"so","thoughts":[{"subject":"","description":""}]}]}`,
		"goose":      `{"role":"assistant","created":1754000000,"content":[{"type":"thinking","thinking":"","signature":""},{"type":"text","text":"so"}]}`,
		"opencode":   `{"info":{},"messages":[{"info":{"id":"a","role":"assistant"},"parts":[{"type":"reasoning","text":""},{"type":"text","text":"so"}]}]}`,
		"OpenHands":  `{"id":"a","source":"agent","kind":"MessageEvent","llm_message":{"role":"assistant","content":[{"type":"text","text":"so"}],"reasoning_content":"","thinking_blocks":[{"type":"thinking","thinking":""}],"responses_reasoning_item":{"id":"r","summary":[]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := recordingOf(t, give)
			require.Equal(t, []chat.Message{chat.AssistantMessage("so")}, said(got))
			require.True(t, slices.ContainsFunc(got.Notes, func(n importer.Note) bool { return n.Kind == "empty" }))
		})
	}
}

func TestAStreamIsReadTurnByTurn(t *testing.T) {
	ask, ok := chat.UserMessage("(The recording does not have the user's message.)"), chat.AssistantMessage("ok")
	codex := `{"type":"thread.started","thread_id":"a"}` + "\n" + `{"type":"turn.started"}` + "\n" + `{"type":"item.completed","item":{"type":"agent_message","text":"ok"}}` + "\n"
	opencode := `{"type":"step_start","sessionID":"s","part":{}}` + "\n" + `{"type":"text","sessionID":"s","part":{"text":"ok"}}` + "\n" + `{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}` + "\n"
	claude := `{"type":"system","session_id":"a"}` + "\n" + `{"type":"assistant","message":{"role":"assistant","content":"ok"}}` + "\n" + `{"type":"result"}` + "\n"
	gemini := `{"type":"init","session_id":"a"}` + "\n" + `{"type":"message","role":"user","content":"ask"}` + "\n"
	piece := `{"type":"message","timestamp":"2026-01-01T00:00:00Z","role":"assistant","content":"ok","delta":true}` + "\n"
	for rule, tt := range map[string]struct {
		give string
		want []chat.Message
	}{
		"two runs of Codex":                   {codex + codex, []chat.Message{ask, ok, ask, ok}},
		"two runs of opencode":                {opencode + opencode, []chat.Message{ask, ok, ask, ok}},
		"two runs of Claude Code":             {claude + claude, []chat.Message{ask, ok, ask, ok}},
		"equal pieces of one answer are kept": {gemini + piece + piece, []chat.Message{chat.UserMessage("ask"), chat.AssistantMessage("okok")}},
	} {
		t.Run(rule, func(t *testing.T) { require.Equal(t, tt.want, said(recordingOf(t, tt.give))) })
	}
}

func TestAChatOfAiderInWhichNothingIsSaidIsNotTheConversation(t *testing.T) {
	start := "# aider chat started at 2026-01-01 00:00:00\n> Aider v1\n"
	got := recordingOf(t, start+"#### ask\nok\n"+start+"#### ask again\nok\n> Tokens: 3\n"+start)
	require.Equal(t, []chat.Message{chat.UserMessage("ask again"), chat.AssistantMessage("ok")}, said(got))
}

func TestAnItemOfCodexThatFailedIsAnError(t *testing.T) {
	for item, want := range map[string]string{
		`"type":"mcp_tool_call","tool":"t","result":null,"error":{"message":"no"},"status":"failed"`:                `{"message":"no"}`,
		`"type":"file_change","changes":[],"status":"failed"`:                                                       "failed",
		`"type":"command_execution","command":"rm","aggregated_output":"","exit_code":null,"status":"declined"`:     "declined",
		`"type":"command_execution","command":"rm","aggregated_output":"out","exit_code":null,"status":"failed"`:    "out",
		`"type":"command_execution","command":"rm","aggregated_output":"denied","exit_code":1,"status":"completed"`: "denied",
	} {
		list := said(recordingOf(t, `{"type":"thread.started","thread_id":"a"}`+"\n"+`{"type":"item.completed","item":{"id":"c",`+item+`}}`))
		require.Equal(t, want, list[2].Text())
		require.True(t, list[2].IsError, item)
	}
}

// The events of a subagent may name it in another way than its calls.
func TestAResultBelongsToWhoCalled(t *testing.T) {
	text := strings.Replace(string(fixture(t, "copilot.jsonl")), `"success":true,"parentToolCallId":"t2","result":{"content":"no matches"}},`, `"success":true,"result":{"content":"no matches"}},"agentId":"other",`, 1)
	got := recordingOf(t, text)
	want := recordingOf(t, string(fixture(t, "copilot.jsonl")))
	require.Equal(t, said(want), said(got))
	for i, r := range got.Records {
		require.Equal(t, want.Records[i].Message(), r.Message())
		require.Equal(t, want.Records[i].Parent, r.Parent)
	}
}

func TestAResultOfAnExportIsText(t *testing.T) {
	got := recordingOf(t, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"ls","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c","content":[{"type":"tool_output","output":"a.go"}]}]}`)
	require.Equal(t, "a.go", said(got)[2].Text())
}

func TestACallThatAnExportHasTwiceIsReadOnce(t *testing.T) {
	call := func(id, name, arguments string) string {
		return fmt.Sprintf(`{"type":"tool_call","tool_call_id":%q,"name":%q,"arguments":%q}`, id, name, arguments)
	}
	for rule, tt := range map[string]struct {
		content, calls string
		want           []string // names of the calls
		opaque, notes  int
	}{
		"a part that repeats a call is noted":     {call("c", "ls", "{}"), `{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}`, []string{"ls"}, 0, 1},
		"two of them":                             {call("c", "ls", "{}") + "," + call("d", "cat", "{}"), `{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"d","type":"function","function":{"name":"cat","arguments":"{}"}}`, []string{"ls", "cat"}, 0, 2},
		"a part alone is the call":                {call("c", "ls", "{}"), ``, []string{"ls"}, 0, 0},
		"one that says something else is kept":    {call("c", "ls", `{"a":1}`), `{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}`, []string{"ls"}, 1, 0},
		"one with fields of another kind is kept": {`{"type":"tool_call","id":"c","input":{}}`, `{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}`, []string{"ls"}, 1, 0},
	} {
		t.Run(rule, func(t *testing.T) {
			got := recordingOf(t, `[{"role":"system","content":"s"},{"role":"assistant","content":[`+tt.content+`],"tool_calls":[`+tt.calls+`]}]`)
			m := said(got)[0]
			var names []string
			for _, c := range m.ToolCalls {
				names = append(names, c.Name)
			}
			require.Equal(t, tt.want, names)
			require.Len(t, m.Content, tt.opaque)
			repeated := 0
			for _, n := range got.Notes {
				require.Equal(t, importer.Note{Line: 1, Count: n.Count, Kind: "repeated", What: "content.tool_call"}, n)
				repeated += n.Count
			}
			require.Equal(t, tt.notes, repeated)
		})
	}
}

func TestTheThinkingBlocksOfLiteLLMAreThinking(t *testing.T) {
	got := recordingOf(t, `[{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_content":"hm",
		"thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"c2ln"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}]`)
	require.Equal(t, chat.Parts{chat.Thinking{Text: "hm", Signature: "c2ln"}, chat.Text("b")}, said(got)[1].Content)
	require.Equal(t, chat.Usage{Input: 9, Output: 2, CacheUnknown: true}, got.Records[1].Usage)
	require.Equal(t, []importer.Note{{Line: 1, Count: 1, Kind: "repeated", What: "reasoning_content"}}, got.Notes)
}

func TestAResultOfCodexMayBeOnePart(t *testing.T) {
	got := recordingOf(t, `{"timestamp":"2026-08-03T10:48:55Z","type":"response_item","payload":{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"}}
{"timestamp":"2026-08-03T10:48:56Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":{"type":"input_text","text":"a.go","detail":null}}}`)
	require.Equal(t, chat.Message{Role: chat.RoleTool, ToolCallID: "c", Content: chat.Parts{chat.Text("a.go")}}, said(got)[1])
}

func TestALineOfAnEvaluationOfOpenHandsIsASession(t *testing.T) {
	got := recordingOf(t, `{"instance_id":"i","history":`+strings.ReplaceAll(string(fixture(t, "openhands-old.json")), "\n", " ")+`}`)
	want := recordingOf(t, string(fixture(t, "openhands-old.json")))
	require.EqualValues(t, "openhands", got.Format)
	require.Equal(t, said(want), said(got))
}

// An answer's message names who wrote it, as far as the recording says that.
func TestAnAnswerOfARecordingNamesItsOrigin(t *testing.T) {
	claude := func(model string) string {
		return `{"type":"assistant","uuid":"a","sessionId":"s","message":{"role":"assistant","model":"` + model + `","content":[{"type":"text","text":"x"}]}}`
	}
	pi := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z"}` + "\n"
	piSaid := func(id, parent, fields string) string {
		return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"message":{"role":"assistant",` + fields + `"content":[{"type":"text","text":"x"}]}}` + "\n"
	}
	change := func(id, parent, model string) string {
		return `{"type":"model_change","id":"` + id + `","parentId":` + parent + `,"provider":"openai","modelId":"` + model + `"}` + "\n"
	}
	for rule, c := range map[string]struct {
		recording string
		want      []chat.Origin
	}{
		"the model that a line names":        {claude("claude-opus-4-5"), []chat.Origin{{Provider: "anthropic", Model: "claude-opus-4-5"}}},
		"none of what the agent itself said": {claude("<synthetic>"), []chat.Origin{{}}},
		"the API that a line names":          {pi + piSaid("a", "null", `"api":"google-generative-ai","provider":"google","model":"gemini-3-pro",`), []chat.Origin{{Provider: "gemini", Model: "gemini-3-pro"}}},
		"no provider that is a gateway's":    {pi + piSaid("a", "null", `"api":"some-gateway","model":"m",`), []chat.Origin{{Model: "m"}}},
		"the change before it on its path": {
			pi + change("a", "null", "one") + piSaid("b", `"a"`, "") + change("c", `"b"`, "two") + piSaid("d", `"c"`, "") + piSaid("e", `"b"`, ""),
			[]chat.Origin{{Provider: "openai", Model: "one"}, {Provider: "openai", Model: "two"}, {Provider: "openai", Model: "one"}},
		},
		"nothing of a list that names no model": {`[{"role":"user","content":"q"},{"role":"assistant","content":"a","tool_calls":[]}]`, []chat.Origin{{}}},
	} {
		t.Run(rule, func(t *testing.T) {
			got := recordingOf(t, c.recording)
			var origins []chat.Origin
			for _, r := range got.Records {
				if m := r.Message(); m.Role == chat.RoleAssistant {
					origins = append(origins, m.Origin)
				}
			}
			require.Equal(t, c.want, origins)
		})
	}
}
