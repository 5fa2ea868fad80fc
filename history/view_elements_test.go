package history_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/render"
)

// say returns a text of 25 tokens that starts with a name.
func say(name string) string { return fmt.Sprintf("%-100s", name+" ") }

func userSays(name string) chat.Message { return chat.UserMessage(say(name)) }

func agentSays(name string) chat.Message { return chat.AssistantMessage(say(name)) }

// agentCalls returns an assistant message with text and tool calls.
func agentCalls(name string, ids ...string) chat.Message {
	m := agentSays(name)
	m.ToolCalls = calls(ids...).ToolCalls
	return m
}

// names returns the first word of each message.
func names(messages []chat.Message) string {
	var list []string
	for _, m := range messages {
		list = append(list, strings.Fields(m.Text())[0])
	}
	return strings.Join(list, " ")
}

// agenda returns a session of three turns. The second has parallel calls, and the third is the current one.
func agenda(t testing.TB) *history.Session {
	t.Helper()
	return talk(t,
		userSays("u1"), agentCalls("a1", "c1"), chat.ToolResult("c1", say("t1")), agentSays("a2"),
		userSays("u2"), agentCalls("a3", "c2", "c3"), chat.ToolResult("c3", say("t3")), chat.ToolResult("c2", say("t2")),
		userSays("u3"), agentCalls("a4", "c4"), chat.ToolResult("c4", say("t4")), agentCalls("a5", "c5"), chat.ToolResult("c5", say("t5")),
	)
}

// shrinking fits a prompt to smaller and smaller budgets until it does not fit, and returns the names of each result.
func shrinking(t testing.TB, root elements.Node) (shown []string, err error) {
	t.Helper()
	layout, err := render.Lay(t.Context(), root, render.Options{Budget: 1000, Tokenizer: quarter{}})
	require.NoError(t, err)
	for budget := 1000; budget > 0; {
		r, err := layout.Fit(t.Context(), budget)
		if empty, ok := errors.AsType[*render.EmptyPromptError](err); ok {
			r, err = empty.Result, nil
		}
		if err != nil {
			return shown, err
		}
		require.LessOrEqual(t, r.Tokens, budget)
		shown = append(shown, names(r.Messages))
		budget = r.Tokens - 1
	}
	return shown, nil
}

func TestElementsShowTheirPartsOfTheSession(t *testing.T) {
	s := agenda(t)
	for _, tt := range []struct {
		rule string
		root elements.Node
		want string
	}{
		{"Conversation shows the turns before the current one", history.Conversation{Session: s}, "u1 a1 t1 a2 u2 a3 t2 t3"},
		{"TurnStart shows the current turn's user message", history.TurnStart{Session: s}, "u3"},
		{"TurnRounds shows the rounds of the current turn", history.TurnRounds{Session: s}, "a4 t4 a5 t5"},
		{"All shows everything", history.All{Session: s}, "u1 a1 t1 a2 u2 a3 t2 t3 u3 a4 t4 a5 t5"},
		{"a prompt with all three shows everything", prompt(s), "You u1 a1 t1 a2 u2 a3 t2 t3 u3 a4 t4 a5 t5"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.Equal(t, tt.want, names(rendered(t, tt.root, 1000)))
			require.NoError(t, s.Append(t.Context())) // an empty Append changes nothing
			require.Equal(t, tt.want, names(rendered(t, tt.root, 1000)))
		})
	}
	t.Run("a compaction's messages come first", func(t *testing.T) {
		s := agenda(t)
		require.NoError(t, s.Compact(t.Context(), entry.Compaction{FirstKept: "e6", Messages: []chat.Message{userSays("S1"), userSays("S2")}}))
		require.Equal(t, "You S1 S2 u2 a3 t2 t3 u3 a4 t4 a5 t5", names(rendered(t, prompt(s), 1000)))
		require.Equal(t, "S1 S2 u2 a3 t2 t3 u3 a4 t4 a5 t5", names(rendered(t, history.All{Session: s}, 1000)))
	})
	t.Run("a session may start with the assistant", func(t *testing.T) {
		s := talk(t, agentSays("a1"))
		require.Equal(t, "You a1", names(rendered(t, prompt(s), 1000)))
		require.NoError(t, s.Append(t.Context(), userSays("u1")))
		require.Equal(t, "You a1 u1", names(rendered(t, prompt(s), 1000)))
	})
	t.Run("an empty session shows nothing", func(t *testing.T) {
		require.Equal(t, "You", names(rendered(t, prompt(numbered.Session()), 1000)))
	})
}

func TestElementsNeedASession(t *testing.T) {
	for path, e := range map[string]elements.Node{
		"Conversation": history.Conversation{}, "TurnStart": history.TurnStart{}, "TurnRounds": history.TurnRounds{},
		"All > Conversation": history.All{},
	} {
		_, err := render.Render(t.Context(), e, render.Options{Budget: 100, Tokenizer: quarter{}})
		require.ErrorIs(t, err, history.ErrSessionUnset)
		require.Equal(t, path, errorAs[*render.ElementError](t, err).Path)
	}
}

