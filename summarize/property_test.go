package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/extremes"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// randomSession is a session with a random policy and a random budget, all decided by the seed.
type randomSession struct {
	*rand.Rand
	t     testing.TB
	seed  uint64
	c     *summarize.Compactor
	mu    sync.Mutex
	calls int // of the model
	ids   int // of tool calls

	truncated         bool // the last prompt
	compacted, failed int
	thought           int // rounds shown with the thinking of a compaction
}

func newRandomSession(t testing.TB, seed uint64) *randomSession {
	s := &randomSession{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, seed: seed}
	session := numbered.Session()
	if s.IntN(20) == 0 {
		session = opened(t, filepath.Join(t.TempDir(), "session.jsonl"))
	}
	s.c = &summarize.Compactor{
		Session: session, Policy: s.policy(),
		Target: policy.Target{Model: chat.ModelFunc(s.answer), Tokenizer: quarter{}, Budget: s.between(200, 6000)},
	}
	s.c.Policy.Ask.Judge.Off = s.IntN(2) == 0
	s.c.Policy.Cut.Limits = history.RoundLimits{Results: pick(s, 0, 0, 0.1, 1), Arguments: pick(s, 0, 0, 0.05)}
	s.c.Observers = []summarize.Observer{summarize.OnEvent(func(e event.Event) {
		s.truncated = s.truncated || e.Kind == event.Truncated || e.Kind == event.LetGo
	})}
	t.Cleanup(func() { require.NoError(t, s.c.Close()) })
	if s.IntN(2) == 0 {
		s.c.Target.ContextWindow = s.between(100, 8000)
	}
	s.c.Target.Name = pick(s, "", "thinks", "claude-opus-4-5")
	if s.IntN(2) == 0 {
		s.c.Target.Tools = []chat.Tool{{Name: "read"}}
	}
	return s
}

// policy returns a policy of one of the packages or a made-up one, with some fields changed.
func (s *randomSession) policy() policy.Policy {
	p := policy.Policy{
		Ask: policy.Ask{Mode: pick(s, policy.ModeAuto, policy.ModeAuto, policy.ModeFull, policy.ModeSimple)},
		Cut: history.Cut{Share: pick(s, 0, 0, 0.2, 0.5, 0.9, 1)},
	}
	if names := slices.Sorted(maps.Keys(policies.All())); s.IntN(3) > 0 {
		p = policies.All()[pick(s, names...)]
	}
	p.Replace.Share = pick(s, 0, 0.01, 0.1, 0.5, 1)
	p.Replace.Max = pick(s, 0, 100, 300, 100_000)
	p.Ask.SimpleResult = pick(s, 0, 1, 20, 1000)
	p.Replace.NoBreadcrumb = s.IntN(4) == 0
	p.Replace.ReadTool = pick(s, "", "view")
	p.Ask.Quirks = append(p.Ask.Quirks, policy.Quirk{Models: []string{"thinks"}, Thinking: true})
	return p
}

func pick[T any](s *randomSession, values ...T) T { return values[s.IntN(len(values))] }

func (s *randomSession) between(low, high int) int { return low + s.IntN(high-low) }

// answer checks the request. It answers as models.Offline does, and sometimes in another way.
func (s *randomSession) answer(ctx context.Context, r chat.Request) (chat.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	limit, got := s.c.Target.ContextWindow, count(quarter{}, r.Messages)
	if limit == 0 { // the answer has its room beside the budget
		limit = s.c.Target.Budget
	} else {
		got += quarter{}.CountTools(r.Tools) + r.MaxTokens
	}
	if got > limit {
		s.t.Errorf("seed %d: a request of %d tokens with its answer, more than %d", s.seed, got, limit)
	}
	if err := chat.Validate(r.Messages); err != nil {
		s.t.Errorf("seed %d: an invalid request: %v", s.seed, err)
	}
	switch s.IntN(20) {
	case 0:
		return chat.Response{}, errors.New("the model is down")
	case 1:
		return models.Say("I would rather not.")(ctx, r)
	case 2:
		return models.SaySummary(s.text(4*s.c.Target.Budget))(ctx, r)
	}
	return models.Offline{Tokenizer: quarter{}}.Generate(ctx, r)
}

// snippets are parts of random texts.
var snippets = []string{
	"word ", "Täglich ", "土拨鼠", "🌍", "\n", "\n\n", "  ", "\t", "<b>", "&amp;", "</history>", "<summary>", "</summary>",
	"<conversation-summary>\n", "</conversation-summary>", "</analysis>", "\n<transcript path=\"x\">\n", "\nuser: ", "\nerror: ",
	"## Files\n", "- item\n", "The <summary> block has room for 7 tokens at the most.", "\r\n", "\u2028", "\x00", "\xff",
}

