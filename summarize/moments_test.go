package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// moment is a way in which a model misbehaves for a while.
type moment struct {
	name   string
	steps  int // of the agent, for which it lasts
	answer func(ctx context.Context, r chat.Request, tokens int) (chat.Response, error)
}

func untilEnded(ctx context.Context) (chat.Response, error) {
	<-ctx.Done()
	return chat.Response{}, context.Cause(ctx)
}

var moments = []moment{
	{"refuses with numbers", 1, func(_ context.Context, _ chat.Request, n int) (chat.Response, error) {
		return chat.Response{}, &chat.ContextLimitError{Limit: n * 3 / 4, Tokens: n, Err: errors.New("too large")}
	}},
	{"refuses without a number", 1, func(context.Context, chat.Request, int) (chat.Response, error) { return chat.Response{}, status(413) }},
	{"refuses with a wrong number", 1, func(context.Context, chat.Request, int) (chat.Response, error) {
		return chat.Response{}, &chat.ContextLimitError{Limit: 1, Tokens: 2, Err: errors.New("maximum context length is 1 tokens")}
	}},
	{"refuses the bytes", 1, func(context.Context, chat.Request, int) (chat.Response, error) {
		return chat.Response{}, said413("request body too large: 10485760 bytes at most")
	}},
	{"refuses without words", 1, func(context.Context, chat.Request, int) (chat.Response, error) { return chat.Response{}, status(400) }},
	{"answers nothing", 1, func(ctx context.Context, r chat.Request, _ int) (chat.Response, error) { return models.Say("")(ctx, r) }},
	{"is cut off", 1, func(context.Context, chat.Request, int) (chat.Response, error) {
		return chat.Response{Message: chat.AssistantMessage("And then"), StopReason: chat.StopMaxTokens}, nil
	}},
	{"does not stop", 1, func(ctx context.Context, r chat.Request, _ int) (chat.Response, error) {
		for r.Stream != nil && ctx.Err() == nil {
			r.Stream(chat.Text(strings.Repeat("And so on. ", 100)))
			time.Sleep(100 * time.Millisecond)
		}
		return untilEnded(ctx)
	}},
	{"answers 10 MB", 1, func(ctx context.Context, r chat.Request, _ int) (chat.Response, error) {
		return models.Say(strings.Repeat("# On\n\nAnd so on.\n", 600_000))(ctx, r)
	}},
	{"calls a tool", 1, func(context.Context, chat.Request, int) (chat.Response, error) {
		return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "odd", Name: "read", Arguments: "{}"}}}}, nil
	}},
	{"hangs", 1, func(ctx context.Context, _ chat.Request, _ int) (chat.Response, error) { return untilEnded(ctx) }},
	{"panics", 1, func(context.Context, chat.Request, int) (chat.Response, error) { panic("at the disco") }},
	{"is slow", 1, nil}, // answers as usual after two minutes
	{"is down", 50, func(context.Context, chat.Request, int) (chat.Response, error) {
		return chat.Response{}, &chat.TransientError{Err: errDown}
	}},
}

type said413 string

func (s said413) Error() string   { return string(s) }
func (s said413) StatusCode() int { return 413 }

// cell is one case: a policy, a moment, whom it hits, whether summaries can be made in the background, whether the process
// is restarted after each step, whether a summary takes 90 seconds instead of 15, and whether each step has a deadline of a
// minute. The agent's own answers take 5 seconds.
type cell struct {
	policy                                         string
	moment                                         int // -1 for none
	summary, background, restarts, slow, impatient bool
}

const momentDeadline = time.Minute

func (c cell) columns() [7]int {
	n := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return [7]int{policyIndex(c.policy), c.moment, n(c.summary), n(c.background), n(c.restarts), n(c.slow), n(c.impatient)}
}

func policyIndex(name string) int {
	for i, n := range policies.Names() {
		if n == name {
			return i
		}
	}
	return -1
}

