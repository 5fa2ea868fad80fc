package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/provider/retry"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/internal/trim"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// markedSession is a session whose messages begin with unique marks. It follows each mark from the message into a request
// for a summary, and from the answer of that request, which begins with a mark of its own, into a compaction.
type markedSession struct {
	t       testing.TB
	name    string // of the session, for failures
	c       *summarize.Compactor
	prompt  elements.Node
	numbers int
	checked map[string]bool // the compactions that were checked
	long    bool            // summaries are longer than their room

	mu      sync.Mutex // guards the fields below
	answers map[string][]string
	plans   map[string][]string // the answers for each plan whose summary was cut at a section
	trimmed map[string]bool
	events  []event.Event
	excused map[string]bool // the marks that a compaction covers unseen
}

var markText = regexp.MustCompile(`@[uarcs]\d+@`)

// marksOf returns the marks in the JSON of a value.
func marksOf(t testing.TB, v any) []string {
	return markText.FindAllString(string(sure.JSON(t, v)), -1)
}

func newMarkedSession(t testing.TB, name string, p policy.Policy, target policy.Target) *markedSession {
	s := &markedSession{
		t: t, name: name, answers: map[string][]string{}, plans: map[string][]string{}, trimmed: map[string]bool{}, excused: map[string]bool{}, checked: map[string]bool{},
	}
	if target.Model == nil {
		target.Model = chat.ModelFunc(s.answer)
	}
	target.Tokenizer = quarter{}
	p.Ask.Judge.Off = true // its summaries are a list of marks
	s.c = &summarize.Compactor{Session: numbered.Session(), Policy: p, Target: target, Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, e)
		if slices.Contains(e.Mended, "cut at a section") {
			s.trimmed[e.Plan] = true
		}
	})}}
	return s
}

// mark returns the next mark of a kind: u for the user's, a for the assistant's, c for a call, r for a result, s for a summary.
func (s *markedSession) mark(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.numbers++
	return fmt.Sprintf("@%s%d@", kind, s.numbers)
}

// answer answers a request with a summary, and records the marks that the request shows.
func (s *markedSession) answer(ctx context.Context, r chat.Request) (chat.Response, error) {
	mark := s.mark("s")
	shown := marksOf(s.t, r.Messages)
	s.mu.Lock()
	s.answers[mark] = shown
	for _, e := range slices.Backward(s.events) {
		if e.Kind == event.Started {
			s.plans[e.Plan] = append(s.plans[e.Plan], mark)
			break
		}
	}
	s.mu.Unlock()
	text := mark + " and the work goes on as it was asked for."
	if s.long {
		text += strings.Repeat("\n## More\n"+words(60), 40)
	}
	return models.SaySummary(text)(ctx, r)
}

// reach returns the marks that a compaction shows or that its summary was told of, in one or more steps.
func (s *markedSession) reach(c entry.Compaction) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := map[string]bool{}
	next := marksOf(s.t, c.Messages)
	for plan := range s.trimmed {
		next = append(next, s.plans[plan]...)
	}
	for len(next) > 0 {
		m := next[0]
		next = next[1:]
		if !got[m] {
			got[m] = true
			next = append(next, s.answers[m]...)
		}
	}
	return got
}

// say appends messages.
func (s *markedSession) say(messages ...chat.Message) {
	require.NoError(s.t, s.c.Session.Append(context.Background(), messages...))
}

func (s *markedSession) add(b entry.Body) {
	_, err := s.c.Session.Add(context.Background(), entry.Entry{Body: b})
	require.NoError(s.t, err)
}

func (s *markedSession) user(tokens int) {
	s.say(chat.UserMessage(s.mark("u") + words(max(2, tokens))))
}

// round appends a round of one or more calls with results of about the given tokens.
func (s *markedSession) round(tokens, calls int) {
	m := chat.AssistantMessage(s.mark("a") + words(8))
	var results []chat.Message
	for range calls {
		mark := s.mark("c")
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: "call" + mark, Name: "read", Arguments: fmt.Sprintf(`{"path":%q}`, mark+".go")})
		results = append(results, chat.ToolResult("call"+mark, strings.Replace(mark, "c", "r", 1)+words(max(2, tokens/calls))))
	}
	s.say(append([]chat.Message{m}, results...)...)
}

func (s *markedSession) heard(kinds ...event.Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.events, func(e event.Event) bool { return slices.Contains(kinds, e.Kind) })
}

// entries returns the entries of the current path.
func (s *markedSession) entries() (list []entry.Entry) {
	for e, err := range s.c.Session.PathTo(context.Background(), "") {
		require.NoError(s.t, err)
		list = append(list, e)
	}
	return list
}

