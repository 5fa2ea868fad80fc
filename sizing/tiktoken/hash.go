package tiktoken

import "github.com/promptree-go/promptree/sizing/internal/hash"

// hashTable is a perfect hash table: each key in it has a slot of its own. The hash of a key determines its bucket and
// its home, and the pilot of the bucket is the distance from home to slot. Pilots were found by trial when the table
// was made, such that all keys of a bucket land in free slots. Slots wrap around.
type hashTable struct {
	buckets, size uint32 // size is the number of slots
	pilots, slots string
}

const pilotSize = 2 // bytes

// slot returns the index of the slot for a hash.
func (t *hashTable) slot(h uint64) int {
	bucket, home := spread(h, t.buckets, t.size)
	pilot := t.pilots[pilotSize*bucket : pilotSize*bucket+pilotSize]
	slot := home + (uint32(pilot[0]) | uint32(pilot[1])<<8)
	if slot >= t.size {
		slot -= t.size
	}
	return int(slot)
}

// spread returns the bucket and the home of a hash, from different bits, so that keys of one bucket rarely share a
// home.
func spread(h uint64, buckets, slots uint32) (bucket int, home uint32) {
	return int((h >> 32) * uint64(buckets) >> 32), uint32((h * hash.Odd >> 32) * uint64(slots) >> 32)
}
