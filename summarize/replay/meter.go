package replay

import (
	"context"
	"maps"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/event"
)

// meter is a model that measures the requests to another model, and hears of the compactions that they are for.
type meter struct {
	chat.Model
	tokenizer chat.Tokenizer

	mu         sync.Mutex
	prefix     prefix           // the agent's last request
	background bool             // the latest compaction is made in the background
	rendering  bool             // a request of the agent is being rendered and is not sent yet
	early      [][]chat.Message // background requests for summaries made while rendering
	calls      Requests
	events     map[event.Kind]int
	done       []event.Event // of compactions, since the last call of taken
}

// Generate measures a request and passes it on.
func (m *meter) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	sent := m.tokenizer.CountTools(req.Tools) + count(m.tokenizer, req.Messages)
	m.mu.Lock()
	m.calls.Number++
	m.calls.Tokens += sent
	m.calls.Largest = max(m.calls.Largest, sent)
	common := m.prefix.common(req.Messages)
	if m.background && m.rendering {
		m.early = append(m.early, req.Messages)
	} else {
		m.calls.Cached += common
	}
	m.mu.Unlock()
	response, err := m.Model.Generate(ctx, req)
	if err != nil {
		return response, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	answered := m.tokenizer.CountMessage(response.Message)
	m.calls.Answered += answered
	if response.Usage.Input == 0 { // a digest, for which a model would have reported
		response.Usage = chat.Usage{Input: sent, CacheRead: common, Output: answered}
	}
	return response, nil
}

// hear records an event of the compactor.
func (m *meter) hear(e event.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.Kind {
	case event.Usage:
		return
	case event.Started:
		m.background = e.Background
	case event.Done:
		m.done = append(m.done, e)
	}
	m.events[e.Kind]++
}

// taken returns the compactions that were appended since the last call.
func (m *meter) taken() []event.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.done
	m.done = nil
	return list
}

// renderBegins is called before a request of the agent is rendered. Background requests for summaries count as made
// after the agent's request is sent, however the goroutines are scheduled.
func (m *meter) renderBegins() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rendering = true
}

// sends records a request of the agent. It returns the tokens of the request, and those of the whole messages with which it
// and the agent's request before begin.
func (m *meter) sends(request []chat.Message) (tokens, cached int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cached = m.prefix.common(request)
	tokens = m.prefix.send(request)
	for _, asked := range m.early {
		m.calls.Cached += m.prefix.common(asked)
	}
	m.early, m.rendering = nil, false
	return tokens, cached
}

// total returns the requests for summaries, and the number of events of each kind.
func (m *meter) total() (Requests, map[event.Kind]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, maps.Clone(m.events)
}
