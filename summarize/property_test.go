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
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
)

// life is a random session with a random policy and budget, as far as one number decides it.
type life struct {
	*rand.Rand
	t     testing.TB
	seed  uint64
	c     *summarize.Compactor
	mu    sync.Mutex
	calls int // of the model
	ids   int // of tool calls

	truncated         bool // the last prompt
	compacted, failed int
	thought           int // renders that show thinking of a compaction
}

func newLife(t testing.TB, seed uint64) *life {
	l := &life{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, seed: seed}
	session := numbered.Session()
	if l.IntN(20) == 0 {
		session = opened(t, filepath.Join(t.TempDir(), "session.jsonl"))
	}
	l.c = &summarize.Compactor{
		Session: session, Policy: l.policy(),
		Target: summarize.Target{Model: chat.ModelFunc(l.answer), Tokenizer: quarter{}, Budget: l.between(200, 6000)},
	}
	l.c.Policy.Place.Limits = history.Limits{Results: pick(l, 0, 0, 0.1, 1), Arguments: pick(l, 0, 0, 0.05)}
	l.c.OnEvent = func(e summarize.Event) {
		l.truncated = l.truncated || e.Kind == summarize.EventTruncated || e.Kind == summarize.EventLetGo
	}
	t.Cleanup(func() { require.NoError(t, l.c.Close()) })
	if l.IntN(2) == 0 {
		l.c.Target.ContextWindow = l.between(100, 8000)
	}
	l.c.Target.Name = pick(l, "", "thinks", "claude-opus-4-5")
	if l.IntN(2) == 0 {
		l.c.Target.Tools = []chat.Tool{{Name: "read"}}
	}
	return l
}

// policy is one of the package's, or one that is put together; a field or two of either is changed.
func (l *life) policy() summarize.Policy {
	p := summarize.Policy{
		Ask: summarize.Ask{Mode: pick(l, summarize.ModeAuto, summarize.ModeAuto, summarize.ModeFull, summarize.ModeSimple)},
		Cut: history.Cut{Share: pick(l, 0, 0, 0.2, 0.5, 0.9, 1)},
	}
	if names := slices.Sorted(maps.Keys(policies.All())); l.IntN(3) > 0 {
		p = policies.All()[pick(l, names...)]
	}
	p.Place.Share = pick(l, 0, 0.01, 0.1, 0.5, 1)
	p.Place.Max = pick(l, 0, 100, 300, 100_000)
	p.Ask.SimpleResult = pick(l, 0, 1, 20, 1000)
	p.Place.NoBreadcrumb = l.IntN(4) == 0
	p.Place.ReadTool = pick(l, "", "view")
	p.Ask.Quirks = append(p.Ask.Quirks, summarize.Quirk{Models: []string{"thinks"}, Thinking: true})
	return p
}

func pick[T any](l *life, values ...T) T { return values[l.IntN(len(values))] }

func (l *life) between(low, high int) int { return low + l.IntN(high-low) }

// answer is Offline's, now and then something else.
func (l *life) answer(ctx context.Context, r chat.Request) (chat.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	limit, got := l.c.Target.ContextWindow, count(quarter{}, r.Messages)
	if limit == 0 { // in which the answer has its room besides
		limit = l.c.Target.Budget
	} else {
		got += quarter{}.CountTools(r.Tools) + r.MaxTokens
	}
	if got > limit {
		l.t.Errorf("seed %d: a request of %d tokens with its answer, the most is %d", l.seed, got, limit)
	}
	if err := chat.Validate(r.Messages); err != nil {
		l.t.Errorf("seed %d: a request that breaks a rule: %v", l.seed, err)
	}
	switch l.IntN(20) {
	case 0:
		return chat.Response{}, errors.New("the model is down")
	case 1:
		return models.Say("I would rather not.")(ctx, r)
	case 2:
		return models.SaySummary(l.text(4*l.c.Target.Budget))(ctx, r)
	}
	return models.Offline{Tokenizer: quarter{}}.Generate(ctx, r)
}

// snippets that texts are made of.
var snippets = []string{
	"word ", "Täglich ", "土拨鼠", "🌍", "\n", "\n\n", "  ", "\t", "<b>", "&amp;", "</history>", "<summary>", "</summary>",
	"<conversation-summary>\n", "</conversation-summary>", "</analysis>", "\n<transcript path=\"x\">\n", "\nuser: ", "\nerror: ",
	"## Files\n", "- item\n", "The <summary> block has room for 7 tokens at the most.", "\r\n", "\u2028", "\x00", "\xff",
}