// text returns a random text of at most about limit bytes.
func (s *randomSession) text(limit int) string {
	var b strings.Builder
	for n := s.IntN(limit + 1); b.Len() < n; {
		if s.IntN(4) == 0 {
			b.WriteString(pick(s, snippets...))
		} else {
			b.WriteString("word ")
		}
	}
	return b.String()
}

// size returns the size of a text: mostly small, sometimes larger than the budget.
func (s *randomSession) size() int {
	if s.IntN(30) == 0 {
		return pick(s, s.c.Target.Budget, 2*s.c.Target.Budget, 8*s.c.Target.Budget)
	}
	return min(s.c.Target.Budget/2, pick(s, 0, 20, 100, 400, 400, 1000, 3000))
}

// step returns the next messages: a user message, or a round, which may lack some results.
func (s *randomSession) step() []chat.Message {
	if s.IntN(5) == 0 {
		return []chat.Message{chat.UserMessage(s.text(s.size()))} // blank at times
	}
	m := chat.Message{Role: chat.RoleAssistant}
	if s.IntN(4) == 0 {
		m.Content = append(m.Content, chat.Thinking{Text: strings.Repeat("hm ", s.size()/4), Signature: pick(s, "", "signed")})
	}
	if s.IntN(3) > 0 {
		m.Content = append(m.Content, chat.Text(s.text(s.size())))
	}
	messages := []chat.Message{m}
	for range s.IntN(4) {
		s.ids++
		id := fmt.Sprintf("call-%d", s.ids)
		path := pick(s, "a.go", "dir/b.go", strings.Repeat("long/", 100))
		arguments := pick(s, fmt.Sprintf(`{"path":%q}`, path), fmt.Sprintf(`{"text":%q}`, strings.ToValidUTF8(s.text(s.size()), "")), `{"cut off`, "")
		messages[0].ToolCalls = append(messages[0].ToolCalls, chat.ToolCall{ID: id, Name: pick(s, "read", "write"), Arguments: arguments})
		if s.IntN(8) > 0 {
			result := chat.ToolResult(id, s.text(s.size()))
			result.IsError = s.IntN(4) == 0
			messages = append(messages, result)
		}
	}
	if results := messages[1:]; s.IntN(3) == 0 {
		slices.Reverse(results)
	}
	return messages
}

// prompt returns a prompt that shows the session, and sometimes other pieces.
func (s *randomSession) prompt() elements.Node {
	extra := func(n int) elements.Node {
		props := elements.Props{Priority: new(s.IntN(1000)), Required: s.IntN(3) == 0}
		return elements.UserMessage{Props: props, Children: elements.Nodes{elements.Text("More. " + s.text(n))}}
	}
	p := prompt(s.c.Session)
	for i, n := range p {
		switch n := n.(type) {
		case history.Conversation:
			n.Limits = s.c.Policy.Cut.Limits
			p[i] = n
		case history.TurnRounds:
			n.Limits = s.c.Policy.Cut.Limits
			p[i] = n
		}
	}
	switch s.IntN(4) {
	case 0:
		return append(p[:2:2], append(elements.Nodes{extra(2 * s.c.Target.Budget)}, p[2:]...)...)
	case 1:
		return append(p[:2:2], append(elements.Nodes{extra(50), extra(8 * s.c.Target.Budget)}, p[2:]...)...)
	}
	return p
}

// run works through the session and checks each render.
func (s *randomSession) run() {
	var all []chat.Message
	for range s.between(5, 40) {
		messages := s.step()
		if err := s.c.Session.Append(context.Background(), messages...); err != nil {
			s.t.Fatalf("seed %d: %v", s.seed, err)
		}
		all = append(all, messages...)
		if last := messages[len(messages)-1]; last.Role == chat.RoleTool || strings.TrimSpace(last.Text()) != "" && last.Role == chat.RoleUser {
			s.render()
		}
		equal(s.t, all, said(s.c.Session))
	}
	if path := s.c.Session.Path(); path != "" {
		again, err := history.Read(path, history.Options{})
		require.NoError(s.t, err)
		equal(s.t, viewOf(s.t, s.c.Session), viewOf(s.t, again))
		require.NoError(s.t, again.Close())
	}
}

