package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/history"
)

// survey is the scripted model. It knows its steps in advance and takes everything else from the messages. It lists the
// folder, reads, searches and counts its largest files, and is then asked for a detail that it saw at the start. If
// that detail is not in its messages any more, it has only the breadcrumb in the summary to go by.
type survey struct {
	plan  []chat.Response
	calls int
	first string // the file whose checksum is asked for
}

// Sizes of the plan.
const (
	surveyFiles = 6   // files to read
	surveySteps = 40  // steps of a survey, at least
	readLines   = 100 // lines read in one step
)

// The user's messages.
const (
	surveyTask = "Survey this folder: what is in it, and what are its largest files about? Count the largest ones."
	recallTask = "One thing more: what exactly is the SHA-256 of %s, as you counted it at the start? Do not count it again."
)

// Generate returns the next step.
func (s *survey) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if err := ctx.Err(); err != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	req.Messages = slices.DeleteFunc(slices.Clone(req.Messages), func(m chat.Message) bool {
		return m.Role == chat.RoleUser && strings.HasPrefix(m.Text(), "<"+folderagent.ContextTag)
	})
	last := req.Messages[len(req.Messages)-1]
	switch {
	case recalling(req.Messages):
		return s.recall(req)
	case last.Role == chat.RoleUser:
		return s.call("I begin with an overview.", s.tool("list_files", map[string]any{"path": "."})), nil
	case s.plan == nil:
		if err := s.prepare(last.Text()); err != nil {
			return chat.Response{}, err
		}
	}
	if len(s.plan) == 0 {
		return say(fmt.Sprintf("The survey is done. I started with %s and looked at the largest files in turn.", s.first)), nil
	}
	step := s.plan[0]
	s.plan = s.plan[1:]
	return step, nil
}

// prepare plans the survey from the listing of the folder.
func (s *survey) prepare(listing string) error {
	type entry struct {
		path string
		size int
	}
	var files []entry
	for line := range strings.Lines(listing) {
		path, size, ok := strings.Cut(strings.TrimSpace(line), "\t")
		n, err := strconv.Atoi(strings.TrimSuffix(size, " bytes"))
		if ok && err == nil && n > 0 {
			files = append(files, entry{path, n})
		}
	}
	if len(files) == 0 {
		return errors.New("there are no files to survey")
	}
	slices.SortStableFunc(files, func(a, b entry) int { return cmp.Compare(b.size, a.size) })
	files = files[:min(surveyFiles, len(files))]
	s.first = files[0].path
	look := func(path string, calls ...chat.ToolCall) {
		s.plan = append(s.plan, s.call("Next I look at "+path+".", calls...))
	}
	look(s.first, s.tool("count_file", map[string]any{"path": s.first}))
	for part := 0; len(s.plan) < surveySteps; part++ {
		for _, f := range files {
			look(f.path, s.tool("read_file", map[string]any{"path": f.path, "offset": 1 + part*readLines, "limit": readLines}))
			if part == 0 && f.path != s.first {
				look(f.path, s.tool("count_file", map[string]any{"path": f.path}),
					s.tool("search", map[string]any{"path": f.path, "pattern": `\b(func|type|error|the)\b`}))
			}
		}
	}
	return nil
}

var (
	summaryPath = regexp.MustCompile(`<transcript path=("(?:[^"\\]|\\.)*")`)
	clearedPath = regexp.MustCompile(`\bentry \S+ of (.+?)\]`) // in the mark of a result that was cleared
	matchLine   = regexp.MustCompile(`(?m):(\d+): `)
)

// recalling reports whether the user's last message asks for the detail.
func recalling(messages []chat.Message) bool {
	prefix, _, _ := strings.Cut(recallTask, "%s")
	for _, m := range slices.Backward(messages) {
		if m.Role == chat.RoleUser {
			return strings.Contains(m.Text(), prefix)
		}
	}
	return false
}

// recall answers from the messages or, if they lack the detail, looks it up: by a tool for that if there is one, or else
// in the transcript that the summary or the mark of a cleared result names.
func (s *survey) recall(req chat.Request) (chat.Response, error) {
	messages := req.Messages
	sum := regexp.MustCompile(regexp.QuoteMeta(s.first) + `: \d+ lines, \d+ words, \d+ bytes, sha256 ([0-9a-f]{64})`)
	transcript, searched := "", ""
	for _, m := range messages {
		text := m.Text()
		if found := sum.FindStringSubmatch(text); found != nil {
			return say(fmt.Sprintf("The SHA-256 of %s is %s.", s.first, found[1])), nil
		}
		if found := summaryPath.FindStringSubmatch(text); found != nil {
			transcript, _ = strconv.Unquote(found[1])
		} else if found := clearedPath.FindStringSubmatch(text); found != nil && m.Role == chat.RoleTool {
			transcript = found[1]
		}
		if transcript != "" && m.Role == chat.RoleTool && strings.HasPrefix(text, transcript+":") {
			searched = text
		}
	}
	last := messages[len(messages)-1]
	searches := slices.ContainsFunc(req.Tools, func(t chat.Tool) bool { return t.Name == history.SearchTool })
	switch {
	case searches && last.Role != chat.RoleTool:
		return s.call("It is not shown any more. I search for it.", s.tool(history.SearchTool, map[string]any{"query": `"` + s.first + `: " sha256`})), nil
	case searches:
		return say("The session does not have it: " + last.Text()), nil
	case transcript == "":
		return say(fmt.Sprintf("I no longer have the SHA-256 of %s, and nothing says where to look it up.", s.first)), nil
	case searched != "" && last.Role == chat.RoleTool:
		line, err := strconv.Atoi(matchLine.FindStringSubmatch(searched[len(transcript):])[1])
		if err != nil {
			return chat.Response{}, err
		}
		return s.call("The transcript has it there; I read that line.",
			s.tool("read_file", map[string]any{"path": transcript, "offset": line, "limit": 1})), nil
	case last.Role == chat.RoleTool:
		return say("The transcript does not have it: " + last.Text()), nil
	default:
		pattern := regexp.QuoteMeta(s.first) + `: \d+ lines, \d+ words`
		return s.call("My summary leaves that out. It says where the transcript is, so I look there.",
			s.tool("search", map[string]any{"path": transcript, "pattern": pattern})), nil
	}
}

func (s *survey) tool(name string, arguments map[string]any) chat.ToolCall {
	s.calls++
	text, _ := json.Marshal(arguments) // strings and numbers always encode
	return chat.ToolCall{ID: fmt.Sprintf("call_%d", s.calls), Name: name, Arguments: string(text)}
}

func (s *survey) call(text string, calls ...chat.ToolCall) chat.Response {
	r := say(text)
	r.Message.ToolCalls, r.StopReason = calls, chat.StopToolCalls
	return r
}

func say(text string) chat.Response { return chat.Response{Message: chat.AssistantMessage(text)} }