func (c cell) String() string {
	name := "no moment"
	if c.moment >= 0 {
		name = moments[c.moment].name
	}
	whom, where, restarted := "agent", "foreground", ""
	if c.summary {
		whom = "summary"
	}
	if c.background {
		where = "background"
	}
	if c.restarts {
		restarted = ", restarted"
	}
	if c.slow {
		restarted += ", slow"
	}
	if c.impatient {
		restarted += ", with a deadline"
	}
	return fmt.Sprintf("%s/%s/%s, %s%s", c.policy, name, whom, where, restarted)
}

// cells returns all cells, or as few as have every pair of values of two columns.
func cells(all bool) []cell {
	var list []cell
	for _, p := range policies.Names() {
		for m := range moments {
			for bits := range 32 {
				list = append(list, cell{p, m, bits&1 > 0, bits&2 > 0, bits&4 > 0, bits&8 > 0, bits&16 > 0})
			}
		}
	}
	if all {
		return list
	}
	type pair [4]int
	pairs := func(c cell) (list []pair) {
		v := c.columns()
		for i := range v {
			for j := range i {
				list = append(list, pair{i, j, v[i], v[j]})
			}
		}
		return list
	}
	missing := map[pair]bool{}
	for _, c := range list {
		for _, p := range pairs(c) {
			missing[p] = true
		}
	}
	var few []cell
	for len(missing) > 0 {
		best, most := cell{}, 0
		for _, c := range list {
			n := 0
			for _, p := range pairs(c) {
				if missing[p] {
					n++
				}
			}
			if n > most {
				best, most = c, n
			}
		}
		for _, p := range pairs(best) {
			delete(missing, p)
		}
		few = append(few, best)
	}
	return few
}

// outcome is what became of a session with a bad moment.
type outcome struct {
	steps               int
	failed, failedAfter int // steps, and those of the ten after the moment
	calls               int // of the model for summaries
	dropped             int // calls whose context ended before they were answered
	next                int // steps from the end of the moment to the next compaction, 0 if there was none in 40
	longest             time.Duration
	budget              int // after the ten steps
	said, lost, insight int // what users said, how much of it the prompt neither shows nor its summary names ten steps after the moment, and the rest in percent
	unseen              []string
}

// momentSession is an agent at work on a session, whose model misbehaves in a bad moment.
type momentSession struct {
	t *testing.T
	cell
	d    fixture
	last chat.Message // the last that was said

	fault func(summary bool) int // returns the moment of each request, -1 for none; nil for the cell's
	said  []string               // the marks of what users and tools said
	asked []string               // those of users

	mu        sync.Mutex // guards the fields below
	armed     bool
	begun     int // the step in which the moment began, 0 before
	step      int
	summaries int
	dropped   int
	shown     string // the marks of all that models were shown
}

const momentBudget, momentMark = 8000, "§ "

var momentMarks = regexp.MustCompile(momentMark + `said\d+ `)

// work waits as long as a model works on an answer.
func (s *momentSession) work(ctx context.Context, summary bool) error {
	takes := 5 * time.Second
	if summary && s.slow {
		takes = 90 * time.Second
	} else if summary {
		takes = 15 * time.Second
	}
	select {
	case <-time.After(takes):
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		s.dropped++
		s.mu.Unlock()
		return context.Cause(ctx)
	}
}

// digest returns a summary that repeats all marks that a request shows.
func digest(r chat.Request) string {
	seen := map[string]bool{}
	text := handoff + "\n\n## Said\n"
	for _, m := range r.Messages {
		for _, mark := range momentMarks.FindAllString(m.Text(), -1) {
			if !seen[mark] {
				text += mark
			}
			seen[mark] = true
		}
	}
	return text + "and nothing else." // or the space that ends the last mark is trimmed
}

func (s *momentSession) bad(summary bool) bool {
	if !s.armed || summary != s.summary || s.moment < 0 {
		return false
	}
	if s.begun == 0 {
		s.begun = s.step
	}
	return s.step < s.begun+moments[s.moment].steps
}

