package elements_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/metadata"
)

func TestNilChildrenAreSkipped(t *testing.T) {
	require.Equal(t, "ab", text(t, 100, nil, elements.Text("a"), elements.Nodes{nil, elements.Text("b"), nil}, elements.Nodes(nil)))
	for _, n := range []elements.Node{
		elements.UserMessage{}, elements.Wrap{Children: elements.Nodes{nil}}, elements.Chunk{}, elements.KeepWith{},
		elements.PrioritizedList{Children: elements.Nodes{nil, nil}}, elements.LegacyPrioritization{},
		elements.IfEmpty{}, elements.TokenLimit{Max: 1}, elements.Nodes{}, elements.WithPriority{}, nil,
	} {
		require.Empty(t, rendered(t, elements.Nodes{n}, 100).Messages, "%T", n)
	}
}

func priorities(t *testing.T, l elements.PrioritizedList) map[string]int {
	t.Helper()
	got := map[string]int{}
	for _, p := range rendered(t, elements.UserMessage{Children: elements.Nodes{l}}, 100).Report().Pieces {
		name := p.Path[strings.LastIndex(p.Path, " ")+1:]
		require.NotContains(t, got, name)
		if p.Priority != nil {
			got[name] = *p.Priority
		} else {
			got[name] = unset
		}
	}
	return got
}

// unset marks a piece without a priority.
const unset = 1 << 30

func TestPrioritizedListMustLeaveLowerPriorities(t *testing.T) {
	list := elements.PrioritizedList{
		Props: elements.Props{Priority: new(math.MinInt + 1)}, Children: elements.Nodes{elements.Text("a"), elements.Text("b")},
	}
	for _, list.Descending = range []bool{false, true} {
		_, err := list.Render(t.Context(), elements.Sizing{})
		require.ErrorContains(t, err, "leaves no lower ones for 2 children")
	}
	*list.Priority++
	_, err := list.Render(t.Context(), elements.Sizing{})
	require.NoError(t, err)
}

func TestPrioritizedListRanksItsChildren(t *testing.T) {
	chunk := func(text string) elements.TextChunk {
		return elements.TextChunk{Children: elements.Nodes{elements.Text(text)}}
	}
	image := elements.Image{Source: "i", Props: elements.Props{Priority: new(99)}}
	tests := []struct {
		name string
		list elements.PrioritizedList
		want map[string]int
	}{
		{
			"priorities rise to one less than the list's own",
			elements.PrioritizedList{Props: elements.Props{Priority: new(10)}, Children: elements.Nodes{chunk("a"), chunk("b"), chunk("c")}},
			map[string]int{"Text#1": 7, "Text#2": 8, "Text#3": 9},
		},
		{
			"descending priorities fall from the list's own",
			elements.PrioritizedList{Props: elements.Props{Priority: new(10)}, Descending: true, Children: elements.Nodes{chunk("a"), chunk("b"), chunk("c")}},
			map[string]int{"Text#1": 10, "Text#2": 9, "Text#3": 8},
		},
		{
			"a list without a priority has 0",
			elements.PrioritizedList{Children: elements.Nodes{chunk("a"), chunk("b")}},
			map[string]int{"Text#1": -2, "Text#2": -1},
		},
		{
			"text becomes a text chunk",
			elements.PrioritizedList{Children: elements.Nodes{elements.Text("a"), elements.Text("b")}},
			map[string]int{"Text#1": -2, "Text#2": -1},
		},
		{
			"a child's own priority is replaced",
			elements.PrioritizedList{Children: elements.Nodes{image, chunk("a")}},
			map[string]int{"Image": -2, "Text": -1},
		},
		{
			"nil keeps its index",
			elements.PrioritizedList{Children: elements.Nodes{chunk("a"), nil, chunk("b")}},
			map[string]int{"Text#1": -3, "Text#2": -1},
		},
		{
			"nil keeps its index, descending",
			elements.PrioritizedList{Descending: true, Children: elements.Nodes{nil, chunk("a"), nil, chunk("b")}},
			map[string]int{"Text#1": -1, "Text#2": -3},
		},
		{
			"a list among the children has one index, and its members keep their priorities",
			elements.PrioritizedList{Children: elements.Nodes{
				chunk("a"),
				elements.Nodes{image, elements.Nodes{elements.TextChunk{Props: elements.Props{Priority: new(5)}}}},
				elements.Document{Data: "d"},
			}},
			map[string]int{"Text#1": -3, "Image": 99, "Text#2": 5, "Document": -1},
		},
		{
			"a prioritized list among the children ranks its own from the priority that it gets",
			elements.PrioritizedList{Props: elements.Props{Priority: new(10)}, Children: elements.Nodes{
				elements.PrioritizedList{Props: elements.Props{Priority: new(50)}, Children: elements.Nodes{image, chunk("a")}}, elements.Document{Data: "d"},
			}},
			map[string]int{"Image": 6, "Text": 7, "Document": 9},
		},
		{
			"empty text becomes nothing",
			elements.PrioritizedList{Children: elements.Nodes{elements.Text("a"), elements.Text(""), new(elements.Text("b"))}},
			map[string]int{"Text#1": -3, "Text#2": -1},
		},
		{
			"a line break has the list's priority for its index",
			elements.PrioritizedList{Children: elements.Nodes{elements.LineBreak{}}},
			map[string]int{"Ranked": -1},
		},
		{
			"an opaque value has the list's priority for its index, not its own",
			elements.PrioritizedList{Children: elements.Nodes{elements.Opaque{Value: []byte("1"), Priority: new(9)}}},
			map[string]int{"Ranked": -1},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(test.want, priorities(t, test.list)))
		})
	}
}

