// Package compacttest helps to test compaction: a session with a compactor and a scripted model.
package compacttest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/provider/retry"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/event"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

// Quarter is the tokenizer of most tests. It counts a token for every four bytes, rounded up, and 3 more for a message.
type Quarter = sizingtest.Quarter

// Count returns the sum of the tokens of messages.
func Count(t chat.Tokenizer, messages []chat.Message) int {
	n := 0
	for _, m := range messages {
		n += t.CountMessage(m)
	}
	return n
}

// Words returns a text of the given number of tokens by [Quarter].
func Words(tokens int) string { return strings.Repeat("abc ", tokens-1) + "end." }

// Output returns a tool's result of the given number of tokens, with the mark of n at both ends.
func Output(n, tokens int) string {
	mark := fmt.Sprintf("[output %03d]", n)
	return mark + strings.Repeat("\nabc", max(0, tokens-6)) + mark
}

// Outputs returns the numbers of the outputs whose marks a text shows, in order and without repetitions.
func Outputs(text string) []int {
	var list []int
	for _, m := range regexp.MustCompile(`\[output (\d+)\]`).FindAllStringSubmatch(text, -1) {
		var n int
		fmt.Sscan(strings.TrimLeft(m[1], "0"), &n)
		if len(list) == 0 || list[len(list)-1] != n {
			list = append(list, n)
		}
	}
	return list
}

// Round returns an assistant message that reads a file, and the result: about the given number of tokens in all.
func Round(n, tokens int) []chat.Message {
	id := fmt.Sprintf("call-%d", n)
	m := chat.AssistantMessage(fmt.Sprintf("Step %d.", n))
	m.ToolCalls = []chat.ToolCall{{ID: id, Name: "read", Arguments: fmt.Sprintf(`{"path":"file-%d.go"}`, n)}}
	return []chat.Message{m, chat.ToolResult(id, Output(n, tokens-15))}
}

// Rounds returns the rounds from one number to another, of about the given number of tokens each.
func Rounds(from, to, tokens int) []chat.Message {
	var list []chat.Message
	for n := from; n <= to; n++ {
		list = append(list, Round(n, tokens)...)
	}
	return list
}

// Task is the user's message in most tests, with characters that must stay unchanged.
const Task = "  Fix the build, please:\r\n\n\tgo build ./… <b>fails</b> & \"I\" do not know why.  \n"

// Prompt returns an agent's prompt with the history of a session. more is placed before the rounds of the last turn.
func Prompt(s *history.Session, more ...elements.Node) elements.Nodes {
	return elements.Nodes{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Props: elements.Props{Priority: new(700), FlexGrow: 1}, Session: s},
		history.TurnStart{Props: elements.Props{Priority: new(900), FlexGrow: 2}, Session: s},
		elements.Nodes(more),
		history.TurnRounds{Props: elements.Props{Priority: new(899), FlexGrow: 2}, Session: s},
	}
}

// Fixture is a session with a compactor and a scripted model.
type Fixture struct {
	*summarize.Compactor
	T      testing.TB
	Script *models.Script
	Heard  *[]event.Event // without event.Usage and event.Answered
	// Judged judges answers by their form, as policies do by default. The fixture's own methods turn that off, because what
	// most tests have a model say is a few words.
	Judged bool
}

// Unjudged returns a policy that takes a few words as a summary.
func Unjudged(p policy.Policy) policy.Policy {
	p.Ask.Judge.Off = true
	return p
}

// unjudged guards the policies of fixtures whose renders run in parallel.
var unjudged sync.Mutex

// Unjudged returns the compactor with the judgement of answers off, unless the fixture has it on.
func (f Fixture) Unjudged() *summarize.Compactor {
	unjudged.Lock()
	defer unjudged.Unlock()
	if !f.Judged && !f.Policy.Ask.Judge.Off {
		f.Policy.Ask.Judge.Off = true
	}
	return f.Compactor
}

func (f Fixture) Render(ctx context.Context, prompt elements.Node) (*render.Result, error) {
	return f.Unjudged().Render(ctx, prompt)
}

func (f Fixture) RenderOrWait(ctx context.Context, prompt elements.Node) (*render.Result, error) {
	return f.Unjudged().RenderOrWait(ctx, prompt)
}

func (f Fixture) Recover(ctx context.Context, prompt elements.Node, refused error, failed string) (*render.Result, error) {
	return f.Unjudged().Recover(ctx, prompt, refused, failed)
}

func (f Fixture) SwitchModel(ctx context.Context, prompt elements.Node, target policy.Target) (*render.Result, error) {
	return f.Unjudged().SwitchModel(ctx, prompt, target)
}

func (f Fixture) AfterTurn(ctx context.Context, prompt elements.Node) (goOn bool, err error) {
	return f.Unjudged().AfterTurn(ctx, prompt)
}

func (f Fixture) Compact(ctx context.Context, instructions string) (summarize.CompactionResult, error) {
	return f.Unjudged().Compact(ctx, instructions)
}

func (f Fixture) MemoryPressure(ctx context.Context) (summarize.CompactionResult, error) {
	return f.Unjudged().MemoryPressure(ctx)
}

