package render

import (
	"math"
	"slices"

	"github.com/promptree-go/promptree/elements"
)

// flexGroup is the siblings of one FlexGrow value, in document order.
type flexGroup struct {
	tasks []task
	later []elements.Reserve // what the groups after it reserve
}

// oneGroup tells that all siblings are of one FlexGrow value.
func oneGroup(todo []task) bool {
	for i := range todo {
		if todo[i].props.FlexGrow != todo[0].props.FlexGrow {
			return false
		}
	}
	return true
}

// flexGroups sorts siblings into groups: those without FlexGrow first, then each value from high to low.
func flexGroups(todo []task) []flexGroup {
	sorted := slices.Clone(todo)
	slices.SortStableFunc(sorted, func(a, b task) int { return flexOrder(a) - flexOrder(b) })
	var groups []flexGroup
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to].props.FlexGrow == sorted[from].props.FlexGrow {
			to++
		}
		g := flexGroup{tasks: sorted[from:to]}
		for _, t := range sorted[to:] {
			g.later = append(g.later, t.props.FlexReserve)
		}
		groups = append(groups, g)
		from = to
	}
	return groups
}

func flexOrder(t task) int {
	if t.props.FlexGrow == 0 {
		return math.MinInt
	}
	return -t.props.FlexGrow
}

// shares divides what is left in r among the group's elements.
//
//   - Room that later groups reserve is set aside first; every fraction is one of the same remainder.
//   - An element's share is floor(left × (basis / sum of the bases)), the division first, in float64.
//   - A TokenLimit whose limit is not above its share takes its limit instead and leaves the sharing, in document order,
//     each one making the sum of the bases smaller for the next. What the others then share may be negative.
func (g flexGroup) shares(r *room) []int {
	left := r.left()
	reserved := 0
	for _, reserve := range g.later {
		if reserve.Fraction > 0 {
			reserved += left / reserve.Fraction
		} else {
			reserved += min(reserve.Tokens, left)
		}
	}
	left = (&room{budget: r.budget, used: r.used + reserved}).left()

	sum := 0.0
	for i := range g.tasks {
		sum += basis(&g.tasks[i])
	}
	shares := make([]int, len(g.tasks)) // at first the limits
	limited := 0
	for i := range g.tasks {
		t := &g.tasks[i]
		limit, ok := t.node.(elements.TokenLimit)
		if ok && share(left, basis(t), sum) >= limit.Max {
			shares[i] = limit.Max
			limited += limit.Max
			sum -= basis(t)
		}
	}
	for i := range g.tasks {
		if shares[i] <= 0 {
			shares[i] = share(left-limited, basis(&g.tasks[i]), sum)
		}
	}
	return shares
}

func basis(t *task) float64 {
	if t.props.FlexBasis == 0 {
		return 1
	}
	return t.props.FlexBasis
}

func share(tokens int, basis, sum float64) int {
	exact := math.Floor(float64(tokens) * (basis / sum))
	if !(math.Abs(exact) <= most) { // the bases are too far apart to be added up
		return 0
	}
	return int(exact)
}
