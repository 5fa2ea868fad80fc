package completions

import (
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

// ReadUsage reads a usage object, and leaves what is missing or zero in it.
func ReadUsage(usage *chat.Usage, o *wire.Object) {
	for _, n := range []struct {
		to    *int
		paths [][]string
	}{
		{&usage.Input, dialect.Input}, {&usage.Output, dialect.Output}, {&usage.CacheRead, dialect.CacheRead}, {&usage.CacheWrite, dialect.CacheWrite},
	} {
		for _, path := range n.paths {
			if count := countAt(o, path); count > 0 {
				*n.to = count
				break
			}
		}
	}
	usage.CacheWriteLong = max(usage.CacheWriteLong, countAt(o, []string{"prompt_tokens_details", "cache_write_tokens_details", "ttl_12h_tokens"}))
}

// countAt returns the count at a path, 0 if there is none.
func countAt(o *wire.Object, path []string) int {
	for _, name := range path[:len(path)-1] {
		if o = o.Inside(name); o == nil {
			return 0
		}
	}
	n, err := strconv.ParseFloat(string(o.Look(path[len(path)-1])), 64)
	if err != nil || n < 0 || n > wire.MaxCount {
		return 0
	}
	return int(n)
}
