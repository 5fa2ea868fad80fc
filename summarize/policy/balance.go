package policy

import "fmt"

// balance compares the cost of carrying something, in dollars, with times the cost of leaving it out.
type balance struct{ carried, times, cost float64 }

// due reports whether carrying it has cost enough.
func (b balance) due() bool { return b.carried > 0 && b.carried >= b.times*b.cost }

// String returns the balance in words, up to what leaves it out, such as "compacting".
func (b balance) String() string {
	than := "below"
	if b.due() {
		than = "at or above"
	}
	return fmt.Sprintf("carrying has cost $%.4f, %s %.4g × $%.4f, the cost of", b.carried, than, b.times, b.cost)
}
