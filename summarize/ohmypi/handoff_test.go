package ohmypi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/policy"
)

func TestAHandoffMayHaveItsOwnQuestionAndShareOfResults(t *testing.T) {
	own := compacttest.Text(compacttest.MustRenderRequest(t, ohmypi.Handoff{Ask: "Say it in a word."}.Prompt().Request(compacttest.SecondMaterial())))
	require.Contains(t, own, "Say it in a word.")
	require.NotContains(t, own, "## Constraints")
	require.Contains(t, own, "Ada")

	m := compacttest.FirstMaterial()
	m.Covered, m.ResultTokens = compacttest.Rounds(1, 1, 500), 200
	long, short := compacttest.Text(compacttest.MustRenderRequest(t, ohmypi.Handoff{}.Prompt().Request(m))), compacttest.Text(compacttest.MustRenderRequest(t, ohmypi.Handoff{Results: 50}.Prompt().Request(m)))
	require.Greater(t, len(long)-len(short), 500)
}

func TestNotesEndWithTheOpenQuestionIfThatIsAskedFor(t *testing.T) {
	for question, want := range map[bool]int{false: 0, true: 1} {
		p := ohmypi.Handoff{Question: question}.Prompt()
		for _, m := range []policy.Material{compacttest.FirstMaterial(), compacttest.SecondMaterial()} {
			shown := compacttest.MustRenderRequest(t, p.Request(m))
			asks := shown[len(shown)-1].Text()
			require.Equal(t, want, strings.Count(asks, `"## Open question"`))
			require.Equal(t, want == 1, strings.Contains(asks, "quote it there\nword for word."))
		}
		require.NotContains(t, compacttest.Text(compacttest.MustRenderRequest(t, p.Prefix(compacttest.SecondMaterial()))), "Open question", "the turn's request is still shown")
	}
}

func TestTheNotesOfASplitTurnWithoutHistoryBeforeItSaySo(t *testing.T) {
	require.Equal(t, "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nNow.", ohmypi.Handoff{}.Prompt().Merge(" ", "Now."))
}

func TestFilesAreLeftOutIfThereIsTooLittleRoom(t *testing.T) {
	m := policy.Material{Summary: "S", Tokenizer: compacttest.Quarter{}, Room: 3000}
	for n := range 20 {
		m.Files.Read = append(m.Files.Read, fmt.Sprintf("read%02d.go", n))
		m.Files.Modified = append(m.Files.Modified, fmt.Sprintf("modified%02d.go", n))
	}
	got := compacttest.FormatReplacement(t, ohmypi.Policy().Replace.With, m)
	require.Equal(t, 40, strings.Count(got, ".go"))
	m.Room = 125
	got = compacttest.FormatReplacement(t, ohmypi.Policy().Replace.With, m)
	require.Equal(t, 20, strings.Count(got, "modified")-2)
	require.Contains(t, got, "<read-files>\nread00.go\n")
	require.NotContains(t, got, "read19.go")
	m.Room = 60
	got = compacttest.FormatReplacement(t, ohmypi.Policy().Replace.With, m)
	require.NotContains(t, got, "<read-files>")
	require.Contains(t, got, "<modified-files>\nmodified00.go\n")
	require.NotContains(t, got, "modified19.go")
}
