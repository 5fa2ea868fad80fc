package render_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// offers records the budgets that elements were offered, by name, and the order in which they were rendered.
type offers struct {
	mu      sync.Mutex
	budgets map[string]int
	asked   []string
}

// echo returns an element that records its budget and renders to a number of tokens.
func (o *offers) echo(name string, props elements.Props, takes int) elements.Node {
	return own{Props: props, render: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.budgets == nil {
			o.budgets = map[string]int{}
		}
		o.budgets[name] = s.TokenBudget
		o.asked = append(o.asked, name)
		return elements.Text(strings.Repeat("x", takes)), nil
	}}
}

func TestFlexDividesTheBudget(t *testing.T) {
	var o offers
	e := o.echo
	grow := func(n int) elements.Props { return elements.Props{FlexGrow: n} }
	basis := func(b float64) elements.Props { return elements.Props{FlexBasis: b} }
	reserve := func(grow, tokens int) elements.Props {
		return elements.Props{FlexGrow: grow, FlexReserve: elements.Reserve{Tokens: tokens}}
	}
	fraction := func(grow, n int) elements.Props {
		return elements.Props{FlexGrow: grow, FlexReserve: elements.Reserve{Share: 1 / float64(n)}}
	}
	both := fraction(1, 4)
	both.FlexReserve.Tokens = 90
	limit := func(most int, child elements.Node) elements.TokenLimit {
		return elements.TokenLimit{Max: most, Children: elements.Nodes{child}}
	}
	// Each tree is in a tool message, which costs nothing at layout.
	tests := []struct {
		name   string
		budget int
		tree   elements.Nodes
		want   map[string]int
	}{
		{
			"siblings without FlexGrow are laid out before those with one", 100,
			elements.Nodes{e("a", grow(1), 0), e("b", elements.Props{}, 30), e("c", elements.Props{}, 20)},
			map[string]int{"b": 50, "c": 50, "a": 50},
		},
		{
			"groups are laid out from the highest value down, each with the rest", 100,
			elements.Nodes{e("a", grow(1), 0), e("b", grow(3), 10), e("c", grow(2), 20), e("d", grow(3), 5)},
			map[string]int{"b": 50, "d": 50, "c": 85, "a": 65},
		},
		{
			"text beside elements is charged first", 100,
			elements.Nodes{e("a", elements.Props{}, 0), elements.Text("12345"), e("b", elements.Props{}, 0), elements.LineBreak{}},
			map[string]int{"a": 47, "b": 47},
		},
		{
			"shares are in proportion to the bases", 100,
			elements.Nodes{e("a", basis(2), 0), e("b", elements.Props{}, 0), e("c", basis(0.5), 0)},
			map[string]int{"a": 57, "b": 28, "c": 14},
		},
		{
			"the basis is divided by the sum first, then the share rounded down", 49,
			elements.Nodes{e("a", elements.Props{}, 0), e("b", basis(48), 0)},
			map[string]int{"a": 0, "b": 48},
		},
		{
			"tokens are reserved for later groups", 100,
			elements.Nodes{e("a", elements.Props{}, 70), e("b", reserve(2, 20), 10), e("c", reserve(1, 15), 0)},
			map[string]int{"a": 65, "b": 20, "c": 25},
		},
		{
			"all reserved fractions are of the same remainder", 101,
			elements.Nodes{e("a", elements.Props{}, 0), e("b", fraction(1, 3), 0), e("c", fraction(1, 2), 0)},
			map[string]int{"a": 18, "b": 50, "c": 50},
		},
		{
			"a reserved fraction wins over reserved tokens", 100,
			elements.Nodes{e("a", elements.Props{}, 0), e("b", both, 0)},
			map[string]int{"a": 75, "b": 100},
		},
		{
			"a reserve does not count in its own group", 100,
			elements.Nodes{e("a", reserve(0, 50), 0), e("b", elements.Props{}, 0)},
			map[string]int{"a": 50, "b": 50},
		},
		{
			"more than the budget may be reserved", 10,
			elements.Nodes{e("a", elements.Props{}, 0), e("b", reserve(1, 50), 0)},
			map[string]int{"a": 0, "b": 10},
		},
		{
			"a limit below its share is taken out of the division", 90,
			elements.Nodes{limit(10, e("a", elements.Props{}, 0)), e("b", elements.Props{}, 0), e("c", elements.Props{}, 0)},
			map[string]int{"a": 10, "b": 40, "c": 40},
		},
		{
			"a limit above its share does not change the division", 90,
			elements.Nodes{limit(31, e("a", elements.Props{}, 0)), e("b", elements.Props{}, 0), e("c", elements.Props{}, 0)},
			map[string]int{"a": 30, "b": 30, "c": 30},
		},
		{
			"limits are taken out in document order, each makes the others' shares larger; the rest may be negative", 10,
			elements.Nodes{
				limit(2, e("a", elements.Props{}, 0)), limit(4, e("b", elements.Props{}, 0)), limit(6, e("c", elements.Props{}, 0)),
				e("d", basis(0.5), 1), e("e", grow(1), 0),
			},
			map[string]int{"a": 2, "b": 4, "c": 6, "d": -2, "e": 12},
		},
		{
			"an element that takes more than its share is charged its share", 100,
			elements.Nodes{e("a", elements.Props{}, 80), e("b", elements.Props{}, 10), e("c", grow(1), 0)},
			map[string]int{"a": 50, "b": 50, "c": 40},
		},
		{
			"shares are divided from the parent's share", 100,
			elements.Nodes{wrap(elements.Props{}, e("a", elements.Props{}, 0), e("b", elements.Props{}, 0)), wrap(basis(3), e("c", elements.Props{}, 0))},
			map[string]int{"a": 12, "b": 12, "c": 75},
		},
		{
			"a list is not a level of its own", 90,
			elements.Nodes{elements.Nodes{e("a", elements.Props{}, 0), e("b", elements.Props{}, 0)}, e("c", elements.Props{}, 0)},
			map[string]int{"a": 30, "b": 30, "c": 30},
		},
		{
			"a tag costs its two ends", 100,
			elements.Nodes{elements.Tag{Name: "x", Children: elements.Nodes{e("a", elements.Props{}, 0)}}},
			map[string]int{"a": 92},
		},
		{
			"a text chunk costs its text, images nothing", 100,
			elements.Nodes{line("12345"), elements.Image{Source: "i"}, elements.Opaque{Value: []byte("1"), Tokens: 9}, e("a", grow(1), 0)},
			map[string]int{"a": 95},
		},
		{
			"a text chunk that is cut costs the tokens that are left", 9,
			elements.Nodes{elements.TextChunk{Props: elements.Props{FlexBasis: 1}, BreakOn: " ", Children: elements.Nodes{elements.Text("12345 7890")}}, e("a", grow(1), 0)},
			map[string]int{"a": 4},
		},
		{
			"the alternative of an IfEmpty is laid out first, and charged too", 100,
			elements.Nodes{elements.IfEmpty{Alt: e("a", elements.Props{}, 30), Children: elements.Nodes{e("b", elements.Props{}, 20)}}, e("c", grow(1), 0)},
			map[string]int{"a": 100, "b": 70, "c": 50},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o.budgets = nil
			root := elements.ToolMessage{Children: test.tree}
			require.NotNil(t, laid(t, root, render.Options{Budget: test.budget, Tokenizer: runes}))
			require.Equal(t, test.want, o.budgets)
		})
	}
}

