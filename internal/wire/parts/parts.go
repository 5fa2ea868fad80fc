// Package parts reads and writes what the messages of OpenAI's two APIs have in common: contents that are a text or a list
// of parts, cache breakpoints, and files.
package parts

import (
	"cmp"
	"strings"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
)

// Breakpoint is the field of a part that ends a cached prefix.
const Breakpoint = "prompt_cache_breakpoint"

// CustomCall is the type of a call whose arguments are free text and not JSON, in Responses and in the signature of a call.
const CustomCall = "custom_tool_call"

// Content reads a field that is a text, a list of parts, null or missing. part reads a part of a type, nil if it says nothing,
// and reports whether it can be read: one that cannot is kept as it is. Fields of a part that have no place are left over;
// with left nil the part is kept as it is instead.
func Content(o *wire.Object, field string, left *wire.Leftovers, part func(typ string, o *wire.Object) (chat.Part, bool)) (content chat.Parts) {
	switch {
	case !o.Given(field):
		o.Skip(field)
		return nil
	case o.Is(field, wire.KindText):
		if text := o.Text(field); text != "" {
			return chat.Parts{chat.Text(text)}
		}
		left.Add(wire.Empty, field)
		return nil
	}
	o.Each(field, func(item *wire.Object) {
		typ, mark := item.Peek("type"), item.Inside(Breakpoint)
		item.Skip("type")
		if mark != nil {
			item.Skip(Breakpoint)
		}
		read, known := part(typ, item)
		switch {
		case !known, left == nil && len(item.Names()) > 0:
			content = append(content, chat.Opaque{Value: item.Source()})
			return
		case left != nil && read == chat.Part(chat.Text("")):
			left.Add(wire.Empty, field+"."+typ)
		case read != nil:
			content = append(content, read)
		}
		if mark != nil {
			content = append(content, chat.CacheBreakpoint{Lifetime: lifetime(mark.Peek("ttl"))})
		}
		left.Rest(field+"."+typ, item)
	})
	return content
}

// lifetime is the inverse of [TTL].
func lifetime(ttl string) time.Duration {
	d, _ := time.ParseDuration(ttl)
	return d
}

// TTL returns the shortest of OpenAI's two lifetimes that is at least d, or else the longer; "" leaves the choice to
// OpenAI.
func TTL(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d <= 30*time.Minute:
		return "30m"
	default:
		return "12h"
	}
}

// Document reads a file that is sent with its data, under the name that [FileName] gives it, and nothing else.
func Document(file *wire.Object) (chat.Document, bool) {
	url := file.Peek("file_data")
	head, data, ok := strings.Cut(url, ";base64,")
	d := chat.Document{MediaType: strings.TrimPrefix(head, "data:"), Data: data}
	if !ok || DataURL(d) != url || file.Peek("filename") != FileName(d) {
		return d, false
	}
	file.Skip("file_data", "filename")
	return d, true
}

// DataURL returns a document in the form that both APIs accept.
func DataURL(d chat.Document) string { return "data:" + mediaType(d) + ";base64," + d.Data }

func mediaType(d chat.Document) string { return cmp.Or(d.MediaType, "application/octet-stream") }

// extensions of the files that OpenAI reads, by media type.
var extensions = map[string]string{
	"application/pdf": "pdf", "application/json": "json", "application/msword": "doc", "application/rtf": "rtf",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   "docx",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         "xlsx",
	"text/plain": "txt", "text/markdown": "md", "text/html": "html", "text/csv": "csv", "text/xml": "xml",
}

// FileName returns a name for a document, which OpenAI requires: it determines from the extension how to read the file.
func FileName(d chat.Document) string {
	base, _, _ := strings.Cut(mediaType(d), ";")
	ext := extensions[strings.ToLower(strings.TrimSpace(base))]
	switch {
	case ext != "":
	case strings.HasPrefix(base, "text/"):
		ext = "txt"
	default:
		ext = "bin"
	}
	return "document." + ext
}
