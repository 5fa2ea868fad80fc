package render_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// checkCounts calls CheckCounts for a random prompt, with a tokenizer whose counts add up.
func checkCounts(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	v := vocabulary{required: r.IntN(3) == 0, blank: r.IntN(2) == 0, parts: r.IntN(3) == 0, tools: r.IntN(3) == 0}
	layout := laid(t, newGrower(seed, v).prompt(), render.Options{Budget: 1000, Tokenizer: append(joiners(t), framing{summing{runes}})[r.IntN(3)]})
	require.Empty(t, render.CheckCounts(layout, seed%4 == 0), "seed %d", seed)
}

func joiners(t *testing.T) []chat.Tokenizer {
	t.Helper()
	var list []chat.Tokenizer
	for _, name := range []string{"cl100k_base", "o200k_base"} {
		counter, err := tiktoken.New(name)
		require.NoError(t, err)
		list = append(list, counter)
	}
	return list
}

func TestCountsStayExactWhilePiecesAreRemoved(t *testing.T) { everyTree(t, checkCounts) }

// If lines and tags are removed, the count is adjusted around the gap, whatever texts meet there.
func TestCountsStayExactWhileLinesAreRemoved(t *testing.T) {
	t.Parallel()
	lines := []string{
		"", "", "\t", "  ", " \t ", "\n", "\n\n", "a\n", "b  ", "'s", "it", "foo();", "\t\treturn x", "!", "...", "12", "345", "naïve", "世界", "́", "/", "\xff", "\xe4\xb8", "\x96",
	}
	for seed := range trees() {
		r := rand.New(rand.NewPCG(seed, 6))
		var some func(n, depth int) elements.Nodes
		some = func(n, depth int) (nodes elements.Nodes) {
			for range n {
				props := at(r.IntN(6))
				switch text := lines[r.IntN(len(lines))]; {
				case depth > 0 && r.IntN(6) == 0:
					nodes = append(nodes, elements.Wrap{Props: props, Children: some(r.IntN(6), depth-1)})
				case r.IntN(60) == 0:
					nodes = append(nodes, elements.Image{Props: props, Source: "https://example.com"})
				case r.IntN(12) == 0:
					nodes = append(nodes, elements.Tag{Props: props, Name: "a", Children: some(r.IntN(4), max(0, depth-1))})
				case r.IntN(12) == 0:
					nodes = append(nodes, elements.Text(text))
				default:
					nodes = append(nodes, elements.TextChunk{Props: props, Children: elements.Nodes{elements.Text(text)}})
				}
			}
			return nodes
		}
		tokenizer := joiners(t)[r.IntN(2)]
		layout := laid(t, user(some(20, 2)...), render.Options{Budget: plenty, Tokenizer: tokenizer})
		require.Empty(t, render.CheckCounts(layout, seed%4 == 0), "seed %d", seed)
		require.Empty(t, render.CheckSkip(t.Context(), layout, []int{20, 90, 35, 50, 10}), "seed %d, back and forth", seed)
	}
}

// frames is a tokenizer that adds up the size of the frames it counts: messages, parts and calls, and the bytes of
// thoughts.
type frames struct {
	chat.Joiner
	counted *int
}

func (f frames) CountFrame(m chat.Message) (int, bool) {
	*f.counted += 1 + len(m.Content) + len(m.ToolCalls)
	for _, p := range m.Content {
		if thought, is := p.(chat.Thinking); is {
			*f.counted += len(thought.Text)
		}
	}
	return f.Joiner.CountFrame(m)
}

