package plan

import (
	"context"
	"fmt"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/plaintext"
	"github.com/promptree-go/promptree/summarize/internal/guard"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/prompts"
)

// Stand returns the tree of the messages that stand for a covered history: those of the policy, and behind them the
// pinned entries.
func Stand(p policy.Policy, m policy.Material) elements.Nodes {
	nodes := elements.Nodes{p.Replace.With(m)}
	if len(m.Pinned) > 0 {
		nodes = append(nodes, prompts.Pinned(m))
	}
	return nodes
}

// Pins returns the pinned entries on the path to an entry, in the order of the session, without those from the entry
// firstKept on, if it is not "". Together they take about limit tokens: of one for which no room is left, the handle
// stands there, as long as that fits.
func Pins(ctx context.Context, s *history.Session, id, firstKept string, limit int, t chat.Tokenizer) ([]policy.PinnedEntry, error) {
	pinned, err := s.Pinned(ctx, id)
	if err != nil || len(pinned) == 0 {
		return nil, err
	}
	kept := map[string]bool{}
	if firstKept != "" {
		for e, err := range s.Back(ctx, id) {
			if err != nil {
				return nil, err
			}
			if kept[e.ID] = true; e.ID == firstKept {
				break
			}
		}
	}
	return guard.Value(ctx, guard.NameTokenizer, func() []policy.PinnedEntry {
		var list []policy.PinnedEntry
		for _, e := range pinned {
			m, _ := e.Shown()
			p := policy.PinnedEntry{Entry: e.ID, Role: m.Role, Text: plaintext.Outside(e.Text())}
			if kept[e.ID] || p.Text == "" {
				continue
			}
			size := func() int { return guard.Counted(t.CountText(prompts.PinnedText(p))) }
			if p.Tokens = size(); p.Tokens > limit {
				p.Left = true
				p.Text = plaintext.LeftOut(fmt.Sprintf("pinned entry of %d tokens", p.Tokens), s.Handle(e, 0, 0))
				if size() > limit {
					p.Text = ""
				}
			}
			if p.Text != "" {
				limit -= size()
			}
			list = append(list, p)
		}
		return list
	})
}
