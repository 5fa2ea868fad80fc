package anthropic_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestEachCallHasAnIDThatTheServerAcceptsBack(t *testing.T) {
	for mode, whole := range map[string]bool{"the model": false, "an answer in one piece": true} {
		t.Run(mode, func(t *testing.T) {
			providertest.CallIDs(t, func(t *testing.T, ids []string) providertest.CallServer {
				s := newServer(t, func(_ int, r request) answer {
					if len(r.Messages) > 1 {
						return say(text("42"))
					}
					var blocks []block
					for i, id := range ids {
						blocks = append(blocks, call(id, "count", block{"z": i}))
						if i == 0 {
							blocks = append(blocks, text("And so on."))
						}
					}
					return say(blocks...)
				})
				sent := func(t *testing.T) (calls, results, texts []string) {
					order := ""
					for _, b := range s.last(t).Messages[1].Content {
						order += " " + fmt.Sprint(b["type"])
						if b["type"] == "tool_use" {
							calls = append(calls, b["id"].(string))
						}
					}
					require.Regexp(t, "^ tool_use text( tool_use)+$", order, "each block is in its place")
					for _, b := range s.last(t).Messages[2].Content {
						results = append(results, b["tool_use_id"].(string))
						texts = append(texts, b["content"].([]any)[0].(block)["text"].(string))
					}
					return calls, results, texts
				}
				m := &anthropic.Model{Client: s.client(), Name: "claude-test"}
				m.OnRepair = func(changes []chat.Repair) { require.Empty(t, changes) }
				if whole {
					return providertest.CallServer{Model: inOnePiece{m}, Sent: sent}
				}
				return providertest.CallServer{Model: m, Sent: sent}
			})
		})
	}
}

// inOnePiece is a model that does not stream an answer without Stream, as a caller of [anthropic.Response] may do.
type inOnePiece struct{ *anthropic.Model }

func (m inOnePiece) Generate(ctx context.Context, req chat.Request) (chat.Response, error) {
	if req.Stream != nil {
		return m.Model.Generate(ctx, req)
	}
	p, err := anthropic.Request(req)
	if err != nil {
		return chat.Response{}, err
	}
	p.Model = m.Name
	answer, err := m.Client.Messages.New(ctx, p)
	if err != nil {
		return chat.Response{}, err
	}
	return anthropic.Response(answer)
}
