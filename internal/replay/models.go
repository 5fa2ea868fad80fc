package replay

import (
	"context"
	"fmt"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/prefix"
	"github.com/promptree-go/promptree/summarize/models"
)

// The models that write summaries, by their names on the command line.
const (
	modelOffline = "offline"
	modelScript  = "script"
)

// modelNamed makes a model for one replay of a recording. A script answers with the summaries of the recording, one after
// the other and the last again and again, so that what policies differ in is all but the words.
func modelNamed(name string, r *importer.Recording, t chat.Tokenizer) (chat.Model, error) {
	switch name {
	case modelOffline:
		return models.Offline{Tokenizer: t}, nil
	case modelScript:
		return &script{tokenizer: t, summaries: recordedSummaries(r)}, nil
	}
	return nil, fmt.Errorf("-model: there is no model %q: it is %s or %s", name, modelOffline, modelScript)
}

// recordedSummaries returns what the recorded model wrote at its compactions.
func recordedSummaries(r *importer.Recording) []string {
	var list []string
	for _, rec := range r.Path(r.Leaf) {
		if text := rec.Compaction().Text; text != "" {
			list = append(list, text)
		}
	}
	return list
}

// script answers every request with a summary that was written before.
type script struct {
	tokenizer chat.Tokenizer
	summaries []string

	mu   sync.Mutex
	next int
}

// noSummary is what a script says where the recording has no summary.
const noSummary = "## Summary\n\nThis stands where a model would have summarised the conversation."

// frame is what may stand around a summary, in tokens: it goes off the room that is left for its words.
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
	if room := req.MaxTokens/2 - frame; req.MaxTokens > 0 { // half of it is for thinking first
		text = history.Clip(s.tokenizer, text, max(1, room), 1)
	}
	return models.SaySummary(text)(ctx, req)
}

// exchange is a request for a summary and what came of it.
type exchange struct {
	request  chat.Request
	response chat.Response
	err      error
}

// meter is a model that measures what another is asked.
type meter struct {
	chat.Model
	tokenizer chat.Tokenizer

	mu         sync.Mutex
	prefix     prefix.Prefix // what the agent was sent last
	background bool          // a summary is made for the request that is being rendered, and not before it
	rendering  bool          // a request of the agent is, which is not sent yet
	early      [][]chat.Message
	calls      Calls
	exchanges  []exchange // since they were taken last
}

// Generate asks the model.
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

// begins tells that a compaction does.
func (m *meter) begins(background bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.background = background
}

// waits tells that a request of the agent is being rendered. What is asked in the background until it is sent is asked
// after it, however the goroutines run.
func (m *meter) waits() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rendering = true
}

// sends notes what the agent is sent, and tells its tokens and how many of them it has in common with what was sent before.
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

// whole returns how many tokens the messages take that a request begins with as the agent's last one did.
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
