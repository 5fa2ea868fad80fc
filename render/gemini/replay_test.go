package gemini_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/replaytest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render/gemini"
)

// The requests of a compactor break no rule, and the thought signatures in them are as Gemini wrote them.
func TestReplayedRequestsNeedNoRepair(t *testing.T) {
	given := judge{issued: map[string]bool{}}
	replaytest.Replay{
		Root: "../..", As: given.said,
		Check: func(t *testing.T, r replaytest.Request) {
			require.NoError(t, gemini.Validate(r.Request, gemini.Options{}), "line %d", r.Line)
			if r.Close {
				_, changes := gemini.Repair(r.Request, gemini.Options{})
				require.Empty(t, changes, "line %d", r.Line)
				require.Empty(t, refused(t, given, r.Request, gemini.Options{}), "line %d", r.Line)
			}
		},
	}.Run(t)
}

// FuzzReplay does the same with random sessions at random budgets. Only this may be repaired there: arguments that were
// cut off, outputs that are not UTF-8, and, in a history that is summarised in parts, a part that begins with a call.
func FuzzReplay(f *testing.F) {
	extremes.FuzzSeeds(f, 40, func(t *testing.T, seed uint64) {
		given := judge{issued: map[string]bool{}}
		replaytest.Random(t, seed, given.said, func(t *testing.T, r replaytest.Request) {
			repaired, changes := gemini.Repair(r.Request, gemini.Options{})
			for _, c := range changes {
				require.Contains(t, []chat.Rule{provider.RuleArguments, provider.RuleUTF8, provider.RuleCallTurn}, c.Rule, c)
			}
			require.Empty(t, refused(t, given, repaired, gemini.Options{}))
		})
	})
}

// said returns a message as Gemini would have written it.
func (j judge) said(n int, m chat.Message) chat.Message {
	m.Content = slices.DeleteFunc(slices.Clone(m.Content), func(p chat.Part) bool { _, is := p.(chat.Thinking); return is })
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		if c.Signature = ""; i == 0 {
			c.Signature = base64.StdEncoding.EncodeToString(fmt.Append(nil, "signature ", n))
		}
		j.issued[c.ID+" "+c.Signature] = true
	}
	return m
}

// A caller may go on with Gemini in a session of another model. Its requests need only thought signatures for the calls
// of the current turn, and none at all for legacy models.
func TestReplayedSessionsOfAnotherModelNeedOnlySignatures(t *testing.T) {
	var requests, repaired atomic.Int64
	t.Cleanup(func() { t.Logf("of %d requests %d were repaired", requests.Load(), repaired.Load()) })
	replaytest.Replay{
		Root: "../..", Fewer: true,
		Check: func(t *testing.T, r replaytest.Request) {
			if !r.Close {
				return
			}
			require.NoError(t, gemini.Validate(r.Request, gemini.Options{Legacy: true}), "line %d", r.Line)
			require.Empty(t, refused(t, judge{legacy: true}, r.Request, gemini.Options{Legacy: true}), "line %d", r.Line)
			request, changes := gemini.Repair(r.Request, gemini.Options{})
			requests.Add(1)
			if len(changes) > 0 {
				repaired.Add(1)
			}
			for _, c := range changes {
				require.Equal(t, provider.RuleSignature, c.Rule, "line %d: %s", r.Line, c)
			}
			require.NoError(t, gemini.Validate(request, gemini.Options{}), "line %d", r.Line)
			require.Empty(t, refused(t, judge{}, request, gemini.Options{}), "line %d", r.Line)
		},
	}.Run(t)
}

// refused returns the API's refusal of a request, "" if it is accepted.
func refused(t *testing.T, j judge, req chat.Request, options gemini.Options) string {
	t.Helper()
	contents, config, err := gemini.Request(req, options)
	require.NoError(t, err)
	whole := object{"contents": contents}
	if config != nil && config.SystemInstruction != nil {
		whole["systemInstruction"] = config.SystemInstruction
	}
	body, err := decode(sure.JSON(t, whole))
	require.NoError(t, err)
	return j.refuse(body)
}
