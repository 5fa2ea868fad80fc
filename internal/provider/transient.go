package provider

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"
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

// MaxWait is the longest wait that an error states, whatever the server asks for.
const MaxWait = 24 * time.Hour

// Wait returns how long a server asks to wait before the next request, and whether it says so in a header:
// Retry-After-Ms, or else Retry-After, in seconds or as a date. It is [MaxWait] at most.
func Wait(h http.Header) (wait time.Duration, says bool) {
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		return bounded(ms / 1e3), true
	}
	after := h.Get("Retry-After")
	if seconds, ok := number(after); ok {
		return bounded(seconds), true
	}
	if at, err := http.ParseTime(after); err == nil {
		return bounded(time.Until(at).Seconds()), true
	}
	return 0, false
}

// number parses a number that is not below 0.
func number(s string) (n float64, ok bool) {
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && n >= 0
}

// bounded returns a number of seconds as a wait between 0 and MaxWait.
func bounded(seconds float64) time.Duration {
	return time.Duration(max(0, min(seconds, MaxWait.Seconds())) * float64(time.Second))
}
