// Package provider holds what the adapters share: where a request may go, what is read of an answer and shown of an
// error ([Exchange]), which errors are lost connections, how long a server asks to wait, how requests are repaired, and
// how the pieces of tool calls are streamed.
package provider

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"regexp"
)

// Lost reports whether an error is that of a connection that broke or could not be made, or of an incomplete answer.
func Lost(err error) bool {
	if _, bad := errors.AsType[*tls.CertificateVerificationError](err); bad {
		return false
	}
	network, isNetwork := errors.AsType[net.Error](err)
	_, operation := errors.AsType[*net.OpError](err)
	_, torn := errors.AsType[*json.SyntaxError](err)
	return operation || torn || isNetwork && network.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		http2Error.MatchString(err.Error())
}

// http2Error matches the errors of net/http for HTTP/2 connections and streams that ended, which have no types.
var http2Error = regexp.MustCompile(`stream error: stream ID|http2: (?:client connection|server sent GOAWAY|Transport|timeout)`)
