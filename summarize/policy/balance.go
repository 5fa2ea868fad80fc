package policy

import "fmt"

// balance compares the cost of carrying something, in dollars, with times the cost of leaving it out.
type balance struct{ carried, times, cost float64 }

// due reports whether carrying it has cost enough.
func (b balance) due() bool { return b.carried > 0 && b.carried >= b.times*b.cost }

// String returns the balance in words, up to the cost of leaving it out.
func (b balance) String() string {
	verb := "is not"
	if b.due() {
		verb = "is"
	}
	return fmt.Sprintf("carried $%.4f, which %s %.4g of the $%.4f", b.carried, verb, b.times, b.cost)
}
