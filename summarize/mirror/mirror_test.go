package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/mirror"
	"github.com/promptree-go/promptree/summarize/models"
)

// compactorOn returns a compactor whose summaries are digests made without a model.
func compactorOn(t testing.TB, s *history.Session, budget int) *summarize.Compactor {
	c := &summarize.Compactor{
		Session: s, Policy: a3s.Policy(),
		Target: summarize.Target{Model: models.Offline{Tokenizer: sizingtest.Quarter{}}, Tokenizer: sizingtest.Quarter{}, Budget: budget},
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

const plenty = 100_000 // tokens

// script makes messages from words: u1 is the user's, a1 an answer, c1 an answer that calls a tool, r1 its result, and s1
// a system message.
func script(words string) (list []chat.Message) {
	for _, w := range strings.Fields(words) {
		switch w[0] {
		case 'u':
			list = append(list, chat.UserMessage(w))
		case 's':
			list = append(list, chat.SystemMessage(w))
		case 'a':
			list = append(list, chat.AssistantMessage(w))
		case 'c':
			m := chat.AssistantMessage(w)
			m.ToolCalls = []chat.ToolCall{{ID: "call_" + w[1:], Name: "read", Arguments: "{}"}}
			list = append(list, m)
		case 'r':
			list = append(list, chat.ToolResult("call_"+w[1:], w))
		}
	}
	return list
}

// path returns the messages on a session's path in the notation of script.
func path(t testing.TB, s *history.Session) string {
	t.Helper()
	var list []string
	for e, err := range s.PathTo(t.Context(), "") {
		require.NoError(t, err)
		switch b := e.Body.(type) {
		case entry.Message:
			list = append(list, b.Text())
		case entry.CustomMessage:
			list = append(list, chat.Message{Content: b.Content}.Text())
		}
	}
	return strings.Join(list, " ")
}

// said returns the number of messages of a session on all branches.
func said(t testing.TB, s *history.Session) (n int) {
	t.Helper()
	for e, err := range s.Entries(t.Context()) {
		require.NoError(t, err)
		if e.Type() == entry.TypeMessage || e.Type() == entry.TypeCustomMessage {
			n++
		}
	}
	return n
}

// texts returns the texts of messages, in a line.
func texts(list []chat.Message) string {
	return strings.ReplaceAll(strings.TrimSuffix(compacttest.Text(list), "\n"), "\n", " ")
}

// fit passes a list to a mirror, which returns what to send.
func fit[M any](t testing.TB, m *mirror.Mirror[M], list []M) mirror.Fitted[M] {
	t.Helper()
	fitted, err := m.Fit(t.Context(), mirror.Request[M]{Messages: list})
	require.NoError(t, err)
	return fitted
}

func TestTheSessionFollowsWhatTheOwnerDoesToItsList(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		added               int    // messages
		sent                string // what is sent, if it is not the list
	}{
		{"appends", "u1 a1", "u1 a1 u2", 1, ""},
		{"leaves as it is", "u1 a1 u2", "u1 a1 u2", 0, ""},
		{"edits in place", "u1 a1 u2", "u1 a9 u2", 2, ""},
		{"edits the last", "u1 a1 u2", "u1 a1 u9", 1, ""},
		{"edits the first", "u1 a1 u2", "u9 a1 u2", 3, ""},
		{"cuts off", "u1 a1 u2 a2 u3", "u1", 0, ""},
		{"cuts off and goes on", "u1 a1 u2 a2 u3", "u1 a1 u9", 1, ""},
		{"removes from the start", "u1 a1 u2 a2 u3", "u2 a2 u3", 3, ""},
		{"removes from the middle", "u1 a1 u2 a2 u3", "u1 a1 u3", 1, ""},
		{"inserts", "u1 a1 u3", "u1 a1 u2 u3", 2, ""},
		{"summarises itself", "u1 a1 u2 a2 u3", "u1-2 u3", 2, ""},
		{"repeats a message", "u1 a1", "u1 a1 u1 a1 u1", 3, ""},
		{"begins anew", "u1 a1", "u5", 1, ""},
		{"empties and begins anew", "u1 a1 u2", "u1", 0, ""},
		{"adds a result", "u1 c1", "u1 c1 r1", 1, ""},
		{"drops the call of a result", "u1 c1 r1", "u1 r1", 1, `u1 <tool-result> r1 </tool-result>`},
		{"drops a result", "u1 c1 r1 u2", "u1 c1 u2", 1, "u1 c1 (no result: the call was interrupted) u2"},
		{"changes the system prompt", "s1 u1 a1 u2", "s2 s3 u1 a1 u2", 0, ""},
		{"adds a system prompt", "u1 a1 u2", "s1 u1 a1 u2", 0, ""},
		{"says something as the system later", "u1 a1 u2", "u1 a1 s2 u2", 2, `u1 a1 <system-message> s2 </system-message> u2`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, restarts := range []bool{false, true} {
				s := sessiontest.New(t, &storage.Memory{}, history.Options{})
				m := mirror.New(compactorOn(t, s, plenty))
				fit(t, m, script(c.before))
				before := said(t, s)
				if restarts {
					m = mirror.New(compactorOn(t, s, plenty))
				}
				for range 2 {
					fitted := fit(t, m, script(c.after))
					sent := c.sent
					if sent == "" {
						sent = c.after
					}
					require.Equal(t, sent, texts(fitted.Messages))
					require.Equal(t, strings.TrimLeft(regexp.MustCompile(`^(s\d ?)*`).ReplaceAllString(c.after, ""), " "), path(t, s))
					require.Equal(t, c.added, said(t, s)-before, "restarts %v", restarts)
				}
			}
		})
	}
}

