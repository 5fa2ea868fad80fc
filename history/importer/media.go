package importer

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
)

// media returns an image, or a document of any other type, from its data in base64.
func media(mediaType, data string) chat.Part {
	if strings.HasPrefix(mediaType, "image/") {
		return chat.Image{URL: "data:" + mediaType + ";base64," + data}
	}
	return chat.Document{MediaType: mediaType, Data: data}
}

// media returns an image or a document from the fields that the protocol of tools' servers (MCP) names.
func (o *object) media() chat.Part { return media(o.text("mimeType"), o.text("data")) }

// appendThinking appends a thought unless it holds nothing.
func appendThinking(m *chat.Message, t chat.Thinking, what string, notes *pending) {
	if t == (chat.Thinking{}) {
		notes.add(Empty, what)
		return
	}
	m.Content = append(m.Content, t)
}

// compacted returns valid JSON without white space.
func compacted(raw json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // it is valid
	return b.String()
}

// dataURL returns the data of a URL that holds data of a media type in base64.
func dataURL(url, mediaType string) (data string, ok bool) {
	return strings.CutPrefix(url, "data:"+mediaType+";base64,")
}
