package policies_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"github.com/promptree-go/promptree/internal/test/golden"
	"github.com/promptree-go/promptree/summarize/policies"
	"github.com/promptree-go/promptree/summarize/policy"
)

// parts lists the parts in which the policies differ, in the order of the page's table.
var parts = []struct {
	name string
	of   func(policy.Policy) string
}{
	{"the use is", func(p policy.Policy) string { return cmp.Or(string(p.Counting.By), "counted") }},
	{"of", func(p policy.Policy) string { return either(p.Counting.LoweredBase, "largest prompt", "window") }},
	{"compacts at", limits},
	{"meanwhile", func(p policy.Policy) string {
		return either(slices.ContainsFunc(p.Trigger, func(c policy.Condition) bool { return c.Background }), "agent goes on", "agent waits")
	}},
	{"waits from", func(p policy.Policy) string { return percent(p.Background.Wait) }},
	{"drops below", func(p policy.Policy) string { return percent(p.Background.Apply) }},
	{"a refusal", func(p policy.Policy) string { return on(p, policy.OnContextLimit) }},
	{"a smaller model", func(p policy.Policy) string { return on(p, policy.OnModelSwitch) }},
	{"little memory", func(p policy.Policy) string { return on(p, policy.OnMemoryPressure) }},
	{"clears output", func(p policy.Policy) string {
		switch c := p.Clear; {
		case c.Rule.Keep == 0:
			return ""
		case c.Always:
			return "always"
		case c.CostFactor > 0:
			return "if it pays"
		}
		return "first"
	}},
	{"but the newest", func(p policy.Policy) string { return tokens(p.Clear.Rule.Keep) }},
	{"keeps history of", func(p policy.Policy) string {
		var list []string
		if p.Cut.Share > 0 {
			list = append(list, percent(p.Cut.Share))
		}
		if p.Cut.Tokens > 0 {
			list = append(list, tokens(p.Cut.Tokens))
		}
		return cmp.Or(strings.Join(list, " or "), either(p.Cut.Messages > 0, "", "1 round"))
	}},
	{"or messages", func(p policy.Policy) string {
		return either(p.Cut.First > 0, strconv.Itoa(p.Cut.First)+" + ", "") + either(p.Cut.Messages > 0, strconv.Itoa(p.Cut.Messages), "")
	}},
	{"asks in mode", func(p policy.Policy) string {
		var modes []string
		for _, prompt := range p.Ask.Prompts {
			modes = append(modes, string(prompt.Mode))
		}
		return strings.Join(modes, ", ")
	}},
	{"asks first", func(p policy.Policy) string {
		return either(p.Ask.Cheapest, "the cheapest", either(len(p.Ask.Names) > 0, strconv.Itoa(len(p.Ask.Names))+" small models", "the agent's"))
	}},
	{"requests", func(p policy.Policy) string { return strconv.Itoa(max(1, p.Ask.Attempts)) }},
	{"temperature", func(p policy.Policy) string {
		if p.Ask.Temperature == nil {
			return ""
		}
		return fmt.Sprint(*p.Ask.Temperature)
	}},
	{"summary, at most", func(p policy.Policy) string { return tokens(cmp.Or(p.Replace.Max, 10_000)) }},
	{"checkpoints", func(p policy.Policy) string { return either(p.Replace.Checkpoints, "written", "") }},
	{"goes on with", func(p policy.Policy) string { return either(p.Continue != "", "a message", "") }},
	{"last resort", func(p policy.Policy) string { return cmp.Or(string(p.Overflow.LastResort), "error") }},
}

func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

func percent(part float64) string { return either(part > 0, fmt.Sprintf("%.4g%%", 100*part), "") }

func tokens(n int) string {
	return either(n >= 1000, fmt.Sprintf("%d,%03d", n/1000, n%1000), either(n > 0, strconv.Itoa(n), ""))
}

func on(p policy.Policy, o policy.Occasion) string {
	return either(len(p.Trigger.For(o)) > 0, "compacts", "")
}

// limits returns the limits of the conditions that are checked at each prompt.
func limits(p policy.Policy) string {
	var list []string
	for _, c := range p.Trigger.For(policy.OnRender) {
		if c.CostFactor > 0 {
			list = append(list, "if it pays")
		}
		if c.Ratio > 0 {
			list = append(list, percent(c.Ratio))
		}
		if c.Cold > 0 {
			list = append(list, percent(c.Ratio+c.Cold)+" cold")
		}
		if c.Reserve > 0 {
			list = append(list, "all but "+tokens(c.Reserve))
		}
		if c.Cap > 0 {
			list = append(list, tokens(c.Cap))
		}
	}
	return strings.Join(list, ", ")
}

func TestThePageComparesThePolicies(t *testing.T) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	names := policies.Names()
	fmt.Fprintln(w, "\t"+strings.Join(names, "\t"))
	all := policies.All()
	for _, part := range parts {
		cells := make([]string, len(names))
		differ := map[string]bool{}
		for i, name := range names {
			cells[i] = cmp.Or(part.of(all[name]), "-")
			differ[cells[i]] = true
		}
		require.Greater(t, len(differ), 1, "the policies do not differ in %q", part.name)
		fmt.Fprintln(w, part.name+"\t"+strings.Join(cells, "\t"))
	}
	require.NoError(t, w.Flush())
	golden.Table(t, "doc.go", b.String())
}
