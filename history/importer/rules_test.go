package importer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/sealed"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

func TestTheFormatIsDetectedFromTheContent(t *testing.T) {
	tests := []struct {
		rule, give string
		want       importer.Program
	}{
		{"pi starts with a header", `{"type":"session","id":"a"}`, "pi"},
		{"pi starts with a header of any version", `{"type":"session","version":1,"id":"a","timestamp":"2026-01-01T00:00:00Z"}`, "pi"},
		{"oh-my-pi may start with a title", `{"type":"title","v":1,"title":"","pad":" "}`, "pi"},
		{"promptree's header has a time and no timestamp", sealed.Line(`{"type":"session","version":4,"id":"a","time":"2026-01-01T00:00:00Z"}`), "promptree"},
		{"Claude Code names the session", `{"type":"permission-mode","sessionId":"a"}`, "claude-code"},
		{"Claude Code names the leaf of a summary", `{"type":"summary","summary":"a","leafUuid":"b"}`, "claude-code"},
		{"Codex wraps each line in a payload", `{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{}}`, "codex"},
		{"old Codex starts with instructions", `{"id":"a","timestamp":"2025-01-01T00:00:00Z","instructions":"b"}`, "codex"},
		{"a message of text only is OpenAI's", `{"role":"user","content":"a"}`, "openai-chat"},
		{"a list of text only is OpenAI's", "[\n{\"role\":\"user\",\"content\":\"a\"}\n]", "openai-chat"},
		{"a request without messages is OpenAI's", "{\n\"messages\":[]}", "openai-chat"},
		{"a message with role system is OpenAI's", `[{"role":"system","content":"a"},{"role":"user","content":[{"type":"image"}]}]`, "openai-chat"},
		{"a system field beside the messages is Anthropic's", `{"system":"a","messages":[{"role":"user","content":"b"}]}`, "anthropic-messages"},
		{"a block with a source is Anthropic's", `{"messages":[{"role":"user","content":[{"type":"image","source":{}}]}]}`, "anthropic-messages"},
		{"a text with cache_control is Anthropic's", `[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]`, "anthropic-messages"},
		{"a later message may decide", `{"role":"user","content":"a"}` + "\n" + `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{}}]}`, "anthropic-messages"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			got := recordingOf(t, tt.give)
			assert.Equal(t, tt.want, got.Format)
		})
	}
}

// claudeLine returns a line of Claude Code's with one block.
func claudeLine(uuid, parent, role, block string) string {
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%q,"sessionId":"s","message":{"role":%q,"id":"msg-%s","content":[%s]}}`, role, uuid, parent, role, uuid, block)
}

func TestALineMayComeBeforeTheOneThatItFollows(t *testing.T) {
	lines := []string{
		claudeLine("u1", "", "user", `{"type":"text","text":"ask"}`),
		claudeLine("u2", "u1", "assistant", `{"type":"tool_use","id":"c","name":"Read","input":{}}`),
		claudeLine("u3", "u2", "user", `{"type":"tool_result","tool_use_id":"c","content":"found"}`),
		claudeLine("u4", "u3", "assistant", `{"type":"text","text":"done"}`),
	}
	read := func(order ...int) *importer.Recording {
		var text strings.Builder
		for _, n := range order {
			text.WriteString(lines[n] + "\n")
		}
		return recordingOf(t, text.String())
	}
	want := said(read(0, 1, 2, 3))
	require.Len(t, want, 4)
	for _, order := range [][]int{{0, 2, 1, 3}, {2, 1, 3, 0}, {3, 2, 1, 0}, {0, 3, 2, 1}} {
		got := read(order...)
		require.Equal(t, want, said(got), order)
		require.Equal(t, "u4", got.Leaf)
		require.NotEmpty(t, got.Notes)
		for _, n := range got.Notes {
			require.Equal(t, "reordered", n.Kind)
		}
		s := sessiontest.New(t, &storage.Memory{}, history.Options{})
		refused, err := got.AppendTo(t.Context(), s)
		require.NoError(t, err)
		require.Empty(t, refused)
	}
}

func TestLinesThatFollowEachOtherAreRead(t *testing.T) {
	text := claudeLine("u1", "u2", "user", `{"type":"text","text":"ask"}`) + "\n" + claudeLine("u2", "u1", "assistant", `{"type":"text","text":"done"}`)
	got := recordingOf(t, text)
	require.Len(t, said(got), 2)
	require.Equal(t, "unlinked", got.Notes[0].Kind)
}

func TestOddLinesAreNoted(t *testing.T) {
	hello := `{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hello"}}`
	for _, c := range []struct {
		rule, give string
		want       importer.Note
	}{
		{"a line that is there twice", session(hello, hello), importer.Note{Line: 3, Count: 1, Kind: "repeated", What: "id"}},
		{"a type that nobody knows", session(hello, `{"type":"later","id":"b","parentId":"a"}`), importer.Note{Line: 3, Count: 1, Kind: "unknown", What: "later"}},
		{"a role that nobody knows", session(hello, `{"type":"message","id":"b","parentId":"a","message":{"role":"critic"}}`), importer.Note{Line: 3, Count: 1, Kind: "unknown", What: "message.critic"}},
		{"a later version of pi", `{"type":"session","version":9,"id":"s"}` + "\n" + hello, importer.Note{Line: 1, Count: 1, Kind: "later version", What: "version 9"}},
		{"a type of Claude Code that nobody knows", claudeLine("a", "", "user", `{"type":"text","text":"hello"}`) + "\n" + `{"type":"later","uuid":"b","parentUuid":"a"}`, importer.Note{Line: 2, Count: 1, Kind: "unknown", What: "later"}},
		{"an item of Codex that nobody knows", `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a"}}` + "\n" +
			`{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}}` + "\n" +
			`{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"later"}}`, importer.Note{Line: 3, Count: 1, Kind: "unknown", What: "response_item.later"}},
		{"a change of VS Code that nobody knows", `{"kind":0,"v":{"responderUsername":"x","requests":[{"message":{"text":"hello"}}]}}` + "\n" + `{"kind":9,"k":["requests"],"v":[]}`,
			importer.Note{Line: 2, Count: 1, Kind: "unknown", What: "kind 9"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got := recordingOf(t, c.give)
			require.Equal(t, []importer.Note{c.want}, got.Notes)
			require.Equal(t, []chat.Message{chat.UserMessage("hello")}, said(got))
		})
	}
}

