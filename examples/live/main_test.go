package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/examples/folderagent"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/apitest"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/internal/test/vocabularytest"
	"github.com/promptree-go/promptree/sizing/chattemplate"
	"github.com/promptree-go/promptree/summarize/event"
)

// asProgram is the environment variable that makes the test binary run as the program.
const asProgram = "PROMPTREE_LIVE_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// way is one of the APIs, with a server that speaks it.
type way struct {
	name, model string
	keyOf       string // environment variable
	address     string // environment variable
	api         apitest.API
	thinks      bool
}

var ways = []way{
	{"an OpenAI model over Chat Completions", "openai:gpt-4o", "OPENAI_API_KEY", "OPENAI_BASE_URL", apitest.ChatCompletions{}, false},
	{"an OpenAI model over Responses", "openai-responses:gpt-4o", "OPENAI_API_KEY", "OPENAI_BASE_URL", apitest.Responses{}, false},
	{"a model on a server of one's own over Chat Completions", "openai:local:8b", "OPENAI_API_KEY", "OPENAI_BASE_URL", apitest.ChatCompletions{}, false},
	{"Claude", "anthropic:claude-test", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", apitest.Messages{}, true},
	{"Gemini", "gemini:gemini-test", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", apitest.Gemini{}, true},
}

// setKey clears the environment variables of all APIs and sets a key.
func setKey(t *testing.T, variable, key string) {
	t.Helper()
	for _, p := range providers {
		for _, v := range append([]string{p.address}, p.keys...) {
			t.Setenv(v, "")
			require.NoError(t, os.Unsetenv(v))
		}
	}
	if variable != "" {
		t.Setenv(variable, key)
	}
}

// shelf returns a folder of many files, one of which holds the password.
func shelf(t *testing.T, files int) string {
	t.Helper()
	books := map[string]string{}
	for n := range files {
		text := strings.Repeat(fmt.Sprintf("In book %d this line says nothing of interest.\n", n), 60)
		if n == 1 {
			text = "Here the password is xyzzy42, which only this file knows.\n" + text
		}
		books[fmt.Sprintf("book%02d.md", n)] = text
	}
	return sure.Folder(t, books)
}

const task = "What is the password?"

// With each API the answer is streamed, tools run, and the same model summarises the history.
func TestTheAgentFinishesItsTaskWithEveryAPI(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			setKey(t, w.keyOf, apitest.Key)
			s := newServer(t, w.api, mind{})
			s.Window = 8_000
			path, page := filepath.Join(t.TempDir(), "session.jsonl"), filepath.Join(t.TempDir(), "run.html")
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{
				"-model", w.model, "-base-url", s.URL, "-dir", shelf(t, 24), "-session", path, "-window", "8000", "-prices", "claude-opus-4-5",
				"-task", task, "-page", page,
			}, &stdout, &stderr)
			require.Equal(t, folderagent.ExitOK, code, "%s\n%q", stderr.String(), s.Broken)
			answers, streamed, summaries := s.Seen(t)
			require.Equal(t, 14, answers, "a list, twelve pairs of files, and the answer")
			require.Positive(t, summaries)
			require.GreaterOrEqual(t, streamed, answers)

			var want strings.Builder
			for n := range answers - 1 {
				fmt.Fprintf(&want, "Step %d.\n", n+1)
			}
			require.Equal(t, want.String()+"The password is xyzzy42.\n", stdout.String(), "what was streamed")
			require.Contains(t, stderr.String(), "read_file book02.md, read_file book03.md")
			require.Regexp(t, `Summarised \((?:fork|full) mode\)`, stderr.String())
			require.Regexp(t, `\d+ of \d+ tokens; reported: [1-9]\d* in, 0 from the cache, [1-9]\d* out`, stderr.String())
			require.Equal(t, w.thinks, strings.Contains(stderr.String(), "(thinking)"))
			require.NotContains(t, stderr.String(), "repaired")
			require.Regexp(t, `  Cost: \$0\.\d+, \$0\.\d+ of it for summaries(; saved \d+% of \$\d+\.\d+ without compaction)?\.\n`, stderr.String())
			require.Contains(t, stderr.String(), "live: done; session: "+path+"\n")

			messages := compacttest.SaidInFile(t, path)
			require.Equal(t, task, messages[0].Text())
			require.Equal(t, "The password is xyzzy42.", messages[len(messages)-1].Text())
			require.Len(t, messages, 1+1+1+12*3+1)
			shown, err := os.ReadFile(page)
			require.NoError(t, err)
			require.Equal(t, answers, strings.Count(string(shown), `,"explain":"`), "a step each")
			require.NoError(t, chat.Validate(append(messages, chat.UserMessage("Thanks."))))
		})
	}
}

