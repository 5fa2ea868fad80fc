package framework

import (
	"context"
	"reflect"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize"
)

// Whole returns a prompt that shows a session and nothing else.
func Whole(s *history.Session) elements.Node {
	return elements.Nodes{history.Conversation{Session: s}, history.TurnStart{Session: s}, history.TurnRounds{Session: s}}
}

// Retarget makes an agent's tools those of its compactor.
func Retarget(ctx context.Context, c *summarize.Compactor, tools []chat.Tool) error {
	target := c.Current()
	if len(tools) == len(target.Tools) && (len(tools) == 0 || reflect.DeepEqual(tools, target.Tools)) {
		return nil
	}
	target.Tools = tools
	return c.Retarget(ctx, target)
}

// AfterTurn does what the policy does after a turn. The framework's loop has ended: what the policy says in the user's place is
// taken back. That the prompt does not fit is the next request's matter.
func AfterTurn(ctx context.Context, c *summarize.Compactor, prompt elements.Node) error {
	leaf := c.Session.Leaf()
	goOn, err := c.AfterTurn(ctx, prompt)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case goOn:
		e, err := c.Session.Entry(ctx, c.Session.Leaf())
		if err == nil && e.ID != leaf {
			err = c.Session.Branch(ctx, e.Parent)
		}
		return err
	}
	return nil
}
