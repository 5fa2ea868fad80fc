package render_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// twice renders two of itself, to a depth of deep, or without end if that is 0.
type twice struct{ deep int }

func (n twice) Render(context.Context, elements.Sizing) (elements.Node, error) {
	if n.deep == 1 {
		return nil, nil
	}
	return elements.Nodes{twice{n.deep - 1}, twice{n.deep - 1}}, nil
}

// longer renders itself around a text that is twice as long, up to that of long.
type longer int

// long returns a text whose starts are the others, because fresh memory takes time.
var long = sync.OnceValue(func() string { return strings.Repeat("x", 1<<24) })

func (n longer) Render(context.Context, elements.Sizing) (elements.Node, error) {
	return elements.Nodes{elements.Text(long()[:n]), longer(min(2*int(n), len(long())))}, nil
}

func TestATreeWithoutAnEndIsAnErrorWithItsPath(t *testing.T) {
	cyclic := elements.Nodes{elements.Text("a"), nil}
	cyclic[1] = cyclic
	pointed := &elements.Nodes{nil}
	(*pointed)[0] = pointed
	ranked := &elements.WithPriority{Priority: 1}
	ranked.Node = ranked
	laughs := elements.Nodes{elements.Text("ha")} // few lists, each of which holds the previous one many times
	for range 30 {
		laughs = elements.Nodes{laughs, laughs, laughs}
	}
	nothing := elements.Nodes{}
	for range 60 {
		nothing = elements.Nodes{nothing, nothing}
	}
	cyclicTag := &elements.Tag{Name: "x"}
	cyclicTag.Children = elements.Nodes{cyclicTag}
	text, times := elements.Text(long()), make([]int, 20)
	for name, c := range map[string]struct {
		root elements.Node
		path string
	}{
		"an element that renders two of itself":             {twice{}, "User > twice"},
		"more pieces than allowed, at an allowed depth":     {twice{40}, "User > twice"},
		"a list in itself":                                  {cyclic, "User"},
		"a pointer to a list in itself":                     {pointed, "User"},
		"a node with a priority in itself":                  {ranked, "User"},
		"lists that hold the previous list many times":      {laughs, "User"},
		"many empty lists":                                  {nothing, "User"},
		"an element that holds itself":                      {cyclicTag, "User > x"},
		"a list in itself in a text":                        {elements.TextChunk{Children: cyclic}, "User > Text"},
		"a text that grows":                                 {longer(1), "User > longer"},
		"one long text many times":                          {el.Each(times, func(int) elements.Node { return text }), "User"},
		"one long text in many chunks":                      {el.Each(times, func(int) elements.Node { return elements.TextChunk{Children: elements.Nodes{text}} }), "User"},
		"in what an expandable grows to":                    {elements.Expandable{Value: growsTo(twice{})}, "User > Expand"},
		"an expandable that renders itself when it is made": {elements.Expandable{Value: always(twice{})}, "User > Expand > twice"},
	} {
		t.Run(name, func(t *testing.T) {
			if many, ok := c.root.(twice); ok && many.deep > 0 && !extremes.All() {
				t.Skip("it takes a million elements, as the lists do")
			}
			t.Parallel()
			err := failedWith[*render.ElementError](t, user(c.root), render.Options{Budget: math.MaxInt, Tokenizer: quick{runes}})
			require.ErrorIs(t, err, tree.ErrEndless)
			require.True(t, strings.HasPrefix(err.Path, c.path), err.Path)
			require.Less(t, len(err.Error()), 2_000)
		})
	}
}

// quick counts long texts by their length.
type quick struct{ tokens }

func (q quick) CountText(s string) int { return len(s) / 4 }

func always(n elements.Node) func(context.Context, elements.Sizing) (elements.Node, error) {
	return func(context.Context, elements.Sizing) (elements.Node, error) { return n, nil }
}

// growsTo renders nothing at first.
func growsTo(n elements.Node) func(context.Context, elements.Sizing) (elements.Node, error) {
	asked := 0
	return func(context.Context, elements.Sizing) (elements.Node, error) {
		if asked++; asked == 1 {
			return nil, nil
		}
		return n, nil
	}
}

// bad is a tokenizer that fails once it is armed.
type bad struct {
	tokens
	do *func() int
}

func (b bad) CountText(s string) int {
	if *b.do != nil {
		return (*b.do)()
	}
	return b.tokens.CountText(s)
}

func (b bad) CountMessage(m chat.Message) int {
	if *b.do != nil {
		return (*b.do)()
	}
	return b.tokens.CountMessage(m)
}

