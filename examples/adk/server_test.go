package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// server speaks Gemini's protocol. It refuses requests that break the rules or are larger than its window.
type server struct {
	*httptest.Server
	window int // bytes of the contents
	// mind answers a request that is not for a summary: parts as JSON. Nothing breaks the connection.
	mind func(b body) []string

	mu                           sync.Mutex
	streamed, summaries, refused int
	broken                       []string // rules
}

type part struct {
	Text         string
	FunctionCall *struct {
		Name string
		Args map[string]any
	}
	FunctionResponse *struct {
		Name     string
		Response map[string]any
	}
}

type body struct {
	Contents []struct {
		Role  string
		Parts []part
	}
	SystemInstruction struct{ Parts []part }
	Tools             []struct{ FunctionDeclarations []declaration }
}

type declaration struct {
	Name                 string
	Parameters           schema
	ParametersJSONSchema schema `json:"parametersJsonSchema"`
}

type schema struct {
	Type       any // one, or several
	Properties map[string]schema
	Required   []string
	Items      *schema
}

// last returns the last part.
func (b body) last() part {
	parts := b.Contents[len(b.Contents)-1].Parts
	return parts[len(parts)-1]
}

// size returns the size of the texts, calls and responses.
func (b body) size() (n int) {
	for _, c := range b.Contents {
		data, err := json.Marshal(c.Parts)
		if err != nil {
			panic(err)
		}
		n += len(data)
	}
	return n
}

// judge returns the rule that contents break.
func judge(b body) string {
	calls := 0
	for i, c := range b.Contents {
		responses := 0
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				responses++
			}
		}
		switch {
		case len(c.Parts) == 0:
			return fmt.Sprintf("content %d has no parts", i)
		case i == 0 && c.Role != "user":
			return "the first content is the model's"
		case responses != calls:
			return fmt.Sprintf("content %d has %d responses to %d calls", i, responses, calls)
		}
		calls = 0
		for _, p := range c.Parts {
			if p.FunctionCall != nil {
				calls++
			}
		}
	}
	if b.Contents[len(b.Contents)-1].Role != "user" {
		return "there is nothing to answer"
	}
	return ""
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone: a summary in the background was cancelled
	}
	var b body
	if err := json.Unmarshal(raw, &b); err != nil || len(b.Contents) == 0 {
		s.broken = append(s.broken, fmt.Sprint("the request: ", err))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if rule := judge(b); rule != "" {
		s.broken = append(s.broken, rule)
	}
	w.Header().Set("Content-Type", "application/json")
	size := b.size()
	if size > s.window {
		s.refused++
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (%d) exceeds the maximum number of tokens allowed (%d)."}}`, size/4, s.window/4)
		return
	}
	var parts []string
	if strings.Contains(b.last().Text, "is being compacted") { // as the policy asks
		s.summaries++
		parts = []string{`{"text":"# Looking for the password\n\n## Course\nFiles were read one after the other, from the first on; each held lines of the same kind, and in none of them stood what the user asks for. No file was changed, and no command was run.\n\n## State\nThe search goes on with the files that have not been read yet. What was read need not be read again: nothing in it is of use for the question.\n\n## What the user wants\nThe user asked a question and expects a short answer; when it is found, say it in one sentence, and say nothing else beside it."}`}
	} else if parts = s.mind(b); parts == nil {
		w.Header().Set("Content-Length", "1000")
		return
	}
	piece := func(finish string, parts ...string) string {
		return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[%s]}%s}],"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":10}}`,
			strings.Join(parts, ","), finish, size/4)
	}
	const stop = `,"finishReason":"STOP"`
	if !strings.Contains(r.URL.Path, ":streamGenerateContent") {
		fmt.Fprint(w, piece(stop, parts...))
		return
	}
	s.streamed++
	w.Header().Set("Content-Type", "text/event-stream")
	for _, p := range parts {
		fmt.Fprintf(w, "data: %s\r\n\r\n", piece("", p))
	}
	fmt.Fprintf(w, "data: %s\r\n\r\n", piece(stop, `{"text":""}`))
}

// text and call are parts of an answer.
func text(s string) string {
	data, err := json.Marshal(map[string]string{"text": s})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func call(name string, args any) string {
	data, err := json.Marshal(map[string]any{"functionCall": map[string]any{"name": name, "args": args}})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// serve starts a server, to which the environment directs clients of Gemini.
func serve(t *testing.T, window int, mind func(b body) []string) *server {
	t.Helper()
	s := &server{window: window, mind: mind}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	t.Setenv("GOOGLE_API_KEY", "any")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", s.URL)
	return s
}