func TestAPartialListAddsToTheConversation(t *testing.T) {
	for _, c := range []struct {
		name, session, list, path string
	}{
		{"only the new message", "u1 a1", "u2", "u1 a1 u2"},
		{"questions and answers", "u1 c1 r1 a1", "u1 a1 u2", "u1 c1 r1 a1 u2"},
		{"the end", "u1 a1 u2 c2 r2 a2", "a2 u3", "u1 a1 u2 c2 r2 a2 u3"},
		{"asked again before the answer", "u1 a1 u2 c2 r2", "u2", "u1 a1 u2 c2 r2"},
		{"edited", "u1 a1 u2 a2 u3 a3", "u1 a1 u4", "u1 a1 u4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &history.Session{}
			require.NoError(t, s.Append(t.Context(), script(c.session)...))
			m := mirror.New(compactorOn(t, s, plenty))
			m.Partial = true
			for range 2 {
				fitted := fit(t, m, script(c.list))
				require.Equal(t, c.path, path(t, s))
				require.Equal(t, c.path, texts(fitted.Messages))
			}
		})
	}
}

// What is compared is redacted first, so the redactor counts the comparisons.
func TestALongComparisonOfAPartialListEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	redacted, comparing := 0, false
	s, err := history.New(ctx, &storage.Memory{}, history.Options{Redact: func(p entry.Passage) string {
		if redacted++; comparing {
			cancel()
		}
		return strings.ReplaceAll(p.Text, "4711", "-")
	}})
	require.NoError(t, err)
	list := slices.Repeat([]chat.Message{chat.UserMessage("continue 4711"), chat.AssistantMessage("ok 4711")}, 1000)
	require.NoError(t, s.Append(ctx, list...))
	m := mirror.New(compactorOn(t, s, plenty))
	m.Partial = true
	comparing, redacted = true, 0
	_, err = m.Fit(ctx, mirror.Request[chat.Message]{Messages: append([]chat.Message{chat.UserMessage("other")}, list...)})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, redacted, 5000)
}

func TestTheSystemPromptAndToolsOfARequestCountAndAreNotSentTwice(t *testing.T) {
	s := &history.Session{}
	m := mirror.New(compactorOn(t, s, plenty))
	tools := []chat.Tool{{Name: "read", Description: "Reads."}}
	m.Prompt = elements.Nodes{
		elements.SystemMessage{Children: elements.Nodes{elements.Text("House rules.")}},
		history.Conversation{Session: s}, history.TurnStart{Session: s}, history.TurnRounds{Session: s},
	}
	fitted, err := m.Fit(t.Context(), mirror.Request[chat.Message]{System: "You read.", Messages: script("u1"), Tools: tools})
	require.NoError(t, err)
	require.Equal(t, "House rules. u1", texts(fitted.Messages))
	require.Equal(t, "You read. House rules. u1", texts(fitted.Result.Messages))
	require.Equal(t, tools, m.Compactor.Current().Tools)
}

