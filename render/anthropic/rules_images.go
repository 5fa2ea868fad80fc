package anthropic

import (
	"fmt"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// The limits of images that the guide to vision gives, in pixels a side.
const (
	maxImageSide  = 8000
	manyImages    = 20 // above which the next holds
	manyImageSide = 2000
)

// largeImage is an image that is too large, and why.
type largeImage struct {
	message, part int
	err           error
}

// largeImages finds the images that the API would refuse for their size, as far as it is to be seen.
func largeImages(messages []chat.Message) (large []largeImage) {
	side, images := maxImageSide, 0
	for _, m := range messages {
		for _, p := range m.Content {
			if _, ok := p.(chat.Image); ok {
				images++
			}
		}
	}
	if images > manyImages {
		side = manyImageSide
	}
	for i, m := range messages {
		for k, p := range m.Content {
			img, ok := p.(chat.Image)
			if !ok {
				continue
			}
			if width, height, ok := sizing.ImageSize(img); ok && max(width, height) > side {
				large = append(large, largeImage{i, k, fmt.Errorf("an image of %d by %d pixels, where %d is the most", width, height, side)})
			}
		}
	}
	return large
}

func (v *validator) images(messages []chat.Message) {
	for _, l := range largeImages(messages) {
		v.report(l.message, RuleImageSize, "part %d: %v", l.part, l.err)
	}
}

// images puts a text for each image that is too large.
func (r *repairer) images() {
	messages := make([]chat.Message, len(r.items))
	for n, it := range r.items {
		messages[n] = it.m
	}
	for _, l := range largeImages(messages) {
		it := &r.items[l.message]
		r.Report(it.index, RuleImageSize, "a text put in for part %d: %v", l.part, l.err)
		it.m.Content[l.part] = leftOut(l.err)
	}
}
