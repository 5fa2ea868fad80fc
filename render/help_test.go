package render_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
)

// lots is more elements than one goroutine lays out where there are several processors.
const lots = 36_000

// on runs f with so many processors.
func on(processors int, f func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	f()
}

// wraps are lots of elements, the ith of which holds what of gives, or a chunk.
func wraps(of map[int]elements.Node) (list elements.Nodes) {
	for i := range lots {
		inside := of[i]
		if inside == nil {
			inside = chunk(i*7919%lots, sentence(i))
		}
		list = append(list, elements.Wrap{Props: at(i * 7907 % lots), Children: elements.Nodes{inside}})
	}
	return list
}

// A prompt so large that helpers lay it out and count it becomes what it would without them.
func TestHelpChangesNothing(t *testing.T) {
	anything := func(v vocabulary) (list elements.Nodes) {
		g := newGrower(1, v)
		for range lots / 4 {
			list = append(list, elements.Wrap{Children: elements.Nodes{g.content(2, false)}})
		}
		return list
	}
	chunks := func(other elements.Node) elements.Node {
		var m elements.UserMessage
		for i := range lots {
			m.Children = append(m.Children, chunk(i*7919%lots, sentence(i)))
		}
		m.Children[lots-1000] = other
		return m
	}
	required := chunk(1, "required")
	required.Required = true
	broken := chunk(1, "may be cut")
	broken.BreakOnWhitespace = true
	var groups elements.Nodes
	for i := range lots {
		groups = append(groups, elements.KeepWith{Group: &elements.Group{}, Children: elements.Nodes{chunk(i*7919%lots, sentence(i))}})
	}
	for i := range lots / 2 {
		groups[lots-1-i] = elements.KeepWith{Group: groups[i].(elements.KeepWith).Group, Props: at(i), Children: elements.Nodes{chunk(i, "beside")}}
	}
	random := map[string]bool{"anything": true, "mostly lines": true}
	for name, root := range map[string]elements.Node{
		"anything":                user(anything(vocabulary{})...),
		"mostly lines":            user(anything(vocabulary{lines: true})...),
		"chunks":                  chunks(chunk(1, "a chunk")),
		"a required chunk":        chunks(required),
		"a chunk that is no text": chunks(elements.TextChunk{Children: elements.Nodes{elements.LineBreak{}}}),
		"a chunk that may be cut": chunks(broken),
		"chunks in a tag":         user(elements.Tag{Name: "t", Children: chunks(chunk(1, "<a>")).(elements.UserMessage).Children}),
		"wraps":                   user(wraps(nil)...),
		"wraps beside a text":     user(append(elements.Nodes{elements.Text("first")}, wraps(nil)...)...),
		"wraps in a list":         user(wraps(nil)),
		"a few lists":             user(elements.Wrap{Children: wraps(nil)[:lots/4]}, elements.Wrap{Children: wraps(nil)[lots/4:]}, elements.Wrap{Children: wraps(nil)[:lots/2]}),
		"groups":                  user(groups...),
	} {
		t.Run(name, func(t *testing.T) {
			for _, tokenizer := range []sizing.Tokenizer{summing{runes}, runes} {
				if _, joins := tokenizer.(sizing.Joiner); !joins && name != "wraps" {
					continue // it counts whole messages, over and over
				}
				fit := func() (all, less *render.Result) {
					var err error
					all, err = render.Render(t.Context(), root, render.Options{Budget: 1 << 30, Tokenizer: tokenizer})
					require.NoError(t, err)
					budget := all.Tokens / 10
					if random[name] {
						budget = all.Tokens / 20 * 19 // much of it is required
					}
					less, err = render.Render(t.Context(), root, render.Options{Budget: budget, Tokenizer: tokenizer})
					require.NoError(t, err)
					return all, less
				}
				var wantAll, want, all, less *render.Result
				on(1, func() { wantAll, want = fit() })
				on(4, func() { all, less = fit() })
				require.Less(t, want.Tokens, wantAll.Tokens)
				require.Equal(t, wantAll.Tokens, all.Tokens)
				require.Equal(t, want.Tokens, less.Tokens)
				require.True(t, reflect.DeepEqual(want.Messages, less.Messages), "the messages differ")
				require.Equal(t, want.Metadata, less.Metadata)
				require.Equal(t, want.References, less.References)
				require.True(t, reflect.DeepEqual(want.Report(), less.Report()), "the reports differ")
			}
		})
	}
}

