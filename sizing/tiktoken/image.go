package tiktoken

import (
	"math"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// imageRate is the price of an image for a family of models: a base and a number of tokens for each tile; or, if
// patchFactor is set, that many tokens for each patch, with low detail counted as high.
type imageRate struct {
	base, tile  int
	patchFactor float64
	// maxPatches is the number of patches to which an image is scaled down. Defaults to 1,536.
	maxPatches float64
	// original reports whether the models take an image in its original size if no detail is asked for: up to 6,000
	// pixels a side and 10,000 patches.
	original bool
}

// The sizes in the formulas, in pixels or numbers of patches.
const (
	imageSide          = 2048 // an image is scaled down to fit a square of this side
	imageShorterSide   = 768  // an image that is counted in tiles is then scaled down to this shorter side
	tileSide           = 512
	patchSide          = 32
	defaultMaxPatches  = 1536
	originalSide       = 6000
	originalMaxPatches = 10_000
)

// countImage counts an image by the formula of the counter's model.
func (c *Counter) countImage(img chat.Image) int {
	if img.Detail == chat.DetailLow && c.images.patchFactor == 0 {
		return c.images.base
	}
	rate := c.images
	rate.original = rate.original && img.Detail != chat.DetailHigh && img.Detail != chat.DetailLow
	width, height, ok := sizing.ImageSize(img)
	if !ok {
		return rate.largest()
	}
	return rate.tokens(float64(width), float64(height))
}

// tokens returns the cost of an image of that many pixels in high detail, or in its original size.
func (r imageRate) tokens(width, height float64) int {
	if r.patchFactor > 0 {
		most, side := r.limits()
		scale := min(1, side/max(width, height))
		patches := math.Ceil(width*scale/patchSide) * math.Ceil(height*scale/patchSide)
		return r.patches(min(patches, most))
	}
	scale := min(1, imageSide/max(width, height))
	scale *= min(1, imageShorterSide/(scale*min(width, height)))
	// Rounded to whole pixels, as bills show: 2049 by 513 is billed as 8 tiles, 2050 by 513 as 4.
	width, height = math.RoundToEven(width*scale), math.RoundToEven(height*scale)
	return r.base + r.tile*max(1, int(math.Ceil(width/tileSide)*math.Ceil(height/tileSide)))
}

// largest returns the maximum cost of an image.
func (r imageRate) largest() int {
	if r.patchFactor > 0 {
		most, _ := r.limits()
		return r.patches(most)
	}
	return r.tokens(imageSide, imageShorterSide)
}

// limits returns the maximum number of patches and the maximum side of an image.
func (r imageRate) limits() (patches, side float64) {
	switch {
	case r.original:
		return originalMaxPatches, originalSide
	case r.maxPatches > 0:
		return r.maxPatches, imageSide
	default:
		return defaultMaxPatches, imageSide
	}
}

func (r imageRate) patches(n float64) int { return int(math.Ceil(n * r.patchFactor)) }
