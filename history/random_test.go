package history_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/render"
)

// sayer makes random sessions. Each message has a name with its number: user messages and texts of the assistant start
// with it, and the ids of calls contain it.
type sayer struct {
	*rand.Rand
	session  *history.Session
	appended []chat.Message
	open     []string // calls without a result
	pending  []chat.Message
	number   int
	marks    bool // messages may have cache breakpoints
}

func (s *sayer) chance(of int) bool { return s.IntN(of) == 0 }

// add adds a message, and appends it at once or, now and then, with the next.
func (s *sayer) add(t testing.TB, m chat.Message) {
	t.Helper()
	s.pending = append(s.pending, m)
	if !s.chance(4) {
		s.flush(t)
	}
}

func (s *sayer) flush(t testing.TB) {
	t.Helper()
	require.NoError(t, s.session.Append(t.Context(), s.pending...))
	s.appended = append(s.appended, s.pending...)
	s.pending = nil
}

// text returns a few words, sometimes many, and sometimes invalid UTF-8.
func (s *sayer) text() string {
	switch s.IntN(12) {
	case 0:
		return numberedLines(s.IntN(100))
	case 1:
		return strings.Repeat("中文🙂", s.IntN(100)) + "\xff\n"
	case 2:
		return strings.Repeat("\x80", s.IntN(200))
	case 3:
		return " <b> & \t\n"
	}
	return strings.Repeat("word ", s.IntN(20))
}

func (s *sayer) name(kind string) string {
	s.number++
	return fmt.Sprintf("%s%d ", kind, s.number)
}

func (s *sayer) mark(parts chat.Parts) chat.Parts {
	if s.marks && s.chance(6) {
		parts = append(parts, chat.CacheBreakpoint{Type: "ephemeral"})
	}
	return parts
}

func (s *sayer) user(t testing.TB) {
	t.Helper()
	parts := chat.Parts{chat.Text(s.name("u") + s.text())}
	if s.chance(8) {
		parts = append(parts, chat.Text(""), chat.Image{URL: "https://example.com/a.png"}, chat.Text(s.text()))
	}
	s.add(t, chat.Message{Role: chat.RoleUser, Content: s.mark(parts)})
}

// round adds an assistant message and, most often, its results.
func (s *sayer) round(t testing.TB, ended bool) {
	t.Helper()
	name := s.name("a")
	m := chat.Message{Role: chat.RoleAssistant}
	if s.chance(3) {
		m.Content = append(m.Content, chat.Thinking{Text: s.word(), Signature: []string{"sig", ""}[s.IntN(2)]})
	}
	if s.chance(8) {
		m.Content = append(m.Content, chat.Thinking{Encrypted: "b3Bh"}, chat.Opaque{Value: json.RawMessage(`{"k":1}`), Tokens: 5}, chat.Text(name))
	}
	if !s.chance(4) {
		m.Content = append(m.Content, chat.Text(name+s.text()), chat.Text([]string{"", " \n", s.text()}[s.IntN(3)]))
	}
	m.Content = s.mark(m.Content)
	if ended || !s.chance(4) {
		for i := range 1 + s.IntN(4)*s.IntN(2) {
			c := chat.ToolCall{ID: fmt.Sprintf("%s-%d", strings.TrimSpace(name), i), Name: "run", Arguments: s.arguments()}
			if !ended && s.chance(10) {
				c.Name = ""
			}
			m.ToolCalls = append(m.ToolCalls, c)
			s.open = append(s.open, c.ID)
		}
	}
	s.add(t, m)
	for len(s.open) > 0 && !s.chance(6) {
		s.result(t)
	}
}

func (s *sayer) word() string { return strings.Repeat("hm ", 1+s.IntN(5)) }

func (s *sayer) arguments() string {
	switch s.IntN(8) {
	case 0:
		return ""
	case 1:
		return `{"cut":"` + s.word()
	case 2:
		return `{"text":` + quoted(numberedLines(s.IntN(200))) + `,"mode":1}`
	case 3:
		return "[" + strings.Repeat("1,", s.IntN(500)) + "1]"
	}
	return `{"path":"a.go"}`
}

// result adds the result of an open call, most often of the last.
func (s *sayer) result(t testing.TB) {
	t.Helper()
	i := len(s.open) - 1
	if s.chance(3) {
		i = s.IntN(len(s.open))
	}
	parts := chat.Parts{chat.Text(s.text())}
	switch s.IntN(8) {
	case 0:
		parts = nil
	case 1:
		parts = chat.Parts{chat.Image{URL: "https://example.com/a.png"}, chat.Text(s.text())}
	case 2:
		parts = chat.Parts{chat.Text(numberedLines(s.IntN(500)))}
	}
	s.add(t, chat.Message{Role: chat.RoleTool, ToolCallID: s.open[i], IsError: s.chance(5), Content: s.mark(parts)})
	s.open = slices.Delete(s.open, i, i+1)
}

