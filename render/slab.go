package render

import "reflect"

// slab hands out values, a few at a time from a larger piece of memory.
type slab[T any] struct {
	free []T
	next int // values in the next piece; the more was taken, the more
}

// take gives n fresh values. Many have memory of their own.
func (s *slab[T]) take(n int) []T {
	const smallest, largest = 4, 32 << 10 // values, bytes: what is larger is no small object to the allocator
	if n > len(s.free) {
		size := max(s.next, smallest)
		s.next = min(2*size, largest/int(reflect.TypeFor[T]().Size()))
		if 4*n > size {
			return make([]T, n)
		}
		s.free = make([]T, size)
	}
	taken := s.free[:n:n]
	s.free = s.free[n:]
	return taken
}

// slabs are what layout takes from. The zero value is for one goroutine; none at all gives each piece memory of its own.
type slabs struct {
	nodes   slab[node]
	insides slab[inside]
	taken   int // nodes
}

func (s *slabs) takeNodes(n int) []node {
	if s == nil {
		return make([]node, n)
	}
	s.taken += n
	return s.nodes.take(n)
}

// nodesTaken is how many nodes were.
func (s *slabs) nodesTaken() int {
	if s == nil {
		return 0
	}
	return s.taken
}

func (s *slabs) takeInside() *inside {
	if s == nil {
		return &inside{}
	}
	return &s.insides.take(1)[0]
}