// A message is charged its frame before its content shares the rest. A tool message is not.
func TestMessagesAreChargedAtLayout(t *testing.T) {
	var o offers
	calls := []elements.ToolCall{{ToolCall: chat.ToolCall{ID: "ignored", Name: "12", Arguments: "345"}}}
	root := elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{o.echo("system", elements.Props{}, 0)}},
		elements.UserMessage{Name: "1234", Children: elements.Nodes{o.echo("user", elements.Props{}, 0)}},
		elements.AssistantMessage{ToolCalls: calls, Children: elements.Nodes{o.echo("assistant", elements.Props{}, 0)}},
		elements.ToolMessage{ToolCallID: "ignored", Children: elements.Nodes{o.echo("tool", elements.Props{}, 0)}},
		elements.UserMessage{Props: elements.Props{FlexGrow: 1}, Children: elements.Nodes{o.echo("rest", elements.Props{}, 0)}},
	}
	rendered(t, root, 400)
	require.Equal(t, map[string]int{"system": 97, "user": 93, "assistant": 92, "tool": 100, "rest": 400 - 3 - 7 - 8 - 3}, o.budgets)
}

func TestFlexGroupsAreAskedInOrder(t *testing.T) {
	var o offers
	rendered(t, user(
		o.echo("last", elements.Props{FlexGrow: 1}, 1),
		o.echo("first", elements.Props{}, 1),
		o.echo("third", elements.Props{FlexGrow: 2}, 1),
		o.echo("second", elements.Props{FlexGrow: math.MaxInt}, 1),
	), plenty)
	require.Equal(t, []string{"first", "second", "third", "last"}, o.asked)
}

func TestFlexDoesNotChangePruning(t *testing.T) {
	flexed := func(priority, grow int, text string) elements.Node {
		c := chunk(priority, text)
		c.FlexGrow = grow
		return c
	}
	require.Equal(t, "a; b; c", prunes(t, user(flexed(1, 0, "a"), flexed(2, 9, "b"), flexed(3, 5, "c"))))
}

func TestElementsAreToldTheWindow(t *testing.T) {
	var got []int
	ask := own{render: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		got = append(got, s.PromptBudget)
		require.Equal(t, 3, s.CountText("abc"))
		return nil, nil
	}}
	root := user(line("a"), wrap(elements.Props{}, ask))
	for _, opts := range []render.Options{{Budget: 50}, {Budget: 50, PromptBudget: 200}} {
		opts.Tokenizer = runes
		renderedWith(t, root, opts)
	}
	require.Equal(t, []int{50, 200}, got)
}

// texter is the simplest element of the caller's own type, without properties.
type texter string

func (t texter) Render(context.Context, elements.Sizing) (elements.Node, error) {
	return elements.Text(t), nil
}

// generic is an element of a generic type.
type generic[T any] struct{ err error }

