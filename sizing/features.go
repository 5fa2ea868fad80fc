package sizing

import (
	"hash/maphash"
	"unicode"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/counting"
)

// bytesPerToken is the number of bytes that the default base takes for a token.
const bytesPerToken = 4

// textCounts returns the counts of a text.
func (c *Calibrated) textCounts(text string) textCounts {
	return c.memory().counts(text, func(text string) textCounts {
		t := textCounts{base: c.baseText(text)}
		t.characters(text)
		return t
	})
}

// memory returns the memo of texts, which tokenizers returned by [Calibrated.Safe] share.
func (c *Calibrated) memory() *textMemo {
	if m := c.texts.Load(); m != nil {
		return m
	}
	c.texts.CompareAndSwap(nil, &textMemo{off: c.Base != nil && !counting.MayKeep(c.Base)})
	return c.texts.Load()
}

// textFeatures returns the features of a text, whose tokens by the base are one of them.
func (c *Calibrated) textFeatures(text string, tokens int) (f features) {
	t := c.textCounts(text)
	f.x[tokens] = t.base
	f.x[featureLetters] = float64(t.letters) / 4
	f.x[featureDigits] = float64(t.digits)
	f.x[featureSymbols] = float64(t.symbols)
	return f
}

func (c *Calibrated) baseText(text string) float64 {
	if c.Base == nil {
		return float64(len(text)+bytesPerToken-1) / bytesPerToken
	}
	return float64(c.Base.CountText(text))
}

// characters counts the characters of a text by kind.
func (t *textCounts) characters(text string) {
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			t.letters++
		case r == ' ' || r == '\n' || r == '\t' || r == '\r':
		case r >= '0' && r <= '9':
			t.digits++
		case r < 0x80:
			t.symbols++
		case unicode.IsLetter(r) || unicode.IsMark(r):
			t.letters++
		case unicode.IsDigit(r):
			t.digits++
		case !unicode.IsSpace(r):
			t.symbols++
		}
	}
}

func (c *Calibrated) partFeatures(part chat.Part) features {
	switch part := part.(type) {
	case chat.Text:
		return c.textFeatures(string(part), featureText)
	case chat.Thinking:
		return c.textFeatures(part.Text, featureText)
	case chat.Opaque:
		return features{fixed: float64(max(0, part.Tokens))}
	default:
		if c.Base == nil {
			return features{}
		}
		return features{fixed: float64(c.Base.CountPart(part))}
	}
}

func (c *Calibrated) messageFeatures(m chat.Message) features {
	var f features
	f.x[featureMessages] = 1
	for _, p := range m.Content {
		f = f.plus(c.partFeatures(p))
	}
	for _, call := range m.ToolCalls {
		f.x[featureCalls]++
		f = f.plus(c.textFeatures(call.Name, featureArguments)).plus(c.textFeatures(call.Arguments, featureArguments))
	}
	return f
}

func (c *Calibrated) toolFeatures(tools []chat.Tool) features {
	var f features
	if c.Base != nil {
		f.x[featureText] = float64(c.Base.CountTools(tools))
		return f
	}
	for _, t := range chat.Undeferred(tools) {
		f.x[featureText] += c.baseText(t.Name) + c.baseText(t.Description) + c.baseText(string(t.Parameters))
	}
	return f
}

// maxReported is the number of answers whose reported tokens are remembered at least.
const maxReported = 4_096

// messageKey identifies a message by its content.
type messageKey textKey

// keyOf returns the same key for two messages only if they count the same.
func keyOf(m chat.Message) messageKey {
	k := newKeyHash()
	k.texts(string(m.Role), m.Name, m.ToolCallID)
	for _, p := range m.Content {
		switch p := p.(type) {
		case chat.Text:
			k.texts("text", string(p))
		case chat.Thinking:
			k.texts("thinking", p.Text, p.Signature, p.Encrypted)
		case chat.Image:
			k.texts("image", p.URL, string(p.Detail))
		case chat.Document:
			k.texts("document", p.MediaType, p.Data)
		case chat.Opaque:
			k.texts("opaque", string(p.Value))
		}
	}
	for _, c := range m.ToolCalls {
		k.texts("call", c.ID, c.Name, c.Arguments)
	}
	return k.key()
}

func keyOfTools(tools []chat.Tool) messageKey {
	k := newKeyHash()
	for _, t := range chat.Undeferred(tools) {
		k.texts(t.Name, t.Description, string(t.Parameters))
	}
	return k.key()
}

// keyHash makes a key from texts.
type keyHash [2]maphash.Hash

func newKeyHash() *keyHash {
	var k keyHash
	for i := range k {
		k[i].SetSeed(seeds[i])
	}
	return &k
}

// texts adds texts by their hashes, so that different lists of texts have different keys.
func (k *keyHash) texts(texts ...string) {
	for _, t := range texts {
		for i := range k {
			maphash.WriteComparable(&k[i], maphash.String(seeds[i], t))
		}
	}
}

func (k *keyHash) key() messageKey { return messageKey{k[0].Sum64(), k[1].Sum64()} }