func TestCallsOfAnAnswerThatDidNotEndAreNotHandedOut(t *testing.T) {
	whole := chat.ToolCall{ID: "c1", Name: "look", Arguments: `{"path":"a"}`}
	half := chat.ToolCall{ID: "c2", Name: "look", Arguments: `{"path":"/etc/pas`}
	for _, tt := range []struct {
		reason string
		ended  bool
	}{
		{"length", false}, {"max_tokens", false}, {"MAX_TOKENS", false}, {"maxTokens", false}, {"content_filter", false}, {"filtered", false},
		{"error", false}, {"abort", false}, {"of a server nobody knows", false},
		{"tool_calls", true}, {"stop", true}, {"STOP", true}, {"tool_use", true}, {"toolCalls", true}, {"", true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			s := &history.Session{}
			m := mirror.New(compactorOn(t, s, plenty))
			fit(t, m, script("u1"))
			answer := chat.Message{Role: chat.RoleAssistant, Content: chat.Parts{chat.Text("I look.")}, ToolCalls: []chat.ToolCall{whole, half}}
			said, err := m.Answered(t.Context(), chat.Usage{}, tt.reason, answer)
			require.NoError(t, err)
			require.Len(t, said, 1)
			require.Len(t, answer.ToolCalls, 2, "the answer is not changed")
			if tt.ended {
				require.Equal(t, answer, said[0])
				return
			}
			require.Empty(t, said[0].ToolCalls)
			require.Contains(t, said[0].Text(), "no tool call in it was made")
			list := append(script("u1"), append(said, script("u2")...)...)
			fitted := fit(t, m, list)
			require.Equal(t, list, fitted.Messages)
			require.NoError(t, chat.ValidateRequest(chat.Request{Messages: fitted.Messages}))
		})
	}
}

func TestAnswersAndUsageAreRecordedOnce(t *testing.T) {
	s := &history.Session{}
	m := mirror.New(compactorOn(t, s, plenty))
	_, err := m.Answered(t.Context(), chat.Usage{}, "")
	require.Error(t, err)
	fit(t, m, script("u1"))
	list, err := m.Answered(t.Context(), chat.Usage{Input: 7}, "stop", script("a1")...)
	require.NoError(t, err)
	require.Equal(t, script("a1"), list)
	fitted := fit(t, m, script("u1 a1 u2"))
	require.Equal(t, "u1 a1 u2", path(t, s))
	require.Equal(t, 3, said(t, s))
	var kinds []entry.Type
	for _, e := range fitted.Entries {
		kinds = append(kinds, e.Type())
	}
	require.Equal(t, []entry.Type{entry.TypeMessage, entry.TypeUsage, entry.TypeMessage}, kinds, "since the last call")
	usage, ok := sessiontest.Latest(t, s, entry.TypeUsage)
	require.True(t, ok)
	require.Equal(t, 7, usage.Body.(entry.Usage).Usage.Input)

	require.NoError(t, s.Append(t.Context(), chat.UserMessage("from elsewhere")))
	var conflict *storage.ConflictError
	_, err = m.Answered(t.Context(), chat.Usage{}, "", script("a2")...)
	require.ErrorAs(t, err, &conflict)
	fit(t, m, script("u1 a1 u2 a2 u3"))
	require.Equal(t, "u1 a1 u2 a2 u3", path(t, s))
}

