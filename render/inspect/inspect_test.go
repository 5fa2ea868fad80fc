package inspect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/render/inspect"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
)

// rendered renders texts of rising priorities, each in a message of its own, with an exact counter.
func rendered(t *testing.T, o render.Options, texts ...string) inspect.Rendered {
	t.Helper()
	tokenizer, err := tiktoken.New("o200k_base")
	require.NoError(t, err)
	var list elements.Nodes
	for i, text := range texts {
		list = append(list, elements.UserMessage{Props: elements.Props{Priority: &i}, Children: elements.Nodes{elements.Text(text)}})
	}
	if o.Budget == 0 {
		o.Budget = 100_000
	}
	o.Tokenizer = tokenizer
	result, err := render.Render(t.Context(), list, o)
	require.NoError(t, err)
	return inspect.Rendered{Result: result, Tokenizer: tokenizer}
}

// nothing returns a prompt of one letter.
func nothing(t *testing.T) *render.Result {
	t.Helper()
	return rendered(t, render.Options{}, "x").Result
}

// pageOf returns the page of prompts.
func pageOf(t *testing.T, o inspect.Options, requests ...inspect.Rendered) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, inspect.Prompt(t.Context(), &b, o, requests...))
	return b.String()
}

// dataOf returns the data of a page.
func dataOf(t *testing.T, page string) (data struct {
	Texts                 []json.RawMessage
	Nodes, Prompts, Steps []map[string]any
}) {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<script id="data" type="application/json">`)
	require.True(t, ok)
	text, _, ok := strings.Cut(rest, "</script>")
	require.True(t, ok)
	require.NoError(t, json.Unmarshal([]byte(text), &data))
	return data
}

// hostile are texts that try to become markup or script.
var hostile = []string{
	"</script><script>alert(1)</script>", "<!--<script>", "]]>", "<img src=x onerror=alert(1)>", "\x00\x01\x1b[31m\x7f", "\u202eright to left",
	"a\u2028b\u2029c", "&lt;b&gt; &amp;", "👩‍👩‍👧‍👦 é", "\xff\xfe not UTF-8", "`${alert(1)}`", strings.Repeat("x", 1<<20),
}

func TestNoTextEndsTheElementThatHoldsTheData(t *testing.T) {
	request := rendered(t, render.Options{Budget: 1_000_000}, hostile...)
	request.Name, request.Model = "</script>", "</script>"
	page := pageOf(t, inspect.Options{Title: "</title><script>alert(1)</script>"}, request)
	require.Equal(t, 2, strings.Count(page, "<script"), "the data and the page's own")
	require.Equal(t, 2, strings.Count(page, "</script"))
	require.NotContains(t, page, "<!--")
	texts := map[string]bool{}
	for _, raw := range dataOf(t, page).Texts {
		texts[sure.Decode[string](t, raw)] = true
	}
	for _, text := range hostile {
		require.True(t, texts[string([]rune(text))], "%.40q", text)
	}
}

func TestEachTextIsWrittenOnce(t *testing.T) {
	text := strings.Repeat("twice ", 1000)
	request := rendered(t, render.Options{}, text, text)
	require.Equal(t, 1, strings.Count(pageOf(t, inspect.Options{}, request, request), `"`+text+`"`))
}

func TestThePageIsTheSameEachTime(t *testing.T) {
	request := rendered(t, render.Options{Budget: 60}, hostile[:8]...)
	require.Equal(t, pageOf(t, inspect.Options{}, request), pageOf(t, inspect.Options{}, request))
}

func TestHiddenContentIsNotInThePage(t *testing.T) {
	const secret = "hunter2-is-the-password"
	request := rendered(t, render.Options{}, secret)
	request.Tools = []chat.Tool{{Name: "read", Description: secret}}
	page := pageOf(t, inspect.Options{HideContent: true}, request)
	require.NotContains(t, page, "hunter2")
	require.Contains(t, page, `{"bytes":23,"digest":"`)

	var log inspect.Steps
	step := inspect.Step{Rendered: request, Did: secret, Notes: []string{secret}, Compactions: []inspect.StepCompaction{{
		Shown: []chat.Message{chat.UserMessage(secret)}, Covered: []chat.Message{{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{{ID: "1", Name: "read", Arguments: secret}}}},
	}}}
	require.NoError(t, log.Add(t.Context(), step))
	var b bytes.Buffer
	require.NoError(t, inspect.Session(&b, &log, inspect.Options{HideContent: true}))
	require.NotContains(t, b.String(), "hunter2")
}

func TestThePageKnowsFromWhichBudgetPiecesAreKept(t *testing.T) {
	request := rendered(t, render.Options{Budget: 20}, "one two three", "four five six", "seven eight nine")
	survey, err := request.Result.Survey(t.Context())
	require.NoError(t, err)
	data := dataOf(t, pageOf(t, inspect.Options{}, request))
	require.EqualValues(t, survey.Least, data.Prompts[0]["least"])
	var want, got []int
	for _, p := range survey.Report.Pieces {
		want = append(want, p.KeptFrom)
	}
	for _, n := range data.Nodes {
		if p, ok := n["piece"].(map[string]any); ok {
			from, _ := p["keptFrom"].(float64)
			got = append(got, int(from))
		}
	}
	for i := range want {
		if want[i] == survey.Least {
			want[i] = 0 // never dropped
		}
	}
	require.Equal(t, want, got)
}

func TestAPromptWithoutASurveySaysWhy(t *testing.T) {
	data := dataOf(t, pageOf(t, inspect.Options{}, rendered(t, render.Options{LowWater: 0.5}, "text")))
	require.Equal(t, "there is a low water", data.Prompts[0]["unknown"])
}

func TestMessagesThatStepsHaveInCommonAreWrittenOnce(t *testing.T) {
	var log inspect.Steps
	var messages elements.Nodes
	tokenizer := sizing.Estimator{}
	for i := range 60 {
		text := fmt.Sprintf("text %d %s", i, strings.Repeat("word ", 200))
		messages = append(messages, elements.UserMessage{Props: elements.Props{Required: true}, Children: elements.Nodes{elements.Text(text)}})
		result, err := render.Render(t.Context(), messages, render.Options{Budget: 100_000, Tokenizer: tokenizer})
		require.NoError(t, err)
		require.NoError(t, log.Add(t.Context(), inspect.Step{Rendered: inspect.Rendered{Result: result, Tokenizer: tokenizer}}))
	}
	var b bytes.Buffer
	require.NoError(t, inspect.Session(&b, &log, inspect.Options{}))
	require.Len(t, dataOf(t, b.String()).Steps, 60)
	require.Less(t, b.Len()-len(pageOf(t, inspect.Options{}, inspect.Rendered{Result: nothing(t)})), 100_000, "1,830 texts of 1 kB are shown, 60 of them different")
}

func TestThePageLoadsNothing(t *testing.T) {
	page := pageOf(t, inspect.Options{}, rendered(t, render.Options{}, "text"))
	require.Contains(t, page, `default-src 'none'`)
	require.NotRegexp(t, `(src|href)="`, page)
	require.NotRegexp(t, `@import|url\((?:"|')?https?:`, page)
}

func TestMistakesAreErrors(t *testing.T) {
	require.ErrorIs(t, inspect.Prompt(t.Context(), &bytes.Buffer{}, inspect.Options{}), inspect.ErrNoPrompts)
	require.ErrorContains(t, inspect.Prompt(t.Context(), &bytes.Buffer{}, inspect.Options{}, inspect.Rendered{}), "Rendered.Result is not set")
	require.ErrorIs(t, inspect.Session(&bytes.Buffer{}, new(inspect.Steps), inspect.Options{}), inspect.ErrNoPrompts)
	request := rendered(t, render.Options{}, "text")
	require.ErrorIs(t, inspect.Prompt(t.Context(), full{}, inspect.Options{}, request), errFull)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, inspect.Prompt(ctx, &bytes.Buffer{}, inspect.Options{}, request), context.Canceled)
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestTheBundleIsSmallAndUpToDate(t *testing.T) {
	size := 0
	for _, name := range []string{"page.js", "page.css"} {
		text := sure.Read(t, name)
		require.NotRegexp(t, regexp.MustCompile(`(?i)</(script|style)|<!--`), string(text))
		size += len(text)
	}
	require.Less(t, size, 126_000, "with a kilobyte of licence")
	if testing.Short() {
		t.Skip("downloads the packages of the front end")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed: install Node")
	}
	work := filepath.Join(t.TempDir(), "web")
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc", "tsconfig.json", "build.mjs", "src"} {
		info, err := os.Stat(filepath.Join("web", name))
		require.NoError(t, err)
		if info.IsDir() {
			require.NoError(t, os.CopyFS(filepath.Join(work, name), os.DirFS(filepath.Join("web", name))))
			continue
		}
		text := sure.Read(t, filepath.Join("web", name))
		require.NoError(t, os.MkdirAll(work, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(work, name), text, 0o600))
	}
	run := func(args ...string) error {
		command := exec.CommandContext(t.Context(), npm, args...)
		command.Dir = work
		out, err := command.CombinedOutput()
		t.Logf("npm %v: %s", args, out)
		return err
	}
	if err := run("ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		t.Skip("the packages of the front end cannot be downloaded")
	}
	require.NoError(t, run("run", "check"))
	require.NoError(t, run("run", "build"))
	for _, name := range []string{"page.js", "page.css"} {
		want := sure.Read(t, filepath.Join(work, "..", name))
		require.True(t, bytes.Equal(want, sure.Read(t, name)), "%s is not up to date: run go generate ./render/inspect", name)
	}
}

