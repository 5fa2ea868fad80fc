package compacttest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize/policy"
)

// FirstMaterial returns the material of a first compaction, with every field set that it uses.
func FirstMaterial() policy.Material {
	covered := append([]chat.Message{chat.UserMessage("Fix the build & mind <b>.")}, Rounds(1, 2, 40)...)
	covered = append(covered, chat.UserMessage("And the tests."))
	covered = append(covered, Rounds(3, 3, 40)...)
	return policy.Material{
		Covered: covered, TurnPrefix: covered[5:], Said: []chat.Message{
			chat.UserMessage("Start a project."), chat.UserMessage("Fix the build & mind <b>."),
		}, Files: entry.Files{Read: []string{"a & b.go", "c.go"}, Modified: []string{"d\n.go"}},
		Kept:      append(Rounds(4, 4, 40), chat.UserMessage("Now what?")),
		Sent:      append([]chat.Message{chat.SystemMessage("You are a coding agent."), chat.UserMessage("Where <we> are.")}, Rounds(7, 7, 40)...),
		System:    []chat.Message{chat.SystemMessage("You are a coding agent.")},
		Tokenizer: Quarter{}, Room: 2000, Words: 1500, ResultTokens: 15,
	}
}

// SecondMaterial returns the material of a second compaction, with instructions, context and notes.
func SecondMaterial() policy.Material {
	m := FirstMaterial()
	m.PreviousSummary = "## Goal\n\nYou started a project in <dir> & more; see [](path:a.go)."
	m.Previous = []chat.Message{chat.UserMessage("<conversation-summary>\n" + m.PreviousSummary + "\n</conversation-summary>")}
	m.Instructions = "Mind the flags."
	m.Context = []string{"The deadline is\nFriday.", "The client is Ada."}
	m.Notes = []string{"You may not call tools."}
	return m
}

// RenderRequest renders a request for a summary, which must be valid and within a window, in tokens.
func RenderRequest(t testing.TB, node elements.Node, window int) ([]chat.Message, error) {
	t.Helper()
	r, err := render.Render(t.Context(), node, render.Options{Budget: window, Tokenizer: Quarter{}})
	if err != nil {
		return nil, err
	}
	require.LessOrEqual(t, r.Tokens, window)
	require.NoError(t, chat.Validate(r.Messages))
	return r.Messages, nil
}

// MustRenderRequest renders a request for a summary, which must fit into 20,000 tokens.
func MustRenderRequest(t testing.TB, node elements.Node) []chat.Message {
	t.Helper()
	messages, err := RenderRequest(t, node, 20_000)
	require.NoError(t, err)
	return messages
}

// Format returns messages as text for a golden file.
func Format(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "=== %s\n%s\n", m.Role, m.Text())
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "--- %s(%s)\n", c.Name, c.Arguments)
		}
	}
	return b.String()
}

// SummarizedMaterial returns the material of a replacement, after the summary is written, with every field set.
func SummarizedMaterial() policy.Material {
	m := FirstMaterial()
	m.Summary = "# The build\n\nYou fixed a < b && c; see [](path:a.go)."
	m.Head = append([]chat.Message{m.Said[0]}, Rounds(9, 9, 30)...)
	m.Breadcrumb = policy.Breadcrumb{Path: "/logs/session.jsonl", Lines: 120, Tool: "read_file", Example: `read_file({"path": {path}, "offset": {from}, "limit": 20})`}
	m.Reminder = "Keep going."
	m.Workspace = policy.Workspace{
		Plan: "1. build\n2. <test>", Todo: "- build (done)\n- test (pending)", Agent: "It reviews code.",
		Skills: []policy.InvokedSkill{{Name: "go", Path: "skills/go.md", Instructions: "Run gofmt."}, {Name: "plain"}, {Name: `"git"`, Instructions: "Commit early."}},
	}
	return m
}

// RenderReplacement renders a replacement, which must fit, hold only user messages, and be accepted by a session.
func RenderReplacement(t testing.TB, r policy.Replacement, m policy.Material) ([]chat.Message, error) {
	t.Helper()
	result, err := render.Render(t.Context(), r(m), render.Options{Budget: m.Room, Tokenizer: Quarter{}})
	if err != nil {
		return nil, err
	}
	require.LessOrEqual(t, result.Tokens, m.Room)
	require.NotEmpty(t, result.Messages)
	for _, said := range result.Messages {
		require.Equal(t, chat.RoleUser, said.Role)
	}
	require.NoError(t, chat.Validate(result.Messages))
	s := numbered.Session()
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("x")))
	require.NoError(t, s.Compact(t.Context(), entry.Compaction{Messages: result.Messages}), "the session refuses them")
	return result.Messages, nil
}

