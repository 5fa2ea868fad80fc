package sizing

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"image"
	_ "image/gif"  // reads the size of a GIF
	_ "image/jpeg" // reads the size of a JPEG
	_ "image/png"  // reads the size of a PNG
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// ImageSize returns the size in pixels of a PNG, JPEG, GIF or WebP image in a base64 data URL, read from the head of
// the file. It returns false for any other image, such as one behind an https URL. Providers count images by their
// size.
func ImageSize(img chat.Image) (width, height int, ok bool) {
	const scheme = "data:"
	url := img.URL
	if len(url) < len(scheme) || !strings.EqualFold(url[:len(scheme)], scheme) {
		return 0, 0, false
	}
	head, data, _ := strings.Cut(url, ",")
	if !strings.HasSuffix(strings.ToLower(head), ";base64") {
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

// webpHead is the number of bytes at the start of a WebP file that hold its size. No WebP file is shorter.
const webpHead = 30

// webpSize reads the size from the head of a WebP file of any of the three kinds; 0 if it is of none.
func webpSize(file []byte) (width, height int) {
	le := binary.LittleEndian
	switch string(file[12:16]) {
	case "VP8 ": // lossy
		const mask = 1<<14 - 1
		return int(le.Uint16(file[26:]) & mask), int(le.Uint16(file[28:]) & mask)
	case "VP8L": // lossless
		const mask = 1<<14 - 1
		bits := int(le.Uint32(file[21:]))
		return bits&mask + 1, bits>>14&mask + 1
	case "VP8X": // extended
		const mask = 1<<24 - 1
		return int(le.Uint32(file[24:])&mask) + 1, int(le.Uint32(file[26:])>>8) + 1
	default:
		return 0, 0
	}
}