// text is random, of at most so many bytes, or near it.
func (l *life) text(limit int) string {
	var b strings.Builder
	for n := l.IntN(limit + 1); b.Len() < n; {
		if l.IntN(4) == 0 {
			b.WriteString(pick(l, snippets...))
		} else {
			b.WriteString("word ")
		}
	}
	return b.String()
}

// size of a text: small most often, now and then larger than the budget.
func (l *life) size() int {
	if l.IntN(30) == 0 {
		return pick(l, l.c.Target.Budget, 2*l.c.Target.Budget, 8*l.c.Target.Budget)
	}
	return min(l.c.Target.Budget/2, pick(l, 0, 20, 100, 400, 400, 1000, 3000))
}

// step returns what is said next: by the user, or a round of the assistant with the results of its calls, some of them
// missing.
func (l *life) step() []chat.Message {
	if l.IntN(5) == 0 {
		return []chat.Message{chat.UserMessage(l.text(l.size()))} // blank at times
	}
	m := chat.Message{Role: chat.RoleAssistant}
	if l.IntN(4) == 0 {
		m.Content = append(m.Content, chat.Thinking{Text: strings.Repeat("hm ", l.size()/4), Signature: pick(l, "", "signed")})
	}
	if l.IntN(3) > 0 {
		m.Content = append(m.Content, chat.Text(l.text(l.size())))
	}
	messages := []chat.Message{m}
	for range l.IntN(4) {
		l.ids++
		id := fmt.Sprintf("call-%d", l.ids)
		path := pick(l, "a.go", "dir/b.go", strings.Repeat("long/", 100))
		arguments := pick(l, fmt.Sprintf(`{"path":%q}`, path), fmt.Sprintf(`{"text":%q}`, strings.ToValidUTF8(l.text(l.size()), "")), `{"cut off`, "")
		messages[0].ToolCalls = append(messages[0].ToolCalls, chat.ToolCall{ID: id, Name: pick(l, "read", "write"), Arguments: arguments})
		if l.IntN(8) > 0 {
			result := chat.ToolResult(id, l.text(l.size()))
			result.IsError = l.IntN(4) == 0
			messages = append(messages, result)
		}
	}
	if results := messages[1:]; l.IntN(3) == 0 {
		slices.Reverse(results)
	}
	return messages
}

// prompt shows the session, and now and then more.
func (l *life) prompt() elements.Node {
	extra := func(n int) elements.Node {
		props := elements.Props{Priority: new(l.IntN(1000)), Required: l.IntN(3) == 0}
		return elements.UserMessage{Props: props, Children: elements.Nodes{elements.Text("More. " + l.text(n))}}
	}
	p := prompt(l.c.Session)
	for i, n := range p {
		switch n := n.(type) {
		case history.Conversation:
			n.Limits = l.c.Policy.Place.Limits
			p[i] = n
		case history.TurnRounds:
			n.Limits = l.c.Policy.Place.Limits
			p[i] = n
		}
	}
	switch l.IntN(4) {
	case 0:
		return append(p[:2:2], append(elements.Nodes{extra(2 * l.c.Target.Budget)}, p[2:]...)...)
	case 1:
		return append(p[:2:2], append(elements.Nodes{extra(50), extra(8 * l.c.Target.Budget)}, p[2:]...)...)
	}
	return p
}

// live goes through the session and checks what is promised of each render.
func (l *life) live() {
	var all []chat.Message
	steps := l.between(5, 40)
	for range steps {
		messages := l.step()
		if err := l.c.Session.Append(context.Background(), messages...); err != nil {
			l.t.Fatalf("seed %d: %v", l.seed, err)
		}
		all = append(all, messages...)
		if last := messages[len(messages)-1]; last.Role == chat.RoleTool || strings.TrimSpace(last.Text()) != "" && last.Role == chat.RoleUser {
			l.render()
		}
		equal(l.t, all, said(l.c.Session))
	}
	if path := l.c.Session.Path(); path != "" {
		again, err := history.Read(path, history.Options{})
		require.NoError(l.t, err)
		equal(l.t, viewOf(l.t, l.c.Session), viewOf(l.t, again))
		require.NoError(l.t, again.Close())
	}
}

