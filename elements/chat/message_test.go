package chat_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

func TestHelpersMakeMessagesOfOneText(t *testing.T) {
	require.Equal(t, chat.Message{Role: chat.RoleSystem, Content: chat.Parts{chat.Text("a")}}, chat.SystemMessage("a"))
	require.Equal(t, chat.Message{Role: chat.RoleUser, Content: chat.Parts{chat.Text("a")}}, chat.UserMessage("a"))
	require.Equal(t, chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("a")}}, chat.AssistantMessage("a"))
	require.Equal(t, chat.Message{Role: chat.RoleTool, ToolCallID: "c1", Content: chat.Parts{chat.Text("a")}}, chat.ToolResult("c1", "a"))
}

func TestTextJoinsTextParts(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		content chat.Parts
		want    string
	}{
		{"nothing", nil, ""},
		{"one text", chat.Parts{chat.Text("a")}, "a"},
		{"one part other than text", chat.Parts{chat.Image{URL: "u"}}, ""},
		{"texts without anything between them", chat.Parts{chat.Text("a"), chat.Image{URL: "u"}, chat.Text("b "), chat.Thinking{Text: "hm"}, chat.Text("c")}, "ab c"},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, chat.Message{Content: tt.content}.Text()) })
	}
}

func TestNewDocumentEncodesInBase64(t *testing.T) {
	d := chat.NewDocument("application/pdf", []byte("%PDF\xff"))
	data, err := base64.StdEncoding.DecodeString(d.Data)
	require.NoError(t, err)
	require.Equal(t, "%PDF\xff", string(data))
	require.Equal(t, "application/pdf", d.MediaType)
}

func TestModelFuncIsAModel(t *testing.T) {
	var model chat.Model = chat.ModelFunc(func(_ context.Context, req chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage(req.Messages[0].Text())}, nil
	})
	got, err := model.Generate(t.Context(), chat.Request{Messages: []chat.Message{chat.UserMessage("echo")}})
	require.NoError(t, err)
	require.Equal(t, "echo", got.Message.Text())
}

func TestErrorsWrapTheProvidersOwn(t *testing.T) {
	provider := errors.New("400 bad request")
	limit := &chat.ContextLimitError{Limit: 128_000, Tokens: 130_000, Err: provider}
	require.ErrorIs(t, limit, provider)
	require.EqualError(t, limit, "chat: the request is larger than the context window (130000 tokens, limit 128000): 400 bad request")

	transient := &chat.TransientError{Err: provider}
	require.ErrorIs(t, transient, provider)
	require.EqualError(t, transient, "chat: try again: 400 bad request")
}

func TestARedirectErrorSaysWhatToDo(t *testing.T) {
	for _, tt := range []struct{ to, want string }{
		{"https://b", "chat: https://a redirects to https://b, where nothing was sent: check the URL, or set it to the other server if that is meant"},
		{"https://a", "chat: https://a redirects to itself, too often or to a client that does not follow: check the URL"},
	} {
		require.EqualError(t, &chat.RedirectError{From: "https://a", To: tt.to}, tt.want)
	}
}

func TestAnAnswerErrorSaysWhatIsWrong(t *testing.T) {
	err := &chat.AnswerError{Err: io.ErrNoProgress}
	require.EqualError(t, err, "chat: unusable answer: "+io.ErrNoProgress.Error())
	require.ErrorIs(t, err, io.ErrNoProgress)
}
