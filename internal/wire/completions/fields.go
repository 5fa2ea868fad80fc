package completions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
	"github.com/promptree-go/promptree/internal/wire/parts"
)

// Kept is the field, in an opaque part or a signature of type [dialect.Fields], of the fields that need not come back
// to the server.
const Kept = "chat.kept"

// LeftOut is the field of [Kept] that lists the fields that were too large to be kept.
const LeftOut = "chat.left_out"

// MaxKept is the most bytes that are kept of fields that need not come back, for a message or a call.
const MaxKept = 64 << 10

// Chunk returns the part of a content as which thinking came that has the type of one as its signature.
func Chunk(t chat.Thinking) json.RawMessage {
	return slices.Concat([]byte(`{"type":"`+t.Signature+`","thinking":[{"type":"text","text":`), wire.Marshal(t.Text), []byte("}]}"))
}

// fields are those of a message, or of a call, that package chat has no place for.
type fields struct {
	custom bool                         // of a call whose arguments are free text
	pieces map[string][]json.RawMessage // of each field
	kept   int                          // bytes of those that need not come back
	left   []string
}

// add adds the fields of a piece that say something.
func (f *fields) add(o *wire.Object) {
	if f.pieces == nil {
		f.pieces = map[string][]json.RawMessage{}
	}
	for _, name := range o.Rest() {
		raw := o.Raw(name)
		if blank(raw) || slices.Contains(f.left, name) {
			continue
		}
		if !dialect.Returned(name) {
			if f.kept += len(raw); f.kept > MaxKept {
				f.left = append(f.left, name)
				delete(f.pieces, name)
				continue
			}
		}
		f.pieces[name] = append(f.pieces[name], raw)
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

// json returns an object of type [dialect.Fields] with the fields that must come back, and the others in [Kept]; nil if
// there are none.
func (f *fields) json() json.RawMessage {
	if len(f.pieces)+len(f.left) == 0 {
		return nil
	}
	var all, kept wire.Object
	all.PutText("type", dialect.Fields)
	for name, pieces := range f.pieces {
		to := &kept
		if dialect.Returned(name) {
			to = &all
		}
		to.Put(name, joined(pieces))
	}
	if len(f.left) > 0 {
		kept.Put(LeftOut, wire.Marshal(f.left))
	}
	all.Put(Kept, kept.All())
	return all.All()
}

// signature returns the signature of a call with these fields, nil for none.
func signature(fields json.RawMessage, custom bool) string {
	if !custom {
		return string(fields)
	}
	kind := wire.Of("type", []byte(`"`+parts.CustomCall+`"`))
	kind.Put(dialect.Fields, fields)
	return string(kind.All())
}

// Back returns the fields that are sent back of an opaque part, or of a call's signature, of type [dialect.Fields], nil for none: with
// all set those too that need not come back.
func Back(kept *wire.Object, all bool) map[string]any {
	sent := map[string]any{}
	if kept == nil {
		return sent
	}
	for _, name := range kept.Names() {
		switch inner := kept.Inside(name); {
		case name == "type":
		case name != Kept:
			sent[name] = kept.Raw(name)
		case all && inner != nil:
			inner.Skip(LeftOut)
			maps.Copy(sent, Back(inner, false))
		}
	}
	return sent
}

// CallFields returns the fields of a call that package chat has no place for, nil if there are none, and reports whether its
// arguments are free text and not JSON.
func CallFields(c chat.ToolCall) (fields *wire.Object, custom bool) {
	o := cmp.Or(wire.ObjectOf([]byte(c.Signature)), &wire.Object{})
	switch o.Peek("type") {
	case parts.CustomCall:
		return o.Inside(dialect.Fields), true
	case dialect.Fields:
		return o, false
	}
	return nil, false
}

// WithoutFields returns a call without the fields of [CallFields].
func WithoutFields(c chat.ToolCall) chat.ToolCall {
	if fields, custom := CallFields(c); custom {
		c.Signature = signature(nil, true)
	} else if fields != nil {
		c.Signature = ""
	}
	return c
}

// joined returns a value from its pieces. Texts are put together unless one repeats all before it, and so are the items of
// lists and the fields of objects; of anything else the last piece counts.
func joined(pieces []json.RawMessage) json.RawMessage {
	last := pieces[len(pieces)-1]
	kind := wire.KindOf(last)
	pieces = slices.DeleteFunc(slices.Clone(pieces), func(raw json.RawMessage) bool { return wire.KindOf(raw) != kind })
	if len(pieces) == 1 {
		return last
	}
	var object wire.Object
	switch kind {
	case wire.KindText:
		var said strings.Builder
		for _, raw := range pieces {
			if text := wire.Of("text", raw).Text("text"); text != said.String() {
				said.WriteString(text)
			}
		}
		object.PutText("text", said.String())
		return object.Raw("text")
	case wire.KindList:
		return joinedItems(pieces)
	case wire.KindObject:
		for _, raw := range pieces {
			object.Add(wire.Of("object", raw).Inside("object"))
		}
		return object.All()
	}
	return last
}

// grow are the fields of an item whose texts are put together: OpenRouter's reasoning_details, LiteLLM's thinking_blocks.
var grow = [...]string{"text", "summary", "thinking"}

// joinedItems returns the items of lists in one. Items with a text of one type and index, one after the other, are one
// item, which ends with its signature.
func joinedItems(lists []json.RawMessage) json.RawMessage {
	var out [][]byte
	var item *wire.Object          // the last one, without its texts
	texts := map[string][]string{} // their pieces
	end := func() {
		for name, pieces := range texts {
			item.PutText(name, strings.Join(pieces, ""))
		}
		if item != nil {
			out = append(out, item.All())
		}
		item = nil
		clear(texts)
	}
	for _, list := range lists {
		values, _ := wire.Values(list) // what is too much for a list is too much here
		for _, raw := range values {
			next, err := wire.Parse(raw)
			if err != nil { // not an object
				end()
				out = append(out, raw)
				continue
			}
			if item == nil || len(texts) == 0 && !slices.ContainsFunc(grow[:], item.Has) || item.Peek("signature") != "" || next.Given("data") ||
				item.Peek("type") != next.Peek("type") || string(item.Look("index")) != string(next.Look("index")) {
				end()
				item = next
			}
			for _, name := range grow {
				if next.Is(name, wire.KindText) {
					texts[name] = append(texts[name], next.Text(name))
				}
			}
			if item != next {
				item.Add(next)
			}
		}
	}
	end()
	return slices.Concat([]byte("["), bytes.Join(out, []byte(",")), []byte("]"))
}
