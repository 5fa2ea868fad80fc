package render_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
)

var errGone = errors.New("gone")

// endless renders itself.
type endless struct{}

func (e endless) Render(context.Context, elements.Sizing) (elements.Node, error) { return e, nil }

// hollow embeds a nil pointer to properties.
type hollow struct{ *elements.Props }

func (hollow) Render(context.Context, elements.Sizing) (elements.Node, error) { return nil, nil }

func TestMistakesInATreeAreErrors(t *testing.T) {
	require.ErrorIs(t, failed[*render.ElementError](t, user(endless{}), plenty), render.ErrEndless)
	require.ErrorContains(t, failed[*render.ElementError](t, user(hollow{}), plenty), "User > hollow")
}

func TestPointersToElementsMeanTheSame(t *testing.T) {
	values := user(
		elements.TokenLimit{Max: 4, Children: elements.Nodes{chunk(1, "aaa"), chunk(2, "bb")}},
		elements.Tag{Name: "x", Children: elements.Nodes{elements.Text("<")}},
		elements.Nodes{elements.Text("c")}, elements.WithPriority{Priority: 1, Node: line("d")},
	)
	pointers := &elements.UserMessage{Children: elements.Nodes{
		&elements.TokenLimit{Max: 4, Children: elements.Nodes{new(chunk(1, "aaa")), new(chunk(2, "bb"))}},
		&elements.Tag{Name: "x", Children: elements.Nodes{new(elements.Text("<"))}},
		&elements.Nodes{elements.Text("c")}, &elements.WithPriority{Priority: 1, Node: new(line("d"))},
	}}
	require.Equal(t, rendered(t, values, plenty).Messages, rendered(t, pointers, plenty).Messages)
}

func TestACancelledRenderStopsPruning(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	root := user(own{render: func(context.Context, elements.Sizing) (elements.Node, error) {
		cancel(errGone)
		return elements.Nodes{chunk(1, "aaa"), chunk(2, "bb")}, nil
	}})
	_, err := render.Render(ctx, root, render.Options{Budget: 6, Tokenizer: runes})
	require.ErrorIs(t, err, errGone)
}
