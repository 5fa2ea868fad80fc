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
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sizing"
	"github.com/promptree-go/promptree/sizing/tiktoken"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/policy"
)

func tokenizer(t *testing.T) chat.Tokenizer {
	t.Helper()
	c := tiktoken.O200k()
	return c
}

// scripted answers from a list, and then with "Done.".
type scripted struct {
	say      []chat.Message
	requests []chat.Request
	err      error
}

func (s *scripted) Generate(_ context.Context, req chat.Request) (chat.Response, error) {
	if s.requests = append(s.requests, req); s.err != nil {
		return chat.Response{}, s.err
	}
	if len(s.say) == 0 {
		return chat.Response{Message: chat.AssistantMessage("Done.")}, nil
	}
	m := s.say[0]
	s.say = s.say[1:]
	return chat.Response{Message: m}, nil
}

func reads(id, path string) chat.Message {
	m := chat.AssistantMessage("I read " + path + ".")
	m.ToolCalls = []chat.ToolCall{{ID: id, Name: "read_file", Arguments: fmt.Sprintf(`{"path":%q}`, path)}}
	return m
}

func TestAskRunsToolsUntilTheModelAnswers(t *testing.T) {
	model := &scripted{say: []chat.Message{reads("a", "one.md"), reads("b", "missing.md")}}
	var rounds []Round
	a := &Agent{
		Model: model, Session: &history.Session{}, Tools: toolsOf(t, folder(t, map[string]string{"one.md": "number one\n"}), ""),
		Summarizer: models.Offline{}, Tokenizer: tokenizer(t), Window: sizing.Window{Tokens: 4000}, Policy: policy.Policy{},
		OnRound: func(r Round) { rounds = append(rounds, r) },
	}
	answer, err := a.Ask(t.Context(), "What is one?")
	require.NoError(t, err)
	require.Equal(t, "Done.", answer)
	answer, err = a.Ask(t.Context(), "And two?")
	require.NoError(t, err)
	require.Equal(t, "Done.", answer)

	var did []string
	for i, r := range rounds {
		require.Equal(t, i+1, r.Number, "rounds are counted over all turns")
		require.Positive(t, r.Tokens)
		require.LessOrEqual(t, r.Tokens, r.Budget)
		did = append(did, r.Did)
	}
	require.Equal(t, []string{"read_file one.md", "read_file missing.md", "answers", "answers"}, did)

	var roles []chat.Role
	var said []chat.Message
	for e, err := range a.Session.Entries(t.Context()) {
		require.NoError(t, err)
		if e.Type() != entry.TypeMessage {
			continue
		}
		roles = append(roles, e.Message().Role)
		said = append(said, e.Message())
	}
	require.Equal(t, []chat.Role{"user", "assistant", "tool", "assistant", "tool", "assistant", "user", "assistant"}, roles)
	require.Equal(t, "number one\n", said[2].Text())
	require.True(t, said[4].IsError, "an error is a result, and the model continues")
	for _, r := range model.requests {
		require.NoError(t, chat.Validate(r.Messages))
		require.Equal(t, a.Tools.Definitions(), r.Tools)
	}
}

func TestAskFails(t *testing.T) {
	broken := errors.New("the line is dead")
	tests := []struct {
		name  string
		model *scripted
		limit int
		check func(t *testing.T, err error)
	}{
		{"if the model fails", &scripted{err: broken}, 4000, func(t *testing.T, err error) { require.ErrorIs(t, err, broken) }},
		{"if the prompt cannot fit", &scripted{}, 50, func(t *testing.T, err error) {
			_, ok := errors.AsType[*render.BudgetExceededError](err)
			require.True(t, ok, "the error is %v", err)
		}},
		{"if the model never answers", &scripted{say: func() (all []chat.Message) {
			for i := range 201 {
				all = append(all, reads(fmt.Sprint(i), "missing.md"))
			}
			return all
		}()}, 4000, func(t *testing.T, err error) { require.ErrorContains(t, err, "200 steps were made") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			counter := tokenizer(t)
			a := &Agent{
				Model: test.model, Summarizer: models.Offline{Tokenizer: counter}, Session: &history.Session{},
				Tools: toolsOf(t, t.TempDir(), ""), Tokenizer: counter, Window: sizing.Window{Tokens: test.limit}, Policy: policy.Policy{},
			}
			answer, err := a.Ask(t.Context(), "Go on.")
			require.Empty(t, answer)
			test.check(t, err)
		})
	}
}

func TestACancelledAskLeavesNoCallWithoutItsResult(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	a := &Agent{
		Model: &scripted{say: []chat.Message{reads("a", "one.md"), reads("b", "one.md")}}, Session: &history.Session{},
		Tools: toolsOf(t, t.TempDir(), ""), Summarizer: models.Offline{}, Tokenizer: tokenizer(t), Window: sizing.Window{Tokens: 4000}, Policy: policy.Policy{},
		OnRound: func(Round) { cancel(why) },
	}
	_, err := a.Ask(ctx, "Go on.")
	require.ErrorIs(t, err, why)
	n := 0
	for e, err := range a.Session.Entries(t.Context()) {
		require.NoError(t, err)
		if e.Type() == entry.TypeMessage {
			n++
		}
	}
	require.Equal(t, 3, n, "the question, the call and its result")
}

// big returns a folder with more lines and files than excerpts show.
func big(t *testing.T) string {
	files := map[string]string{"no_ending": "not shown", "sub/deep.md": "not shown"}
	for _, name := range []string{"a.md", "b.md", "c.md", "d.md", "e.md"} {
		for i := range 60 {
			files[name] += fmt.Sprintf("%s line %d\n", name, i+1)
		}
	}
	return folder(t, files)
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
	counter := tokenizer(t)
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
	a := &Agent{Session: session, Tools: tools, Context: Context(tools)}
	counter := tokenizer(t)
	whole, withoutExcerpts, withoutHints := false, false, false
	budget := 700
	for ; ; budget-- {
		result, err := render.Render(t.Context(), a.prompt(), render.Options{Budget: budget, Tokenizer: counter})
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
		Excerpts{Tools: toolsOf(t, folder(t, map[string]string{"a.png": "\xff\xfe", "b.md": "text\n"}), "")},
	}}, render.Options{Budget: 1000, Tokenizer: tokenizer(t)})
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"b.md": {"text"}}, excerpted(t, result.Messages))
}
