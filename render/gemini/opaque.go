package gemini

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/internal/plainjson"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// note is the content of an opaque part: a part of Gemini's, the signature of the part before it, or the id of the call
// whose place it marks. Exactly one field is set.
type note struct {
	part      *genai.Part
	signature []byte
	call      string
}

// readOpaque reads an opaque part's value.
func readOpaque(value json.RawMessage) (note, error) {
	var p genai.Part
	if !utf8.Valid(value) {
		return note{}, errors.New("an opaque part that is not UTF-8")
	}
	if err := plainjson.Unmarshal(value, &p); err != nil {
		return note{}, fmt.Errorf("an opaque part that is not Gemini's: %w", err)
	}
	switch call := p.FunctionCall; {
	case call != nil && call.ID != "" && call.Name == "" && call.Args == nil:
		return note{call: call.ID}, nil
	case call != nil || p.FunctionResponse != nil:
		return note{}, errors.New("a function call or response in an opaque part: use a tool call or a tool message")
	case things(&p) > 0:
		return note{part: &p}, checkData(&p)
	case len(p.ThoughtSignature) > 0 && !p.Thought:
		return note{signature: p.ThoughtSignature}, nil
	default:
		return note{}, errors.New("an opaque part that holds nothing that Gemini knows")
	}
}

// checkData checks that a part holds exactly one thing, with all its fields.
func checkData(p *genai.Part) error {
	switch blob, file := p.InlineData, p.FileData; {
	case things(p) > 1:
		return errors.New("an opaque part that holds more than one thing")
	case blob != nil && (len(blob.Data) == 0 || blob.MIMEType == ""):
		return errors.New("an opaque part of inline data without data or media type")
	case file != nil && !strings.HasPrefix(file.FileURI, "https:") && !strings.HasPrefix(file.FileURI, "gs:"):
		return fmt.Errorf("an opaque part of a file at %q: Gemini takes https and gs URLs", plaintext.Cut(file.FileURI, 60))
	}
	return nil
}

// things returns how many of the things that a part can hold it holds, besides calls and responses.
func things(p *genai.Part) (n int) {
	for _, given := range [...]bool{
		p.Text != "", p.InlineData != nil, p.FileData != nil, p.ExecutableCode != nil, p.CodeExecutionResult != nil, p.ToolCall != nil, p.ToolResponse != nil,
	} {
		if given {
			n++
		}
	}
	return n
}

// writeSignature and readSignature convert a call's signature, which is kept in base64 as it is sent.
func writeSignature(signature []byte) string { return base64.StdEncoding.EncodeToString(signature) }

func readSignature(signature string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return nil, err
	}
	if writeSignature(b) != signature {
		return nil, errors.New("the base64 has another form than Gemini's")
	}
	return b, nil
}