func TestAFileOfAnUnknownKindIsAnErrorThatNamesWhatWasTried(t *testing.T) {
	for _, c := range []struct{ name, give, want string }{
		{"a list of things without roles", "{\n\"messages\": [\n{\"author\": \"a\"}\n]\n}", "its first object has neither a type nor messages"},
		{"messages of another role", `{"role":"agent","content":"a"}`, "neither a type nor messages"},
		{"a pi session without its first line", `{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"a"}}`, `its first object is of type "message"`},
		{"Antigravity's steps", `{"type":"PLANNER_RESPONSE","step":1}`, `its first object is of type "PLANNER_RESPONSE"`},
		{"a text", "hello", "invalid character 'h'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, skip := range []bool{false, true} {
				_, err := importer.Options{SkipUnreadable: skip}.Read(strings.NewReader(c.give))
				require.ErrorContains(t, err, "unknown format: tried sessions of promptree, pi, oh-my-pi, Claude Code, Codex, Copilot CLI, Gemini CLI")
				require.ErrorContains(t, err, c.want)
			}
		})
	}
	_, err := importer.Read(strings.NewReader("SQLite format 3\x00\x10\x00"))
	require.EqualError(t, err, "importer: line 1: a SQLite database, as newer versions of opencode, goose and crush keep their sessions in, is not read: export the session as JSON (opencode export, goose session export)")
}

func TestUnreadableLinesAreSkippedOnlyOnRequest(t *testing.T) {
	give := session(
		`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}`,
		`{"type":"message","id":"b","parentId":"a","message":{"role":"user"`,
		`{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"three"}}`,
		`{"type":"message","id":"d","parentId":"c","message":{"role":"user","content":7}}`,
	)
	_, err := importer.Read(strings.NewReader(give))
	bad, _ := errors.AsType[*importer.LineError](err)
	require.NotNil(t, bad)
	assert.Equal(t, 3, bad.Line)

	got, err := importer.Options{SkipUnreadable: true}.Read(strings.NewReader(give))
	require.NoError(t, err)
	var texts []string
	for _, m := range said(got) {
		texts = append(texts, m.Text())
	}
	assert.Equal(t, []string{"one", "three"}, texts)
	assert.Equal(t, []importer.Note{
		{Line: 3, Count: 1, Kind: importer.Unreadable, What: "byte 66: unexpected end of JSON input"},
		{Line: 4, Count: 1, Kind: "unlinked", What: "parentId"},
		{Line: 5, Count: 1, Kind: importer.Unreadable, What: "message: content: expected a list, found a number"},
	}, got.Notes)

	_, err = importer.Options{SkipUnreadable: true}.Read(strings.NewReader("{\n" + give))
	assert.Error(t, err, "the first line shows the format")
}

