package policies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/promptree-go/promptree/summarize/a3s"
	"github.com/promptree-go/promptree/summarize/copilotchat"
	"github.com/promptree-go/promptree/summarize/copilotcli"
	"github.com/promptree-go/promptree/summarize/frugal"
	"github.com/promptree-go/promptree/summarize/ohmypi"
	"github.com/promptree-go/promptree/summarize/policy"
	"github.com/promptree-go/promptree/summarize/stagewise"
)

// All returns the policies by their names, each a new value.
func All() map[string]policy.Policy {
	all := map[string]policy.Policy{}
	for _, p := range []policy.Policy{
		a3s.Policy(), copilotchat.Policy(), copilotcli.Policy(), frugal.Policy(), ohmypi.Policy(), stagewise.Policy(),
	} {
		all[p.Name] = p
	}
	return all
}

// Names returns the names of the policies, in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(All())) }

// Named returns the policy with that name, a new value each time. The error about an unknown name lists the known ones.
func Named(name string) (policy.Policy, error) {
	p, ok := All()[name]
	if !ok {
		return p, fmt.Errorf("policies: unknown policy %q: use one of %s", name, strings.Join(Names(), ", "))
	}
	return p, nil
}
