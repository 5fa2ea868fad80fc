package provider_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/provider"
)

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
