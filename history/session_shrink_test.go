package history_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

func TestAPictureIsMadeSmallerOnceAndStandsBesideItsOriginal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	called := 0
	open := func() *history.Session {
		s, err := history.Open(path, history.Options{Shrink: func(p chat.Image) string {
			called++
			switch {
			case strings.HasSuffix(p.URL, "QUFB"):
				return "data:image/png;base64,QQ==" + strings.Repeat(" ", called-1) // not the same the next time
			case strings.HasSuffix(p.URL, "WFhY"):
				panic("no picture")
			}
			return ""
		}, Redact: func(p entry.Passage) string { return strings.ReplaceAll(p.Text, "secret", "[secret]") }})
		require.NoError(t, err)
		return s
	}
	large, small := "data:image/png;base64,QUFBQUFBQUFBQUFB", chat.NewImage("image/png", []byte("A"))
	show := func(s *history.Session) chat.Parts {
		return sessiontest.View(t, s).Messages()[0].Content
	}
	s := open()
	first := chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("See."), chat.Image{URL: large, Detail: chat.DetailHigh}, small}}
	require.NoError(t, s.Append(t.Context(), first, chat.AssistantMessage("A."), chat.UserMessage("And?")))
	want := chat.Parts{chat.Text("See."), chat.Image{URL: small.URL, Original: large, Detail: chat.DetailHigh}, small}
	require.Equal(t, want, show(s))
	require.Equal(t, chat.Image{URL: large, Detail: chat.DetailHigh}, first.Content[1], "the caller's message does not change")
	require.NoError(t, s.Close())
	s = open()
	require.Equal(t, want, show(s), "in another process too")
	root := s.Leaf()
	for e, err := range s.PathTo(t.Context(), s.Leaf()) {
		require.NoError(t, err)
		root = e.ID
		break
	}
	require.NoError(t, s.Branch(t.Context(), root))
	require.NoError(t, s.Append(t.Context(), chat.AssistantMessage("B.")))
	require.Equal(t, want, show(s), "and on a branch")
	require.Equal(t, 2, called)

	err := s.Append(t.Context(), chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: "data:image/png;base64,WFhY"}}})
	require.Equal(t, "Options.Shrink", errtest.As[*chat.CallbackError](t, err).Name)
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("More."), chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Image{URL: "https://host/secret/of/pictures/QUFB"}}}))
	added := sessiontest.Entry(t, s, s.Leaf())
	require.Equal(t, "https://host/[secret]/of/pictures/QUFB", added.Message().Content[0].(chat.Image).Original, "the original is redacted too")
}
