package provider_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/provider"
)

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
