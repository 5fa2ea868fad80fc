// Package wiretest holds the bodies of requests against what they were: by their hashes, request by request. Providers cache
// by the bytes that they have seen, so that a field in another place is a change that their users pay for.
//
// Random requests are compared with golden files. With -requests FOLDER so are recorded ones, the requests of whole sessions
// under every policy, which `go test ./internal/test/wiretest -record -requests FOLDER` puts there: the first run of a
// provider's test writes the hashes of its bodies beside them, and each later one compares.
package wiretest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/internal/test/sure"
)

var (
	folder = flag.String("requests", "", "folder of recorded requests whose bodies are compared")
	show   = flag.String("requests.show", "", "print the body of the request with that name")
)

// Transport is an HTTP transport that keeps the bodies of requests, and refuses them.
type Transport struct{ body bytes.Buffer }

// RoundTrip keeps the body.
func (s *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := s.body.ReadFrom(r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"error":{"message":"No."}}`)),
	}, nil
}

// Check fails the test if a body that the model sends over the transport is not what it was. name is that of the API. as
// returns a message as a model of the provider would have said it, if set; n is the number of messages before it.
func Check(t *testing.T, name string, model chat.Model, sent *Transport, as func(n int, m chat.Message) chat.Message) {
	t.Helper()
	hash := func(request string, req chat.Request) string {
		if as != nil {
			for n, m := range req.Messages {
				req.Messages[n] = as(n, m)
			}
		}
		sent.body.Reset()
		_, err := model.Generate(t.Context(), req)
		require.Error(t, err)
		if *show == request {
			fmt.Printf("%s: %s\n%s\n", request, sent.body.Bytes(), err)
		}
		if sent.body.Len() == 0 {
			return "not sent"
		}
		return fmt.Sprintf("%x", sha256.Sum256(sent.body.Bytes()))[:24]
	}
	var list strings.Builder
	for seed := range uint64(300) {
		request := fmt.Sprint("random ", seed)
		fmt.Fprintf(&list, "%s: %s\n", request, hash(request, Random(seed)))
	}
	golden.Equal(t, "bodies-"+name+".golden", list.String())
	if *folder != "" {
		recorded(t, name, hash)
	}
}

// recorded compares the bodies of recorded requests.
func recorded(t *testing.T, name string, hash func(string, chat.Request) string) {
	var list strings.Builder
	Load(t, *folder, func(request string, req chat.Request) { fmt.Fprintf(&list, "%s: %s\n", request, hash(request, req)) })
	path := filepath.Join(*folder, name+".sha256")
	before, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, os.WriteFile(path, []byte(list.String()), 0o644))
		return
	}
	require.NoError(t, err)
	was, is := strings.Split(string(before), "\n"), strings.Split(list.String(), "\n")
	require.Equal(t, len(was), len(is))
	differ := 0
	for i := range was {
		if was[i] != is[i] {
			if differ++; differ <= 20 {
				t.Errorf("was %s\nis  %s", was[i], is[i])
			}
		}
	}
	t.Logf("%d of %d recorded requests have another body", differ, len(was)-1)
}

// stored is a recorded request in a folder.
type stored struct {
	Name     string
	Messages []int // lines of the file of messages, from 0
	Tools    []chat.Tool
	Choice   chat.ToolChoice
	Max      int
}

// Store writes requests to a folder, each message once.
type Store struct {
	messages, requests *os.File
	lines              map[string]int
}

// NewStore empties the folder's files.
func NewStore(t *testing.T, folder string) *Store {
	require.NoError(t, os.MkdirAll(folder, 0o755))
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(folder, name))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, f.Close()) })
		return f
	}
	return &Store{create("messages.jsonl"), create("requests.jsonl"), map[string]int{}}
}

// Add adds a request.
func (s *Store) Add(t *testing.T, name string, req chat.Request) {
	r := stored{Name: name, Tools: req.Tools, Choice: req.ToolChoice, Max: req.MaxTokens}
	for _, m := range req.Messages {
		line := sure.JSON(t, m)
		at, ok := s.lines[string(line)]
		if !ok {
			at = len(s.lines)
			s.lines[string(line)] = at
			_, err := s.messages.Write(append(line, '\n'))
			require.NoError(t, err)
		}
		r.Messages = append(r.Messages, at)
	}
	_, err := s.requests.Write(append(sure.JSON(t, r), '\n'))
	require.NoError(t, err)
}

// Load calls f for each request of a folder.
func Load(t *testing.T, folder string, f func(name string, req chat.Request)) {
	var messages []chat.Message
	each := func(name string, f func(line []byte)) {
		file, err := os.Open(filepath.Join(folder, name))
		require.NoError(t, err)
		defer file.Close()
		for lines := bufio.NewReader(file); ; {
			line, err := lines.ReadBytes('\n')
			if err == io.EOF {
				return
			}
			require.NoError(t, err)
			f(line)
		}
	}
	each("messages.jsonl", func(line []byte) {
		messages = append(messages, sure.Decode[chat.Message](t, line))
	})
	each("requests.jsonl", func(line []byte) {
		r := sure.Decode[stored](t, line)
		req := chat.Request{Tools: r.Tools, Shape: chat.Shape{ToolChoice: r.Choice}, MaxTokens: r.Max}
		for _, i := range r.Messages {
			req.Messages = append(req.Messages, messages[i])
		}
		f(r.Name, req)
	})
}

// Random returns a request of a seed: a conversation in order, with parts of every type and, among the opaque ones and the
// signatures, those of every provider.
func Random(seed uint64) chat.Request {
	return dice{rand.New(rand.NewPCG(seed, 62))}.request()
}
