package provider

import (
	"net/http"
	"strconv"
	"time"
)

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