// What was found outlives the compactions, in the same bytes: the front of each request is one and the same.
func TestFoundContextIsInEachRequest(t *testing.T) {
	dir := shelf(t, 24)
	sure.Write(t, filepath.Join(dir, "AGENTS.md"), "Read each book.\n")
	folder := sure.Folder(t, map[string]string{
		"a/SKILL.md": "---\nname: a\ndescription: How to read.\n---\nFrom left to right.", "b/README.md": "This is no skill.", "c/SKILL.md": "Nor is this.",
	})
	for name, test := range map[string]struct {
		flags []string
		front string
		tools int
	}{
		"instructions": {[]string{"-instructions"}, "<instructions path=\"AGENTS.md\">\nRead each book.\n</instructions>", 4},
		"skills":       {[]string{"-skills", folder}, "", 5},
		"tools":        {[]string{"-deferred"}, "", 2},
		"all":          {[]string{"-deferred", "-skills", folder, "-instructions"}, "<instructions path=\"AGENTS.md\">\nRead each book.\n</instructions>", 3},
	} {
		t.Run(name, func(t *testing.T) {
			setKey(t, ways[0].keyOf, apitest.Key)
			s := newServer(t, ways[0].api, mind{deferred: strings.Contains(strings.Join(test.flags, " "), "-deferred")})
			s.Window = 8_000
			var stdout, stderr bytes.Buffer
			args := append([]string{"-model", ways[0].model, "-base-url", s.URL, "-dir", dir, "-window", "8000", "-task", task, "-session", filepath.Join(t.TempDir(), "s.jsonl")}, test.flags...)
			require.Equal(t, folderagent.ExitOK, run(t.Context(), args, &stdout, &stderr), "%s\n%q", stderr.String(), s.Broken)
			require.Contains(t, stdout.String(), "The password is xyzzy42.")
			_, _, summaries := s.Seen(t)
			require.Positive(t, summaries)
			require.Equal(t, strings.Contains(strings.Join(test.flags, " "), "-skills"), strings.Contains(stderr.String(), "c/SKILL.md: left out: "))
			if test.front != "" {
				for front := range s.fronts {
					require.True(t, strings.HasPrefix(front, test.front), front)
				}
			}
			require.Equal(t, map[int]bool{test.tools: true}, s.tools, "the declared tools never change")
		})
	}
}

// Each model is sent the messages of the others in a form that it accepts.
func TestASessionContinuesWithAnyModel(t *testing.T) {
	dir, path := shelf(t, 4), filepath.Join(t.TempDir(), "session.jsonl")
	asked, repaired := 0, map[string]bool{}
	for _, w := range append(ways, ways...) {
		setKey(t, w.keyOf, apitest.Key)
		s := newServer(t, w.api, mind{})
		t.Setenv(w.address, s.URL)
		for range 2 {
			asked++
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"-model", w.model, "-dir", dir, "-session", path, "-window", "60000", "-task", task}, &stdout, &stderr)
			require.Equal(t, folderagent.ExitOK, code, "%s: %s", w.name, stderr.String())
			require.Contains(t, stdout.String(), "The password is xyzzy42.")
			require.Equal(t, asked > 1, strings.Contains(stderr.String(), "The session continues where it ended"))
			if strings.Contains(stderr.String(), "requests are repaired") {
				repaired[w.name] = true
			}
			s.Seen(t)
			s.mind = mind{}
		}
	}
	require.NotContains(t, repaired, "Gemini", "what it is sent needs none")
	delete(repaired, "a model on a server of one's own over Chat Completions") // it depends on which parallel result is first
	require.Len(t, repaired, len(ways)-2)
	session, err := history.Read(path, history.Options{})
	require.NoError(t, err)
	defer session.Close()
	models := 0
	for e, err := range session.Entries(t.Context()) {
		require.NoError(t, err)
		if e.Type() == entry.TypeModelChange {
			models++
		}
	}
	require.Equal(t, 2*len(ways), models, "a change is noted, the same model again is none")
}

