package importer

import (
	"github.com/promptree-go/promptree/elements/chat"
	"github.com/promptree-go/promptree/internal/wire"
)

// usageNames holds a format's names for the counts of usage, if it counts cached tokens separately from the input, and
// for the object with the total cost in dollars, "" if it has none.
type usageNames struct{ input, output, cacheRead, cacheWrite, cost string }

var (
	anthropicUsage = usageNames{
		input: "input_tokens", output: "output_tokens", cacheRead: "cache_read_input_tokens", cacheWrite: "cache_creation_input_tokens",
	}
	piUsage = usageNames{input: "input", output: "output", cacheRead: "cacheRead", cacheWrite: "cacheWrite", cost: "cost"}
)

// read reads the field "usage", if present, and the cost.
func (n usageNames) read(o *wire.Object, notes *pending) (_ chat.Usage, cost float64, _ error) {
	if !o.Given("usage") {
		return chat.Usage{}, 0, nil
	}
	u := o.Object("usage")
	usage := chat.Usage{
		Input:      u.Count(n.input),
		Output:     u.Count(n.output),
		CacheRead:  u.Count(n.cacheRead),
		CacheWrite: u.Count(n.cacheWrite),
	}
	usage.Input += usage.CacheRead + usage.CacheWrite
	if u.Is("cache_creation", wire.KindObject) {
		lifetimes := u.Object("cache_creation")
		usage.CacheWriteLong = lifetimes.Count("ephemeral_1h_input_tokens")
		lifetimes.Count("ephemeral_5m_input_tokens") // the rest of CacheWrite
		notes.rest("usage.cache_creation", lifetimes)
	}
	if u.Is(n.cost, wire.KindObject) {
		costs := u.Object(n.cost)
		cost = costs.Amount("total")
		notes.rest("usage."+n.cost, costs)
	}
	notes.rest("usage", u)
	return usage, cost, o.Err()
}
