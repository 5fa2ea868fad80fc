package stepping_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/internal/numbered"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/errtest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/replay/internal/stepping"
)

// The forms of a line in a recording of pi.
const (
	header  = `{"type":"session","version":3,"id":"s"}`
	ask     = `{"type":"message","id":"%s","parentId":%s,"message":{"role":"user","content":"%s"}}`
	say     = `{"type":"message","id":"%s","parentId":%s,"message":{"role":"assistant","content":[{"type":"text","text":"%s"}]}}`
	call    = `{"type":"message","id":"%s","parentId":%s,"message":{"role":"assistant","content":[{"type":"toolCall","id":"c-%[1]s","name":"ls","arguments":{"path":"%[3]s"}}]}}`
	result  = `{"type":"message","id":"%s","parentId":%s,"message":{"role":"toolResult","toolCallId":"c-%[3]s","content":[{"type":"text","text":"files"}]}}`
	model   = `{"type":"model_change","id":"%s","parentId":%s,"modelId":"%s"}`
	compact = `{"type":"compaction","id":"%s","parentId":%s,"summary":"so far","firstKeptEntryId":"%s","tokensBefore":900}`
)

// line is a form and its last argument.
type line struct{ form, text string }

// recordingOf makes a recording of lines, whose ids are their numbers: "2" is the first after the header.
func recordingOf(t *testing.T, lines ...line) *importer.Recording {
	t.Helper()
	var b strings.Builder
	b.WriteString(header + "\n")
	parent := "null"
	for i, l := range lines {
		id := fmt.Sprint(i + 2)
		fmt.Fprintf(&b, l.form+"\n", id, parent, l.text)
		parent = `"` + id + `"`
	}
	r, err := importer.Read(strings.NewReader(b.String()))
	require.NoError(t, err)
	return r
}

// described lists the messages that a session shows to a model.
func described(t *testing.T, s *history.Session) string {
	t.Helper()
	v := sessiontest.View(t, s)
	var list []string
	for _, m := range v.Messages() {
		text := m.Text()
		for _, c := range m.ToolCalls {
			text += c.Name
		}
		list = append(list, string(m.Role)+" "+strings.ReplaceAll(text, "\n", ""))
	}
	return strings.Join(list, ", ")
}

func TestAStepIsARequestThatTheRecordedModelAnswered(t *testing.T) {
	tests := []struct {
		rule  string
		lines []line
		opts  stepping.Options
		steps []string // the line of the answer, and what it answers
		end   string
	}{
		{
			rule:  "an answer to the user is a step",
			lines: []line{{ask, "a"}, {say, "b"}, {ask, "c"}, {say, "d"}},
			steps: []string{"3: user a", "5: user a, assistant b, user c"},
			end:   "user a, assistant b, user c, assistant d",
		},
		{
			rule:  "an answer to a result is a step",
			lines: []line{{ask, "a"}, {call, "x"}, {result, "3"}, {say, "b"}},
			steps: []string{"3: user a", "5: user a, assistant ls, tool files"},
			end:   "user a, assistant ls, tool files, assistant b",
		},
		{
			rule:  "a retried answer is one step",
			lines: []line{{ask, "a"}, {say, "cut off"}, {say, "b"}},
			steps: []string{"3: user a"},
			end:   "user a, assistant cut off, assistant b",
		},
		{
			rule:  "an entry that no model sees is skipped",
			lines: []line{{ask, "a"}, {model, "m"}, {say, "b"}},
			steps: []string{"4: user a"},
			end:   "user a, assistant b",
		},
		{
			rule:  "an unanswered message is in the session at the end",
			lines: []line{{ask, "a"}, {say, "b"}, {ask, "c"}},
			steps: []string{"3: user a"},
			end:   "user a, assistant b, user c",
		},
		{
			rule:  "a recorded compaction is left out",
			lines: []line{{ask, "a"}, {say, "b"}, {ask, "c"}, {compact, "4"}, {say, "d"}},
			steps: []string{"3: user a", "6: user a, assistant b, user c"},
			end:   "user a, assistant b, user c, assistant d",
		},
		{
			rule:  "with Compactions a recorded compaction is appended in its place",
			lines: []line{{ask, "a"}, {say, "b"}, {ask, "c"}, {compact, "4"}, {say, "d"}},
			opts:  stepping.Options{Compactions: true},
			steps: []string{"3: user a", "6: user <summary>so far</summary>, user c"},
			end:   "user <summary>so far</summary>, user c, assistant d",
		},
		{
			rule:  "a recorded compaction that keeps a result first keeps its call too",
			lines: []line{{ask, "a"}, {say, "b"}, {ask, "c"}, {call, "x"}, {result, "5"}, {compact, "6"}, {say, "d"}},
			opts:  stepping.Options{Compactions: true},
			steps: []string{"3: user a", "5: user a, assistant b, user c", "8: user <summary>so far</summary>, user c, assistant ls, tool files"},
			end:   "user <summary>so far</summary>, user c, assistant ls, tool files, assistant d",
		},
		{
			rule:  "a recorded compaction that keeps an entry that no model sees first keeps the next one",
			lines: []line{{ask, "a"}, {say, "b"}, {model, "m"}, {ask, "c"}, {compact, "4"}, {say, "d"}},
			opts:  stepping.Options{Compactions: true},
			steps: []string{"3: user a", "7: user <summary>so far</summary>, user c"},
			end:   "user <summary>so far</summary>, user c, assistant d",
		},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			r := recordingOf(t, test.lines...)
			s := numbered.Session()
			var steps []string
			for step, err := range stepping.Steps(t.Context(), r, s, test.opts) {
				require.NoError(t, err)
				require.Equal(t, len(steps)+1, step.Number)
				require.Equal(t, chat.RoleAssistant, step.Answer.Role)
				steps = append(steps, fmt.Sprintf("%d: %s", step.Line, described(t, s)))
			}
			require.Empty(t, cmp.Diff(test.steps, steps))
			require.Equal(t, len(test.steps), stepping.Requests(r))
			require.Equal(t, test.end, described(t, s))
		})
	}
}

