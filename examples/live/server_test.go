package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/examples/folderagent"
)

// server is a provider on a local port: a mind behind a protocol. It refuses a wrong key, a conversation that breaks
// the rules that all providers share, and one that is larger than its window.
type server struct {
	*httptest.Server
	protocol protocol
	window   int // tokens; 0 for none

	mu        sync.Mutex
	mind      mind
	refused   []string // reasons
	streamed  int      // streamed answers
	summaries int
	largest   int             // size of the largest request, in tokens
	fronts    map[string]bool // the beginnings of the conversations
	tools     map[int]bool    // numbers of tools that were declared
}

const goodKey = "a good key"

func newServer(t *testing.T, p protocol, m mind) *server {
	t.Helper()
	s := &server{protocol: p, mind: m, fronts: map[string]bool{}, tools: map[int]bool{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// protocol is a provider's API.
type protocol interface {
	// key returns the key of a request.
	key(r *http.Request) string
	// path reports whether the path is valid, and whether the answer is to be streamed.
	path(r *http.Request, body gjson.Result) (streamed, ok bool)
	// read decodes a request; why says what is wrong with its form.
	read(body gjson.Result) (a asked, why string)
	// say writes an answer.
	say(w http.ResponseWriter, streamed bool, s said)
	// refuse writes an error.
	refuse(w http.ResponseWriter, status int, message string)
	// tooLong is the message of one.
	tooLong(tokens, window int) string
}

// asked is the part of a request that all protocols have.
type asked struct {
	turns   []turn
	tools   int
	mayCall bool
}

// turn is a turn of a conversation; neighbours of one role are merged.
type turn struct {
	role    string   // user, assistant or results
	text    string   // of a user and the assistant
	calls   []string // ids
	results []result
}

type result struct{ id, text string }

// add adds to a conversation.
func (a *asked) add(more turn) {
	if n := len(a.turns); n > 0 && a.turns[n-1].role == more.role && more.role != "assistant" {
		last := &a.turns[n-1]
		last.text += more.text
		last.results = append(last.results, more.results...)
		return
	}
	a.turns = append(a.turns, more)
}

// judge says which rule a conversation breaks; "" where it breaks none.
func (a asked) judge() string {
	if a.tools == 0 {
		return "no tools are declared"
	}
	if len(a.turns) == 0 || a.turns[0].role != "user" {
		return "the conversation does not begin with the user"
	}
	var open []string
	for i, t := range a.turns {
		switch t.role {
		case "results":
			for _, r := range t.results {
				k := slices.Index(open, r.id)
				switch {
				case k < 0:
					return fmt.Sprintf("result %q has no call", r.id)
				case strings.TrimSpace(r.text) == "":
					return fmt.Sprintf("result %q is blank", r.id)
				}
				open = slices.Delete(open, k, k+1)
			}
		default:
			if strings.TrimSpace(t.text) == "" && len(t.calls) == 0 {
				return fmt.Sprintf("turn %d says nothing", i)
			}
		}
		if t.role != "assistant" && len(open) > 0 {
			return fmt.Sprintf("no results for %q", open)
		}
		open = append(open, t.calls...)
	}
	if a.turns[len(a.turns)-1].role == "assistant" {
		return "there is nothing to answer"
	}
	return ""
}

type said struct {
	number   int // number of the answer
	thinking string
	text     string
	calls    []toolCall
	hang     <-chan struct{} // the text stops halfway until this is closed
	in, out  int             // tokens
}

type toolCall struct{ id, name, arguments string }

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

func (m *mind) answer(a asked, over <-chan struct{}) said {
	last := a.turns[len(a.turns)-1]
	if !a.mayCall {
		return said{text: "<analysis>What was it?</analysis>\n<summary>" + summary + "</summary>"}
	}
	for _, r := range last.results {
		for _, found := range listedFile.FindAllStringSubmatch(r.text, -1) {
			m.files = append(m.files, found[1]+found[2])
		}
		if found := password.FindStringSubmatch(r.text); found != nil {
			m.password = found[1]
		}
	}
	m.answers++
	s := said{number: m.answers, thinking: "Hm.", text: fmt.Sprintf("Step %d.", m.answers)}
	if m.answers == m.hangAt {
		s.hang = over
	}
	call := func(name, path string) {
		arguments := fmt.Sprintf(`{%q:%q}`, cmp.Or(m.argument, "path"), path)
		if m.deferred {
			name, arguments = "call_tool", fmt.Sprintf(`{"name":%q,"arguments":%s}`, m.prefix+name, arguments)
		}
		s.calls = append(s.calls, toolCall{fmt.Sprintf("call_%d_%d", m.answers, len(s.calls)), name, arguments})
	}
	switch {
	case last.role == "user" && m.files == nil:
		call("list_files", ".")
	case len(m.files) > 0:
		for range min(2, len(m.files)) {
			call("read_file", m.files[0])
			m.files = m.files[1:]
		}
	default:
		s.text = "The password is " + m.password + "."
	}
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	body := gjson.ParseBytes(raw)
	streamed, known := s.protocol.path(r, body)
	switch {
	case !known || r.Method != http.MethodPost:
		s.refuse(w, http.StatusNotFound, "there is no "+r.URL.String())
		return
	case s.protocol.key(r) != goodKey:
		s.refuse(w, http.StatusUnauthorized, "the key is not valid")
		return
	}
	a, why := s.protocol.read(body)
	if n := len(a.turns); n > 1 && strings.HasPrefix(a.turns[n-1].text, "<"+folderagent.ContextTag) && strings.HasSuffix(a.turns[n-1].text, "</"+folderagent.ContextTag+">") {
		a.turns = a.turns[:n-1] // what the agent shows at the end of each request; a request for a summary goes on after it
	}
	if why == "" {
		why = a.judge()
	}
	if why != "" {
		s.refuse(w, http.StatusBadRequest, why)
		return
	}
	tokens := len(raw) / 4
	if s.window > 0 && tokens > s.window {
		s.refuse(w, http.StatusBadRequest, s.protocol.tooLong(tokens, s.window))
		return
	}
	s.mu.Lock()
	s.largest = max(s.largest, tokens)
	if streamed {
		s.streamed++
	}
	if last := a.turns[len(a.turns)-1]; last.role == "user" && strings.Contains(last.text, "<summary>") {
		a.mayCall = false // a fork of the agent's request, which allows what that did
	}
	if a.mayCall {
		s.fronts[strings.Split(a.turns[0].text, task)[0]], s.tools[a.tools] = true, true
	} else {
		s.summaries++
	}
	answer := s.mind.answer(a, r.Context().Done())
	s.mu.Unlock()
	if answer.hang != nil && !streamed {
		<-answer.hang
		return
	}
	answer.in, answer.out = tokens, len(answer.text)/4+10*len(answer.calls)+1
	s.protocol.say(w, streamed, answer)
}

func (s *server) refuse(w http.ResponseWriter, status int, why string) {
	s.mu.Lock()
	s.refused = append(s.refused, why)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	s.protocol.refuse(w, status, why)
}

// seen returns what came of a run.
func (s *server) seen(t *testing.T) (answers, streamed, summaries int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.refused, "the server refused a request")
	return s.mind.answers, s.streamed, s.summaries
}

// events writes a stream of server-sent events, and waits in its middle where the answer hangs.
func (s said) events(w http.ResponseWriter, events []string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i, e := range events {
		if s.hang != nil && i == len(events)*2/3 {
			w.(http.Flusher).Flush()
			select {
			case <-s.hang:
			case <-time.After(time.Minute): // so that a test that does not interrupt fails
			}
			return
		}
		fmt.Fprint(w, e)
		w.(http.Flusher).Flush()
	}
}

// pieces of a text, as streams have them.
func pieces(text string) []string {
	half := len(text) / 2
	return []string{text[:half], text[half:]}
}

// summary is what the server says for a summary: as long as that of a real conversation.
const summary = `The files of the folder are being searched for a password, one after the other, from the first on.

## Done
Books were listed and read; each holds lines of the same kind, and in those that were read no password stood. No file was changed, and
no command was run.

## Next
Read the files that were not read yet, in the order of their names, and answer with the password as soon as it is found, in one sentence.`
