package main

import (
	"context"
	"reflect"
	"sync"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// meter sums up the usage of a model. If a response reports no usage, meter counts the tokens, and assumes that the
// cache holds the longest prefix of messages shared with the request before.
type meter struct {
	model     chat.Model
	tokenizer chat.Tokenizer
	prices    sizing.Prices

	mu      sync.Mutex
	last    []chat.Message
	usage   chat.Usage
	dollars float64
}

// Generate passes a request on and adds its usage.
func (m *meter) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	r, err := m.model.Generate(ctx, req)
	if err != nil {
		return r, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	u := r.Usage
	if u == (chat.Usage{}) {
		u = m.counted(req, r)
	}
	m.usage = m.usage.Plus(u)
	m.dollars += m.prices.Of(u).Total()
	return r, nil
}

func (m *meter) counted(req chat.Request, r chat.Response) (u chat.Usage) {
	u.Input, u.Output = m.tokenizer.CountTools(req.Tools), m.tokenizer.CountMessage(r.Message)
	same := true
	for i, message := range req.Messages {
		tokens := m.tokenizer.CountMessage(message)
		u.Input += tokens
		if same = same && i < len(m.last) && reflect.DeepEqual(message, m.last[i]); same {
			u.CacheRead += tokens
		}
	}
	u.CacheWrite = u.Input - u.CacheRead
	m.last = req.Messages
	return u
}