func (g *generic[T]) Render(context.Context, elements.Sizing) (elements.Node, error) {
	return nil, g.err
}

func TestElementsOfTheCallersTypesAreRendered(t *testing.T) {
	again := own{Props: at(1), render: func(context.Context, elements.Sizing) (elements.Node, error) {
		return elements.Nodes{texter("b"), nil, elements.Nodes{texter("c")}}, nil
	}}
	nothing := own{render: func(context.Context, elements.Sizing) (elements.Node, error) { return nil, nil }}
	require.Equal(t, []string{"a\nb\nc\nb\nc"}, texts(rendered(t, user(texter("a"), again, nothing, again), plenty).Messages),
		"an element may render to elements, and one value may be used twice")
	require.Equal(t, "b; c; a", prunes(t, user(texter("a"), again)), "an element's priority is that of its Props")
	require.ErrorIs(t, failed[*render.ElementError](t, nil, plenty), tree.ErrNilElement)
	require.Empty(t, rendered(t, elements.Nodes{nil, elements.Nodes{nil}, nothing}, plenty).Messages)
}

func TestSlowElementsRenderConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Each element waits until both have started, and the first until the second is done. If one were rendered
		// after the other, the test would deadlock.
		var started sync.WaitGroup
		started.Add(2)
		done := make(chan struct{})
		first := own{render: func(context.Context, elements.Sizing) (elements.Node, error) {
			started.Done()
			started.Wait()
			<-done
			return elements.Nodes{elements.Meta[string]{Value: "first"}, elements.Text("first")}, nil
		}}
		second := own{render: func(context.Context, elements.Sizing) (elements.Node, error) {
			defer close(done)
			started.Done()
			started.Wait()
			return elements.Nodes{elements.Meta[string]{Value: "second"}, elements.Text("second")}, nil
		}}
		r := rendered(t, user(first, line("between"), second), 100)
		require.Equal(t, []string{"first\nbetween\nsecond"}, texts(r.Messages))
		require.Equal(t, []string{"first", "second"}, elements.AllMeta[string](r.Metadata))
	})
}

func TestFirstErrorInOrderIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secondFailed, lastRuns := make(chan struct{}), make(chan struct{})
		var later error
		fails := func(f func(context.Context) error) own {
			return own{render: func(ctx context.Context, _ elements.Sizing) (elements.Node, error) { return nil, f(ctx) }}
		}
		errFirst, errSecond := errors.New("first"), errors.New("second")
		root := user(
			fails(func(ctx context.Context) error { <-secondFailed; return ctx.Err() }),
			fails(func(ctx context.Context) error {
				<-secondFailed
				require.NoError(t, ctx.Err(), "a later element's failure does not cancel an earlier one")
				return errFirst
			}),
			fails(func(context.Context) error { defer close(secondFailed); <-lastRuns; return errSecond }),
			fails(func(ctx context.Context) error { close(lastRuns); <-ctx.Done(); later = ctx.Err(); return later }),
		)
		_, err := render.Render(t.Context(), root, render.Options{Budget: 100, Tokenizer: runes})
		require.ErrorIs(t, err, errFirst)
		require.NotErrorIs(t, err, errSecond)
		require.ErrorIs(t, later, context.Canceled)
		require.EqualError(t, err, "render: User > own#2: first")
	})
}

func TestErrorOfABuiltInElementCancelsLaterOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := own{render: func(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		root := user(texter("a"), elements.TokenLimit{}, waits)
		_, err := render.Render(t.Context(), root, render.Options{Budget: 100, Tokenizer: runes})
		require.ErrorContains(t, err, "User > Limit: ")
	})
}

func TestACancelledContextEndsARenderWithItsCause(t *testing.T) {
	cause := errors.New("the user has gone")
	slow := func(give func(context.Context) error) own {
		return own{render: func(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
			<-ctx.Done()
			return elements.Text("late"), give(ctx)
		}}
	}
	for name, give := range map[string]func(context.Context) error{
		"the element returns the context's error": context.Context.Err,
		"the element returns the cause":           context.Cause,
		"the element returns no error":            func(context.Context) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			for _, root := range []elements.Node{user(slow(give)), user(slow(give), texter("a"), slow(give)), user(wrap(elements.Props{}, slow(give)), slow(give))} {
				// synctest fails if a goroutine is left behind.
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(t.Context())
					go func() {
						synctest.Wait()
						cancel(cause)
					}()
					r, err := render.Render(ctx, root, render.Options{Budget: 100, Tokenizer: runes})
					require.ErrorIs(t, err, cause)
					require.Nil(t, r)
				})
			}
		})
	}
	t.Run("before the start", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		for _, root := range []elements.Node{user(line("a")), user(own{})} {
			_, err := render.Render(ctx, root, render.Options{Budget: 100, Tokenizer: runes})
			require.ErrorIs(t, err, cause)
		}
	})
	t.Run("while an expandable grows", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		asked := 0
		root := user(elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) {
			if asked++; asked == 2 {
				cancel(cause)
			}
			return texter("a"), nil
		}})
		_, err := render.Render(ctx, root, render.Options{Budget: 100, Tokenizer: runes})
		require.ErrorIs(t, err, cause)
	})
}