func TestARefusedPromptIsMadeSmaller(t *testing.T) {
	m := mirror.New(compactorOn(t, &history.Session{}, plenty))
	var list []chat.Message
	for n := range 40 {
		list = append(list, chat.UserMessage(fmt.Sprintf("question %d %s", n, strings.Repeat("abc ", 200))), chat.AssistantMessage("yes"))
	}
	list = append(list, chat.UserMessage("last"))
	fitted, err := m.Fit(t.Context(), mirror.Request[chat.Message]{System: "You answer.", Messages: list})
	require.NoError(t, err)
	require.Len(t, fitted.Messages, len(list))
	refused := &chat.ContextLimitError{Limit: 5000, Tokens: 9000, Err: errors.New("too large")}
	smaller, err := m.Refit(t.Context(), refused)
	require.NoError(t, err)
	require.Less(t, smaller.Result.Tokens, 5000)
	require.Equal(t, "last", smaller.Messages[len(smaller.Messages)-1].Text())
	other := errors.New("another error")
	_, err = m.Refit(t.Context(), other)
	require.ErrorIs(t, err, other)
}

func TestWhatAPolicySaysInTheUsersPlaceAfterATurnIsLeftOut(t *testing.T) {
	s := &history.Session{}
	compactor := compactorOn(t, s, 1000)
	compactor.Policy.Continue = "Go on."
	m := mirror.New(compactor)
	list := script("u1")
	for n := 0; ; n++ {
		require.Less(t, n, 20)
		fitted := fit(t, m, list)
		require.NotContains(t, texts(fitted.Messages), "Go on.")
		list = append(list, chat.AssistantMessage(strings.Repeat("abc ", 100)))
		require.NoError(t, m.EndTurn(t.Context(), list))
		if fitted.Compacted {
			break
		}
		list = append(list, chat.UserMessage(strings.Repeat("abc ", 50)))
	}
	require.Equal(t, texts(list), path(t, s))
}

func TestNothingUnchangedIsConvertedAgain(t *testing.T) {
	from, to := 0, 0
	m := mirror.New(compactorOn(t, &history.Session{}, 2000))
	m.From = func(c chat.Message) ([]chat.Message, error) { from++; return []chat.Message{c}, nil }
	m.To = func(list []chat.Message) ([]chat.Message, error) { to++; return list, nil }
	var list []chat.Message
	compacted := 0
	for n := range 60 {
		from, to = 0, 0
		list = append(list, chat.UserMessage(fmt.Sprint("question ", n)), chat.AssistantMessage(strings.Repeat("abc ", 50)), chat.UserMessage("and?"))
		fitted := fit(t, m, list)
		if n > 0 {
			require.Equal(t, 3, from)
		}
		if fitted.Compacted {
			compacted++
		} else {
			require.Zero(t, to)
		}
	}
	require.Positive(t, compacted)
}

func TestAHostsOwnMessageIsSentAsItIs(t *testing.T) {
	type message struct {
		chat.Message
		mark any // what no chat.Message has
	}
	m := &mirror.Mirror[*message]{
		Compactor: compactorOn(t, &history.Session{}, plenty),
		From:      func(m *message) ([]chat.Message, error) { return []chat.Message{m.Message}, nil },
		To: func(list []chat.Message) (out []*message, err error) {
			for _, c := range list {
				out = append(out, &message{c, "made"})
			}
			return out, nil
		},
	}
	var list []*message
	said := script("s1 u1 c1 r1 a1 u2")
	said[1].Content = append(said[1].Content, chat.Text("in two parts"), chat.Image{URL: "https://example.com/a.png"}, chat.Text("and one more"))
	said[3].Name = "read"
	for _, c := range said {
		list = append(list, &message{c, map[string]any{"extra": 1.5}})
	}
	list[2].ToolCalls = append(list[2].ToolCalls, chat.ToolCall{ID: "call_lost", Name: "read", Arguments: "{}"})
	fitted := fit(t, m, list)
	require.Len(t, fitted.Messages, 7)
	for i, at := range []int{0, 1, -1, -1, -1, 4, 5} { // the round as a whole has another form
		if at < 0 {
			require.Equal(t, "made", fitted.Messages[i].mark)
			continue
		}
		require.Same(t, list[at], fitted.Messages[i])
	}
	list[4].mark = map[string]any{"extra": 2} // which the session does not hold
	before := path(t, m.Compactor.Session)
	fit(t, m, list)
	require.Equal(t, before, path(t, m.Compactor.Session))
}

