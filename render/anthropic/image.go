package anthropic

import (
	"sort"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// Vision is the resolution at which a model looks at images.
type Vision int

// The resolutions: standard, the zero value, for models up to Claude Opus 4.6, and high, for Claude Opus 4.7 and later
// models that document it.
const (
	VisionStandard Vision = iota
	VisionHigh
)

// limits returns the maximum longer edge of an image, in pixels, and its maximum tokens.
func (v Vision) limits() (edge, tokens int) {
	if v == VisionHigh {
		return 2576, 4784
	}
	return 1568, 1568
}

// patchSide is the edge of a patch, which is one token, in pixels.
const patchSide = 28

// ImageTokens returns the tokens of an image of that many pixels, by the rule that Anthropic documents: the image is
// scaled down proportionally to the maximum edge and tokens of the resolution, and each patch of 28 by 28 pixels, or
// part of one, is a token. That is close to width × height / 750.
func (v Vision) ImageTokens(width, height int) int {
	if width <= 0 || height <= 0 {
		return 0
	}
	longer, shorter := max(width, height), min(width, height)
	edge, limit := v.limits()
	patches := func(edge int) int {
		other := max(1, int((int64(edge)*int64(shorter)+int64(longer)/2)/int64(longer)))
		return ceilDiv(edge, patchSide) * ceilDiv(other, patchSide)
	}
	longest := sort.Search(min(longer, edge), func(below int) bool { return patches(below+1) > limit })
	return patches(longest)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// CountImage returns the tokens of an image. An image of unknown size, such as one at an address, counts as the
// largest.
func (v Vision) CountImage(p chat.Image) int {
	width, height, ok := sizing.ImageSize(p)
	if !ok {
		_, most := v.limits()
		return most
	}
	return v.ImageTokens(width, height)
}