func TestErrorsOfElementsHaveTheirPaths(t *testing.T) {
	boom := errors.New("boom")
	fails := own{render: func(context.Context, elements.Sizing) (elements.Node, error) { return nil, boom }}
	gives := func(n elements.Node) own {
		return own{render: func(context.Context, elements.Sizing) (elements.Node, error) { return n, nil }}
	}
	image := elements.Image{Source: "i"}
	tests := []struct {
		name string
		root elements.Node
		path string
		is   error // nil if the error wraps none
	}{
		{"an error has the path of its element", user(wrap(elements.Props{}, fails)), "User > Wrap > own", boom},
		{"siblings with the same name are numbered", elements.Nodes{user(), user(line("a"), fails)}, "User#2 > own", boom},
		{"siblings in different flex groups are numbered in document order", user(wrap(elements.Props{FlexGrow: 1}, fails), wrap(elements.Props{})), "User > Wrap#1 > own", boom},
		{"lists have no name", elements.Nodes{elements.Nodes{user(elements.Nodes{fails})}}, "User > own", boom},
		{"a pointer has its type's name, a generic type no parameters", user(&generic[int]{boom}), "User > generic", boom},
		{"an element's own elements follow it", user(gives(elements.Nodes{elements.Chunk{}, elements.Chunk{Children: elements.Nodes{fails}}})), "User > own > Together#2 > own", boom},
		{"an expandable can fail", user(elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) { return nil, boom }}), "User > Expand", boom},
		{"text at the root", elements.Text("a"), "Root", tree.ErrOutsideMessage},
		{"text outside a message", elements.Nodes{user(line("a")), wrap(elements.Props{}, elements.Text("a"))}, "Wrap", tree.ErrOutsideMessage},
		{"text of the caller's own element outside a message", texter("a"), "texter", tree.ErrOutsideMessage},
		{"a text chunk outside a message", line("a"), "Text", tree.ErrOutsideMessage},
		{"an image outside a message", elements.Nodes{image, user(image)}, "Image", tree.ErrOutsideMessage},
		{"a line break outside a message", elements.LineBreak{}, "Root", tree.ErrOutsideMessage},
		{"an opaque value outside a message", elements.Opaque{Value: []byte("1")}, "Root", tree.ErrOutsideMessage},
		{"a tag without children outside a message", elements.Tag{Name: "x"}, "x", tree.ErrOutsideMessage},
		{"a tag around a message", elements.Tag{Name: "x", Children: elements.Nodes{user(line("a"))}}, "x", tree.ErrOutsideMessage},
		{"a breakpoint outside a message", elements.CacheBreakpoint{}, "Root", tree.ErrBreakpointPlace},
		{"a breakpoint not directly in a message", user(wrap(elements.Props{}, elements.CacheBreakpoint{})), "User > Wrap", tree.ErrBreakpointPlace},
		{"a message in a message", user(wrap(elements.Props{}, user(line("a")))), "User > Wrap > User", tree.ErrNestedMessage},
		{"two calls of one id", elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("x", nil), call("y", nil), call("x", nil)}}, "Assistant", tree.ErrDuplicateCall},
		{"a nil pointer", user((*generic[string])(nil)), "User", tree.ErrNilElement},
		{"a nil pointer given a priority", user(elements.PrioritizedList{Children: elements.Nodes{(*generic[string])(nil)}}), "User > Ranked", tree.ErrNilElement},
		{"a nil pointer at the root", (*generic[string])(nil), "Root", tree.ErrNilElement},
		{"a nil pointer rendered by an element", gives((*generic[string])(nil)), "own", tree.ErrNilElement},
		{"a limit of 0", user(elements.TokenLimit{}), "User > Limit", nil},
		{"a limit below 0", elements.TokenLimit{Max: -1}, "Limit", nil},
		{"a FlexGrow below 0", user(wrap(elements.Props{FlexGrow: -1})), "User > Wrap", nil},
		{"a FlexBasis below 0", user(wrap(elements.Props{FlexBasis: -0.5})), "User > Wrap", nil},
		{"a FlexBasis that is not a number", user(wrap(elements.Props{FlexBasis: math.NaN()})), "User > Wrap", nil},
		{"a FlexReserve below 0", user(wrap(elements.Props{FlexReserve: elements.Reserve{Tokens: -1}})), "User > Wrap", nil},
		{"a share below 0", user(wrap(elements.Props{FlexReserve: elements.Reserve{Share: -1}})), "User > Wrap", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := failed[*render.ElementError](t, test.root, plenty)
			require.Equal(t, test.path, err.Path)
			require.Nil(t, err.Stack)
			require.True(t, strings.HasPrefix(err.Error(), "render: "+test.path+": "), err)
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
		})
	}
}

