package openai_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/replaytest"
	"github.com/promptree-go/promptree/render/openai"
)

// The requests of a compactor break no rule of either API. Claude wrote the sessions, and its thinking is left out.
func TestReplayedRequestsNeedNoRepair(t *testing.T) {
	replaytest.Replay{
		Root: "../..",
		Check: func(t *testing.T, r replaytest.Request) {
			for _, api := range apis {
				check(t, api, r, newMemory())
			}
		},
	}.Run(t)
}

// A model of OpenAI wrote these sessions, and its encrypted reasoning is sent back to the Responses API.
func TestReplayedRequestsWithReasoningNeedNoRepair(t *testing.T) {
	given := newMemory()
	replaytest.Replay{
		Root: "../..", Fewer: true,
		As:    func(n int, m chat.Message) chat.Message { return openAI(given, n, m) },
		Check: func(t *testing.T, r replaytest.Request) { check(t, openai.Responses, r, given) },
	}.Run(t)
}

// FuzzReplay does the same with random sessions at random budgets. Only bytes that are not UTF-8 may be repaired there.
func FuzzReplay(f *testing.F) {
	extremes.FuzzSeeds(f, 40, func(t *testing.T, seed uint64) {
		given := newMemory()
		as := func(n int, m chat.Message) chat.Message { return openAI(given, n, m) }
		replaytest.Random(t, seed, as, func(t *testing.T, r replaytest.Request) {
			for _, api := range apis {
				repaired, changes := openai.Repair(r.Request, api)
				for _, c := range changes {
					require.Equal(t, provider.RuleUTF8, c.Rule, c)
				}
				check(t, api, replaytest.Request{Request: repaired, Line: r.Line, Close: r.Close}, given)
			}
		})
	})
}

// openAI returns an answer as a model of OpenAI writes it over Responses, with encrypted reasoning before it.
func openAI(given memory, n int, m chat.Message) chat.Message {
	if m.Role != chat.RoleAssistant {
		return m
	}
	m.Content = slices.DeleteFunc(slices.Clone(m.Content), func(p chat.Part) bool { _, is := p.(chat.Thinking); return is })
	if n%3 > 0 && (len(m.Content) > 0 || len(m.ToolCalls) > 0) {
		id := fmt.Sprintf("rs_%d", n)
		thought := chat.Thinking{Text: "Hm.", Signature: fmt.Sprintf(`{"id":%q}`, id), Encrypted: fmt.Sprintf("gAAA%d", n)}
		given.encrypted[id] = thought.Encrypted
		m.Content = append(chat.Parts{thought}, m.Content...)
	}
	return m
}

// check checks a request by the package's own rules, and by those of a server that knows the items it returned.
func check(t *testing.T, api openai.API, r replaytest.Request, given memory) {
	t.Helper()
	require.NoError(t, openai.Validate(r.Request, api), "%s: line %d", api, r.Line)
	if r.Close {
		_, changes := openai.Repair(r.Request, api)
		require.Empty(t, changes, "%s: line %d", api, r.Line)
		require.Empty(t, judgedRequest(t, api, r.Request, given), "%s: line %d", api, r.Line)
	}
}

// judgedRequest returns the server's refusal of a request, "" if it is accepted.
func judgedRequest(t *testing.T, api openai.API, req chat.Request, given memory) string {
	t.Helper()
	if api == openai.Responses {
		params, err := openai.ItemsRequest(req, openai.OptionsFor("gpt-5.6"))
		require.NoError(t, err)
		params.Model = "gpt-5.6"
		return given.judge(gjson.Parse(toJSON(params)))
	}
	params, err := openai.ChatRequest(req, openai.OptionsFor("gpt-5.6"))
	require.NoError(t, err)
	params.Model = "gpt-5.6"
	return judgeChat(gjson.Parse(toJSON(params)))
}