// compact compacts the entries before a random one, if a cut there is valid.
func (s *sayer) compact(t testing.TB) {
	t.Helper()
	s.flush(t)
	c := summary(s.name("S")+s.text(), "")
	if s.chance(3) {
		c.Messages = append(c.Messages, chat.UserMessage(s.name("S")))
	}
	if s.chance(2) {
		c.Thinking = []chat.Thinking{{Text: s.word(), Signature: "sig"}, {Encrypted: "b3Bh"}}[:1+s.IntN(2)]
	}
	entries := all(t, s.session)
	if len(entries) > 0 && !s.chance(4) {
		c.FirstKept = entries[s.IntN(len(entries))].ID
	}
	if s.session.Compact(t.Context(), c) == nil {
		s.appended = append(s.appended, chat.Message{})
	} else {
		equal(t, entries, all(t, s.session))
	}
}

// clear clears some results and arguments on the path.
func (s *sayer) clear(t testing.TB) {
	t.Helper()
	var c entry.Clearing
	for _, e := range list(t, s.session.PathTo(t.Context(), "")) {
		if !s.chance(4) {
			continue
		}
		if e.Message().Role == chat.RoleTool {
			c.Results = append(c.Results, entry.Cleared{Entry: e.ID, Text: s.name("[cleared]")})
		}
		for _, call := range e.Message().ToolCalls {
			c.Arguments = append(c.Arguments, entry.Cleared{Entry: e.ID, Call: call.ID, Text: fmt.Sprintf(`{"cleared":%d}`, s.IntN(9))})
		}
	}
	if len(c.Results)+len(c.Arguments) > 0 {
		sessiontest.Add(t, s.session, entry.Entry{Body: c})
	}
}

// talkAtRandom makes a random session that ends with a user message or a result.
func talkAtRandom(t testing.TB, r *rand.Rand) *sayer {
	t.Helper()
	s := &sayer{Rand: r, session: numbered.Session(), marks: r.IntN(6) == 0}
	if !s.chance(8) {
		s.user(t)
	}
	for range s.IntN(20) {
		switch {
		case s.chance(4):
			s.user(t)
		case s.chance(10):
			s.compact(t)
		case len(s.open) > 0 && s.chance(4):
			s.result(t)
		default:
			s.round(t, false)
		}
	}
	switch {
	case s.chance(2):
		s.user(t)
	case s.chance(2): // and an answer between the calls and the last result
		s.user(t)
		s.round(t, true)
		id := s.name("a")
		s.add(t, chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: id, Name: "run", Arguments: "{}"}}})
		s.add(t, chat.AssistantMessage(s.name("a")))
		s.add(t, chat.ToolResult(id, s.name("r")))
	default:
		if turns := viewOf(t, s.session).Turns; len(turns) == 0 || turns[len(turns)-1].Start.ID == "" {
			s.user(t)
		}
		s.round(t, true)
	}
	s.flush(t)
	return s
}

