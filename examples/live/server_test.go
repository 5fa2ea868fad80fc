package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/internal/test/apitest"
)

// server is a provider on a local port: a mind behind an API.
type server struct {
	*apitest.Server
	mind   mind
	fronts map[string]bool // the beginnings of the conversations
	tools  map[int]bool    // numbers of tools that were declared
}

func newServer(t *testing.T, api apitest.API, m mind) *server {
	t.Helper()
	s := &server{mind: m, fronts: map[string]bool{}, tools: map[int]bool{}}
	s.Server = apitest.Serve(t, api, func(a apitest.Asked) apitest.Answer {
		s.fronts[strings.Split(a.Turns[0].Text, task)[0]], s.tools[len(a.Tools)] = true, true
		return s.mind.answer(*a.Last())
	})
	s.Rule = func(a *apitest.Asked) string {
		if len(a.Turns) > 1 && strings.HasPrefix(a.Last().Text, "<"+folderagent.ContextTag) && strings.HasSuffix(a.Last().Text, "</"+folderagent.ContextTag+">") {
			a.Turns = a.Turns[:len(a.Turns)-1] // what the agent shows at the end of each request; a request for a summary goes on after it
		}
		_, chats := api.(apitest.ChatCompletions)
		switch {
		case len(a.Tools) == 0:
			return "no tools are declared"
		case chats && !a.Body.Get("max_completion_tokens").Exists():
			return "no limit of the answer"
		}
		return ""
	}
	return s
}

// mind looks for a password in the files of a folder: it lists them, reads two at a time, and says what it found. It
// knows only the results of the tools.
type mind struct {
	hangAt   int    // number of the answer that never ends; 0 for none
	deferred bool   // the tools are called by call_tool
	prefix   string // of the names of the tools
	argument string // name of the path among the arguments

	answers  int
	files    []string
	password string
}

var (
	listedFile = regexp.MustCompile(`(?m)^(\S+\.md)\t\d+ bytes$|"(\w+\.md)"`)
	password   = regexp.MustCompile(`the password is (\w+)`)
)

func (m *mind) answer(last apitest.Turn) apitest.Answer {
	for _, r := range last.Results {
		for _, found := range listedFile.FindAllStringSubmatch(r.Text, -1) {
			m.files = append(m.files, found[1]+found[2])
		}
		if found := password.FindStringSubmatch(r.Text); found != nil {
			m.password = found[1]
		}
	}
	m.answers++
	s := apitest.Answer{Thinking: "Hm.", Text: fmt.Sprintf("Step %d.", m.answers), Hang: m.answers == m.hangAt}
	call := func(name, path string) {
		arguments := fmt.Sprintf(`{%q:%q}`, cmp.Or(m.argument, "path"), path)
		if m.deferred {
			name, arguments = "call_tool", fmt.Sprintf(`{"name":%q,"arguments":%s}`, m.prefix+name, arguments)
		}
		s.Calls = append(s.Calls, apitest.Call{ID: fmt.Sprintf("call_%d_%d", m.answers, len(s.Calls)), Name: name, Arguments: arguments})
	}
	switch {
	case last.Role == "user" && m.files == nil:
		call("list_files", ".")
	case len(m.files) > 0:
		for range min(2, len(m.files)) {
			call("read_file", m.files[0])
			m.files = m.files[1:]
		}
	default:
		s.Text = "The password is " + m.password + "."
	}
	return s
}