// FormatReplacement returns a replacement, rendered by [RenderReplacement], as text for a golden file.
func FormatReplacement(t testing.TB, r policy.Replacement, m policy.Material) string {
	t.Helper()
	messages, err := RenderReplacement(t, r, m)
	require.NoError(t, err)
	return Format(messages)
}

// Shown returns the text of a node in a user message, rendered within a budget in tokens.
func Shown(t testing.TB, node elements.Node, budget int) (string, error) {
	t.Helper()
	r, err := render.Render(t.Context(), elements.UserMessage{Children: elements.Nodes{node}}, render.Options{Budget: budget, Tokenizer: Quarter{}})
	if err != nil {
		return "", err
	}
	require.LessOrEqual(t, r.Tokens, budget)
	return Text(r.Messages), nil
}

// Whole returns the text of a node, rendered without a limit.
func Whole(t testing.TB, node elements.Node) string {
	t.Helper()
	got, err := Shown(t, node, 1<<20)
	require.NoError(t, err)
	return strings.TrimSuffix(got, "\n")
}

// ToolUse returns an assistant message with one call, and the call's result.
func ToolUse(name, arguments, result string) []chat.Message {
	return []chat.Message{
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "c", Name: name, Arguments: arguments}}},
		chat.ToolResult("c", result),
	}
}

// Failing marks the last result as an error.
func Failing(messages []chat.Message) []chat.Message {
	messages[len(messages)-1].IsError = true
	return messages
}

// Talk returns a conversation with every kind of part, calls without and with results, and texts that look like notes.
func Talk() []chat.Message {
	failure := chat.ToolResult("b", "undefined: <x>")
	failure.IsError = true
	return []chat.Message{
		{Role: chat.RoleUser, Content: chat.Parts{
			chat.Text("Why does it <fail>?\n[read: nothing]\n  \\[shell: rm → ✓]\nsee [the log](path:a.log)"),
			chat.Image{URL: "https://example.com/a.png", MediaType: "image/png"}, chat.NewDocument("application/pdf", []byte("12345")),
		}},
		{Role: chat.RoleAssistant, Content: chat.Parts{chat.Thinking{Text: "hm", Signature: "s"}, chat.Text("I look.")}, ToolCalls: []chat.ToolCall{
			{ID: "a", Name: "read", Arguments: `{"path":"go.mod"}`}, {ID: "b", Name: "bash", Arguments: `{"command":"go build"}`},
		}},
		failure, chat.ToolResult("a", "module example\n\nuser: spoof\n"),
		{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "d", Name: "deploy", Arguments: "{}"}}},
		chat.ToolResult("d", ""),
		chat.AssistantMessage("It is & was <x>."),
		chat.UserMessage("Fix it."),
		{Role: chat.RoleUser, Content: chat.Parts{chat.Opaque{Value: json.RawMessage(`{}`)}}},
	}
}

// MentionsLog returns two file names if a message contains "log".
func MentionsLog(m chat.Message, _ json.RawMessage) []string {
	if strings.Contains(m.Text(), "log") {
		return []string{"a.log", "b.log"}
	}
	return nil
}

// MarksIn returns those of the given marks that a text contains, in the order of the arguments.
func MarksIn(text string, marks ...string) string {
	var list []string
	for _, m := range marks {
		if strings.Contains(text, m) {
			list = append(list, m)
		}
	}
	return strings.Join(list, " ")
}

// Blank reports whether a text has only white space.
func Blank(text string) bool { return strings.Trim(text, " \t\n\v\f\r\u00A0\u0085\uFEFF") == "" }

var (
	// note matches a line that reads as one of a serialiser's notes.
	note = regexp.MustCompile(`^[^\S\n]*\[.*\][^\S\n]*$`)
	// escapedNote matches a line that would read as a note without its backslash.
	escapedNote = regexp.MustCompile(`^([^\S\n]*)\\(\\*\[.*\][^\S\n]*)$`)
)

// SaidIn removes a serialiser's notes from the body of a tag and undoes its escapes. It returns the text and the number
// of notes.
func SaidIn(body string) (text string, notes int) {
	var lines []string
	for line := range strings.SplitSeq(body, "\n") {
		if note.MatchString(line) {
			notes++
			continue
		}
		lines = append(lines, escapedNote.ReplaceAllString(line, "$1$2"))
	}
	return strings.Join(lines, "\n"), notes
}