func TestCallsWithoutIDsAreAnsweredByTheirResults(t *testing.T) {
	call := func(name string) chat.ToolCall { return chat.ToolCall{Name: name, Arguments: "{}"} }
	result := func(id, name, text string) chat.Message {
		m := chat.ToolResult(id, text)
		m.Name = name
		return m
	}
	for _, c := range []struct {
		name    string
		calls   []chat.ToolCall
		results []chat.Message
	}{
		{"in order", []chat.ToolCall{call("a"), call("a")}, []chat.Message{result("", "", "of 0"), result("", "", "of 1")}},
		{"by name", []chat.ToolCall{call("a"), call("b")}, []chat.Message{result("", "b", "of 1"), result("", "a", "of 0")}},
		{"the same id twice", []chat.ToolCall{{ID: "x", Name: "a", Arguments: "{}"}, {ID: "x", Name: "b", Arguments: "{}"}}, []chat.Message{result("x", "", "of 0"), result("x", "", "of 1")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &history.Session{}
			list := append(script("u1"), chat.Message{Role: chat.RoleAssistant, ToolCalls: c.calls})
			for _, results := range [][]chat.Message{nil, c.results[:1], c.results} {
				for range 2 { // the second time after a restart
					fitted := fit(t, mirror.New(compactorOn(t, s, plenty)), slices.Concat(list, results))
					require.NoError(t, chat.Validate(fitted.Result.Messages))
					require.NoError(t, chat.Validate(fitted.Messages))
					require.Equal(t, 2+len(results), said(t, s))
				}
			}
			shown := sessiontest.View(t, s).Messages()
			for i, call := range shown[1].ToolCalls {
				require.Equal(t, call.ID, shown[2+i].ToolCallID)
				require.Equal(t, fmt.Sprint("of ", i), shown[2+i].Text())
			}
		})
	}
}

func TestACompactionStaysIfWhatItCoversWasNotEdited(t *testing.T) {
	s := &history.Session{}
	m := mirror.New(compactorOn(t, s, 1000))
	var list []chat.Message
	for n := 0; ; n++ {
		require.Less(t, n, 30)
		list = append(list, chat.UserMessage(fmt.Sprint("question ", n)))
		fitted := fit(t, m, list)
		list = append(list, chat.AssistantMessage(strings.Repeat("abc ", 60)))
		if fitted.Compacted {
			break
		}
	}
	for _, edited := range [][]chat.Message{
		append(slices.Clone(list), chat.UserMessage("next")),
		append(slices.Clone(list), chat.UserMessage("another question")),               // after the compaction
		append(slices.Clone(list[:len(list)-2]), chat.UserMessage("another question")), // before it, and kept by it
	} {
		fitted := fit(t, m, edited)
		require.Less(t, len(fitted.Messages), len(edited))
		require.False(t, fitted.Compacted)
		require.Equal(t, texts(edited), path(t, s))
	}
	m = mirror.New(compactorOn(t, s, 1000)) // after a restart
	fitted := fit(t, m, append(slices.Clone(list), chat.UserMessage("next")))
	require.Less(t, len(fitted.Messages), len(list))
	require.False(t, fitted.Compacted, "before")
	require.Less(t, len(fitted.Entries), 8, "what this call added")
	list[0] = chat.UserMessage("what was covered")
	fitted = fit(t, m, append(list, chat.UserMessage("next")))
	require.True(t, fitted.Compacted)
}

func TestRedactedMessagesAreNotRecordedAgain(t *testing.T) {
	store := &storage.Memory{}
	key := regexp.MustCompile(`sk-\w+`)
	list := []chat.Message{chat.UserMessage("my key is sk-1"), chat.AssistantMessage("thanks for sk-1"), chat.UserMessage("go on")}
	for range 2 { // the second time after a restart
		s := sessiontest.New(t, store, history.Options{Redact: func(p entry.Passage) string { return key.ReplaceAllString(p.Text, "[key]") }})
		fitted, err := mirror.New(compactorOn(t, s, plenty)).Fit(t.Context(), mirror.Request[chat.Message]{Messages: list})
		require.NoError(t, err)
		require.Equal(t, "my key is [key] thanks for [key] go on", texts(fitted.Messages))
		require.Equal(t, 3, said(t, s))
	}
}