func TestATokenizerThatFailsIsAnErrorWithItsName(t *testing.T) {
	for name, c := range map[string]struct {
		do   func() int
		says string
	}{
		"panics":                      {func() int { panic("oh no") }, "it panicked: oh no"},
		"exits":                       {func() int { runtime.Goexit(); return 0 }, "it ended its goroutine instead of returning"},
		"counts below 0":              {func() int { return -3 }, "returned -3 tokens"},
		"counts too much":             {func() int { return math.MaxInt }, "returned 9223372036854775807 tokens"},
		"counts the smallest integer": {func() int { return math.MinInt }, "returned -9223372036854775808 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			var do func() int
			o := render.Options{Budget: 5, Tokenizer: bad{runes, &do}}
			root := elements.Nodes{user(line("abc")), userAt(1, line("def"))}
			layout := laid(t, root, o)
			do = c.do
			for _, f := range []func() error{
				func() error { _, err := layout.Fit(t.Context(), 4); return err },
				func() error {
					_, _, err := layout.Floor(t.Context(), render.FitOptions{Budget: 4, KeepUnranked: true})
					return err
				},
				func() error { _, err := render.Render(t.Context(), root, o); return err },
				func() error { _, err := render.Transfer(t.Context(), line("abc"), o); return err },
			} {
				err := f()
				require.Equal(t, "render_test.bad", errtest.As[*render.TokenizerError](t, err).Tokenizer)
				require.ErrorContains(t, err, c.says)
			}
			do = nil
			_, err := orEmpty(layout.Fit(t.Context(), 4))
			require.NoError(t, err, "the next call works")
		})
	}
}

func TestAnElementThatFailsIsAnErrorWithItsPath(t *testing.T) {
	for name, root := range map[string]elements.Node{
		"alone": user(own{render: exits}), "side by side": user(own{render: always(nil)}, own{render: exits}),
		"an element in another":     user(own{render: always(nil)}, elements.Wrap{Children: elements.Nodes{own{render: exits}}}),
		"an element beside another": user(elements.Wrap{Children: elements.Nodes{own{render: exits}}}, own{render: always(nil)}),
	} {
		t.Run(name, func(t *testing.T) {
			err := failed[*render.ElementError](t, root, plenty)
			require.ErrorContains(t, err, "> own")
			require.ErrorContains(t, err, "it ended its goroutine instead of returning")
		})
	}
}

func exits(context.Context, elements.Sizing) (elements.Node, error) {
	runtime.Goexit()
	return nil, nil
}

// stuckProps never returns its properties.
type stuckProps struct {
	own
	until chan struct{}
}

func (s stuckProps) ElementProps() elements.Props {
	<-s.until
	return elements.Props{}
}

// The error names the element or the tokenizer that did not return.
func TestCodeThatNeverReturnsIsLeftBehindASecondAfterTheCancel(t *testing.T) {
	why := errors.New("enough")
	type setup struct {
		root elements.Node
		says string
	}
	for name, c := range map[string]func(until chan struct{}) setup{
		"an element": func(until chan struct{}) setup {
			return setup{user(elements.Wrap{Children: elements.Nodes{own{render: waits(until)}}}), "User > Wrap > own"}
		},
		"one of many": func(until chan struct{}) setup {
			return setup{user(own{render: always(nil)}, own{render: waits(until)}, own{render: cooperates}), "User > own"}
		},
		"an expandable that grows": func(until chan struct{}) setup {
			grows := waits(until)
			asked := 0
			return setup{user(elements.Expandable{Value: func(ctx context.Context, s elements.Sizing) (elements.Node, error) {
				if asked++; asked == 1 {
					return nil, nil
				}
				return grows(ctx, s)
			}}), "User > Expand"}
		},
		"properties": func(until chan struct{}) setup {
			return setup{user(stuckProps{until: until}), "User > stuckProps"}
		},
		"a tokenizer": func(until chan struct{}) setup {
			return setup{user(line("wait")), "counting with render_test.tokens"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				until := make(chan struct{})
				tokenizer := tokens(func(s string) int {
					if s == "wait" {
						<-until
					}
					return len(s)
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Minute, func() { cancel(why) })
				began := time.Now()
				s := c(until)
				_, err := render.Render(ctx, s.root, render.Options{Budget: plenty, Tokenizer: tokenizer})
				require.ErrorIs(t, err, why)
				require.ErrorContains(t, err, s.says)
				require.Equal(t, time.Minute+time.Second, time.Since(began))
				close(until)
			})
		})
	}
}

func waits(until chan struct{}) func(context.Context, elements.Sizing) (elements.Node, error) {
	return func(context.Context, elements.Sizing) (elements.Node, error) {
		<-until
		return nil, nil
	}
}

func cooperates(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestALayoutCanBeFittedAgainAfterAFitWasLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		var wait atomic.Bool
		var joiner chat.Joiner = blocking{summing{runes}, func() {
			if wait.Load() {
				<-until
			}
		}}
		layout := laid(t, user(chunk(1, "aaa"), chunk(2, "bb")), render.Options{Budget: plenty, Tokenizer: joiner})
		before := fitted(t, layout, plenty)
		wait.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := layout.Fit(ctx, 3)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		wait.Store(false)
		require.Equal(t, before.Report(), fitted(t, layout, plenty).Report())
		close(until)
		synctest.Wait()
	})
}

// blocking is a tokenizer that calls a function before it counts a frame or a text.
type blocking struct {
	summing
	do func()
}

func (b blocking) CountText(s string) int {
	b.do()
	return b.summing.CountText(s)
}

func (b blocking) CountFrame(m chat.Message) (int, bool) {
	b.do()
	return b.summing.CountFrame(m)
}
