package layout

import (
	"context"
	"math"
	"slices"

	"github.com/promptree-go/promptree/elements"
)

// groups lays out sibling elements, flex group by flex group: those without FlexGrow first, then each value from high to low.
func (s *site) groups(ctx context.Context, items []item) error {
	if !slices.ContainsFunc(items, func(it item) bool { return it.props.FlexGrow != items[0].props.FlexGrow }) {
		return s.group(ctx, items, nil, s.lazy)
	}
	slices.SortStableFunc(items, func(a, b item) int { return flexOrder(a) - flexOrder(b) })
	order := make([]int32, len(items))
	for i, it := range items {
		order[i] = it.node.Index()
	}
	s.node.Set().Order = order
	for len(items) > 0 {
		n := 1
		for n < len(items) && items[n].props.FlexGrow == items[0].props.FlexGrow {
			n++
		}
		if err := s.group(ctx, items[:n], items[n:], s.lazy && n == len(items)); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

func flexOrder(it item) int {
	if it.props.FlexGrow == 0 {
		return math.MinInt
	}
	return -it.props.FlexGrow
}

// group lays out the elements of one flex group; later are those of the groups after it. What comes of it is as if one element had
// been laid out after the other, also if several of the caller's own types run at the same time.
func (s *site) group(ctx context.Context, items, later []item, lazy bool) error {
	s.divide(items, later)
	callers := 0
	for i := range items {
		if items[i].kind.caller {
			callers++
		}
	}
	if callers >= 2 {
		used, err := s.concurrently(ctx, items, lazy)
		s.used += used
		return err
	}
	for i := range items {
		consumed, err := s.element(ctx, s.inside(), &items[i], lazy)
		if err != nil {
			return err
		}
		s.used += consumed
	}
	return nil
}

// divide shares out what is left to the elements of a group.
//
//   - Room that later groups reserve is set aside first; every fraction is one of the same remainder.
//   - An element's share is floor(left × (basis / sum of the bases)), the division first, in float64.
//   - A TokenLimit whose limit is not above its share takes its limit instead and leaves the sharing, in document order,
//     each one making the sum of the bases smaller for the next. What the others then share may be negative.
func (s *site) divide(items, later []item) {
	left := s.left()
	reserved := 0
	for i := range later {
		if reserve := later[i].props.FlexReserve; reserve.Fraction > 0 {
			reserved += left / reserve.Fraction
		} else {
			reserved += min(reserve.Tokens, left)
		}
	}
	left = max(0, s.budget-s.used-reserved)

	sum := 0.0
	for i := range items {
		sum += basis(&items[i].props)
	}
	limited := 0
	for i := range items {
		it := &items[i]
		if it.kind.max > 0 && share(left, basis(&it.props), sum) >= it.kind.max {
			it.share = it.kind.max
			limited += it.kind.max
			sum -= basis(&it.props)
		}
	}
	for i := range items {
		if it := &items[i]; it.share == 0 {
			it.share = share(left-limited, basis(&it.props), sum)
		}
	}
}

func basis(p *elements.Props) float64 {
	if p.FlexBasis == 0 {
		return 1
	}
	return p.FlexBasis
}

func share(tokens int, basis, sum float64) int {
	exact := math.Floor(float64(tokens) * (basis / sum))
	if !(math.Abs(exact) <= MaxBudget) { // the bases are too far apart to be added up
		return 0
	}
	return int(exact)
}
