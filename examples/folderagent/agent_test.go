package folderagent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/agent"
	"github.com/promptree-go/promptree/summarize/models"
)

// watched returns a watch, and an agent without a model that it watches.
func watched(t *testing.T, files map[string]string) (*Watch, *agent.Agent) {
	t.Helper()
	own := toolsOf(t, sure.Folder(t, files), "")
	session, err := OpenSession("", false)
	require.NoError(t, err)
	c := &summarize.Compactor{Session: session, Target: summarize.Target{Tokenizer: tiktoken.O200k(), Budget: 20_000}}
	w := &Watch{OnRound: func(Round) {}}
	w.Attach(c)
	t.Cleanup(func() { require.NoError(t, errors.Join(c.Close(), session.Close())) })
	return w, &agent.Agent{Compactor: c, Prompt: Prompt(session, Sources{}, nil), Tools: own.Toolboxes(), OnStep: w.Step}
}

// reads returns the answers of a model that reads a file in each of some steps, and then is done.
func reads(file string, steps int) *models.Script {
	script := &models.Script{}
	for n := range steps {
		m := chat.AssistantMessage("I read " + file + ".")
		m.ToolCalls = []chat.ToolCall{{ID: fmt.Sprint("c", n), Name: "read_file", Arguments: fmt.Sprintf(`{"path":%q}`, file)}}
		script.Steps = append(script.Steps, func(context.Context, chat.Request) (chat.Response, error) { return chat.Response{Message: m}, nil })
	}
	script.Steps = append(script.Steps, models.Say("Done."))
	return script
}

func TestEachStepIsARound(t *testing.T) {
	w, a := watched(t, map[string]string{"one.md": "number one\n"})
	var did []string
	w.OnRound = func(r Round) {
		did = append(did, r.Did)
		require.Equal(t, len(did), r.Number)
		require.Positive(t, r.Tokens)
		require.LessOrEqual(t, r.Tokens, r.Budget)
		require.Equal(t, 20_000, r.Budget, "with the tools")
	}
	a.Compactor.Target.Model = reads("one.md", 1)
	answer, err := a.Run(t.Context(), "What is one?")
	require.NoError(t, err)
	require.NoError(t, Complete(answer))
	require.Equal(t, "Done.", answer.Message().Text())
	require.Equal(t, []string{"read_file one.md", "answers"}, did)
}

func TestAnIncompleteAnswerIsAnError(t *testing.T) {
	for _, reason := range []chat.StopReason{chat.StopMaxTokens, chat.StopFiltered} {
		require.Error(t, Complete(agent.Answer{Response: chat.Response{StopReason: reason}}))
	}
}

// big returns a folder with more lines and files than excerpts show.
func big(t *testing.T) string {
	files := map[string]string{"no_ending": "not shown", "sub/deep.md": "not shown"}
	for _, name := range []string{"a.md", "b.md", "c.md", "d.md", "e.md"} {
		for i := range 60 {
			files[name] += fmt.Sprintf("%s line %d\n", name, i+1)
		}
	}
	return sure.Folder(t, files)
}

// excerpted returns the lines shown of each file.
func excerpted(t *testing.T, messages []chat.Message) map[string][]string {
	t.Helper()
	shown := map[string][]string{}
	for _, m := range messages {
		_, rest, ok := strings.Cut(m.Text(), `<excerpt path="`)
		for ok {
			var block, name, body string
			block, rest, ok = strings.Cut(rest, `<excerpt path="`)
			name, body, _ = strings.Cut(block, "\">\n")
			body, _, closed := strings.Cut(strings.TrimPrefix(body, "```\n"), "\n```\n</excerpt>")
			require.True(t, closed, "an excerpt has its end: %q", block)
			shown[name] = strings.Split(body, "\n")
		}
	}
	return shown
}

// The last excerpt to go ends after a whole line.
func TestExcerptsRenderWithinTheirShare(t *testing.T) {
	tools := toolsOf(t, big(t), "")
	counter := tiktoken.O200k()
	before := 0
	for _, budget := range []int{110, 180, 250, 310, 600} {
		result, err := render.Render(t.Context(), elements.UserMessage{Children: elements.Nodes{
			Excerpts{Props: elements.Props{Priority: new(10), FlexGrow: 1}, Tools: tools},
			elements.Text("What is in these files?"),
		}}, render.Options{Budget: budget, Tokenizer: counter})
		require.NoError(t, err)
		require.LessOrEqual(t, result.Tokens, budget)
		require.Contains(t, result.Messages[0].Text(), "What is in these files?")
		lines := 0
		shown := excerpted(t, result.Messages)
		for name, got := range shown {
			require.Contains(t, []string{"a.md", "b.md", "c.md", "d.md"}, name, "four files at the top of the folder that are text")
			for i, line := range got {
				require.Equal(t, fmt.Sprintf("%s line %d", name, i+1), line, "whole lines from the first on")
			}
			require.LessOrEqual(t, len(got), excerptLines)
			lines += len(got)
		}
		require.NotEmpty(t, shown)
		require.Greater(t, lines, before, "more room shows more")
		before = lines
	}
	require.Equal(t, 4*excerptLines, before, "all of it, where there is room")
}

// As the window shrinks, the excerpts go first, the last of them before the others; then the hints; history never.
func TestExcerptsAreDroppedFirst(t *testing.T) {
	session := &history.Session{}
	require.NoError(t, session.Append(t.Context(), chat.UserMessage("First."), chat.AssistantMessage("I did the first."), chat.UserMessage("Second.")))
	tools := toolsOf(t, big(t), "")
	counter := tiktoken.O200k()
	whole, withoutExcerpts, withoutHints := false, false, false
	budget := 700
	for ; ; budget-- {
		result, err := render.Render(t.Context(), Prompt(session, Sources{}, Context(tools)), render.Options{Budget: budget, Tokenizer: counter})
		if exceeded, ok := errors.AsType[*render.BudgetExceededError](err); ok {
			require.Equal(t, budget, exceeded.Budget)
			break
		}
		require.NoError(t, err)
		require.LessOrEqual(t, result.Tokens, budget)
		require.NoError(t, chat.Validate(result.Messages))
		hintsDropped := false
		for _, p := range result.Report().Dropped() {
			switch {
			case strings.Contains(p.Path, "Excerpts"):
			case strings.Contains(p.Path, "Ranked"):
				hintsDropped = true
			default:
				t.Fatalf("at %d %s was dropped", budget, p.Path)
			}
		}
		shown := excerpted(t, result.Messages)
		for i, name := range []string{"a.md", "b.md", "c.md", "d.md"} {
			require.Equal(t, i < len(shown), shown[name] != nil, "at %d the last excerpts go first: %v", budget, shown)
		}
		require.False(t, hintsDropped && len(shown) > 0, "at %d a hint was dropped before an excerpt", budget)
		whole = whole || len(shown) == excerptFiles
		withoutExcerpts = withoutExcerpts || len(shown) == 0 && !hintsDropped
		withoutHints = withoutHints || hintsDropped
	}
	require.True(t, whole && withoutExcerpts && withoutHints, "each stage was seen on the way down")
}

func TestUnreadableFilesHaveNoExcerpt(t *testing.T) {
	result, err := render.Render(t.Context(), elements.UserMessage{Children: elements.Nodes{
		Excerpts{Tools: toolsOf(t, sure.Folder(t, map[string]string{"a.png": "\xff\xfe", "b.md": "text\n"}), "")},
	}}, render.Options{Budget: 1000, Tokenizer: tiktoken.O200k()})
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"b.md": {"text"}}, excerpted(t, result.Messages))
}