// followed returns a function that fits a list after a restart with a redactor.
func followed(t *testing.T, store storage.Store, partial bool) func(redact func(string) string, list ...chat.Message) (*history.Session, string, error) {
	return func(redact func(string) string, list ...chat.Message) (*history.Session, string, error) {
		s := sessiontest.New(t, store, history.Options{Redact: func(p entry.Passage) string { return redact(p.Text) }})
		m := mirror.New(compactorOn(t, s, plenty))
		m.Partial = partial
		fitted, err := m.Fit(t.Context(), mirror.Request[chat.Message]{Messages: list})
		return s, texts(fitted.Messages), err
	}
}

func TestAnEditOfARedactedMessageIsRecordedAndSent(t *testing.T) {
	hide := func(text string) string { return strings.ReplaceAll(text, "hunter2", "[password]") }
	call := func(arguments string) chat.Message {
		return chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "run", Arguments: arguments}}}
	}
	for _, tt := range []struct {
		rule          string
		before, after chat.Message
		changed       bool
	}{
		{"a word is changed", chat.UserMessage("hunter2: delete file A"), chat.UserMessage("hunter2: do not delete file A"), true},
		{"the secret is taken out", chat.UserMessage("use hunter2"), chat.UserMessage("use nothing"), true},
		{"the secret is changed to another", chat.UserMessage("use hunter2 now"), chat.UserMessage("use 12345678 now"), true},
		{"a call is changed", call(`{"command":"login hunter2"}`), call(`{"command":"logout hunter2"}`), true},
		{"the position of the secret is changed", chat.UserMessage("a hunter2 b"), chat.UserMessage("a b hunter2"), true},
		{"nothing is changed", chat.UserMessage("hunter2: delete file A"), chat.UserMessage("hunter2: delete file A"), false},
		{"the owner redacts it too", chat.UserMessage("use hunter2"), chat.UserMessage("use [password]"), false},
		{"a call is as it was", call(`{"command":"login hunter2"}`), call(`{"command":"login hunter2"}`), false},
	} {
		for _, partial := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, partial %t", tt.rule, partial), func(t *testing.T) {
				fit := followed(t, &storage.Memory{}, partial)
				rest := []chat.Message{chat.ToolResult("1", "done"), chat.AssistantMessage("hunter2 it is"), chat.UserMessage("on")}
				if len(tt.before.ToolCalls) == 0 {
					rest = rest[1:]
				}
				s, _, err := fit(hide, append([]chat.Message{tt.before}, rest...)...)
				require.NoError(t, err)
				had := said(t, s)
				for range 2 {
					var sent string
					s, sent, err = fit(hide, append([]chat.Message{tt.after}, rest...)...)
					require.NoError(t, err)
					require.Contains(t, sent, hide(tt.after.Text()))
					require.Equal(t, tt.changed, said(t, s) > had)
				}
				require.LessOrEqual(t, said(t, s), 2*had, "it is recorded once")
				first := firstMessage(t, s)
				require.Equal(t, hide(tt.after.Text()), first.Message().Text())
				for i, c := range tt.after.ToolCalls {
					require.Equal(t, hide(c.Arguments), first.Message().ToolCalls[i].Arguments)
				}
			})
		}
	}
}

// firstMessage returns the first message on a session's path.
func firstMessage(t *testing.T, s *history.Session) entry.Entry {
	for e, err := range s.PathTo(t.Context(), "") {
		require.NoError(t, err)
		if e.Type() == entry.TypeMessage {
			return e
		}
	}
	return entry.Entry{}
}

func TestChangedRulesOfRedactionCostOneBranchOnce(t *testing.T) {
	fit := followed(t, &storage.Memory{}, false)
	list := []chat.Message{chat.UserMessage("use hunter2"), chat.AssistantMessage("ok"), chat.UserMessage("on")}
	for i, word := range []string{"[1]", "[2]", "[2]", "[2]", "[3]", "[3]"} {
		s, sent, err := fit(func(text string) string { return strings.ReplaceAll(text, "hunter2", word) }, list...)
		require.NoError(t, err)
		require.Equal(t, "use "+word+" ok on", sent)
		require.Equal(t, []int{3, 6, 6, 6, 9, 9}[i], said(t, s))
	}
}

