package sizing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// Without the model's tokenizer an estimate is better than nothing, and says that it is one.
func ExampleEstimator() {
	var estimate sizing.Estimator // as stagewise does
	m := chat.UserMessage("Why does the build fail?")
	fmt.Println(estimate.CountText(m.Text()), "tokens of text,", estimate.CountMessage(m), "with what wraps it")
	fmt.Println("estimated:", sizing.IsEstimate(estimate))
	// Output:
	// 6 tokens of text, 106 with what wraps it
	// estimated: true
}

func TestAnEstimatorDividesCharacters(t *testing.T) {
	text := strings.Repeat("x", 401)
	call := chat.ToolCall{ID: "ignored", Name: "read", Arguments: `{"path":"a"}`}
	bare := sizing.Estimator{MessageChars: -1}
	for _, tt := range []struct {
		rule      string
		got, want int
	}{
		{"a text is a quarter of its characters, rounded up", sizing.Estimator{}.CountText(text), 101},
		{"an empty text is 0 tokens", sizing.Estimator{}.CountText(""), 0},
		{"a character of two bytes counts once", sizing.Estimator{}.CountText("äöüß"), 1},
		{"each invalid byte counts", sizing.Estimator{}.CountText("\xff\xff\xff\xff\xff"), 2},
		{"another ratio", sizing.Estimator{CharsPerToken: 2.5}.CountText("12345678901"), 5},
		{"an invalid ratio means the default", sizing.Estimator{CharsPerToken: -1}.CountText("12345678"), 2},
		{"a message takes 400 characters more", sizing.Estimator{}.CountMessage(chat.UserMessage(text)), 201},
		{"a message takes the characters that are set", sizing.Estimator{MessageChars: 40}.CountMessage(chat.UserMessage(text)), 111},
		{"a number below 0 means none", bare.CountMessage(chat.UserMessage(text)), 101},
		{"names count", bare.CountMessage(chat.Message{Role: chat.RoleUser, Name: "Ada!"}), 1},
		{"calls count by name and arguments", bare.CountMessage(chat.Message{ToolCalls: []chat.ToolCall{call, call}}), 8},
		{"a signature counts", bare.CountMessage(chat.Message{ToolCalls: []chat.ToolCall{{Name: "read", Signature: "12345678"}}}), 3},
		{"a message is rounded once", bare.CountMessage(chat.Message{Content: chat.Parts{chat.Text("a"), chat.Text("b"), chat.Text("c")}}), 1},
		{"an image", sizing.Estimator{}.CountPart(chat.Image{URL: "data:" + text}), 1200},
		{"a document", sizing.Estimator{}.CountPart(chat.Document{Data: text}), 101},
		{"thinking with its signature", sizing.Estimator{}.CountPart(chat.Thinking{Text: "1234", Signature: "1234", Encrypted: "1234"}), 3},
		{"an opaque value counts as its tokens", sizing.Estimator{}.CountPart(chat.Opaque{Value: json.RawMessage(text), Tokens: 7}), 7},
		{"an opaque value without tokens counts as its JSON", sizing.Estimator{}.CountPart(chat.Opaque{Value: json.RawMessage(text)}), 101},
		{"a cache breakpoint is 0 tokens", sizing.Estimator{}.CountPart(chat.CacheBreakpoint{}), 0},
		{"no tools are 0 tokens", sizing.Estimator{}.CountTools(nil), 0},
		{"a tool", sizing.Estimator{}.CountTools([]chat.Tool{{Name: "read", Description: "1234", Parameters: json.RawMessage(`{}`)}}), 13},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, tt.got) })
	}
}

func TestOnlyAnEstimatorEstimates(t *testing.T) {
	require.True(t, sizing.IsEstimate(sizing.Estimator{}))
	require.False(t, sizing.IsEstimate(bytesTokenizer{}))
	require.False(t, sizing.IsEstimate(nil))
}
