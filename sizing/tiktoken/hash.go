package tiktoken

import "math/bits"

// hashTable is a perfect hash table: each key in it has a slot of its own. The hash of a key determines its bucket and
// its home, and the pilot of the bucket is the distance from home to slot. Pilots were found by trial when the table
// was made, such that all keys of a bucket land in free slots. Slots wrap around.
type hashTable struct {
	buckets, size uint32 // size is the number of slots
	pilots, slots string
}

const pilotSize = 2 // bytes

// slot returns the index of the slot for a hash.
func (t *hashTable) slot(hash uint64) int {
	bucket, home := spread(hash, t.buckets, t.size)
	pilot := t.pilots[pilotSize*bucket : pilotSize*bucket+pilotSize]
	slot := home + (uint32(pilot[0]) | uint32(pilot[1])<<8)
	if slot >= t.size {
		slot -= t.size
	}
	return int(slot)
}

// spread returns the bucket and the home of a hash, from different bits, so that keys of one bucket rarely share a
// home.
func spread(hash uint64, buckets, slots uint32) (bucket int, home uint32) {
	return int((hash >> 32) * uint64(buckets) >> 32), uint32((hash * odd >> 32) * uint64(slots) >> 32)
}

// shortHash returns the hash of n bytes, given as a number.
func shortHash(key uint64, n int) uint64 { return (key + uint64(n)*odd) * golden }

// longHash returns the hash of more than maxShort bytes, from their number and the first and last 16 of them. No two
// tokens have the same.
func longHash(s string) uint64 {
	n := len(s)
	hash := mix(word(s, 0) ^ uint64(n)*golden)
	if n > 2*maxShort {
		hash = mix(hash ^ word(s, 8))
		hash = mix(hash ^ word(s, n-16))
	}
	return mix(hash ^ word(s, n-8))
}

const (
	golden = 0x9E3779B97F4A7C15
	odd    = 0xD6E8FEB86659FD93
)

// mix spreads the bits of x over all bits.
func mix(x uint64) uint64 {
	high, low := bits.Mul64(x^odd, golden)
	return high ^ low
}