func TestASmallerWindowIsLearntFromARefusal(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			setKey(t, w.keyOf, apitest.Key)
			s := newServer(t, w.api, mind{})
			s.Window = 8_000
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"-model", w.model, "-base-url", s.URL, "-dir", shelf(t, 24), "-window", "16000", "-task", task}, &stdout, &stderr)
			require.Equal(t, folderagent.ExitOK, code, stderr.String())
			require.Contains(t, stdout.String(), "The password is xyzzy42.")
			require.Empty(t, s.Broken)
			require.Positive(t, s.TooLong)
			require.LessOrEqual(t, s.TooLong, 6)
			require.LessOrEqual(t, s.Largest, s.Window)
		})
	}
}

// cancelling is a writer that interrupts the program when a text is written.
type cancelling struct {
	written bytes.Buffer
	at      string
	cancel  context.CancelFunc
}

func (c *cancelling) Write(p []byte) (int, error) {
	n, err := c.written.Write(p)
	if strings.Contains(c.written.String(), c.at) {
		c.cancel()
	}
	return n, err
}

func TestAnInterruptSignalEndsTheProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs an interrupt that can be sent to a process")
	}
	binary, err := os.Executable()
	require.NoError(t, err)
	for _, w := range ways {
		setKey(t, w.keyOf, apitest.Key)
		s := newServer(t, w.api, mind{hangAt: 2})
		path := filepath.Join(t.TempDir(), "session.jsonl")
		cmd := exec.CommandContext(t.Context(), binary, "-model", w.model, "-base-url", s.URL, "-dir", shelf(t, 2), "-session", path, "-window", "60000", "-task", task)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		interrupt := sync.OnceFunc(func() { _ = cmd.Process.Signal(os.Interrupt) })
		stdout := &cancelling{at: "Step 1.\nSte", cancel: interrupt}
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = stdout, &stderr
		require.Error(t, cmd.Run())
		require.Equal(t, folderagent.ExitInterrupted, cmd.ProcessState.ExitCode(), stderr.String())
		lines := strings.Split(stderr.String(), "\n")
		require.Equal(t, []string{"live: interrupted; session: " + path, ""}, lines[len(lines)-2:])
		require.NotContains(t, stderr.String(), "Error context canceled", "no SDK writes in between")
		require.NoError(t, chat.Validate(compacttest.SaidInFile(t, path)))
	}
}

func TestARefusedKeyIsAnErrorInOneLine(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			setKey(t, w.keyOf, "a bad key")
			s := newServer(t, w.api, mind{})
			path := filepath.Join(t.TempDir(), "session.jsonl")
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"-model", w.model, "-base-url", s.URL, "-window", "60000", "-task", task, "-session", path}, &stdout, &stderr)
			require.Equal(t, folderagent.ExitUsage, code, stderr.String())
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			require.Contains(t, stderr.String(), "the key is refused: check ")
			require.Contains(t, stderr.String(), w.keyOf)
			require.NotContains(t, stderr.String(), "a bad key")
			require.Len(t, s.Broken, 1, "a bad key is not tried again")
			require.Len(t, compacttest.SaidInFile(t, path), 1)
		})
	}
}

