package provider

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
)

// Lost reports whether an error says that a connection broke or could not be made, or that an answer is incomplete.
func Lost(err error) bool {
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		return false
	}
	network, isNetwork := errors.AsType[net.Error](err)
	_, operation := errors.AsType[*net.OpError](err)
	_, truncated := errors.AsType[*json.SyntaxError](err)
	return operation || truncated || isNetwork && network.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		http2Error.MatchString(err.Error())
}

// ErrBrokenOff is the error of a stream that ended before its answer did. It counts as [Lost].
var ErrBrokenOff = fmt.Errorf("the stream ended before the answer did: %w", io.ErrUnexpectedEOF)

// http2Error matches the errors of net/http for HTTP/2 connections and streams that ended. They have no exported types.
var http2Error = regexp.MustCompile(`stream error: stream ID|http2: (?:client connection|server sent GOAWAY|Transport|timeout)`)
