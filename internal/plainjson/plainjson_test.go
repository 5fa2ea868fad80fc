package plainjson_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/test/sure"
)

func TestDepthCountsObjectsAndListsOutsideOfTexts(t *testing.T) {
	for json, deepest := range map[string]int{
		`7`:                       0,
		`{"a":[1]}`:               2,
		`[[],[[]],[[[]]]]`:        4,
		`["[[[\"[[[","\\",[[]]]`:  3,
		`{"a": "[[`:               1, // cut off
		strings.Repeat("[", 1000): 1000,
	} {
		require.Equal(t, deepest, plainjson.Depth([]byte(json)), json)
	}
}

func TestReplaceLeavesAllButTheTextsAsTheyAre(t *testing.T) {
	const given = ` { "a\u0062" : [ "x", 1.50, true ,{"k":"x"}], "a":"x"} `
	var seen []plainjson.Text
	got := plainjson.Replace([]byte(given), func(text plainjson.Text) string {
		seen = append(seen, text)
		if text.Text == "x" && !text.IsKey {
			return "\"<y>"
		}
		return text.Text
	})
	require.Equal(t, strings.ReplaceAll(given, `"x"`, `"\"<y>"`), string(got))
	require.Equal(t, []plainjson.Text{
		{Text: "ab", IsKey: true}, {Text: "x", Key: "ab"}, {Text: "1.50", Key: "ab", IsNumber: true}, {Text: "k", IsKey: true}, {Text: "x", Key: "k"},
		{Text: "a", IsKey: true}, {Text: "x", Key: "a"},
	}, seen)
}

func TestATextIsUnquotedAsByEncodingJSON(t *testing.T) {
	for _, quoted := range []string{
		`""`, `"plain é 读"`, `"\"\\\/\b\f\n\r\t"`, `"\\n"`, `"\u00e9\n"`, `"\ud83d\ude00"`, `"\ud800"`, "\"a\xff\"", `"ends in \\"`,
	} {
		require.Equal(t, sure.Decode[string](t, []byte(quoted)), plainjson.Unquote([]byte(quoted)), quoted)
	}
}
