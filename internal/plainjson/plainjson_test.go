package plainjson_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/plainjson"
)

func TestDepthCountsObjectsAndListsOutsideOfTexts(t *testing.T) {
	for _, tt := range []struct {
		json        string
		deepest, at int // the first that is deeper than 2
	}{
		{`7`, 0, 0},
		{`{"a":[1]}`, 2, 0},
		{`[[],[[]],[[[]]]]`, 4, 5},
		{`["[[[\"[[[","\\",[[]]]`, 3, 18},
		{`{"a": "[[`, 1, 0}, // cut off
	} {
		deepest, at := plainjson.Depth([]byte(tt.json), 2)
		require.Equal(t, tt.deepest, deepest, tt.json)
		require.Equal(t, tt.at, at, tt.json)
	}
	deepest, at := plainjson.Depth([]byte(strings.Repeat("[", 1000)), 500)
	require.Equal(t, []int{1000, 500}, []int{deepest, at})
}
