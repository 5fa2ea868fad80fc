package gemini_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/promptree-go/promptree/render/gemini"
)

// api is a server that speaks the Gemini API. It refuses the requests that its judge refuses; to others the test
// replies.
type api struct {
	*httptest.Server
	// reply returns the pieces of the answer to a request, a JSON response each. An answer that is not streamed has
	// one.
	reply func(request object) []string
	// limit on input, in characters / 4; 0 is none.
	limit int

	mu              sync.Mutex
	issued          map[string]bool
	requests        []object
	bodies, refused []string
}

func newAPI(t testing.TB, reply func(object) []string) *api {
	a := startAPI(reply)
	t.Cleanup(a.Close)
	return a
}

func startAPI(reply func(object) []string) *api {
	a := &api{reply: reply, issued: map[string]bool{}}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	return a
}

func (a *api) model() *gemini.Model {
	return &gemini.Model{Client: connect(a.URL), Name: "gemini-3-pro-preview"}
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	path, version := strings.CutPrefix(r.URL.Path, "/v1beta/models/")
	model, method, _ := strings.Cut(path, ":")
	data, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || !version || r.Header.Get("x-goog-api-key") == "" {
		refuse(w, http.StatusNotFound, "NOT_FOUND", "no such method")
		return
	}
	body, err := decode(data)
	if err != nil || !utf8.Valid(data) {
		refuse(w, http.StatusBadRequest, "INVALID_ARGUMENT", "Invalid JSON payload received.")
		return
	}
	a.requests = append(a.requests, body)
	a.bodies = append(a.bodies, string(data))
	if method == "countTokens" {
		a.count(w, model, body)
		return
	}
	why := judge{legacy: strings.HasPrefix(model, "gemini-2"), issued: a.issued}.refuse(body)
	if why != "" {
		a.refused = append(a.refused, why)
		refuse(w, http.StatusBadRequest, "INVALID_ARGUMENT", why)
		return
	}
	if n := tokens(body); a.limit > 0 && n > a.limit {
		refuse(w, http.StatusBadRequest, "INVALID_ARGUMENT",
			fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", n, a.limit))
		return
	}
	pieces := a.reply(body)
	for _, piece := range pieces {
		a.issue(piece)
	}
	switch {
	case method == "generateContent":
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		fmt.Fprint(w, pieces[0])
	case method == "streamGenerateContent" && r.URL.Query().Get("alt") == "sse":
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range pieces {
			fmt.Fprintf(w, "data: %s\r\n\r\n", strings.ReplaceAll(piece, "\n", " "))
		}
	default:
		refuse(w, http.StatusNotFound, "NOT_FOUND", "no such method")
	}
}

// count answers countTokens, which accepts contents or a whole request, and not both.
func (a *api) count(w http.ResponseWriter, model string, body object) {
	whole, given := body["generateContentRequest"].(object)
	if !given || body["contents"] != nil || whole["model"] != "models/"+model {
		refuse(w, http.StatusBadRequest, "INVALID_ARGUMENT", "send contents or a request, and not both")
		return
	}
	fmt.Fprintf(w, `{"totalTokens": %d}`, tokens(whole))
}

// tokens counts all texts of a request, at 4 characters a token.
func tokens(body object) int {
	var count func(v any) int
	count = func(v any) (n int) {
		switch v := v.(type) {
		case string:
			n = len(v)
		case []any:
			for _, x := range v {
				n += count(x)
			}
		case object:
			for _, x := range v {
				n += count(x)
			}
		}
		return n
	}
	config, _ := body["generationConfig"].(object)
	return (count(body["contents"]) + count(body["systemInstruction"]) + count(body["tools"]) + count(config["responseJsonSchema"]) + 3) / 4
}

// issue stores the signatures of the calls in an answer.
func (a *api) issue(piece string) {
	var r struct {
		Candidates []struct {
			Content struct {
				Parts []struct {
					FunctionCall     *struct{ ID string }
					ThoughtSignature string
				}
			}
		}
	}
	if json.Unmarshal([]byte(piece), &r) != nil {
		return
	}
	for _, c := range r.Candidates {
		for _, p := range c.Content.Parts {
			if p.FunctionCall != nil {
				a.issued[p.FunctionCall.ID+" "+p.ThoughtSignature] = true
			}
		}
	}
}

func refuse(w http.ResponseWriter, code int, status, message string, details ...object) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	e := object{"code": code, "message": message, "status": status}
	if len(details) > 0 {
		e["details"] = details
	}
	_ = json.NewEncoder(w).Encode(object{"error": e})
}

// says returns a reply of one piece with these parts, each JSON.
func says(parts ...string) func(object) []string {
	return func(object) []string { return []string{piece("STOP", parts...)} }
}

// piece returns a piece of an answer. The finish reason is empty if the answer goes on.
func piece(finish string, parts ...string) string {
	p := `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]},"index":0`
	if finish != "" {
		p += `,"finishReason":"` + finish + `"`
	}
	return p + `}],"usageMetadata":{"promptTokenCount":120,"cachedContentTokenCount":80,"candidatesTokenCount":7,"thoughtsTokenCount":30,"totalTokenCount":157},"modelVersion":"gemini-3-pro-preview"}`
}
