package gemini

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// imagePart converts an image: a data URL is sent inline, any other URL by reference (of a file in the Files API, in
// Cloud Storage or on the web).
func imagePart(img chat.Image) (*genai.Part, error) {
	part := &genai.Part{}
	if !utf8.ValidString(img.URL) || !utf8.ValidString(img.MediaType) {
		return nil, errors.New("an image whose URL or type is not UTF-8")
	}
	scheme, rest, _ := strings.Cut(img.URL, ":")
	switch strings.ToLower(scheme) {
	case "data":
		mediaType, data, err := readDataURL(rest)
		if err != nil {
			return nil, fmt.Errorf("an image: %w", err)
		}
		if mediaType = cmp.Or(img.MediaType, mediaType); mediaType == "" {
			return nil, errors.New("an image of unknown media type")
		}
		part.InlineData = &genai.Blob{Data: data, MIMEType: mediaType}
	case "https", "gs":
		part.FileData = &genai.FileData{FileURI: img.URL, MIMEType: img.MediaType}
		if u, err := url.Parse(img.URL); err == nil { // a name that does not show the type leaves it to Gemini
			part.FileData.MIMEType = cmp.Or(img.MediaType, imageTypes[strings.ToLower(path.Ext(u.Path))])
		}
	default:
		return nil, fmt.Errorf("an image at %q: Gemini takes data, https and gs URLs", plaintext.Cut(img.URL, 60))
	}
	return part, nil
}

// imageTypes are the types of images that Gemini takes, by the end of a file name.
var imageTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif", ".heic": "image/heic", ".heif": "image/heif",
}

// readDataURL reads the part of a data URL after "data:".
func readDataURL(rest string) (mediaType string, data []byte, err error) {
	head, body, found := strings.Cut(rest, ",")
	if !found {
		return "", nil, errors.New("a data URL without data")
	}
	mediaType, _, _ = strings.Cut(head, ";")
	if strings.HasSuffix(strings.ToLower(head), ";base64") {
		data, err = base64.StdEncoding.DecodeString(body)
	} else {
		body, err = url.PathUnescape(body)
		data = []byte(body)
	}
	if err != nil {
		return "", nil, fmt.Errorf("a data URL: %w", err)
	}
	if len(data) == 0 {
		return "", nil, errors.New("a data URL without data")
	}
	return mediaType, data, nil
}

func documentPart(doc chat.Document) (*genai.Part, error) {
	data, err := base64.StdEncoding.DecodeString(doc.Data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("a document: %w", err)
	case len(data) == 0:
		return nil, errors.New("an empty document")
	case doc.MediaType == "" || !utf8.ValidString(doc.MediaType):
		return nil, errors.New("a document of unknown media type")
	}
	return &genai.Part{InlineData: &genai.Blob{Data: data, MIMEType: doc.MediaType}}, nil
}

// responsePart converts media for a function response.
func responsePart(p *genai.Part) *genai.FunctionResponsePart {
	if p.InlineData != nil {
		return &genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{
			Data: p.InlineData.Data, MIMEType: p.InlineData.MIMEType, DisplayName: p.InlineData.DisplayName,
		}}
	}
	return &genai.FunctionResponsePart{FileData: &genai.FunctionResponseFileData{
		FileURI: p.FileData.FileURI, MIMEType: p.FileData.MIMEType, DisplayName: p.FileData.DisplayName,
	}}
}
