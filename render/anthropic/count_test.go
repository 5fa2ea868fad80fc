package anthropic_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/imagetest"
	"github.com/promptree-go/promptree/render/anthropic"
)

func TestImageTokensFollowTheDocumentedRule(t *testing.T) {
	for _, c := range []struct {
		name                          string
		width, height, standard, high int
	}{
		{"no pixels are no tokens", 0, 10, 0, 0},
		{"a pixel is a token", 1, 1, 1, 1},
		{"a patch is a token", 28, 28, 1, 1},
		{"a part of a patch is a token", 29, 28, 2, 2},
		{"200 by 200", 200, 200, 64, 64},
		{"1000 by 1000", 1000, 1000, 1296, 1296},
		{"1092 by 1092, the largest square of the standard", 1092, 1092, 1521, 1521},
		{"the largest of 1:2", 784, 1568, 1568, 1568},
		{"2000 by 1500", 2000, 1500, 1564, 3888},
		{"a large square", 8000, 8000, 1521, 4761},
		{"a large square, wider by a bit", 8001, 8000, 1521, 4761},
		{"a very long and thin image", 100_000, 1, 56, 92},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.standard, anthropic.VisionStandard.ImageTokens(c.width, c.height))
			require.Equal(t, c.standard, anthropic.VisionStandard.ImageTokens(c.height, c.width))
			require.Equal(t, c.high, anthropic.VisionHigh.ImageTokens(c.width, c.height))
		})
	}
}

func TestImageTokensNeverExceedTheirLimit(t *testing.T) {
	for width := 1; width < 12_000; width += 97 {
		for height := 1; height < 12_000; height += 89 {
			n, m := anthropic.VisionStandard.ImageTokens(width, height), anthropic.VisionHigh.ImageTokens(width, height)
			if n < 1 || n > 1568 || m < n || m > 4784 {
				t.Fatalf("%d by %d: %d and %d", width, height, n, m)
			}
		}
	}
}

func TestAnImageOfUnknownSizeCountsAsTheLargest(t *testing.T) {
	require.Equal(t, 3, anthropic.VisionStandard.CountImage(chat.Image{URL: imagetest.PNG(57, 28)}))

	webp := append([]byte("RIFF\x00\x00\x00\x00WEBPVP8X\x00\x00\x00\x00\x00\x00\x00\x00"), 56, 0, 0, 27, 0, 0)
	require.Equal(t, 3, anthropic.VisionStandard.CountImage(chat.Image{URL: imagetest.DataURL("image/webp", webp)}))

	for _, unseen := range []string{"https://example.com/a.png", "data:image/png;base64,AAAA", "data:", ""} {
		require.Equal(t, 1568, anthropic.VisionStandard.CountImage(chat.Image{URL: unseen}))
		require.Equal(t, 4784, anthropic.VisionHigh.CountImage(chat.Image{URL: unseen}))
	}
}

func TestCountTokensAsksTheServerForTheWholeRequest(t *testing.T) {
	model, s := answering(t, say(text("42")))
	model.Thinking.Budget = 2000
	model.OnRepair = func([]chat.Repair) { t.Error("counting reported a repair") }
	req := ask(chat.SystemMessage("Be brief."), question, calls("a"))
	few, err := model.CountTokens(t.Context(), req)
	require.NoError(t, err)
	require.Positive(t, few)
	req.Messages = append(req.Messages, chat.ToolResult("a", "a long result of forty bytes, more or less"))
	more, err := model.CountTokens(t.Context(), req)
	require.NoError(t, err)
	without, err := model.CountTokens(t.Context(), tools(ask(question)))
	require.NoError(t, err)
	formed := tools(ask(question))
	formed.Format = &chat.Format{Name: "answer", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)}
	form, err := model.CountTokens(t.Context(), formed)
	require.NoError(t, err)
	require.Less(t, without, form, "the form of the answer counts")
	require.Less(t, without, few)
	require.Less(t, without, more)
	require.Zero(t, s.count(), "nothing was generated")

	model.Name, model.MaxImages = largeWindow, 600
	many, err := model.CountTokens(t.Context(), ask(user(slices.Repeat(chat.Parts{pixel}, 120)...)))
	require.NoError(t, err)
	model.MaxImages = 0
	fewer, err := model.CountTokens(t.Context(), ask(user(slices.Repeat(chat.Parts{pixel}, 120)...)))
	require.NoError(t, err)
	require.NotEqual(t, many, fewer, "the images that MaxImages lets through are counted")

	_, err = model.CountTokens(t.Context(), ask())
	require.Error(t, err)
	s.Close()
	_, err = model.CountTokens(t.Context(), req)
	require.ErrorAs(t, err, new(*chat.TransientError))
}
