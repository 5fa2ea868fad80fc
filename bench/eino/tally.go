package main

import (
	"context"
	"html"
	"strings"
	"sync"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/einoagent"
	"github.com/promptree-go/promptree/summarize/models"
)

// cacheRead is the price of a cached token relative to one that is not.
const cacheRead = 0.1

// tally sums up requests, in tokens of o200k.
type tally struct {
	requests, summaries, over, largest int
	input, cached                      int     // of both kinds of requests
	kept                               float64 // fraction of the user's texts that each request shows, summed

	tokenizer chat.Tokenizer
	window    int
	user      []string // the starts of the user's texts so far

	mu     sync.Mutex
	counts map[string]int // tokens of messages
	last   [2][]string    // the last request of either kind
}

func newTally(window int) (*tally, error) {
	tokenizer, err := tiktoken.ForModel("gpt-4o")
	return &tally{tokenizer: tokenizer, window: window, counts: map[string]int{}}, err
}

// paid returns the input in tokens, with cached ones at their price.
func (t *tally) paid() float64 { return float64(t.input-t.cached) + cacheRead*float64(t.cached) }

// count returns the tokens of messages, those of the longest prefix shared with one of the last requests, and a key for
// each message.
func (t *tally) count(messages []*schema.Message) (total, cached int, keys []string, err error) {
	for _, m := range messages {
		sent := &schema.Message{ // only the fields that are sent
			Role: m.Role, Content: m.Content, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID, ToolName: m.ToolName, UserInputMultiContent: m.UserInputMultiContent,
		}
		key := sent.String()
		n, known := t.counts[key]
		if !known {
			c, err := einoagent.FromEino(sent)
			if err != nil {
				return 0, 0, nil, err
			}
			n = t.tokenizer.CountMessage(c)
			t.counts[key] = n
		}
		total += n
		keys = append(keys, key)
	}
	for _, last := range t.last {
		n := 0
		for i, key := range keys {
			if i >= len(last) || last[i] != key {
				break
			}
			n += t.counts[key]
		}
		cached = max(cached, n)
	}
	return total, cached, keys, nil
}

// take records a request, of the agent or for a summary, and returns its tokens.
func (t *tally) take(messages []*schema.Message, summary bool) (tokens int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	total, cached, keys, err := t.count(messages)
	if err != nil {
		return 0, err
	}
	t.input += total
	t.cached += cached
	t.largest = max(t.largest, total)
	if total > t.window {
		t.over++
	}
	if summary {
		t.summaries++
		t.last[1] = keys
		return total, nil
	}
	t.requests++
	t.last[0] = keys
	t.kept += t.shown(messages)
	return total, nil
}

// shown returns the fraction of the user's texts that messages show, by the start of each.
func (t *tally) shown(messages []*schema.Message) float64 {
	var all strings.Builder
	for _, m := range messages {
		if m.Role != schema.Tool {
			all.WriteString(words(m.Content))
			for _, p := range m.UserInputMultiContent {
				all.WriteString(words(p.Text))
			}
		}
	}
	text, n := all.String(), 0
	for _, start := range t.user {
		if strings.Contains(text, start) {
			n++
		}
	}
	return float64(n) / float64(max(1, len(t.user)))
}

// words returns a text without white space and HTML escapes, which a serialiser may change.
func words(text string) string { return strings.Join(strings.Fields(html.UnescapeString(text)), "") }

// says records a user message.
func (t *tally) says(text string) {
	if text = words(text); len(text) > 200 {
		text = text[:200]
	}
	t.user = append(t.user, text)
}

// summariser is a model of eino that writes digests.
type summariser struct {
	tally *tally
	end   string // appended to each answer
}

func (s summariser) Generate(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	if _, err := s.tally.take(input, true); err != nil {
		return nil, err
	}
	req := chat.Request{MaxTokens: 10_000}
	if o := model.GetCommonOptions(nil, opts...); o.MaxTokens != nil {
		req.MaxTokens = *o.MaxTokens
	}
	for _, m := range input {
		c, err := einoagent.FromEino(m)
		if err != nil {
			return nil, err
		}
		req.Messages = append(req.Messages, c)
	}
	r, err := models.Offline{Tokenizer: s.tally.tokenizer}.Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	m, err := einoagent.ToEino(r.Message)
	if err == nil {
		m.Content += s.end
	}
	return m, err
}

func (s summariser) Stream(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := s.Generate(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}
