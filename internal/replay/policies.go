package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/promptree-go/promptree/summarize/frugal"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// all stands for every policy, or every shape, in a flag.
const all = "all"

// withLosses replaces the policy frugal in a list by one policy for each loss in the value of -loss.
func withLosses(list []policy.Policy, losses string) ([]policy.Policy, error) {
	if losses == "" {
		return list, nil
	}
	var each []policy.Policy
	for _, word := range strings.Split(losses, ",") {
		loss, err := strconv.ParseFloat(word, 64)
		if err != nil || !(loss >= 0) {
			return nil, fmt.Errorf("-loss: %q is not an amount of dollars, 0 or more", word)
		}
		p := frugal.PolicyAt(loss)
		p.Name += " " + word
		each = append(each, p)
	}
	i := slices.IndexFunc(list, func(p policy.Policy) bool { return p.Name == frugal.Name })
	if i < 0 {
		return nil, fmt.Errorf("-loss is for the policy %s, and -policy does not name it", frugal.Name)
	}
	return slices.Replace(list, i, i+1, each...), nil
}

// policiesNamed returns the policies that a flag names, separated by commas, or all of them in the order of their
// names.
func policiesNamed(names string) (list []policy.Policy, err error) {
	wanted := policies.Names()
	if names != all {
		wanted = strings.Split(names, ",")
	}
	for _, name := range wanted {
		p, err := policies.Named(name)
		if err != nil {
			return nil, fmt.Errorf("-policy: unknown policy %q: name some of %s, or %s", name, strings.Join(policies.Names(), ", "), all)
		}
		list = append(list, p)
	}
	return list, nil
}