func TestHistoryIsRequiredByDefault(t *testing.T) {
	s := agenda(t)
	for path, root := range map[string]elements.Node{
		"All": history.All{Session: s}, "Conversation": history.Conversation{Session: s},
		"TurnStart": history.TurnStart{Session: s}, "TurnRounds": history.TurnRounds{Session: s},
	} {
		t.Run(path+" is required", func(t *testing.T) {
			shown, err := shrinking(t, root)
			require.Len(t, shown, 1, "all or nothing")
			over := errorAs[*render.BudgetExceededError](t, err)
			require.Equal(t, over.Budget+1, over.Needed, "one token more would fit")
			require.True(t, strings.HasPrefix(over.Largest[0].Path, path), over.Largest[0].Path)
			require.True(t, over.Largest[0].Required)
		})
	}
}

func TestEverythingElseIsDroppedBeforeRequiredHistory(t *testing.T) {
	s := agenda(t)
	root := append(prompt(s), elements.UserMessage{
		Props:    elements.Props{Priority: new(1 << 30)},
		Children: elements.Nodes{elements.Text(say("extra"))},
	})
	shown, err := shrinking(t, root)
	require.Equal(t, []string{
		"You u1 a1 t1 a2 u2 a3 t2 t3 u3 a4 t4 a5 t5 extra",
		"You u1 a1 t1 a2 u2 a3 t2 t3 u3 a4 t4 a5 t5",
		"u1 a1 t1 a2 u2 a3 t2 t3 u3 a4 t4 a5 t5",
	}, shown)
	_ = errorAs[*render.BudgetExceededError](t, err)
}

func TestTheOldestOfDroppableHistoryIsDroppedFirst(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		compact entry.Compaction
		root    func(*history.Session) elements.Node
		want    []string
	}{
		{
			"a user message is dropped after its rounds, and parallel calls with all their results", entry.Compaction{},
			func(s *history.Session) elements.Node { return history.Conversation{Session: s, Droppable: true} },
			[]string{"u1 a1 t1 a2 u2 a3 t2 t3", "u1 a2 u2 a3 t2 t3", "u1 u2 a3 t2 t3", "u2 a3 t2 t3", "u2", ""},
		},
		{
			"the oldest round of the current turn is dropped first", entry.Compaction{},
			func(s *history.Session) elements.Node { return history.TurnRounds{Session: s, Droppable: true} },
			[]string{"a4 t4 a5 t5", "a5 t5", ""},
		},
		{
			"a compaction's messages are dropped last",
			entry.Compaction{Messages: []chat.Message{userSays("S1"), userSays("S2")}, FirstKept: "e4"},
			func(s *history.Session) elements.Node { return history.Conversation{Session: s, Droppable: true} },
			[]string{"S1 S2 u1 a2 u2 a3 t2 t3", "S1 S2 u1 u2 a3 t2 t3", "S1 S2 u2 a3 t2 t3", "S1 S2 u2", "S1 S2", "S2", ""},
		},
		{
			"All drops the turns that are over before the current one, and never its start", entry.Compaction{},
			func(s *history.Session) elements.Node { return history.All{Session: s, Droppable: true} },
			[]string{
				"u1 a1 t1 a2 u2 a3 t2 t3 u3 a4 t4 a5 t5", "u1 a2 u2 a3 t2 t3 u3 a4 t4 a5 t5", "u1 u2 a3 t2 t3 u3 a4 t4 a5 t5",
				"u2 a3 t2 t3 u3 a4 t4 a5 t5", "u2 u3 a4 t4 a5 t5", "u3 a4 t4 a5 t5", "u3 a5 t5", "u3",
			},
		},
		{
			"Required wins over Droppable in All too", entry.Compaction{},
			func(s *history.Session) elements.Node {
				return history.All{Session: s, Droppable: true, Props: elements.Props{Required: true}}
			},
			[]string{"u1 a1 t1 a2 u2 a3 t2 t3 u3 a4 t4 a5 t5"},
		},
		{
			"Required wins over Droppable", entry.Compaction{},
			func(s *history.Session) elements.Node {
				return history.TurnRounds{Session: s, Droppable: true, Props: elements.Props{Required: true}}
			},
			[]string{"a4 t4 a5 t5"},
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := agenda(t)
			if tt.compact.Messages != nil {
				require.NoError(t, s.Compact(t.Context(), tt.compact))
			}
			shown, _ := shrinking(t, tt.root(s))
			equal(t, tt.want, shown)
		})
	}
}

