package framework

import (
	"context"
	"reflect"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/summarize"
)

// Whole returns a prompt that shows the whole session and nothing else.
func Whole(s *history.Session) elements.Node {
	return elements.Nodes{history.Conversation{Session: s}, history.TurnStart{Session: s}, history.TurnRounds{Session: s}}
}

// Retarget sets the tools of a compactor's target to those of the agent.
func Retarget(ctx context.Context, c *summarize.Compactor, tools []chat.Tool) error {
	target := c.Current()
	if len(tools) == len(target.Tools) && (len(tools) == 0 || reflect.DeepEqual(tools, target.Tools)) {
		return nil
	}
	target.Tools = tools
	return c.Retarget(ctx, target)
}

// AfterTurn compacts after a turn if the policy says so. If the policy continues in the user's place, that message is
// dropped, because the framework's loop has ended. An error of [summarize.Compactor.AfterTurn] is not one here, unless the
// context has ended: the next request compacts or fails.
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