func TestBadInputIsOneLineAndExitCode2(t *testing.T) {
	dir := t.TempDir()
	model := []string{"-model", "openai:gpt-4o", "-task", task}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no model", []string{"-task", task}, "-model is missing"},
		{"an unknown policy", append(model, "-policy", "best"), "use one of a3s, copilot-chat"},
		{"prices of an unknown model", append(model, "-prices", "best"), `the prices of model "best" are unknown`},
		{"an unknown provider", []string{"-model", "acme:one", "-task", task}, `there is no provider "acme"`},
		{"no provider", []string{"-model", "gpt-4o", "-task", task}, `there is no provider "gpt-4o"`},
		{"a provider without a name", []string{"-model", "gemini:", "-task", task}, "names no model"},
		{"an address without its protocol", append(model, "-base-url", "localhost:8080"), `the base URL is "localhost:8080"`},
		{"no task", []string{"-model", "openai:gpt-4o"}, "-task is missing"},
		{"an unknown flag", append(model, "-bogus"), "-bogus"},
		{"an argument", append(model, "more"), `unexpected argument "more"`},
		{"a window of 0", append(model, "-window", "0"), "-window is 0"},
		{"a window that is not a number", append(model, "-window", "many"), "-window"},
		{"an answer of -1", append(model, "-answer", "-1"), "-answer is -1"},
		{"an answer that fills the window", append(model, "-answer", "1000", "-window", "1000"), "-answer 1000"},
		{"a window too small for the prompt", append(model, "-window", "100"), "the window is too small"},
		{"a missing folder", append(model, "-dir", filepath.Join(dir, "none")), "none"},
		{"a file that is not a session", append(model, "-session", sure.File(t, "notes.txt", "no session at all")), "notes.txt"},
		{"a tokenizer that cannot be read", append(model, "-tokenizer", filepath.Join(dir, "none.json")), "-tokenizer: "},
		{"a page in a missing folder", append(model, "-page", filepath.Join(dir, "none", "run.html")), "none"},
		{"a page that is the session", append(model, "-session", filepath.Join(dir, "s"), "-page", filepath.Join(dir, "s")), "would replace the session"},
		{"a folder of skills that is missing", append(model, "-window", "60000", "-skills", filepath.Join(dir, "none")), "none"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			setKey(t, "OPENAI_API_KEY", apitest.Key)
			s := newServer(t, apitest.ChatCompletions{}, mind{})
			t.Setenv("OPENAI_BASE_URL", s.URL)
			t.Setenv("TMPDIR", t.TempDir())
			var stdout, stderr bytes.Buffer
			require.Equal(t, folderagent.ExitUsage, run(t.Context(), test.args, &stdout, &stderr), stderr.String())
			require.Empty(t, stdout.String())
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
			require.Contains(t, stderr.String(), test.want)
			require.Zero(t, s.Answers)
		})
	}
}

func TestHelpGoesToTheStandardOutput(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, folderagent.ExitOK, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "-model")
	require.Empty(t, stderr.String())
}

func TestControlCharactersAreEscapedAndNotesHaveTheirOwnLine(t *testing.T) {
	var screen bytes.Buffer
	out := newTerminal(&screen, &screen)
	out.say(chat.Thinking{Text: "Hm"})
	out.say(chat.Thinking{Text: "m."})
	out.say(chat.Text("One\x1b[2J"))
	out.say(chat.CallDelta{ID: "a", Name: "read_file", Arguments: "{}"})
	out.say(chat.Text(" two\r\n\tthree"))
	out.note("a\nnote\x07")
	out.say(chat.Text("four\n"))
	out.event(event.Event{Kind: event.Retrying, Err: &chat.TransientError{Err: errors.New("busy")}, Asked: event.Asked{Wait: 2 * time.Second}})
	require.Equal(t, "  (thinking)\nOne\\u001b[2J two\\u000d\n\tthree\na note\\u0007\nfour\n  Trying again in 2s: busy\n", screen.String())
}