// naiveShape returns the [shape] of the view, computed from the entries.
func naiveShape(entries []entry.Entry) string {
	path := naivePath(entries)
	boundary := path.first()
	var compacted []chat.Message
	for _, e := range entries {
		if e.Type() == entry.TypeCompaction {
			compacted = e.Compaction().Messages
		}
	}
	role := func(i int) chat.Role { return entries[i].Message().Role }
	starts := []int{-1}
	for i := range entries {
		if role(i) == chat.RoleUser {
			starts = append(starts, i)
		}
	}
	var turns []string
	for _, m := range compacted {
		turns = append(turns, m.Text())
	}
	for n, start := range starts {
		end := len(entries)
		if n+1 < len(starts) {
			end = starts[n+1]
		}
		turn := ":"
		if start >= 0 {
			turn = entries[start].ID + ":"
		}
		calls := func(i int) bool { return len(entries[i].Message().ToolCalls) > 0 || path.lost(i) }
		// What was said after the last calls of the turn joins them if a result of the turn's calls comes before others.
		joins := func(i int) bool {
			made := map[string]bool{}
			for k := max(start+1, boundary); k < end; k++ {
				for _, c := range entries[k].Message().ToolCalls {
					made[c.ID] = true
				}
				switch {
				case k > i && calls(k):
					return false
				case k > i && role(k) == chat.RoleTool && made[entries[k].Message().ToolCallID]:
					return true
				}
			}
			return false
		}
		var rounds [][2]string // the assistant's messages, and the results
		for i := start + 1; i < end; i++ {
			if role(i) != chat.RoleAssistant && !path.lost(i) || i < boundary {
				continue
			}
			if !calls(i) && joins(i) {
				rounds[len(rounds)-1][0] += "&" + entries[i].ID
				continue
			}
			var results []string
			for k := i + 1; k < len(entries); k++ {
				if role(k) == chat.RoleTool && slices.ContainsFunc(entries[i].Message().ToolCalls, func(c chat.ToolCall) bool {
					return c.ID == entries[k].Message().ToolCallID
				}) {
					results = append(results, entries[k].ID)
				}
			}
			rounds = append(rounds, [2]string{entries[i].ID, strings.Join(results, " ")})
		}
		for _, r := range rounds {
			turn += fmt.Sprintf(" %s(%s)", r[0], r[1])
		}
		last := n == len(starts)-1
		if len(rounds) > 0 || start >= 0 && (start >= boundary || last) {
			turns = append(turns, turn)
		}
	}
	return strings.Join(turns, " | ")
}

// naiveThinking returns the thinking that a compaction puts before an assistant message, computed from the entries.
func naiveThinking(entries []entry.Entry) map[string][]chat.Thinking {
	latest, boundary := -1, 0
	for i, e := range entries {
		if e.Type() == entry.TypeCompaction {
			latest, boundary = i, i+1
		}
	}
	if latest < 0 {
		return nil
	}
	c := entries[latest].Compaction()
	for i, e := range entries {
		if e.ID == c.FirstKept {
			boundary = i
		}
	}
	for _, e := range entries[boundary:] {
		switch m := e.Message(); {
		case m.Role == chat.RoleUser:
			return nil
		case m.Role != chat.RoleAssistant:
		default:
			sent := within(history.Round{Assistant: e}, history.RoundLimits{}, in(1<<40))
			if len(sent) == 0 {
				continue
			}
			if _, own := append(sent[0].Content, nil)[0].(chat.Thinking); own || len(c.Thinking) == 0 {
				return nil
			}
			return map[string][]chat.Thinking{e.ID: c.Thinking}
		}
	}
	return nil
}

// thinkingOf returns the same for a view.
func thinkingOf(v history.View) map[string][]chat.Thinking {
	var shown map[string][]chat.Thinking
	for _, t := range v.Turns {
		for _, r := range t.Rounds {
			if len(r.Thinking) > 0 {
				shown = map[string][]chat.Thinking{r.Assistant.ID: r.Thinking}
			}
		}
	}
	return shown
}

// told returns the name of a message, "" for a result.
func told(m chat.Message) string {
	switch {
	case m.Role == chat.RoleTool:
		return ""
	case len(m.ToolCalls) > 0:
		name, _, _ := strings.Cut(m.ToolCalls[0].ID, "-")
		return name
	}
	if _, lost, ok := strings.Cut(m.Text(), "<tool-result call="); ok {
		return "result of " + lost
	}
	return strings.Fields(m.Text())[0]
}

// units returns the names of the user messages and rounds of a view in the order in which they are dropped: the rounds
// of each turn, then its user message, and the messages of the compaction last.
func units(v history.View, limits history.RoundLimits, window int) (conversation, request, rounds []string) {
	for i, turn := range v.Turns {
		into := &conversation
		if i == len(v.Turns)-1 {
			into = &rounds
		}
		for _, r := range turn.Rounds {
			if messages := within(r, limits, in(window)); len(messages) > 0 {
				*into = append(*into, told(messages[0]))
			}
		}
		if m, ok := turn.Message(); ok {
			if i == len(v.Turns)-1 {
				into = &request
			}
			*into = append(*into, told(m))
		}
	}
	for _, m := range v.Compacted {
		conversation = append(conversation, told(m))
	}
	return conversation, request, rounds
}

// requireSuffix checks that the shown units are a suffix of the order in which they are dropped.
func requireSuffix(t testing.TB, units []string, shown map[string]bool, droppable bool) {
	t.Helper()
	for i, u := range units {
		if i > 0 && shown[units[i-1]] && !shown[u] {
			t.Fatalf("%s was dropped before %s", u, units[i-1])
		}
		if !droppable && !shown[u] {
			t.Fatalf("%s was dropped though it is required", u)
		}
	}
}

