package anthropic

import (
	"cmp"
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/provider"
	"github.com/promptree-go/promptree/sizing"
)

// The limits of images in the API's guide to vision, in pixels a side.
const (
	maxImageSide  = 8000
	manyImages    = 20 // with more images, the next limit applies
	manyImageSide = 2000
)

// maxImages is the maximum number of images in a request to a model with a context window of 200,000 tokens. Others
// accept 600.
const maxImages = 100

// imageLimits returns the limits in the guide to vision and the API's overview, read on 2026-11-23; 0 images are
// maxImages. On Amazon Bedrock and Google Cloud an image has at most 5 MB.
func imageLimits(images int) provider.ImageLimits {
	return provider.ImageLimits{Count: cmp.Or(max(0, images), maxImages), Each: 10 << 20, All: 32_000_000}
}

// largeImages returns the images whose known size is more than the API accepts.
func largeImages(messages []chat.Message) (large []provider.ImageExcess) {
	side := maxImageSide
	var images []provider.ImageExcess
	for i, m := range messages {
		for k, p := range m.Content {
			if _, ok := p.(chat.Image); ok {
				images = append(images, provider.ImageExcess{Message: i, Part: k, Rule: provider.RuleImageSize})
			}
		}
	}
	if len(images) > manyImages {
		side = manyImageSide
	}
	for _, e := range images {
		if width, height, ok := sizing.ImageSize(messages[e.Message].Content[e.Part].(chat.Image)); ok && max(width, height) > side {
			e.Err = fmt.Errorf("an image of %d by %d pixels: at most %d a side are accepted", width, height, side)
			large = append(large, e)
		}
	}
	return large
}