// render renders the prompt and checks it.
func (s *markedSession) render(ctx context.Context) (*render.Result, error) {
	s.mu.Lock()
	s.events = slices.DeleteFunc(s.events, func(e event.Event) bool { return e.Kind != event.Started })
	s.mu.Unlock()
	r, err := s.c.Render(ctx, s.prompt)
	s.check(r)
	return r, err
}

// own returns the mark of a message, and the one of its call for a tool's result.
func own(m chat.Message) []string {
	list := markText.FindAllString(m.Text(), 1)
	if m.Role == chat.RoleTool {
		list = append(list, strings.TrimPrefix(m.ToolCallID, "call"))
	}
	return list
}

// check checks every new compaction, and what a prompt shows; nil for none.
func (s *markedSession) check(r *render.Result) {
	s.t.Helper()
	list := s.entries()
	view := viewOf(s.t, s.c.Session)
	viewed := map[string]bool{}
	for _, turn := range view.Turns {
		viewed[turn.Start.ID] = true
		for _, round := range turn.Rounds {
			viewed[round.Assistant.ID] = true
			for _, result := range round.Results {
				viewed[result.ID] = true
			}
		}
	}
	cleared := map[string]bool{}
	for _, e := range list {
		if c, ok := e.Body.(entry.Clearing); ok {
			for _, of := range c.Results {
				cleared[of.Entry] = true
			}
		}
	}
	var newest *entry.Compaction
	for at, e := range list {
		c, ok := e.Body.(entry.Compaction)
		if !ok {
			continue
		}
		newest = &c
		if s.checked[e.ID] {
			continue
		}
		s.checked[e.ID] = true
		reached := s.reach(c)
		first := at
		if i := slices.IndexFunc(list, func(k entry.Entry) bool { return k.ID == c.FirstKept }); i >= 0 {
			first = i
		} else if i := slices.IndexFunc(list, func(k entry.Entry) bool { return k.ID == c.LastCovered }); i >= 0 {
			first = i + 1
		}
		for _, k := range list[:first] {
			if k.Type() != entry.TypeMessage || viewed[k.ID] || cleared[k.ID] {
				continue
			}
			marks := own(k.Message())
			switch {
			case slices.ContainsFunc(marks, func(m string) bool { return reached[m] || s.excused[m] }):
			case c.Unseen:
				require.Equal(s.t, "copilot-chat", s.c.Policy.Name, s.name)
				require.NotEqual(s.t, chat.RoleUser, k.Message().Role, "%s: the packed request keeps what the user says", s.name)
				for _, m := range marks {
					s.excused[m] = true
				}
			default:
				s.t.Fatalf("%s: compaction %s (%s, %s) covers %v, which is in no request for its summary, and in no copy", s.name, e.ID, c.Plan, c.Mode, marks)
			}
		}
	}
	if r == nil {
		return
	}
	require.NoError(s.t, chat.Validate(r.Messages), s.name)
	prompt := map[string]bool{}
	for _, m := range marksOf(s.t, r.Messages) {
		prompt[m] = true
	}
	results := map[string]string{}
	for _, m := range r.Messages {
		if m.Role == chat.RoleTool {
			results[m.ToolCallID] = m.Text()
		}
	}
	if s.heard(event.LetGo, event.Truncated) {
		return // the render says that the prompt does not show everything
	}
	for _, k := range list {
		if k.Type() != entry.TypeMessage || !viewed[k.ID] || cleared[k.ID] {
			continue
		}
		said := k.Message()
		bare := fmt.Sprintf("[... %d tokens cut here ...]", quarter{}.CountText(said.Text()))
		if m := own(said); !prompt[m[0]] && results[said.ToolCallID] != bare { // if nothing else fits, history.Clip returns this
			s.t.Fatalf("%s: %v of the %s left the prompt, without an event", s.name, m[0], k.Message().Role)
		}
	}
	if newest != nil {
		for _, m := range marksOf(s.t, newest.Messages) {
			require.True(s.t, prompt[m], "%s: %s of the newest compaction is in the prompt", s.name, m)
		}
	}
}

// shownPrompt returns a prompt that shows a session; the conversation or the rounds of the turn may be droppable.
func shownPrompt(s *history.Session, conversation, rounds bool, more ...elements.Node) elements.Nodes {
	return elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Props: elements.Props{Priority: new(700), FlexGrow: 1}, Session: s, Droppable: conversation},
		elements.Nodes(more),
		history.TurnStart{Props: elements.Props{Priority: new(900), FlexGrow: 2}, Session: s},
		history.TurnRounds{Props: elements.Props{Priority: new(899), FlexGrow: 2}, Session: s, Droppable: rounds},
	}
}

