package compare

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/program"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
)

// fixedTokens are those of the system prompt and the tools in sessions of [claudeCode].
const fixedTokens = 5_000

// claudeCode writes a session of Claude Code in which an agent answers a question a number of times, at a distance in
// time, and returns its path. usage returns the usage of a request of a number of tokens, of which it shares common with
// the request before.
func claudeCode(t *testing.T, answers int, every time.Duration, usage func(n, input, common int) chat.Usage) string {
	t.Helper()
	c := counter(t)
	at, parent := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), ""
	var lines []string
	line := func(kind string, message map[string]any) {
		id := fmt.Sprint(kind, len(lines))
		data := sure.JSON(t, map[string]any{
			"type": kind, "uuid": id, "parentUuid": parent, "sessionId": "s", "timestamp": at.Format(time.RFC3339Nano), "message": message,
		})
		lines, parent = append(lines, string(data)), id
	}
	input, common := fixedTokens, 0
	for n := range answers {
		question := fmt.Sprintf("Question %d: %s", n, strings.Repeat("what is this? ", 100+7*n))
		answer := strings.Repeat("It is that. ", 50+3*n)
		line("user", map[string]any{"role": "user", "content": question})
		at = at.Add(every)
		input += c.CountMessage(chat.UserMessage(question))
		u := usage(n, input, common)
		common = input
		line("assistant", map[string]any{
			"id": fmt.Sprint("m", n), "type": "message", "role": "assistant", "model": "claude-opus-4-5", "content": []any{map[string]any{"type": "text", "text": answer}},
			"usage": map[string]any{
				"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "output_tokens": u.Output, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
				"cache_creation": map[string]any{"ephemeral_5m_input_tokens": u.CacheWrite - u.CacheWriteLong, "ephemeral_1h_input_tokens": u.CacheWriteLong},
			},
		})
		input += c.CountMessage(chat.AssistantMessage(answer))
	}
	return sessiontest.Written(t, "session.jsonl", lines...)
}

func cached(_, input, common int) chat.Usage {
	return chat.Usage{Input: input, CacheRead: common, CacheWrite: input - common, Output: 500}
}

func cachedForAnHour(n, input, common int) chat.Usage {
	u := cached(n, input, common)
	u.CacheWriteLong = u.CacheWrite
	return u
}

func TestTheLifetimeOfTheCacheIsTheOneThatTheRecordedRequestsAskedFor(t *testing.T) {
	hour := claudeCode(t, 20, 10*time.Minute, cachedForAnHour)
	short := claudeCode(t, 20, 10*time.Minute, func(n, input, _ int) chat.Usage { return cached(n, input, 0) })
	mixed := claudeCode(t, 20, 10*time.Minute, func(n, input, common int) chat.Usage {
		if n < 10 {
			return cachedForAnHour(n, input, common)
		} else if n == 10 { // the last that is written for an hour is read after 10 minutes
			return cached(n, input, common)
		}
		return cached(n, input, 0)
	})
	for name, file := range map[string]string{"an hour": hour, "five minutes": short, "both": mixed} {
		var recordedDollars float64
		for _, ttl := range [][]string{nil, {"-ttl", "5m"}, {"-ttl", "1h"}} {
			runs, _ := ranJSON(t, program.ExitOK, append(append([]string{"-prices", "claude-opus-4-5", "-unchecked", "-policy", "a3s"}, ttl...), file)...)
			c, bill := runs[0].Check, runs[0].Bill
			require.Equal(t, c.Requests, c.Exact, "%s %v", name, ttl)
			require.InDelta(t, c.Recorded, c.Kept, 1e-6, "%s %v", name, ttl)
			if ttl == nil {
				recordedDollars = c.Recorded
				require.Empty(t, c.Failed)
				require.InEpsilon(t, c.Recorded, bill.Kept, 0.01, name)
			}
			require.InDelta(t, recordedDollars, c.Recorded, 1e-9, "-ttl reprices nothing that was recorded")
		}
	}
	longer, _ := ranJSON(t, program.ExitOK, "-prices", "claude-opus-4-5", "-unchecked", "-policy", "a3s", "-ttl", "1h", short)
	require.Less(t, longer[1].Bill.Kept, longer[0].Check.Recorded/2, "an hour would have cost less")
}

func TestReadsAreComparedInTheStepsInWhichTheProviderCountsThem(t *testing.T) {
	steps := claudeCode(t, 20, time.Minute, func(_, input, common int) chat.Usage {
		return chat.Usage{Input: input, CacheRead: common - common%128, Output: 500}
	})
	args := []string{"-prices", "input=1.25,read=0.125,output=10", "-policy", "a3s", steps}
	runs, _ := ranJSON(t, program.ExitOK, args...)
	c := runs[0].Check
	require.Empty(t, c.Failed)
	require.Equal(t, c.Requests, c.Exact)
	require.InDelta(t, c.Recorded, c.Kept, 1e-9)
	require.InEpsilon(t, c.Recorded, runs[0].Bill.Kept, 0.01)
	require.Contains(t, outputOf(t, append([]string{"-details"}, args...)...), "to the step of 128 tokens")
}

