package anthropic_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestARequestThatIsTooLargeIsAContextLimitError(t *testing.T) {
	for _, c := range []struct {
		name          string
		answer        answer
		tokens, limit int
	}{
		{"a prompt that is too long", refuse(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), 210_000, 200_000},
		{"a prompt that is too long, without numbers", refuse(400, "invalid_request_error", "prompt is too long"), 0, 0},
		{"no room for the answer", refuse(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again"), 209_573, 200_000},
		{"no room for the answer, in absurd numbers", refuse(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 9223372036854775807 + 21333 > 200000"), 0, 200_000},
		{"too many bytes", refuse(413, "request_too_large", "Request exceeds the maximum size"), 0, 0},
		{"too many bytes for a proxy before the API", answer{status: 413, kind: "", message: ""}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			model, s := answering(t, c.answer)
			_, err := model.Generate(t.Context(), ask(question))
			limit := errtest.As[*chat.ContextLimitError](t, err)
			require.Equal(t, c.tokens, limit.Tokens)
			require.Equal(t, c.limit, limit.Limit)
			require.ErrorAs(t, err, new(*sdk.Error))
			require.Equal(t, 1, s.count())
		})
	}
}

func TestErrorsThatMayPassAreTransientErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer answer
		after  time.Duration
	}{
		{"a rate limit", answer{status: 429, kind: "rate_limit_error", header: map[string]string{"Retry-After": "7"}}, 7 * time.Second},
		{"a rate limit that states no wait", refuse(429, "rate_limit_error", "slow down"), 0},
		{"milliseconds come first", answer{status: 429, kind: "rate_limit_error", header: map[string]string{"Retry-After": "7", "Retry-After-Ms": "250"}}, 250 * time.Millisecond},
		{"an overload", refuse(529, "overloaded_error", "Overloaded"), 0},
		{"a fault of the API", refuse(500, "api_error", "Internal server error"), 0},
		{"a fault of a proxy before the API", refuse(502, "", ""), 0},
		{"a time-out", refuse(504, "timeout_error", ""), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			model, s := answering(t, c.answer)
			_, err := model.Generate(t.Context(), ask(question))
			require.Equal(t, c.after, errtest.As[*chat.TransientError](t, err).RetryAfter)
			require.Equal(t, 1, s.count(), "the SDK does not repeat the request")
		})
	}
}

func TestTheSDKRetriesAsOftenAsMaxRetriesSays(t *testing.T) {
	s := newServer(t, func(n int, _ request) answer {
		if n < 2 {
			return answer{status: 529, kind: "overloaded_error", header: map[string]string{"Retry-After-Ms": "1"}}
		}
		return say(text("42"))
	})
	model := &anthropic.Model{Client: s.client(), Name: "claude-test", MaxRetries: 2}
	r, err := model.Generate(t.Context(), ask(question))
	require.NoError(t, err)
	require.Equal(t, "42", r.Message.Text())
	require.Equal(t, 3, s.count())
}

func TestOtherErrorsAreTheSDKs(t *testing.T) {
	for _, a := range []answer{
		refuse(400, "invalid_request_error", "max_tokens: 100000 > 64000, which is the maximum allowed"),
		refuse(401, "authentication_error", "invalid x-api-key"),
		refuse(403, "permission_error", "no"),
		refuse(404, "not_found_error", "model: claude-test"),
	} {
		model, _ := answering(t, a)
		_, err := model.Generate(t.Context(), ask(question))
		_, limit := errors.AsType[*chat.ContextLimitError](err)
		_, transient := errors.AsType[*chat.TransientError](err)
		require.False(t, limit || transient, "%v", err)
		require.Equal(t, a.status, errtest.As[*sdk.Error](t, err).StatusCode)
	}
}

func TestARefusedCertificateIsNotATransientError(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	model := &anthropic.Model{Client: (&server{Server: s}).client(), Name: "claude-test"}
	_, err := model.Generate(t.Context(), ask(question))
	require.Error(t, err)
	_, ok := errors.AsType[*chat.TransientError](err)
	require.False(t, ok, "%v", err)
}