// codex is the head of a rollout.
const codex = `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a"}}` + "\n"

// Harnesses name their agents so, and a row of one says nothing of what the others hold.
func TestARowWithAnUnknownRoleIsKeptForTheRecordAndNoted(t *testing.T) {
	for _, give := range []string{
		`{"role":"user","content":"a"}` + "\n" + `{"role":"assistant-subagent-1","content":"b"}` + "\n" + `{"role":"assistant","content":"c"}`,
		`[{"role":"user","content":[{"type":"text","text":"a","cache_control":{}}]},{"role":"agent","content":"b"},{"role":"assistant","content":"c"}]`,
		codex + `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}}
{"type":"response_item","payload":{"type":"message","role":"critic","content":[]}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"c"}]}}`,
	} {
		got := recordingOf(t, give)
		list := said(got)
		require.Len(t, list, 2)
		require.Equal(t, []string{"a", "c"}, []string{list[0].Text(), list[1].Text()})
		require.True(t, slices.ContainsFunc(got.Notes, func(n importer.Note) bool { return n.Kind == "unknown" }))
	}
}

func TestCallsWithoutAnIDAreAnsweredInTheirOrder(t *testing.T) {
	item := func(fields string) string { return `{"type":"response_item","payload":{` + fields + "}}\n" }
	got := recordingOf(t, codex+
		item(`"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]`)+
		item(`"type":"function_call","name":"x","arguments":"{}","call_id":null`)+
		item(`"type":"function_call","id":"fc_2","name":"y","arguments":"{}","call_id":null`)+
		item(`"type":"function_call_output","call_id":null,"output":"of x"`)+
		item(`"type":"function_call_output","call_id":null,"output":"of y"`))
	list := said(got)
	require.NoError(t, chat.Validate(list))
	for i, call := range list[1].ToolCalls {
		require.Equal(t, call.ID, list[2+i].ToolCallID)
		require.Equal(t, "of "+call.Name, list[2+i].Text())
	}
	require.True(t, slices.ContainsFunc(got.Notes, func(n importer.Note) bool { return n.Kind == "unlinked" }))
}

func TestALineWithSeveralMessagesIsSkippedAsAWhole(t *testing.T) {
	give := `{"messages":[{"role":"user","content":"one"}]}
{"messages":[{"role":"user","content":"two"},{"role":7}]}
{"messages":[{"role":"user","content":"three"}]}`
	got, err := importer.Options{SkipUnreadable: true}.Read(strings.NewReader(give))
	require.NoError(t, err)
	require.Len(t, got.Records, 2)
	assert.Equal(t, "", got.Records[1].Parent)
	assert.Equal(t, got.Records[1].ID, got.Leaf)
}

func TestAVersion1CompactionOfPiNamesTheFirstKeptEntryByIndex(t *testing.T) {
	got := recordingOf(t, session(
		message(`"role":"user","content":"one"`),
		message(`"role":"user","content":"two"`),
		`{"type":"compaction","summary":"one was said","firstKeptEntryIndex":2,"tokensBefore":7}`,
		message(`"role":"user","content":"three"`),
	))
	c := got.Records[2].Compaction()
	assert.Equal(t, got.Records[1].ID, c.FirstKept)
	assert.Equal(t, "one was said", c.Text)
	v := sessiontest.View(t, appended(t, got, nil))
	assert.Equal(t, "<summary>\none was said\n</summary>", v.Compacted[0].Text())
	require.Len(t, v.Turns, 2)
	assert.Equal(t, "two", v.Turns[0].Start.Message().Text())
}

func TestACompactionThatKeepsAResultFirstKeepsItsCallToo(t *testing.T) {
	got := recordingOf(t, session(
		message(`"role":"user","content":"one"`),
		message(`"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{}}]`),
		message(`"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"a"}]`),
		`{"type":"compaction","summary":"one was said","firstKeptEntryIndex":3,"tokensBefore":7}`,
	))
	e := sessiontest.Entry(t, appended(t, got, nil), got.Leaf)
	assert.Equal(t, got.Records[1].ID, e.Compaction().FirstKept)
}

