package history_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/render"
)

// viewing is a user's own element that calls ViewIn.
type viewing struct {
	elements.Props
	session *history.Session
}

func (v viewing) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	view, err := v.session.ViewIn(ctx)
	return &elements.Finished{Messages: view.Messages()}, err
}

// showing lays a prompt out and returns what it shows of a session's view.
func showing(t testing.TB, s *history.Session, root elements.Node) *history.Shown {
	t.Helper()
	ctx, shown := s.WithShown(t.Context(), viewOf(t, s))
	_, err := render.Lay(ctx, root, render.Options{Budget: 1 << 20, Tokenizer: quarter{}})
	require.NoError(t, err)
	return shown
}

func TestShownReportsWhetherTheWholeViewIsShown(t *testing.T) {
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
		sessiontest.Add(t, s, entry.Entry{Body: entry.CustomMessage{}})
		return s
	}
	silent := func(t testing.TB) *history.Session { // the last round is not sent
		s := started(t)
		require.NoError(t, s.Append(t.Context(), chat.AssistantMessage(" ")))
		return s
	}
	empty := func(testing.TB) *history.Session { return numbered.Session() }
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
		rule    string
		session func(testing.TB) *history.Session
		root    func(*history.Session) elements.Node
		whole   bool
	}{
		{"the three elements show everything", rounds, all, true},
		{"an element that calls ViewIn shows everything", rounds, own, true},
		{"a prompt without the session shows nothing", rounds, none, false},
		{"a round is the last message of a turn that has one", rounds, turnRounds, false},
		{"the start is not the last message of a turn with rounds", rounds, start, false},
		{"the conversation does not show the current turn", rounds, conversation, false},
		{"a prompt without the conversation is not whole", rounds, both, false},
		{"the start is the last message of a turn without rounds", started, start, false},
		{"the rounds of a turn without rounds show nothing", started, turnRounds, false},
		{"the conversation shows the compaction", replaced, conversation, true},
		{"an empty turn shows nothing of a compaction", replaced, both, false},
		{"turns alone show nothing of a compaction", replaced, turns, false},
		{"the compaction apart from the turns is whole", replaced, apart, true},
		{"turns apart from the compaction are whole", rounds, apart, true},
		{"an element that calls LookIn shows nothing", rounds, looking, false},
		{"a turn without a start needs no TurnStart", unasked, turnRounds, true},
		{"a turn that sends nothing is passed over", hidden, conversation, true},
		{"a turn that sends nothing does not show the last message", hidden, both, false},
		{"a round that sends nothing is passed over", silent, start, false},
		{"all elements show a turn that sends nothing", hidden, all, true},
		{"of an empty session nothing is missing", empty, none, true},
		{"nor in a prompt that shows it", empty, all, true},
		{"nor in an element that calls ViewIn", empty, own, true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			s := tt.session(t)
			for range 2 { // the second time from what the session remembers
				shown := showing(t, s, tt.root(s))
				require.Equal(t, tt.whole, shown.Whole())
				require.Equal(t, tt.whole, shown.Check() == nil, shown.Check())
				require.False(t, shown.Other())
			}
		})
	}
}

func TestShownReportsThatAnElementShowsAnotherSession(t *testing.T) {
	s, other := agenda(t), agenda(t)
	for _, root := range []elements.Node{
		history.Conversation{Session: other}, history.TurnStart{Session: other}, history.TurnRounds{Session: other}, viewing{session: other},
	} {
		shown := showing(t, s, root)
		require.True(t, shown.Other())
		require.False(t, shown.Whole())
		shown = showing(t, s, elements.Nodes{prompt(s), root})
		require.True(t, shown.Other())
		require.True(t, shown.Whole())
	}
}

func TestWhatIsPrunedOfAViewCountsAsShown(t *testing.T) {
	s := agenda(t)
	ctx, shown := s.WithShown(t.Context(), viewOf(t, s))
	r, err := render.Render(ctx, elements.Nodes{
		elements.UserMessage{Children: elements.Nodes{elements.Text("Go on.")}},
		history.TurnRounds{Session: s, Droppable: true, Props: elements.Props{Priority: new(1)}},
	}, render.Options{Budget: 10, Tokenizer: quarter{}})
	require.NoError(t, err)
	require.Len(t, r.Messages, 1)
	require.True(t, shown.Any())
}

