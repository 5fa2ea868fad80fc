package summarize_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/internal/plan"
	"github.com/promptree-go/promptree/summarize/policy"
)

// stepOf makes a step with a prompt on a session, and returns its error. The model must not be asked.
func stepOf(t *testing.T, d fixture, prompt elements.Node) error {
	t.Helper()
	before := entries(t, d.Session)
	asked := len(d.Requests())
	_, err := (&agent.Agent{Compactor: d.Unjudged(), Prompt: prompt}).Step(t.Context())
	require.Error(t, err)
	require.Len(t, d.Requests(), asked, "nothing is sent or asked")
	equal(t, before, entries(t, d.Session))
	return err
}

func TestAPromptThatDoesNotShowWhatWasSaidLastIsRefusedBeforeAnythingIsSent(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for name, messages := range map[string][]chat.Message{
			"that fits":         {chat.UserMessage("Hello.")},
			"that does not fit": append(overflowing(), chat.AssistantMessage("Done."), chat.UserMessage("And now?")),
		} {
			t.Run(name, func(t *testing.T) {
				d := newFixture(t, messages...)
				d.Policy = p
				system := elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}}
				root := elements.Nodes{system, history.Conversation{Session: d.Session}, history.TurnRounds{Session: d.Session}}
				_, err := d.Render(t.Context(), root)
				require.ErrorAs(t, err, new(*history.ViewError))
				require.ErrorAs(t, stepOf(t, d, root), new(*history.ViewError))
				require.ErrorContains(t, err, "place history.TurnStart", "it says what to do")
				require.Empty(t, d.Requests())
			})
		}
	})
}

func TestAPromptOfAnotherSessionIsRefusedBeforeAnythingIsSent(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		for name, messages := range map[string][]chat.Message{"that fits": {chat.UserMessage("Hello.")}, "that does not fit": overflowing()} {
			t.Run(name, func(t *testing.T) {
				d := newFixture(t, messages...)
				d.Policy = p
				other := numbered.Session()
				require.NoError(t, other.Append(t.Context(), messages...))
				_, err := d.Render(t.Context(), prompt(other))
				require.ErrorIs(t, err, plan.ErrOtherSession)
				require.ErrorIs(t, stepOf(t, d, prompt(other)), plan.ErrOtherSession)
				require.ErrorContains(t, err, "give its history elements that session", "it says what to do")
				require.Empty(t, d.Requests())
			})
		}
	})
}

func TestAStepNeedsSomethingThatWasSaidAndARenderDoesNot(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t)
		d.Policy = p
		err := stepOf(t, d, prompt(d.Session))
		require.ErrorIs(t, err, agent.ErrNothingSaid)
		require.ErrorContains(t, err, "append what the user says", "it says what to do")
		require.Len(t, d.Rendered(prompt(d.Session)).Messages, 1, "the system message")
	})
}

func TestAStepThatHasNothingToAnswerSaysSo(t *testing.T) {
	for name, messages := range map[string][]chat.Message{
		"the user's message is blank":   {chat.UserMessage("Hello."), chat.AssistantMessage("Hi."), chat.UserMessage(" \n")},
		"the assistant has spoken last": {chat.UserMessage("Hello."), chat.AssistantMessage("Hi.")},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, messages...)
			require.ErrorContains(t, stepOf(t, d, prompt(d.Session)), "append what the user says, which is not shown if it is blank")
		})
	}
}

func TestAHintIsGivenOnlyForItsOwnCause(t *testing.T) {
	answer := elements.AssistantMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("So far so good.")}}
	d := newFixture(t, chat.UserMessage("Hello."))
	err := stepOf(t, d, elements.Nodes{prompt(d.Session), answer})
	require.ErrorContains(t, err, "place what follows the session in the prompt before it", "the user has spoken last")
	require.NotContains(t, err.Error(), "append what the user says")
	d = newFixture(t, chat.UserMessage("Hello."), chat.AssistantMessage("Hi."))
	d.Target.Tools = []chat.Tool{{Name: "read a file"}}
	err = stepOf(t, d, prompt(d.Session))
	require.ErrorContains(t, err, `the name "read a file" of a tool has white space`)
	require.NotContains(t, err.Error(), "append what the user says")
}

func TestAPromptWhoseOnlyUserMessageWasPrunedIsRefused(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t, chat.UserMessage("Hello."))
		d.Policy = p
		root := elements.Nodes{
			elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
			question{d.Session},
			elements.UserMessage{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{elements.Text("The question. " + words(5000))}},
		}
		_, err := d.Render(t.Context(), root)
		require.ErrorIs(t, err, summarize.ErrNoUserMessage)
		require.ErrorIs(t, stepOf(t, d, root), summarize.ErrNoUserMessage)
		require.ErrorContains(t, err, "raise Target.Budget", "it says what to do")
	})
}