// cuts take the place of those of the policies.
var cuts = []history.Cut{{}, {Messages: 3}, {Messages: 20, First: 2}, {Tokens: 900}, {Rounds: 2}, {ToolBoundary: true}, {Tokens: 1200, SinceCompaction: true}}

// workAtRandom runs a session that the seed decides, on several branches.
func workAtRandom(t *testing.T, name string, seed uint64) (compactions int) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	budget := 1000 + rnd.IntN(3000)
	if rnd.IntN(12) == 0 {
		budget *= 3
	}
	target := policy.Target{Budget: budget, Name: "m"}
	if rnd.IntN(3) > 0 {
		target.ContextWindow = budget + rnd.IntN(budget)
	}
	s := newMarkedSession(t, fmt.Sprintf("seed %d, %s", seed, name), policies.All()[name], target)
	defer func() { require.NoError(t, s.c.Close()) }()
	bad, limit := rnd.IntN(4) == 0, 0
	if rnd.IntN(4) == 0 {
		limit = max(800, budget/(2+rnd.IntN(4)))
	}
	var mu sync.Mutex
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rnd.IntN(n)
	}
	s.c.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
		size := count(quarter{}, r.Messages)
		if limit > 0 && size > limit {
			if draw(2) == 0 {
				return chat.Response{}, &chat.ContextLimitError{Limit: limit, Tokens: size, Err: errors.New("too large")}
			}
			return chat.Response{}, status(413)
		}
		if bad {
			switch draw(12) {
			case 0:
				return chat.Response{}, errDown
			case 1:
				return models.Say("")(ctx, r)
			case 2:
				return chat.Response{}, status(413)
			case 3:
				return chat.Response{}, &chat.ContextLimitError{Limit: size - 1, Tokens: size, Err: errors.New("too large")}
			case 4:
				return chat.Response{}, status(400)
			case 5:
				if err := retry.Sleep(ctx, 3*time.Minute); err != nil {
					return chat.Response{}, err
				}
			}
		}
		return s.answer(ctx, r)
	})
	s.prompt = shownPrompt(s.c.Session, rnd.IntN(2) == 0, rnd.IntN(2) == 0)
	if rnd.IntN(3) == 0 {
		extra := elements.UserMessage{Props: elements.Props{Priority: new(rnd.IntN(1000))}, Children: elements.Nodes{elements.Text("More. " + words(budget/4))}}
		s.prompt = shownPrompt(s.c.Session, true, rnd.IntN(2) == 0, extra)
	}
	if s.long = rnd.IntN(4) == 0; rnd.IntN(3) == 0 {
		s.c.Policy.Cut = cuts[rnd.IntN(len(cuts))]
	}
	if rnd.IntN(3) == 0 && (name == "copilot-chat" || rnd.IntN(2) == 0) {
		s.c.Policy.Ask.Mode = []policy.Mode{"", policy.ModeSimple}[rnd.IntN(2)]
	}
	var leaves []string
	step := 40 + rnd.IntN(budget/4)
	for n := range 14 + rnd.IntN(16) {
		size := step/2 + draw(step)
		if draw(15) == 0 {
			size *= 5
		}
		if n == 0 || draw(4) == 0 {
			if n > 0 {
				s.say(chat.AssistantMessage(s.mark("a") + words(4)))
			}
			s.user(size / 4)
		} else {
			s.round(size, 1+draw(3))
		}
		switch draw(12) {
		case 0:
			s.add(entry.Shell{Command: "go test", Output: words(20)})
		case 1:
			s.add(entry.CustomMessage{Name: "continue", Content: chat.Parts{chat.Text("Continue.")}})
		case 2:
			if len(leaves) > 0 {
				require.NoError(t, s.c.Session.Branch(t.Context(), leaves[draw(len(leaves))]))
			}
		case 3, 4, 5:
			leaves = append(leaves, s.c.Session.Leaf())
		}
		r, err := s.render(t.Context())
		if err == nil && draw(12) == 0 {
			s.mu.Lock()
			s.events = slices.DeleteFunc(s.events, func(e event.Event) bool { return e.Kind != event.Started })
			s.mu.Unlock()
			smaller, err := s.c.Recover(t.Context(), s.prompt, status(413), "")
			if err == nil {
				s.check(smaller)
			}
		}
		if err == nil && draw(2) == 0 {
			s.add(entry.Usage{Model: "m", Usage: chat.Usage{Input: r.Tokens, Output: 10}, Counted: r.Tokens})
		}
		if draw(2) == 0 {
			time.Sleep(time.Duration(draw(10)) * time.Minute)
			require.NoError(t, s.c.Wait(t.Context()))
		}
	}
	return len(s.checked)
}

