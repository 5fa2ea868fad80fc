// Package apitest holds a server for each provider's API. It reads a request's JSON by itself, refuses one that breaks the
// rules that all providers share or those of its API, and answers by a script.
package apitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/sure"
)

// API is a provider's API: [ChatCompletions], [Responses], [Messages] or [Gemini].
type API interface {
	// key returns the key of a request.
	key(r *http.Request) string
	// path reports whether the path is valid, and whether the answer is to be streamed.
	path(r *http.Request, body JSON) (streamed, ok bool)
	// read decodes a request; why says what is wrong with its form.
	read(body JSON) (a Asked, why string)
	// say returns a whole answer and the events of a stream of it.
	say(s Answer) (whole object, events []string)
	// refuse returns an error and its status, as the API has it for a status.
	refuse(status int, message string) (int, object)
	// tooLong is the message of one.
	tooLong(tokens, window int) string
}

// Key is the key that a server accepts.
const Key = "a good key"

// Answer is what a server says.
type Answer struct {
	Thinking, Text string
	Calls          []Call
	// Break breaks the connection off before an answer. Hang stops in its middle.
	Break, Hang bool

	refused         string // what is wrong with the request
	number, in, out int    // its number and tokens
}

// Call is the call of a tool. Arguments are JSON.
type Call struct{ ID, Name, Arguments string }

// Server is a provider on a local port.
type Server struct {
	*httptest.Server
	api API
	// Answer answers requests, one after the other, but for those for a summary.
	Answer func(Asked) Answer
	// Rule, if set, says what else is wrong with a request, "" for nothing. It may leave out turns before the conversation is
	// judged.
	Rule func(*Asked) string
	// Window is the size of the largest request that is accepted, in tokens of four bytes; 0 for any.
	Window int

	mu sync.Mutex
	// Broken are the rules that requests broke.
	Broken []string
	// Answers counts those of the script, Streamed what is streamed, and TooLong requests larger than the window.
	Answers, Streamed, Summaries, TooLong int
	// Largest is the size of the largest request that was answered, in tokens.
	Largest int
}

// Serve starts a server that answers by a script.
func Serve(t testing.TB, api API, answer func(Asked) Answer) *Server {
	t.Helper()
	s := &Server{api: api, Answer: answer}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Seen fails if a request was refused, and returns what came of the others.
func (s *Server) Seen(t testing.TB) (answers, streamed, summaries int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.Broken)
	require.Zero(t, s.TooLong)
	return s.Answers, s.Streamed, s.Summaries
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone: a summary in the background was cancelled
	}
	a, streamed, status := s.answer(r, raw)
	if a.Break {
		w.Header().Set("Content-Length", "1000")
		return
	}
	var whole object
	var events []string
	if a.refused != "" {
		status, whole = s.api.refuse(status, a.refused)
	} else if whole, events = s.api.say(a); streamed {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, e := range events {
			if a.Hang && i == len(events)*2/3 {
				hang(r)
				return
			}
			fmt.Fprint(w, e)
			w.(http.Flusher).Flush()
		}
		return
	}
	if a.Hang {
		hang(r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, sure.Encoded(whole))
}

// hang waits until the client is gone, or so long that a test that does not interrupt fails.
func hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-time.After(time.Minute):
	}
}

// answer returns the answer to a request, whether it is to be streamed, and its status.
func (s *Server) answer(r *http.Request, raw []byte) (said Answer, streamed bool, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	broken := func(status int, why string) (Answer, bool, int) {
		s.Broken = append(s.Broken, why)
		return Answer{refused: why}, false, status
	}
	var body JSON
	if err := json.Unmarshal(raw, &body.value); err != nil {
		return broken(http.StatusBadRequest, err.Error())
	}
	streamed, known := s.api.path(r, body)
	switch {
	case !known || r.Method != http.MethodPost:
		return broken(http.StatusNotFound, "there is no "+r.URL.String())
	case s.api.key(r) != Key:
		return broken(http.StatusUnauthorized, "the key is not valid")
	}
	asked, why := s.api.read(body)
	asked.Body = body
	if s.Rule != nil {
		why = cmp.Or(why, s.Rule(&asked))
	}
	if why = cmp.Or(why, asked.judge()); why != "" {
		return broken(http.StatusBadRequest, why)
	}
	tokens := len(raw) / 4
	if s.Window > 0 && tokens > s.Window {
		s.TooLong++
		return Answer{refused: s.api.tooLong(tokens, s.Window)}, false, http.StatusBadRequest
	}
	if asked.Summary() {
		s.Summaries++
		said.Text = summary
	} else {
		s.Answers++
		said = s.Answer(asked)
	}
	s.Largest = max(s.Largest, tokens)
	if streamed && !said.Break {
		s.Streamed++
	}
	said.number, said.in, said.out = s.Answers, tokens, len(said.Text)/4+10*len(said.Calls)+1
	return said, streamed, http.StatusOK
}

// summary is what a server says for a summary: as long as that of a real conversation.
const summary = `<analysis>What was it?</analysis>
<summary>The files of the folder are being searched for a password, one after the other, from the first on.

## Done
Books were listed and read (book00.md, book02.md); each holds lines of the same kind, and in those that were read no password
stood. No file was changed, and no command was run.

## Next
Read the files that were not read yet, in the order of their names, and answer with the password as soon as it is found, in one sentence.</summary>`
