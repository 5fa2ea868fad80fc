package main

import (
	"math/bits"
	"math/rand/v2"
)

// dice returns the same random numbers on every machine and with every version of Go.
type dice struct{ pcg *rand.PCG }

func newDice(seed uint64) *dice { return &dice{rand.NewPCG(seed, 0x9e3779b97f4a7c15)} }

// n returns a number from 0 to limit-1.
func (d *dice) n(limit int) int {
	hi, _ := bits.Mul64(d.pcg.Uint64(), uint64(limit))
	return int(hi)
}

// between returns a number from low to high, both included.
func (d *dice) between(low, high int) int { return low + d.n(high-low+1) }

// percent returns true with a probability of p percent.
func (d *dice) percent(p int) bool { return d.n(100) < p }

// letters returns a text of n of the given letters, each of one byte.
func (d *dice) letters(n int, from string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = from[d.n(len(from))]
	}
	return string(b)
}

const (
	hexDigits    = "0123456789abcdef"
	base58Digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)

func pick[T any](d *dice, from []T) T { return from[d.n(len(from))] }

func shuffle[T any](d *dice, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := d.n(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}