func TestTurnOverIsCalledAfterTheLastAnswerOfATurn(t *testing.T) {
	r := recordingOf(t, line{ask, "a"}, line{call, "x"}, line{result, "3"}, line{say, "b"}, line{model, "m"}, line{ask, "c"}, line{say, "cut off"}, line{say, "d"})
	s := numbered.Session()
	var over []string
	opts := stepping.Options{TurnOver: func() error {
		over = append(over, described(t, s))
		return nil
	}}
	for _, err := range stepping.Steps(t.Context(), r, s, opts) {
		require.NoError(t, err)
	}
	first := "user a, assistant ls, tool files, assistant b"
	require.Equal(t, []string{first, first + ", user c, assistant cut off, assistant d"}, over)
}

func TestAnErrorOfTurnOverIsTheLastValue(t *testing.T) {
	r := recordingOf(t, line{ask, "a"}, line{say, "b"}, line{ask, "c"}, line{say, "d"})
	failed := errors.New("failed")
	var errs []error
	for _, err := range stepping.Steps(t.Context(), r, numbered.Session(), stepping.Options{TurnOver: func() error { return failed }}) {
		errs = append(errs, err)
	}
	require.Equal(t, []error{nil, failed}, errs)
}

func TestEveryFormatIsSteppedToItsEnd(t *testing.T) {
	files, err := filepath.Glob("../../../../history/importer/testdata/formats/*.json*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range append(files, "../../../../history/importer/testdata/generated.jsonl") {
		for _, compactions := range []bool{false, true} {
			t.Run(fmt.Sprint(filepath.Base(file), " ", compactions), func(t *testing.T) {
				f, err := os.Open(file)
				require.NoError(t, err)
				defer f.Close()
				r, err := importer.Read(f)
				require.NoError(t, err)
				s := numbered.Session()
				steps := 0
				for _, err := range stepping.Steps(t.Context(), r, s, stepping.Options{Compactions: compactions}) {
					require.NoError(t, err)
					steps++
				}
				require.Equal(t, stepping.Requests(r), steps)
				var want, got []chat.Message
				for _, m := range r.Conversation() {
					want = append(want, m)
				}
				for e, err := range s.PathTo(t.Context(), s.Leaf()) {
					require.NoError(t, err)
					if m, shown := e.Shown(); shown {
						got = append(got, m)
					}
				}
				require.Empty(t, cmp.Diff(want, got))
			})
		}
	}
}

func TestTheErrorNamesTheLineThatTheSessionRefuses(t *testing.T) {
	r := recordingOf(t, line{ask, "a"}, line{result, "9"})
	var last error
	for _, err := range stepping.Steps(t.Context(), r, numbered.Session(), stepping.Options{}) {
		last = err
	}
	require.ErrorContains(t, last, "line 3: ")
	require.Equal(t, "c-9", errtest.As[*entry.PairingError](t, last).CallID)
}

