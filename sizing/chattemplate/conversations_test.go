package chattemplate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing/chattemplate"
)

var templates = []chattemplate.Template{
	chattemplate.Llama3, chattemplate.Qwen25, chattemplate.Qwen3, chattemplate.DeepSeekV3, chattemplate.MistralNemo,
}

// conversations is the number of random conversations of each template.
const conversations = 2000

// generator makes random conversations for a template.
type generator struct {
	*rand.Rand
	template chattemplate.Template
}

func newGenerator(t chattemplate.Template) *generator {
	return &generator{rand.New(rand.NewPCG(51, uint64(len(t)))), t}
}

// one reports true once in n times.
func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

var pieces = []string{
	"the", "quick", "Model", "reads", "HTTPServer", "don't", "I'LL", "naïve", "e\u0301", "größer", "Привет", "мир", "你好", "世界", "こんにちは", "مرحبا",
	"नमस्ते", "한국어", "ไทย", "🙂", "👩‍👩‍👧", "0", "7", "42", "2026", "3.14", "1_000_000", "x", "fn", "return", "{", "}", "[", "]", "(", ")", ";", "==", "!=", "->", "//",
	"\"", "'", "`", "```", "\\", "\\n", "<b>", "</b>", "&amp;", "#", "##", "-", "--", "…", ".", "!", "?", ":", "http://a.b/c?d=e", "{\"a\": 1}", "\u2028",
	"<think>", "</think>", "<tool_call>", "<tool_response>", "<|im_end|>", "<|eot_id|>", "[INST]", "</s>", "<｜User｜>",
}

var spaces = []string{" ", " ", " ", " ", " ", "", "", "  ", "\n", "\n\n", "\t", "\r\n", " \n "}

// text returns a text of up to n pieces.
func (g *generator) text(n int) string {
	var b strings.Builder
	if g.one(6) {
		b.WriteString(spaces[g.IntN(len(spaces))])
	}
	for range 1 + g.IntN(n) {
		b.WriteString(pieces[g.IntN(len(pieces))])
		b.WriteString(spaces[g.IntN(len(spaces))])
	}
	if g.one(2) {
		return strings.TrimRight(b.String(), " \n\t\r")
	}
	return b.String()
}

// value returns a random value of a call's arguments.
func (g *generator) value(depth int) any {
	switch g.IntN(7 - min(depth, 2)) {
	case 0:
		return g.IntN(100_000)
	case 1:
		return g.IntN(2) == 0
	case 2, 3, 4:
		return g.text(6)
	case 5:
		return []any{g.value(depth + 1), nil, 0.5}
	}
	return map[string]any{"path": g.text(3), "at": g.value(depth + 1)}
}

// arguments returns a call's arguments, in a JSON text with other white space than the template's.
func (g *generator) arguments() string {
	args := map[string]any{}
	for range g.IntN(4) {
		args[[]string{"path", "größe", "_x", "0", "new\nline"}[g.IntN(5)]] = g.value(0)
	}
	line, err := json.MarshalIndent(args, "", []string{"", " ", "\t"}[g.IntN(3)])
	if err != nil {
		panic(err)
	}
	return string(line)
}

var names = []string{"read", "_list", "0search", "web.open", "größe", "a-b"}

func (g *generator) tools() (tools []chat.Tool) {
	for range g.IntN(4) {
		tool := chat.Tool{Name: names[g.IntN(len(names))]}
		if !g.one(4) {
			tool.Description = g.text(12)
		}
		if !g.one(4) {
			tool.Parameters = json.RawMessage(`{"type":"object", "properties" : {"path":{"type":"string","description":"a \u00fc <b>"},"n":{"type":"integer","enum":[1,2]}},"required":["path"]}`)
		}
		tools = append(tools, tool)
	}
	return tools
}

// conversation returns a request that the template accepts.
func (g *generator) conversation() chat.Request {
	var req chat.Request
	say := func(m chat.Message) { req.Messages = append(req.Messages, m) }
	calls := g.template != chattemplate.Llama3
	if g.template == chattemplate.Qwen25 || g.template == chattemplate.Qwen3 || g.template == chattemplate.MistralNemo {
		req.Tools = g.tools()
	}
	if !g.one(3) {
		say(chat.SystemMessage(g.text(30)))
	}
	for turn := range 1 + g.IntN(4) {
		say(chat.UserMessage(fmt.Sprint(turn, g.text(40))))
		for round := 0; calls && g.one(2); round++ {
			var m chat.Message
			m.Role = chat.RoleAssistant
			if g.one(2) && g.template == chattemplate.Qwen3 {
				m.Content = append(m.Content, chat.Thinking{Text: g.text(20)})
			}
			if g.one(3) {
				m.Content = append(m.Content, chat.Text(g.text(10)))
			}
			for k := range 1 + g.IntN(3) {
				m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: fmt.Sprintf("call%d%d%03d", turn, k, round), Name: names[g.IntN(len(names))], Arguments: g.arguments()})
			}
			say(m)
			for _, c := range m.ToolCalls {
				say(chat.ToolResult(c.ID, g.text(60)))
			}
		}
		if g.template == chattemplate.DeepSeekV3 && g.one(8) || g.template == chattemplate.Qwen3 && g.one(8) || g.template == chattemplate.Qwen25 && g.one(8) {
			say(chat.SystemMessage(g.text(10)))
		}
		answer := chat.AssistantMessage(g.text(40))
		if g.one(2) && g.template == chattemplate.Qwen3 {
			answer.Content = append(chat.Parts{chat.Thinking{Text: g.text(20)}}, answer.Content...)
		}
		say(answer)
	}
	if !g.one(5) { // the conversation ends with a user message or with results, and not with an answer
		req.Messages = req.Messages[:len(req.Messages)-1]
	}
	return req
}