func (l *life) render() {
	session := l.c.Session
	before, calls, shown := entries(l.t, session), l.calls, viewOf(l.t, session)
	pending, err := l.c.Pending(context.Background())
	require.NoError(l.t, err)
	most := 1 // compactions that this render may put in place
	if pending == summarize.PendingReady {
		most = 2 // one was made before
	}
	// No more than these: by each prompt a model is asked once for each entry at the most, to shorten, and for a title.
	units := most * (max(2, len(l.c.Policy.Ask.Prompts))*(3+len(before)) + 1)
	l.truncated = false
	root := l.prompt()
	r, err := l.c.Render(l.t.Context(), root)
	require.NoError(l.t, l.c.Wait(l.t.Context()))
	if l.calls-calls > units {
		l.t.Fatalf("seed %d: the model was asked %d times for %d entries", l.seed, l.calls-calls, len(before))
	}
	after := entries(l.t, session)
	if len(before) > 0 {
		equal(l.t, before, after[:len(before)])
	}
	made, cleared := 0, 0
	for _, e := range after[len(before):] {
		switch e.Type() {
		case history.TypeCompaction:
			made++
		case history.TypeClearing:
			cleared++
		case history.TypePlan, history.TypePlanEnd, history.TypePreamble, history.TypeRefusal, history.TypeLabel:
		default:
			l.t.Fatalf("seed %d: an entry of type %q", l.seed, e.Type())
		}
	}
	if made > most {
		l.t.Fatalf("seed %d: %d compactions in one render", l.seed, made)
	}
	if made+cleared == 0 {
		equal(l.t, shown, viewOf(l.t, session)) // whatever failed
	}
	l.compacted += made
	if err != nil {
		l.failed++
		failed, ok := errors.AsType[*summarize.FailedError](err)
		few := l.c.Explain(context.Background()).Held < 0 // nothing to relieve, which leaves it at the budget error
		if !few && (!ok || failed.Budget == nil || len(failed.Reasons) == 0) {
			l.t.Fatalf("seed %d: %v", l.seed, err)
		}
		if _, ok := errors.AsType[*render.BudgetExceededError](err); !ok {
			l.t.Fatalf("seed %d: %v", l.seed, err)
		}
		return
	}
	if r.Tokens > l.c.Target.Budget || count(quarter{}, r.Messages) > l.c.Target.Budget {
		l.t.Fatalf("seed %d: %d tokens (%d) of %d", l.seed, r.Tokens, count(quarter{}, r.Messages), l.c.Target.Budget)
	}
	if err := chat.Validate(r.Messages); err != nil {
		l.t.Fatalf("seed %d: %v", l.seed, err)
	}
	l.checkView(entries(l.t, session), r.Messages)
}

// checkView holds the view against the entries: what the last compaction keeps is shown, from its first kept entry on,
// and nothing else; and that is what the messages show.
func (l *life) checkView(entries []history.Entry, messages []chat.Message) {
	v := viewOf(l.t, l.c.Session)
	first, summary := 0, []chat.Message(nil)
	for _, e := range entries {
		if e.Type() == history.TypeCompaction {
			first = slices.IndexFunc(entries, func(k history.Entry) bool { return k.ID == e.Compaction().FirstKept })
			summary = e.Compaction().Messages
		}
	}
	equal(l.t, summary, v.Compacted)
	for _, t := range v.Turns {
		for _, r := range t.Rounds {
			if len(r.Thinking) > 0 {
				l.thought++
			}
		}
	}
	var want []string
	user := ""
	for i, e := range entries {
		switch {
		case e.Type() != history.TypeMessage:
		case e.Message().Role == chat.RoleAssistant && i >= first:
			want = append(want, e.ID)
		case e.Message().Role == chat.RoleUser:
			user = e.ID
		}
	}
	require.Equal(l.t, want, kept(l.c.Session), "seed %d", l.seed)
	if l.truncated {
		return // of what is shown the oldest is left out
	}
	if len(v.Turns) > 0 {
		require.Equal(l.t, user, v.Turns[len(v.Turns)-1].Start.ID, "seed %d", l.seed)
		if m, ok := v.Turns[len(v.Turns)-1].Message(); ok {
			has := slices.ContainsFunc(messages, func(got chat.Message) bool { return got.Role == chat.RoleUser && got.Text() == m.Text() })
			require.True(l.t, has, "seed %d: the current user message is not in the prompt", l.seed)
		}
	}
	for i, m := range v.Compacted {
		require.Equal(l.t, m, messages[1+i], "seed %d: the summary comes after the system message", l.seed)
	}
}

func TestRandomSessions(t *testing.T) {
	n := uint64(100)
	if testing.Short() || race {
		n = 40
	}
	compacted, failed, thought := 0, 0, 0
	for seed := range n {
		l := newLife(t, seed)
		l.live()
		compacted += l.compacted
		failed += l.failed
		thought += l.thought
	}
	require.Greater(t, compacted, int(n/4), "the sessions are such that many are compacted")
	require.Greater(t, failed, 0)
	require.Greater(t, thought, 0)
	t.Logf("%d compactions, %d prompts that could not be made to fit, %d with thinking of a compaction", compacted, failed, thought)
}

func FuzzSession(f *testing.F) {
	for _, seed := range []uint64{0, 1, 2, 1 << 40} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { newLife(t, seed).live() })
}