// TestEveryMessageThatACompactionCoversWasShownToItsSummariser runs random sessions: PROMPTREE_SUMMARIZE_COVERED, or 60.
func TestEveryMessageThatACompactionCoversWasShownToItsSummariser(t *testing.T) {
	n := numberFrom(t, "PROMPTREE_SUMMARIZE_COVERED", 60)
	names := policies.Names()
	var mu sync.Mutex
	made := map[string]int{}
	t.Run("sessions", func(t *testing.T) {
		for seed := range uint64(n) {
			name := names[seed%uint64(len(names))]
			t.Run(fmt.Sprintf("%d under %s", seed, name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					compactions := workAtRandom(t, name, seed)
					mu.Lock()
					defer mu.Unlock()
					made[name] += compactions
				})
			})
		}
	})
	t.Logf("compactions: %v", made)
	for _, name := range names {
		require.Positive(t, made[name], name)
	}
}

func TestTheBeginningOfACutTurnThatIsSummarisedInSegmentsShowsEachSegmentTheSummaryOfTheOneBefore(t *testing.T) {
	s := newMarkedSession(t, t.Name(), policies.All()["oh-my-pi"], policy.Target{Budget: 4000, Name: "m"})
	defer func() { require.NoError(t, s.c.Close()) }()
	s.prompt = shownPrompt(s.c.Session, false, false)
	s.c.Policy.Cut.Tokens = 700
	s.c.Target.Model = chat.ModelFunc(func(ctx context.Context, r chat.Request) (chat.Response, error) {
		if n := count(quarter{}, r.Messages); n > 1000 {
			return chat.Response{}, &chat.ContextLimitError{Limit: 1000, Tokens: n, Err: errors.New("too large")}
		}
		return s.answer(ctx, r)
	})
	s.user(40)
	s.round(300, 1)
	s.say(chat.AssistantMessage(s.mark("a") + "Done."))
	s.user(40)
	for range 18 {
		s.round(200, 1)
	}
	_, err := s.render(t.Context())
	require.NoError(t, err)
	require.Len(t, s.checked, 1)
}

// The budget leaves room for the answer, and the conversation may be dropped.
func TestASecretSaidEarlyIsShownOrSummarisedThoughHistoryIsDroppable(t *testing.T) {
	for _, window := range []int{12_000, 14_000, 18_000, 20_000} {
		for _, name := range policies.Names() {
			t.Run(fmt.Sprintf("%s in %d", name, window), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					budget, err := sizing.Window{Tokens: window, Answer: 3200}.Budget(0)
					require.NoError(t, err)
					s := newMarkedSession(t, t.Name(), policies.All()[name], policy.Target{Budget: budget, ContextWindow: window, Name: "m"})
					defer func() { require.NoError(t, s.c.Close()) }()
					s.prompt = shownPrompt(s.c.Session, true, false)
					const secret = 3
					for n := range 36 {
						s.user(60)
						if n == secret {
							s.say(chat.AssistantMessage(s.mark("a")+"I look."), chat.UserMessage(s.mark("u")+"The code is 4711."))
						}
						s.round(800, 1)
						_, err := s.render(t.Context())
						require.NoError(t, err)
						require.False(t, s.heard(event.LetGo, event.Truncated), "a good model lets nothing go")
						time.Sleep(time.Minute)
						s.say(chat.AssistantMessage(s.mark("a") + "Done."))
					}
					require.NotEmpty(t, s.checked)
				})
			})
		}
	}
}

// thirdFixture returns a session of 12,000 tokens under a policy, whose summaries are asked of a model that takes in 4,000.
// The agent's own model does not answer.
func thirdFixture(t *testing.T, name string, small func(s *markedSession) func(context.Context, chat.Request) (chat.Response, error)) *markedSession {
	s := newMarkedSession(t, t.Name(), policies.All()[name], policy.Target{Budget: 12_000, ContextWindow: 12_000, Name: "m", Model: down(errDown)})
	t.Cleanup(func() { require.NoError(t, s.c.Close()) })
	s.c.Policy.Ask.Names, s.c.Policy.Ask.Cheapest = []string{"small"}, false
	s.c.Policy.Cut.Tokens, s.c.Policy.Clear = 2000, policy.Clear{}
	s.c.Models = map[string]policy.Target{"small": {Model: chat.ModelFunc(small(s)), Tokenizer: quarter{}, ContextWindow: 4000}}
	s.prompt = shownPrompt(s.c.Session, false, false)
	for range 16 {
		s.user(30)
		s.round(450, 1)
		s.say(chat.AssistantMessage(s.mark("a") + words(400)))
	}
	s.user(30)
	return s
}