func TestARedactorThatIsNotSteadyIsAnErrorThatNamesIt(t *testing.T) {
	for _, partial := range []bool{false, true} {
		fit := followed(t, &storage.Memory{}, partial)
		n := 0
		random := func(text string) string { n++; return strings.ReplaceAll(text, "hunter2", fmt.Sprint("[", n, "]")) }
		list := []chat.Message{chat.UserMessage("use hunter2"), chat.AssistantMessage("ok"), chat.UserMessage("on")}
		_, _, err := fit(random, list...)
		require.NoError(t, err)
		s, _, err := fit(random, list...)
		require.ErrorAs(t, err, new(*entry.RedactError))
		require.ErrorContains(t, err, "Options.Redact, at message.content[0].text: it returned different texts")
		require.Equal(t, 3, said(t, s))
	}
}

func TestMistakesAreErrors(t *testing.T) {
	_, err := (&mirror.Mirror[int]{}).Fit(t.Context(), mirror.Request[int]{})
	require.ErrorContains(t, err, "set Mirror.Compactor")
	_, err = (&mirror.Mirror[int]{Compactor: compactorOn(t, &history.Session{}, 1)}).Fit(t.Context(), mirror.Request[int]{})
	require.ErrorContains(t, err, "set Mirror.From")
	m := mirror.New(compactorOn(t, &history.Session{}, plenty))
	broken := errors.New("broken")
	m.From = func(chat.Message) ([]chat.Message, error) { return nil, broken }
	_, err = m.Fit(t.Context(), mirror.Request[chat.Message]{Messages: script("u1")})
	require.ErrorIs(t, err, broken)
}

func TestAMessageOfWhichTheSessionHasAPartIsRecordedWhole(t *testing.T) {
	s := &history.Session{}
	calls := chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "a", Arguments: "{}"}, {ID: "2", Name: "a", Arguments: "{}"}}}
	results := []chat.Message{chat.ToolResult("1", "r1"), chat.ToolResult("2", "r2")}
	require.NoError(t, s.Append(t.Context(), chat.UserMessage("u1"), calls, results[0])) // and then the process died
	m := &mirror.Mirror[[]chat.Message]{
		Compactor: compactorOn(t, s, plenty),
		From:      func(list []chat.Message) ([]chat.Message, error) { return list, nil },
		To:        func(list []chat.Message) ([][]chat.Message, error) { return [][]chat.Message{list}, nil },
	}
	list := [][]chat.Message{{chat.UserMessage("u1")}, {calls}, results}
	for range 2 {
		require.Equal(t, list, fit(t, m, list).Messages)
		require.Equal(t, "u1  r1 r2", path(t, s))
	}
}

func TestASmallerPictureIsSentAndTheHostsOriginalIsNoEdit(t *testing.T) {
	const large, small = "data:image/png;base64,QUFBQUFB", "data:image/png;base64,QQ=="
	file := filepath.Join(t.TempDir(), "session.jsonl")
	list := script("u1 a1 u2")
	list[0].Content = append(list[0].Content, chat.Image{URL: large})
	for n := range 2 { // in another process too
		s := sessiontest.Open(t, file, history.Options{Shrink: func(chat.Image) string { return small }})
		m := &mirror.Mirror[chat.Message]{
			Compactor: compactorOn(t, s, plenty),
			From:      func(m chat.Message) ([]chat.Message, error) { return []chat.Message{m}, nil },
			To:        func(list []chat.Message) ([]chat.Message, error) { return list, nil },
		}
		for range 2 {
			fitted, err := m.Fit(t.Context(), mirror.Request[chat.Message]{Messages: list})
			require.NoError(t, err)
			require.Equal(t, small, fitted.Messages[0].Content[1].(chat.Image).URL)
		}
		require.Equal(t, 3+2*n, said(t, s), "nothing is said twice")
		list = append(list, script("a2 u3")...)
		require.NoError(t, m.Compactor.Close())
		require.NoError(t, s.Close())
	}
}