// Where two goroutines must meet, one alone would wait for ever.
func TestManyTextsAreCountedByTwo(t *testing.T) {
	of := map[int]elements.Node{}
	for i := lots / 10; i < lots; i++ {
		of[i] = chunk(i*7919%lots, "far "+sentence(i))
	}
	on(2, func() {
		for name, join := range map[string]bool{"as they are laid out": false, "once they are": true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					here := make(chan struct{})
					var met atomic.Bool
					meeting := tokens(func(s string) int {
						if strings.Contains(s, "far") && !met.Load() {
							select {
							case here <- struct{}{}:
							case <-here:
							}
							met.Store(true)
						}
						return runes(s)
					})
					var tokenizer sizing.Tokenizer = meeting
					if join {
						tokenizer = summing{meeting}
					}
					r, err := render.Render(t.Context(), user(wraps(of)...), render.Options{Budget: 1 << 30, Tokenizer: tokenizer})
					require.NoError(t, err)
					require.Empty(t, r.Report().Dropped())
				})
			})
		}
	})
}

// Elements of the caller's own among very many are called one after the other, in document order, each once, as ever.
func TestOwnElementsAmongManyAreCalledInTurn(t *testing.T) {
	var called []int
	of := map[int]elements.Node{}
	for i := 0; i < lots; i += 997 {
		of[i] = elements.Chunk{Children: elements.Nodes{chunk(i, "beside"), own{render: func(context.Context, sizing.Sizing) (elements.Node, error) {
			called = append(called, i)
			return elements.Text("own"), nil
		}}}}
	}
	on(4, func() {
		_, err := render.Lay(t.Context(), user(wraps(of)...), render.Options{Budget: plenty, Tokenizer: summing{runes}})
		require.NoError(t, err)
	})
	require.Len(t, called, len(of))
	require.IsIncreasing(t, called)
}

// The error is that of the first element that fails, whoever came upon it.
func TestFirstErrorAmongMany(t *testing.T) {
	wrong := elements.Chunk{Children: elements.Nodes{elements.TokenLimit{Max: -1}}}
	for _, places := range [][]int{{lots - 1}, {lots / 2, lots - 1}, {10, lots / 2}, {5_000, 5_001}, {lots - 2000, lots - 1}} {
		of := map[int]elements.Node{}
		for _, i := range places {
			of[i] = wrong
		}
		on(4, func() {
			_, err := render.Lay(t.Context(), user(wraps(of)...), render.Options{Budget: plenty, Tokenizer: summing{runes}})
			var wrong *render.ElementError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, fmt.Sprintf("Root > UserMessage > Wrap#%d > Chunk > TokenLimit", places[0]+1), wrong.Path)
		})
	}
}

// A tokenizer that panics among very many texts ends the layout with an error, as it does among few.
func TestTokenizerThatPanicsAmongMany(t *testing.T) {
	for _, place := range []int{10, lots / 2, lots - 1} {
		tokenizer := tokens(func(s string) int {
			if s == "bomb" {
				panic("too hard to count")
			}
			return runes(s)
		})
		on(4, func() {
			_, err := render.Lay(t.Context(), user(wraps(map[int]elements.Node{place: chunk(1, "bomb")})...), render.Options{Budget: plenty, Tokenizer: tokenizer})
			var failed *render.ElementError
			require.ErrorAs(t, err, &failed)
			require.ErrorContains(t, err, "too hard to count")
			require.Contains(t, string(failed.Stack), "TestTokenizerThatPanicsAmongMany")
		})
	}
}

// A context that is cancelled while very many elements are laid out ends that, with its cause.
func TestManyElementsAreCancelled(t *testing.T) {
	stop := errors.New("enough")
	for _, place := range []int{10, lots / 2, lots - 1} {
		ctx, cancel := context.WithCancelCause(t.Context())
		tokenizer := tokens(func(s string) int {
			if s == "stop" {
				cancel(stop)
			}
			return runes(s)
		})
		on(4, func() {
			_, err := render.Lay(ctx, user(wraps(map[int]elements.Node{place: chunk(1, "stop"), lots - 1: chunk(1, "last")})...), render.Options{Budget: plenty, Tokenizer: tokenizer})
			if place < lots-1 {
				require.ErrorIs(t, err, stop)
			}
		})
	}
}