func TestAHistoryLargerThanTheSummariserTakesIsAskedInSegments(t *testing.T) {
	for _, name := range policies.Names() {
		t.Run(name, func(t *testing.T) {
			asked, largest := 0, 0
			s := thirdFixture(t, name, func(s *markedSession) func(context.Context, chat.Request) (chat.Response, error) {
				return func(ctx context.Context, r chat.Request) (chat.Response, error) {
					s.mu.Lock()
					asked++
					largest = max(largest, count(quarter{}, r.Messages)+r.MaxTokens)
					s.mu.Unlock()
					return s.answer(ctx, r)
				}
			})
			_, err := s.render(t.Context())
			require.NoError(t, err)
			require.Len(t, s.checked, 1)
			require.Greater(t, asked, 1, "segments")
			require.LessOrEqual(t, largest, 4000)
			for _, c := range compactions(s.c.Session) {
				require.False(t, c.Unseen)
			}
		})
	}
}

func TestAPackedRequestThatLeavesMessagesOutIsSaid(t *testing.T) {
	s := thirdFixture(t, "copilot-chat", func(s *markedSession) func(context.Context, chat.Request) (chat.Response, error) {
		return func(ctx context.Context, r chat.Request) (chat.Response, error) {
			if len(r.Messages) > 2 { // in full mode
				return chat.Response{}, status(422)
			}
			return s.answer(ctx, r)
		}
	})
	s.c.Policy.Ask.Mode = policy.ModeSimple
	_, err := s.render(t.Context())
	require.NoError(t, err)
	list := compactions(s.c.Session)
	require.Len(t, list, 1)
	require.Equal(t, string(policy.ModeSimple), list[0].Mode)
	require.True(t, list[0].Unseen)
	require.NotEmpty(t, s.excused)
	said := slices.IndexFunc(s.events, func(e event.Event) bool { return e.Kind == event.Done })
	require.True(t, s.events[said].Unseen)
}

// The prompt shows only summaries and the turn at hand, on purpose, so the agent's request cannot be asked for a summary of earlier turns.
func TestAPromptWithoutTheConversationIsNoBaseForItsSummary(t *testing.T) {
	for _, name := range policies.Names() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMarkedSession(t, t.Name(), policies.All()[name], policy.Target{Budget: 6000, ContextWindow: 6000, Name: "m"})
				defer func() { require.NoError(t, s.c.Close()) }()
				s.c.Policy.Clear = policy.Clear{}
				of := s.c.Session
				s.prompt = elements.Nodes{history.LeftOut{Session: of}, history.Compacted{Session: of}, history.TurnStart{Session: of}, history.TurnRounds{Session: of}}
				for range 3 {
					s.user(30)
					s.round(300, 1)
					s.say(chat.AssistantMessage(s.mark("a") + "Done."))
				}
				s.user(30)
				for range 30 {
					s.round(300, 1)
					_, err := s.c.Render(t.Context(), s.prompt)
					require.NoError(t, err)
					time.Sleep(time.Minute)
					require.NoError(t, s.c.Wait(t.Context()))
					s.check(nil)
				}
				require.NotEmpty(t, s.checked)
			})
		})
	}
}

func TestOfTwoSummariesThatAreTooLongBothAreCut(t *testing.T) {
	s := newMarkedSession(t, t.Name(), policies.All()["oh-my-pi"], policy.Target{Budget: 4000, Name: "m"})
	s.prompt, s.long = shownPrompt(s.c.Session, false, false), true
	s.c.Policy.Cut.Tokens = 700
	s.user(40)
	for range 6 {
		s.round(300, 1)
	}
	s.say(chat.AssistantMessage(s.mark("a") + "Done."))
	s.user(40)
	for range 9 {
		s.round(200, 1)
	}
	_, err := s.render(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.c.Close()) // nothing asks for the title any more
	c := compactions(s.c.Session)[0]
	for _, mark := range s.plans[c.Plan][:2] { // for the history, and for the turn that is cut
		require.Contains(t, c.Text, mark)
	}
	require.Equal(t, 2, strings.Count(c.Text, trim.RestLeftOut))
}