func TestPrioritizedListIsPrunedInItsOrder(t *testing.T) {
	list := elements.PrioritizedList{Children: elements.Nodes{elements.Text("one"), elements.Text("two"), elements.Text("three")}}
	require.Equal(t, "two\nthree", text(t, 5, list))
	list.Descending = true
	require.Equal(t, "one\ntwo", text(t, 5, list))
}

func TestWithPriorityReplacesThePriority(t *testing.T) {
	low := func(n elements.Node) elements.Node { return elements.WithPriority{Priority: -1, Node: n} }
	chunk := elements.TextChunk{Props: elements.Props{Priority: new(5)}, Children: elements.Nodes{elements.Text("a")}}
	other := elements.TextChunk{Props: elements.Props{Priority: new(0)}, Children: elements.Nodes{elements.Text("b")}}
	require.Equal(t, "a", text(t, 4, chunk, other))
	require.Equal(t, "b", text(t, 4, low(chunk), other), "it replaces the node's own")
	require.Equal(t, "b", text(t, 4, low(own{text: "a"}), other), "also on an element of the caller's own")
	require.Equal(t, "b", text(t, 4, elements.WithPriority{Priority: -1, Node: elements.WithPriority{Priority: 9, Node: chunk}}, other), "the outer counts")
	require.Equal(t, "a", text(t, 4, low(elements.Nodes{chunk}), other), "it does nothing on a list")
	require.Equal(t, "a", text(t, 4, low(elements.Text("a")), other), "it does nothing on text")
	require.Equal(t, "b", text(t, 4, low(nil), other))
	require.Equal(t, chunk, renderNode(t, elements.WithPriority{Node: chunk}))
}

// own is an element of a caller's own.
type own struct {
	elements.Props
	text  string
	needs int // tokens below which it renders nothing
}

func (o own) Render(_ context.Context, s elements.Sizing) (elements.Node, error) {
	if s.TokenBudget < o.needs {
		return nil, nil
	}
	return elements.TextChunk{Children: elements.Nodes{elements.Text(o.text)}}, nil
}

var _ elements.Element = own{}

func TestOwnElementEmbedsProps(t *testing.T) {
	require.Equal(t, elements.Props{Priority: new(3), FlexGrow: 1}, own{Props: elements.Props{Priority: new(3), FlexGrow: 1}}.ElementProps())
	low, high := own{Props: elements.Props{Priority: new(1)}, text: "low"}, own{Props: elements.Props{Priority: new(2)}, text: "high"}
	require.Equal(t, "low\nhigh", text(t, 100, low, high))
	require.Equal(t, "high", text(t, 4, low, high))
	low.Required = true
	require.Equal(t, "low", text(t, 4, low, high))

	last := own{Props: elements.Props{FlexGrow: 1}, text: "last", needs: 2}
	require.Equal(t, "1 2 3", text(t, 7, last, elements.Text("1 2 3")), "its share is the tokens that others left")
	require.Equal(t, "last1 2 3", text(t, 8, last, elements.Text("1 2 3")))
}

