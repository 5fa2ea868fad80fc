package tiktoken

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/imagetest"
)

func TestOlderModelsChargeImagesByTheTile(t *testing.T) {
	c := newTestCounter(t, "o200k_base")
	for _, tt := range []struct {
		rule  string
		image chat.Image
		want  int
	}{
		{"low detail is the base, whatever the size", chat.Image{URL: imagetest.PNG(4096, 8192), Detail: chat.DetailLow}, 85},
		{"OpenAI's first example: 4 tiles", chat.Image{URL: imagetest.PNG(1024, 1024), Detail: chat.DetailHigh}, 765},
		{"OpenAI's second example: 6 tiles", chat.Image{URL: imagetest.PNG(2048, 4096), Detail: chat.DetailHigh}, 1105},
		{"auto counts as high", chat.Image{URL: imagetest.PNG(1024, 1024), Detail: chat.DetailAuto}, 765},
		{"no detail counts as high", chat.Image{URL: imagetest.PNG(1024, 1024)}, 765},
		{"a small image is not scaled up", chat.Image{URL: imagetest.PNG(128, 64)}, 255},
		{"one tile", chat.Image{URL: imagetest.PNG(512, 512)}, 255},
		{"one pixel more", chat.Image{URL: imagetest.PNG(513, 512)}, 425},
		{"a side of 512.75 pixels is 513, as billed", chat.Image{URL: imagetest.PNG(2049, 513)}, 1445},
		{"a side of 512.5 pixels is 512, as billed", chat.Image{URL: imagetest.PNG(2050, 513)}, 765},
		{"an image of one pixel height", chat.Image{URL: imagetest.PNG(1_000_000, 1)}, 85 + 170},
		{"the largest", chat.Image{URL: imagetest.PNG(2048, 768)}, 1445},
		{"an unknown size is the largest", chat.Image{URL: "https://example.com/a.png", Detail: chat.DetailHigh}, 1445},
		{"an unknown size in low detail is the base", chat.Image{URL: "https://example.com/a.png", Detail: chat.DetailLow}, 85},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, c.CountPart(tt.image)) })
	}
}

func TestNoImageTakesMoreThanTheLargest(t *testing.T) {
	for _, rate := range []imageRate{defaultImages, {base: 2833, tile: 5667}, {patchFactor: 1.62}, {patchFactor: 1.2, maxPatches: 2500},
		{patchFactor: 1.2, maxPatches: 2500, original: true}} {
		for w := 1.0; w < 10000; w = w*1.1 + 1 {
			for h := 1.0; h < 10000; h = h*1.1 + 1 {
				require.LessOrEqual(t, rate.tokens(w, h), rate.largest(), "%v by %v", w, h)
			}
		}
	}
}

func TestImagesCountAsTheModelTakesThem(t *testing.T) {
	for _, tt := range []struct {
		model  string
		detail chat.ImageDetail
		want   int
	}{
		{"gpt-4o", chat.DetailHigh, 85 + 170*4},
		{"gpt-4.1", chat.DetailHigh, 85 + 170*4},
		{"gpt-4o-mini", chat.DetailHigh, 2833 + 5667*4},
		{"gpt-4o-mini-2024-07-18", chat.DetailLow, 2833},
		{"o3", chat.DetailHigh, 75 + 150*4},
		{"o1", chat.DetailLow, 75},
		{"gpt-4.1-mini", chat.DetailHigh, 1659}, // 1024 patches by 1.62
		{"gpt-4.1-nano", chat.DetailLow, 2520},  // by 2.46, whatever the detail
		{"o4-mini", "", 1762},
		{"gpt-5.1", chat.DetailHigh, 85 + 170*4},
		{"gpt-5-nano", "", 2520},
		{"gpt-5.2", chat.DetailHigh, 1229}, // 1024 patches, billed a fifth more
		{"gpt-5.3-codex", "", 1229},
		{"gpt-5.4", "", 1229},
		{"gpt-5.4-mini-2026-03-17", "", 1659},
		{"gpt-5.4-nano", "", 2520},
		{"gpt-5.5", "", 1229},
	} {
		t.Run(tt.model, func(t *testing.T) {
			c, err := ForModel(tt.model)
			require.NoError(t, err)
			require.Equal(t, tt.want, c.CountPart(chat.Image{URL: imagetest.PNG(1024, 1024), Detail: tt.detail}))
		})
	}
}

func TestAnImageInPatchesIsScaledDownToTheLimit(t *testing.T) {
	c, err := ForModel("gpt-4.1-mini")
	require.NoError(t, err)
	const largest = 2489 // 1536 patches by 1.62
	require.Equal(t, largest, c.CountPart(chat.Image{URL: imagetest.PNG(4000, 1474)}))
	require.Equal(t, largest, c.CountPart(chat.Image{URL: "https://example.com/a.png"}))
}

func TestAnImageInPatchesIsAtMostTheModelsLimit(t *testing.T) {
	for _, tt := range []struct {
		rule, model   string
		detail        chat.ImageDetail
		width, height int
		want          int // patches
	}{
		{"1,536 patches", "gpt-5.2", chat.DetailHigh, 4000, 4000, 1536},
		{"2,500 patches", "gpt-5.4", chat.DetailHigh, 4000, 4000, 2500},
		{"a side of 2,048 pixels", "gpt-5.4", chat.DetailHigh, 4096, 640, 64 * 10},
		{"2,500 patches in high detail", "gpt-5.5", chat.DetailHigh, 4000, 4000, 2500},
		{"10,000 patches if the detail is left to OpenAI", "gpt-5.5", "", 4000, 4000, 10_000},
		{"10,000 patches if the detail is auto", "gpt-5.6-sol", chat.DetailAuto, 3200, 1600, 100 * 50},
		{"a side of 6,000 pixels", "gpt-5.5", "", 12_000, 640, 188 * 10},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			c, err := ForModel(tt.model)
			require.NoError(t, err)
			got := c.CountPart(chat.Image{URL: imagetest.PNG(tt.width, tt.height), Detail: tt.detail})
			require.Equal(t, int(math.Ceil(float64(tt.want)*1.2)), got)
		})
	}
}
