package main

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/promptree-go/promptree/internal/plainjson"
)

// recorder writes a session in the third version of pi's format.
type recorder struct {
	out     bytes.Buffer
	chance  *dice
	now     int64           // in milliseconds since 1970
	last    *string         // the id of the last line
	used    map[string]bool // ids
	model   string
	context int // bytes in the model's window
	cached  int // tokens in the provider's cache
}

// The parts of a message, their fields in pi's order.
type (
	textPart struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingPart struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"thinkingSignature"`
	}
	callPart struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
)

// part is a part of a message.
type part interface{ size() int }

func (p textPart) size() int     { return len(p.Text) }
func (p thinkingPart) size() int { return len(p.Thinking) + len(p.Signature) }
func (p callPart) size() int     { return len(p.Name) + len(p.Arguments) }

func text(s string) textPart { return textPart{"text", s} }

// usage is the provider's report, in tokens.
type usage struct {
	Input       int `json:"input"`
	Output      int `json:"output"`
	CacheRead   int `json:"cacheRead"`
	CacheWrite  int `json:"cacheWrite"`
	TotalTokens int `json:"totalTokens"`
}

// head holds the first fields of every line but the header.
type head struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`
	ParentID  *string `json:"parentId"`
	Timestamp string  `json:"timestamp"`
}

// messageLine is a line with a message of one of the types below.
type messageLine[M any] struct {
	head
	Message M `json:"message"`
}

type userMessage[C []part | string] struct {
	Role      string `json:"role"`
	Content   C      `json:"content"`
	Timestamp int64  `json:"timestamp"`
}

