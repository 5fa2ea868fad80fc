package summarize_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/storage"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/event"
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

// momentLater is in how many steps a session has caught up, so that its prompt fits: a summary that hangs is cut off after
// five minutes, which are sixty steps of the agent and up to six windows of history. A window takes two requests, of 90 seconds
// in the slowest cells, and meanwhile more is said.
const momentLater = 150

func (c cell) columns() [7]int {
	n := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return [7]int{slices.Index(momentPolicies, c.policy), c.moment, n(c.summary), n(c.background), n(c.restarts), n(c.slow), n(c.impatient)}
}

var momentPolicies = policies.Names()

// resorts reports whether the policy has a last resort.
func (c cell) resorts() bool {
	return policies.All()[c.policy].Overflow.LastResort != policy.ResortError
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
	for _, p := range momentPolicies {
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
	steps, over int // all steps, and those until the moment was over
	next        int // steps from the end of the moment to the next compaction, 0 if there was none in [momentLater]
	longest     time.Duration
	budget      int        // after the last step
	trace       []progress // of each step, from step 0 on
}

// progress is what happened to a session in its steps so far.
type progress struct {
	failed      int // steps
	calls       int // of the model for summaries
	dropped     int // calls whose context ended before they were answered
	compactions int
	said, lost  int // what users said, and how much of it the newest prompt neither shows nor its summary names
	unseen      int // how much of what users and tools said before the newest no model was shown
}

// momentSession is an agent at work on a session, whose model misbehaves in a bad moment.
type momentSession struct {
	t *testing.T
	cell
	d    fixture
	last chat.Message // the last that was said

	fault  func(summary bool) int // returns the moment of each request, -1 for none; nil for the cell's
	said   []string               // the marks of what users and tools said
	asked  []string               // those of users
	budget int                    // of the newest prompt
	used   int                    // of it
	other  bool                   // another model answers

	mu    sync.Mutex // guards the fields below
	armed bool
	begun int // the step in which the moment began, 0 before
	step  int
	now   progress
	shown map[string]bool // the marks of all that models were shown
	sight map[string]bool // those in the newest prompt of the agent
}

const momentBudget, momentMark = 8000, "§ "

var momentMarks = regexp.MustCompile(momentMark + `(said|told)\d+ `)

// work waits as long as a model works on an answer.
func (s *momentSession) work(ctx context.Context, summary bool) error {
	takes := 5 * time.Second
	s.mu.Lock()
	slow := s.slow
	s.mu.Unlock()
	if summary && slow {
		takes = 90 * time.Second
	} else if summary {
		takes = 15 * time.Second
	}
	select {
	case <-time.After(takes):
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		s.now.dropped++
		s.mu.Unlock()
		return context.Cause(ctx)
	}
}

// digest returns a summary that repeats the user's marks that a request shows.
func digest(r chat.Request) string {
	seen := map[string]bool{}
	text := handoff + "\n\n## Said\n"
	for _, m := range r.Messages {
		for _, mark := range momentMarks.FindAllString(m.Text(), -1) {
			if !seen[mark] && strings.HasPrefix(mark, momentMark+"said") {
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

// see records the marks that a request shows to a model that answers it.
func (s *momentSession) see(r chat.Request, summary bool) {
	marks := map[string]bool{}
	for _, m := range r.Messages {
		if t := m.Text(); len(t) < 1<<20 {
			for _, mark := range momentMarks.FindAllString(t, -1) {
				marks[mark] = true
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.shown, marks)
	if !summary {
		s.sight = marks
	}
}

func (s *momentSession) generate(ctx context.Context, r chat.Request) (chat.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	summary := !strings.HasPrefix(last.Text(), momentMark)
	s.mu.Lock()
	if summary {
		s.now.calls++
	}
	bad, moment := s.bad(summary), s.moment
	if s.fault != nil {
		moment = s.fault(summary)
		bad = moment >= 0
	}
	s.mu.Unlock()
	if bad {
		if answer := moments[moment].answer; answer != nil {
			response, err := answer(ctx, r, count(quarter{}, r.Messages)+quarter{}.CountTools(r.Tools))
			if err == nil {
				s.see(r, summary)
			}
			return response, err
		}
		select {
		case <-time.After(2 * time.Minute):
		case <-ctx.Done():
			return chat.Response{}, context.Cause(ctx)
		}
	}
	s.see(r, summary)
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
		mark = fmt.Sprintf("%stold%d ", momentMark, n)
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
	if m := s.d.Explain(ctx).Measurement; m.Budget > 0 {
		s.budget, s.used = m.Budget, m.Used
	}
	if s.restarts {
		s.d = s.restarted()
	}
	if err != nil {
		time.Sleep(15 * time.Second) // before somebody tries again
	}
	return err
}

func newMomentSession(t *testing.T, c cell) *momentSession {
	s := &momentSession{t: t, cell: c, shown: map[string]bool{}, sight: map[string]bool{}}
	s.d = s.open(filepath.Join(t.TempDir(), "session.jsonl"))
	return s
}

func (s *momentSession) restarted() fixture {
	path := s.d.Session.Path()
	require.NoError(s.t, s.d.Close())
	require.NoError(s.t, s.d.Session.Close())
	return s.open(path)
}

func (s *momentSession) open(path string) fixture {
	store, err := storage.OpenFile(path, storage.FileOptions{Sync: storage.SyncNever})
	require.NoError(s.t, err)
	session, err := history.New(s.t.Context(), store, history.Options{})
	require.NoError(s.t, err)
	d := fixtureOf(s.t, session)
	d.Judged = true
	d.Policy = policies.All()[s.policy]
	d.Policy.Ask.Names = nil
	d.Target = s.target(d.Target)
	d.Observers = append(d.Observers, summarize.OnEvent(func(e event.Event) {
		if e.Kind == event.Done {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.now.compactions++
		}
	}))
	return d
}

// progressNow returns what happened so far.
func (s *momentSession) progressNow() progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now
	for _, mark := range s.asked {
		if now.said++; !s.sight[mark] {
			now.lost++
		}
	}
	for _, mark := range s.said[:max(0, len(s.said)-1)] {
		if !s.shown[mark] {
			now.unseen++
		}
	}
	return now
}

// outlived reports whether no process lives as long as a summary takes.
func (c cell) outlived() bool { return c.restarts && c.slow && (c.impatient || c.resorts()) }

// stuck reports whether nothing can be sent without a summary, and no process lives as long as one takes, because each step
// has a deadline that is shorter and a process of its own: no engine could go on.
func (c cell) stuck() bool {
	return c.outlived() && !c.resorts() && !c.summary && moments[c.moment].name == "answers 10 MB"
}

// run runs the session: twenty steps, the moment, ten more, and as many as it takes until the session has caught up, with
// quick summaries if no process would live as long as one takes. Without a moment it runs the given number of steps.
func (c cell) run(t *testing.T, steps int) (o outcome) {
	s := newMomentSession(t, c)
	step := func() {
		begun := time.Now()
		err := s.goOn()
		took := time.Since(begun)
		if err != nil {
			s.now.failed++
			took -= 15 * time.Second
			if os.Getenv("PROMPTREE_SUMMARIZE_MOMENTS") == "show" {
				t.Logf("step %d: %v", s.step, err)
			}
		}
		o.longest = max(o.longest, took)
		o.trace = append(o.trace, s.progressNow())
	}
	o.trace = []progress{{}}
	if c.moment < 0 {
		for s.step < steps {
			step()
		}
		require.NoError(t, s.d.Close())
		return o
	}
	for range 20 {
		step()
	}
	s.mu.Lock()
	s.armed = true
	s.mu.Unlock()
	for range 80 { // until the moment is over
		s.mu.Lock()
		over := s.begun > 0 && s.step >= s.begun+moments[c.moment].steps-1
		s.mu.Unlock()
		if over {
			break
		}
		step()
	}
	require.True(t, s.begun > 0 || c.slow || c.impatient, "the moment came")
	o.over = s.step
	for range 10 {
		step()
	}
	o.steps, o.budget = s.step, s.budget
	longest := o.longest
	if c.outlived() {
		s.mu.Lock()
		s.slow = false
		s.mu.Unlock()
	}
	for (o.trace[s.step].compactions == o.trace[o.over].compactions || s.used > s.budget || s.step < s.begun+moments[c.moment].steps+4) && s.step < o.over+momentLater {
		step() // until a compaction makes it fit, and what was refused in a moment that came only now is sent again
	}
	step() // its prompt shows what was put in place after the step before
	o.longest = longest
	for i := range o.trace[o.over:] {
		if o.next == 0 && o.trace[o.over+i].compactions > o.trace[o.over].compactions {
			o.next = i
		}
	}
	require.NoError(t, s.d.Close())
	return o
}

// usualSessions runs sessions without a bad moment, each once.
type usualSessions struct {
	mu   sync.Mutex
	runs map[string]func() outcome
}

// of returns the session of a cell without its moment, of as many steps or more.
func (u *usualSessions) of(t *testing.T, c cell, steps int) outcome {
	c.moment, c.summary = -1, false
	steps = (steps + 74) / 75 * 75 // so that most cells need the same session
	key := fmt.Sprint(c, steps)
	u.mu.Lock()
	if u.runs[key] == nil {
		u.runs[key] = sync.OnceValue(func() (o outcome) {
			synctest.Test(t, func(t *testing.T) { o = c.run(t, steps) })
			return o
		})
	}
	run := u.runs[key]
	u.mu.Unlock()
	return run()
}

// TestABadMomentPasses runs every pair of two columns: policy, moment, whom it hits, foreground or background, restarted or
// not, how long a summary takes, and with a deadline or without. PROMPTREE_SUMMARIZE_MOMENTS=all runs all cells and prints
// the table in doc.go, =show also prints each failed step.
func TestABadMomentPasses(t *testing.T) {
	all := os.Getenv("PROMPTREE_SUMMARIZE_MOMENTS") != ""
	usualSessions := usualSessions{runs: map[string]func() outcome{}}
	var table momentTable
	t.Run("cells", func(t *testing.T) {
		for _, c := range cells(all) {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				var got outcome
				synctest.Test(t, func(t *testing.T) { got = c.run(t, 0) })
				usual := usualSessions.of(t, c, len(got.trace)-1)
				table.add(c, got, usual)
				c.check(t, got, usual)
			})
		}
	})
	if all {
		t.Log("\n" + table.String())
	}
}

// check holds what a session with a bad moment may lose against the same session without one.
func (c cell) check(t *testing.T, got, usual outcome) {
	m, resorts := moments[c.moment], c.resorts()
	end, than := got.trace[got.steps], usual.trace[got.steps]
	more := 0 // steps of the longest pause, if nothing can be sent in it
	if !resorts && (c.slow || c.impatient || c.summary && (m.steps > 1 || m.name == "hangs")) {
		more = 4
	}
	if c.stuck() {
		require.LessOrEqual(t, got.next, got.steps-got.over+5, "steps until it is compacted by a process that lives long enough")
		more = 10
	}
	require.LessOrEqual(t, end.calls, 2*(than.calls+m.steps/10+3), "requests for summaries")
	require.LessOrEqual(t, end.failed-got.trace[got.over].failed, than.failed-usual.trace[got.over].failed+more, "steps that failed after the moment")
	require.LessOrEqual(t, end.failed, than.failed+m.steps+more, "steps that failed")
	require.Equal(t, momentBudget, got.budget, "after ten good steps")
	squeezed := 0
	if !c.summary && strings.HasPrefix(m.name, "refuses") { // a step may fail after it let the newest result go
		squeezed = 1
	}
	require.LessOrEqual(t, end.unseen, than.unseen+squeezed, "what no model was shown")
	last := len(got.trace) - 1 // after ten steps a summary may still be made, and history be left out
	// If its deadline is shorter than a summary takes, a step may leave history out without a moment too, now this and now that.
	usually := 0
	for _, p := range usual.trace[got.over : last+1] {
		usually = max(usually, p.lost)
	}
	require.LessOrEqual(t, got.trace[last].lost, usually+max(1, got.trace[last].said/10), "messages of %d of the user's that are out of sight", got.trace[last].said)
	require.True(t, got.next > 0 || usual.trace[last].compactions == usual.trace[got.over].compactions, "it is compacted again")
	longest := 5*time.Minute + 2*time.Second // for a summary without which nothing can be sent
	switch {
	case c.impatient:
		longest = momentDeadline + 2*time.Second
	case !c.summary && (m.name == "hangs" || m.name == "does not stop"):
		longest = 15*time.Minute + 2*time.Second // the agent's own request, for which the step has a deadline
	case c.slow && !resorts:
		longest = 8 * time.Minute // for summaries whose limit doubles from half a minute on
	case c.summary && resorts:
		longest = time.Minute + 7*time.Second // and the agent's own request
	}
	require.LessOrEqual(t, got.longest, longest)
}

// momentTable sums cells up: those of a moment, of whom it hits, and of policies with or without a last resort.
type momentTable struct {
	mu    sync.Mutex
	lines map[string]*[6][]int
}

func (m *momentTable) add(c cell, got, usual outcome) {
	end, than := got.trace[got.steps], usual.trace[got.steps]
	whom, resort := "agent", "a last resort"
	if c.summary {
		whom = "summary"
	}
	if !c.resorts() {
		resort = "none"
	}
	key := fmt.Sprintf("%-28s %-8s %-14s", moments[c.moment].name, whom, resort)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lines == nil {
		m.lines = map[string]*[6][]int{}
	}
	if m.lines[key] == nil {
		m.lines[key] = &[6][]int{}
	}
	for i, n := range []int{
		end.failed - than.failed, end.failed - got.trace[got.over].failed - (than.failed - usual.trace[got.over].failed), int((got.longest - usual.longest).Seconds()), got.next,
		100 * (end.lost - than.lost) / end.said, end.calls - than.calls,
	} {
		m.lines[key][i] = append(m.lines[key][i], n)
	}
}

// String returns the table: the least, the median and the most of each column, compared with the session without the moment.
func (m *momentTable) String() string {
	text := fmt.Sprintf("%-52s %-13s %-13s %-13s %-13s %-13s %-13s\n", "", "failed steps", "ten later", "wait in s", "compacted", "% out of sight", "calls")
	for _, key := range slices.Sorted(maps.Keys(m.lines)) {
		text += key
		for _, list := range m.lines[key] {
			slices.Sort(list)
			text += fmt.Sprintf(" %-13s", fmt.Sprint(list[0], list[len(list)/2], list[len(list)-1]))
		}
		text += "\n"
	}
	return text
}

// TestNoFaultEndsASession runs sessions in which each request may fail in any way, with outages of all requests and changes of
// the model, and holds them against the same sessions without faults. PROMPTREE_SUMMARIZE_MOMENTS=all makes them long, and runs
// them with latencies and deadlines too; a number after that is the seed.
func TestNoFaultEndsASession(t *testing.T) {
	steps, seed := 20, 1
	env := os.Getenv("PROMPTREE_SUMMARIZE_MOMENTS")
	if env != "" {
		steps = 500
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(env, "all")); err == nil {
		seed = n
	}
	for i, policy := range momentPolicies {
		for bits := range 16 {
			if bits != i%4 && (steps < 500 || (i+bits+seed)%4 != 0) {
				continue
			}
			c := cell{policy: policy, moment: -1, background: bits&1 > 0, restarts: bits&2 > 0, slow: bits&4 > 0, impatient: bits&8 > 0}
			if c.outlived() {
				continue
			}
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				run := func(faults bool) (now progress, sight float64) {
					synctest.Test(t, func(t *testing.T) { now, sight = c.runLong(t, steps, uint64(seed), faults) })
					return now, sight
				}
				usual, than := run(false)
				got, sight := run(true)
				require.LessOrEqual(t, got.lost, usual.lost+got.said/10, "messages of %d of the user's that are out of sight in the end", got.said)
				require.GreaterOrEqual(t, sight, than-0.1, "share of what users said that is in sight, on average")
			})
		}
	}
}

// runLong runs a session in which an eighth of all requests fail, then one in which requests for summaries do for twenty,
// and then seventy steps in which none does; or all of it without faults. It returns what happened, and the share of what users
// had said that was in sight after each step, on average.
func (c cell) runLong(t *testing.T, steps int, seed uint64, faults bool) (now progress, sight float64) {
	chance, switches := rand.New(rand.NewPCG(uint64(steps), seed)), rand.New(rand.NewPCG(seed, 1))
	var outages []int // of content, and of transport
	for i, m := range moments {
		if m.name == "answers nothing" || m.name == "is down" {
			outages = append(outages, i)
		}
	}
	outage := 0 // steps that it still lasts
	s := newMomentSession(t, c)
	s.fault = func(summary bool) int {
		m := chance.IntN(len(moments))
		switch {
		case !faults:
		case s.step > steps:
			if summary && s.step <= steps+20 {
				return outages[seed%2]
			}
		case outage > 0:
			return outages[1]
		case chance.IntN(8) == 0:
			return m
		}
		return -1
	}
	step := func() error {
		err := s.goOn()
		now = s.progressNow()
		sight += float64(now.said-now.lost) / float64(now.said)
		return err
	}
	failed := 0 // in a row
	for range steps {
		if outage--; outage <= 0 && chance.IntN(60) == 0 {
			outage = 5 + chance.IntN(25)
		}
		if switches.IntN(40) == 0 {
			s.switchModel()
		}
		if failed++; step() == nil || outage > 0 {
			failed = 0
		}
		more := 0
		if c.impatient { // a summary without which nothing can be sent is waited for in four steps if it hangs, and two may
			more = 8
		}
		if c.slow { // it is cut off a few times
			more += 4
		}
		require.LessOrEqual(t, failed, 4+more, "steps that failed in a row, of step %d", s.step)
	}
	for range 20 {
		_ = step()
	}
	needed, before := faults && s.used > s.budget*19/20, now.compactions
	for good := 0; good < 10 || good < 30 && s.slow; good++ { // a slow one takes as long as eighteen steps
		_ = step()
	}
	require.True(t, !needed || now.compactions > before, "a compaction within ten good steps")
	for range 60 {
		err := step()
		require.True(t, err == nil || c.slow || c.impatient, "step %d: %v", s.step, err)
	}
	require.NoError(t, s.d.Close())
	return now, sight / float64(s.step)
}

// switchModel makes another model answer, which takes in less.
func (s *momentSession) switchModel() {
	s.other = !s.other
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if _, err := s.d.SwitchModel(ctx, prompt(s.d.Session), s.target(s.d.Target)); err != nil {
		require.NoError(s.t, s.d.Retarget(s.t.Context(), s.target(s.d.Target)))
	}
}

// target returns a target with the model that answers now.
func (s *momentSession) target(t policy.Target) policy.Target {
	if t.Model, t.Budget, t.Name = chat.ModelFunc(s.generate), momentBudget, "m"; s.other {
		t.Budget, t.Name = momentBudget*3/4, "n"
	}
	return t
}

// Requests for summaries are bounded whatever fails, in the foreground and in the background, and the session is still compacted
// if some are answered. The bound is a few times those without faults, or one in ten steps. Where nothing can be sent without a summary
// it is one in each minute, after which a pause ends. A refusal without words may mean the size, so what is asked gets smaller if
// every second request is refused: each answer moves forward, and takes more of them. PROMPTREE_SUMMARIZE_MOMENTS=all runs every
// pattern under every policy.
func TestRequestsForSummariesAreBoundedWhateverFails(t *testing.T) {
	patterns := []struct {
		name           string
		times, refused int // the requests of a session without faults, and if the faults are refusals
		fails          func(n int, chance *rand.Rand) bool
	}{
		{"an eighth of them", 2, 2, func(_ int, chance *rand.Rand) bool { return chance.IntN(8) == 0 }},
		{"every second", 3, 12, func(n int, _ *rand.Rand) bool { return n%2 == 0 }},
		{"ten of twenty", 4, 4, func(n int, _ *rand.Rand) bool { return n%20 < 10 }},
		{"all", 3, 3, func(int, *rand.Rand) bool { return true }},
	}
	for i := range 2 * len(policies.Names()) {
		name, background, steps, usual, once := policies.Names()[i/2], i%2 > 0, 100, progress{}, new(sync.Once)
		if background { // in a hundred steps four summaries are made, too few for a share of them to fail
			steps = 300
		}
		for k, p := range patterns {
			for m, kind := range []string{"is down", "answers nothing", "refuses without a number", "refuses the bytes", "refuses without words"} {
				if os.Getenv("PROMPTREE_SUMMARIZE_MOMENTS") == "" && (i+k+m)%12 != 0 {
					continue
				}
				where := map[bool]string{true: "background", false: "foreground"}[background]
				t.Run(fmt.Sprintf("%s, %s, %s %s", name, where, p.name, kind), func(t *testing.T) {
					t.Parallel()
					run := func(fails bool) (done progress, minutes int) { // minutes in which nothing could be sent
						synctest.Test(t, func(t *testing.T) {
							chance := rand.New(rand.NewPCG(8, 8))
							s := newMomentSession(t, cell{policy: name, background: background, moment: -1})
							s.fault = func(summary bool) int {
								if summary && fails && p.fails(s.now.calls, chance) {
									return slices.IndexFunc(moments, func(m moment) bool { return m.name == kind })
								}
								return -1
							}
							unsent := time.Duration(0)
							for range steps {
								if begun := time.Now(); s.goOn() != nil {
									unsent += time.Since(begun)
								}
							}
							done, minutes = s.progressNow(), int(unsent.Minutes())
							require.NoError(t, s.d.Close())
						})
						return done, minutes
					}
					once.Do(func() { usual, _ = run(false) })
					got, minutes := run(true)
					times := p.times
					if strings.HasPrefix(kind, "refuses") {
						times = p.refused
					}
					require.LessOrEqual(t, got.calls, max(times*usual.calls, steps/10+minutes), "%d without faults", usual.calls)
					if k == 0 || k == 1 && strings.HasPrefix(kind, "refuses") { // of two requests at once every second fails
						require.Greater(t, 4*got.compactions, usual.compactions, "%d requests, %d without faults", got.calls, usual.calls)
						require.LessOrEqual(t, got.lost, usual.lost+got.said/10, "messages of %d of the user's that are out of sight", got.said)
					}
				})
			}
		}
	}
}