// requirePromises checks what the package promises for any session at any budget.
func requirePromises(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	s := talkAtRandom(t, r)

	entries := all(t, s.session)
	require.Len(t, entries, len(s.appended))
	for i, e := range entries {
		if e.Type() == entry.TypeMessage {
			equal(t, s.appended[i], e.Message())
		}
	}
	view := viewOf(t, s.session)
	require.Equal(t, naiveShape(entries), shape(view))
	equal(t, naiveThinking(entries), thinkingOf(view))

	window := 100 + r.IntN(4000)
	limits := history.RoundLimits{Results: r.Float64(), Arguments: r.Float64(), Head: r.Float64()}
	if r.IntN(2) == 0 {
		limits = history.RoundLimits{}
	}
	conversation := history.Conversation{Session: s.session, Limits: limits, Droppable: r.IntN(3) > 0}
	rounds := history.TurnRounds{Session: s.session, Limits: limits, Droppable: r.IntN(2) > 0}
	if r.IntN(2) == 0 {
		conversation.Priority, rounds.Priority = new(r.IntN(3)), new(r.IntN(3))
	}
	root := elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		conversation,
		history.TurnStart{Session: s.session},
		rounds,
	}
	opts := render.Options{Budget: 1 << 30, PromptBudget: window, Tokenizer: quarter{}}
	if r.IntN(4) == 0 {
		opts.LowWater = 0.7
	}
	layout, err := render.Lay(t.Context(), root, opts)
	require.NoError(t, err)
	full, err := layout.Fit(t.Context(), opts.Budget)
	require.NoError(t, err)
	inConversation, inRequest, inRounds := units(view, limits, window)
	require.Len(t, slices.DeleteFunc(tell(full.Messages), func(name string) bool { return name == "" }),
		1+len(inConversation)+len(inRequest)+len(inRounds))

	for range 8 {
		budget := 1 + r.IntN(full.Tokens*11/10)
		result, err := layout.Fit(t.Context(), budget)
		if err != nil {
			require.Greater(t, errorAs[*render.BudgetExceededError](t, err).Needed, budget)
			continue
		}
		require.LessOrEqual(t, result.Tokens, budget)
		tokens := 0
		for _, m := range result.Messages {
			tokens += quarter{}.CountMessage(m)
		}
		require.Equal(t, tokens, result.Tokens)
		sent := result.Messages
		if s.marks { // messages before a cache breakpoint are dropped last, so the last message may be dropped first
			sent = append(slices.Clone(sent), chat.UserMessage("next"))
		}
		require.NoError(t, chat.Validate(sent))
		if len(view.Compacted) > 0 || view.Turns[0].Start.ID != "" {
			require.Equal(t, chat.RoleUser, result.Messages[1].Role, "the first message after the system message")
		}
		shown := map[string]bool{}
		for _, name := range tell(result.Messages) {
			require.False(t, name != "" && shown[name], "%s is shown twice", name)
			shown[name] = true
		}
		requireSuffix(t, inRequest, shown, false)
		if !s.marks {
			requireSuffix(t, inConversation, shown, conversation.Droppable)
			requireSuffix(t, inRounds, shown, rounds.Droppable)
		}
		again, err := layout.Fit(t.Context(), budget)
		require.NoError(t, err)
		equal(t, result.Messages, again.Messages)
	}
	equal(t, entries, all(t, s.session))
}

// tell names messages.
func tell(messages []chat.Message) []string {
	list := make([]string, len(messages))
	for i, m := range messages {
		list[i] = told(m)
	}
	return list
}

func TestAnySessionAtAnyBudgetObeysTheRules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cases(300)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { requirePromises(t, seed) })
	}
}

func FuzzSession(f *testing.F) { extremes.FuzzSeeds(f, 1, requirePromises) }

func TestViewWithIsTheViewAfterTheCompaction(t *testing.T) {
	t.Parallel()
	tried := 0
	for seed := range uint64(cases(200)) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := talkAtRandom(t, r).session
		entries := all(t, s)
		c := summary("tried", entries[r.IntN(len(entries))].ID)
		if r.IntN(4) == 0 {
			c.FirstKept = ""
		}
		if _, err := s.ViewWith(t.Context(), c); err != nil {
			require.Error(t, s.Compact(t.Context(), c))
			continue
		}
		preview := renderedIn(t, trying(t, s, c), prompt(s))
		if s.Compact(t.Context(), c) == nil {
			tried++
			require.Equal(t, preview, renderedIn(t, t.Context(), prompt(s)))
		}
	}
	require.Greater(t, tried, cases(50))
}