type assistantMessage struct {
	Role         string `json:"role"`
	Content      []part `json:"content"`
	API          string `json:"api"`
	Provider     string `json:"provider"`
	Model        string `json:"model"`
	Usage        usage  `json:"usage"`
	StopReason   string `json:"stopReason"`
	Timestamp    int64  `json:"timestamp"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

type toolMessage struct {
	Role      string `json:"role"`
	CallID    string `json:"toolCallId"`
	Name      string `json:"toolName"`
	Content   []part `json:"content"`
	IsError   bool   `json:"isError"`
	Timestamp int64  `json:"timestamp"`
}

type bashMessage struct {
	Role      string `json:"role"`
	Command   string `json:"command"`
	Output    string `json:"output"`
	ExitCode  int    `json:"exitCode"`
	Cancelled bool   `json:"cancelled"`
	Truncated bool   `json:"truncated"`
	Timestamp int64  `json:"timestamp"`
}

func newRecorder(seed uint64) *recorder {
	start := time.Date(2026, time.January, 15, 7, 58, 31, 204_000_000, time.UTC)
	return &recorder{chance: newDice(seed), now: start.UnixMilli(), used: map[string]bool{}, model: "claude-opus-4-5"}
}

// wait lets time pass: from low to high milliseconds.
func (r *recorder) wait(low, high int) { r.now += int64(r.chance.between(low, high)) }

func (r *recorder) timestamp() string {
	return time.UnixMilli(r.now).UTC().Format("2006-01-02T15:04:05.000Z")
}

// unused returns a new id.
func (r *recorder) unused(prefix string, n int, digits string) string {
	for {
		id := prefix + r.chance.letters(n, digits)
		if !r.used[id] {
			r.used[id] = true
			return id
		}
	}
}

func write[T any](r *recorder, line T) {
	e := json.NewEncoder(&r.out)
	e.SetEscapeHTML(false)
	if err := e.Encode(line); err != nil {
		panic(err)
	}
}

// next returns the head of a line that follows the last one.
func (r *recorder) next(typ string) head {
	h := head{Type: typ, ID: r.unused("", 8, hexDigits), ParentID: r.last, Timestamp: r.timestamp()}
	r.last = &h.ID
	return h
}

// header writes the first line. context is the size of the system prompt and the tools in bytes.
func (r *recorder) header(cwd string, context int) {
	r.context = context
	write(r, struct {
		Type      string `json:"type"`
		Version   int    `json:"version"`
		ID        string `json:"id"`
		Timestamp string `json:"timestamp"`
		CWD       string `json:"cwd"`
	}{"session", 3, "5a1f0c9e-7d52-4c38-9b1e-0f6a2d84c7b3", r.timestamp(), cwd})
}

func (r *recorder) modelChange(model string) {
	r.model = model
	r.cached = 0
	write(r, struct {
		head
		Provider string `json:"provider"`
		Model    string `json:"modelId"`
	}{r.next("model_change"), "anthropic", model})
}

func (r *recorder) thinkingLevelChange(level string) {
	write(r, struct {
		head
		Level string `json:"thinkingLevel"`
	}{r.next("thinking_level_change"), level})
}

// compaction replaces the history by a summary and a tail of kept bytes.
func (r *recorder) compaction(summary, firstKept string, kept int) {
	r.wait(15_000, 40_000)
	before := tokens(r.context)
	r.context = len(summary) + kept
	r.cached = 0
	write(r, struct {
		head
		Summary   string `json:"summary"`
		FirstKept string `json:"firstKeptEntryId"`
		Before    int    `json:"tokensBefore"`
	}{r.next("compaction"), summary, firstKept, before})
}

// user records a message of the user and returns the entry's id.
func (r *recorder) user(said string) string {
	r.wait(20_000, 400_000)
	r.context += len(said)
	h := r.next("message")
	write(r, messageLine[userMessage[[]part]]{h, userMessage[[]part]{"user", []part{text(said)}, r.now}})
	return h.ID
}

// plainUser is like user, but records the content as a string instead of a list, as some versions do.
func (r *recorder) plainUser(said string) string {
	r.wait(20_000, 400_000)
	r.context += len(said)
	h := r.next("message")
	write(r, messageLine[userMessage[string]]{h, userMessage[string]{"user", said, r.now}})
	return h.ID
}

func (r *recorder) bash(command, output string, exitCode int) {
	r.wait(5_000, 60_000)
	r.context += len(command) + len(output)
	m := bashMessage{Role: "bashExecution", Command: command, Output: output, ExitCode: exitCode, Timestamp: r.now}
	write(r, messageLine[bashMessage]{r.next("message"), m})
}

// assistant records an answer with a stop reason: stop, toolUse or aborted.
func (r *recorder) assistant(stop string, parts ...part) {
	m := assistantMessage{Role: "assistant", Content: []part{}, API: "anthropic-messages", Provider: "anthropic",
		Model: r.model, StopReason: stop, Timestamp: r.now}
	size := 0
	for _, p := range parts {
		m.Content = append(m.Content, p)
		size += p.size()
	}
	if stop == "aborted" {
		m.ErrorMessage = "Request was aborted."
	}
	if len(parts) > 0 {
		m.Usage = r.usage(size)
	}
	r.wait(1_500, 3_000+min(size*10, 90_000))
	write(r, messageLine[assistantMessage]{r.next("message"), m})
}

// usage returns the usage of a request with the current window, whose answer has the given number of bytes.
func (r *recorder) usage(answer int) usage {
	in := tokens(r.context)
	u := usage{Input: r.chance.between(1, 12), Output: tokens(answer) + 8, CacheRead: r.cached}
	u.CacheWrite = max(in-u.Input-r.cached, 0)
	u.TotalTokens = u.Input + u.Output + u.CacheRead + u.CacheWrite
	r.cached = u.CacheRead + u.CacheWrite
	r.context += answer
	return u
}

// tokens returns the approximate number of tokens of code and logs.
func tokens(bytes int) int { return bytes * 29 / 100 }

// call is a tool call with its result.
type call struct {
	callPart
	result  string
	isError bool
}

// results records the results of calls in order.
func (r *recorder) results(calls []call) {
	for _, c := range calls {
		r.wait(5, 1_800)
		r.context += len(c.result)
		m := toolMessage{"toolResult", c.ID, c.Name, []part{text(c.result)}, c.isError, r.now}
		if c.result == "" {
			m.Content = []part{}
		}
		write(r, messageLine[toolMessage]{r.next("message"), m})
	}
}

// newCall returns a call of a tool with its result.
func newCall[A any](r *recorder, name string, arguments A, result string, isError bool) call {
	encoded, err := plainjson.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	id := r.unused("toolu_01", 22, base58Digits)
	return call{callPart{"toolCall", id, name, encoded}, result, isError}
}