// The frame of a message is counted again only once enough parts or calls were removed that it may fit.
func TestPartsAndCallsAreCountedAgainFewTimes(t *testing.T) {
	const n = 2000
	var images, thoughts elements.Nodes
	var calls elements.AssistantMessage
	long := elements.Thinking{Thought: chat.Thinking{Text: strings.Repeat("a thought", n)}}
	for i := range n {
		group := &elements.Group{}
		images = append(images, elements.Image{Props: at(i % 7), Source: "https://example.com"}, chunk(i%5, "text"))
		thoughts = append(thoughts, elements.Thinking{Props: at(i % 7), Thought: chat.Thinking{Text: "a thought"}})
		calls.ToolCalls = append(calls.ToolCalls, call(fmt.Sprint(i), group))
		calls.Children = append(calls.Children, elements.KeepWith{Props: at(i % 7), Group: group, Children: elements.Nodes{line("text")}})
	}
	for name, root := range map[string]elements.Node{
		"images and texts": user(images...), "images and a thought": elements.AssistantMessage{Children: append(images, long)}, "thoughts": elements.AssistantMessage{Children: append(thoughts, line("text"))}, "calls": calls,
	} {
		t.Run(name, func(t *testing.T) {
			counter := frames{joiners(t)[1].(chat.Joiner), new(int)}
			layout := laid(t, root, render.Options{Budget: plenty, Tokenizer: counter})
			all := fitted(t, layout, plenty)
			*counter.counted = 0
			r, err := orEmpty(layout.Fit(t.Context(), all.Tokens/10))
			require.NoError(t, err)
			require.Greater(t, len(r.Report().Dropped()), n/2)
			require.Less(t, *counter.counted, 200*n)
		})
	}
}

// Of breakpoints in a row only the last one is sent, also if the texts between them were removed.
func TestBreakpointsInARowCountOnce(t *testing.T) {
	group := &elements.Group{}
	keep := func(children ...elements.Node) elements.Node {
		return elements.KeepWith{Group: group, Children: children}
	}
	mark, image := elements.CacheBreakpoint{}, elements.Image{Source: "https://example.com"}
	for _, tt := range []struct {
		rule string
		root elements.Node
		want chat.Parts
	}{
		{
			"the texts between them are removed with a group",
			user(mark, keep(image), mark, keep(line("a")), keep(line("b")), mark, keep(image, line("c"), image), mark, line("d"), image,
				elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{line("e")}}),
			chat.Parts{mark.Part(), chat.Text("d"), image.Part()},
		},
		{
			"the text between them is removed",
			elements.LegacyPrioritization{Children: elements.Nodes{user(mark, mark, line("a"), mark, line("b"))}},
			chat.Parts{mark.Part(), chat.Text("b")},
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			counter := framing{summing{runes}}
			layout := laid(t, tt.root, render.Options{Budget: plenty, Tokenizer: counter})
			all := fitted(t, layout, plenty)
			left := fitted(t, layout, all.Tokens-1)
			require.Equal(t, []chat.Message{{Role: chat.RoleUser, Content: tt.want}}, left.Messages)
			require.Equal(t, counter.CountMessage(left.Messages[0]), left.Tokens)
		})
	}
}

// With this tokenizer a call counts more beside an image.
func TestARemovedCallIsSubtractedWithWhatItCountedBesideParts(t *testing.T) {
	group := &elements.Group{}
	root := elements.AssistantMessage{
		ToolCalls: []elements.ToolCall{call("a", group), call("b", nil), call("c", nil)},
		Children:  elements.Nodes{elements.Image{Props: at(2), Source: "https://example.com"}, elements.KeepWith{Props: at(1), Group: group, Children: elements.Nodes{line("text")}}},
	}
	counter := framing{summing{runes}}
	layout := laid(t, root, render.Options{Budget: plenty, Tokenizer: counter})
	all := fitted(t, layout, plenty)
	left := fitted(t, layout, all.Tokens-1)
	require.Len(t, left.Messages[0].ToolCalls, 2)
	require.Equal(t, counter.CountMessage(left.Messages[0]), left.Tokens)
}