func TestARollbackOfCodexCountsOnlyWhatTheUserTyped(t *testing.T) {
	user := func(text string, typed bool) string {
		item := `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` + text + `"}]}}` + "\n"
		if typed {
			item += `{"type":"event_msg","payload":{"type":"user_message","message":"` + text + `"}}` + "\n"
		}
		return item
	}
	back := func(turns string) string {
		return `{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":` + turns + `}}` + "\n"
	}
	first := `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a"}}` + "\n"
	tests := []struct {
		rule, give string
		want       []string
	}{
		{"one turn is removed", user("a", true) + user("b", true) + back("1") + user("c", true), []string{"a", "c"}},
		{"two turns are removed", user("a", true) + user("b", true) + back("2") + user("c", true), []string{"c"}},
		{"a message that Codex added does not count", user("a", true) + user("b", true) + user("added", false) + back("1") + user("c", true), []string{"a", "c"}},
		{"more turns than there are remove all", user("a", true) + back("9") + user("c", true), []string{"c"}},
		{"rollbacks add up", user("a", true) + user("b", true) + back("1") + user("c", true) + back("1"), []string{"a"}},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			got := recordingOf(t, first+tt.give)
			var texts []string
			for _, m := range said(got) {
				texts = append(texts, m.Text())
			}
			assert.Equal(t, tt.want, texts)
		})
	}
}

// In real sessions the next line may name any line of an answer as its parent.
func TestTheLinesOfAnAnswerOfClaudeCodeBecomeOneMessage(t *testing.T) {
	line := func(uuid, parent, typ, message string) string {
		return `{"uuid":"` + uuid + `","parentUuid":"` + parent + `","sessionId":"s","type":"` + typ + `","message":{"role":"` + typ + `",` + message + "}}\n"
	}
	call := func(id string) string {
		return `"id":"m","content":[{"type":"tool_use","id":"` + id + `","name":"n","input":{}}]`
	}
	result := func(id string) string {
		return `"content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"` + id + ` done"}]`
	}
	orders := map[string]string{
		"each result after its call": line("c1", "u", "assistant", call("t1")) + line("r1", "c1", "user", result("t1")) +
			line("c2", "c1", "assistant", call("t2")) + line("r2", "c2", "user", result("t2")) + line("z", "r1", "user", `"content":"next"`),
		"calls, then results, in a chain": line("c1", "u", "assistant", call("t1")) + line("c2", "c1", "assistant", call("t2")) +
			line("r1", "c2", "user", result("t1")) + line("r2", "r1", "user", result("t2")) + line("z", "r2", "user", `"content":"next"`),
		"each result names its call's line": line("c1", "u", "assistant", call("t1")) + line("c2", "c1", "assistant", call("t2")) +
			line("r1", "c1", "user", result("t1")) + line("r2", "c2", "user", result("t2")) + line("z", "r2", "user", `"content":"next"`),
		"both results on one line": line("c1", "u", "assistant", call("t1")) + line("c2", "c1", "assistant", call("t2")) +
			line("r", "c2", "user", `"content":[{"type":"tool_result","tool_use_id":"t1","content":"t1 done"},{"type":"tool_result","tool_use_id":"t2","content":"t2 done"},{"type":"text","text":"next"}]`),
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			messages := said(recordingOf(t, line("u", "", "user", `"content":"go"`)+order))
			require.NoError(t, chat.Validate(messages))
			require.Len(t, messages, 5)
			assert.Len(t, messages[1].ToolCalls, 2)
			assert.Equal(t, "t1 done", messages[2].Text())
			assert.Equal(t, "t2 done", messages[3].Text())
			assert.Equal(t, "next", messages[4].Text())
		})
	}
}

func TestASidechainIsASeparateBranch(t *testing.T) {
	got := recordingOf(t, string(fixture(t, "claude-code.jsonl")))
	side := got.Path("x-2")
	require.Len(t, side, 2)
	assert.True(t, side[0].Sidechain)
	assert.False(t, slices.ContainsFunc(got.Path(got.Leaf), func(r importer.Record) bool { return r.Sidechain }))
	s := appended(t, got, nil)
	common, err := s.Ancestor(t.Context(), "x-2", "u-15")
	require.NoError(t, err)
	assert.Equal(t, "", common)
	common, err = s.Ancestor(t.Context(), "u-9", "u-10")
	require.NoError(t, err)
	e := sessiontest.Entry(t, s, common)
	assert.Contains(t, []entry.Type{entry.TypeMessage, entry.TypeUsage}, e.Type(), "the answer before both, or its usage")
}