// question is an element that reads the session's view, and shows nothing of it.
type question struct{ session *history.Session }

func (q question) ElementProps() elements.Props { return elements.Props{Required: true} }

func (q question) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	_, err := q.session.ViewIn(ctx)
	return nil, err
}

func TestAStepRefusesMessagesThatBreakTheProvidersRules(t *testing.T) {
	eachPolicy(t, func(t *testing.T, p policy.Policy) {
		d := newFixture(t, chat.UserMessage("Hello."))
		d.Policy = p
		root := append(prompt(d.Session), elements.ToolMessage{
			Props: elements.Props{Required: true}, ToolCallID: "nobody", Children: elements.Nodes{elements.Text("A result without a call.")},
		})
		err := stepOf(t, d, root)
		require.ErrorAs(t, err, new(*chat.ValidationError))
		require.ErrorContains(t, err, "nobody")
	})
}

// chosen is an element of the application's own that shows a turn's start by itself.
type chosen struct {
	elements.Props
	session *history.Session
}

func (c chosen) Render(ctx context.Context, _ elements.Sizing) (elements.Node, error) {
	view, err := c.session.LookIn(ctx)
	if err != nil {
		return nil, err
	}
	start := view.Turns[len(view.Turns)-1].Start
	return elements.Nodes{
		history.LeftOut{Session: c.session, Entries: []string{start.ID}},
		elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("The user asks: " + start.Message().Text())}},
	}, nil
}

// wraps is an element of the application's own that shows others.
type wraps struct{ nodes elements.Nodes }

func (w wraps) Render(context.Context, elements.Sizing) (elements.Node, error) { return w.nodes, nil }

// long returns a fixture whose session was compacted, and has finished turns and rounds of the turn at hand.
func long(t *testing.T) fixture {
	d := newFixture(t, chat.UserMessage("One?"), chat.AssistantMessage("Yes, one."), chat.UserMessage("Two?"))
	require.NoError(t, d.Session.Append(t.Context(), round(1, 50)...))
	require.NoError(t, d.Session.Append(t.Context(), chat.AssistantMessage("Yes, two.")))
	require.NoError(t, d.Session.Compact(t.Context(), entry.Compaction{Messages: []chat.Message{chat.UserMessage("Before: one.")}, FirstKept: "e3"}))
	require.NoError(t, d.Session.Append(t.Context(), chat.UserMessage("Three?")))
	require.NoError(t, d.Session.Append(t.Context(), round(2, 50)...))
	return d
}

// parts are the ways in which tests show parts of a session.
type parts struct {
	all, compacted, conversation, turns, start, rounds, own, leftOut elements.Node
}

func partsOf(s *history.Session) parts {
	return parts{
		history.All{Session: s}, history.Compacted{Session: s}, history.Conversation{Session: s}, history.Conversation{Session: s, TurnsOnly: true},
		history.TurnStart{Session: s}, history.TurnRounds{Session: s}, question{s}, history.LeftOut{Session: s},
	}
}

// userText returns a message of the user.
func userText(text string) elements.Node {
	return elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(text)}}
}

