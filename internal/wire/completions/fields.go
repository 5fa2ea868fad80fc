package completions

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// Kept is the field, in an opaque part or a signature of type [Fields], of the fields that need not come back to the
// server.
const Kept = "chat.kept"

// LeftOut is the field of [Kept] that lists the fields that were too large to be kept.
const LeftOut = "chat.left_out"

// MaxKept is the most bytes that are kept of fields that need not come back, for a message or a call.
const MaxKept = 64 << 10

// Chunk returns the part of a content as which thinking came that has the type of one as its signature.
func Chunk(t chat.Thinking) json.RawMessage {
	raw, _ := json.Marshal(t.Text) // texts always encode
	return slices.Concat([]byte(`{"type":"`+t.Signature+`","thinking":[{"type":"text","text":`), raw, []byte("}]}"))
}

// fields are those of a message, or of a call, that package chat has no place for. Their pieces are put together.
type fields struct {
	values map[string]*value
	kept   int // bytes of those that need not come back
	left   []string
}

// add adds the fields of a piece that say something.
func (f *fields) add(o *wire.Object) {
	for _, name := range o.Rest() {
		raw := o.Raw(name)
		if blank(raw) || slices.Contains(f.left, name) {
			continue
		}
		if !dialect.Returned(name) {
			if f.kept += len(raw); f.kept > MaxKept {
				f.left = append(f.left, name)
				delete(f.values, name)
				continue
			}
		}
		if f.values == nil {
			f.values = map[string]*value{}
		}
		if f.values[name] == nil {
			f.values[name] = &value{raw: raw}
		} else {
			f.values[name].add(raw, name, false)
		}
	}
}

// blank reports whether a value says nothing.
func blank(raw json.RawMessage) bool {
	switch wire.Compacted(raw[:min(len(raw), 8)]) {
	case `""`, `[]`, `{}`:
		return true
	}
	return false
}

// json returns the fields that must come back, and the others in [Kept], as objects of type [Fields]; nil if there are
// none.
func (f *fields) json() (returned, kept json.RawMessage) {
	back, others := wire.Of("type", []byte(`"`+Fields+`"`)), wire.Of("type", []byte("0"))
	others.Skip("type")
	for name, v := range f.values {
		if dialect.Returned(name) {
			back.Put(name, v.json())
		} else {
			others.Put(name, v.json())
		}
	}
	if len(f.left) > 0 {
		list, _ := json.Marshal(f.left) // texts always encode
		others.Put(LeftOut, list)
	}
	if len(back.Names()) > 1 {
		returned = back.All()
	}
	if inner := others.All(); inner != nil {
		all := wire.Of("type", []byte(`"`+Fields+`"`))
		all.Put(Kept, inner)
		kept = all.All()
	}
	return returned, kept
}

// signature returns the fields of a call as its signature, "" if there are none.
func (f *fields) signature() string {
	returned, kept := f.json()
	if returned == nil || kept == nil {
		return string(returned) + string(kept)
	}
	all, _ := wire.Parse(returned) // it is one
	others, _ := wire.Parse(kept)  // it is one
	all.Put(Kept, others.Raw(Kept))
	return string(all.All())
}

// value is a JSON value that comes in pieces.
type value struct {
	raw    json.RawMessage // of one piece, or of a value that has no pieces
	text   *strings.Builder
	list   []*value
	names  []string // of the object's fields, in order
	object map[string]*value
}

// pieces are the names of texts in a list that are put together: OpenRouter's reasoning_details, LiteLLM's thinking_blocks.
var pieces = map[string]bool{"text": true, "summary": true, "thinking": true}

// add adds a piece. Texts are put together if their name says so, or at the outermost level if they are not repeated; items
// of lists that have one type and index are; anything else is replaced.
func (v *value) add(raw json.RawMessage, name string, nested bool) {
	if blank(raw) || wire.KindOf(raw) == wire.KindNull {
		return
	}
	v.open()
	next := &value{raw: raw}
	next.open()
	switch {
	case v.text != nil && next.text != nil && (pieces[name] || !nested && v.text.String() != next.text.String()):
		v.text.WriteString(next.text.String())
	case v.object != nil && next.object != nil:
		for _, name := range next.names {
			v.put(name, next.object[name])
		}
	case v.list != nil && next.list != nil:
		for _, item := range next.list {
			if n := len(v.list); n > 0 && v.list[n-1].continues(item) {
				v.list[n-1].add(item.json(), "", true)
			} else {
				v.list = append(v.list, item)
			}
		}
	default:
		*v = *next
	}
}

func (v *value) put(name string, next *value) {
	if v.object[name] == nil {
		v.names = append(v.names, name)
		v.object[name] = next
		return
	}
	v.object[name].add(next.json(), name, true)
}

// open reads a value that was one piece, so that another can be added.
func (v *value) open() {
	if v.raw == nil {
		return
	}
	switch raw := v.raw; wire.KindOf(raw) {
	case wire.KindText:
		v.text = &strings.Builder{}
		var s string
		_ = json.Unmarshal(raw, &s) // it is one
		v.text.WriteString(s)
	case wire.KindList:
		v.list = []*value{}
		items, _ := wire.Values(raw)
		for _, item := range items {
			v.list = append(v.list, &value{raw: item})
		}
	case wire.KindObject:
		v.object = map[string]*value{}
		o, _ := wire.Parse(raw) // it is one
		for _, name := range o.Names() {
			v.names = append(v.names, name)
			v.object[name] = &value{raw: o.Raw(name)}
			if v.object[name].raw == nil {
				v.object[name].raw = []byte("null")
			}
		}
	default:
		return
	}
	v.raw = nil
}

// continues reports whether an item goes on with this one, the last of a list: both are texts of one type and index.
func (v *value) continues(next *value) bool {
	v.open()
	next.open()
	if v.object == nil || next.object == nil || v.field("type") != next.field("type") || v.field("index") != next.field("index") {
		return false
	}
	for name := range pieces {
		if v.object[name] != nil && (v.field("signature") == "" || v.field("signature") == "null") {
			return next.object["data"] == nil
		}
	}
	return false
}

// field returns a field as JSON, "" if it is missing or says nothing.
func (v *value) field(name string) string {
	if v.object[name] == nil {
		return ""
	}
	if raw := v.object[name].json(); !blank(raw) {
		return string(raw)
	}
	return ""
}

func (v *value) json() json.RawMessage {
	var b bytes.Buffer
	switch {
	case v.text != nil:
		raw, _ := json.Marshal(v.text.String()) // texts always encode
		return raw
	case v.list != nil:
		for i, item := range v.list {
			b.WriteByte("[,"[min(i, 1)])
			b.Write(item.json())
		}
		return append(b.Bytes(), ']')
	case v.object != nil:
		for i, name := range v.names {
			key, _ := json.Marshal(name)
			b.WriteByte("{,"[min(i, 1)])
			b.Write(key)
			b.WriteByte(':')
			b.Write(v.object[name].json())
		}
		return append(b.Bytes(), '}')
	}
	return v.raw
}
