package importer

import (
	"slices"

	"github.com/promptree-go/promptree/internal/wire"
)

// linker is a format whose lines form a tree: a line may name the one that it follows, and need not come after it.
type linker interface {
	// link returns the id of a line, and that of the line that it follows, "" if it has none. It reads no field.
	link(o *wire.Object) (id, parent string)
}

// heldLine is a line that is read when all others are known.
type heldLine struct {
	item
	id, parent string
	mayskip    bool
	late       bool // it comes before the line that it follows
}

// parentsFirst returns all lines in their order, but each line after the one that it follows. Lines that follow each
// other in a circle come last, in their order.
func parentsFirst(lines []heldLine) (ordered []*heldLine) {
	first := map[string]int{} // by id
	for i, l := range lines {
		if _, ok := first[l.id]; !ok && l.id != "" {
			first[l.id] = i
		}
	}
	done, waiting := make([]bool, len(lines)), map[int][]int{}
	release := func(i int) {
		for stack := []int{i}; len(stack) > 0; {
			i = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if done[i] {
				continue
			}
			done[i], ordered = true, append(ordered, &lines[i])
			for _, w := range slices.Backward(waiting[i]) {
				stack = append(stack, w)
			}
		}
	}
	for i := range lines {
		if parent, ok := first[lines[i].parent]; ok && parent != i && !done[parent] {
			lines[i].late = true
			waiting[parent] = append(waiting[parent], i)
		} else {
			release(i)
		}
	}
	for i := range lines {
		release(i)
	}
	return ordered
}