func TestPanicIsAnError(t *testing.T) {
	panics := own{render: func(context.Context, elements.Sizing) (elements.Node, error) { panic("oh no") }}
	for _, root := range []elements.Node{user(panics), user(texter("a"), panics, texter("b"))} {
		err := failed[*render.ElementError](t, root, plenty)
		require.Equal(t, "User > own", err.Path)
		require.EqualError(t, err, "render: User > own: panic: oh no")
		require.Contains(t, string(err.Stack), "TestPanicIsAnError", "the stack shows where it came from")
	}
	// An expandable is rendered a second time when it grows.
	asked := 0
	root := user(elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) {
		if asked++; asked == 2 {
			panic(errors.New("oh no"))
		}
		return nil, nil
	}})
	err := failed[*render.ElementError](t, root, plenty)
	require.EqualError(t, err, "render: User > Expand: panic: oh no")
	require.NotEmpty(t, err.Stack)
}

// The same holds if elements run concurrently, where no caller could recover from the panic.
func TestPanicOfATokenizerIsAnError(t *testing.T) {
	sour := tokens(func(s string) int {
		if s == "sour" {
			panic("oh no")
		}
		return len(s)
	})
	for _, root := range []elements.Node{user(texter("sour")), user(texter("a"), texter("sour")), user(texter("a"), line("sour"))} {
		err := failedWith[*render.ElementError](t, root, render.Options{Budget: plenty, Tokenizer: sour})
		require.ErrorContains(t, err, "CountText: it panicked: oh no")
		require.True(t, strings.HasPrefix(err.Path, "User"), err.Path)
		require.NotEmpty(t, err.Stack)
	}
}

func TestOptionsOutOfRangeAreErrors(t *testing.T) {
	root := user(line("a"))
	_, err := render.Render(t.Context(), root, render.Options{Budget: 10})
	require.ErrorIs(t, err, render.ErrNoTokenizer)
	for what, bad := range map[string][]render.Options{
		"the budget":           {{}, {Budget: -1}, {Budget: -1, Compatible: true}},
		"Options.PromptBudget": {{Budget: 1, PromptBudget: -1}},
	} {
		for _, opts := range bad {
			opts.Tokenizer = runes
			_, err := render.Render(t.Context(), root, opts)
			require.ErrorIs(t, err, render.ErrBudget)
			require.ErrorContains(t, err, "render: "+what+" is out of range")
		}
	}
}

func TestCompatibleAcceptsWhatPromptTsxAccepts(t *testing.T) {
	compatible := render.Options{Budget: plenty, Tokenizer: runes, Compatible: true}
	r := renderedWith(t, user(elements.Text("a"), elements.AssistantMessage{Children: elements.Nodes{elements.Text("b")}}), compatible)
	require.Equal(t, []string{"ab"}, texts(r.Messages), "a message in a message adds its text")

	twice := elements.AssistantMessage{ToolCalls: []elements.ToolCall{call("x", nil), call("x", nil)}}
	r = renderedWith(t, twice, compatible)
	require.Len(t, r.Messages[0].ToolCalls, 2, "two calls may have one id")

	compatible.Budget = 0
	r = renderedWith(t, user(line("a")), compatible)
	require.Empty(t, r.Messages, "a budget of 0 is a budget")
}

func TestIfEmptyTakesTheAlternativeForBlankChildren(t *testing.T) {
	alt := elements.Text("alt")
	tests := []struct {
		name     string
		children elements.Nodes
		want     string
	}{
		{"children that are not blank are used", elements.Nodes{line("x")}, "x"},
		{"without children the alternative is used", nil, "alt"},
		{"the alternative is used if the children render to nothing", elements.Nodes{nil, elements.Nodes{}, wrap(elements.Props{})}, "alt"},
		{"the alternative is used if the children are white space", elements.Nodes{line(" \n"), elements.LineBreak{}}, "alt"},
		{"an image is not blank", elements.Nodes{elements.Image{Source: "i"}}, ""},
		{"a text that was cut to nothing is blank", elements.Nodes{elements.TextChunk{Props: elements.Props{FlexBasis: 1}, BreakOn: " ", Children: elements.Nodes{elements.Text(strings.Repeat("x", 200))}}}, "alt"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := rendered(t, user(elements.IfEmpty{Alt: alt, Children: test.children}), 100)
			require.Equal(t, []string{test.want}, texts(r.Messages))
		})
	}
	t.Run("children that pruning empties are not replaced", func(t *testing.T) {
		root := user(line("u"), elements.IfEmpty{Props: at(1), Alt: alt, Children: elements.Nodes{line("x")}})
		require.Equal(t, "x; u", prunes(t, root))
	})
	t.Run("both sides may be messages", func(t *testing.T) {
		root := elements.IfEmpty{Alt: user(alt), Children: elements.Nodes{user(wrap(elements.Props{}))}}
		require.Equal(t, []string{"alt"}, texts(rendered(t, root, 100).Messages))
	})
	t.Run("the side that is not taken keeps its global metadata, but not the local or the references", func(t *testing.T) {
		side := func(name string) elements.Nodes {
			return elements.Nodes{elements.Text(name), elements.Meta[string]{Value: name}, elements.Meta[string]{Value: "local " + name, Local: true}, elements.Reference{Name: name}}
		}
		r := rendered(t, user(elements.IfEmpty{Alt: side("alt"), Children: side("given")}), 100)
		require.Equal(t, []string{"alt", "given", "local given"}, elements.AllMeta[string](r.Metadata))
		require.Equal(t, []elements.Reference{{Name: "given"}}, r.References)
		require.Empty(t, r.OmittedReferences)
	})
}

