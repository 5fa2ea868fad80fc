package sizing_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/imagetest"
	"github.com/promptree-go/promptree/sizing"
)

func webpOf(kind string, data ...byte) string {
	file := []byte("RIFF\x00\x00\x00\x00WEBP" + kind + "\x00\x00\x00\x00")
	return imagetest.DataURL("image/webp", append(append(file, data...), make([]byte, 20)...))
}

func TestImageSizeIsReadFromTheFile(t *testing.T) {
	picture := image.NewPaletted(image.Rect(0, 0, 37, 21), color.Palette{color.Black, color.White})
	encoded := func(mediaType string, encode func(*bytes.Buffer) error) string {
		var b bytes.Buffer
		require.NoError(t, encode(&b))
		return imagetest.DataURL(mediaType, b.Bytes())
	}
	for kind, url := range map[string]string{
		"PNG":           encoded("image/png", func(b *bytes.Buffer) error { return png.Encode(b, picture) }),
		"JPEG":          encoded("image/jpeg", func(b *bytes.Buffer) error { return jpeg.Encode(b, picture, nil) }),
		"GIF":           encoded("image/gif", func(b *bytes.Buffer) error { return gif.Encode(b, picture, nil) }),
		"lossy WebP":    webpOf("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 37, 0x40, 21, 0x80),
		"lossless WebP": webpOf("VP8L", 0x2f, 36, 20<<6&0xff, 20>>2, 0),
		"extended WebP": webpOf("VP8X", 0, 0, 0, 0, 36, 0, 0, 20, 0, 0),
		"a wrong media type and odd case": strings.Replace(strings.Replace(imagetest.PNG(37, 21), "data:", "DATA:", 1),
			"image/png;base64", "image/jpeg;Base64", 1),
	} {
		t.Run(kind, func(t *testing.T) {
			w, h, ok := sizing.ImageSize(chat.Image{URL: url})
			require.True(t, ok)
			require.Equal(t, [2]int{37, 21}, [2]int{w, h})
		})
	}
}

func TestAnImageThatIsNotReadHasNoSize(t *testing.T) {
	for name, url := range map[string]string{
		"nothing":          "",
		"https":            "https://example.com/a,b.png",
		"an empty data":    "data:image/png;base64,",
		"no comma":         "data:image/png;base64",
		"no base64":        "data:image/svg+xml,<svg/>",
		"broken base64":    "data:image/png;base64,????",
		"text":             imagetest.DataURL("image/png", []byte("hello")),
		"no pixels":        imagetest.PNG(0, 0),
		"a WebP cut off":   imagetest.DataURL("image/webp", []byte("RIFF\x00\x00\x00\x00WEBPVP8L")),
		"an unknown WebP":  webpOf("VP9 "),
		"an empty WebP":    webpOf("VP8 "),
		"a PNG cut off":    imagetest.PNG(10, 10)[:40],
		"a huge non-image": imagetest.DataURL("image/png", make([]byte, 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, ok := sizing.ImageSize(chat.Image{URL: url})
			require.False(t, ok)
		})
	}
}
