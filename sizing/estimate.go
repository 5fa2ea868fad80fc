package sizing

import (
	"crypto/sha256"
	"encoding/json"
	"hash"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/clamp"
)

// IsEstimate reports whether a tokenizer has a method Estimates() bool that returns true: its counts are only
// estimates.
func IsEstimate(t chat.Tokenizer) bool {
	e, ok := t.(interface{ Estimates() bool })
	return ok && e.Estimates()
}

// Estimator is a [chat.Tokenizer] for models whose own tokenizer is not available. It divides the number of characters,
// and reports that its counts are estimates ([IsEstimate]). The zero value estimates as stagewise does: 4 characters
// are a token, rounded up, and each message adds 400 characters for its frame.
//
// Everything that is sent is counted: texts, tool calls with their names and arguments, a message's name, thinking with
// its signature, the definitions of tools. An image counts as 4,800 characters, as in pi, which is right for a large
// one; a document as its base64; an opaque value as its Tokens, or else as its JSON. Four characters a token is right
// for English and code. For Chinese or Japanese the count is a third of the true one or less: set CharsPerToken to 1.
type Estimator struct {
	// CharsPerToken is the average number of characters (code points) in a token, above 0. Defaults to 4, as does any
	// other number or infinity.
	CharsPerToken float64
	// MessageChars is the number of characters of a message's frame: its role, its delimiters, additions of the
	// application. Defaults to 400, which is high if nothing is added; below 0 means none.
	MessageChars int
}

// The characters that a message and an image count as.
const (
	messageChars = 400
	imageChars   = 4800
)

// Estimates returns true.
func (Estimator) Estimates() bool { return true }

// CountText estimates a text.
func (e Estimator) CountText(text string) int { return e.tokens(utf8.RuneCountInString(text)) }

// CountPart estimates one part of a message's content.
func (e Estimator) CountPart(p chat.Part) int {
	chars, tokens := e.part(p)
	return clamp.Sum(e.tokens(chars), tokens)
}

// CountMessage estimates a message. It rounds once, so the result is at most the sum of its parts and its frame.
func (e Estimator) CountMessage(m chat.Message) int {
	chars, tokens := utf8.RuneCountInString(m.Name), 0
	switch {
	case e.MessageChars == 0:
		chars += messageChars
	case e.MessageChars > 0:
		chars += min(e.MessageChars, math.MaxInt32)
	}
	for _, p := range m.Content {
		c, n := e.part(p)
		chars += c
		tokens = clamp.Sum(tokens, n)
	}
	for _, c := range m.ToolCalls {
		chars += utf8.RuneCountInString(c.Name) + utf8.RuneCountInString(c.Arguments) + len(c.Signature)
	}
	return clamp.Sum(e.tokens(chars), tokens)
}

// CountTools estimates the definitions of tools by the characters of their JSON, without deferred ones, which the model
// does not see.
func (e Estimator) CountTools(tools []chat.Tool) int {
	chars := 0
	for _, t := range chat.Undeferred(tools) {
		chars += utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCount(t.Parameters) +
			len(`{"name":"","description":"","parameters":}`)
	}
	return e.tokens(chars)
}

// part returns the characters of a part, and the tokens that it names itself.
func (e Estimator) part(p chat.Part) (chars, tokens int) {
	switch p := p.(type) {
	case chat.Text:
		return utf8.RuneCountInString(string(p)), 0
	case chat.Thinking:
		return utf8.RuneCountInString(p.Text) + len(p.Signature) + len(p.Encrypted), 0
	case chat.Image:
		return imageChars, 0
	case chat.Document:
		return len(p.Data), 0
	case chat.Opaque:
		if p.Tokens > 0 {
			return 0, p.Tokens
		}
		return utf8.RuneCount(p.Value), 0
	}
	return 0, 0
}

// tokens converts characters, rounding up.
func (e Estimator) tokens(chars int) int {
	per := e.CharsPerToken
	if !(per > 0) || math.IsInf(per, 1) {
		per = 4
	}
	n := clamp.Int(float64(chars) / per)
	if n < math.MaxInt && float64(n)*per < float64(chars) {
		n++
	}
	return n
}

// digest is a hash of tools and messages.
type digest struct {
	hash hash.Hash
	bad  bool // something cannot be encoded as JSON
}

func newDigest(tools []chat.Tool) *digest {
	d := &digest{hash: sha256.New()}
	for _, t := range chat.Undeferred(tools) { // deferred ones are not in the prefix that a provider caches
		// The schema is hashed as text because it need not be JSON.
		line, err := json.Marshal([]string{t.Name, t.Description, string(t.Parameters)})
		d.write(line, err)
	}
	return d
}

// add hashes a message. It ignores cache breakpoints, which move from request to request. Texts and arguments, the bulk of
// a request, are hashed as they are; in the JSON of the message an empty text stands for each.
func (d *digest) add(m chat.Message) {
	m.Content = slices.DeleteFunc(slices.Clone(m.Content), func(p chat.Part) bool {
		_, mark := p.(chat.CacheBreakpoint)
		return mark || p == nil
	})
	for i, p := range m.Content {
		if text, ok := p.(chat.Text); ok {
			d.text(string(text))
			m.Content[i] = chat.Text("")
		}
	}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i, c := range m.ToolCalls {
		d.text(c.Arguments)
		m.ToolCalls[i].Arguments = ""
	}
	m.Origin = chat.Origin{} // nobody is sent it
	line, err := json.Marshal(m)
	d.write(line, err)
}

// text hashes a text behind its length.
func (d *digest) text(text string) {
	if !utf8.ValidString(text) {
		text = string([]rune(text)) // as JSON keeps it
	}
	d.write([]byte(strconv.Itoa(len(text))), nil)
	d.write([]byte(text), nil)
}

func (d *digest) write(line []byte, err error) {
	d.bad = d.bad || err != nil
	d.hash.Write(line)
	d.hash.Write([]byte{'\n'})
}
