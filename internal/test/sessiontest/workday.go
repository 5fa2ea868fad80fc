package sessiontest

import (
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// Workday returns the messages of a plausible session, with tool calls, results and failures.
func Workday() []chat.Message {
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

// call returns an assistant message with these calls, given as id, name and arguments.
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

// Calls returns an assistant's message that calls a tool once for each id.
func Calls(tool, arguments string, ids ...string) chat.Message {
	m := chat.Message{Role: chat.RoleAssistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: id, Name: tool, Arguments: arguments})
	}
	return m
}

// ToolNames returns the names of tools.
func ToolNames(tools []chat.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}