func TestAnElementThatFailsShowsNothing(t *testing.T) {
	s := agenda(t)
	ctx, shown := s.WithShown(t.Context(), viewOf(t, s))
	_, err := render.Lay(ctx, history.TurnRounds{Session: s, Limits: history.RoundLimits{Results: -1}}, render.Options{Budget: 1000, Tokenizer: quarter{}})
	require.Error(t, err)
	require.False(t, shown.Any())
}

func TestElementsWithAnotherViewOfTheSessionDoNotCount(t *testing.T) {
	s := agenda(t)
	ctx, shown := s.WithShown(t.Context(), viewOf(t, s))
	ctx = s.WithView(ctx, viewWith(t, s, summary("S", "e6")))
	require.NotEmpty(t, renderedIn(t, ctx, prompt(s)))
	require.False(t, shown.Whole())
	require.False(t, shown.Other())
}

func TestWithShownShowsTheGivenView(t *testing.T) {
	s := agenda(t)
	for _, v := range []history.View{viewWith(t, s, summary("S", "e6")), fields(viewWith(t, s, summary("S", "e6")))} {
		ctx, shown := s.WithShown(t.Context(), v)
		require.Equal(t, renderedIn(t, s.WithView(t.Context(), v), prompt(s)), renderedIn(t, ctx, prompt(s)))
		require.True(t, shown.Whole())
	}
}

// lookingOn looks at what others show of a session.
type lookingOn struct{ session *history.Session }

func (l lookingOn) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	_, err := l.session.LookIn(ctx)
	return nil, err
}

// Every sequence of up to four elements is accepted exactly if its parts are those of the view, once and in order.
func TestAViewIsAcceptedOnlyOnceAndInOrder(t *testing.T) {
	s := agenda(t)
	require.NoError(t, s.Compact(t.Context(), summary("S", "e4")))
	require.NoError(t, s.Append(t.Context(), userSays("u4"), agentSays("a6"), userSays("u5"), agentSays("a7")))
	kinds := []struct {
		shows string
		node  elements.Node
	}{
		{"m", history.Compacted{Session: s}}, {"mc", history.Conversation{Session: s}}, {"c", history.Conversation{Session: s, TurnsOnly: true}},
		{"s", history.TurnStart{Session: s}}, {"r", history.TurnRounds{Session: s}}, {"mcsr", history.All{Session: s}}, {"mcsr", viewing{session: s}},
	}
	accepted := 0
	var try func(shows string, nodes elements.Nodes)
	try = func(shows string, nodes elements.Nodes) {
		err := showing(t, s, nodes).Check()
		if shows == "mcsr" {
			accepted++
			require.NoError(t, err)
		} else {
			wrong, ok := errors.AsType[*history.ViewError](err)
			require.True(t, ok, shows)
			for part, ids := range map[string][]string{"m": {"e14"}, "c": {"e1", "e4", "e5", "e6", "e9", "e10", "e15", "e16"}, "s": {"e17"}, "r": {"e18"}} {
				for _, id := range ids {
					if !slices.Contains(partIDs(t, s), id) {
						continue
					}
					require.Equal(t, !strings.Contains(shows, part), slices.Contains(wrong.Missing, id), "%s: %s: %v", shows, id, err)
					require.Equal(t, strings.Count(shows, part) > 1, slices.Contains(wrong.Repeated, id), "%s: %s: %v", shows, id, err)
				}
			}
			require.NotEmpty(t, slices.Concat(wrong.Missing, wrong.Repeated, wrong.Late), shows)
			require.Equal(t, len(wrong.Missing) > 0, len(wrong.Elements) > 0, shows)
			require.Equal(t, shows == "", wrong.Nothing)
		}
		if len(nodes) == 4 {
			return
		}
		for _, k := range kinds {
			try(shows+k.shows, append(slices.Clip(nodes), k.node))
		}
	}
	try("", elements.Nodes{})
	require.Equal(t, 4, accepted, "All, the element that calls ViewIn, the three parts, and the four")
}

// partIDs returns the ids of what the view of a session shows.
func partIDs(t testing.TB, s *history.Session) (ids []string) {
	e, found := sessiontest.Latest(t, s, entry.TypeCompaction)
	require.True(t, found)
	ids = append(ids, e.ID)
	for _, turn := range viewOf(t, s).Turns {
		ids = append(ids, turn.Start.ID)
		for _, r := range turn.Rounds {
			ids = append(ids, r.Assistant.ID)
		}
	}
	return ids
}