// fill returns the value of an expandable: a text of at least this many characters that fills its budget.
func fill(letter string, least int) func(context.Context, elements.Sizing) (elements.Node, error) {
	return func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		return elements.Text(strings.Repeat(letter, max(least, s.TokenBudget))), nil
	}
}

func TestExpandablesGrowIntoTheRestOfTheBudget(t *testing.T) {
	most := func(letter string, most int) func(context.Context, elements.Sizing) (elements.Node, error) {
		return func(_ context.Context, s elements.Sizing) (elements.Node, error) {
			return elements.Text(strings.Repeat(letter, max(0, min(most, s.TokenBudget)))), nil
		}
	}
	tests := []struct {
		name   string
		root   elements.Node
		budget int
		want   []string
	}{
		{
			"it is offered its share first, then the rest of the whole prompt's budget",
			user(elements.Expandable{Value: fill("e", 0)}, elements.Text("abc")),
			20,
			[]string{"eeeeeeeeeeeeeeabc"},
		},
		{
			"it grows if others took less than their share",
			user(elements.Expandable{Value: fill("e", 0)}, wrap(elements.Props{}, elements.Text("abc"))),
			20,
			[]string{"eeeeeeeeeeeee\nabc"},
		},
		{
			"it is not offered the tokens that pruning frees",
			user(elements.Expandable{Value: fill("e", 4)}, elements.Expandable{Props: at(1), Value: fill("f", 9)}),
			13,
			[]string{"eeeee"},
		},
		{
			"it gives back what it was told at layout before anything beside it goes",
			user(elements.Expandable{Value: fill("e", 0)}, elements.Expandable{Props: at(1), Value: fill("f", 9)}),
			13,
			[]string{"fffffffff"},
		},
		{
			"in a limit it grows to the limit",
			user(elements.TokenLimit{Max: 12, Children: elements.Nodes{elements.Expandable{Value: most("e", 11)}, wrap(elements.Props{})}}, line("abc")),
			100,
			[]string{"eeeeeeeeeee\nabc"},
		},
		{
			"pieces pruned for a limit do not come back when there is room later",
			user(elements.TokenLimit{Max: 5, Children: elements.Nodes{elements.Expandable{Value: fill("e", 9)}}}, line("abc")),
			100,
			[]string{"abc"},
		},
		{
			"it may exceed the limit around it when the whole prompt has room",
			user(elements.TokenLimit{Max: 10, Children: elements.Nodes{elements.Expandable{Value: most("e", 30)}, line("a")}}, line("abc")),
			100,
			[]string{strings.Repeat("e", 30) + "\na\nabc"},
		},
		{
			"a value may be elements, or nothing",
			user(line("a"), elements.Expandable{Value: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
				return el.If(s.TokenBudget > 90, elements.Nodes{elements.Tag{Name: "x"}, elements.Reference{Name: "r"}}), nil
			}}),
			100,
			[]string{"a\n<x/>"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(test.want, texts(rendered(t, test.root, test.budget).Messages)))
		})
	}
}

// Each expandable is offered the tokens that are left and those of its first rendering.
func TestExpandablesGrowInTheOrderOfRendering(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	grows := func(name string, grow, most int) elements.Node {
		return elements.Expandable{Props: elements.Props{FlexGrow: grow}, Value: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, fmt.Sprintf("%s %d", name, s.TokenBudget))
			return elements.Text(strings.Repeat(name, min(most, s.TokenBudget-1))), nil // and a line break
		}}
	}
	root := elements.ToolMessage{Children: elements.Nodes{
		grows("x", 1, 9), wrap(elements.Props{}, grows("y", 0, 4), grows("z", 0, 100)), wrap(elements.Props{}, elements.Text("abc")),
	}}
	r := rendered(t, root, 80)
	// y and z share 40, x is offered what they and the text leave. Then the message takes 41 tokens.
	require.ElementsMatch(t, []string{"y 20", "z 20", "x 54"}, asked[:3])
	require.Equal(t, []string{"y 43", "z 58", "x 10"}, asked[3:])
	require.Equal(t, []string{"xxxxxxxxx\nyyyy\n" + strings.Repeat("z", 57) + "\nabc"}, texts(r.Messages))
}

func TestExpandablesAreNotRenderedAgainIfNoTokensAreLeft(t *testing.T) {
	asked := 0
	value := func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		asked++
		return elements.Text(strings.Repeat("e", min(9, s.TokenBudget))), nil
	}
	rendered(t, user(elements.Expandable{Value: value}), 12)
	require.Equal(t, 1, asked, "the message is as large as the budget")

	asked = 0
	greedy := elements.Expandable{Value: fill("g", 0)}
	r := rendered(t, user(greedy, elements.Expandable{Value: value}, wrap(elements.Props{}, wrap(elements.Props{}))), 30)
	require.Equal(t, []string{strings.Repeat("g", 17) + "\neeeeeeeee"}, texts(r.Messages))
	require.Equal(t, 1, asked, "the first took all tokens that were left")
}