func TestDroppableHistoryIsDroppedByItsPriority(t *testing.T) {
	s := agenda(t)
	root := elements.Nodes{
		elements.UserMessage{Props: elements.Props{Priority: new(10)}, Children: elements.Nodes{elements.Text(say("low"))}},
		history.Conversation{Session: s, Droppable: true, Props: elements.Props{Priority: new(20)}},
		elements.UserMessage{Props: elements.Props{Priority: new(30)}, Children: elements.Nodes{elements.Text(say("high"))}},
	}
	shown, _ := shrinking(t, root)
	require.Equal(t, "low u1 a1 t1 a2 u2 a3 t2 t3 high", shown[0])
	require.Equal(t, "u1 a1 t1 a2 u2 a3 t2 t3 high", shown[1])
	require.Equal(t, []string{"u2 high", "high"}, shown[len(shown)-3:len(shown)-1])
}

func TestTheReportNamesTheElements(t *testing.T) {
	s := agenda(t)
	root := elements.Nodes{history.Conversation{Session: s, Droppable: true}, history.TurnStart{Session: s}}
	r, err := render.Render(t.Context(), root, render.Options{Budget: 200, Tokenizer: quarter{}})
	require.NoError(t, err)
	require.NotEmpty(t, r.Report().Dropped())
	for _, p := range r.Report().Dropped() {
		require.True(t, strings.HasPrefix(p.Path, "Conversation > round"), p.Path)
		require.Equal(t, render.Reason("chunk"), p.Dropped)
	}
}

func TestATreeMayShowASessionTwice(t *testing.T) {
	s := agenda(t)
	root := elements.Nodes{history.TurnStart{Session: s}, history.Conversation{Session: s}, history.TurnStart{Session: s}}
	require.Equal(t, "u3 u1 a1 t1 a2 u2 a3 t2 t3 u3", names(rendered(t, root, 1000)))
}

func TestACancelledContextEndsTheRender(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	_, err := render.Render(ctx, prompt(agenda(t)), render.Options{Budget: 1000, Tokenizer: quarter{}})
	require.ErrorIs(t, err, enough)
}

// The session has messages of all kinds, and is too large for the window.
func TestThePromptOfALargeSessionIsThatOfTheGoldenFile(t *testing.T) {
	speaking := func(text string, ids ...string) chat.Message {
		m := chat.AssistantMessage(text)
		m.ToolCalls = calls(ids...).ToolCalls
		return m
	}
	failed := chat.ToolResult("c4", "exit status 1\n"+numberedLines(60))
	failed.IsError = true
	write := chat.Message{
		Role: chat.RoleAssistant,
		Content: chat.Parts{
			chat.Thinking{Text: "Write it anew.", Signature: "c2ln"},
			chat.Text("I write the file."),
		},
		ToolCalls: []chat.ToolCall{{ID: "c5", Name: "write", Arguments: `{"path":"main.go","text":` + quoted(numberedLines(60)) + `,"mode":420}`}},
	}
	s := talk(t,
		chat.UserMessage("What is in here?"),
		speaking("Let me look.", "c1", "c2"), chat.ToolResult("c2", "main.go"), chat.ToolResult("c1", ""),
		chat.AssistantMessage("A Go module."),
		chat.UserMessage("Why does it not build?"),
		speaking("I build it.", "c4"), failed,
		said(chat.Thinking{Text: "Cut off"}),
		write,
		chat.UserMessage("Stop. Which line is wrong?"),
		speaking("Reading.", "c6", "c7"), chat.ToolResult("c7", numberedLines(400)),
	)
	golden.Equal(t, "prompt.txt", dump(rendered(t, prompt(s), 1200)))
	require.NoError(t, s.Compact(t.Context(), summary("<summary>\nThe user asked what is in here: a Go module.\n</summary>", "e10")))
	golden.Equal(t, "prompt-compacted.txt", dump(rendered(t, prompt(s), 1200)))
	r, err := render.Render(t.Context(), prompt(s), render.Options{Budget: 1200, Tokenizer: quarter{}})
	require.NoError(t, err)
	require.NoError(t, chat.Validate(r.Messages))
}

// Who wrote an answer is known to the adapter that sends it back, from a log that was reopened too.
func TestThePromptNamesTheOriginOfAnAnswer(t *testing.T) {
	path := tempFile(t)
	s := opened(t, path)
	answer := agentSays("a1")
	answer.Origin = chat.Origin{Provider: "openai", Server: "https://api.example", Model: "m"}
	require.NoError(t, s.Append(t.Context(), userSays("u1"), answer, userSays("u2")))
	require.NoError(t, s.Close())
	s = opened(t, path)
	require.Equal(t, answer, rendered(t, history.All{Session: s}, 1000)[1], "finished")
	require.Equal(t, answer, rendered(t, elements.Message(elements.Props{}, answer), 1000)[0], "as an element")
}
