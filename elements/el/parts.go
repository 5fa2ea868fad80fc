package el

import (
	"net/url"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/plaintext"
)

// Tool returns the definition of a tool, which belongs outside messages:
//
//	elements.Tool{Tool: tool}
func Tool(tool chat.Tool, options ...Property) elements.Tool {
	return elements.Tool{Props: Props(options...), Tool: tool}
}

// Image returns a picture: a URL, or base64 of a JPEG, PNG, GIF or WebP file. It may hold a [Ref] and a [Meta]:
//
//	elements.Image{Source: source}
func Image(source string, args ...Node) elements.Image {
	i := elements.Image{Source: source}
	i.Children = fill(&i, &i.Props, args)
	if u, err := url.Parse(source); (err != nil || u.Scheme == "") && i.Part().(chat.Image).URL == source {
		i.Children = append(i.Children, wrong("an image of %q: give a URL, or base64 of a JPEG, PNG, GIF or WebP file", plaintext.Cut(source, 40)))
	}
	return i
}

// Detail asks for a resolution of an [Image]. Defaults to the provider's choice.
func Detail(detail chat.ImageDetail) Option[elements.Image] {
	return Option[elements.Image]{name: "Detail", home: "Image", set: func(i *elements.Image) { i.Detail = detail }}
}

// Document returns a file in base64, of a type such as "application/pdf". It may hold a [Ref] and a [Meta]:
//
//	elements.Document{MediaType: mediaType, Data: data}
func Document(mediaType, data string, args ...Node) elements.Document {
	d := elements.Document{MediaType: mediaType, Data: data}
	d.Children = fill(&d, &d.Props, args)
	if mediaType == "" {
		d.Children = append(d.Children, wrong("a document without a media type: give one such as application/pdf"))
	}
	return d
}

// Ref names the source of the text around it. The result of a render lists the sources that were kept apart from those
// that were dropped:
//
//	elements.Reference{Name: name}
func Ref(name string) elements.Reference { return elements.Reference{Name: name} }

// Meta attaches a value to a prompt, whatever is pruned; [elements.MetaOf] finds it by its type:
//
//	elements.Meta[T]{Value: value}
func Meta[T any](value T) elements.Meta[T] { return elements.Meta[T]{Value: value} }

// LocalMeta attaches a value that is dropped with the element around it:
//
//	elements.Meta[T]{Value: value, Local: true}
func LocalMeta[T any](value T) elements.Meta[T] { return elements.Meta[T]{Value: value, Local: true} }