func TestAnExpandableMayShrinkWhenItIsOfferedMore(t *testing.T) {
	var offered []int
	value := func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		offered = append(offered, s.TokenBudget)
		if s.TokenBudget > 40 {
			return elements.Text("all"), nil // the whole is shorter than its outline
		}
		return elements.Text("an outline"), nil
	}
	asks := elements.TextChunk{Props: elements.Props{FlexBasis: 1}, BreakOnWhitespace: true, Children: elements.Nodes{elements.Text("abc")}} // so each gets half
	r := rendered(t, user(elements.Expandable{Value: value}, asks), 60)
	require.Equal(t, []string{"all\nabc"}, texts(r.Messages))
	require.Equal(t, []int{28, 53}, offered)
	require.Equal(t, 10, r.Tokens)
}

func TestHugeBudgetsAndBasesDoNotOverflow(t *testing.T) {
	var o offers
	reserve := elements.Props{FlexGrow: 1, FlexReserve: elements.Reserve{Tokens: math.MaxInt}}
	rendered(t, elements.Nodes{user(o.echo("all", elements.Props{}, 1)), elements.UserMessage{Props: elements.Props{FlexGrow: 2}}}, math.MaxInt)
	rendered(t, elements.Nodes{
		user(o.echo("beside reserves", elements.Props{}, 1)), wrap(reserve), wrap(reserve),
	}, 100)
	rendered(t, user(
		elements.TokenLimit{Props: elements.Props{FlexBasis: 1e300}, Max: 1}, o.echo("next to huge", elements.Props{}, 1),
	), 100)
	require.Equal(t, map[string]int{"all": 1<<53 - 1 - 3, "beside reserves": 0, "next to huge": 96}, o.budgets)

	var offered []int
	r := rendered(t, user(elements.Expandable{Value: func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		offered = append(offered, s.TokenBudget)
		return elements.Text("e"), nil
	}}), math.MaxInt)
	require.Equal(t, 4, r.Tokens)
	require.Equal(t, []int{1<<53 - 1 - 3, 1<<53 - 1 - 3}, offered)
}

// Metadata and references of the first rendering are forgotten, and an expandable in it is not rendered again.
func TestMetadataAndReferencesAreThoseOfTheGrownExpandable(t *testing.T) {
	inner := 0
	value := func(_ context.Context, s elements.Sizing) (elements.Node, error) {
		if s.TokenBudget < 50 {
			return elements.Nodes{
				elements.Text("e"), elements.Meta[string]{Value: "small"},
				elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) { inner++; return nil, nil }},
			}, nil
		}
		return elements.Nodes{
			elements.Text("eee"), elements.Meta[string]{Value: "large"}, elements.Reference{Name: "kept"},
			elements.Wrap{Props: at(1), Children: elements.Nodes{chunk(1, strings.Repeat("l", 80)), elements.Reference{Name: "lost"}}},
		}, nil
	}
	asks := elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) { return nil, nil }} // so each gets half
	r := renderedWith(t, user(elements.Expandable{Value: value}, asks), render.Options{Budget: 80, Tokenizer: runes, Compatible: true})
	require.Equal(t, []string{"eee"}, texts(r.Messages))
	require.Equal(t, []string{"large"}, elements.AllMeta[string](r.Metadata))
	require.Equal(t, []string{"kept"}, names(r.References))
	require.Equal(t, []string{"lost"}, names(r.OmittedReferences))

	inner = 0
	limited := user(elements.TokenLimit{Max: 60, Children: elements.Nodes{elements.Expandable{Value: value}, asks}})
	rendered(t, limited, 1000)
	require.Equal(t, 3, inner, "once at layout, once when its limit had room, and once because it took more than that")
}

var errGone = errors.New("gone")

// endless renders itself.
type endless struct{}

func (e endless) Render(context.Context, elements.Sizing) (elements.Node, error) { return e, nil }

// hollow embeds a nil pointer to properties.
type hollow struct{ *elements.Props }

func (hollow) Render(context.Context, elements.Sizing) (elements.Node, error) { return nil, nil }

func TestMistakesInATreeAreErrors(t *testing.T) {
	require.ErrorIs(t, failed[*render.ElementError](t, user(endless{}), plenty), tree.ErrEndless)
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

func TestFirstShowsTheFirstVersionThatFits(t *testing.T) {
	of := func(letter string, n int) elements.Node { return line(strings.Repeat(letter, n)) }
	first := func(p elements.Props) elements.Node {
		return elements.First{Props: p, Versions: elements.Nodes{of("a", 50), elements.Tag{Name: "b", Children: elements.Nodes{of("b", 20)}}, of("c", 5)}}
	}
	stay := func(n int) elements.Node {
		return elements.TextChunk{Props: must(1), Children: elements.Nodes{elements.Text(strings.Repeat("s", n))}}
	}
	for _, test := range []struct {
		name   string
		root   elements.Node
		budget int
		want   string
	}{
		{"the largest", user(first(elements.Props{})), 55, "aaaaa"},
		{"a smaller one", user(first(elements.Props{})), 53, "<b>\nb"},
		{"the last one", user(first(elements.Props{})), 20, "ccccc"},
		{"the last one may be dropped", user(first(at(1)), stay(10)), 15, "sssss"},
		{"what the others leave", user(first(elements.Props{}), stay(10)), 66, "aaaaa"},
		{"what the others leave is too little", user(first(elements.Props{}), stay(10)), 63, "<b>\nb"},
		{"a message", elements.First{Versions: elements.Nodes{user(of("a", 50)), user(of("b", 5))}}, 20, "bbbbb"},
		{"in a limit", user(elements.TokenLimit{Max: 35, Children: elements.Nodes{first(elements.Props{})}}), 45, "<b>\nb"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, rendered(t, test.root, test.budget).Messages[0].Text()[:5])
		})
	}

	r := rendered(t, user(first(elements.Props{ReportName: "notes"})), 40)
	require.Equal(t, "User > notes > b", r.Report().Pieces[0].Path)
	require.Len(t, r.Report().Pieces, 1, "only the version that is used")
	require.Empty(t, rendered(t, user(elements.First{}, line("x")), plenty).Report().Dropped())

	wrong := own{render: func(context.Context, elements.Sizing) (elements.Node, error) { return nil, errors.New("broken") }}
	require.Equal(t, "User > First > own", failed[*render.ElementError](t, user(elements.First{Versions: elements.Nodes{wrong, line("a")}}), plenty).Path)
}

