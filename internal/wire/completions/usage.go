package completions

import (
	"cmp"
	"strconv"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// addUsage reads the usage of an answer, or of a chunk, wherever it stands. What is missing or zero leaves what was
// reported before.
func addUsage(usage *chat.Usage, o *wire.Object) {
	for _, place := range dialect.Usages {
		at := o
		for _, name := range place {
			if name == "choices" {
				at = first(at)
			} else if at != nil {
				at = at.Inside(name)
			}
		}
		if at != nil {
			ReadUsage(usage, at)
		}
	}
}

// ReadUsage reads a usage object, and leaves what is missing or zero in it as it was. It removes the counts that it
// read from the object.
func ReadUsage(usage *chat.Usage, o *wire.Object) {
	for _, n := range []struct {
		to    *int
		paths [][]string
	}{
		{&usage.Input, dialect.Input}, {&usage.Output, dialect.Output}, {&usage.CacheRead, dialect.CacheRead}, {&usage.CacheWrite, dialect.CacheWrite},
		{&usage.CacheWriteLong, dialect.CacheWriteLong},
	} {
		found := 0
		for _, path := range n.paths {
			found = cmp.Or(found, countAt(o, path))
		}
		*n.to = cmp.Or(found, *n.to)
	}
}

// countAt returns the count at a path, 0 if there is none.
func countAt(o *wire.Object, path []string) int {
	name := path[0]
	if len(path) > 1 {
		inner := o.Inside(name)
		if inner == nil {
			return 0
		}
		n := countAt(inner, path[1:])
		o.Skip(name)
		o.Put(name, inner.Remainder())
		return n
	}
	n, err := strconv.ParseFloat(string(o.Look(name)), 64)
	if err != nil || n < 0 || n > wire.MaxCount {
		return 0
	}
	o.Skip(name)
	return int(n)
}
