package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/policies"
)

// all names every policy.
const all = "all"

// policiesNamed gives the policies that a flag names: one, several with commas between them, or all there are in the order
// of their names. They ask for no titles.
func policiesNamed(names string) (list []summarize.Policy, err error) {
	every := policies.All()
	known := slices.Sorted(maps.Keys(every))
	wanted := known
	if names != all {
		wanted = strings.Split(names, ",")
	}
	for _, name := range wanted {
		p, ok := every[name]
		if !ok {
			return nil, fmt.Errorf("-policy: there is no policy %q: it is one of %s, or %s", name, strings.Join(known, ", "), all)
		}
		for i := range p.Ask.Prompts {
			p.Ask.Prompts[i].Title = nil // it is asked for when there is time, which differs from run to run
		}
		list = append(list, p)
	}
	return list, nil
}
