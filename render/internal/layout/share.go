package layout

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/promptree-go/promptree/elements"
	"github.com/promptree-go/promptree/render/internal/tree"
)

// groups lays out sibling elements, flex group by flex group: those without FlexGrow first, then each value from high
// to low.
func (s *site) groups(ctx context.Context, items []item) error {
	if !anyOf(items, func(it *item) bool { return it.props.FlexGrow != items[0].props.FlexGrow }) {
		return s.group(ctx, items, nil, s.lazy)
	}
	slices.SortStableFunc(items, func(a, b item) int { return flexOrder(a) - flexOrder(b) })
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

// group lays out the elements of one flex group; later are those of the groups after it. Elements that are laid out in
// another order, or at the same time, are written to trees of their own, which are appended in document order.
func (s *site) group(ctx context.Context, items, later []item, lazy bool) error {
	if err := s.layOutGroup(ctx, items, later, lazy); err != nil || !anyOf(items, func(it *item) bool { return it.own != nil }) {
		return err
	}
	slices.SortFunc(items, func(a, b item) int { return a.place - b.place })
	for i := range items {
		s.written(&items[i], tree.ID(len(s.tree.Nodes)))
		s.tree.Append(items[i].own, tree.Root, s.id)
	}
	return nil
}

// written records where an element was written.
func (s *site) written(it *item, id tree.ID) {
	s.order[it.place] = id
	if it.limit > 0 {
		s.tree.Limits[it.limit-1] = id
	}
}

// layOutGroup is group without the appending. In the last group, elements that do not ask for a share are laid out first.
// Those that ask share the rest, and texts among them what the others of them leave.
func (s *site) layOutGroup(ctx context.Context, items, later []item, lazy bool) error {
	s.divide(items, later)
	if len(items) == 1 || len(later) > 0 || s.layouter.Compatible {
		return s.layOut(ctx, items, lazy)
	}
	var numbers [askingText + 1]int
	visited := s.askingLists.visits.Load()
	for i := range items {
		items[i].demand = s.demandOf(&items[i])
		items[i].noShare = items[i].demand == none
		numbers[items[i].demand]++
	}
	if visited = s.askingLists.visits.Load() - visited; visited < maxPieces {
		s.tree.Grow(int(visited), int(visited)) // about as many nodes follow
	}
	if numbers[none] == len(items) || numbers[asking] == len(items) {
		return s.layOut(ctx, items, lazy)
	}
	slices.SortStableFunc(items, func(a, b item) int { return int(a.demand) - int(b.demand) })
	for i := range items {
		items[i].own = tree.New()
	}
	settled, rest := items[:numbers[none]], items[numbers[none]:]
	before := s.account
	for i := range settled {
		settled[i].share = atMost(s.left(), settled[i].kind.max)
	}
	if err := s.layOut(ctx, settled, lazy && len(rest) == 0); err != nil {
		return err
	}
	left, sum := s.restOf(before, len(rest)), basisOf(rest)
	others, texts := rest[:numbers[asking]], rest[numbers[asking]:]
	for i := range others {
		it := &others[i]
		it.share = atMost(max(it.share, share(left, basis(&it.props), sum)), it.kind.max)
	}
	if err := s.layOut(ctx, others, lazy && len(texts) == 0); err != nil {
		return err
	}
	if len(texts) == 0 {
		return nil
	}
	if err := s.divideAmongTexts(texts, s.restOf(before, len(texts))); err != nil {
		return err
	}
	return s.layOut(ctx, texts, lazy)
}

// demand says what an element of a flex group wants of the budget.
type demand uint8

const (
	none       demand = iota // no share
	asking                   // it asks for a share, or something in it does
	askingText               // it is a text that is cut to its share
)

func (s *site) demandOf(it *item) demand {
	switch {
	case s.noShare || it.kind.breaks && s.staysWhole(&it.props) || !s.asks(it.element, false):
		return none
	case it.kind.breaks:
		return askingText
	}
	return asking
}

// restOf returns what is left of an account as it was before, for a number of elements that are still to be laid out.
func (s *site) restOf(before account, elements int) int {
	rest := before.left() - (s.cost() - before.cost())
	if s.inMessage {
		rest -= elements // for a line break before each
	}
	return max(0, rest)
}

// divideAmongTexts divides tokens among texts, max–min fair in proportion to FlexBasis: no text gets more than it
// counts, and what it leaves goes to the others. What rounding leaves goes to none.
func (s *site) divideAmongTexts(texts []item, tokens int) error {
	type claim struct {
		*item
		tokens int // that the text counts, or a few more than there are
		basis  float64
		sum    float64 // of the bases from this claim on: small ones are lost if large ones are subtracted
	}
	claims := make([]claim, len(texts))
	for i := range texts {
		it := &texts[i]
		chunk := it.element.(elements.TextChunk)
		text, err := s.textOf(chunk.Children)
		if err != nil {
			return err
		}
		claims[i] = claim{item: it, tokens: s.newCuts(&chunk, text).upTo(tokens + 1), basis: basis(&it.props)}
	}
	// The text that claims the fewest for its basis is the first to get all of it.
	slices.SortStableFunc(claims, func(a, b claim) int {
		return cmp.Compare(float64(a.tokens)/a.basis, float64(b.tokens)/b.basis)
	})
	sum := 0.0
	for i := range slices.Backward(claims) {
		sum += claims[i].basis
		claims[i].sum = sum
	}
	for i, c := range claims {
		if c.tokens <= share(tokens, c.basis, c.sum) {
			c.share = c.tokens
			tokens -= c.tokens
			continue
		}
		for _, rest := range claims[i:] {
			rest.share = share(tokens, rest.basis, c.sum)
		}
		break
	}
	return nil
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
	callers := 0
	for i := range items {
		if items[i].kind.caller {
			callers++
		}
	}
	if callers >= 2 {
		return s.concurrently(ctx, items, lazy)
	}
	if s.inner == nil {
		s.inner = &site{}
	}
	for i := range items {
		in := s.inner
		in.tree = s.tree
		if items[i].own != nil {
			in.tree = items[i].own
		}
		if err := s.element(ctx, in, &items[i], lazy); err != nil {
			return err
		}
		if items[i].own == nil {
			s.written(&items[i], in.id)
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
		reserved += tree.Reserved(later[i].props.FlexReserve, left)
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

func basis(p *elements.Props) float64 { return cmp.Or(p.FlexBasis, 1) }

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
