package render

import (
	"context"
	"math"
	"slices"
	"sync"

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

// groups lays out siblings, flex group by flex group.
func (l *layouter) groups(ctx context.Context, e *node, todo []task, at place, r *room) error {
	if oneGroup(todo) {
		return l.group(ctx, flexGroup{tasks: todo}, at, r)
	}
	more := e.set()
	groups := flexGroups(todo)
	for i, g := range groups {
		in := at
		in.free = at.free && i == len(groups)-1
		if err := l.group(ctx, g, in, r); err != nil {
			return err
		}
		for _, t := range g.tasks {
			more.order = append(more.order, t.piece.index)
		}
	}
	return nil
}

// group lays out the elements of one flex group: elements of the caller's own types side by side where there are
// several, everything else in order. What comes back is as if one had run after the other: the error is that of the
// first element that failed, and those after it are cancelled.
func (l *layouter) group(ctx context.Context, g flexGroup, at place, r *room) error {
	at.depth++
	own := 0
	for i := range g.tasks {
		if !g.tasks[i].builtin {
			own++
		}
	}
	shares := g.shares(r)
	if own >= 2 {
		return l.sideBySide(ctx, g.tasks, shares, at, r)
	}
	for i := range g.tasks {
		t := &g.tasks[i]
		consumed, err := l.element(ctx, t.piece, t.node, t.props, at, shares[i])
		if err != nil {
			return err
		}
		r.used += consumed
	}
	return nil
}

// sideBySide runs the caller's own elements in goroutines, and waits for all of them.
func (l *layouter) sideBySide(ctx context.Context, tasks []task, shares []int, at place, r *room) error {
	type outcome struct {
		consumed int
		err      error
		returned bool
	}
	results := make([]outcome, len(tasks))
	contexts := make([]context.Context, len(tasks))
	cancels := make([]context.CancelFunc, len(tasks))
	for i := range tasks {
		contexts[i], cancels[i] = context.WithCancel(ctx)
		defer cancels[i]()
	}
	do := func(i int) (ok bool) {
		t := &tasks[i]
		consumed, err := l.element(contexts[i], t.piece, t.node, t.props, at, shares[i])
		results[i] = outcome{consumed, err, true}
		if err != nil {
			for _, cancel := range cancels[i+1:] {
				cancel()
			}
		}
		return err == nil
	}
	var running sync.WaitGroup
	defer func() { // if one of those here ends the goroutine
		for _, cancel := range cancels {
			cancel()
		}
		running.Wait()
	}()
	var here []int // those that run in this goroutine
	for i := range tasks {
		if tasks[i].builtin || !at.watch.another() {
			here = append(here, i)
			continue
		}
		running.Go(func() {
			defer at.watch.atOnce.Add(-1)
			do(i)
		})
	}
	for _, i := range here {
		if !do(i) {
			break
		}
	}
	running.Wait()
	for i, result := range results {
		switch {
		case result.err != nil:
			return result.err
		case !result.returned: // its goroutine ended in the middle
			return at.watch.exit(tasks[i].piece)
		}
		r.used += result.consumed
	}
	return nil
}
