package render

// slab hands out values, a few at a time from a larger piece of memory.
type slab[T any] struct {
	free []T
	next int // values in the next piece, where there has been one
}

// take gives n fresh values. Many, or those of no slab, stand alone.
func (s *slab[T]) take(n int) []T {
	const smallest, largest = 16, 512
	if s == nil {
		return make([]T, n)
	}
	if n > len(s.free) {
		size := max(s.next, smallest)
		if 4*n > size {
			return make([]T, n)
		}
		s.free, s.next = make([]T, size), min(2*size, largest)
	}
	taken := s.free[:n:n]
	s.free = s.free[n:]
	return taken
}
