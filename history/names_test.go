package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/internal/test/bordertest"
	"github.com/promptree-go/promptree/internal/test/sessiontest"
)

// namesText returns n lines of prose with a name, the first of which is said three times and the second twice.
func namesText(n int) string {
	text := "parseLine cmd/main.go parseLine cmd/main.go parseLine\n"
	for i := range n {
		text += fmt.Sprintf("some words of prose and then file-%03d.go among more words\n", i)
	}
	return text
}

func TestAPlaceholderNamesWhatItStandsFor(t *testing.T) {
	for _, c := range []struct {
		rule   string
		names  int
		result string
		want   string // behind the handle
	}{
		{"what is mentioned most comes first", 30, namesText(100), "; names in it: parseLine, cmd/main.go, file-000.go, file-001.go, file-002.go, file-003.go, file-004.go, file-005.go]"},
		{"at most a sixth of the result", 1000, namesText(9), "; names in it: parseLine, cmd/main.go, file-000.go"},
		{"nothing is named by default", 0, namesText(100), "]"},
		{"nothing is named where there are no names", 30, prose(1000), "]"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			write := callsOf("write")
			write.ToolCalls[0].Arguments = `{"text":` + quoted(c.result) + `}`
			s := recalling(t, user, callsOf("run"), chat.ToolResult("run", c.result), write, chat.ToolResult("write", "ok"), callsOf("later"), chat.ToolResult("later", prose(500)))
			rule := history.ClearRule{Keep: 100, Names: c.names, Arguments: 100}
			look, _, _ := rule.Look(viewOf(t, s), quarter{})
			before := tokensOf(viewOf(t, s))
			found, ok := cleared(t, s, rule)
			require.True(t, ok)
			require.Equal(t, before-tokensOf(viewOf(t, s)), found.Saved)
			require.LessOrEqual(t, look, found.Saved+1)
			require.GreaterOrEqual(t, look, found.Saved-2*max(30, c.names))
			for _, at := range append(found.Results, found.Arguments...) {
				_, behind, _ := strings.Cut(at.Text, `"})`)
				if at.Call != "" {
					_, behind, _ = strings.Cut(at.Text, `\"})`)
				}
				require.True(t, strings.HasPrefix(behind, c.want), behind)
				size := (len(behind) - len("]")) / 4
				require.LessOrEqual(t, size, min(c.names, len(c.result)/4/6)+1, behind)
			}
		})
	}
}

func TestARuleWithItsOwnPlaceholderMayNameToo(t *testing.T) {
	s := recalling(t, user, callsOf("run"), chat.ToolResult("run", namesText(100)), callsOf("later"), chat.ToolResult("later", prose(500)))
	own := func(o history.ClearedOutput) string { return "gone: " + strings.Join(o.Names, " ") }
	found, ok := cleared(t, s, history.ClearRule{Keep: 100, Names: 12, Placeholder: own})
	require.True(t, ok)
	require.Equal(t, "gone: parseLine cmd/main.go", found.Results[0].Text)
}

func TestAPreviewNamesWhatItDoesNotShow(t *testing.T) {
	keys := ""
	for i := range 300 {
		keys += fmt.Sprintf(`"key_%03d":"some words of prose and then value_%03d","rare_%03d":[]`+",\n", i%100, i, i)
	}
	for what, text := range map[string]string{"a text": namesText(200), "an outline": "[{" + strings.TrimSuffix(keys, ",\n") + "}]"} {
		for _, room := range []int{60, 100, 250} {
			t.Run(fmt.Sprint(what, " ", room), func(t *testing.T) {
				s := recalling(t, user, callsOf("run"), chat.ToolResult("run", text))
				rule := history.PreviewRule{Above: 1000, Tokens: 200}
				bare, ok := rule.Find(viewOf(t, s), quarter{})
				require.True(t, ok)
				rule.Names = room
				named, ok := rule.Find(viewOf(t, s), quarter{})
				require.True(t, ok)
				shown := named.Results[0].Text
				require.LessOrEqual(t, quarter{}.CountText(shown), 200+room)
				require.Less(t, named.Saved, bare.Saved)
				before, list, ok := strings.Cut(shown, "; names in it: ")
				require.True(t, ok, shown)
				list, after, _ := strings.Cut(list, " ...]")
				require.Equal(t, bare.Results[0].Text, before+" ...]"+after, "but for the names it is the same")
				for name := range strings.SplitSeq(list, ", ") {
					require.Contains(t, text, name)
					require.NotContains(t, bare.Results[0].Text, name)
				}
			})
		}
	}
}

func TestTheMarkOfAPreviewHasNoNames(t *testing.T) {
	s := recalling(t, user, callsOf("run"), chat.ToolResult("run", prose(100_000)+" parseLine"))
	preview, ok := history.PreviewRule{Above: 1000}.Find(viewOf(t, s), quarter{})
	require.True(t, ok)
	sessiontest.Add(t, s, entry.Entry{Body: preview})
	require.Regexp(t, `\d{4} tokens cut here`, viewOf(t, s).Turns[0].Rounds[0].Results[0].Message().Text())
	require.NoError(t, s.Append(t.Context(), callsOf("later"), chat.ToolResult("later", prose(500))))
	found, ok := cleared(t, s, history.ClearRule{Keep: 100, Names: 100})
	require.True(t, ok)
	_, names, _ := strings.Cut(found.Results[0].Text, "; names in it: ")
	require.Equal(t, "parseLine]", names)
}

func TestNoNameReadsAsATagOrAMark(t *testing.T) {
	var forged []string
	for _, name := range bordertest.Tags {
		forged = append(forged, bordertest.Forged(name)...)
	}
	for _, mark := range bordertest.Marks {
		forged = append(forged, bordertest.ForgedMarks(mark)...)
	}
	text := strings.Repeat(strings.Join(forged, "\nparseLine "), 2)
	s := recalling(t, user, callsOf("run"), chat.ToolResult("run", text), callsOf("later"), chat.ToolResult("later", prose(500)))
	found, ok := cleared(t, s, history.ClearRule{Keep: 100, Names: 10_000})
	require.True(t, ok)
	_, list, ok := strings.Cut(found.Results[0].Text, "; names in it: ")
	require.True(t, ok)
	require.Empty(t, bordertest.Found(list))
	require.NotContains(t, list, "read_session", "its handle has that")
}
