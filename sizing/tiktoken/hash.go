package tiktoken

import "math/bits"

// hashTable is a hash table in which nothing has to be looked for: what is in it has a slot of its own. By its hash it has
// a bucket and a home, and the pilot of its bucket is how far from home its slot is: a number that was tried out, by which
// all that have this bucket come to slots that nothing else has. After the last slot comes the first.
type hashTable struct {
	buckets, size uint32 // size is how many slots there are
	pilots, slots string
}

const pilotSize = 2 // bytes

// slot is the number of the slot of what has this hash.
func (t *hashTable) slot(hash uint64) int {
	bucket, home := spread(hash, t.buckets, t.size)
	pilot := t.pilots[pilotSize*bucket : pilotSize*bucket+pilotSize]
	slot := home + (uint32(pilot[0]) | uint32(pilot[1])<<8)
	if slot >= t.size {
		slot -= t.size
	}
	return int(slot)
}

// spread is the bucket and the home of a hash. They come of different bits of it, so that a bucket's homes lie apart.
func spread(hash uint64, buckets, slots uint32) (bucket int, home uint32) {
	return int((hash >> 32) * uint64(buckets) >> 32), uint32((hash * odd >> 32) * uint64(slots) >> 32)
}

// shortHash is the hash of n bytes, given as a number.
func shortHash(key uint64, n int) uint64 { return (key + uint64(n)*odd) * golden }

// longHash is the hash of more than maxShort bytes.
func longHash(s string) uint64 {
	hash := uint64(len(s)) * golden
	for i := 0; i+8 < len(s); i += 8 {
		hash = mix(hash ^ word(s, i))
	}
	return mix(hash ^ word(s, len(s)-8))
}

const (
	golden = 0x9E3779B97F4A7C15
	odd    = 0xD6E8FEB86659FD93
)

// mix spreads what it is given over all bits.
func mix(x uint64) uint64 {
	high, low := bits.Mul64(x^odd, golden)
	return high ^ low
}
