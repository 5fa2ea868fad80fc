package gemini

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/sizing"
)

// Tokenizer counts by the rules that Google publishes. Texts count exactly with the vocabulary of Gemma 3, which Google
// publishes and you give: see [Counter]. Without it they are estimated; [sizing.Calibrated] improves the estimate, and
// [Model.CountTokens] asks Gemini. The zero value is ready to use.
type Tokenizer struct {
	// Text counts texts. Defaults to Google's rule of thumb, a token per 4 characters.
	Text chat.Tokenizer
}

var _ chat.Tokenizer = Tokenizer{}

// The numbers that Google publishes for images and documents.
const (
	imageSide  = 384             // pixels a side of an image that is one tile
	tileTokens = 258             // of each tile
	largeImage = 12 * tileTokens // of an image of unknown size: 4 by 3 tiles, as of a large photograph
	pageTokens = 258             // of a page of a document
)

// messageTokens are the tokens of a turn besides its text: in the template that Google publishes for Gemma, a start,
// the role, an end and two line feeds.
const messageTokens = 5

// pageBytes is the assumed size of a page, of compressed text, in a document whose pages cannot be counted.
const pageBytes = 3_000

// charactersPerToken is Google's rule of thumb.
const charactersPerToken = 4

// estimate counts a text by the rule of thumb.
func estimate(text string) int {
	return (utf8.RuneCountInString(text) + charactersPerToken - 1) / charactersPerToken
}

// CountText counts a text.
func (t Tokenizer) CountText(text string) int {
	if t.Text != nil {
		return t.Text.CountText(text)
	}
	return estimate(text)
}

// CountPart counts one part of a message's content:
//
//   - a text, and the text of thinking, as [Tokenizer.CountText];
//   - an image by [ImageTokens]; one of unknown size (at an address, or in a format other than PNG, JPEG, GIF and WebP)
//     as 12 tiles;
//   - a document of plain text ("text/…") as its text, and any other at 258 tokens a page, as Google documents. The
//     pages of a PDF are counted if they are not compressed; otherwise each 3,000 bytes are a page;
//   - an opaque part as its field Tokens says;
//   - a cache breakpoint as 0.
func (t Tokenizer) CountPart(part chat.Part) int {
	switch part := part.(type) {
	case chat.Text:
		return t.CountText(string(part))
	case chat.Thinking:
		return t.CountText(part.Text)
	case chat.Image:
		if width, height, ok := sizing.ImageSize(part); ok {
			return ImageTokens(width, height)
		}
		return largeImage
	case chat.Document:
		return t.countDocument(part)
	case chat.Opaque:
		return max(0, part.Tokens)
	default:
		return 0
	}
}

func (t Tokenizer) countDocument(doc chat.Document) int {
	data, err := base64.StdEncoding.DecodeString(doc.Data)
	if err != nil {
		data = []byte(doc.Data)
	}
	if strings.HasPrefix(doc.MediaType, "text/") {
		return t.CountText(string(data))
	}
	return pageTokens * pages(data)
}

// pageType matches the type of a page of a PDF, or of a list of pages.
var pageType = regexp.MustCompile(`/Type[ \r\n\t]*/Pages?`)

// pages counts the pages of a PDF that are not compressed, or estimates their number from its size.
func pages(data []byte) int {
	n := 0
	for _, name := range pageType.FindAll(data, -1) {
		if !bytes.HasSuffix(name, []byte("s")) {
			n++
		}
	}
	return max(1, cmp.Or(n, (len(data)+pageBytes-1)/pageBytes))
}

// CountMessage counts a message: its parts, the names and arguments of its calls, and 5 tokens for the turn.
func (t Tokenizer) CountMessage(m chat.Message) int {
	n := messageTokens
	if m.Name != "" {
		n += t.CountText(m.Name)
	}
	for _, p := range m.Content {
		n += t.CountPart(p)
	}
	for _, c := range m.ToolCalls {
		n += t.CountText(c.Name) + t.CountText(c.Arguments)
	}
	return n
}

// CountTools counts definitions of tools: names, descriptions and schemas.
func (t Tokenizer) CountTools(tools []chat.Tool) int {
	n := 0
	for _, tool := range tools {
		n += t.CountText(tool.Name) + t.CountText(tool.Description) + t.CountText(string(tool.Parameters))
	}
	return n
}

// ImageTokens returns the tokens of an image of that many pixels, by the rule that Google documents for Gemini 2.0 and
// later: 258 if both sides are at most 384 pixels. A larger image is cut into tiles of 258 tokens each: a tile's side
// is two thirds of the image's shorter side, but at least 256 and at most 768 pixels.
//
// Gemini 3 counts by the requested resolution instead, up to 1,120 tokens an image by default.
func ImageTokens(width, height int) int {
	if width <= imageSide && height <= imageSide {
		return tileTokens
	}
	side := min(max(min(width, height)*2/3, 256), 768)
	across, down := (width+side-1)/side, (height+side-1)/side
	return tileTokens * across * down
}