func TestTheSamePiecesAreRemovedWhetherCountsAddUpOrNot(t *testing.T) {
	t.Parallel()
	counter := framing{summing{runes}}
	for seed := range trees() {
		root := newGrower(seed, vocabulary{required: seed%5 == 0, blank: seed%3 == 0, parts: seed%2 == 0}).prompt()
		if seed%4 == 0 {
			root = elements.LegacyPrioritization{Children: elements.Nodes{root}} // rule 5 removes breakpoints too
		}
		for budget := 20; budget < 2000; budget += budget / 2 {
			opts := render.Options{Budget: budget, Tokenizer: counter}
			want, wrong := render.Render(t.Context(), root, opts)
			opts.Tokenizer = struct{ chat.Tokenizer }{counter}
			got, err := render.Render(t.Context(), root, opts)
			require.Equal(t, wrong == nil, err == nil, "seed %d", seed)
			if err == nil {
				require.Equal(t, want.Messages, got.Messages, "seed %d, budget %d", seed, budget)
				require.Equal(t, want.Tokens, got.Tokens, "seed %d, budget %d", seed, budget)
			}
		}
	}
}

// An empty element puts a line break between texts, and that alone may exceed the budget.
func TestRemovingALineBreakCanBeEnough(t *testing.T) {
	root := user(
		elements.Text("one"), elements.Chunk{Props: at(1)},
		elements.Chunk{Props: at(9), Children: elements.Nodes{elements.Text("two")}},
	)
	for budget, want := range map[int]string{5: "one\ntwo", 4: "onetwo"} {
		r := renderedWith(t, root, render.Options{Budget: budget, Tokenizer: words})
		require.Equal(t, []string{want}, texts(r.Messages))
	}
}

func FuzzCounts(f *testing.F) { extremes.FuzzSeeds(f, 10, checkCounts) }

// checkSkip calls CheckSkip and CheckLowerBound for a random prompt and many limits.
func checkSkip(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	v := vocabulary{required: r.IntN(3) == 0, blank: r.IntN(3) == 0, growing: r.IntN(3) == 0, lines: r.IntN(2) == 0, parts: r.IntN(3) == 0, tools: r.IntN(3) == 0}
	opts := render.Options{Budget: 1000, Tokenizer: append(joiners(t), summing{runes}, summing{es}, framing{summing{runes}})[r.IntN(5)]}
	layout := laid(t, newGrower(seed, v).prompt(), opts)
	limits := make([]int, 20)
	for i := range limits {
		limits[i] = 1 + r.IntN(300)
	}
	require.Empty(t, render.CheckSkip(t.Context(), layout, limits), "seed %d", seed)
	require.Empty(t, render.CheckLowerBound(layout), "seed %d", seed)
}

func TestSkippingRemovesNothingThatMayFit(t *testing.T) { everyTree(t, checkSkip) }

// A message that loses a call stays, and the rest of it still counts.
func TestSkippingRemovesNothingThatMayFitIfCallsAreRemoved(t *testing.T) {
	group := &elements.Group{}
	root := elements.Nodes{
		elements.AssistantMessage{
			Props:     at(9),
			ToolCalls: []elements.ToolCall{{ToolCall: chat.ToolCall{ID: "a", Name: "read", Arguments: "{}"}, KeepWith: group}},
			Children:  elements.Nodes{line(strings.Repeat("ten bytes ", 200))},
		},
		elements.KeepWith{Props: at(4), Group: group, Children: elements.Nodes{
			elements.ToolMessage{ToolCallID: "a", Children: elements.Nodes{line(sentence(2))}},
		}},
	}
	for i := range 8 {
		root = append(root, userAt(i, chunk(1, sentence(i))))
	}
	layout := laid(t, root, render.Options{Budget: 1000, Tokenizer: summing{es}})
	var limits []int
	for limit := range 800 {
		limits = append(limits, limit+1)
	}
	require.Empty(t, render.CheckSkip(t.Context(), layout, limits))
}

