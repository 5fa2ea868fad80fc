// Package provider is what those who ask a provider do alike: where a request may go, what is read of an answer and told of an
// error ([Exchange]), which errors tell of a lost connection, how long a server asks to wait, what is mended of a request in
// the same way, and how the pieces of tool calls are streamed.
package provider

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"regexp"
)

// Lost tells of a connection that broke or was not made, and of an answer that did not come whole.
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

// http2Error is how net/http tells of HTTP/2 connections and streams that ended: it has no types for that.
var http2Error = regexp.MustCompile(`stream error: stream ID|http2: (?:client connection|server sent GOAWAY|Transport|timeout)`)
