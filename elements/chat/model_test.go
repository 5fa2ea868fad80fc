package chat_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

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