func TestClaudeCodeKeepsWhatACompactionPreserved(t *testing.T) {
	user := func(uuid, parent, fields string) string {
		return `{"uuid":"` + uuid + `","parentUuid":` + parent + `,"sessionId":"s","type":"user"` + fields + "}\n"
	}
	got := recordingOf(t, user("a", "null", `,"message":{"role":"user","content":"one"}`)+
		user("b", `"a"`, `,"message":{"role":"user","content":"two"}`)+
		`{"uuid":"c","parentUuid":null,"logicalParentUuid":"b","sessionId":"s","type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"manual","preTokens":9,"preservedSegment":{"headUuid":"b","anchorUuid":"d","tailUuid":"b"}}}`+"\n"+
		user("d", `"c"`, `,"isCompactSummary":true,"message":{"role":"user","content":"one was said"}`))
	c := got.Records[3].Compaction()
	assert.Equal(t, "b", c.FirstKept)
	assert.Equal(t, 9, c.TokensBefore)
	assert.Equal(t, "manual", c.Mode)
	v := sessiontest.View(t, appended(t, got, nil))
	assert.Equal(t, "one was said", v.Compacted[0].Text())
	require.Len(t, v.Turns, 1)
	assert.Equal(t, "two", v.Turns[0].Start.Message().Text())
}

func TestPartsOfEachFormatAreRead(t *testing.T) {
	codex := `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a"}}` + "\n"
	item := func(fields string) string { return codex + `{"type":"response_item","payload":{` + fields + `}}` }
	tests := []struct {
		rule, give string
		want       chat.Message
		notes      []importer.Note
	}{
		{
			"oh-my-pi: an image in a separate file is a name",
			session(message(`"role":"user","content":[{"type":"image","data":"blob:sha256:00","mimeType":"image/png"}]`)),
			chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: "blob:sha256:00", MediaType: "image/png"}}},
			nil,
		},
		{
			"oh-my-pi: a mentioned file may be an image",
			session(message(`"role":"fileMention","files":[{"path":"a.png","content":"","image":{"type":"image","data":"aa","mimeType":"image/png"}}]`)),
			shown(entry.CustomMessage{Name: "fileMention", Content: chat.Parts{
				chat.Text(`<file path="a.png"/>`), chat.Image{URL: "data:image/png;base64,aa"},
			}}),
			nil,
		},
		{
			"Codex: a search for tools is a call",
			item(`"type":"tool_search_call","call_id":"c","execution":"client","arguments":{"q": "a"}`),
			chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: "tool_search", Arguments: `{"q":"a"}`}}},
			[]importer.Note{{Line: 2, Count: 1, Kind: "no place", What: "tool_search_call.execution"}},
		},
		{
			"Codex: a search for tools that the provider ran is kept as it is",
			item(`"type":"tool_search_call", "execution":"server"`),
			chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Opaque{Value: []byte(`{"type":"tool_search_call", "execution":"server"}`)}}},
			nil,
		},
		{
			"Codex: thinking of open models is a text, with the rest of its item as the signature",
			item(`"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}],"encrypted_content":null`),
			chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "Hm.", Signature: `{"content":[{"type":"reasoning_text","text":"Hm."}],"summary":[]}`}}},
			nil,
		},
		{
			"Codex: empty thinking is noted",
			item(`"type":"reasoning","id":"rs","summary":[],"encrypted_content":null`),
			chat.Message{Role: chat.RoleAssistant},
			[]importer.Note{{Line: 2, Count: 1, Kind: "empty", What: "reasoning"}},
		},
		{
			"Anthropic: a result after a text is moved before the text",
			`{"role":"user","content":[{"type":"text","text":"see"},{"type":"tool_result","tool_use_id":"c","content":"a","cache_control":{"type":"ephemeral"}}]}`,
			chat.Message{Role: chat.RoleTool, ToolCallID: "c", Content: chat.Parts{chat.Text("a"), chat.CacheBreakpoint{Type: "ephemeral"}}},
			[]importer.Note{{Line: 1, Count: 1, Kind: "moved", What: "content.tool_result"}},
		},
		{
			"Anthropic: a breakpoint with an unknown field is noted",
			`{"role":"user","content":[{"type":"text","text":"see","cache_control":{"type":"ephemeral","scope":"all"}}]}`,
			chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("see"), chat.CacheBreakpoint{Type: "ephemeral"}}},
			[]importer.Note{{Line: 1, Count: 1, Kind: "no place", What: "content.text.cache_control.scope"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			got := recordingOf(t, tt.give)
			require.Empty(t, cmp.Diff(tt.want, said(got)[0]))
			assert.Equal(t, tt.notes, got.Notes)
		})
	}
}

func TestACompactionOfCodexMayBeOnlyASummary(t *testing.T) {
	got := recordingOf(t, `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}
{"type":"compacted","payload":{"message":"one was said"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"two"}]}}`)
	v := sessiontest.View(t, appended(t, got, nil))
	assert.Equal(t, "<summary>\none was said\n</summary>", v.Compacted[0].Text())
	require.Len(t, v.Turns, 1)
	assert.Equal(t, "two", v.Turns[0].Start.Message().Text())
}