// What a tokenizer's panic leaves uncounted is counted by whoever asks for it, where it is an error.
func TestTokenizerThatPanicsOverMuchText(t *testing.T) {
	panics := false
	tokenizer := summing{func(s string) int {
		if panics && strings.HasPrefix(s, "bomb") {
			panic("too hard to count")
		}
		return runes(s)
	}}
	layout, err := render.Lay(t.Context(), user(wraps(map[int]elements.Node{lots / 3: chunk(lots, "bomb")})...), render.Options{Budget: plenty, Tokenizer: tokenizer})
	require.NoError(t, err)
	on(4, func() {
		panics = true
		_, err := layout.Fit(t.Context(), 1<<30)
		require.ErrorContains(t, err, "too hard to count")
		panics = false
		r, err := layout.Fit(t.Context(), 1<<30)
		require.NoError(t, err)
		require.Empty(t, r.Report().Dropped())
	})
}

// What very many elements use up is told to those after them.
func TestElementsAfterManyAreToldWhatIsLeft(t *testing.T) {
	var told []int
	last := own{Props: elements.Props{FlexGrow: 1}, render: func(_ context.Context, s sizing.Sizing) (elements.Node, error) {
		told = append(told, s.TokenBudget)
		return elements.Text("last"), nil
	}}
	for _, processors := range []int{1, 4} {
		on(processors, func() {
			_, err := render.Lay(t.Context(), user(elements.Wrap{Children: wraps(nil)}, last), render.Options{Budget: 1 << 30, Tokenizer: runes})
			require.NoError(t, err)
		})
	}
	require.Len(t, told, 2)
	require.Equal(t, told[0], told[1])
	require.Less(t, told[0], 1<<30-lots)
}

// entry is metadata with code of the caller's in it.
type entry struct {
	elements.Meta[int]
	asked *[]int
}

func (e entry) Entry() elements.MetaEntry {
	*e.asked = append(*e.asked, e.Value)
	return e.Meta.Entry()
}

// Whatever stands in what a helper left undone is there once.
func TestMetadataAmongManyIsNotedOnce(t *testing.T) {
	const place = lots/2 + 500 // in the middle of a portion
	var asked, want []int
	mine := entry{elements.Meta[int]{Value: place}, &asked}
	inChunk := chunk(1, "with")
	inChunk.Children = append(inChunk.Children, mine)
	for i := range lots {
		want = append(want, i)
	}
	for name, other := range map[string]elements.Node{"in an element": mine, "in a text chunk": inChunk} {
		t.Run(name, func(t *testing.T) {
			asked = nil
			of := map[int]elements.Node{}
			for i := range lots {
				of[i] = elements.Nodes{chunk(i, "beside"), elements.Meta[int]{Value: i}, elements.Reference{Name: fmt.Sprint(i)}}
			}
			of[place] = other
			of[place+1] = elements.Nodes{of[place+1], own{render: func(context.Context, sizing.Sizing) (elements.Node, error) { return nil, nil }}}
			on(4, func() {
				r, err := render.Render(t.Context(), user(wraps(of)...), render.Options{Budget: 1 << 30, Tokenizer: summing{runes}})
				require.NoError(t, err)
				require.True(t, slices.Equal(want, elements.AllMeta[int](r.Metadata)))
			})
			require.Equal(t, []int{place}, asked)
		})
	}
}

// What is tried in vain is tried once, not at each level.
func TestOwnElementDeepAmongManyIsNotTriedAtEachLevel(t *testing.T) {
	const deep, wide = 100, 190
	var first elements.Wrap
	for range wide {
		first.Children = append(first.Children, chunk(1, "y"))
	}
	tiny := elements.Wrap{Children: elements.Nodes{chunk(1, "x")}}
	var root elements.Node = own{render: func(context.Context, sizing.Sizing) (elements.Node, error) { return elements.Text("own"), nil }}
	for range deep {
		list := elements.Nodes{first, root}
		for range wide {
			list = append(list, tiny)
		}
		root = elements.Wrap{Children: list}
	}
	var counted [5]atomic.Int64
	for _, processors := range []int{1, 4} {
		on(processors, func() {
			tokenizer := tokens(func(s string) int {
				counted[processors].Add(1)
				return runes(s)
			})
			_, err := render.Lay(t.Context(), user(root), render.Options{Budget: plenty, Tokenizer: tokenizer})
			require.NoError(t, err)
		})
	}
	require.LessOrEqual(t, counted[4].Load(), 2*counted[1].Load())
}
