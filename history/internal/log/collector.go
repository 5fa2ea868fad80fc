package log

import (
	"cmp"
	"maps"
	"slices"

	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/history/entry"
	"github.com/promptree-go/promptree/history/internal/kind"
)

// The limits of what a compaction retains.
const (
	MostHead      = 64 // also the limit for clearings
	mostSaid      = 1000
	mostCalls     = 1000
	mostPreambles = 16
	mostPins      = 64
	mostCustom    = 256
)

// collector gathers what a compaction retains.
type collector struct{ entry.Retained }

// collectorOf returns a collector with a copy of what a compaction retains. Entries that have no position, because they were
// added together with the compaction, have that on a path.
func collectorOf(c entry.Retained, p Path) collector {
	at := func(r entry.Ref) entry.Ref {
		if r.At == 0 {
			if i := p.Index(r.ID); i >= 0 {
				r.At = p.Nodes[i].At
			}
		}
		return r
	}
	for _, list := range []*[]entry.Ref{&c.Head, &c.Clearings, &c.Said, &c.Pins} {
		*list = slices.Clone(*list)
		for i, r := range *list {
			(*list)[i] = at(r)
		}
	}
	latest, preambles := map[entry.Type]entry.Ref{}, map[string]entry.Ref{}
	for k, r := range c.Latest {
		latest[k] = at(r)
	}
	for k, r := range c.Preambles {
		preambles[k] = at(r)
	}
	c.Calls, c.Custom, c.Latest, c.Preambles = slices.Clone(c.Calls), slices.Clone(c.Custom), latest, preambles
	for i, r := range c.Custom {
		c.Custom[i].Ref = at(r.Ref)
	}
	return collector{c}
}

// add records the next entry of the path.
func (c *collector) add(e entry.Entry, k kind.Kind, ref entry.Ref) {
	if k.Is(e.Type()) {
		c.Latest[e.Type()] = ref
	}
	if k.Shown() && len(c.Head) < MostHead {
		c.Head = append(c.Head, ref)
	}
	if e.Type() != entry.TypePlanEnd { // a compaction ends what failures taught
		learnt := entry.Remembered{Models: c.Models, Held: c.Held}
		learnt.Add(e)
		c.Models, c.Held = learnt.Models, learnt.Held
	}
	switch b := e.Body.(type) {
	case entry.Message:
		switch b.Role {
		case chat.RoleUser:
			c.Said = append(c.Said, ref)
		case chat.RoleAssistant:
			for _, call := range b.ToolCalls {
				c.Calls = append(c.Calls, call.ID)
			}
			c.Calls = newest(c.Calls, mostCalls)
		case chat.RoleTool:
			c.Calls = slices.DeleteFunc(c.Calls, func(id string) bool { return id == b.ToolCallID })
		}
	case entry.Clearing:
		names := func(o entry.Cleared) bool {
			return slices.ContainsFunc(c.Head, func(r entry.Ref) bool { return r.ID == o.Entry })
		}
		if slices.ContainsFunc(b.Results, names) || slices.ContainsFunc(b.Arguments, names) {
			c.Clearings = newest(append(c.Clearings, ref), MostHead)
		}
	case entry.Pin:
		c.Pins = slices.DeleteFunc(c.Pins, func(r entry.Ref) bool { return r.ID == b.ID })
		if !b.Off {
			c.Pins = newest(append(c.Pins, b.Ref), mostPins)
		}
	case entry.Custom:
		c.Custom = slices.DeleteFunc(c.Custom, func(r entry.NamedRef) bool { return r.Name == b.Name })
		if len(b.Data) > 0 {
			c.Custom = newest(append(c.Custom, entry.NamedRef{Name: b.Name, Ref: ref}), mostCustom)
		}
	case entry.Preamble:
		delete(c.Preambles, b.Digest)
		keepNewest(c.Preambles, mostPreambles-1)
		c.Preambles[b.Digest] = ref // it is kept, whatever the positions of the others
	}
}

// bounded returns what a compaction retains, with its lists cut to their limits, which a compaction written by another
// program may exceed.
func bounded(c entry.Retained) entry.Retained {
	c.Head = c.Head[:min(len(c.Head), MostHead)]
	c.Clearings, c.Calls, c.Models = newest(c.Clearings, MostHead), newest(c.Calls, mostCalls), newest(c.Models, entry.MaxModels)
	c.Pins, c.Custom, c.Held = newest(c.Pins, mostPins), newest(c.Custom, mostCustom), newest(c.Held, entry.MaxHeld)
	if more := len(c.Said) - mostSaid; more > 0 {
		c.Said = slices.Delete(c.Said, 1, 1+more)
		c.SaidLeft += more
	}
	maps.DeleteFunc(c.Latest, func(t entry.Type, _ entry.Ref) bool { return !t.Known() })
	keepNewest(c.Preambles, mostPreambles)
	c.Lines = max(c.Lines, 0)
	return c
}

// keepNewest deletes all but n entries, by position. Those without one are about to be added, and are the newest.
func keepNewest(refs map[string]entry.Ref, n int) {
	byAge := slices.SortedFunc(maps.Keys(refs), func(a, b string) int {
		first, second := refs[a], refs[b]
		return cmp.Or(cmp.Compare(uint64(first.At-1), uint64(second.At-1)), cmp.Compare(first.ID, second.ID))
	})
	for _, key := range byAge[:max(0, len(byAge)-n)] {
		delete(refs, key)
	}
}

// newest returns at most n elements from the end of a list.
func newest[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }
