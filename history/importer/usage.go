package importer

import "github.com/promptree-go/promptree/elements/chat"

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
func (n usageNames) read(o *object, notes *pending) (_ chat.Usage, cost float64, _ error) {
	if !o.given("usage") {
		return chat.Usage{}, 0, nil
	}
	u := o.object("usage")
	usage := chat.Usage{
		Input:      u.count(n.input),
		Output:     u.count(n.output),
		CacheRead:  u.count(n.cacheRead),
		CacheWrite: u.count(n.cacheWrite),
	}
	usage.Input += usage.CacheRead + usage.CacheWrite
	if u.is("cache_creation", kindObject) {
		lifetimes := u.object("cache_creation")
		usage.CacheWriteLong = lifetimes.count("ephemeral_1h_input_tokens")
		lifetimes.count("ephemeral_5m_input_tokens") // the rest of CacheWrite
		notes.rest("usage.cache_creation", lifetimes)
	}
	if u.is(n.cost, kindObject) {
		costs := u.object(n.cost)
		cost = costs.amount("total")
		notes.rest("usage."+n.cost, costs)
	}
	notes.rest("usage", u)
	return usage, cost, o.err
}
