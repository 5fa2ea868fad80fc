package provider_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/test/errtest"
)

// answering returns the next handler of a middleware, which answers with a status and a body.
func answering(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

func post(t *testing.T, header ...string) *http.Request {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://ann:pass-word@example.com/v1?api_key=query-secret&alt=sse", nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func TestALongRefusalIsCutAndKeepsItsCodeAndMessage(t *testing.T) {
	long := strings.Repeat("No. ", 10_000)
	for _, tt := range []struct {
		rule, body, code string
		whole            bool
	}{
		{"a short refusal is unchanged", "{ \"error\":\t{\"code\":\"c\",\"message\":\"<No>.\"}}", "c", true},
		{"a long text is cut", `{"error":{"message":"` + long + `","code":"c"}}`, "c", false},
		{"many details are removed", `{"error":{"details":[` + strings.Repeat(`{"a":"No."},`, 5000) + `{}],"message":"No.","code":"c"}}`, "c", false},
		{"many fields are removed", `{"error":{"message":"No.","code":"c"},"input":{` + strings.Repeat(`"k":"v",`, 5000) + `"a":"` + long + `"},"b":"` + long + `","c":"` + long + `","d":"` + long + `","e":"` + long + `"}`, "c", false},
		{"a long page is cut", "<html>" + long, "", false},
	} {
		res, err := provider.NewExchange(false).Do(post(t), answering(400, tt.body))
		require.NoError(t, err)
		kept, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.LessOrEqual(t, len(kept), 4<<10+len("…"), tt.rule)
		require.Equal(t, tt.whole, string(kept) == tt.body, tt.rule)
		var said struct {
			Error struct{ Code, Message string }
		}
		_ = json.Unmarshal(kept, &said)
		require.Equal(t, tt.code, said.Error.Code, tt.rule)
		require.Equal(t, tt.code != "", strings.Contains(said.Error.Message, "No"), tt.rule)
	}
}

func TestASecretIsMaskedInEachOfItsForms(t *testing.T) {
	const key = `sk-a/b+c"d`
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:other-word"))
	r := post(t, "X-Api-Key", key, "Authorization", basic, "Cookie", "a=cookie-value; b=2", "X-Token", "none", "User-Agent", "agent-of-ours")
	x := provider.NewExchange(false)
	_, err := x.Do(r, answering(200, ""))
	require.NoError(t, err)
	for _, secret := range []string{key, url.QueryEscape(key), url.PathEscape(key), `sk-a/b+c\"d`, basic, basic[6:], "other-word", "pass-word", "cookie-value", "query-secret"} {
		require.Equal(t, "a [secret] b", x.Masked("a "+secret+" b"))
	}
	for _, word := range []string{"none", "sse", "ann", "agent-of-ours"} {
		require.Equal(t, word, x.Masked(word))
	}
}

func TestAKeyThatATransportAddsIsASecret(t *testing.T) {
	x := provider.NewExchange(false)
	res, err := x.Do(post(t), func(r *http.Request) (*http.Response, error) {
		sent := r.Clone(r.Context())
		sent.Header.Set("Authorization", "Bearer added-later")
		return answering(401, "Bad token added-later.")(sent)
	})
	require.NoError(t, err)
	kept, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "Bad token [secret].", string(kept))
}

func TestAResponseMayHaveNeitherHeaderNorBody(t *testing.T) {
	for _, status := range []int{200, 400} {
		res, err := provider.NewExchange(true).Do(post(t), func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status}, nil
		})
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Empty(t, body)
	}
}

