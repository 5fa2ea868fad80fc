package vocabulary

import "github.com/promptree-go/promptree/sizing/internal/hash"

// tokens holds the tokens of a vocabulary, by their bytes.
type tokens struct {
	slots   []slot
	text    string // the bytes of those that do not fit a slot
	longest int    // in bytes
}

// slot is a token: its bytes as a number, or their hash; where in the text its bytes start, if they do not fit; its id
// and its length. A slot of length 0 is free.
type slot struct {
	key       uint64
	at        uint32
	idAndSize uint32
}

const (
	sizeBits = 32 - idBits
	maxSize  = 1<<sizeBits - 1
)

func (s slot) id() uint32 { return s.idAndSize >> sizeBits }
func (s slot) size() int  { return int(s.idAndSize & maxSize) }

// noToken is the id of bytes that are not a token.
const noToken = ^uint32(0)

func newTokens(n int) *tokens { return &tokens{slots: make([]slot, n+n/2+1)} }

// mostProbes is the number of slots that are looked at for a free one, by which tokens or merges that were made
// to have one place are known.
const mostProbes = 1000

// put adds a token of 1 to maxSize bytes; more than MaxShort are appended to text. It returns false if too many tokens are
// in its place.
func (t *tokens) put(text []byte, token string, id uint32) ([]byte, bool) {
	key, h := keyOf(token, 0, len(token))
	i := hash.Slot(h, len(t.slots))
	for probes := 0; t.slots[i].size() != 0; probes++ {
		if probes == mostProbes {
			return text, false
		}
		i = hash.Next(i, len(t.slots))
	}
	t.slots[i] = slot{key, uint32(len(text)), id<<sizeBits | uint32(len(token))}
	t.longest = max(t.longest, len(token))
	if len(token) > hash.MaxShort {
		text = append(text, token...)
	}
	return text, true
}

// find returns the id of the token of the n bytes at i, noToken if they are not one.
func (t *tokens) find(s string, i, n int) uint32 {
	if n > t.longest || n == 0 {
		return noToken
	}
	key, h := keyOf(s, i, n)
	for at := hash.Slot(h, len(t.slots)); ; at = hash.Next(at, len(t.slots)) {
		slot := &t.slots[at]
		size := slot.size()
		if size == 0 {
			return noToken
		}
		if slot.key == key && size == n && (n <= hash.MaxShort || t.text[slot.at:int(slot.at)+n] == s[i:i+n]) {
			return slot.id()
		}
	}
}

// keyOf returns the key of n bytes and their hash.
func keyOf(s string, i, n int) (key, h uint64) {
	if n <= hash.MaxShort {
		key = hash.Packed(s, i, n)
		return key, hash.Short(key, n)
	}
	key = hash.Long(s[i : i+n])
	return key, key
}
