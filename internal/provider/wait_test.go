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
			{rule: "no header"},
			{rule: "seconds", after: "7", wait: 7 * time.Second, says: true},
			{rule: "parts of a second", after: "2.5", wait: 2500 * time.Millisecond, says: true},
			{rule: "at once", after: "0", says: true},
			{rule: "milliseconds come first", ms: "250", after: "7", wait: 250 * time.Millisecond, says: true},
			{rule: "milliseconds that are none are passed over", ms: "-1", after: "7", wait: 7 * time.Second, says: true},
			{rule: "a date to come", after: in(time.Hour), wait: time.Hour, says: true},
			{rule: "a date that has passed", after: in(-time.Hour), says: true},
			{rule: "a day at most", after: "1e300", wait: 24 * time.Hour, says: true},
			{rule: "a date years away", after: in(10_000 * time.Hour), wait: 24 * time.Hour, says: true},
			{rule: "no number", after: "-NaN"},
			{rule: "less than nothing", after: "-7"},
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
