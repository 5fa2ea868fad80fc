package mirror

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"math"
	"reflect"
	"time"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callid"
)

// seed of all hashes. None is stored.
var seed = maphash.MakeSeed()

// identities returns what each message of a list is recognised by while it does not change: its version, or a hash of its
// content.
func (m *Mirror[M]) identities(list []M) []uint64 {
	out := make([]uint64, len(list))
	last := map[string]int{} // by version, the index of the last message that has it
	if m.Version == nil {
		last = nil
	}
	for i := range list {
		if last != nil {
			version := m.Version(list[i])
			before, twice := last[version]
			if last[version] = i; !twice && version != "" {
				out[i] = maphash.String(seed, version)
				continue
			}
			out[before] = hashOf(&list[before])
		}
		out[i] = hashOf(&list[i])
	}
	return out
}

// hashOf returns a hash of a value and all that it holds: fields that are not exported, what pointers point to, and the
// entries of maps in any order.
func hashOf[T any](v *T) uint64 {
	if m, ok := any(v).(*chat.Message); ok {
		return digest(*m) // faster
	}
	var h hasher
	h.SetSeed(seed)
	h.write(reflect.ValueOf(v).Elem(), 0)
	return h.Sum64()
}

type hasher struct{ maphash.Hash }

// deepest is how many pointers, lists and structs deep a value is hashed.
const deepest = 200

func (h *hasher) write(v reflect.Value, depth int) {
	switch k := v.Kind(); {
	case depth > deepest:
	case k == reflect.String:
		h.texts(v.String())
	case k == reflect.Bool && v.Bool():
		h.number(1)
	case v.CanInt():
		h.number(uint64(v.Int()))
	case v.CanUint():
		h.number(v.Uint())
	case v.CanFloat():
		h.number(math.Float64bits(v.Float()))
	case k == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		h.number(uint64(v.Len()))
		_, _ = h.Write(v.Bytes())
	case k == reflect.Slice || k == reflect.Array:
		h.number(uint64(v.Len()))
		for i := range v.Len() {
			h.write(v.Index(i), depth+1)
		}
	case k == reflect.Map:
		sum := uint64(v.Len())
		for it := v.MapRange(); it.Next(); {
			var one hasher
			one.SetSeed(seed)
			one.write(it.Key(), depth+1)
			one.write(it.Value(), depth+1)
			sum += one.Sum64()
		}
		h.number(sum)
	case k == reflect.Struct && v.Type() != reflect.TypeFor[time.Location]():
		for i := range v.NumField() {
			h.write(v.Field(i), depth+1)
		}
	case (k == reflect.Pointer || k == reflect.Interface) && !v.IsNil():
		if h.number(1); k == reflect.Interface {
			h.texts(v.Elem().Type().String())
		}
		h.write(v.Elem(), depth+1)
	default:
		h.number(0)
	}
}

func (h *hasher) texts(list ...string) {
	for _, s := range list {
		h.number(uint64(len(s)))
		_, _ = h.WriteString(s)
	}
}

func (h *hasher) number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	_, _ = h.Write(b[:])
}

// digest returns a hash of a message that is the same before and after a session stored it. Ids that were made here count
// as none.
func digest(m chat.Message) uint64 {
	var h hasher
	h.SetSeed(seed)
	if m.Role == chat.RoleTool {
		m.Name = "" // no prompt shows it
	}
	h.texts(string(m.Role), m.Name, givenID(m.ToolCallID))
	h.write(reflect.ValueOf(m.IsError), 0)
	h.number(uint64(len(m.ToolCalls)))
	for _, c := range m.ToolCalls {
		h.texts(givenID(c.ID), c.Name, c.Arguments, c.Signature)
	}
	for i := 0; i < len(m.Content); i++ {
		switch p := m.Content[i].(type) {
		case chat.Text:
			for ; i+1 < len(m.Content); i++ { // a prompt shows adjacent texts as one
				next, ok := m.Content[i+1].(chat.Text)
				if !ok {
					break
				}
				p += "\n" + next
			}
			h.texts("text", string(p))
		case chat.Opaque:
			var b bytes.Buffer
			if json.Compact(&b, p.Value) != nil {
				b.Write(p.Value)
			}
			h.texts("opaque", b.String())
			h.number(uint64(p.Tokens))
		default:
			h.write(reflect.ValueOf(&p).Elem(), 0)
		}
	}
	return h.Sum64()
}

// givenID returns the id of a call, or "" if it was made here.
func givenID(id string) string {
	if callid.IsNew(id) {
		return ""
	}
	return id
}
