package mirror

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"math"
	"reflect"
	"time"
	"unsafe"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/callid"
)

// seed of all hashes. None is stored.
var seed = maphash.MakeSeed()

// identities returns what each message of a list is recognised by while it does not change: a hash of its content, or of
// what it is converted to if it leads to too much.
func (m *Mirror[M]) identities(ctx context.Context, list []M) ([]uint64, error) {
	out := make([]uint64, len(list))
	h := hasher{known: map[place]uint64{}}
	for i := range list {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if out[i] = hashIn(&h, &list[i]); !h.tooLarge() {
			continue
		}
		said, err := m.convert(list[i:i+1], out[i:])
		if err != nil {
			return nil, err
		}
		out[i] = hashOf(&said[0].digests)
	}
	return out, nil
}

// hashOf returns a hash of a value and all that it holds: fields that are not exported, what pointers point to, and the
// entries of maps in any order.
func hashOf[T any](v *T) uint64 { return hashIn(&hasher{}, v) }

// hashIn is [hashOf] with what is known of other values.
func hashIn[T any](h *hasher, v *T) uint64 {
	if m, ok := any(v).(*chat.Message); ok {
		return digest(*m) // faster
	}
	h.Hash, h.values, h.bytes, h.depth = maphash.Hash{}, 0, 0, 0
	h.SetSeed(seed)
	h.write(reflect.ValueOf(v).Elem(), 0)
	return h.Sum64()
}

// The bounds of what is hashed of one message.
const (
	mostValues = 1 << 20
	mostBytes  = 64 << 20 // of texts
	deepest    = 10_000   // pointers, lists and structs
)

// small is the number of values up to which what a pointer leads to is hashed each time.
const small = 64

// place is what a pointer, a list or a map leads to.
type place struct {
	at   unsafe.Pointer
	size int
	kind reflect.Type
}

// hasher hashes values. What leads to more than a few values is hashed once in all that it is used for, and again as the
// hash of everything up to its end: so what leads back to itself has an end, and what many messages share costs once.
type hasher struct {
	maphash.Hash
	known                map[place]uint64 // nil for values that lead to little
	values, bytes, depth int              // of the value at hand
}

func (h *hasher) tooLarge() bool {
	return h.values > mostValues || h.bytes > mostBytes || h.depth > deepest
}

// write hashes a value that is so many pointers, lists and structs deep.
func (h *hasher) write(v reflect.Value, depth int) {
	h.depth = max(h.depth, depth)
	if h.values++; h.tooLarge() {
		return
	}
	k := v.Kind()
	if h.known == nil || k != reflect.Pointer && k != reflect.Slice && k != reflect.Map || v.IsNil() {
		h.value(v, k, depth)
		return
	}
	p := place{at: v.UnsafePointer(), kind: v.Type()}
	if k != reflect.Pointer {
		p.size = v.Len()
	}
	if len(h.known) > 0 {
		if sum, ok := h.known[p]; ok {
			h.number(sum)
			return
		}
	}
	before := h.values
	if before > small || p.size > small {
		h.known[p] = uint64(depth) // for what leads back to it
	}
	h.value(v, k, depth)
	if h.values-before > small {
		h.known[p] = h.Sum64()
	} else if before > small {
		delete(h.known, p)
	}
}

func (h *hasher) value(v reflect.Value, k reflect.Kind, depth int) {
	switch {
	case k == reflect.String:
		h.texts(v.String())
		h.bytes += v.Len()
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
		h.bytes += v.Len()
	case k == reflect.Slice || k == reflect.Array:
		h.number(uint64(v.Len()))
		for i := 0; i < v.Len() && !h.tooLarge(); i++ {
			h.write(v.Index(i), depth+1)
		}
	case k == reflect.Map:
		sum := uint64(v.Len())
		whole := h.Hash
		for it := v.MapRange(); it.Next() && !h.tooLarge(); {
			h.Hash = maphash.Hash{}
			h.SetSeed(seed)
			h.write(it.Key(), depth+1)
			h.write(it.Value(), depth+1)
			sum += h.Sum64()
		}
		h.Hash = whole
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