func (s *momentSession) generate(ctx context.Context, r chat.Request) (chat.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	summary := !strings.HasPrefix(last.Text(), momentMark)
	s.mu.Lock()
	if summary {
		s.summaries++
	}
	bad, moment := s.bad(summary), s.moment
	if s.fault != nil {
		moment = s.fault(summary)
		bad = moment >= 0
	}
	s.mu.Unlock()
	if bad {
		if answer := moments[moment].answer; answer != nil {
			return answer(ctx, r, count(quarter{}, r.Messages)+quarter{}.CountTools(r.Tools))
		}
		select {
		case <-time.After(2 * time.Minute):
		case <-ctx.Done():
			return chat.Response{}, context.Cause(ctx)
		}
	}
	s.mu.Lock()
	for _, m := range r.Messages {
		if t := m.Text(); len(t) < 1<<20 {
			s.shown += strings.Join(momentMarks.FindAllString(t, -1), "")
		}
	}
	s.mu.Unlock()
	if err := s.work(ctx, summary); err != nil {
		return chat.Response{}, err
	}
	if summary {
		return models.SaySummary(digest(r))(ctx, r)
	}
	rounds := 0
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != chat.RoleUser; i-- {
		if r.Messages[i].Role == chat.RoleAssistant {
			rounds++
		}
	}
	if rounds >= 3 {
		return models.Say(momentMark+"Done.")(ctx, r)
	}
	call := chat.ToolCall{ID: fmt.Sprint("call", time.Now().UnixNano()), Name: "read", Arguments: "{}"}
	return chat.Response{Message: chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}}, nil
}