func (f Fixture) Navigate(ctx context.Context, to string, how summarize.Navigation) (*entry.BranchSummary, error) {
	return f.Unjudged().Navigate(ctx, to, how)
}

func (f Fixture) RunPlan(ctx context.Context, plan string, retry func(err error, until time.Time) bool) error {
	return f.Unjudged().RunPlan(ctx, plan, retry)
}

// The budget of most tests, and the tokens of a round, six of which exceed it.
const (
	Budget      = 4000
	RoundTokens = 700
)

// New returns a fixture with a session in memory that holds the messages.
func New(t testing.TB, messages ...chat.Message) Fixture {
	t.Helper()
	return Of(t, numbered.Session(), messages...)
}

// NewFile returns a fixture with a session in a file that holds the messages.
func NewFile(t testing.TB, messages ...chat.Message) Fixture {
	t.Helper()
	return Of(t, sessiontest.Opened(t, filepath.Join(t.TempDir(), "session.jsonl")), messages...)
}

// Of returns a fixture with a session, and appends the messages to it.
func Of(t testing.TB, s *history.Session, messages ...chat.Message) Fixture {
	t.Helper()
	if len(messages) > 0 {
		require.NoError(t, s.Append(t.Context(), messages...))
	}
	d := Fixture{T: t, Script: &models.Script{}, Heard: new([]event.Event)}
	d.Compactor = &summarize.Compactor{
		Session: s, Target: policy.Target{Model: d.Script, Tokenizer: Quarter{}, Budget: Budget}, Policy: foreground(),
		Observers: []summarize.Observer{summarize.OnEvent(func(e event.Event) {
			if e.Kind != event.Usage && e.Kind != event.Answered {
				*d.Heard = append(*d.Heard, e)
			}
		})},
	}
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// foreground returns a policy that compacts only if a prompt does not fit.
func foreground() policy.Policy {
	p := copilotchat.Policy()
	p.Trigger, p.Overflow.LastResort = nil, policy.ResortError
	return p
}

// Overflowing returns a turn of six rounds, which exceeds [Budget].
func Overflowing() []chat.Message {
	return append([]chat.Message{chat.UserMessage(Task)}, Rounds(1, 6, RoundTokens)...)
}

// Answers replaces the steps of the script that are still to come.
func (f Fixture) Answers(steps ...models.Reply) {
	f.Script.Steps = append(f.Script.Steps[:len(f.Requests())], steps...)
}

// Always makes the script answer every further request with the same step.
func (f Fixture) Always(step models.Reply) { f.Answers(slices.Repeat([]models.Reply{step}, 1000)...) }

// PendingNow returns the state of the pending compaction.
func (f Fixture) PendingNow() policy.Pending {
	f.T.Helper()
	p, err := f.Pending(context.Background())
	require.NoError(f.T, err)
	return p
}

// Say appends messages to the session.
func (f Fixture) Say(messages ...chat.Message) {
	f.T.Helper()
	require.NoError(f.T, f.Session.Append(context.Background(), messages...))
}

// Fill appends short turns and a last user message, so that the whole prompt has exactly the given number of tokens.
func (f Fixture) Fill(tokens int) {
	f.T.Helper()
	system := []chat.Message{chat.SystemMessage("You are a coding agent.")}
	left := tokens - Count(Quarter{}, system) - Count(Quarter{}, Said(f.Session))
	var list []chat.Message
	for ; left >= 200; left -= 100 {
		list = append(list, chat.UserMessage(Words(47)), chat.AssistantMessage(Words(47)))
	}
	require.Greater(f.T, left, 5)
	f.Say(append(list, chat.UserMessage(Words(left-3)))...)
}

// TakesIn sets the context window of the model so that the messages of a request for a summary may have at most the
// given number of tokens.
func (f Fixture) TakesIn(tokens int) {
	const answer = 1
	f.Policy.Ask.MaxTokens = answer
	f.Target.ContextWindow = tokens + answer
}

// Requests returns the requests that the script received.
func (f Fixture) Requests() []chat.Request { return f.Script.Requests() }

// Request returns the only request that the script received.
func (f Fixture) Request() chat.Request {
	f.T.Helper()
	require.Len(f.T, f.Requests(), 1)
	return f.Requests()[0]
}

// Messages renders the prompt, which must fit and obey the providers' rules.
func (f Fixture) Messages() []chat.Message {
	f.T.Helper()
	r := f.Rendered(Prompt(f.Session))
	require.LessOrEqual(f.T, r.Tokens, f.Target.Budget)
	require.NoError(f.T, chat.Validate(r.Messages))
	require.Equal(f.T, Count(f.Target.Tokenizer, r.Messages), r.Tokens)
	return r.Messages
}

// Settled renders the prompt, waits for the summary in the background, and renders the prompt again.
func (f Fixture) Settled() []chat.Message {
	f.T.Helper()
	f.Messages()
	require.NoError(f.T, f.Wait(f.T.Context()))
	return f.Messages()
}

// Rendered renders a prompt, which must not fail.
func (f Fixture) Rendered(prompt elements.Node) *render.Result {
	f.T.Helper()
	r, err := f.Render(f.T.Context(), prompt)
	require.NoError(f.T, err)
	return r
}

// Compacted compacts on demand, which must not fail.
func (f Fixture) Compacted() summarize.CompactionResult {
	f.T.Helper()
	done, err := f.Compact(f.T.Context(), "")
	require.NoError(f.T, err)
	return done
}

// Recovered recovers the prompt from a refusal, which must not fail.
func (f Fixture) Recovered(refused error, failed string) *render.Result {
	f.T.Helper()
	r, err := f.Recover(f.T.Context(), Prompt(f.Session), refused, failed)
	require.NoError(f.T, err)
	return r
}

// Note adds an entry with a body to the session.
func (f Fixture) Note(body entry.Body) {
	f.T.Helper()
	_, err := f.Session.Add(f.T.Context(), entry.Entry{Body: body})
	require.NoError(f.T, err)
}

// Latest returns the last entry of a type.
func (f Fixture) Latest(kind entry.Type) (e entry.Entry, found bool) {
	f.T.Helper()
	e, found, err := f.Session.Latest(f.T.Context(), kind)
	require.NoError(f.T, err)
	return e, found
}

// Fails renders the prompt, which must not fit.
func (f Fixture) Fails() *summarize.FailedError {
	f.T.Helper()
	r, err := f.Render(f.T.Context(), Prompt(f.Session))
	require.Nil(f.T, r)
	failed, ok := errors.AsType[*summarize.FailedError](err)
	require.True(f.T, ok, "got %v", err)
	return failed
}

// Entries returns the entries of a session, in order.
func Entries(t testing.TB, s *history.Session) []entry.Entry {
	t.Helper()
	var list []entry.Entry
	for e, err := range s.Entries(t.Context()) {
		require.NoError(t, err)
		list = append(list, e)
	}
	return list
}

// ViewOf returns the view of a session.
func ViewOf(t testing.TB, s *history.Session) history.View {
	t.Helper()
	v := sessiontest.View(t, s)
	return history.View{Compacted: v.Compacted, Turns: v.Turns} // without its source, for comparison
}

// Compactions returns the compactions of a session, in order.
func Compactions(s *history.Session) []entry.Compaction {
	return all(s, entry.TypeCompaction, entry.Entry.Compaction)
}

// Said returns the messages of a session, in order.
func Said(s *history.Session) []chat.Message { return all(s, entry.TypeMessage, entry.Entry.Message) }

func all[T any](s *history.Session, of entry.Type, body func(entry.Entry) T) (list []T) {
	for e, err := range s.Entries(context.Background()) {
		if err != nil {
			panic(err)
		}
		if e.Type() == of {
			list = append(list, body(e))
		}
	}
	return list
}

// SaidInFile returns the messages of the session of a file, which nothing had to be repaired in.
func SaidInFile(t testing.TB, path string) []chat.Message {
	t.Helper()
	s, err := history.Read(path, history.Options{})
	require.NoError(t, err)
	defer s.Close()
	require.Nil(t, s.Recovered())
	return Said(s)
}

// Kept returns the ids of the assistant messages that the view shows.
func Kept(s *history.Session) []string {
	var ids []string
	v, err := s.View(context.Background())
	if err != nil {
		panic(err)
	}
	for _, t := range v.Turns {
		for _, r := range t.Rounds {
			ids = append(ids, r.Assistant.ID)
		}
	}
	return ids
}

// Kinds lists the kinds and modes of events, such as "started refused/full done/simple".
func Kinds(events []event.Event) string {
	var list []string
	for _, e := range events {
		kind := string(e.Kind)
		if e.Mode != "" {
			kind += "/" + string(e.Mode)
		}
		list = append(list, kind)
	}
	return strings.Join(list, " ")
}

// Equal fails the test if two values differ, and shows the difference.
func Equal(t testing.TB, want, got any) {
	t.Helper()
	if reflect.DeepEqual(want, got) { // faster than cmp
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// Text returns the texts of messages, in lines.
func Text(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

// Stopped returns a step with an answer and the reason why it stopped.
func Stopped(why chat.StopReason, answer string) models.Reply {
	return func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage(answer), StopReason: why}, nil
	}
}

// After returns a step that takes some time, and fails if the context ends before.
func After(takes time.Duration, step models.Reply) models.Reply {
	return func(ctx context.Context, r chat.Request) (chat.Response, error) {
		if err := retry.Sleep(ctx, takes); err != nil {
			return chat.Response{}, err
		}
		return step(ctx, r)
	}
}

// Status is an error with that HTTP status and no other word.
type Status int

func (s Status) Error() string { return fmt.Sprintf("status %d", int(s)) }

// StatusCode returns the status.
func (s Status) StatusCode() int { return int(s) }

// Numbers returns the numbers from one to another.
func Numbers(from, to int) []int {
	var list []int
	for n := from; n <= to; n++ {
		list = append(list, n)
	}
	return list
}

// Has requires that a text, which may be too long to be shown, contains a part.
func Has(t testing.TB, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("%q is not in …%s", part, text[max(0, len(text)-3000):])
	}
}
