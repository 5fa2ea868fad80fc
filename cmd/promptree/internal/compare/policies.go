package compare

import (
	"fmt"
	"strings"

	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// all stands for every policy, or every shape, in a flag.
const all = "all"

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
