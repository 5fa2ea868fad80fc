package elements

import (
	"context"
	"encoding/json"

	"github.com/promptree-go/promptree/internal/metadata"
)

// Meta attaches a value to a prompt without adding text: the search results, the names of files. It costs no tokens.
// [MetaOf] and [AllMeta] find it in the result by its type.
type Meta[T any] struct {
	Value T
	// Local drops the value together with the element that holds it. Otherwise the value is always in the result.
	Local bool
}

// Render returns the value itself to the renderer.
func (m Meta[T]) Render(context.Context, Sizing) (Node, error) { return m, nil }

// Entry returns the value without its type. Only the renderer uses it.
func (m Meta[T]) Entry() metadata.Entry { return metadata.Entry{Value: m.Value, Local: m.Local} }

// Metadata holds the values of a prompt's [Meta] elements: global values in the order in which their elements were laid
// out, then the local ones that are left, in document order. The zero value is empty.
type Metadata []metadata.Entry

// MetaOf returns the first value of type T.
func MetaOf[T any](m Metadata) (value T, ok bool) {
	for _, entry := range m {
		if v, ok := entry.Value.(T); ok {
			return v, true
		}
	}
	return value, false
}

// AllMeta returns every value of type T, in order.
func AllMeta[T any](m Metadata) []T {
	var all []T
	for _, entry := range m {
		if v, ok := entry.Value.(T); ok {
			all = append(all, v)
		}
	}
	return all
}

// Reference names the source of the text around it, without being part of the text. The result of a render lists the
// references whose text was kept apart from those whose text was dropped.
type Reference struct {
	// Name of the source. A name is reported once.
	Name string
	// Transfer is the reference in full, as it came in a tree that was rendered elsewhere. One without a name, which
	// names a place in a file, is reported each time it occurs.
	Transfer json.RawMessage
}

// Render returns the reference itself.
func (r Reference) Render(context.Context, Sizing) (Node, error) { return r, nil }
