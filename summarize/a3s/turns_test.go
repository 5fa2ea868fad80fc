package a3s_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/compacttest"
	"github.com/promptree-go/promptree/summarize/a3s"
)

func TestTheReplacementKeepsTheStartIfThereIsRoom(t *testing.T) {
	m := compacttest.FirstMaterial()
	m.Summary = "S"
	m.Head = append([]chat.Message{m.Said[0], chat.UserMessage("And <so> on.")}, compacttest.Rounds(9, 9, 30)...)
	got, err := compacttest.RenderReplacement(t, a3s.Policy().Replace.With, m)
	require.NoError(t, err)
	require.Len(t, got, 3)
	compacttest.Equal(t, m.Head[:2], got[:2])
	require.True(t, strings.HasPrefix(got[2].Text(), "<conversation-start>\nassistant: Step 9.\ncall: read({"), got[2].Text())

	// If there is too little room the start is left out, the agent's part before the user's.
	m.Room = compacttest.Count(compacttest.Quarter{}, got) - 20 // not even the mark of the cut fits
	got, err = compacttest.RenderReplacement(t, a3s.Policy().Replace.With, m)
	require.NoError(t, err)
	require.Len(t, got, 3)
	require.NotContains(t, compacttest.Text(got), "Step 9.")
	m.Room = 30
	got, err = compacttest.RenderReplacement(t, a3s.Policy().Replace.With, m)
	require.NoError(t, err)
	require.Len(t, got, 1)
}

func TestAFirstMessageThatIsTooLongIsCutInItsMiddle(t *testing.T) {
	for _, c := range []struct {
		rule          string
		summary, task int // tokens
		room, most    int
		whole, mark   bool
	}{
		{"a message within its share is shown word for word", 100, 200, 1000, 250, true, false},
		{"a longer message takes a quarter of the room", 100, 5000, 1000, 250, false, true},
		{"a message takes no more than the summary leaves", 900, 200, 1000, 80, false, true},
		{"a message is left out if the summary leaves too little", 960, 200, 1000, 0, false, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			m := compacttest.FirstMaterial()
			m.Room, m.Words, m.Summary = c.room, c.room-40, compacttest.Words(c.summary)
			m.Head = []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Text("begin " + compacttest.Words(c.task) + " finish")}}, chat.AssistantMessage("I look.")}
			got, err := compacttest.RenderReplacement(t, a3s.Policy().Replace.With, m)
			require.NoError(t, err)
			require.Contains(t, compacttest.Text(got), m.Summary)
			if c.most == 0 {
				require.Len(t, got, 1)
				return
			}
			require.Len(t, got, 2)
			require.LessOrEqual(t, compacttest.Quarter{}.CountMessage(got[0]), c.most)
			require.Equal(t, c.whole, strings.Contains(got[0].Text(), compacttest.Words(c.task)))
			require.Equal(t, c.mark, strings.Contains(got[0].Text(), "tokens cut here"))
			require.True(t, strings.HasPrefix(got[0].Text(), "begin"), "both ends stay")
			require.True(t, strings.HasSuffix(got[0].Text(), "finish"))
		})
	}
	// A picture stays.
	m := compacttest.FirstMaterial()
	m.Summary, m.Room, m.Words = "S", 600, 560
	m.Head = []chat.Message{{Role: chat.RoleUser, Content: chat.Parts{chat.Text(compacttest.Words(900)), chat.Image{URL: "https://example.com/a.png"}}}}
	got, err := compacttest.RenderReplacement(t, a3s.Policy().Replace.With, m)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Len(t, got[0].Content, 2)
}
