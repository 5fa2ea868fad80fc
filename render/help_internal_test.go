package render

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
)

func TestHelpersHaveEnoughToDo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for size, want := range map[int]int{0: 0, 100: 0, 199: 0, 200: 1, 299: 1, 300: 2, 400: 3, 100_000: 3} {
		require.Equal(t, want, helpers(size, 100), "%d", size)
	}
	runtime.GOMAXPROCS(1)
	require.Zero(t, helpers(100_000, 100))
}

// Each portion is done once, also beside one that panics.
func TestPortions(t *testing.T) {
	var done [100]atomic.Int32
	inPortions(len(done), 3, func(i int) {
		done[i].Add(1)
		if i%10 == 0 {
			panic(i)
		}
	})
	for i := range done {
		require.EqualValues(t, 1, done[i].Load())
	}
}

// Chunks laid out with help are what they are without.
func TestChunksTogether(t *testing.T) {
	var list elements.Nodes
	for i := range 1000 {
		list = append(list, elements.TextChunk{Props: elements.Props{Priority: new(i), Required: i == 900}, Children: elements.Nodes{elements.Text("<text>")}})
	}
	parent := &node{}
	alone := chunks{parent: parent, list: list, nodes: make([]node, len(list)), escape: true}
	require.True(t, alone.layOut(t.Context(), 0, len(list)))
	helped := chunks{parent: parent, list: list, nodes: make([]node, len(list)), escape: true}
	helped, done := helped.together(t.Context(), 3)
	require.True(t, done)
	require.True(t, helped.required)
	require.Equal(t, alone, helped)
	list[500] = elements.TextChunk{}
	_, done = helped.together(t.Context(), 3)
	require.False(t, done)
}
