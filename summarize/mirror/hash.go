package mirror

import (
	"bytes"
	"cmp"
	"context"
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

// identities returns what each message of a list is recognised by while it does not change: a hash of its content, or of
// what it is converted to if it leads to too much.
func (m *Mirror[M]) identities(ctx context.Context, list []M) ([]uint64, error) {
	out := make([]uint64, len(list))
	for i := range list {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		sum, whole := hashOf(&list[i])
		if out[i] = sum; whole {
			continue
		}
		said, err := m.convert(list[i:i+1], out[i:])
		if err != nil {
			return nil, err
		}
		out[i] = sumOf(said[0].digests)
	}
	return out, nil
}

// hashOf returns a hash of a message and all that it holds: fields that are not exported, what pointers point to, and the
// entries of maps in any order. whole reports whether that was not too much, as it is for what leads back to itself.
func hashOf[T any](v *T) (sum uint64, whole bool) {
	if m, ok := any(v).(*chat.Message); ok {
		return digest(*m), true // faster
	}
	var h hasher
	h.SetSeed(seed)
	h.write(reflect.ValueOf(v).Elem())
	return h.Sum64(), h.values <= most
}

// sumOf returns a hash of digests.
func sumOf(digests []uint64) uint64 {
	var h hasher
	h.SetSeed(seed)
	for _, d := range digests {
		h.number(d)
	}
	return h.Sum64()
}

// most is the number of values that are hashed of a message.
const most = 1 << 12

// hasher hashes values, and counts them.
type hasher struct {
	maphash.Hash
	values int
}

func (h *hasher) write(v reflect.Value) {
	if h.values++; h.values > most {
		return
	}
	switch k := v.Kind(); {
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
		for i := 0; i < v.Len() && h.values <= most; i++ {
			h.write(v.Index(i))
		}
	case k == reflect.Map:
		sum := uint64(v.Len())
		whole := h.Hash
		for it := v.MapRange(); it.Next() && h.values <= most; {
			h.Hash = maphash.Hash{}
			h.SetSeed(seed)
			h.write(it.Key())
			h.write(it.Value())
			sum += h.Sum64()
		}
		h.Hash = whole
		h.number(sum)
	case k == reflect.Struct && v.Type() != reflect.TypeFor[time.Location]():
		for i := range v.NumField() {
			h.write(v.Field(i))
		}
	case (k == reflect.Pointer || k == reflect.Interface) && !v.IsNil():
		if h.number(1); k == reflect.Interface {
			h.texts(v.Elem().Type().String())
		}
		h.write(v.Elem())
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

// digest returns a hash of a message that is the same before and after a session stored it, and made its pictures smaller.
// Ids that were made here count as none.
func digest(m chat.Message) uint64 {
	return digestAs(m, func(p chat.Image) string { return cmp.Or(p.Original, p.URL) })
}

// digestSent is digest for a message as it is sent: one with smaller pictures is not the host's.
func digestSent(m chat.Message) uint64 {
	return digestAs(m, func(p chat.Image) string { return p.URL })
}

func digestAs(m chat.Message, url func(chat.Image) string) uint64 {
	var h hasher
	h.SetSeed(seed)
	if m.Role == chat.RoleTool {
		m.Name = "" // no prompt shows it
	}
	h.texts(string(m.Role), m.Name, givenID(m.ToolCallID))
	h.write(reflect.ValueOf(m.IsError))
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
			if picture, is := p.(chat.Image); is {
				picture.URL, picture.Original = url(picture), ""
				p = picture
			}
			h.write(reflect.ValueOf(&p).Elem())
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