// A tag with nothing but white space in it is not written, and the white space does not count.
func TestSkippingRemovesNothingThatMayFitIfATagIsEmpty(t *testing.T) {
	root := user(
		elements.Tag{Name: "a", Children: elements.Nodes{elements.Text(strings.Repeat(" ", 500))}},
		chunk(1, strings.Repeat("a", 3000)), chunk(2, strings.Repeat("b", 200)), chunk(3, "c"),
	)
	layout := laid(t, root, render.Options{Budget: 1000, Tokenizer: summing{runes}})
	require.Empty(t, render.CheckSkip(t.Context(), layout, []int{205, 300, 1000}))
	require.Equal(t, []string{strings.Repeat("b", 200) + "\nc"}, texts(fitted(t, layout, 300).Messages))
}

// An expandable in a message of lines may grow to something else than lines.
func TestSkippingRemovesNothingThatMayFitAfterGrowth(t *testing.T) {
	asked := 0
	root := user(chunk(9, "first"), elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) {
		asked++
		grown := make(elements.Nodes, 600*(asked-1))
		for i := range grown {
			grown[i] = elements.Text("a")
		}
		return grown, nil
	}})
	require.Equal(t, 300, renderedWith(t, root, render.Options{Budget: 300, Tokenizer: summing{runes}}).Tokens)
}

// The line breaks stay while the chunks between them are removed. They are not counted again with each chunk.
func TestLineBreaksBetweenChunksAreCountedAgainFewTimes(t *testing.T) {
	const n = 4000
	for name, priority := range map[string]func(i int) int{
		"the first is removed first": func(i int) int { return i }, "the last is removed first": func(i int) int { return n - i },
	} {
		var m elements.UserMessage
		bytes := 0
		for i := range n {
			m.Children = append(m.Children, chunk(priority(i), "word"), elements.LineBreak{})
			bytes += len("word\n")
		}
		for _, tokenizer := range joiners(t) {
			counted := 0
			renderedWith(t, m, render.Options{Budget: n / 2, Tokenizer: telling{tokenizer.(chat.Joiner), &counted}})
			require.Less(t, counted, 30*bytes, name)
		}
	}
}

// Blank texts in a row have no safe cut: they are counted again with the message, and not with each one that is
// removed.
func TestBlankTextsAreCountedAgainFewTimes(t *testing.T) {
	const n = 2000
	m := elements.UserMessage{Children: elements.Nodes{chunk(n, sentence(1))}}
	for i := range n {
		m.Children = append(m.Children, chunk(i*7919%n, []string{" ", "  ", "\t"}[i%3]))
	}
	counted := 0
	opts := render.Options{Budget: plenty, Tokenizer: telling{joiners(t)[1].(chat.Joiner), &counted}}
	all := renderedWith(t, m, opts)
	counted, opts.Budget = 0, all.Tokens/10
	require.Greater(t, len(renderedWith(t, m, opts).Report().Dropped()), n/2)
	require.Less(t, counted, 200*n)
}

// telling is a joiner that adds up the bytes of text that it counts.
type telling struct {
	chat.Joiner
	bytes *int
}

func (t telling) CountText(s string) int {
	*t.bytes += len(s)
	return t.Joiner.CountText(s)
}

