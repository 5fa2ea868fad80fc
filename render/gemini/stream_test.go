package gemini_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/providertest"
	"github.com/promptree-go/promptree/render/gemini"
)

func listening(t *testing.T, m chat.Model, cancelAfter int) (*providertest.Heard, chat.Response, error) {
	t.Helper()
	return providertest.Listening(t, m, chat.Request{Messages: []chat.Message{chat.UserMessage("Look.")}}, cancelAfter)
}

// streaming returns a model on a server that sends these pieces. If hang is set, it leaves the connection open after
// them.
func streaming(t *testing.T, hang bool, pieces ...string) *gemini.Model {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does a server notice that its client has left
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			fmt.Fprintf(w, "data: %s\r\n\r\n", p)
		}
		w.(http.Flusher).Flush()
		if hang {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	return (&api{Server: server}).model()
}

// longAnswer is an answer with everything that streams: thinking, text and calls.
var longAnswer = []string{
	piece("", `{"text":"I need","thought":true}`), piece("", `{"text":" to look.","thought":true}`),
	piece("", `{"text":"I "}`), piece("", `{"text":"look. 🙂"}`),
	piece("", `{"functionCall":{"id":"c1","name":"look","args": `+written+`},"thoughtSignature":"`+signature+`"}`),
	piece("", `{"functionCall":{"id":"c2","name":"look"}}`, `{"text":"And"}`),
	piece("", `{"functionCall":{"id":"c3","name":"look","args":{"at":"there"}}}`),
	piece("STOP", `{"text":"","thoughtSignature":"c2ln"}`),
}

func TestResponseHoldsAllThatWasStreamed(t *testing.T) {
	heard, got, err := listening(t, streaming(t, false, longAnswer...), 0)
	require.NoError(t, err)
	heard.RequireWhole(t, got)
	require.Equal(t, "I need to look.", heard.Thinking)
	require.Len(t, heard.Calls, 3)
	require.Equal(t, written, heard.Calls[0].Arguments)
}

func TestCallsStreamWholeAndInOrder(t *testing.T) {
	var heard []chat.Delta
	providertest.Generated(t, streaming(t, false, longAnswer[4:]...), chat.Request{
		Messages: []chat.Message{chat.UserMessage("Look.")}, Stream: func(d chat.Delta) { heard = append(heard, d) },
	})
	require.Equal(t, []chat.Delta{
		chat.CallDelta{ID: "c1", Name: "look", Arguments: written}, chat.CallDelta{Index: 1, ID: "c2", Name: "look", Arguments: "{}"},
		chat.Text("And"), chat.CallDelta{Index: 2, ID: "c3", Name: "look", Arguments: `{"at":"there"}`},
	}, heard)
}

func TestACallStreamsWithTheIDOfTheResponse(t *testing.T) {
	call := `{"functionCall":{"name":"look","args":{}}}`
	same := `{"functionCall":{"id":"c1","name":"look","args":{}}}`
	heard, got, err := listening(t, streaming(t, false, piece("", call), piece("", same), piece("STOP", same, call)), 0)
	require.NoError(t, err)
	heard.RequireWhole(t, got)
	ids := map[string]bool{}
	for _, c := range got.Message.ToolCalls {
		require.NotEmpty(t, c.ID)
		ids[c.ID] = true
	}
	require.Len(t, ids, 4)
}

func TestABrokenStreamReturnsThePartThatHadArrived(t *testing.T) {
	_, whole, err := listening(t, streaming(t, false, longAnswer...), 0)
	require.NoError(t, err)
	for n := range longAnswer {
		heard, got, err := listening(t, streaming(t, false, longAnswer[:n]...), 0)
		require.ErrorAs(t, err, new(*chat.TransientError))
		heard.RequirePartial(t, got, whole)
		require.Len(t, got.Message.ToolCalls, len(heard.Calls))
		if n == 0 {
			require.Equal(t, chat.Response{}, got)
		} else {
			require.Equal(t, whole.Usage, got.Usage)
		}
	}
}

func TestACancelledStreamReturnsThePartThatHadArrived(t *testing.T) {
	all, whole, err := listening(t, streaming(t, false, longAnswer...), 0)
	require.NoError(t, err)
	m := streaming(t, true, longAnswer[:len(longAnswer)-1]...)
	for n := range all.Deltas {
		heard, got, err := listening(t, m, n+1)
		require.ErrorIs(t, err, providertest.ErrEnough)
		heard.RequirePartial(t, got, whole)
		require.Equal(t, whole.Usage, got.Usage)
	}
}

func TestThinkingThatWasCutOffIsNotReturned(t *testing.T) {
	heard, got, err := listening(t, streaming(t, false, longAnswer[:2]...), 0)
	require.Error(t, err)
	require.Equal(t, "I need to look.", heard.Thinking)
	require.Empty(t, cmp.Diff(chat.Message{}, got.Message))
}

func TestACallCutOffInItsArgumentsIsNotReturned(t *testing.T) {
	cut := `{"functionCall":{"id":"c9","name":"look","willContinue":true}}`
	for _, last := range []string{piece("", cut), piece("STOP", cut)} {
		heard, got, err := listening(t, streaming(t, false, append(longAnswer[2:5:5], last)...), 0)
		require.Error(t, err)
		require.Len(t, heard.Calls, 1)
		require.Equal(t, "I look. 🙂", got.Message.Text())
		require.Equal(t, []chat.ToolCall{{ID: "c1", Name: "look", Arguments: written, Signature: signature}}, got.Message.ToolCalls)
	}
}

func TestWhatAGatewayAddsToAStreamIsLeftOut(t *testing.T) {
	heard, got, err := listening(t, streaming(t, false, "", piece("STOP", `{"text":"Yes."}`)+"\r\n\r\n: wait\r\n\r\n:", `{"usageMetadata":{}}`, "[DONE]"), 0)
	require.NoError(t, err)
	require.Equal(t, "Yes.", heard.Text)
	require.NotZero(t, got.Usage)
}

func TestAMalformedCallReturnsThePartThatHadArrived(t *testing.T) {
	heard, got, err := listening(t, streaming(t, false, append(longAnswer[2:5:5], piece("MALFORMED_FUNCTION_CALL"))...), 0)
	require.ErrorAs(t, err, new(*chat.EndError))
	require.Equal(t, heard.Text, got.Message.Text())
	require.Len(t, got.Message.ToolCalls, 1)
}

func TestAnAnswerThatStoppedAndSaysNothingIsAskedForAgain(t *testing.T) {
	for _, parts := range [][]string{
		nil, {`{"text":""}`}, {`{"text":" \n"}`}, {`{"text":"I need to look.","thought":true}`},
		{`{"text":"I need to look.","thought":true}`, `{"text":"","thoughtSignature":"c2ln"}`}, {`{"text":"\n","thoughtSignature":"c2ln"}`},
	} {
		_, got, err := listening(t, streaming(t, false, piece("STOP", parts...)), 0)
		require.ErrorAs(t, err, new(*chat.EmptyError), "%v: %v", parts, err)
		require.ErrorAs(t, err, new(*chat.TransientError))
		require.NotZero(t, got.Usage, "what it costs is known")
	}
	for _, part := range []string{`{"inlineData":{"mimeType":"image/png","data":"aWs="}}`, `{"executableCode":{"code":"1","language":"PYTHON"}}`} {
		_, _, err := listening(t, streaming(t, false, piece("STOP", part)), 0)
		require.NoError(t, err, part)
	}
}
