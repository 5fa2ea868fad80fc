package replaytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Random replays a random session in a random window under a random policy, all drawn from a seed: parallel calls,
// calls without results, results in any order, arguments that were cut off, texts of any characters and sizes. A
// request that does not fit after compaction is not sent. as and check are those of a [Replay]. [Request.Close] is set
// for each request.
func Random(t *testing.T, seed uint64, as func(n int, m chat.Message) chat.Message, check func(t *testing.T, r Request)) {
	d := dice{rand.New(rand.NewPCG(seed, 1))}
	session := numbered.Session()
	tools := []chat.Tool{{Name: "read", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "write", Parameters: json.RawMessage(`{"type":"object"}`)}}
	known := byName()
	offline := models.Offline{Tokenizer: sizing.Estimator{}}
	said := 0
	var mu sync.Mutex // some requests for summaries are made in the background
	show := func(req chat.Request) {
		mu.Lock()
		defer mu.Unlock()
		check(t, Request{Request: req, Line: said, Close: true})
	}
	budget, p := 300+d.IntN(4000), known[d.IntN(len(known))].Policy
	compactor := &summarize.Compactor{
		Session: session, Policy: p,
		Target: policy.Target{
			Tokenizer: sizing.Estimator{}, Budget: budget, Tools: tools,
			Model: chat.ModelFunc(func(ctx context.Context, req chat.Request) (chat.Response, error) {
				show(req)
				return offline.Generate(ctx, req)
			}),
		},
	}
	defer func() { require.NoError(t, compactor.Close()) }()
	prompt := promptOf(session)
	for range 5 + d.IntN(20) {
		messages := d.step(said)
		for _, m := range messages {
			mu.Lock()
			if as != nil {
				m = as(said, m)
			}
			said++
			mu.Unlock()
			require.NoError(t, session.Append(t.Context(), m))
		}
		last := messages[len(messages)-1]
		if last.Role == chat.RoleAssistant || strings.TrimSpace(last.Text()) == "" && last.Role == chat.RoleUser {
			continue
		}
		rendered, err := compactor.Render(t.Context(), prompt)
		if _, over := errors.AsType[*render.BudgetExceededError](err); over {
			continue // the last message is too large, or the history could not be compacted
		}
		require.NoError(t, err)
		show(chat.Request{Messages: rendered.Messages, Tools: tools})
	}
}

type dice struct{ *rand.Rand }

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

// text returns up to that many words, among them some that are hard to encode.
func (d dice) text(words int) string {
	var b strings.Builder
	for range d.IntN(words + 1) {
		b.WriteString(d.one("word ", "word ", "word ", "Täglich ", "土拨鼠", "🌍", "\n", "  ", "<b>&amp;", "</summary>", "\u2028", "\u00a0", "\x00", "\xff"))
	}
	return b.String()
}

// step returns the next messages: one of the user, or a round of the assistant. said is the number of messages before
// them.
func (d dice) step(said int) []chat.Message {
	size := []int{2, 20, 100, 100, 400, 1500}[d.IntN(6)]
	if said == 0 {
		return []chat.Message{chat.UserMessage("Begin. " + d.text(size))}
	}
	if d.IntN(5) == 0 { // sometimes blank
		return []chat.Message{chat.UserMessage(d.one("Go on. ", "Go on. ", "") + d.text(size))}
	}
	m := chat.Message{Role: chat.RoleAssistant}
	if d.IntN(4) == 0 {
		m.Content = append(m.Content, chat.Thinking{Text: "Hm.", Signature: d.one("", "c2ln")})
	}
	if d.IntN(3) > 0 {
		m.Content = append(m.Content, chat.Text(d.text(size)))
	}
	messages := []chat.Message{m}
	for k := range d.IntN(4) {
		id := fmt.Sprintf("call_%d_%d", said, k)
		text := strings.ToValidUTF8(d.text(size), "")
		arguments, err := json.Marshal(map[string]any{"path": "a.go", "text": text, "line": said})
		if err != nil {
			panic(err) // strings and ints never fail
		}
		call := chat.ToolCall{ID: id, Name: d.one("read", "write"), Arguments: d.one(string(arguments), string(arguments), "{}", `{"cut`)}
		messages[0].ToolCalls = append(messages[0].ToolCalls, call)
		if d.IntN(8) > 0 {
			result := chat.ToolResult(id, d.text(size))
			result.IsError = d.IntN(4) == 0
			messages = append(messages, result)
		}
	}
	if d.IntN(3) == 0 {
		slices.Reverse(messages[1:])
	}
	return messages
}
