package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/summarize"
	"github.com/promptree-go/promptree/summarize/frugal"
	"github.com/promptree-go/promptree/summarize/policies"
)

// all names every policy.
const all = "all"

// atDials puts the policy frugal at each dial that a flag lists, in dollars with commas between them; the others stay.
func atDials(list []summarize.Policy, dials string) ([]summarize.Policy, error) {
	if dials == "" {
		return list, nil
	}
	var each []summarize.Policy
	for _, dial := range strings.Split(dials, ",") {
		loss, err := strconv.ParseFloat(dial, 64)
		if err != nil || !(loss >= 0) {
			return nil, fmt.Errorf("-loss: %q is no amount of dollars, 0 or more", dial)
		}
		p := frugal.PolicyAt(loss)
		p.Name += " " + dial
		each = append(each, p)
	}
	i := slices.IndexFunc(list, func(p summarize.Policy) bool { return p.Name == frugal.Name })
	if i < 0 {
		return nil, fmt.Errorf("-loss is the dial of the policy %s, and -policy does not name it", frugal.Name)
	}
	return slices.Replace(list, i, i+1, each...), nil
}

// policiesNamed returns the policies that a flag names: one, several with commas between them, or all there are in the order
// of their names. They ask for no titles.
func policiesNamed(names string) (list []summarize.Policy, err error) {
	wanted := policies.Names()
	if names != all {
		wanted = strings.Split(names, ",")
	}
	for _, name := range wanted {
		p, err := policies.Named(name)
		if err != nil {
			return nil, fmt.Errorf("-policy: %w, or %s", err, all)
		}
		for i := range p.Ask.Prompts {
			p.Ask.Prompts[i].Title = nil // it is asked for when there is time, which differs from run to run
		}
		list = append(list, p)
	}
	return list, nil
}
