package openai_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/replaytest"
	"github.com/promptree-go/promptree/render/openai"
)

// What a compactor sends breaks no rule of either API, and needs no mending: not where Claude wrote the session, whose
// thinking is left out on the way.
func TestReplay(t *testing.T) {
	replaytest.Replay{
		Root: "../..",
		Check: func(t *testing.T, r replaytest.Request) {
			for _, api := range apis {
				check(t, api, r, newMemory())
			}
		},
	}.Run(t)
}

// Nor where a model of OpenAI's wrote it, whose encrypted reasoning goes back to the Responses API.
func TestReplayWithReasoning(t *testing.T) {
	given := newMemory()
	replaytest.Replay{
		Root: "../..", Fewer: true,
		As:    func(n int, m chat.Message) chat.Message { return openAI(given, n, m) },
		Check: func(t *testing.T, r replaytest.Request) { check(t, openai.Responses, r, given) },
	}.Run(t)
}

// FuzzReplay does the same with random sessions at random windows. Outputs there hold bytes that are no UTF-8: nothing else
// is to be mended.
func FuzzReplay(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		given := newMemory()
		as := func(n int, m chat.Message) chat.Message { return openAI(given, n, m) }
		replaytest.Random(t, seed, as, func(t *testing.T, r replaytest.Request) {
			for _, api := range apis {
				mended, changes := openai.Repair(r.Request, api)
				for _, c := range changes {
					require.Equal(t, openai.RuleUTF8, c.Rule, c)
				}
				check(t, api, replaytest.Request{Request: mended, Line: r.Line, Close: r.Close}, given)
			}
		})
	})
}

// openAI returns an answer as a model of OpenAI's would have given it over Responses, with encrypted reasoning before it.
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

// check has a request judged by the package's own rules, and by a server that remembers what it gave.
func check(t *testing.T, api openai.API, r replaytest.Request, given memory) {
	t.Helper()
	require.NoError(t, openai.Validate(r.Request, api), "%s: line %d", api, r.Line)
	if r.Close {
		_, changes := openai.Repair(r.Request, api)
		require.Empty(t, changes, "%s: line %d", api, r.Line)
		require.Empty(t, judgedRequest(t, api, r.Request, given), "%s: line %d", api, r.Line)
	}
}

// judgedRequest returns what the server says of a request; "" if it takes it.
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
