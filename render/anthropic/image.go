package anthropic

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// Vision is the resolution at which a model looks at images.
type Vision int

// The resolutions, of models up to Claude Opus 4.6 and of those from Claude Opus 4.7 on that document the high one. The
// zero value is the standard one.
const (
	VisionStandard Vision = iota
	VisionHigh
)

// limits of an image at a resolution: the longer edge in pixels, and the tokens.
func (v Vision) limits() (edge, tokens int) {
	if v == VisionHigh {
		return 2576, 4784
	}
	return 1568, 1568
}

// patchSide is the edge in pixels of what is one token.
const patchSide = 28

// ImageTokens is what an image of that many pixels takes, by the rule that Anthropic documents: a token for each patch of
// 28 by 28 pixels that was begun, which is close to width × height / 750, once the image was scaled down, its proportions
// kept, to the longest edge and the most tokens of the resolution.
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
	fits, over := 0, min(longer, edge)+1 // the longest edge that fits is between them
	for over-fits > 1 {
		if middle := (fits + over) / 2; patches(middle) <= limit {
			fits = middle
		} else {
			over = middle
		}
	}
	return patches(fits)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// CountImage is what an image takes. One whose size is not to be seen, such as one at an address, is counted as the most
// that any takes.
func (v Vision) CountImage(p chat.Image) int {
	width, height, ok := sizing.ImageSize(p)
	if !ok {
		_, most := v.limits()
		return most
	}
	return v.ImageTokens(width, height)
}