// Once at layout, and not again if the largest version is shown.
func TestTheVersionsOfAFirstAreRenderedOnceForEachChoice(t *testing.T) {
	calls := 0
	version := func(letter string, n int) elements.Node {
		return own{render: func(context.Context, elements.Sizing) (elements.Node, error) {
			calls++
			return elements.Nodes{elements.Meta[string]{Value: letter, Local: true}, elements.Text(strings.Repeat(letter, n))}, nil
		}}
	}
	nested := func(depth int) (n elements.Node) {
		n = version("x", 5)
		for range depth {
			n = elements.First{Versions: elements.Nodes{n, line("y")}}
		}
		return n
	}
	r := rendered(t, user(elements.First{Props: at(3), Versions: elements.Nodes{version("a", 50), version("b", 5)}}), 80)
	require.Equal(t, 1, calls)
	require.Equal(t, strings.Repeat("a", 50), r.Messages[0].Text())
	require.Equal(t, 3, *r.Report().Pieces[0].Priority)
	require.Len(t, r.Metadata, 1)

	calls = 0
	rendered(t, user(nested(20)), plenty)
	require.Equal(t, 1, calls)
}

func TestAFirstThatGrewKeepsItsPriority(t *testing.T) {
	first := elements.First{Props: at(1), Versions: elements.Nodes{line(strings.Repeat("a", 50)), line(strings.Repeat("a", 30))}}
	limited := elements.TokenLimit{Props: at(1), Max: 100, Children: elements.Nodes{first, chunk(2, strings.Repeat("b", 40))}}
	layout := laid(t, user(limited, chunk(9, strings.Repeat("c", 60))), render.Options{Budget: 130, Tokenizer: runes})
	r := fitted(t, layout, 130)
	require.NotContains(t, r.Messages[0].Text(), "a", "it is the first to go")
	require.Contains(t, r.Messages[0].Text(), "b")
}

func TestALimitCountsAsItsMaximumForAFirst(t *testing.T) {
	limited := elements.TokenLimit{Max: 40, Children: elements.Nodes{lines(elements.Text(strings.Repeat("line\n", 100)))}}
	r := rendered(t, user(elements.First{Versions: elements.Nodes{limited, line("short")}}), 60)
	require.Contains(t, r.Messages[0].Text(), "line\nline")
}

func TestTokensToSpareAreOfferedByPriority(t *testing.T) {
	first := func(p elements.Props, letter string) elements.Node {
		return elements.First{Props: p, Versions: elements.Nodes{line(strings.Repeat(letter, 50)), line(letter)}}
	}
	tests := []struct {
		name             string
		root             elements.Node
		want, compatible string
	}{
		{"the highest first", user(first(at(1), "a"), first(at(3), "b"), first(at(2), "c")), "a\nbb\nc", "aa\nb\nc"},
		{"no priority is the highest", user(first(at(1), "a"), first(elements.Props{}, "b"), first(at(2), "c")), "a\nbb\nc", "aa\nb\nc"},
		{"equal ones in order", user(first(at(1), "a"), first(at(1), "b"), first(at(1), "c")), "aa\nb\nc", "aa\nb\nc"},
		{"that of what is around them comes first", user(wrap(at(1), first(at(9), "a")), wrap(at(2), first(at(8), "b")), first(at(0), "c")), "a\nbb\nc", "aa\nb\nc"},
		{"PassPriority", user(wrap(elements.Props{PassPriority: true, Priority: new(9)}, first(at(1), "a")), first(at(2), "b"), first(at(0), "c")), "a\nbb\nc", "aa\nb\nc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for compatible, want := range map[bool]string{false: test.want, true: test.compatible} {
				r := renderedWith(t, test.root, render.Options{Budget: 90, Tokenizer: runes, Compatible: compatible})
				text := r.Messages[0].Text()
				for _, letter := range []string{"a", "b", "c"} {
					text = strings.ReplaceAll(text, strings.Repeat(letter, 50), letter+letter)
				}
				require.Equal(t, want, text)
			}
		})
	}
}
