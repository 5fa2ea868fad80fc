package providertest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
)

// Heard collects the pieces of a streamed answer.
type Heard struct {
	Text, Thinking string
	Calls          []chat.ToolCall
	// Deltas is the number of pieces.
	Deltas int
}

// Listen returns a function for [chat.Request].Stream, and the value that collects its pieces.
func Listen(t testing.TB) (*Heard, func(chat.Delta)) {
	h := &Heard{}
	return h, func(d chat.Delta) { h.Hear(t, d) }
}

// ErrEnough ends a request of [Listening].
var ErrEnough = errors.New("heard enough")

// Generated returns the answer to a request, which must not fail.
func Generated(t testing.TB, m chat.Model, req chat.Request) chat.Response {
	t.Helper()
	r, err := m.Generate(t.Context(), req)
	require.NoError(t, err)
	return r
}

// Listening asks for a streamed answer. If cancelAfter is more than 0, it cancels the context after that many pieces.
func Listening(t *testing.T, m chat.Model, req chat.Request, cancelAfter int) (*Heard, chat.Response, error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	heard, hear := Listen(t)
	req.Stream = func(d chat.Delta) {
		if hear(d); heard.Deltas == cancelAfter {
			cancel(ErrEnough)
		}
	}
	response, err := m.Generate(ctx, req)
	return heard, response, err
}

// Cancelled tests that a streamed answer that is cancelled after any piece is the part that had arrived.
func Cancelled(t *testing.T, m chat.Model, req chat.Request) {
	all, whole, err := Listening(t, m, req, 0)
	require.NoError(t, err)
	for n := range all.Deltas {
		heard, got, err := Listening(t, m, req, n+1)
		if err == nil { // the whole answer had arrived
			require.Empty(t, cmp.Diff(whole, got))
			continue
		}
		require.ErrorIs(t, err, ErrEnough)
		heard.RequirePartial(t, got, whole)
	}
}

// BrokenOff tests that an answer whose stream ends after 1, 2, 3 and more events is a transient error with the part that
// had arrived, until it is whole. It returns the number of events of the whole answer.
func BrokenOff(t *testing.T, whole chat.Response, listen func(events int) (*Heard, chat.Response, error)) int {
	t.Helper()
	for events := 1; ; events++ {
		heard, got, err := listen(events)
		if err == nil {
			apart := cmp.Options{cmpopts.IgnoreFields(chat.Origin{}, "Server"), cmpopts.IgnoreFields(chat.Response{}, "Usage")} // which may come last
			require.Empty(t, cmp.Diff(whole, got, apart), "without an error the answer is whole")
			heard.RequireWhole(t, got)
			return events
		}
		require.ErrorAs(t, err, new(*chat.TransientError))
		heard.RequirePartial(t, got, whole)
	}
}

// Hear adds a piece. It checks the order of calls and their pieces.
func (h *Heard) Hear(t testing.TB, d chat.Delta) {
	h.Deltas++
	switch d := d.(type) {
	case chat.Text:
		require.NotEmpty(t, d)
		h.Text += string(d)
	case chat.Thinking:
		require.Equal(t, chat.Thinking{Text: d.Text}, d)
		h.Thinking += d.Text
	case chat.CallDelta:
		if d.Index < len(h.Calls) {
			require.Empty(t, d.ID+d.Name, "they come with the first piece")
			require.NotEmpty(t, d.Arguments)
			h.Calls[d.Index].Arguments += d.Arguments
			return
		}
		require.Len(t, h.Calls, d.Index, "calls begin in order")
		require.NotEmpty(t, d.Name)
		require.NotEmpty(t, d.ID)
		h.Calls = append(h.Calls, chat.ToolCall{ID: d.ID, Name: d.Name, Arguments: d.Arguments})
	}
}

// RequireWhole checks that a response holds exactly the text and the calls that were streamed.
func (h *Heard) RequireWhole(t testing.TB, r chat.Response) {
	t.Helper()
	require.Equal(t, r.Message.Text(), h.Text)
	var calls []chat.ToolCall
	for _, c := range r.Message.ToolCalls {
		c.Signature = ""
		calls = append(calls, c)
	}
	require.Equal(t, calls, h.Calls)
}

// RequirePartial checks the response of a stream that broke off: it holds the text that was streamed, every call but the
// last that began, the last one only if it is whole, and parts and calls only as the whole answer has them.
func (h *Heard) RequirePartial(t testing.TB, partial, whole chat.Response) {
	t.Helper()
	require.Equal(t, h.Text, partial.Message.Text())
	require.Empty(t, partial.StopReason)
	for _, p := range partial.Message.Content {
		if _, text := p.(chat.Text); !text {
			require.Contains(t, whole.Message.Content, p)
		}
	}
	n := len(partial.Message.ToolCalls)
	require.LessOrEqual(t, n, len(h.Calls))
	require.GreaterOrEqual(t, n, len(h.Calls)-1)
	if n > 0 {
		require.Empty(t, cmp.Diff(whole.Message.ToolCalls[:n], partial.Message.ToolCalls))
	}
	if n > 0 || len(partial.Message.Content) > 0 {
		require.Equal(t, chat.RoleAssistant, partial.Message.Role)
	} else {
		require.Empty(t, cmp.Diff(chat.Message{}, partial.Message))
	}
}
