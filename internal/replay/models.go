package replay

import (
	"context"
	"fmt"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/replay/prefix"
	"github.com/promptree-go/promptree/summarize/models"
)

// The models that write summaries, by their names on the command line.
const (
	modelOffline = "offline"
	modelScript  = "script"
)

// modelNamed returns a model for one replay of a recording. A script answers with the summaries of the recording in
// order, and repeats the last, so that policies do not differ in the words of their summaries.
func modelNamed(name string, r *importer.Recording, t chat.Tokenizer) (chat.Model, error) {
	switch name {
	case modelOffline:
		return models.Offline{Tokenizer: t}, nil
	case modelScript:
		return &script{tokenizer: t, summaries: recordedSummaries(r)}, nil
	}
	return nil, fmt.Errorf("-model: unknown model %q: name %s or %s", name, modelOffline, modelScript)
}

// recordedSummaries returns the summaries of the recorded compactions.
func recordedSummaries(r *importer.Recording) []string {
	var list []string
	for _, rec := range r.Path(r.Leaf) {
		if text := rec.Compaction().Text; text != "" {
			list = append(list, text)
		}
	}
	return list
}

// script answers each request with a recorded summary.
type script struct {
	tokenizer chat.Tokenizer
	summaries []string

	mu   sync.Mutex
	next int
}

// noSummary is the answer of a script if the recording has no summary.
const noSummary = "## Summary\n\nThis stands where a model would have summarised the conversation."

// frame is the number of tokens that tags around a summary may take.
const frame = 64

func (s *script) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if ctx.Err() != nil {
		return chat.Response{}, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := noSummary
	if len(s.summaries) > 0 {
		text = s.summaries[s.next]
		s.next = min(s.next+1, len(s.summaries)-1)
	}
	if room := req.MaxTokens/2 - frame; req.MaxTokens > 0 { // the other half is for thinking
		text = history.Clip(s.tokenizer, text, max(1, room), 1)
	}
	return models.SaySummary(text)(ctx, req)
}

// exchange is a request for a summary and its response or error.
type exchange struct {
	request  chat.Request
	response chat.Response
	err      error
}

// meter is a model that measures the requests to another model.
type meter struct {
	chat.Model
	tokenizer chat.Tokenizer

	mu         sync.Mutex
	prefix     prefix.Prefix    // the agent's last request
	background bool             // the latest compaction is made in the background
	rendering  bool             // a request of the agent is being rendered and is not sent yet
	early      [][]chat.Message // background requests for summaries made while rendering
	calls      Calls
	exchanges  []exchange // since the last call of taken
}

// Generate measures a request and passes it on.
func (m *meter) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	sent := m.tokenizer.CountTools(req.Tools)
	for _, message := range req.Messages {
		sent += m.tokenizer.CountMessage(message)
	}
	m.mu.Lock()
	m.calls.Number++
	m.calls.Sent += sent
	if m.background && m.rendering {
		m.early = append(m.early, req.Messages)
	} else {
		m.calls.Cached += m.prefix.Common(req.Messages)
	}
	m.mu.Unlock()
	response, err := m.Model.Generate(ctx, req)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.calls.Answered += m.tokenizer.CountMessage(response.Message)
	}
	m.exchanges = append(m.exchanges, exchange{req, response, err})
	return response, err
}

// compactionBegins is called when a compaction begins.
func (m *meter) compactionBegins(background bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.background = background
}

// renderBegins is called before a request of the agent is rendered. Background requests for summaries count as made
// after the agent's request is sent, however the goroutines are scheduled.
func (m *meter) renderBegins() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rendering = true
}

// sends records a request of the agent. It returns the tokens of the request, and those in a prefix shared with the
// agent's request before.
func (m *meter) sends(request []chat.Message) (tokens, cached int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cached = m.prefix.Common(request)
	tokens = m.prefix.Send(request)
	for _, asked := range m.early {
		m.calls.Cached += m.prefix.Common(asked)
	}
	m.early, m.rendering = nil, false
	return tokens, cached
}

// whole returns the tokens of the whole messages at the beginning of a request that the agent's last request began with
// too.
func (m *meter) whole(request []chat.Message) (tokens int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, tokens = m.prefix.Whole(request)
	return tokens
}

// taken returns the exchanges since the last call.
func (m *meter) taken() []exchange {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.exchanges
	m.exchanges = nil
	return list
}

func (m *meter) total() Calls {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}
