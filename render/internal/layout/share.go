package layout

import (
	"context"
	"math"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/draft"
)

// groups lays out sibling elements, flex group by flex group: those without FlexGrow first, then each value from high
// to low.
func (s *site) groups(ctx context.Context, items []item) error {
	if !slices.ContainsFunc(items, func(it item) bool { return it.props.FlexGrow != items[0].props.FlexGrow }) {
		return s.group(ctx, items, nil, s.lazy)
	}
	slices.SortStableFunc(items, func(a, b item) int { return flexOrder(a) - flexOrder(b) })
	order := make([]int32, len(items))
	for i, it := range items {
		order[i] = it.node.Index()
	}
	s.node.EnsureRare().Order = order
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

// group lays out the elements of one flex group; later are those of the groups after it. In the last group, elements
// that do not ask for a share are laid out first, and those that ask share the rest.
func (s *site) group(ctx context.Context, items, later []item, lazy bool) error {
	s.divide(items, later)
	if len(items) == 1 || len(later) > 0 || s.layouter.Compatible {
		return s.layOut(ctx, items, lazy)
	}
	noShare := 0
	for i := range items {
		if items[i].noShare = s.noShare || !s.asks(items[i].element, false); items[i].noShare {
			noShare++
		}
	}
	if noShare == 0 || noShare == len(items) {
		return s.layOut(ctx, items, lazy)
	}
	slices.SortStableFunc(items, func(a, b item) int {
		switch {
		case a.noShare == b.noShare:
			return 0
		case a.noShare:
			return -1
		}
		return 1
	})
	settled, asking := items[:noShare], items[noShare:]
	before := s.account
	for i := range settled {
		settled[i].share = atMost(s.left(), settled[i].kind.max)
	}
	if err := s.layOut(ctx, settled, false); err != nil {
		return err
	}
	rest := before.left() - (s.cost() - before.cost())
	if s.inMessage {
		rest -= len(asking) // for a line break before each
	}
	sum := basisOf(asking)
	for i := range asking {
		it := &asking[i]
		it.share = atMost(max(it.share, share(max(0, rest), basis(&it.props), sum)), it.kind.max)
	}
	return s.layOut(ctx, asking, lazy)
}

// atMost returns a share limited to limit; 0 is no limit.
func atMost(share, limit int) int {
	if limit > 0 {
		return min(share, limit)
	}
	return share
}

// layOut lays out elements whose shares are set. Elements of the caller's own types may run at the same time; the
// result is the same as if they ran one after the other.
func (s *site) layOut(ctx context.Context, items []item, lazy bool) error {
	s.unchargedBefore = s.lines + s.uncharged
	callers := 0
	for i := range items {
		if items[i].kind.caller {
			callers++
		}
	}
	if callers >= 2 {
		return s.concurrently(ctx, items, lazy)
	}
	for i := range items {
		in := s.innerSite()
		if err := s.element(ctx, in, &items[i], lazy); err != nil {
			return err
		}
		s.charge(in.account)
	}
	return nil
}

// divide divides the rest of the budget among the elements of a group, as prompt-tsx does.
//
//   - The tokens that later groups reserve are set aside first; every fraction is taken of the same remainder.
//   - An element's share is floor(left × (basis / sum of the bases)), the division first, in float64.
//   - A TokenLimit whose limit is not above its share gets its limit instead and is taken out of the division. That is
//     done in document order, and each time the sum of the bases becomes smaller for the next. The rest for the others
//     may be negative.
func (s *site) divide(items, later []item) {
	left := s.left()
	reserved := 0
	for i := range later {
		reserved += draft.Reserved(later[i].props.FlexReserve, left)
	}
	left = max(0, s.budget-s.used-reserved)
	sum := basisOf(items)
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

// basisOf returns the sum of the bases.
func basisOf(items []item) (sum float64) {
	for i := range items {
		sum += basis(&items[i].props)
	}
	return sum
}

func share(tokens int, basis, sum float64) int {
	exact := math.Floor(float64(tokens) * (basis / sum))
	if !(math.Abs(exact) <= MaxBudget) { // the bases are too far apart to be added up
		return 0
	}
	return int(exact)
}
