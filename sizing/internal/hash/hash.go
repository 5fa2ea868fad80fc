// Package hash reads the bytes of texts as numbers and hashes them, for tables of tokens and of counts.
package hash

import (
	"encoding/binary"
	"math/bits"
)

const (
	Golden = 0x9E3779B97F4A7C15
	Odd    = 0xD6E8FEB86659FD93
)

// Mix spreads the bits of x over all bits.
func Mix(x uint64) uint64 {
	high, low := bits.Mul64(x^Odd, Golden)
	return high ^ low
}

// Slot returns the place of a hash in a table of n slots.
func Slot(h uint64, n int) int { return int((h >> 32) * uint64(n) >> 32) }

// Next returns the slot that is tried after another, in a table of n.
func Next(i, n int) int {
	if i++; i == n {
		return 0
	}
	return i
}

// MaxShort is the maximum length, in bytes, of a text that fits an integer.
const MaxShort = 8

// Short returns the hash of n bytes, given as a number.
func Short(key uint64, n int) uint64 { return (key + uint64(n)*Odd) * Golden }

// Long returns the hash of more than MaxShort bytes, from their number and the first and last 16 of them.
func Long(s string) uint64 {
	n := len(s)
	hash := Mix(Word(s, 0) ^ uint64(n)*Golden)
	if n > 2*MaxShort {
		hash = Mix(hash ^ Word(s, 8))
		hash = Mix(hash ^ Word(s, n-16))
	}
	return Mix(hash ^ Word(s, n-8))
}

// Uint32 returns the 4 bytes at i as a number.
func Uint32(s string, i int) uint32 { return binary.LittleEndian.Uint32([]byte(s[i : i+4])) }

// Word returns the 8 bytes at i as a number.
func Word(s string, i int) uint64 { return binary.LittleEndian.Uint64([]byte(s[i : i+8])) }

// Mask returns the bits of the first n bytes of a word, 1 to 8.
func Mask(n int) uint64 { return ^uint64(0) >> (uint(64-8*n) & 63) }

// Packed returns the n bytes at i as a number, 1 to 8.
func Packed(s string, i, n int) uint64 {
	switch {
	case i+8 <= len(s):
		return Word(s, i) & Mask(n)
	case len(s) >= 8:
		return Word(s, len(s)-8) >> (uint(8*(i+8-len(s))) & 63) & Mask(n)
	default:
		key := uint64(0)
		for k := n - 1; k >= 0; k-- {
			key = key<<8 | uint64(s[i+k])
		}
		return key
	}
}
