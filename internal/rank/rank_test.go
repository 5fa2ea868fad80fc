package rank_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/rank"
)

func TestWordsAreFoundWholeAndInParts(t *testing.T) {
	for text, want := range map[string]string{
		"Parse the lines":     "parse the line",
		"class gas":           "class gas",
		"parseToken":          "parse token parsetoken",
		"MAX_RETRY_count":     "max retry count max_retry_count",
		"_private __init__":   "private init",
		"cmd/main.go":         "cmd main go",
		"E1234 x86":           "e 1234 e1234 x 86 x86",
		"größeÄndern STRASSE": "größe ändern größeändern strasse",
		"读取File文件":            "读 取 file 文 件",
		"हिन्दी":              "हिन्दी",
		"a\xff\x00b":          "a b",
		"":                    "",
	} {
		require.Equal(t, strings.Fields(want), append([]string{}, rank.Words(text)...), text)
	}
}

// ranks returns the indexes of the texts that match, the best first.
func ranks(query string, texts ...string) (order []int) {
	q, documents := rank.NewQuery(query), []rank.Document{}
	for _, text := range texts {
		q.Widen(text)
		documents = append(documents, rank.Of(text))
	}
	for _, m := range rank.Best(q.Scores(documents)) {
		order = append(order, m.Document)
	}
	return order
}

func TestRareWordsManyWordsAndShortTextsRankHigher(t *testing.T) {
	for _, tt := range []struct {
		rule, query string
		texts       []string
		want        []int
	}{
		{"what has no word is left out", "quay", []string{"a", "quay", ""}, []int{1}},
		{"equal ones keep their order", "quay", []string{"quay", "ship", "quay"}, []int{0, 2}},
		{"a rare word counts more", "ship quay", []string{"ship a", "ship a", "quay a", "ship a"}, []int{2, 0, 1, 3}},
		{"more words count more", "ship quay", []string{"ship x", "ship quay"}, []int{1, 0}},
		{"more mentions count more", "quay", []string{"quay a a", "quay quay a"}, []int{1, 0}},
		{"a short text counts more", "quay", []string{"quay " + strings.Repeat("a ", 90), "quay a"}, []int{1, 0}},
		{"a word that begins with one of the query counts half", "rend", []string{"rendering", "rend", "ren"}, []int{1, 0}},
		{"no words", "- !", []string{"quay"}, nil},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, ranks(tt.query, tt.texts...)) })
	}
	require.Equal(t, []int{0, 1}, ranks("quay", strings.Repeat("quay ", 15), strings.Repeat("quay ", 15)))
	long := "" // a query of more words than count
	for i := range 100 {
		long += string(rune('一' + i))
	}
	require.Equal(t, []int{0}, ranks(long, "一", string(rune('一'+99))))
	require.Less(t, rank.Of(strings.Repeat("the next token of the parser ", 31)).Bytes(), 100)
}
