package summarize

import "fmt"

// balance holds what carrying something has cost against so many times what it costs to leave it out, in dollars.
type balance struct{ carried, times, cost float64 }

// due reports whether carrying it has cost enough.
func (b balance) due() bool { return b.carried > 0 && b.carried >= b.times*b.cost }

// String returns the balance in words, without what costs that much.
func (b balance) String() string {
	verb := "is not"
	if b.due() {
		verb = "is"
	}
	return fmt.Sprintf("carried $%.4f, which %s %.4g of the $%.4f", b.carried, verb, b.times, b.cost)
}
