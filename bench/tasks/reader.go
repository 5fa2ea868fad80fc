package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/models"
)

// reader is a scripted model that needs no network. It does the tasks from the words that a request shows, asks the
// tools again for those that it does not show, and makes no mistakes. Its summaries are digests ([models.Offline]). So
// it measures what a policy leaves to be read, and not how well a model reads.
type reader struct {
	tokenizer chat.Tokenizer
	window    int // a request with more tokens is refused
}

// Generate answers a request of the agent with the next step of its task, and any other with a digest.
func (r reader) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	tokens := r.tokenizer.CountTools(req.Tools)
	for _, m := range req.Messages {
		tokens += r.tokenizer.CountMessage(m)
	}
	if tokens > r.window {
		return chat.Response{}, &chat.ContextLimitError{Tokens: tokens, Limit: r.window, Err: errors.New("tasks: the request is larger than the window")}
	}
	if req.MaxTokens != answerTokens {
		return models.Offline{Tokenizer: r.tokenizer}.Generate(ctx, req)
	}
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	p := page{messages: req.Messages}
	for _, m := range req.Messages {
		p.text += m.Text() + "\n"
	}
	next := p.recall
	for _, t := range req.Tools {
		switch t.Name {
		case "read_plan":
			next = p.plan
		case "run_tests":
			next = p.repository
		}
	}
	m := next()
	m.Role = chat.RoleAssistant
	return chat.Response{Message: chat.WithCallIDs(m)}, nil
}

// page is the content of a request.
type page struct {
	messages []chat.Message
	text     string // of all messages
}

// last returns the last message.
func (p page) last() chat.Message { return p.messages[len(p.messages)-1] }

// find returns the first group of the last match in a text, "" if there is none.
func find(pattern, text string) string {
	all := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1]
}

func calls(name string, args map[string]any) chat.Message {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return chat.Message{ToolCalls: []chat.ToolCall{{Name: name, Arguments: string(data)}}}
}

func says(text string) chat.Message { return chat.Message{Content: chat.Parts{chat.Text(text)}} }

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func (p page) repository() chat.Message {
	last := p.last().Text()
	failing := find(`FAIL: (module_\d+\.txt)`, p.text)
	switch {
	case find(`(PASS)$`, last) != "":
		return says("I am done.")
	case p.last().Role == chat.RoleUser:
		return calls("read_file", map[string]any{"path": "spec.txt"})
	case find(`FAIL: (module_\d+\.txt)`, last) != "":
		return calls("read_file", map[string]any{"path": failing})
	case failing == "" || find(`(is \d+ now)`, last) != "":
		return calls("run_tests", map[string]any{})
	}
	value := find(fmt.Sprintf(`setting of %s must be (\d+)`, regexp.QuoteMeta(failing)), p.text)
	if value == "" {
		return calls("read_file", map[string]any{"path": "spec.txt"})
	}
	return calls("set", map[string]any{"path": failing, "value": number(value)})
}

func (p page) plan() chat.Message {
	steps := number(find(`It has (\d+) steps`, p.text))
	done := number(find(`step (\d+) is done`, p.text))
	if next := find(`^step (\d+) is next`, p.last().Text()); next != "" {
		done = number(next) - 1
	} else if page := find(`^step (\d+): the word`, p.last().Text()); page != "" && done < number(page)-1 {
		done = number(page) - 1 // the pages are read in turn
	}
	if done >= steps {
		return says("I am done.")
	}
	word := find(fmt.Sprintf(`step %d: the word is (\w+)`, done+1), p.text)
	if word == "" {
		return calls("read_plan", map[string]any{"page": done/20 + 1})
	}
	return calls("do", map[string]any{"step": done + 1, "word": word})
}

func (p page) recall() chat.Message {
	wanted := find(`the colour of page (\d+)\?`, p.text)
	if wanted == "" {
		pages := number(find(`which has (\d+) pages`, p.text))
		read := number(find(`^Page (\d+)\.`, p.last().Text()))
		if read >= pages && pages > 0 {
			return says("I am done.")
		}
		return calls("read_page", map[string]any{"page": read + 1})
	}
	slot, colour := find(`key lies in slot (\w+)`, p.text), find(fmt.Sprintf(`Page %s\. Its colour is (\w+)`, wanted), p.text)
	switch {
	case slot == "":
		return calls("search_log", map[string]any{"words": "The key lies in slot"})
	case colour == "":
		return calls("read_page", map[string]any{"page": number(wanted)})
	}
	return says(fmt.Sprintf("The key lies in slot %s, and the colour is %s.", slot, colour))
}
