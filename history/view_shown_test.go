package history_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render"
)

// viewing is a user's own element that calls ViewIn.
type viewing struct {
	elements.Props
	session *history.Session
}

func (v viewing) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	view, err := history.ViewIn(ctx, v.session)
	return &elements.Finished{Messages: view.Messages()}, err
}

// showing lays a prompt out and returns what it shows of a session's view.
func showing(t testing.TB, s *history.Session, root elements.Node) *history.Shown {
	t.Helper()
	ctx, shown := history.WithShown(t.Context(), s, viewOf(t, s))
	_, err := render.Lay(ctx, root, render.Options{Budget: 1 << 20, Tokenizer: quarter{}})
	require.NoError(t, err)
	return shown
}

func TestShownTellsTheLastMessageFromTheWholeView(t *testing.T) {
	rounds := func(t testing.TB) *history.Session { return agenda(t) }
	started := func(t testing.TB) *history.Session { // the current turn has only its start
		s := agenda(t)
		require.NoError(t, s.Append(t.Context(), userSays("u4")))
		return s
	}
	replaced := func(t testing.TB) *history.Session { // only the compaction's message is left
		s := talk(t, agentSays("a1")) // the start of a turn would be kept
		require.NoError(t, s.Compact(t.Context(), summary("S", "")))
		require.Empty(t, viewOf(t, s).Turns)
		return s
	}
	unasked := func(t testing.TB) *history.Session { return talk(t, agentSays("a1")) }
	hidden := func(t testing.TB) *history.Session { // nothing of the last turn is sent
		s := agenda(t)
		_, err := s.Add(t.Context(), entry.Entry{Body: entry.CustomMessage{}})
		require.NoError(t, err)
		return s
	}
	silent := func(t testing.TB) *history.Session { // the last round is not sent
		s := started(t)
		require.NoError(t, s.Append(t.Context(), chat.AssistantMessage(" ")))
		return s
	}
	conversation := func(s *history.Session) elements.Node { return history.Conversation{Session: s} }
	start := func(s *history.Session) elements.Node { return history.TurnStart{Session: s} }
	turnRounds := func(s *history.Session) elements.Node { return history.TurnRounds{Session: s} }
	both := func(s *history.Session) elements.Node { return elements.Nodes{start(s), turnRounds(s)} }
	none := func(*history.Session) elements.Node { return elements.Nodes{} }
	all := func(s *history.Session) elements.Node { return prompt(s) }
	own := func(s *history.Session) elements.Node { return viewing{session: s} }
	turns := func(s *history.Session) elements.Node { return history.Conversation{Session: s, TurnsOnly: true} }
	apart := func(s *history.Session) elements.Node {
		return elements.Nodes{history.Compacted{Session: s}, turns(s), both(s)}
	}
	looking := func(s *history.Session) elements.Node { return lookingOn{s} }
	for _, tt := range []struct {
		rule        string
		session     func(testing.TB) *history.Session
		root        func(*history.Session) elements.Node
		last, whole bool
	}{
		{"the three elements show everything", rounds, all, true, true},
		{"an element that calls ViewIn shows everything", rounds, own, true, true},
		{"a prompt without the session shows nothing", rounds, none, false, false},
		{"a round is the last message of a turn that has one", rounds, turnRounds, true, false},
		{"the start is not the last message of a turn with rounds", rounds, start, false, false},
		{"the conversation does not show the current turn", rounds, conversation, false, false},
		{"a prompt without the conversation is not whole", rounds, both, true, false},
		{"the start is the last message of a turn without rounds", started, start, true, false},
		{"the rounds of a turn without rounds show nothing", started, turnRounds, false, false},
		{"the conversation shows the compaction", replaced, conversation, true, true},
		{"an empty turn shows nothing of a compaction", replaced, both, false, false},
		{"turns alone show nothing of a compaction", replaced, turns, false, false},
		{"the compaction apart from the turns is whole", replaced, apart, true, true},
		{"turns apart from the compaction are whole", rounds, apart, true, true},
		{"an element that calls LookIn shows nothing", rounds, looking, false, false},
		{"a turn without a start needs no TurnStart", unasked, turnRounds, true, true},
		{"a turn that sends nothing is passed over", hidden, conversation, true, true},
		{"a turn that sends nothing does not show the last message", hidden, both, false, false},
		{"a round that sends nothing is passed over", silent, start, true, false},
		{"all elements show a turn that sends nothing", hidden, all, true, true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := tt.session(t)
			for range 2 { // the second time from what the session remembers
				shown := showing(t, s, tt.root(s))
				require.Equal(t, tt.last, shown.Last(), "last")
				require.Equal(t, tt.whole, shown.Whole(), "whole")
				require.False(t, shown.Other())
			}
		})
	}
}

