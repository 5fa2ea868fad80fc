package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
)

// world is what the tools of a run work on.
type world struct {
	task      task
	session   *history.Session
	tokenizer chat.Tokenizer
	dir       string         // folder of the session that the model can read, "" if it cannot
	page      int            // bytes that a read of a file returns at most
	size      int            // of a report, in tokens
	room      int            // tokens that are left to say
	prompt    []chat.Message // the latest

	drawn, reports, mistakes, compactions int
	open                                  bool
}

// arguments of a call.
type arguments struct {
	Door   string `json:"door"`
	Code   string `json:"code"`
	Path   string `json:"path"`
	Offset int    `json:"offset"`
}

const fileTool = "read_file"

func (w *world) declared() []chat.Tool {
	tool := func(name, description, properties, required string) chat.Tool {
		return chat.Tool{Name: name, Description: description, Parameters: json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `]}`)}
	}
	const door, code, path = `"door":{"type":"string"}`, `"code":{"type":"string"}`, `"path":{"type":"string"},"offset":{"type":"integer","description":"first line, from 1"}`
	tools := []chat.Tool{
		tool("next_report", "Returns the next report.", "", ""),
		tool("draw", "Draws for a door. What it returns is not returned again.", door, `"door"`),
		tool("open", "Opens a door with its code. A wrong code does harm.", door+","+code, `"door","code"`),
	}
	if w.dir != "" {
		tools = append(tools, tool(fileTool, "Reads a text file from a line on. Lines are cut at 2,000 characters.", path, `"path"`))
	}
	return tools
}

// call runs a tool. If the tool fails, the result tells the model why.
func (w *world) call(c chat.ToolCall) chat.Message {
	var a arguments
	text := ""
	err := json.Unmarshal([]byte(c.Arguments), &a)
	if err == nil {
		text, err = w.run(c.Name, a)
	}
	if err == nil {
		return chat.ToolResult(c.ID, text)
	}
	m := chat.ToolResult(c.ID, err.Error())
	m.IsError = true
	return m
}

func (w *world) run(tool string, a arguments) (string, error) {
	t := w.task
	switch {
	case tool == "next_report":
		w.reports++
		return fmt.Sprintf("Report %d.\n%s", w.reports, w.filler()), nil
	case tool == "draw" && w.drawn < len(t.draws) && a.Door == t.door:
		w.drawn++
		if t.failed {
			return "", errors.New(t.draws[w.drawn-1])
		}
		return t.draws[w.drawn-1], nil
	case tool == "draw":
		w.mistakes++
		return "", errors.New("there is nothing more to draw")
	case tool == "open" && a.Door == t.door && a.Code == t.code && !w.open:
		w.open = true
		return t.door + " is open.", nil
	case tool == "open":
		w.mistakes++
		return "", fmt.Errorf("%s with %s: wrong, or open already", a.Door, a.Code)
	case tool == fileTool && w.dir != "":
		return w.readFile(a)
	}
	return "", fmt.Errorf("there is no tool %q", tool)
}

// more returns a turn that makes the session longer: by a message of the user and a report, or by two reports if the task
// is about the output of tools.
func (w *world) more() turn {
	t := turn{asked: fmt.Sprintf("Read the reports up to number %d, one at a time. Then say OK.", w.reports+2)}
	if w.task.about == covered {
		t.asked = fmt.Sprintf("Read the reports up to number %d. Then say OK.\nFor later: %s", w.reports+1, w.filler())
	}
	return t
}

// filler returns distractors of the size of a report.
func (w *world) filler() string {
	text := ""
	for n := 0; n < w.size; {
		line := w.task.prose(200) + "\n"
		text += line
		tokens := w.tokenizer.CountText(line)
		n, w.room = n+tokens, w.room-tokens
	}
	return text
}

// readFile returns lines of a file of the session, as an agent's own tool does.
func (w *world) readFile(a arguments) (string, error) {
	inside, err := filepath.Rel(w.dir, a.Path)
	if err != nil || !filepath.IsLocal(inside) {
		return "", fmt.Errorf("%s: not in the folder of the session", a.Path)
	}
	data, err := os.ReadFile(a.Path)
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(data), "\n")
	var b strings.Builder
	for i := max(0, a.Offset-1); i < len(lines); i++ {
		line := []rune(lines[i])
		if cut := string(line[:min(len(line), 2000)]); b.Len() == 0 || b.Len()+len(cut) < w.page {
			b.WriteString(cut + "\n")
			continue
		}
		fmt.Fprintf(&b, "(more from line %d of %s)", i+1, a.Path)
		break
	}
	return b.String(), nil
}
