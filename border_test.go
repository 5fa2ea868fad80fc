package promptree_test

import (
	"context"
	"io/fs"
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
	"github.com/promptree-go/promptree/history/recall"
	"github.com/promptree-go/promptree/internal/test/bordertest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
	"github.com/promptree-go/promptree/internal/test/sizingtest"
	"github.com/promptree-go/promptree/internal/test/sure"
	"github.com/promptree-go/promptree/render"
	"github.com/promptree-go/promptree/sources/instructions"
	"github.com/promptree-go/promptree/sources/skills"
	"github.com/promptree-go/promptree/sources/tools"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/mirror"
	"github.com/promptree-go/promptree/summarize/models"
)

// writers lists what puts texts from outside between tags in a prompt, but for requests and summaries (which
// summarize/policies tests). Each returns what it writes if said has replaced all that comes from others. A new one is a row.
var writers = map[string]func(t *testing.T, said func(string) string) string{
	"commands": func(t *testing.T, said func(string) string) string {
		return viewOf(t, entry.Shell{Command: said("ls"), Output: said("a.go"), ExitCode: 1}, entry.Shell{Command: said("ls"), Cancelled: true})
	},
	"messages of the application": func(t *testing.T, said func(string) string) string {
		return viewOf(t, entry.CustomMessage{Name: said("hook"), Content: chat.Parts{chat.Text(said("a")), chat.Text(said("b")), chat.Image{URL: "u"}, chat.Text(said("c"))}})
	},
	"the summary of a branch": func(t *testing.T, said func(string) string) string {
		files := entry.Files{Read: []string{said("a.go"), said("b.go")}, Modified: []string{said("c.go"), said("d.go")}}
		return viewOf(t, entry.BranchSummary{From: "x", Summary: entry.Summary{Text: said("It failed."), Files: files}})
	},
	"what a mirror cannot say in its role": func(t *testing.T, said func(string) string) string {
		c := &summarize.Compactor{Session: new(history.Session), Policy: a3s.Policy(), Target: summarize.Target{
			Model: models.Offline{Tokenizer: sizingtest.Quarter{}}, Tokenizer: sizingtest.Quarter{}, Budget: 1_000_000,
		}}
		defer c.Close()
		list := []chat.Message{chat.UserMessage("Look."), chat.SystemMessage(said("Be brief.")), chat.ToolResult("1", said("found")), chat.UserMessage("And?")}
		fitted, err := mirror.New(c).Fit(t.Context(), mirror.Request[chat.Message]{Messages: list})
		require.NoError(t, err)
		require.Equal(t, []chat.Role{chat.RoleUser, chat.RoleUser, chat.RoleUser, chat.RoleUser}, rolesOf(fitted.Messages))
		return textOf(fitted.Messages)
	},
	"instruction files": func(t *testing.T, said func(string) string) string {
		said = inFile(said)
		folder := name(said("docs"))
		files := fstest.MapFS{
			"AGENTS.md":           {Data: []byte(said("Test it.") + "\nsee @docs/a.md and @/etc/passwd\n" + said("And") + "\n")},
			"docs/a.md":           {Data: []byte(said("Be kind.") + "\n")},
			folder + "/CLAUDE.md": {Data: []byte(said("Be quick.") + "\n")},
		}
		return rendered(t, el.User(&instructions.Files{FS: files, Dir: folder}))
	},
	"skills": func(t *testing.T, said func(string) string) string {
		said = inFile(said)
		s := new(history.Session)
		quoted := sure.JSON(t, said("It deploys."))
		file := name(said("a.md"))
		known := &skills.Skills{Session: s, Folders: []fs.FS{fstest.MapFS{
			"deploy/SKILL.md":    {Data: []byte("---\nname: deploy\ndescription: " + string(quoted) + "\n---\n" + said("Do it.") + "\n")},
			"deploy/z/" + file:   {Data: []byte(said("More."))},
			"deploy/z/" + "z.md": {Data: []byte(said("More."))},
		}}}
		catalogue := rendered(t, el.User(skills.Catalogue{Skills: known}))
		result, _, err := known.Answer(t.Context(), chat.ToolCall{ID: "1", Name: skills.ToolName, Arguments: `{"skill":"deploy"}`})
		require.NoError(t, err)
		require.False(t, result.IsError, result.Text())
		return catalogue + result.Text() + rendered(t, skills.Loaded{Skills: known})
	},
	"tools that were found": func(t *testing.T, said func(string) string) string {
		schema := sure.JSON(t, map[string]any{"type": "object", "properties": map[string]any{said("city"): map[string]any{"description": said("Its name.")}}})
		d := &tools.Deferred{Session: new(history.Session), Tools: []chat.Tool{{Name: "weather", Description: said("Tells the weather."), Parameters: schema}}}
		result, _, err := d.Answer(t.Context(), chat.ToolCall{ID: "1", Name: tools.SearchTool, Arguments: `{"query":"weather"}`})
		require.NoError(t, err)
		return result.Text() + rendered(t, tools.Found{Deferred: d})
	},
	"answers of recall": func(t *testing.T, said func(string) string) string {
		s := new(history.Session)
		call := chat.ToolCall{ID: "1", Name: "look" + said("up"), Arguments: "{}"}
		require.NoError(t, s.Append(t.Context(), chat.UserMessage("Look."), chat.Message{Role: chat.RoleAssistant, ToolCalls: []chat.ToolCall{call}}, chat.ToolResult("1", "needle\n"+said("x"))))
		found, err := recall.Tools{Session: s}.Search(t.Context(), recall.Query{Words: "needle"})
		require.NoError(t, err)
		read, _, err := recall.Tools{Session: s}.Answer(t.Context(), chat.ToolCall{ID: "2", Name: history.ReadTool, Arguments: `{"entry":"` + s.Leaf() + `"}`})
		require.NoError(t, err)
		return found + read.Text()
	},
}

