package main

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize/models"
)

// reader is a scripted model that needs no network. It does the tasks by the words that a request shows. It looks up
// those that it does not show, if it has a tool for that: it searches for the door, or reads the file that a mark or a
// summary names, page by page. It makes no mistakes and never guesses. Its summaries are digests ([models.Offline]).
type reader struct{ tokenizer chat.Tokenizer }

// Generate answers a request of the agent with the next step of its task, and any other with a digest.
func (r reader) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if req.MaxTokens != answerTokens {
		return models.Offline{Tokenizer: r.tokenizer}.Generate(ctx, req)
	}
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	m := next(req)
	m.Role = chat.RoleAssistant
	return chat.Response{Message: chat.WithCallIDs(m)}, nil
}

func calls(tool string, args map[string]any) chat.Message {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return chat.Message{ToolCalls: []chat.ToolCall{{Name: tool, Arguments: string(data)}}}
}

func says(text string) chat.Message { return chat.Message{Content: chat.Parts{chat.Text(text)}} }

// textOf returns all words of messages, with the arguments of calls.
func textOf(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Text() + "\n")
		for _, c := range m.ToolCalls {
			b.WriteString(c.Arguments + "\n")
		}
	}
	return b.String()
}

// find returns the groups of the last match in a text, empty ones if there is none.
func find(pattern, text string) []string {
	re := regexp.MustCompile(pattern)
	all := re.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return make([]string, re.NumSubexp())
	}
	return all[len(all)-1][1:]
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// next returns the next message of the model.
func next(req chat.Request) chat.Message {
	last := req.Messages[len(req.Messages)-1]
	asked := ""
	for _, m := range req.Messages {
		for _, verb := range []string{"Read the reports", "Draw for", "Some remarks", "Open "} {
			if m.Role == chat.RoleUser && strings.HasPrefix(m.Text(), verb) {
				asked = m.Text()
			}
		}
	}
	result := ""
	if last.Role == chat.RoleTool {
		result = last.Text()
	}
	door := find(`^(?:Draw for|Open) (\w+-\d+)`, asked)[0]
	switch verb, _, _ := strings.Cut(asked, " "); verb {
	case "Read":
		if number(find(`^Report (\d+)\.`, result)[0]) < number(find(`up to number (\d+)`, asked)[0]) {
			return calls("next_report", map[string]any{})
		}
	case "Draw":
		if of := find(`^Attempt (\d+) of (\d+)`, result); result == "" || of[0] != of[1] {
			return calls("draw", map[string]any{"door": door})
		}
	case "Open":
		return open(req, asked, door, result)
	}
	return says("OK")
}

const codePattern = `([A-Z]{4}-\d{4})`

// open returns the next message of the model when it is asked to open a door.
func open(req chat.Request, asked, door, result string) chat.Message {
	if strings.Contains(result, "is open") {
		return says("It is open.")
	}
	between := `[^A-Z]{1,40}?`
	if strings.Contains(asked, "now takes") {
		between = ` now takes `
	}
	known := regexp.MustCompile(regexp.QuoteMeta(door)+`\b`+between+codePattern).FindAllStringSubmatch(textOf(req.Messages), -1)
	var codes []string
	for _, k := range known {
		codes = append(codes, k[1])
	}
	if options := regexp.MustCompile(codePattern).FindAllString(asked, -1); len(options) > 0 {
		codes = slices.DeleteFunc(options, func(c string) bool { return slices.Contains(codes, c) })
		if len(codes) > 1 {
			codes = nil
		}
	}
	if len(codes) > 0 {
		return calls("open", map[string]any{"door": door, "code": codes[len(codes)-1]})
	}
	if m, ok := lookUp(req, door, result); ok {
		return m
	}
	return says("I do not know the code.")
}

// lookUp returns the next call that looks for the door, and false if there is nothing left to look up.
func lookUp(req chat.Request, door, result string) (chat.Message, bool) {
	has := func(tool string) bool {
		return slices.ContainsFunc(req.Tools, func(t chat.Tool) bool { return t.Name == tool })
	}
	if has(history.SearchTool) {
		if before := find(`older entries match too: .*"before":"([^"]+)"`, result)[0]; before != "" || result == "" {
			args := map[string]any{"query": door}
			if before != "" {
				args["before"] = before
			}
			return calls(history.SearchTool, args), true
		}
	}
	if !has(fileTool) {
		return chat.Message{}, false
	}
	if result != "" {
		more := find(`\(more from line (\d+) of (\S+)\)$`, result)
		return calls(fileTool, map[string]any{"path": more[1], "offset": number(more[0])}), more[1] != ""
	}
	at := find(`<transcript path="([^"]+)"()`, textOf(req.Messages))
	drawn := map[string]bool{}
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			drawn[c.ID] = c.Name == "draw"
		}
		if mark := find(`(/\S+\.txt)(?: lines (\d+))?`, m.Text()); drawn[m.ToolCallID] && mark[0] != "" {
			at = mark
		}
	}
	return calls(fileTool, map[string]any{"path": at[0], "offset": number(at[1])}), at[0] != ""
}
