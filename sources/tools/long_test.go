package tools_test

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/elements/el"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sources/skills"
	"github.com/promptree-go/promptree/sources/tools"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/frugal"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

const (
	window = 32_000
	budget = 26_000
	steps  = 100
)

// worker is an agent with 50 skills and 200 tools in a window of 32,000 tokens. What it does in a step follows from the
// step's number.
type worker struct {
	t       *testing.T
	path    string
	policy  policy.Policy
	way     tools.Way
	folder  fs.FS
	list    []chat.Tool
	session *history.Session
	known   *skills.Skills
	more    *tools.Deferred
	c       *summarize.Compactor

	loaded, found       []string // what must be shown
	changed             bool     // something was let go, loaded or found since the last request
	before              []chat.Message
	toolsBefore         []chat.Tool
	marks               int // compactions and clearings so far
	compactions, breaks int
}

func newWorker(t *testing.T, p policy.Policy, way tools.Way) *worker {
	w := &worker{t: t, path: filepath.Join(t.TempDir(), "s.jsonl"), policy: p, way: way, list: many(200, 300)}
	folder := fstest.MapFS{}
	for i := range 50 {
		name := fmt.Sprintf("skill-%02d", i)
		folder[name+"/SKILL.md"] = &fstest.MapFile{Data: fmt.Appendf(nil, "---\nname: %s\ndescription: For the kind of task number %d. %s\n---\n%s", name, i, strings.Repeat("It helps. ", i%5), strings.Repeat("Do this, then that.\n", 100+20*(i%8)))}
	}
	w.folder = folder
	w.open()
	return w
}

// open opens the session, as after a restart.
func (w *worker) open() {
	w.t.Helper()
	s := sessiontest.Open(w.t, w.path, history.Options{})
	w.session = s
	w.known = &skills.Skills{Session: s, Folders: []fs.FS{w.folder}, OnLetGo: func(g skills.Unloaded) {
		w.loaded, w.changed = slices.DeleteFunc(w.loaded, func(name string) bool { return name == g.Skill }), true
	}}
	run := func(_ context.Context, call chat.ToolCall) (chat.Message, error) {
		return chat.ToolResult(call.ID, "ran "+call.Name), nil
	}
	w.more = &tools.Deferred{Session: s, Tools: w.list, Way: w.way, Run: run, Skills: w.known, OnChange: func(c tools.Change) {
		w.changed = w.changed || len(c.LetGo) > 0 || w.way == tools.Declared
		w.found = slices.DeleteFunc(w.found, func(name string) bool { return slices.Contains(c.LetGo, name) })
		w.found = append(w.found, c.Found...)
	}}
	w.c = &summarize.Compactor{
		Session: s, Policy: w.policy,
		Target: policy.Target{Model: &models.Offline{Tokenizer: quarter}, Name: "m", Tokenizer: quarter, Budget: budget, ContextWindow: window, Prices: sizing.Prices{
			Rates: sizing.Rates{Input: 5, CacheRead: 0.5, CacheWrite: 6.25, Output: 25}, LeastCached: 100,
		}},
	}
}

func (w *worker) restart() {
	w.t.Helper()
	require.NoError(w.t, w.c.Close())
	require.NoError(w.t, w.session.Close())
	w.open()
}

func (w *worker) prompt() elements.Node {
	s := w.session
	declared, err := w.more.DeclaredFor(w.t.Context(), elements.Sizing{PromptBudget: budget, Tokenizer: quarter})
	require.NoError(w.t, err)
	return el.Prompt(
		el.System(el.Text("You are a coding agent."), skills.Catalogue{Skills: w.known}),
		el.Each(slices.Concat(w.known.Declared(), declared), func(t chat.Tool) el.Node { return el.Tool(t, el.Required) }),
		el.Tool(chat.Tool{Name: "read", Description: "Reads a file."}),
		history.Compacted{Session: s},
		skills.Loaded{Skills: w.known}, tools.Found{Deferred: w.more},
		history.Conversation{Session: s, TurnsOnly: true}, history.TurnStart{Session: s}, history.TurnRounds{Session: s},
	)
}

// call returns what the model calls in a step, nothing where it ends the turn.
func (w *worker) call(step int) (name, arguments string) {
	switch n := step / 10; step % 10 {
	case 0:
		return skills.ToolName, fmt.Sprintf(`{"skill":"skill-%02d"}`, (n*7)%50)
	case 1:
		return tools.SearchTool, fmt.Sprintf(`{"query":"thing number %d","limit":2}`, (n*37)%200)
	case 2:
		if w.way == tools.Declared {
			return w.list[(n*37)%200].Name, `{"path":"x"}`
		}
		return tools.CallTool, fmt.Sprintf(`{"name":%q,"arguments":{"path":"x"}}`, w.list[(n*37)%200].Name)
	case 4:
		return skills.ToolName, fmt.Sprintf(`{"skill":"skill-%02d"}`, (n*7+3)%50)
	case 5: // use the first again, so that it stays
		return skills.ToolName, `{"skill":"skill-00"}`
	case 9:
		return "", ""
	}
	return "read", fmt.Sprintf(`{"path":"file-%d.go"}`, step)
}

