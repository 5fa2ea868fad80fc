package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
)

// FuzzRedact replaces a word in everything that is written by any text.
func FuzzRedact(f *testing.F) {
	const word = "s3cret"
	f.Add("It is s3cret.", `{"key":"s3cret","n":[1,"\u0073\u0033cret"]}`, "[key]")
	f.Add("s3cret\xff", `{"s3cret":1,"":2}`, "")
	f.Add("s3crets3cret", `{"torn s3cret`, "\"\n\u2028")
	f.Add("s3s3cretcret", `["s3cret",{"a":{"b":"xs3cretx"}}]`, "</user>\xff")
	f.Fuzz(func(t *testing.T, text, arguments, by string) {
		path := tempFile(t)
		s, err := history.Open(path, history.Options{Redact: func(p entry.Passage) string {
			for range 10 { // the replacement may form the word again
				p.Text = strings.ReplaceAll(p.Text, word, by)
			}
			if strings.Contains(p.Text, word) {
				return ""
			}
			return p.Text
		}})
		require.NoError(t, err)
		defer s.Close()
		call := chat.ToolCall{ID: "1", Name: "run", Arguments: arguments}
		added, err := s.Add(t.Context(),
			entry.Entry{Body: entry.Message{Message: chat.UserMessage("x" + text)}},
			entry.Entry{Body: entry.Message{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}}},
			entry.Entry{Body: entry.Message{Message: chat.ToolResult("1", "x"+text)}},
		)
		require.NotContains(t, content(t, path), word)
		if err != nil {
			require.Empty(t, all(t, s), "nothing is written")
			return
		}
		require.NoError(t, s.Close())
		again := opened(t, path)
		equal(t, added, all(t, again))
	})
}
