package counting

import "github.com/promptree-go/promptree/elements/chat"

// Bytes returns about how many bytes a part takes in the body of a request.
func Bytes(p chat.Part) int {
	switch p := p.(type) {
	case chat.Text:
		return len(p)
	case chat.Image:
		return len(p.URL)
	case chat.Document:
		return len(p.Data)
	case chat.Thinking:
		return len(p.Text) + len(p.Signature) + len(p.Encrypted)
	case chat.Opaque:
		return len(p.Value)
	}
	return 0
}