func ExamplePrompt() {
	tokenizer := sizing.Estimator{MessageChars: -1}
	prompt := elements.UserMessage{Children: elements.Nodes{
		elements.TextChunk{Props: elements.Props{Priority: new(1)}, Children: elements.Nodes{elements.Text("An old note.")}},
		elements.TextChunk{Props: elements.Props{Priority: new(2)}, Children: elements.Nodes{elements.Text("The question.")}},
	}}
	result, err := render.Render(context.Background(), prompt, render.Options{Budget: 12, Tokenizer: tokenizer})
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := os.CreateTemp("", "prompt-*.html")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(file.Name())
	err = inspect.Prompt(context.Background(), file, inspect.Options{Title: "Notes"}, inspect.Rendered{Result: result, Tokenizer: tokenizer})
	if err := errors.Join(err, file.Close()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("open", filepath.Ext(file.Name()), "in a browser")
	// Output:
	// open .html in a browser
}

func ExampleSession() {
	tokenizer := sizing.Estimator{MessageChars: -1}
	var log inspect.Steps
	for _, question := range []string{"How many files are there?", "And lines?"} {
		prompt := elements.UserMessage{Children: elements.Nodes{elements.Text(question)}}
		result, err := render.Render(context.Background(), prompt, render.Options{Budget: 100, Tokenizer: tokenizer})
		if err != nil {
			fmt.Println(err)
			return
		}
		step := inspect.Step{Rendered: inspect.Rendered{Result: result, Tokenizer: tokenizer}, Did: "count_files"}
		if err := log.Add(context.Background(), step); err != nil {
			fmt.Println(err)
			return
		}
	}
	var page bytes.Buffer
	if err := inspect.Session(&page, &log, inspect.Options{Title: "Two questions"}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Contains(page.String(), "<title>Two questions</title>"))
	// Output:
	// true
}
