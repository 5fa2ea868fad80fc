package anthropic

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"image"
	_ "image/gif"  // so that the size of a GIF can be read,
	_ "image/jpeg" // of a JPEG
	_ "image/png"  // and of a PNG
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
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
	width, height, ok := imageSize(p.URL)
	if !ok {
		_, most := v.limits()
		return most
	}
	return v.ImageTokens(width, height)
}

// imageSize is the size in pixels of the image that a data URL holds, from the head of its file.
func imageSize(u string) (width, height int, ok bool) {
	_, data, _ := strings.Cut(u, ",")
	if len(u) < 5 || !strings.EqualFold(u[:5], "data:") {
		return 0, 0, false
	}
	r := bufio.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if file, _ := r.Peek(webpHead); len(file) == webpHead && string(file[:4]) == "RIFF" && string(file[8:12]) == "WEBP" {
		width, height = webpSize(file)
	} else if config, _, err := image.DecodeConfig(r); err == nil {
		width, height = config.Width, config.Height
	}
	return width, height, width > 0 && height > 0
}

// webpHead is the number of bytes at the start of a WebP file that say its size. No WebP is shorter.
const webpHead = 30

// webpSize reads the size from the head of a WebP file, which is of one of three kinds; 0 where it is of another.
func webpSize(file []byte) (width, height int) {
	le := binary.LittleEndian
	const mask14, mask24 = 1<<14 - 1, 1<<24 - 1
	switch string(file[12:16]) {
	case "VP8 ": // lossy
		return int(le.Uint16(file[26:]) & mask14), int(le.Uint16(file[28:]) & mask14)
	case "VP8L": // lossless
		bits := int(le.Uint32(file[21:]))
		return bits&mask14 + 1, bits>>14&mask14 + 1
	case "VP8X": // extended
		return int(le.Uint32(file[24:])&mask24) + 1, int(le.Uint32(file[26:])>>8) + 1
	default:
		return 0, 0
	}
}
