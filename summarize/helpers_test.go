package summarize_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/sizingtest"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
)

// TestMain is the child's work where it is one, and else runs the tests, which must leave no goroutine.
func TestMain(m *testing.M) {
	flag.Parse()
	if path := os.Getenv(childEnv); path != "" {
		fmt.Fprintln(os.Stderr, workUntilKilled(path))
		os.Exit(1)
	}
	before := runtime.NumGoroutine()
	code := m.Run()
	if flag.Lookup("test.fuzz").Value.String() != "" {
		os.Exit(code) // the fuzzer has goroutines of its own
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && code == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) { // whatever a test left behind has had its time to end
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			code = 1
		}
	}
	os.Exit(code)
}

// quarter is the tokenizer of most tests: one token for each four bytes that were begun. A message costs 3 more.
type quarter = sizingtest.Quarter

// count is what messages take together.
func count(t sizing.Tokenizer, messages []chat.Message) int {
	n := 0
	for _, m := range messages {
		n += t.CountMessage(m)
	}
	return n
}

// words is a text of so many tokens by quarter.
func words(tokens int) string { return strings.Repeat("abc ", tokens-1) + "end." }

// output is what the tool of a round gives: a text of so many tokens with a mark at both ends.
func output(n, tokens int) string {
	mark := fmt.Sprintf("[output %03d]", n)
	return mark + strings.Repeat("\nabc", max(0, tokens-6)) + mark
}

// outputs finds the marks of the outputs that a text shows, each once, in order.
func outputs(text string) []int {
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

// round is an assistant message that reads a file, and the result, of about so many tokens in all.
func round(n, tokens int) []chat.Message {
	id := fmt.Sprintf("call-%d", n)
	m := chat.AssistantMessage(fmt.Sprintf("Step %d.", n))
	m.ToolCalls = []chat.ToolCall{{ID: id, Name: "read", Arguments: fmt.Sprintf(`{"path":"file-%d.go"}`, n)}}
	return []chat.Message{m, chat.ToolResult(id, output(n, tokens-15))}
}

// rounds are the rounds from a number to another, of about so many tokens each.
func rounds(from, to, tokens int) []chat.Message {
	var list []chat.Message
	for n := from; n <= to; n++ {
		list = append(list, round(n, tokens)...)
	}
	return list
}

// task is what the user asks in most tests. It is full of what must not be touched.
const task = "  Fix the build, please:\r\n\n\tgo build ./… <b>fails</b> & \"I\" do not know why.  \n"

// prompt shows a session as an agent does, with more elements before the end.
func prompt(s *history.Session, more ...elements.Node) elements.Fragment {
	return elements.Fragment{
		elements.SystemMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text("You are a coding agent.")}},
		history.Conversation{Props: elements.Props{Priority: new(700), FlexGrow: 1}, Session: s},
		history.Request{Props: elements.Props{Priority: new(900), FlexGrow: 2}, Session: s},
		elements.Nodes(more),
		history.Rounds{Props: elements.Props{Priority: new(899), FlexGrow: 2}, Session: s},
	}
}

// desk is a session with a compactor and a scripted model.
type desk struct {
	*summarize.Compactor
	t      testing.TB
	script *models.Script
	events *[]summarize.Event
}

// budget of most tests, and what a round takes so that six of them are too many.
const (
	budget      = 4000
	roundTokens = 700
)

// newDesk is a desk with a session in memory, in which these messages were said.
func newDesk(t testing.TB, messages ...chat.Message) desk {
	t.Helper()
	return deskOf(t, &history.Session{}, messages...)
}

// newFileDesk is a desk with a session in a file.
func newFileDesk(t testing.TB, messages ...chat.Message) desk {
	t.Helper()
	return deskOf(t, opened(t, filepath.Join(t.TempDir(), "session.jsonl")), messages...)
}