func TestElementsThatDoNotShowTheSessionOnceInOrderAreRefused(t *testing.T) {
	for name, root := range map[string]func(p, other parts) elements.Nodes{
		"nothing":                          func(_, _ parts) elements.Nodes { return elements.Nodes{userText("Hello.")} },
		"a copy of the messages":           func(_, _ parts) elements.Nodes { return elements.Nodes{userText("Two?"), userText("Three?")} },
		"only what is left out":            func(p, _ parts) elements.Nodes { return elements.Nodes{p.leftOut} },
		"only another session":             func(_, o parts) elements.Nodes { return elements.Nodes{o.all} },
		"only another session's parts":     func(_, o parts) elements.Nodes { return elements.Nodes{o.conversation, o.start, o.rounds} },
		"another session's conversation":   func(p, o parts) elements.Nodes { return elements.Nodes{o.conversation, p.start, p.rounds} },
		"another session's start":          func(p, o parts) elements.Nodes { return elements.Nodes{p.conversation, o.start, p.rounds} },
		"another session's rounds":         func(p, o parts) elements.Nodes { return elements.Nodes{p.conversation, p.start, o.rounds} },
		"another session's summaries":      func(p, o parts) elements.Nodes { return elements.Nodes{o.compacted, p.turns, p.start, p.rounds} },
		"no conversation":                  func(p, _ parts) elements.Nodes { return elements.Nodes{p.start, p.rounds} },
		"no turns":                         func(p, _ parts) elements.Nodes { return elements.Nodes{p.compacted, p.start, p.rounds} },
		"no summaries":                     func(p, _ parts) elements.Nodes { return elements.Nodes{p.turns, p.start, p.rounds} },
		"no start":                         func(p, _ parts) elements.Nodes { return elements.Nodes{p.conversation, p.rounds} },
		"no rounds":                        func(p, _ parts) elements.Nodes { return elements.Nodes{p.conversation, p.start} },
		"only the conversation":            func(p, _ parts) elements.Nodes { return elements.Nodes{p.conversation} },
		"only the turns":                   func(p, _ parts) elements.Nodes { return elements.Nodes{p.turns} },
		"only the summaries":               func(p, _ parts) elements.Nodes { return elements.Nodes{p.compacted} },
		"only the start":                   func(p, _ parts) elements.Nodes { return elements.Nodes{p.start} },
		"only the rounds":                  func(p, _ parts) elements.Nodes { return elements.Nodes{p.rounds} },
		"only the summaries and the start": func(p, _ parts) elements.Nodes { return elements.Nodes{p.compacted, p.start} },
		"everything twice":                 func(p, _ parts) elements.Nodes { return elements.Nodes{p.all, p.all} },
		"everything, then the parts":       func(p, _ parts) elements.Nodes { return elements.Nodes{p.all, p.conversation, p.start, p.rounds} },
		"everything, and the start again":  func(p, _ parts) elements.Nodes { return elements.Nodes{p.all, p.start} },
		"everything, and the rounds again": func(p, _ parts) elements.Nodes { return elements.Nodes{p.all, p.rounds} },
		"the summaries before everything":  func(p, _ parts) elements.Nodes { return elements.Nodes{p.compacted, p.all} },
		"the turns before everything":      func(p, _ parts) elements.Nodes { return elements.Nodes{p.turns, p.all} },
		"the conversation twice": func(p, _ parts) elements.Nodes {
			return elements.Nodes{p.conversation, p.conversation, p.start, p.rounds}
		},
		"the summaries twice":                   func(p, _ parts) elements.Nodes { return elements.Nodes{p.compacted, p.conversation, p.start, p.rounds} },
		"the start twice":                       func(p, _ parts) elements.Nodes { return elements.Nodes{p.conversation, p.start, p.rounds, p.start} },
		"the rounds twice":                      func(p, _ parts) elements.Nodes { return elements.Nodes{p.conversation, p.start, p.rounds, p.rounds} },
		"an element that shows all, and All":    func(p, _ parts) elements.Nodes { return elements.Nodes{p.own, p.all} },
		"an element that shows all, twice":      func(p, _ parts) elements.Nodes { return elements.Nodes{p.own, p.own} },
		"an element that shows all, and a part": func(p, _ parts) elements.Nodes { return elements.Nodes{p.own, p.rounds} },
		"the start before the conversation":     func(p, _ parts) elements.Nodes { return elements.Nodes{p.start, p.conversation, p.rounds} },
		"the rounds before the start":           func(p, _ parts) elements.Nodes { return elements.Nodes{p.conversation, p.rounds, p.start} },
		"the conversation last":                 func(p, _ parts) elements.Nodes { return elements.Nodes{p.start, p.rounds, p.conversation} },
		"everything from the end":               func(p, _ parts) elements.Nodes { return elements.Nodes{p.rounds, p.start, p.conversation} },
		"the summaries behind the turns":        func(p, _ parts) elements.Nodes { return elements.Nodes{p.turns, p.compacted, p.start, p.rounds} },
		"the summaries last":                    func(p, _ parts) elements.Nodes { return elements.Nodes{p.turns, p.start, p.rounds, p.compacted} },
		"the side of an IfEmpty that is not taken": func(p, _ parts) elements.Nodes {
			return elements.Nodes{elements.IfEmpty{Children: elements.Nodes{userText("Hello.")}, Alt: p.all}}
		},
		"in an element of one's own, twice": func(p, _ parts) elements.Nodes {
			return elements.Nodes{wraps{elements.Nodes{p.all}}, wraps{elements.Nodes{p.start}}}
		},
		"in an element of one's own, in the wrong order": func(p, _ parts) elements.Nodes {
			return elements.Nodes{wraps{elements.Nodes{p.start, p.rounds}}, elements.Wrap{Children: elements.Nodes{p.conversation}}}
		},
		"laid out in order, placed in another": func(p, _ parts) elements.Nodes {
			return elements.Nodes{elements.Wrap{Props: elements.Props{FlexGrow: 1}, Children: elements.Nodes{p.start, p.rounds}}, elements.Wrap{Props: elements.Props{FlexGrow: 2}, Children: elements.Nodes{p.conversation}}}
		},
		"what is left out is not the current turn": func(p, _ parts) elements.Nodes { return elements.Nodes{p.leftOut, p.conversation} },
		"another session's left out":               func(p, o parts) elements.Nodes { return elements.Nodes{o.leftOut, p.start, p.rounds} },
	} {
		t.Run(name, func(t *testing.T) {
			d := long(t)
			require.Equal(t, []string{"e1", "e2", "e3"}, []string{entries(t, d.Session)[0].ID, entries(t, d.Session)[1].ID, entries(t, d.Session)[2].ID})
			prompt := root(partsOf(d.Session), partsOf(long(t).Session))
			err := stepOf(t, d, prompt)
			if _, ok := errors.AsType[*history.ViewError](err); !ok {
				require.ErrorIs(t, err, plan.ErrOtherSession)
			}
			require.Regexp(t, "place history|take out|give its history", err.Error(), "it says what to do")
			_, err = d.Render(t.Context(), prompt)
			require.Error(t, err)
		})
	}
}