func TestPruningEndsWhateverTokensAnOpaqueValueHas(t *testing.T) {
	for _, tokens := range []int{-5000, math.MinInt32, math.MaxInt32, math.MaxInt / 2} {
		root := user(elements.TokenLimit{Max: 1000, Children: elements.Nodes{
			elements.Opaque{Priority: new(2), Tokens: tokens, Value: []byte("1")}, chunk(1, strings.Repeat("a", 8000)),
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		r, err := orEmpty(render.Render(ctx, root, render.Options{Budget: 100, LowWater: 0.5, Tokenizer: summing{runes}}))
		cancel()
		require.NoError(t, err, tokens)
		require.LessOrEqual(t, r.Tokens, 100)
		for _, p := range r.Report().Pieces {
			require.GreaterOrEqual(t, p.Tokens, 0)
		}
	}
}

func FuzzSkip(f *testing.F) { extremes.FuzzSeeds(f, 10, checkSkip) }

// The other counts are of messages with one or two parts. Of many messages only those that lost something are counted
// again.
func TestMessagesOfPartsAndCallsAreCountedWholeFewTimes(t *testing.T) {
	const n = 1000
	var images, rounds elements.Nodes
	var calls elements.AssistantMessage
	for i := range n {
		group := &elements.Group{}
		images = append(images, elements.Image{Props: at(i * 7919 % n), Source: "https://example.com"})
		calls.ToolCalls = append(calls.ToolCalls, call(fmt.Sprint(i), group))
		calls.Children = append(calls.Children, elements.KeepWith{Props: at(i * 7919 % n), Group: group, Children: elements.Nodes{line("text")}})
		rounds = append(rounds, userAt(i*7919%n, line(sentence(i)), elements.Image{Source: "https://example.com"}))
	}
	for name, tt := range map[string]struct {
		root     elements.Node
		messages int // that have more than two parts
	}{
		"images": {user(images...), 1}, "calls": {calls, 1}, "messages": {rounds, 2 * n}, // each again without its image
	} {
		t.Run(name, func(t *testing.T) {
			whole, inAll := 0, 0
			tokenizer := sized{runes, func(size int) {
				inAll += size
				if size > 2 || tt.messages > 1 {
					whole++
				}
			}}
			layout := laid(t, tt.root, render.Options{Budget: plenty, Tokenizer: tokenizer})
			all := fitted(t, layout, plenty)
			whole, inAll = 0, 0
			require.Greater(t, len(fitted(t, layout, all.Tokens/10).Report().Dropped()), n/2)
			require.LessOrEqual(t, whole, tt.messages+40)
			require.Less(t, inAll, 50*n)
		})
	}
}

// Each step changes an inner message and the outer one, but they are counted again only once the outer one may fit.
func TestMessagesInAMessageAreCountedWholeFewTimes(t *testing.T) {
	const n = 1000
	var outer elements.UserMessage
	for i := range n {
		outer.Children = append(outer.Children, userAt(i*7919%n, line(sentence(i))))
	}
	bytes := 0
	opts := render.Options{Budget: plenty, Tokenizer: weighing{runes, &bytes}, Compatible: true}
	layout := laid(t, outer, opts)
	all := fitted(t, layout, plenty)
	bytes = 0
	require.Greater(t, len(fitted(t, layout, all.Tokens/10).Report().Dropped()), n/2)
	require.Less(t, bytes, 50*all.Tokens)
}

// weighing is a tokenizer that adds up the bytes of text in the messages that it counts.
type weighing struct {
	chat.Tokenizer
	bytes *int
}

func (w weighing) CountMessage(m chat.Message) int {
	*w.bytes += len(m.Text())
	return w.Tokenizer.CountMessage(m)
}

// sized is a tokenizer that calls tell with the number of parts and calls of each message that it counts.
type sized struct {
	chat.Tokenizer
	tell func(size int)
}

func (s sized) CountMessage(m chat.Message) int {
	s.tell(len(m.Content) + len(m.ToolCalls))
	return s.Tokenizer.CountMessage(m)
}

// The counts of these tokenizers do not add up.
func TestMessagesAreCountedWholeFewTimes(t *testing.T) {
	for _, tokenizer := range []chat.Tokenizer{runes, words, pairs} {
		for _, n := range []int{1000, 10_000} {
			var m elements.UserMessage
			for i := range n {
				m.Children = append(m.Children, chunk(i*7919%n, sentence(i)))
			}
			for _, budget := range []int{n / 10, n, 3 * n} {
				count := 0
				r := renderedWith(t, m, render.Options{Budget: budget, Tokenizer: sized{tokenizer, func(int) { count++ }}})
				require.NotEmpty(t, r.Report().Dropped())
				require.LessOrEqual(t, count, 20)
			}
		}
	}
}