func TestAnErrorThatIsTooLongOrHoldsASecretHidesItsChain(t *testing.T) {
	x := provider.NewExchange(false)
	_, err := x.Do(post(t, "X-Api-Key", "sk-secret"), answering(200, ""))
	require.NoError(t, err)
	inner := fmt.Errorf("sk-secret: %w", &url.Error{Op: "Post", URL: "https://example.com", Err: io.ErrNoProgress})
	for _, given := range []error{
		fmt.Errorf("asked: %w", inner), errors.Join(io.EOF, inner), fmt.Errorf("%s %w", strings.Repeat("x", 10_000), io.ErrNoProgress),
	} {
		err := x.Err(t.Context(), given)
		require.IsType(t, &chat.AnswerError{}, err)
		require.ErrorIs(t, err, io.ErrNoProgress)
		_, found := errors.AsType[*url.Error](err)
		require.False(t, found)
		require.NotContains(t, err.Error(), "sk-secret")
		require.LessOrEqual(t, len(err.Error()), provider.MaxErrorText)
		err = x.Err(t.Context(), &chat.TransientError{Err: given})
		require.NotContains(t, errtest.As[*chat.TransientError](t, err).Err.Error(), "sk-secret")
	}
	fine := fmt.Errorf("asked: %w", io.ErrNoProgress)
	require.Equal(t, fine, x.Err(t.Context(), fine))
	require.NoError(t, x.Err(t.Context(), nil))
}

func TestTheCauseOfAnEndedContextIsReturnedUnchanged(t *testing.T) {
	cause := errors.New(strings.Repeat("enough ", 2000))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	require.Equal(t, cause, provider.NewExchange(false).Err(ctx, io.EOF))
}

func TestATransientErrorStatesTheWaitOfTheResponse(t *testing.T) {
	for _, tt := range []struct {
		after string
		want  time.Duration
	}{{"7", 7 * time.Second}, {"", time.Minute}, {"soon", time.Minute}} {
		x := provider.NewExchange(false)
		_, err := x.Do(post(t), func(r *http.Request) (*http.Response, error) {
			res, err := answering(429, "")(r)
			res.Header.Set("Retry-After", tt.after)
			return res, err
		})
		require.NoError(t, err)
		transient := errtest.As[*chat.TransientError](t, x.Err(t.Context(), &chat.TransientError{RetryAfter: time.Minute, Err: io.EOF}))
		require.Equal(t, tt.want, transient.RetryAfter)
	}
}

func TestABrokenExchangeIsATransientErrorOrAnAnswerError(t *testing.T) {
	for _, tt := range []struct {
		rule      string
		status    int // 0 if there was no response
		err, want error
	}{
		{"a lost connection", 0, io.ErrUnexpectedEOF, &chat.TransientError{}},
		{"an answer that cannot be used", 200, io.ErrNoProgress, &chat.AnswerError{}},
		{"a request that could not be sent", 0, io.ErrNoProgress, io.ErrNoProgress},
		{"a redirect", 302, &chat.RedirectError{}, &chat.RedirectError{}},
	} {
		x := provider.NewExchange(true)
		if tt.status > 0 {
			_, _ = x.Send(post(t), answering(tt.status, ""))
		}
		require.IsType(t, tt.want, x.Broken(tt.err), tt.rule)
	}
}

// configuration is like an SDK's configuration of a request.
type configuration struct {
	HTTPClient *http.Client
	applied    bool
}

type setting[C any] func(*C) error

func (s setting[C]) Apply(c *C) error { return s(c) }

func TestAGuardedOptionRefusesRedirectsOfTheCallersClient(t *testing.T) {
	asked := 0
	given := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { asked++; return nil }}
	c := configuration{HTTPClient: given}
	require.NoError(t, provider.Guarded(setting[configuration](func(c *configuration) error { c.applied = true; return nil })).Apply(&c))
	require.True(t, c.applied)
	require.NotSame(t, given, c.HTTPClient)
	for _, tt := range []struct {
		to   string
		same bool
	}{
		{"https://example.com/a", true}, {"https://EXAMPLE.com:443/", true}, {"https://example.com:8443/", false},
		{"http://example.com/", false}, {"http://example.com:443/", false}, {"https://example.com.evil.org/", false}, {"https://www.example.com/", false},
	} {
		to, err := http.NewRequestWithContext(t.Context(), http.MethodGet, tt.to, nil)
		require.NoError(t, err)
		asked = 0
		err = c.HTTPClient.CheckRedirect(to, []*http.Request{post(t)})
		if tt.same {
			require.NoError(t, err, tt.to)
			require.Equal(t, 1, asked, "the caller's own check is called")
			continue
		}
		require.Equal(t, &chat.RedirectError{From: "https://example.com", To: to.URL.Scheme + "://" + to.URL.Host}, err)
	}
}