func deskOf(t testing.TB, s *history.Session, messages ...chat.Message) desk {
	t.Helper()
	if len(messages) > 0 {
		require.NoError(t, s.Append(messages...))
	}
	d := desk{t: t, script: &models.Script{}, events: new([]summarize.Event)}
	d.Compactor = &summarize.Compactor{
		Session: s, Target: summarize.Target{Model: d.script, Tokenizer: quarter{}, Budget: budget}, Policy: foreground(),
		OnEvent: func(e summarize.Event) {
			if e.Kind != summarize.EventUsage && e.Kind != summarize.EventAnswered {
				*d.events = append(*d.events, e)
			}
		},
	}
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// foreground is Copilot Chat's policy where a prompt does not fit, and nothing else.
func foreground() summarize.Policy {
	p := summarize.CopilotChat()
	p.Trigger, p.Overflow.LastResort = nil, summarize.ResortError
	return p
}

// overflowing is a turn of six rounds, which is more than the budget.
func overflowing() []chat.Message {
	return append([]chat.Message{chat.UserMessage(task)}, rounds(1, 6, roundTokens)...)
}

// answers sets the steps of the script that are still to come.
func (d desk) answers(steps ...models.Step) {
	d.script.Steps = append(d.script.Steps[:len(d.requests())], steps...)
}

// pending is how far a compaction is that was begun before.
func (d desk) pending() summarize.Pending {
	d.t.Helper()
	p, err := d.Pending()
	require.NoError(d.t, err)
	return p
}

func (d desk) say(messages ...chat.Message) {
	d.t.Helper()
	require.NoError(d.t, d.Session.Append(messages...))
}

// takesIn makes the window of the model so large that the messages of a request for a summary take so much at the most.
func (d desk) takesIn(tokens int) {
	const answer = 1
	d.Policy.Ask.MaxTokens = answer
	d.Target.ContextWindow = tokens + answer
}

// requests that the script was asked.
func (d desk) requests() []chat.Request { return d.script.Requests() }

// request is the only one that the script was asked.
func (d desk) request() chat.Request {
	d.t.Helper()
	require.Len(d.t, d.requests(), 1)
	return d.requests()[0]
}

// messages renders the prompt, which must fit and obey the providers.
func (d desk) messages() []chat.Message {
	d.t.Helper()
	r, err := d.Render(d.t.Context(), prompt(d.Session))
	require.NoError(d.t, err)
	require.LessOrEqual(d.t, r.Tokens, d.Target.Budget)
	require.NoError(d.t, chat.Validate(r.Messages))
	require.Equal(d.t, count(d.Target.Tokenizer, r.Messages), r.Tokens)
	return r.Messages
}

// fails renders the prompt, which must not come to fit.
func (d desk) fails() *summarize.FailedError {
	d.t.Helper()
	r, err := d.Render(d.t.Context(), prompt(d.Session))
	require.Nil(d.t, r)
	failed, ok := errors.AsType[*summarize.FailedError](err)
	require.True(d.t, ok, "got %v", err)
	return failed
}

// entries of a session, in order.
func entries(t testing.TB, s *history.Session) []history.Entry {
	t.Helper()
	var list []history.Entry
	for e, err := range s.Entries() {
		require.NoError(t, err)
		list = append(list, e)
	}
	return list
}

// viewOf gives the view of a session.
func viewOf(t testing.TB, s *history.Session) history.View {
	t.Helper()
	v, err := s.View()
	require.NoError(t, err)
	return history.View{Compacted: v.Compacted, Turns: v.Turns} // without what it was made from, to be compared
}

// compactions of a session, in order.
func compactions(s *history.Session) []history.Compaction {
	var list []history.Compaction
	for e, err := range s.Entries() {
		if err != nil {
			panic(err)
		}
		if e.Type() == history.TypeCompaction {
			list = append(list, e.Compaction())
		}
	}
	return list
}

// said gives the messages of a session, in order.
func said(s *history.Session) []chat.Message {
	var list []chat.Message
	for e, err := range s.Entries() {
		if err != nil {
			panic(err)
		}
		if e.Type() == history.TypeMessage {
			list = append(list, e.Message())
		}
	}
	return list
}

// kept are the ids of the assistant messages that the view shows.
func kept(s *history.Session) []string {
	var ids []string
	v, err := s.View()
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

// kinds writes events as "started refused/full done/simple".
func kinds(events []summarize.Event) string {
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

// opened opens a session for the time of the test.
func opened(t testing.TB, path string) *history.Session {
	t.Helper()
	s, err := history.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// content is what a file holds.
func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// equal shows the difference of two values.
func equal(t testing.TB, want, got any) {
	t.Helper()
	if reflect.DeepEqual(want, got) {
		return // which cmp would take its time to find
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// text joins what messages say.
func text(messages []chat.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

// stopped is an answer that ended for a reason.
func stopped(why chat.StopReason, answer string) models.Step {
	return func(context.Context, chat.Request) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage(answer), StopReason: why}, nil
	}
}

// writeFile writes a file.
func writeFile(t testing.TB, path, data string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
}