func TestANoteOfASummaryDoesNotPartALineOfTheAnswer(t *testing.T) {
	failed := event.Event{Kind: event.Failed, Plan: "p", Err: errors.New("busy\ntoday")}
	for name, test := range map[string]struct {
		end  func(*terminal)
		want string
	}{
		"the line ends":        {func(out *terminal) { out.say(chat.Text(" two.\n")) }, "One two.\n  Not summarised: busy today\n"},
		"the answer ends":      {func(out *terminal) { out.note("done") }, "One\n  Not summarised: busy today\ndone\n"},
		"the answer is broken": {func(out *terminal) { out.event(event.Event{Kind: event.Failed, Err: errors.New("cut")}) }, "One\n  Not summarised: busy today\n  Not summarised: cut\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var screen bytes.Buffer
			out := newTerminal(&screen, &screen)
			out.say(chat.Text("One"))
			out.event(failed)
			test.end(out)
			require.Equal(t, test.want, screen.String())
		})
	}
}

func TestControlCharactersInArgumentsAreEscaped(t *testing.T) {
	for _, args := range [][]string{{"-no\x1b[2J"}, {"-task", "x", "-model", "\x1b[2J\u202e"}, {"-task", "x", "-model", "openai:x", "-base-url", "http://localhost", "-window", "9000", "-dir", "none\x1b\u202e"}} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, folderagent.ExitUsage, run(t.Context(), args, &stdout, &stderr))
		require.Contains(t, stderr.String(), `\u`)
		require.NotRegexp(t, "[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202e]", stdout.String()+stderr.String())
	}
}

func TestAServerWithoutAKnownModelIsAskedForItsWindow(t *testing.T) {
	setKey(t, "OPENAI_API_KEY", apitest.Key)
	s := newServer(t, apitest.ChatCompletions{}, mind{})
	models := `{"data":[{"id":"local:8b","max_model_len":8000}]}`
	mux := http.NewServeMux()
	mux.Handle("POST /", s)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+apitest.Key {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, models)
	})
	own := httptest.NewServer(mux)
	defer own.Close()
	s.Window = 8_000
	work := func() (int, string) {
		var stdout, stderr bytes.Buffer
		return run(t.Context(), []string{"-model", "openai:local:8b", "-base-url", own.URL, "-dir", shelf(t, 24), "-task", task}, &stdout, &stderr), stderr.String()
	}
	code, said := work()
	require.Equal(t, folderagent.ExitOK, code, said)
	_, _, summaries := s.Seen(t)
	require.Positive(t, summaries, "of the window that the server told")

	models = `{"data":[{"id":"local:8b"}]}`
	code, said = work()
	require.Equal(t, folderagent.ExitUsage, code)
	require.Contains(t, said, "-window is missing")
	require.Contains(t, said, "does not report the context window of model")

	own.Close()
	code, said = work()
	require.Equal(t, folderagent.ExitFailed, code)
	require.Contains(t, said, "live: the server does not answer: ", "no flag helps")
	require.NotContains(t, said, "-window")
}

func TestAModelIsCountedByItsOwnTokenizer(t *testing.T) {
	for _, test := range []struct {
		model, key string
		p          apitest.API
		says       string
	}{
		{"openai:qwen3:8b", "OPENAI_API_KEY", apitest.ChatCompletions{}, "Counts are exact: the model's vocabulary and the chat template of Qwen3."},
		{"openai:phi4", "OPENAI_API_KEY", apitest.ChatCompletions{}, "Counts are estimated: the model's vocabulary for texts; its chat template is not known"},
		{"gemini:gemini-test", "GEMINI_API_KEY", apitest.Gemini{}, "Counts are estimated: the model's vocabulary for texts"},
	} {
		t.Run(test.model, func(t *testing.T) {
			setKey(t, test.key, apitest.Key)
			s := newServer(t, test.p, mind{})
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"-model", test.model, "-base-url", s.URL, "-window", "60000", "-dir", shelf(t, 4), "-task", task,
				"-tokenizer", sure.File(t, "tokenizer.json", string(vocabularytest.JSON(chattemplate.Qwen3.Tokens()...)))}, &stdout, &stderr)
			require.Equal(t, folderagent.ExitOK, code, stderr.String())
			require.Contains(t, stderr.String(), test.says)
		})
	}
}