// goOn makes one step of the agent, for which the user or a tool says something first.
func (s *momentSession) goOn() error {
	s.mu.Lock()
	s.step++
	n := s.step
	s.mu.Unlock()
	size := 300
	if !s.background && n%4 == 0 {
		size = 2800
	}
	mark := fmt.Sprintf("%ssaid%d ", momentMark, n)
	switch {
	case len(s.last.ToolCalls) > 0:
		s.last = chat.ToolResult(s.last.ToolCalls[0].ID, mark+words(size))
		s.d.Say(s.last)
		s.said = append(s.said, mark)
	case s.last.Role == chat.RoleAssistant || s.last.Role == "":
		s.last = chat.UserMessage(mark + words(40))
		s.d.Say(s.last)
		s.said, s.asked = append(s.said, mark), append(s.asked, mark)
	}
	limit := 15 * time.Minute
	if s.impatient {
		limit = momentDeadline
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	steps := agent.Agent{Compactor: s.d.Compactor, Prompt: prompt(s.d.Session), Retry: agent.Retry{Attempts: 1}}
	answer, err := steps.Step(ctx)
	if answer.Entry != "" {
		s.last = answer.Message()
	}
	if s.restarts {
		s.d = s.restarted()
	}
	if err != nil {
		time.Sleep(15 * time.Second) // before somebody tries again
	}
	return err
}

func (s *momentSession) restarted() fixture {
	path := s.d.Session.Path()
	require.NoError(s.t, s.d.Close())
	require.NoError(s.t, s.d.Session.Close())
	return s.open(path)
}

func (s *momentSession) open(path string) fixture {
	d := fixtureOf(s.t, opened(s.t, path))
	d.Judged = true
	d.Policy = policies.All()[s.policy]
	d.Policy.Ask.Names = nil
	d.Target.Model, d.Target.Budget, d.Target.Name = chat.ModelFunc(s.generate), momentBudget, "m"
	return d
}

// run runs the session: twenty steps, the moment, and ten more, and at least the given number of steps.
func (c cell) run(t *testing.T, steps int) (o outcome) {
	s := &momentSession{t: t, cell: c}
	s.d = s.open(filepath.Join(t.TempDir(), "session.jsonl"))
	step := func() error {
		begun := time.Now()
		err := s.goOn()
		took := time.Since(begun)
		if err != nil {
			o.failed++
			took -= 15 * time.Second
			if os.Getenv("PROMPTREE_SUMMARIZE_MOMENTS") == "show" {
				t.Logf("step %d: %v", s.step, err)
			}
		}
		o.longest = max(o.longest, took)
		return err
	}
	for range 20 {
		_ = step()
	}
	s.mu.Lock()
	s.armed = true
	s.mu.Unlock()
	if c.moment >= 0 {
		for range 80 { // until the moment is over
			s.mu.Lock()
			over := s.begun > 0 && s.step >= s.begun+moments[c.moment].steps-1
			s.mu.Unlock()
			if over {
				break
			}
			_ = step()
		}
		require.True(t, s.begun > 0 || c.slow || c.impatient, "the moment came")
	}
	before, since := len(compactions(s.d.Session)), s.step
	compacted := func() bool {
		if o.next == 0 && len(compactions(s.d.Session)) > before {
			o.next = s.step - since
		}
		return o.next > 0
	}
	for range 10 {
		if step() != nil {
			o.failedAfter++
		}
		compacted()
	}
	for s.step < steps {
		_ = step()
	}
	require.NoError(t, s.d.Wait(t.Context()))
	result, err := s.d.Render(t.Context(), prompt(s.d.Session))
	require.True(t, err == nil || c.slow || c.impatient, "%v", err)
	o.budget = s.d.Explain(t.Context()).Measurement.Budget
	inPrompt := ""
	if err == nil {
		inPrompt = text(result.Messages)
	}
	s.mu.Lock()
	o.calls, o.dropped, o.steps = s.summaries, s.dropped, s.step
	for _, mark := range s.asked {
		if strings.Contains(inPrompt, mark) {
			o.insight++
		}
	}
	o.said, o.lost, o.insight = len(s.asked), len(s.asked)-o.insight, 100*o.insight/len(s.asked)
	for _, mark := range s.said {
		if !strings.Contains(s.shown, mark) {
			o.unseen = append(o.unseen, mark)
		}
	}
	s.mu.Unlock()
	for !compacted() && s.step < since+40 {
		_ = s.goOn()
	}
	require.NoError(t, s.d.Close())
	return o
}

// TestABadMomentPasses runs every pair of two columns: policy, moment, whom it hits, foreground or background, restarted or
// not, how long a summary takes, and with a deadline or without. PROMPTREE_SUMMARIZE_MOMENTS=all runs all cells, and =show
// also prints them.
func TestABadMomentPasses(t *testing.T) {
	all := os.Getenv("PROMPTREE_SUMMARIZE_MOMENTS") != ""
	var mu sync.Mutex
	usual := map[string]outcome{} // without a bad moment
	without := func(c cell, steps int) outcome {
		c.moment, c.summary = -1, false
		key := fmt.Sprint(c, steps)
		mu.Lock()
		defer mu.Unlock()
		if _, ok := usual[key]; !ok {
			synctest.Test(t, func(t *testing.T) { usual[key] = c.run(t, steps) })
		}
		return usual[key]
	}
	for _, c := range cells(all) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			var got outcome
			synctest.Test(t, func(t *testing.T) { got = c.run(t, 0) })
			usual := without(c, got.steps)
			if all {
				t.Logf("%d steps failed, %d after the moment; longest step %v; compacted after %d steps; %d%% of the user's marks in sight, %d%% without; %d summaries, %d dropped, %d and %d without; budget %d; unseen %v",
					got.failed, got.failedAfter, got.longest.Round(time.Second), got.next, got.insight, usual.insight, got.calls, got.dropped, usual.calls, usual.dropped, got.budget, got.unseen)
			}
			m, resorts := moments[c.moment], policies.All()[c.policy].Overflow.LastResort != policy.ResortError
			more := 0 // steps of the longest pause, if nothing can be sent in it
			if c.summary && !resorts && (m.steps > 1 || c.slow || c.impatient || m.name == "hangs") {
				more = 4
			}
			require.LessOrEqual(t, got.calls, 2*(usual.calls+m.steps/10+3), "requests for summaries")
			require.LessOrEqual(t, got.failedAfter, usual.failedAfter+more, "steps that failed after the moment")
			require.LessOrEqual(t, got.failed, usual.failed+m.steps+more, "steps that failed")
			require.Equal(t, momentBudget, got.budget, "after ten good steps")
			require.LessOrEqual(t, len(got.unseen), len(usual.unseen), "what no model was shown: %v", got.unseen)
			require.LessOrEqual(t, got.lost, usual.lost+max(1, got.said/10), "messages of %d of the user's that are out of sight", got.said)
			require.True(t, got.next > 0 || usual.next == 0, "it is compacted again")
			longest := 5*time.Minute + 2*time.Second // for a summary without which nothing can be sent
			switch {
			case c.impatient:
				longest = momentDeadline + 2*time.Second
			case !c.summary && (m.name == "hangs" || m.name == "does not stop"):
				longest = 15*time.Minute + 2*time.Second // the agent's own request, for which the step has a deadline
			case c.summary && resorts:
				longest = time.Minute + 7*time.Second // and the agent's own request
			}
			require.LessOrEqual(t, got.longest, longest)
		})
	}
}

