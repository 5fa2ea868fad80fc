package counting

import "github.com/promptree-go/promptree/elements/chat"

// Message returns the tokens of a message: those of its frame, and of its texts, joined or each on its own.
func Message(j chat.Joiner, m chat.Message) int {
	n, joined := j.CountFrame(m)
	if joined {
		return n + j.CountText(m.Text())
	}
	for _, part := range m.Content {
		if text, ok := part.(chat.Text); ok {
			n += j.CountText(string(text))
		}
	}
	return n
}