func TestAnEmptyViewHasNoLastMessageAndIsShownWhole(t *testing.T) {
	s := numbered.Session()
	require.True(t, viewOf(t, s).Empty())
	for _, root := range []elements.Node{prompt(s), viewing{session: s}, elements.Nodes{}} {
		shown := showing(t, s, root)
		require.False(t, shown.Last())
		require.True(t, shown.Whole())
	}
}

func TestAViewIsEmptyIfItHasNoMessage(t *testing.T) {
	silent := talk(t, chat.AssistantMessage(" "))
	_, err := silent.Add(t.Context(), entry.Entry{Body: entry.CustomMessage{}})
	require.NoError(t, err)
	for _, v := range []history.View{{}, viewOf(t, silent), {Turns: []history.Turn{{}}}} {
		require.True(t, v.Empty())
		require.Empty(t, v.Messages())
	}
	for _, v := range []history.View{viewOf(t, agenda(t)), viewOf(t, talk(t, agentSays("a1"))), viewOf(t, talk(t, userSays("u1"))), {Compacted: []chat.Message{chat.UserMessage("S")}}} {
		require.False(t, v.Empty())
		require.NotEmpty(t, v.Messages())
	}
}

func TestShownReportsThatAnElementShowsAnotherSession(t *testing.T) {
	s, other := agenda(t), agenda(t)
	for _, root := range []elements.Node{
		history.Conversation{Session: other}, history.TurnStart{Session: other}, history.TurnRounds{Session: other}, viewing{session: other},
	} {
		shown := showing(t, s, root)
		require.True(t, shown.Other())
		require.False(t, shown.Last())
		require.False(t, shown.Whole())
		shown = showing(t, s, elements.Nodes{prompt(s), root})
		require.True(t, shown.Other())
		require.True(t, shown.Last())
		require.True(t, shown.Whole())
	}
}

func TestWhatIsPrunedOfAViewCountsAsShown(t *testing.T) {
	s := agenda(t)
	ctx, shown := history.WithShown(t.Context(), s, viewOf(t, s))
	r, err := render.Render(ctx, elements.Nodes{
		elements.UserMessage{Children: elements.Nodes{elements.Text("Go on.")}},
		history.TurnRounds{Session: s, Droppable: true, Props: elements.Props{Priority: new(1)}},
	}, render.Options{Budget: 10, Tokenizer: quarter{}})
	require.NoError(t, err)
	require.Len(t, r.Messages, 1)
	require.True(t, shown.Last())
}

func TestAnElementThatFailsShowsNothing(t *testing.T) {
	s := agenda(t)
	ctx, shown := history.WithShown(t.Context(), s, viewOf(t, s))
	_, err := render.Lay(ctx, history.TurnRounds{Session: s, Limits: history.Limits{Results: -1}}, render.Options{Budget: 1000, Tokenizer: quarter{}})
	require.Error(t, err)
	require.False(t, shown.Last())
}

func TestElementsWithAnotherViewOfTheSessionDoNotCount(t *testing.T) {
	s := agenda(t)
	ctx, shown := history.WithShown(t.Context(), s, viewOf(t, s))
	ctx = history.WithView(ctx, s, viewWith(t, s, summary("S", "e6")))
	require.NotEmpty(t, renderedIn(t, ctx, prompt(s)))
	require.False(t, shown.Last())
	require.False(t, shown.Whole())
	require.False(t, shown.Other())
}

func TestWithShownShowsTheGivenView(t *testing.T) {
	s := agenda(t)
	for _, v := range []history.View{viewWith(t, s, summary("S", "e6")), fields(viewWith(t, s, summary("S", "e6")))} {
		ctx, shown := history.WithShown(t.Context(), s, v)
		require.Equal(t, renderedIn(t, history.WithView(t.Context(), s, v), prompt(s)), renderedIn(t, ctx, prompt(s)))
		require.True(t, shown.Last())
		require.True(t, shown.Whole())
	}
}

func TestShownIsSafeForConcurrentUse(t *testing.T) {
	s, other := agenda(t), agenda(t)
	ctx, shown := history.WithShown(t.Context(), s, viewOf(t, s))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			root := []elements.Node{history.Conversation{Session: s}, history.TurnStart{Session: s}, history.TurnRounds{Session: s}, viewing{session: other}}[i%4]
			_, err := render.Lay(ctx, root, render.Options{Budget: 1000, Tokenizer: quarter{}})
			assert.NoError(t, err)
			shown.Last()
		})
	}
	all.Wait()
	require.True(t, shown.Last())
	require.True(t, shown.Whole())
	require.True(t, shown.Other())
}

// lookingOn looks at what others show of a session.
type lookingOn struct{ session *history.Session }

func (l lookingOn) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	_, err := history.LookIn(ctx, l.session)
	return nil, err
}