// TestNoFaultEndsASession runs sessions in which each request may fail in any way. PROMPTREE_SUMMARIZE_MOMENTS=all makes them
// long.
func TestNoFaultEndsASession(t *testing.T) {
	steps := 20
	if os.Getenv("PROMPTREE_SUMMARIZE_MOMENTS") != "" {
		steps = 500
	}
	for i, policy := range policies.Names() {
		for bits := range 4 {
			if steps < 500 && bits != i%4 {
				continue
			}
			c := cell{policy: policy, moment: -1, background: bits&1 > 0, restarts: bits&2 > 0}
			t.Run(fmt.Sprintf("%s, background %v, restarted %v", policy, c.background, c.restarts), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { c.runWithFaults(t, steps) })
			})
		}
	}
}

// runWithFaults runs a session in which an eighth of all requests fail.
func (c cell) runWithFaults(t *testing.T, steps int) {
	s := &momentSession{t: t, cell: c}
	chance := rand.New(rand.NewPCG(uint64(steps), 1))
	s.fault = func(bool) int {
		if m := chance.IntN(len(moments)); chance.IntN(8) == 0 {
			return m
		}
		return -1
	}
	s.d = s.open(filepath.Join(t.TempDir(), "session.jsonl"))
	failed := 0 // in a row
	for range steps {
		if failed++; s.goOn() == nil {
			failed = 0
		}
		require.LessOrEqual(t, failed, 4, "steps that failed in a row, of step %d", s.step)
	}
	s.fault = nil
	for range 70 { // the longest pause
		require.NoError(t, s.goOn(), "step %d", s.step)
	}
	require.NoError(t, s.d.Close())
}

// Requests for summaries are bounded whatever fails, and for how long: an attempt in four steps is what the longest
// pause of a minute allows if a step takes 15 s. PROMPTREE_SUMMARIZE_MOMENTS=all runs every pattern under every policy.
func TestRequestsForSummariesAreBoundedWhateverFails(t *testing.T) {
	const steps = 100
	eighth := rand.New(rand.NewPCG(8, 8))
	patterns := []struct {
		name  string
		times int // the requests of a session without faults
		fails func(n int) bool
	}{
		{"an eighth of them", 2, func(int) bool { return eighth.IntN(8) == 0 }},
		{"every second", 3, func(n int) bool { return n%2 == 0 }},
		{"ten of twenty", 4, func(n int) bool { return n%20 < 10 }},
		{"all", 3, func(int) bool { return true }},
	}
	for i, name := range policies.Names() {
		for k, p := range patterns {
			for m, kind := range []string{"is down", "answers nothing", "refuses without a number"} {
				if os.Getenv("PROMPTREE_SUMMARIZE_MOMENTS") == "" && (i+k+m)%8 != 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s %s", name, p.name, kind), func(t *testing.T) {
					t.Parallel()
					calls := func(fails bool) (n int) {
						synctest.Test(t, func(t *testing.T) {
							s := &momentSession{t: t, cell: cell{policy: name, moment: -1}}
							s.fault = func(summary bool) int {
								if n++; !summary {
									n--
								} else if fails && p.fails(n) {
									return slices.IndexFunc(moments, func(m moment) bool { return m.name == kind })
								}
								return -1
							}
							s.d = s.open(filepath.Join(t.TempDir(), "session.jsonl"))
							for range steps {
								_ = s.goOn()
							}
							require.NoError(t, s.d.Close())
						})
						return n
					}
					usual, got := calls(false), calls(true)
					t.Logf("%d, %d without faults", got, usual)
					require.LessOrEqual(t, got, max(p.times*usual, steps/4*[]int{1, 2, 4}[m]+10), "an attempt asks once, in two modes, or at four sizes")
				})
			}
		}
	}
}