// Such a provider charges nothing for writes and promises no lifetime, whatever prices are given.
func TestARecordingWithoutWritesIsOfAProviderThatCachesByItself(t *testing.T) {
	reads := func(_, input, common int) chat.Usage {
		return chat.Usage{Input: input, CacheRead: common - common%64, Output: 500}
	}
	for name, tt := range map[string]struct {
		every  time.Duration
		prices string
		usage  func(n, input, common int) chat.Usage
	}{
		"prices of another provider":       {time.Minute, "claude-opus-4-5", reads},
		"prices with writes":               {time.Minute, "input=0.6,read=0.11,write=0.75,output=2.2", reads},
		"gaps above the usual lifetime":    {12 * time.Minute, "input=0.6,read=0.11,output=2.2", reads},
		"gaps above an hour":               {90 * time.Minute, "claude-opus-4-5", reads},
		"fewer tokens than another caches": {time.Minute, "input=0.6,read=0.11,output=2.2,least=9000", reads},
		"reads that begin late": {12 * time.Minute, "input=0.6,read=0.11,output=2.2", func(n, input, common int) chat.Usage {
			if n < 5 {
				common = 0
			}
			return reads(n, input, common)
		}},
	} {
		runs, _ := ranJSON(t, program.ExitOK, "-prices", tt.prices, "-policy", "a3s", claudeCode(t, 20, tt.every, tt.usage))
		c := runs[0].Check
		require.Empty(t, c.Failed, name)
		require.Equal(t, c.Requests, c.Exact+c.Restarts, name)
		require.Zero(t, c.Outlived, name)
		require.InDelta(t, c.Recorded, c.Kept, 1e-9, name)
		require.InEpsilon(t, c.Recorded, runs[0].Bill.Kept, 0.03, name)
	}
}

// The other windows, policies and sessions have their figures.
func TestAWindowThatIsTooSmallIsSaidInItsPlace(t *testing.T) {
	session := claudeCode(t, 20, time.Minute, cached)
	args := []string{"-prices", "claude-opus-4-5", "-window", "4000,9000,64000", "-policy", "frugal,a3s", session}
	runs, _ := ranJSON(t, program.ExitFailed, args...)
	require.Len(t, runs, 9)
	for i, r := range runs {
		small := i == 1 || i == 2
		require.Equal(t, small, strings.HasPrefix(r.Ended, "cannot run in a window of 4000 tokens: the system prompt and the tools take "), r.Ended)
		require.NotNil(t, r.Bill)
		require.Equal(t, !small, r.Requests.Number == 20)
	}
	var stdout, stderr bytes.Buffer
	require.Equal(t, program.ExitFailed, Main(t.Context(), append([]string{"-details"}, args...), &stdout, &stderr, new(program.Folders)))
	require.Contains(t, stdout.String(), "cannot run in a window of 4000 tokens")
	require.Contains(t, stdout.String(), "The system prompt and the tools take 100.0% of it")
	require.Regexp(t, `The system prompt and the tools take 5\d\.\d% of it`, stdout.String())
	require.Contains(t, stdout.String(), "window: 64,000 tokens\ndollars")
}

func TestNoDollarsAreShownIfTheCheckFails(t *testing.T) {
	uncached := claudeCode(t, 20, time.Minute, func(_, input, _ int) chat.Usage { return chat.Usage{Input: input, Output: 500} })
	dear := claudeCode(t, 20, time.Minute, func(n, input, common int) chat.Usage { // a third is never read
		return cached(n, input, 2*common/3)
	})
	foreign := claudeCode(t, 20, time.Minute, func(n, input, common int) chat.Usage { // other requests were sent than the recording has
		return cached(n, input+n%2*20_000, common)
	})
	for file, why := range map[string]string{uncached: "no cache figures", dear: "by the cost model", foreign: "by the cost model"} {
		require.Contains(t, outputOf(t, "-check", "-prices", "claude-opus-4-5", file), why)
		args := []string{"-prices", "claude-opus-4-5", "-window", "20000,25000", "-policy", "frugal,a3s", file}
		runs, _ := ranJSON(t, program.ExitOK, args...)
		require.Contains(t, runs[0].Check.Failed, why)
		for _, r := range runs {
			require.Nil(t, r.Bill)
			require.Zero(t, r.Recall.Dollars)
		}
		text := outputOf(t, args...)
		require.Contains(t, text, "the check failed: no dollars: "+runs[0].Check.Failed)
		require.NotContains(t, text, "never compacting")
		require.Contains(t, outputOf(t, append([]string{"-unchecked"}, args...)...), "never compacting")
	}
	good := claudeCode(t, 20, time.Minute, cached)
	text := outputOf(t, "-details", "-prices", "claude-opus-4-5", "-window", "64000", "-policy", "frugal,a3s", good, uncached)
	require.Regexp(t, `(?m)^frugal +64,000 +0 +1 +0\.53`, text, "the sums say how many sessions have dollars")
}

// It is left out of the view unless a provider signed it, so the requests of a policy do not have it either.
func TestWhatIsNotSentIsNotInTheCostWithoutCompactions(t *testing.T) {
	lines := append([]string{}, sessiontest.Talk...)
	thought := fmt.Sprintf(`{"type":"thinking","thinking":%q},`, strings.Repeat("I wonder. ", 1000))
	for i := range lines {
		lines[i] = strings.Replace(lines[i], `"role":"assistant","content":[`, `"role":"assistant","content":[`+thought, 1)
	}
	runs, _ := ranJSON(t, program.ExitOK, "-prices", "claude-opus-4-5", "-policy", "a3s", sessiontest.Written(t, "thinking.jsonl", lines...))
	require.Empty(t, runs[1].Compactions)
	require.InDelta(t, runs[1].Bill.Kept, runs[1].Bill.Uncompacted, 1e-9)
}