func TestAnSDKThatCannotBeGuardedIsAnError(t *testing.T) {
	require.ErrorContains(t, provider.Guarded(setting[struct{}](func(*struct{}) error { return nil })).Apply(&struct{}{}), "has no HTTPClient")
	require.ErrorContains(t, provider.Guarded(setting[configuration](func(*configuration) error { return nil })).Apply(&configuration{}), "has no HTTPClient")
	require.Equal(t, io.EOF, provider.Guarded(setting[configuration](func(*configuration) error { return io.EOF })).Apply(&configuration{}))
}

func TestABrokenConnectionOrAnIncompleteAnswerIsLost(t *testing.T) {
	for _, tt := range []struct {
		rule string
		err  error
		want bool
	}{
		{"a connection that could not be made", &net.OpError{Op: "dial", Err: errors.New("refused")}, true},
		{"a host without an address", &net.DNSError{Err: "no such host"}, false},
		{"a deadline", os.ErrDeadlineExceeded, true},
		{"a stream that ended", io.EOF, true},
		{"a body that ended", io.ErrUnexpectedEOF, true},
		{"an answer that was cut off", json.Unmarshal([]byte(`{"a":`), &struct{}{}), true},
		{"an answer of another form", json.Unmarshal([]byte(`{"A":1}`), &struct{ A string }{}), false},
		{"an HTTP/2 stream that was reset", errors.New("stream error: stream ID 3; INTERNAL_ERROR"), true},
		{"an HTTP/2 connection that was closed", errors.New("http2: server sent GOAWAY and closed the connection"), true},
		{"a certificate that is not trusted, whatever the connection did", &net.OpError{Op: "read", Err: &tls.CertificateVerificationError{Err: io.EOF}}, false},
		{"any other error", errors.New("the model is unknown"), false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.Equal(t, tt.want, provider.Lost(fmt.Errorf("asked: %w", tt.err)))
		})
	}
}

func TestTheWaitIsReadFromTheHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for _, tt := range []struct {
			rule, ms, after string
			wait            time.Duration
			says            bool
		}{
			{rule: "without a header there is none"},
			{rule: "it may be in seconds", after: "7", wait: 7 * time.Second, says: true},
			{rule: "it may be in parts of a second", after: "2.5", wait: 2500 * time.Millisecond, says: true},
			{rule: "it may be 0", after: "0", says: true},
			{rule: "milliseconds come first", ms: "250", after: "7", wait: 250 * time.Millisecond, says: true},
			{rule: "milliseconds below 0 are ignored", ms: "-1", after: "7", wait: 7 * time.Second, says: true},
			{rule: "it may be a date", after: in(time.Hour), wait: time.Hour, says: true},
			{rule: "a date that has passed is 0", after: in(-time.Hour), says: true},
			{rule: "it is a day at most", after: "1e300", wait: 24 * time.Hour, says: true},
			{rule: "a date years away is a day", after: in(10_000 * time.Hour), wait: 24 * time.Hour, says: true},
			{rule: "a value that is not a number is ignored", after: "-NaN"},
			{rule: "seconds below 0 are ignored", after: "-7"},
		} {
			h := http.Header{}
			h.Set("Retry-After-Ms", tt.ms)
			h.Set("Retry-After", tt.after)
			wait, says := provider.Wait(h)
			require.Equal(t, tt.wait, wait, tt.rule)
			require.Equal(t, tt.says, says, tt.rule)
		}
	})
}
