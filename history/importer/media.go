package importer

import (
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
)

// media returns an image, or a document of any other type, from its data in base64.
func media(mediaType, data string) chat.Part {
	if strings.HasPrefix(mediaType, "image/") {
		return chat.Image{URL: "data:" + mediaType + ";base64," + data}
	}
	return chat.Document{MediaType: mediaType, Data: data}
}

// mediaOf returns an image or a document from the fields that the protocol of tools' servers (MCP) names.
func mediaOf(o *wire.Object) chat.Part { return media(o.Text("mimeType"), o.Text("data")) }

// appendThinking appends a thought unless it holds nothing.
func appendThinking(m *chat.Message, t chat.Thinking, what string, notes *pending) {
	if t == (chat.Thinking{}) {
		notes.add(Empty, what)
		return
	}
	m.Content = append(m.Content, t)
}

// dataURL returns the data of a URL that holds data of a media type in base64.
func dataURL(url, mediaType string) (data string, ok bool) {
	return strings.CutPrefix(url, "data:"+mediaType+";base64,")
}