// sent returns a conversation in the form that the program beside this package reads.
func sent(t *testing.T, template chattemplate.Template, req chat.Request) []byte {
	type object = map[string]any
	list, tools := []object{}, []json.RawMessage(nil)
	for _, m := range req.Messages {
		out := object{"role": m.Role, "content": m.Text()}
		if m.Text() == "" && template == chattemplate.DeepSeekV3 {
			out["content"] = nil
		}
		for _, p := range m.Content {
			if p, ok := p.(chat.Thinking); ok {
				out["reasoning_content"] = p.Text
			}
		}
		var calls []object
		for _, c := range m.ToolCalls {
			called := object{"name": c.Name, "arguments": json.RawMessage(c.Arguments)}
			if template == chattemplate.DeepSeekV3 {
				called["arguments"] = c.Arguments
			}
			calls = append(calls, object{"id": c.ID, "type": "function", "function": ordered(t, called, "name", "arguments")})
		}
		if calls != nil {
			out["tool_calls"] = calls
		}
		if m.ToolCallID != "" {
			out["tool_call_id"] = m.ToolCallID
		}
		list = append(list, out)
	}
	for _, tool := range req.Tools {
		f := object{"name": tool.Name}
		if tool.Description != "" {
			f["description"] = tool.Description
		}
		if tool.Parameters != nil {
			f["parameters"] = tool.Parameters
		}
		whole := object{"type": "function", "function": ordered(t, f, "name", "description", "parameters")}
		tools = append(tools, ordered(t, whole, "type", "function"))
	}
	return sure.JSON(t, object{"template": template, "messages": list, "tools": tools})
}

// ordered writes an object with its fields in an order.
func ordered(t *testing.T, o map[string]any, keys ...string) json.RawMessage {
	var b bytes.Buffer
	for _, k := range keys {
		if v, ok := o[k]; ok {
			fmt.Fprintf(&b, ",%q:%s", k, sure.JSON(t, v))
		}
	}
	return json.RawMessage("{" + strings.TrimPrefix(b.String(), ",") + "}")
}

// reference returns what the program beside this package prints, which needs the folder that PROMPTREE_TEMPLATES names.
func reference(t *testing.T, lines [][]byte) []string {
	folder := os.Getenv("PROMPTREE_TEMPLATES")
	if folder == "" {
		t.Skip("PROMPTREE_TEMPLATES names no folder in which internal/templates/package.json was installed")
	}
	cmd := exec.Command("node", filepath.Join("internal", "templates", "count.mjs"), folder)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(bytes.Join(lines, []byte("\n"))), os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// file is the name of a template's file in testdata: for each conversation its tokens, and the bytes of its text without the
// passages of which only the count is known.
func file(t chattemplate.Template) string { return strings.ReplaceAll(string(t), " ", "") + ".txt" }

func TestThePublishedTemplatesGiveTheStoredCounts(t *testing.T) {
	for _, template := range templates {
		t.Run(string(template), func(t *testing.T) {
			var lines [][]byte
			g := newGenerator(template)
			for range conversations {
				lines = append(lines, sent(t, template, g.conversation()))
			}
			golden.Equal(t, file(template), strings.Join(reference(t, lines), "\n")+"\n")
		})
	}
}

// stored returns the tokens and bytes of the template's conversations.
func stored(t *testing.T, template chattemplate.Template) (tokens, bytes []int) {
	data := sure.Read(t, filepath.Join("testdata", file(template)))
	for line := range strings.Lines(string(data)) {
		var n, size int
		_, err := fmt.Sscan(line, &n, &size)
		require.NoError(t, err)
		tokens, bytes = append(tokens, n), append(bytes, size)
	}
	require.Len(t, tokens, conversations)
	return tokens, bytes
}

// summed counts a request by its messages and tools.
func summed(text func(string) int, template chattemplate.Template, req chat.Request) int {
	n := template.Overhead(text) + template.CountTools(text, req.Tools)
	for _, m := range req.Messages {
		frame, _ := template.CountFrame(text, m)
		n += frame + text(m.Text())
	}
	return n
}

func TestNoConversationIsLongerThanItsPartsCount(t *testing.T) {
	slack := map[chattemplate.Template]int{chattemplate.Qwen3: len("\n<think>\n\n</think>\n\n")} // around thinking that stands in a text
	for _, template := range templates {
		t.Run(string(template), func(t *testing.T) {
			t.Parallel()
			_, bytes := stored(t, template)
			g := newGenerator(template)
			for i, want := range bytes[:extremes.Cases(conversations)] {
				req := g.conversation()
				passages := summed(func(string) int { return 0 }, template, req)
				require.GreaterOrEqual(t, summed(length, template, req)-passages+slack[template], want, "conversation %d: %s", i, sent(t, template, req))
			}
		})
	}
}