func TestImageIsRecognisedByItsFirstBytes(t *testing.T) {
	for source, want := range map[string]string{
		"/9j/4AAQSkZJRg==":            "data:image/jpeg;base64,/9j/4AAQSkZJRg==",
		"iVBORw0KGgoAAAANSUhEUg==":    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==",
		"R0lGODlhAQABAAAAACw=":        "data:image/gif;base64,R0lGODlhAQABAAAAACw=",
		"UklGRiQAAABXRUJQVlA4":        "data:image/webp;base64,UklGRiQAAABXRUJQVlA4",
		"https://example.com/a.png":   "https://example.com/a.png",
		"data:image/png;base64,iVBOR": "data:image/png;base64,iVBOR",
		"AAAA":                        "AAAA",
		"":                            "",
	} {
		require.Equal(t, chat.Image{URL: want, Detail: chat.DetailHigh, MediaType: "m"}, elements.Image{Source: source, Detail: chat.DetailHigh, MediaType: "m"}.Part())
	}
}

func TestMetadataIsFoundByItsType(t *testing.T) {
	type used struct{ file string }
	var m elements.Metadata
	_, ok := elements.MetaOf[used](m)
	require.False(t, ok, "the zero value is empty")
	require.Empty(t, elements.AllMeta[used](m))

	for _, n := range []interface{ Entry() metadata.Entry }{
		elements.Meta[int]{Value: 1}, elements.Meta[used]{Value: used{"a.go"}}, elements.Meta[int]{Value: 2},
		elements.Meta[error]{Value: context.Canceled}, elements.Meta[used]{Value: used{"b.go"}, Local: true},
	} {
		m = append(m, n.Entry())
	}
	first, ok := elements.MetaOf[used](m)
	require.True(t, ok)
	require.Equal(t, used{"a.go"}, first, "the first of its type")
	require.Equal(t, []used{{"a.go"}, {"b.go"}}, elements.AllMeta[used](m), "all of its type, in order")
	require.Equal(t, []int{1, 2}, elements.AllMeta[int](m))
	_, ok = elements.MetaOf[*used](m)
	require.False(t, ok, "a pointer is another type")
	_, ok = elements.MetaOf[string](m)
	require.False(t, ok)
	err, ok := elements.MetaOf[error](m)
	require.True(t, ok, "an interface finds a value that implements it")
	require.Equal(t, context.Canceled, err)
	require.True(t, m[4].Local)
}

func TestBuiltInElementsRenderToTheirChildren(t *testing.T) {
	children := elements.Nodes{elements.Text("a")}
	for _, n := range []elements.Node{
		elements.SystemMessage{Children: children}, elements.UserMessage{Children: children},
		elements.AssistantMessage{Children: children}, elements.ToolMessage{Children: children},
		elements.TextChunk{Children: children}, elements.Tag{Children: children}, elements.Wrap{Children: children},
		elements.Chunk{Children: children}, elements.TokenLimit{Children: children}, elements.KeepWith{Children: children},
		elements.LegacyPrioritization{Children: children}, children,
	} {
		require.Equal(t, children, renderNode(t, n), "%T", n)
	}
	for _, n := range []elements.Node{elements.Image{}, elements.Document{}, elements.Thinking{}, elements.Opaque{}, elements.CacheBreakpoint{}, elements.Expandable{}} {
		require.Nil(t, renderNode(t, n), "%T", n)
	}
	for _, n := range []elements.Node{elements.Text("a"), elements.LineBreak{}, elements.Meta[int]{Value: 1}, elements.Reference{Name: "r"}, elements.Transferred{}} {
		require.Equal(t, n, renderNode(t, n), "%T", n)
	}
}
