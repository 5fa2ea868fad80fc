package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/test/imagetest"
	"github.com/promptree-go/promptree/render/gemini"
)

func TestImageTokensFollowTheDocumentedRule(t *testing.T) {
	for _, tt := range []struct {
		rule                string
		width, height, want int
	}{
		{"a small image is one tile", 384, 384, 258},
		{"the smallest image is one tile", 1, 1, 258},
		{"a side of more than 384 makes several tiles", 385, 385, 258 * 4}, // tiles of 256
		{"tiles are two thirds of the shorter side", 960, 540, 258 * 6},    // of 360: Google's own example
		{"a tile has at least 256 pixels a side", 385, 10, 258 * 2},
		{"a tile has at most 768 pixels a side", 3072, 2304, 258 * 4 * 3},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			require.Equal(t, tt.want, gemini.ImageTokens(tt.width, tt.height))
			require.Equal(t, tt.want, gemini.ImageTokens(tt.height, tt.width))
		})
	}
}

func TestAPartCountsByItsKind(t *testing.T) {
	for _, tt := range []struct {
		rule string
		part chat.Part
		want int
	}{
		{"a text counts a token for 4 characters", chat.Text("zwölf Zeichen"), 4},
		{"an empty text counts 0", chat.Text(""), 0},
		{"thinking counts by its text", chat.Thinking{Text: "Hmmm", Signature: "long, long, long"}, 1},
		{"an image counts by its size", chat.Image{URL: imagetest.PNG(960, 540)}, 258 * 6},
		{"an image at an address counts as a large one", chat.Image{URL: "https://example.com/a.png"}, 258 * 12},
		{"an image that cannot be read counts as a large one", chat.Image{URL: "data:image/png;base64,AAAA"}, 258 * 12},
		{"a document of plain text counts by its text", chat.NewDocument("text/plain", []byte("12345678")), 2},
		{"a PDF counts by its pages", chat.NewDocument("application/pdf", []byte("<</Type/Pages>> <</Type /Page>> <</Type/Page/Parent>>")), 258 * 2},
		{"a PDF with compressed pages counts by its bytes", chat.NewDocument("application/pdf", make([]byte, 7_000)), 258 * 3},
		{"a PDF counts as one page at least", chat.NewDocument("application/pdf", nil), 258},
		{"an opaque part counts its Tokens", chat.Opaque{Value: json.RawMessage(`{"a":"long, long, long"}`), Tokens: 7}, 7},
		{"a breakpoint counts 0", chat.CacheBreakpoint{}, 0},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, gemini.Tokenizer{}.CountPart(tt.part)) })
	}
}

// letters is a tokenizer that counts bytes.
type letters struct{ chat.Tokenizer }

func (letters) CountText(text string) int { return len(text) }

func TestMessagesAndToolsCountByTheirTexts(t *testing.T) {
	counter := gemini.Tokenizer{Text: letters{}}
	require.Equal(t, 5+3+5, counter.CountMessage(chat.Message{Role: chat.RoleUser, Name: "Ann", Content: chat.Parts{chat.Text("Hello")}}))
	require.Equal(t, 5+4+2, counter.CountMessage(calls(call("a long id", `{}`))))
	require.Equal(t, 0, counter.CountTools(nil))
	require.Equal(t, 4+strings.Count("Looks at a place.", "")-1+len(lookTool.Parameters), counter.CountTools([]chat.Tool{lookTool}))
}