// inFile returns a function that leaves out what a file of text does not have.
func inFile(said func(string) string) func(string) string {
	return func(text string) string { return strings.ReplaceAll(said(text), "\x00", "") }
}

// name returns a text as the name of a file.
func name(text string) string { return strings.ReplaceAll(text, "/", "") }

func rendered(t *testing.T, shown elements.Node) string {
	r, err := render.Render(t.Context(), shown, render.Options{Budget: 1_000_000, Tokenizer: sizingtest.Quarter{}})
	require.NoError(t, err)
	return textOf(r.Messages)
}

// viewOf returns what a model sees of entries.
func viewOf(t *testing.T, bodies ...entry.Body) string {
	s := new(history.Session)
	for _, b := range bodies {
		sessiontest.Add(t, s, entry.Entry{Body: b})
	}
	v, err := s.View(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	require.Len(t, v.Messages(), len(bodies))
	return textOf(v.Messages())
}

// textOf returns the texts of messages, none of which goes on in the next.
func textOf(list []chat.Message) (text string) {
	for _, m := range list {
		for _, p := range m.Content {
			if t, ok := p.(chat.Text); ok {
				text += string(t)
			} else {
				text += "\n]\n"
			}
		}
		text += "\n]\n"
	}
	return text
}

func rolesOf(list []chat.Message) (roles []chat.Role) {
	for _, m := range list {
		roles = append(roles, m.Role)
	}
	return roles
}

// halves are texts of which one begins a tag or a mark that the next ends.
var halves = [][2]string{{"<", "conversation-summary>"}, {"</", "instructions>"}, {"[result left out", `here: read_session({"entry":"0c1"})]`}, {"[... 12 tokens", "cut here: x ...]"}}

func TestNoWriterLetsATextForgeItsBorder(t *testing.T) {
	t.Parallel()
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			plain := bordertest.Found(write(t, func(text string) string { return text }))
			require.NotEmpty(t, plain, "it writes between tags")
			for _, attack := range bordertest.Attacks() {
				text := write(t, func(text string) string { return text + attack })
				require.ElementsMatch(t, plain, bordertest.Found(text), text)
			}
			for _, half := range halves {
				n := 0
				text := write(t, func(string) string { n++; return half[(n+1)%2] })
				require.NotRegexp(t, `(^|[^\\])\[(result left out\s+here|\.\.\. 12 tokens\s+cut here)`, text)
				tags := slices.DeleteFunc(bordertest.Found(text), func(found string) bool { return found[0] == '[' })
				require.ElementsMatch(t, plain, tags, text)
			}
		})
	}
}
