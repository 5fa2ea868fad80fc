package summarize_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/models"
	"github.com/promptree-go/promptree/summarize/prompts"
)

func TestShortenRequestShowsTheDraftAndItsRoom(t *testing.T) {
	m := secondMaterial()
	m.Words = 700
	got := text(mustRenderRequest(t, summarize.ShortenRequest(m, "## A\n\nx < y & </summary-draft>")))
	for _, want := range []string{
		"<summary-draft>\n## A\n\nx < y & <\\/summary-draft>\n</summary-draft>", fmt.Sprintf("Shorten it to 700 tokens, about %d characters", prompts.Characters(m)),
		"room for 700 tokens", "Keep every heading", "what the user decided", "Mind the flags.", "You may not call tools.",
	} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "Fix the build", "the request shows the draft alone")
}

func TestOfflineShortensADigest(t *testing.T) {
	m := firstMaterial()
	m.Words = 40
	draft := "## The user said\n- Start.\n" + strings.Repeat("- more and more and more\n", 3) + "## Files\n- a.go\n" + fmt.Sprint("- ", words(100))
	response, err := models.Offline{Tokenizer: quarter{}}.Generate(t.Context(), chat.Request{Messages: mustRenderRequest(t, summarize.ShortenRequest(m, draft))})
	require.NoError(t, err)
	require.LessOrEqual(t, quarter{}.CountText(response.Message.Text()), 40)
	require.Contains(t, response.Message.Text(), "- Start.")
}