func TestStepsEndWithTheContextAfterTheLastAnswer(t *testing.T) {
	r := recordingOf(t, line{ask, "a"}, line{say, "b"}, line{ask, "c"}, line{say, "d"})
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s := numbered.Session()
	var errs []error
	for _, err := range stepping.Steps(ctx, r, s, stepping.Options{}) {
		errs = append(errs, err)
		cancel(stopped)
	}
	require.Equal(t, []error{nil, stopped}, errs)
	require.Equal(t, "user a, assistant b", described(t, s))
}

func TestALoopOverStepsMayBreak(t *testing.T) {
	r := recordingOf(t, line{ask, "a"}, line{say, "b"}, line{ask, "c"}, line{say, "d"})
	s := numbered.Session()
	for range stepping.Steps(t.Context(), r, s, stepping.Options{}) {
		break
	}
	require.Equal(t, "user a", described(t, s))
}

// The log holds plans, how they ended, usage and clearings besides messages. With its own compactions the replay shows
// the same messages. Without them it compacts again.
func TestALogOfOurOwnIsReplayed(t *testing.T) {
	var shown [][]chat.Message // to the model of the log
	path := filepath.Join(t.TempDir(), "own.jsonl")
	s := sessiontest.Open(t, path, history.Options{IDs: numbered.IDs()})
	agent := compacting(s)
	for n := range 60 {
		m := chat.AssistantMessage(strings.Repeat("I look at it. ", 5))
		if n%10 != 9 {
			m.ToolCalls = []chat.ToolCall{{ID: fmt.Sprint("c", n), Name: "ls", Arguments: "{}"}}
		}
		if n%10 == 0 {
			require.NoError(t, s.Append(t.Context(), chat.UserMessage(fmt.Sprint("Question ", n))))
		}
		result, err := agent.Render(t.Context(), stepping.Prompt(s))
		require.NoError(t, err)
		shown = append(shown, result.Messages)
		usage := agent.Usage(result, chat.Response{Usage: chat.Usage{Input: result.Tokens}}, "")
		sessiontest.Add(t, s, entry.Entry{Body: entry.Message{Message: m}}, entry.Entry{Body: usage})
		if len(m.ToolCalls) > 0 {
			require.NoError(t, s.Append(t.Context(), chat.ToolResult(m.ToolCalls[0].ID, strings.Repeat("a file ", 40))))
		}
	}
	require.NoError(t, agent.Close())
	kinds := map[entry.Type]int{}
	for _, e := range compacttest.Entries(t, s) {
		kinds[e.Type()]++
	}
	for _, k := range []entry.Type{entry.TypePlan, entry.TypePreamble, entry.TypeUsage, entry.TypeClearing, entry.TypeCompaction} {
		require.NotZero(t, kinds[k], k)
	}
	require.NoError(t, s.Close())

	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := importer.Read(f)
	require.NoError(t, err)

	again, at := numbered.Session(), 0
	for _, err := range stepping.Steps(t.Context(), r, again, stepping.Options{Compactions: true}) {
		require.NoError(t, err)
		result, err := render.Render(t.Context(), stepping.Prompt(again), render.Options{Budget: 1_000_000, Tokenizer: sizing.Estimator{}})
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(shown[at], result.Messages), "request %d", at+1)
		at++
	}
	require.Equal(t, len(shown), at)

	anew, requests := numbered.Session(), 0
	agent = compacting(anew)
	for _, err := range stepping.Steps(t.Context(), r, anew, stepping.Options{}) {
		require.NoError(t, err)
		_, err := agent.Render(t.Context(), stepping.Prompt(anew))
		require.NoError(t, err)
		requests++
	}
	require.NoError(t, agent.Close())
	require.Equal(t, len(shown), requests)
	_, compacted := sessiontest.Latest(t, anew, entry.TypeCompaction)
	require.True(t, compacted)
}

// compacting returns a compactor that clears and compacts a session in a small window.
func compacting(s *history.Session) *summarize.Compactor {
	p := a3s.Policy()
	p.Clear.Rule.Keep = 500
	return &summarize.Compactor{
		Session: s, Policy: p,
		Target: policy.Target{Model: models.Offline{Tokenizer: sizing.Estimator{}}, Tokenizer: sizing.Estimator{}, Budget: 3000},
	}
}
