package sizing_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

func dataURL(mediaType string, file []byte) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(file)
}

// pngOf is the head of a PNG of that many pixels, and nothing after it.
func pngOf(width, height int) string {
	be := binary.BigEndian
	chunk := be.AppendUint32([]byte("IHDR"), uint32(width))
	chunk = be.AppendUint32(chunk, uint32(height))
	chunk = append(chunk, 8, 6, 0, 0, 0)
	file := be.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), uint32(len(chunk)-4))
	file = append(file, chunk...)
	file = be.AppendUint32(file, crc32.ChecksumIEEE(chunk))
	return dataURL("image/png", append(file, make([]byte, 100)...))
}

func webpOf(kind string, data ...byte) string {
	file := []byte("RIFF\x00\x00\x00\x00WEBP" + kind + "\x00\x00\x00\x00")
	return dataURL("image/webp", append(append(file, data...), make([]byte, 20)...))
}

func TestImageSizeIsReadFromTheFile(t *testing.T) {
	picture := image.NewPaletted(image.Rect(0, 0, 37, 21), color.Palette{color.Black, color.White})
	encoded := func(mediaType string, encode func(*bytes.Buffer) error) string {
		var b bytes.Buffer
		require.NoError(t, encode(&b))
		return dataURL(mediaType, b.Bytes())
	}
	for kind, url := range map[string]string{
		"PNG":           encoded("image/png", func(b *bytes.Buffer) error { return png.Encode(b, picture) }),
		"JPEG":          encoded("image/jpeg", func(b *bytes.Buffer) error { return jpeg.Encode(b, picture, nil) }),
		"GIF":           encoded("image/gif", func(b *bytes.Buffer) error { return gif.Encode(b, picture, nil) }),
		"lossy WebP":    webpOf("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 37, 0x40, 21, 0x80),
		"lossless WebP": webpOf("VP8L", 0x2f, 36, 20<<6&0xff, 20>>2, 0),
		"extended WebP": webpOf("VP8X", 0, 0, 0, 0, 36, 0, 0, 20, 0, 0),
		"a wrong media type and odd case": strings.Replace(strings.Replace(pngOf(37, 21), "data:", "DATA:", 1),
			"image/png;base64", "image/jpeg;Base64", 1),
	} {
		t.Run(kind, func(t *testing.T) {
			w, h, ok := sizing.ImageSize(chat.Image{URL: url})
			require.True(t, ok)
			require.Equal(t, [2]int{37, 21}, [2]int{w, h})
		})
	}
}

func TestImageOfUnknownSize(t *testing.T) {
	for name, url := range map[string]string{
		"nothing":          "",
		"https":            "https://example.com/a,b.png",
		"an empty data":    "data:image/png;base64,",
		"no comma":         "data:image/png;base64",
		"no base64":        "data:image/svg+xml,<svg/>",
		"broken base64":    "data:image/png;base64,????",
		"text":             dataURL("image/png", []byte("hello")),
		"no pixels":        pngOf(0, 0),
		"a WebP cut off":   dataURL("image/webp", []byte("RIFF\x00\x00\x00\x00WEBPVP8L")),
		"an unknown WebP":  webpOf("VP9 "),
		"an empty WebP":    webpOf("VP8 "),
		"a PNG cut off":    pngOf(10, 10)[:40],
		"a huge non-image": dataURL("image/png", make([]byte, 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, ok := sizing.ImageSize(chat.Image{URL: url})
			require.False(t, ok)
		})
	}
}
