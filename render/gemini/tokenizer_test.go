package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/imagetest"
	"github.com/promptree-go/promptree/render/gemini"
)

func TestImageTokensFollowTheDocumentedRule(t *testing.T) {
	for _, tt := range []struct {
		rule                string
		width, height, want int
	}{
		{"a small image is one tile", 384, 384, 258},
		{"however small", 1, 1, 258},
		{"a side over 384 cuts it up", 385, 385, 258 * 4},               // tiles of 256
		{"tiles are two thirds of the shorter side", 960, 540, 258 * 6}, // of 360: Google's own example
		{"at least 256", 385, 10, 258 * 2},
		{"at most 768", 3072, 2304, 258 * 4 * 3},
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
		{"a token for 4 characters", chat.Text("zwölf Zeichen"), 4},
		{"nothing for nothing", chat.Text(""), 0},
		{"thinking by its text", chat.Thinking{Text: "Hmmm", Signature: "long, long, long"}, 1},
		{"an image by its size, not its bytes", chat.Image{URL: imagetest.PNG(960, 540)}, 258 * 6},
		{"one that is elsewhere as a large one", chat.Image{URL: "https://example.com/a.png"}, 258 * 12},
		{"and one that is torn", chat.Image{URL: "data:image/png;base64,AAAA"}, 258 * 12},
		{"a plain document by its text", chat.NewDocument("text/plain", []byte("12345678")), 2},
		{"a PDF by its pages", chat.NewDocument("application/pdf", []byte("<</Type/Pages>> <</Type /Page>> <</Type/Page/Parent>>")), 258 * 2},
		{"or by its size, where they do not show", chat.NewDocument("application/pdf", make([]byte, 7_000)), 258 * 3},
		{"and one page at least", chat.NewDocument("application/pdf", nil), 258},
		{"an opaque part by what it says", chat.Opaque{Value: json.RawMessage(`{"a":"long, long, long"}`), Tokens: 7}, 7},
		{"a breakpoint as nothing", chat.CacheBreakpoint{}, 0},
	} {
		t.Run(tt.rule, func(t *testing.T) { require.Equal(t, tt.want, gemini.Tokenizer{}.CountPart(tt.part)) })
	}
}

// letters counts a token a byte.
type letters struct{ chat.Tokenizer }

func (letters) CountText(text string) int { return len(text) }

func TestMessagesAndToolsCountByTheirTexts(t *testing.T) {
	counter := gemini.Tokenizer{Text: letters{}}
	require.Equal(t, 5+3+5, counter.CountMessage(chat.Message{Role: chat.RoleUser, Name: "Ann", Content: chat.Parts{chat.Text("Hello")}}))
	require.Equal(t, 5+4+2, counter.CountMessage(calls(call("a long id", `{}`))))
	require.Equal(t, 0, counter.CountTools(nil))
	require.Equal(t, 4+strings.Count("Looks at a place.", "")-1+len(lookTool.Parameters), counter.CountTools([]chat.Tool{lookTool}))
}