func TestElementsThatShowTheSessionOnceInOrderAreAccepted(t *testing.T) {
	for name, root := range map[string]func(p, other parts) elements.Nodes{
		"All":         func(p, _ parts) elements.Nodes { return elements.Nodes{p.all} },
		"three parts": func(p, _ parts) elements.Nodes { return elements.Nodes{p.conversation, p.start, p.rounds} },
		"four parts":  func(p, _ parts) elements.Nodes { return elements.Nodes{p.compacted, p.turns, p.start, p.rounds} },
		"something between them": func(p, _ parts) elements.Nodes {
			return elements.Nodes{p.compacted, userText("Loaded."), p.turns, userText("Here."), p.start, p.rounds}
		},
		"an element that shows everything": func(p, _ parts) elements.Nodes { return elements.Nodes{p.own, userText("Go on.")} },
		"beside another session":           func(p, o parts) elements.Nodes { return elements.Nodes{o.compacted, p.all, userText("Go on.")} },
		"another session in between": func(p, o parts) elements.Nodes {
			return elements.Nodes{p.conversation, o.conversation, p.start, p.rounds}
		},
		"in elements around them": func(p, _ parts) elements.Nodes {
			return elements.Nodes{wraps{elements.Nodes{p.compacted, elements.Wrap{Children: elements.Nodes{p.turns}}}}, elements.TokenLimit{Max: 10000, Children: elements.Nodes{p.start, p.rounds}}}
		},
		"laid out in another order": func(p, _ parts) elements.Nodes {
			return elements.Nodes{elements.Wrap{Props: elements.Props{FlexGrow: 1}, Children: elements.Nodes{p.conversation}}, elements.Wrap{Props: elements.Props{FlexGrow: 2}, Children: elements.Nodes{p.start}}, p.rounds}
		},
		"the side of an IfEmpty that is taken": func(p, _ parts) elements.Nodes { return elements.Nodes{elements.IfEmpty{Alt: p.all}} },
		"both sides of an IfEmpty": func(p, _ parts) elements.Nodes {
			return elements.Nodes{elements.IfEmpty{Children: elements.Nodes{p.all}, Alt: p.all}}
		},
		"in an Expandable": func(p, _ parts) elements.Nodes {
			return elements.Nodes{elements.Expandable{Value: func(context.Context, elements.Sizing) (elements.Node, error) { return p.all, nil }}}
		},
		"versions of which the first fits": func(p, _ parts) elements.Nodes {
			return elements.Nodes{elements.First{Versions: elements.Nodes{elements.Wrap{Children: elements.Nodes{userText(words(9000)), p.all}}, p.all}}}
		},
		"the current turn alone, on purpose":   func(p, _ parts) elements.Nodes { return elements.Nodes{p.leftOut, p.start, p.rounds} },
		"the start in an element of one's own": func(p, _ parts) elements.Nodes { return elements.Nodes{p.conversation, p.chosen(), p.rounds} },
		"that may be pruned": func(p, _ parts) elements.Nodes {
			return elements.Nodes{elements.Wrap{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{p.conversation}}, p.start, p.rounds}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, other := long(t), long(t)
			d.Rendered(root(partsOf(d.Session), partsOf(other.Session)))
		})
	}
}

func (p parts) chosen() elements.Node { return chosen{session: p.start.(history.TurnStart).Session} }
