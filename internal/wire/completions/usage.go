package completions

import (
	"strconv"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
	"github.com/promptree-go/promptree/internal/wire/dialect"
)

// addUsage reads the usage of an answer, a chunk or a choice, wherever it stands. What is missing or zero leaves what was
// reported before.
func addUsage(usage *chat.Usage, o *wire.Object) {
	for _, place := range dialect.Usages {
		if at := o.Inside(place...); at != nil {
			ReadUsage(usage, at)
		}
	}
}

// ReadUsage reads a usage object, and leaves what is missing in it as it was, and what is zero if the input is. It removes
// the counts that it read from the object. If no object named what the cache served, that is not known. The output holds
// the thinking, which some servers count in the total alone, and the input what the cache served or stored.
func ReadUsage(usage *chat.Usage, o *wire.Object) {
	unknown := usage.CacheUnknown || usage.Input == 0
	zeros := false // count
	read := func(to *int, paths [][]string) (given bool) {
		found := 0
		for _, path := range paths {
			n, ok := countAt(o, path)
			if given = given || ok; found == 0 {
				found = n
			}
		}
		if found > 0 || zeros && given {
			*to = found
		}
		return given
	}
	input := 0
	read(&input, dialect.Input)
	if zeros = input > 0; zeros {
		usage.Input = input
	}
	read(&usage.Output, dialect.Output)
	given := read(&usage.CacheRead, dialect.CacheRead)
	read(&usage.CacheWrite, dialect.CacheWrite)
	read(&usage.CacheWriteLong, dialect.CacheWriteLong)
	usage.CacheUnknown = unknown && usage.Input > 0 && !given
	total, _ := strconv.Atoi(string(o.Look("total_tokens")))
	cached, beside := usage.CacheRead+usage.CacheWrite, min(total, wire.MaxCount)-usage.Input-usage.Output
	switch {
	case cached > usage.Input, cached > 0 && beside == cached:
		usage.Input = min(usage.Input+cached, wire.MaxCount)
	case beside > 0 && usage.Input > 0:
		usage.Output += beside
	}
}

// countAt returns the count at a path, false if there is none.
func countAt(o *wire.Object, path []string) (int, bool) {
	name := path[0]
	if len(path) > 1 {
		inner := o.Inside(name)
		if inner == nil {
			return 0, false
		}
		n, ok := countAt(inner, path[1:])
		o.Skip(name)
		o.Put(name, inner.Remainder())
		return n, ok
	}
	n, err := strconv.ParseFloat(string(o.Look(name)), 64)
	if err != nil || n < 0 || n > wire.MaxCount {
		return 0, false
	}
	o.Skip(name)
	return int(n), true
}
