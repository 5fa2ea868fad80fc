package summarize_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/summarize/models"
)

// ownCompaction returns a step that answers with a summary and with parts, as the provider's own compaction.
func ownCompaction(text string, parts ...chat.Opaque) models.Step {
	return func(ctx context.Context, req chat.Request) (chat.Response, error) {
		r, err := models.SaySummary(text)(ctx, req)
		r.Compaction = parts
		return r, err
	}
}

func TestAProvidersOwnCompactionIsKeptUnchangedBesideTheSummary(t *testing.T) {
	own := chat.Opaque{Value: json.RawMessage(`{"type":"compaction","encrypted_content":"<é>"}`), Tokens: 40}
	d := newFileFixture(t, overflowing()...)
	d.Answers(ownCompaction("The build was mended.", own))
	messages := d.Messages()
	require.Equal(t, own, messages[1].Content[len(messages[1].Content)-1])
	require.Contains(t, messages[1].Text(), "The build was mended.")

	path := filepath.Join(t.TempDir(), "session.jsonl")
	writeFile(t, path, content(t, d.Session.Path()))
	reopened := fixtureOf(t, opened(t, path))
	equal(t, messages, reopened.Messages())

	d.Say(rounds(7, 12, roundTokens)...)
	d.Always(models.SaySummary("All was mended."))
	again := d.Messages()
	require.NotContains(t, again[1].Content, own, "the next summary covers it")
	require.Contains(t, again[1].Text(), "All was mended.")
}

func TestAProvidersOwnCompactionThatIsInvalidOrTooLargeIsLeftOut(t *testing.T) {
	for name, parts := range map[string][]chat.Opaque{
		"too large for the room":   {{Value: json.RawMessage(`{"type":"compaction"}`), Tokens: budget}},
		"a count below 0":          {{Value: json.RawMessage(`{"type":"compaction"}`), Tokens: -1}},
		"a count above any budget": {{Value: json.RawMessage(`{"type":"compaction"}`), Tokens: 1 << 40}},
		"not JSON":                 {{Value: json.RawMessage(`{"type":`), Tokens: 4}},
		"an empty part":            {{}},
	} {
		d := newFixture(t, overflowing()...)
		d.Answers(ownCompaction("The build was mended.", parts...))
		messages := d.Messages()
		require.Len(t, messages[1].Content, 1, name)
		require.Contains(t, messages[1].Text(), "The build was mended.")
		mended := strings.Join((*d.Heard)[len(*d.Heard)-1].Mended, "; ")
		require.Equal(t, parts[0].Tokens == budget, strings.Contains(mended, "the provider's own compaction left out"), "%s: %s", name, mended)
	}
}