// step makes a request, checks it, and does what the model says.
func (w *worker) step(step int) {
	t := w.t
	t.Helper()
	r, err := w.c.RenderOrWait(t.Context(), w.prompt())
	require.NoError(t, err, step)
	require.LessOrEqual(t, r.Tokens, budget)
	w.checkShown(step, r.Messages, r.Tools)
	w.checkPrefix(step, r.Messages, r.Tools)
	name, arguments := w.call(step)
	answer := chat.AssistantMessage(fmt.Sprintf("Step %d.", step))
	usage := entry.Entry{Body: w.c.Usage(r, chat.Response{Usage: chat.Usage{Input: r.Tokens, Output: 50}}, "")}
	if name == "" {
		sessiontest.Add(t, w.session, entry.Entry{Body: entry.Message{Message: answer}}, usage, entry.Entry{Body: entry.Message{Message: chat.UserMessage(fmt.Sprintf("And now task %d.", step))}})
		return
	}
	call := chat.ToolCall{ID: fmt.Sprint("c", step), Name: name, Arguments: arguments}
	answer.ToolCalls = []chat.ToolCall{call}
	sessiontest.Add(t, w.session, entry.Entry{Body: entry.Message{Message: answer}}, usage)
	result := chat.ToolResult(call.ID, strings.Repeat(fmt.Sprintf("line of file-%d.go\n", step), 120+60*(step%5)))
	for _, source := range []func(context.Context, chat.ToolCall) (chat.Message, bool, error){w.known.Answer, w.more.Answer} {
		m, ok, err := source(t.Context(), call)
		require.NoError(t, err)
		if ok {
			require.False(t, m.IsError, m.Text())
			result = m
		}
	}
	if name == skills.ToolName {
		a := sure.Decode[struct{ Skill string }](t, []byte(arguments))
		if !slices.Contains(w.loaded, a.Skill) {
			w.loaded = append(w.loaded, a.Skill)
		}
	}
	require.NoError(t, w.session.Append(t.Context(), result))
}

// checkShown requires that all that was loaded or found is shown once.
func (w *worker) checkShown(step int, messages []chat.Message, declared []chat.Tool) {
	w.t.Helper()
	shown := text(messages)
	for _, name := range w.loaded {
		require.Equal(w.t, 1, strings.Count(shown, `<skill name="`+name+`" file="SKILL.md">`), "step %d: %s", step, name)
	}
	for _, name := range w.found {
		if w.way == tools.Declared {
			require.Contains(w.t, sessiontest.ToolNames(declared), name, "step %d", step)
		} else {
			require.Equal(w.t, 1, strings.Count(shown, `<tool-definition name="`+name+`">`), "step %d: %s", step, name)
		}
	}
}

// checkPrefix requires that a request begins with the one before it, unless something was compacted, cleared, let go or
// declared.
func (w *worker) checkPrefix(step int, messages []chat.Message, declared []chat.Tool) {
	w.t.Helper()
	marks := 0
	for e, err := range w.session.Entries(w.t.Context()) {
		require.NoError(w.t, err)
		switch e.Type() {
		case entry.TypeCompaction:
			marks++
			w.compactions = max(w.compactions, marks)
		case entry.TypeClearing:
			marks++
		}
	}
	may := marks != w.marks || w.changed
	if w.before != nil {
		n := min(len(w.before), len(messages))
		same := len(messages) >= len(w.before) && slices.EqualFunc(w.before, messages[:n], func(a, b chat.Message) bool { return text([]chat.Message{a}) == text([]chat.Message{b}) })
		if w.way == tools.ByCall {
			require.Equal(w.t, w.toolsBefore, declared, "step %d", step)
		}
		require.True(w.t, same || may, "step %d: the beginning changed\n%s\n---\n%s", step, text(w.before), text(messages))
		if !same {
			w.breaks++
		}
	}
	w.before, w.toolsBefore, w.marks, w.changed = messages, declared, marks, false
}

func TestNothingLoadedIsLostInALongSession(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy policy.Policy
		way    tools.Way
	}{{"frugal, by call", frugal.Policy(), tools.ByCall}, {"copilotcli, declared", copilotcli.Policy(), tools.Declared}, {"a3s, by call", a3s.Policy(), tools.ByCall}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorker(t, c.policy, c.way)
			require.NoError(t, w.session.Append(t.Context(), chat.UserMessage("Begin.")))
			for step := range steps {
				w.step(step)
				if step%9 == 8 {
					w.restart()
				}
			}
			require.Contains(t, w.loaded, "skill-00", "what is used stays")
			require.Greater(t, len(w.loaded), 2)
			require.Greater(t, len(w.found), 2)
			require.Greater(t, w.compactions, 2, "the window is small enough")
			require.Less(t, w.breaks, steps/2)
			t.Logf("%d compactions, %d changed beginnings in %d steps; loaded %v, found %d", w.compactions, w.breaks, steps, w.loaded, len(w.found))
			require.NoError(t, w.c.Close())
			require.NoError(t, w.session.Close())
		})
	}
}