func (s *randomSession) render() {
	session := s.c.Session
	before, calls, shown := entries(s.t, session), s.calls, viewOf(s.t, session)
	pending, err := s.c.Pending(context.Background())
	require.NoError(s.t, err)
	most := 1 // compactions that this render may put in place
	if pending == policy.PendingReady {
		most = 2 // and the one that is ready
	}
	// The most requests: each prompt asks once for each entry and a few times more, such as to shorten, and one asks
	// for a title.
	mostAsked := most * (max(2, len(s.c.Policy.Ask.Prompts))*(3+len(before)) + 1)
	s.truncated = false
	r, err := s.c.Render(s.t.Context(), s.prompt())
	require.NoError(s.t, s.c.Wait(s.t.Context()))
	if s.calls-calls > mostAsked {
		s.t.Fatalf("seed %d: the model was asked %d times for %d entries", s.seed, s.calls-calls, len(before))
	}
	after := entries(s.t, session)
	if len(before) > 0 {
		equal(s.t, before, after[:len(before)])
	}
	made, cleared := 0, 0
	for _, e := range after[len(before):] {
		switch e.Type() {
		case entry.TypeCompaction:
			made++
		case entry.TypeClearing:
			cleared++
		case entry.TypePlan, entry.TypePlanEnd, entry.TypePreamble, entry.TypeRefusal, entry.TypeLabel:
		default:
			s.t.Fatalf("seed %d: an entry of type %q", s.seed, e.Type())
		}
	}
	if made > most {
		s.t.Fatalf("seed %d: %d compactions in one render", s.seed, made)
	}
	if made+cleared == 0 {
		equal(s.t, shown, viewOf(s.t, session)) // whatever failed, the view is the same
	}
	s.compacted += made
	if err != nil {
		s.failed++
		if errors.Is(err, summarize.ErrNoUserMessage) {
			return // the only one was offered to pruning
		}
		failed, ok := errors.AsType[*summarize.FailedError](err)
		nothingSaved := s.c.Explain(context.Background()).Held < 0 // so that nothing was tried, and the error is the budget's alone
		if !nothingSaved && (!ok || failed.Budget == nil || len(failed.Reasons) == 0) {
			s.t.Fatalf("seed %d: %v", s.seed, err)
		}
		if _, ok := errors.AsType[*render.BudgetExceededError](err); !ok {
			s.t.Fatalf("seed %d: %v", s.seed, err)
		}
		return
	}
	if r.Tokens > s.c.Target.Budget || count(quarter{}, r.Messages) > s.c.Target.Budget {
		s.t.Fatalf("seed %d: %d tokens (%d) of %d", s.seed, r.Tokens, count(quarter{}, r.Messages), s.c.Target.Budget)
	}
	if err := chat.Validate(r.Messages); err != nil {
		s.t.Fatalf("seed %d: %v", s.seed, err)
	}
	s.checkView(entries(s.t, session), r.Messages)
}

// checkView checks that the view, and the messages, show the summary of the last compaction and every entry from
// FirstKept on.
func (s *randomSession) checkView(entries []entry.Entry, messages []chat.Message) {
	v := viewOf(s.t, s.c.Session)
	first, summary := 0, []chat.Message(nil)
	for _, e := range entries {
		if e.Type() == entry.TypeCompaction {
			first = slices.IndexFunc(entries, func(k entry.Entry) bool { return k.ID == e.Compaction().FirstKept })
			summary = e.Compaction().Messages
		}
	}
	equal(s.t, summary, v.Compacted)
	for _, t := range v.Turns {
		for _, r := range t.Rounds {
			if len(r.Thinking) > 0 {
				s.thought++
			}
		}
	}
	var want []string
	user := ""
	for i, e := range entries {
		switch {
		case e.Type() != entry.TypeMessage:
		case e.Message().Role == chat.RoleAssistant && i >= first:
			want = append(want, e.ID)
		case e.Message().Role == chat.RoleUser:
			user = e.ID
		}
	}
	require.Equal(s.t, want, kept(s.c.Session), "seed %d", s.seed)
	if s.truncated {
		return // the oldest messages are left out
	}
	if len(v.Turns) > 0 {
		require.Equal(s.t, user, v.Turns[len(v.Turns)-1].Start.ID, "seed %d", s.seed)
		if m, ok := v.Turns[len(v.Turns)-1].Message(); ok {
			has := slices.ContainsFunc(messages, func(got chat.Message) bool { return got.Role == chat.RoleUser && got.Text() == m.Text() })
			require.True(s.t, has, "seed %d: the current user message is not in the prompt", s.seed)
		}
	}
	for i, m := range v.Compacted {
		require.Equal(s.t, m, messages[1+i], "seed %d: the summary comes after the system message", s.seed)
	}
}

func TestRandomSessionsRenderAndCompactAsDocumented(t *testing.T) {
	t.Parallel()
	n := uint64(extremes.Cases(160))
	compacted, failed, thought := 0, 0, 0
	for seed := range n {
		s := newRandomSession(t, seed)
		s.run()
		compacted += s.compacted
		failed += s.failed
		thought += s.thought
	}
	require.Greater(t, compacted, int(n/4), "many sessions are compacted")
	require.Greater(t, failed, 0)
	require.Greater(t, thought, 0)
	t.Logf("%d compactions, %d prompts that could not be made to fit, %d with thinking of a compaction", compacted, failed, thought)
}

func FuzzSession(f *testing.F) {
	for _, seed := range []uint64{0, 1, 2, 1 << 40} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { newRandomSession(t, seed).run() })
}
