package anthropic

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/promptree-go/promptree/elements/chat"
)

// imageSource converts an image at an https address, or with inline data of a type that the API accepts.
func imageSource(p chat.Image) (sdk.ImageBlockParamSourceUnion, error) {
	if !utf8.ValidString(p.URL) {
		return sdk.ImageBlockParamSourceUnion{}, errors.New("the image's URL is not UTF-8")
	}
	mediaType, data, inline, err := splitDataURL(p.URL)
	if err != nil {
		return sdk.ImageBlockParamSourceUnion{}, fmt.Errorf("the image: %w", err)
	}
	if !inline {
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "https" || u.Host == "" {
			return sdk.ImageBlockParamSourceUnion{}, errors.New("the image has neither an https nor a data URL")
		}
		return sdk.ImageBlockParamSourceUnion{OfURL: &sdk.URLImageSourceParam{URL: p.URL}}, nil
	}
	mediaType = cmp.Or(mediaType, strings.ToLower(p.MediaType))
	if mediaType == "image/jpg" {
		mediaType = string(sdk.Base64ImageSourceMediaTypeImageJPEG)
	}
	switch t := sdk.Base64ImageSourceMediaType(mediaType); t {
	case sdk.Base64ImageSourceMediaTypeImageJPEG, sdk.Base64ImageSourceMediaTypeImagePNG,
		sdk.Base64ImageSourceMediaTypeImageGIF, sdk.Base64ImageSourceMediaTypeImageWebP:
		return sdk.ImageBlockParamSourceUnion{OfBase64: &sdk.Base64ImageSourceParam{Data: data, MediaType: t}}, nil
	}
	return sdk.ImageBlockParamSourceUnion{}, fmt.Errorf("an image of type %q", mediaType)
}

// splitDataURL splits a data URL; inline is false for any other URL.
func splitDataURL(u string) (mediaType, data string, inline bool, err error) {
	const scheme = "data:"
	if len(u) < len(scheme) || !strings.EqualFold(u[:len(scheme)], scheme) {
		return "", "", false, nil
	}
	head, data, ok := strings.Cut(u[len(scheme):], ",")
	head = strings.ToLower(head)
	head, encoded := strings.CutSuffix(head, ";base64")
	if !ok || !encoded {
		return "", "", true, errors.New("its data URL is not in base64")
	}
	if data == "" || !isBase64(data) {
		return "", "", true, errors.New("its data is not base64")
	}
	mediaType, _, _ = strings.Cut(head, ";")
	return mediaType, data, true, nil
}

// isBase64 checks data without decoding all of it at once.
func isBase64(data string) bool {
	_, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding.Strict(), strings.NewReader(data)))
	return err == nil && !strings.ContainsAny(data, "\r\n")
}

// documentSource converts a PDF or a text.
func documentSource(p chat.Document) (sdk.DocumentBlockParamSourceUnion, error) {
	mediaType, _, err := mime.ParseMediaType(p.MediaType)
	switch {
	case err != nil: // of another type
	case mediaType == "application/pdf":
		if p.Data == "" || !isBase64(p.Data) {
			return sdk.DocumentBlockParamSourceUnion{}, errors.New("the document's data is not base64")
		}
		return sdk.DocumentBlockParamSourceUnion{OfBase64: &sdk.Base64PDFSourceParam{Data: p.Data}}, nil
	case strings.HasPrefix(mediaType, "text/"):
		text, err := base64.StdEncoding.DecodeString(p.Data)
		if err != nil || !utf8.Valid(text) || strings.TrimSpace(string(text)) == "" {
			return sdk.DocumentBlockParamSourceUnion{}, errors.New("the document's data is not text in base64")
		}
		return sdk.DocumentBlockParamSourceUnion{OfText: &sdk.PlainTextSourceParam{Data: string(text)}}, nil
	}
	return sdk.DocumentBlockParamSourceUnion{}, fmt.Errorf("a document of type %q", p.MediaType)
}
