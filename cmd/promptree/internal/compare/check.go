package compare

import (
	"fmt"
	"strings"
	"time"

	"github.com/promptree-go/promptree/history/importer"
	"github.com/promptree-go/promptree/summarize/replay"
)

// checkText says how far the cost model can be trusted.
func checkText(c *replay.Check) string {
	var b strings.Builder
	if !c.NoCache {
		unit := "token"
		if c.Step > 1 {
			unit = fmt.Sprintf("step of %d tokens", c.Step)
		}
		fmt.Fprintf(&b, "Recorded usage costs %s. The cost model foretells the reads of %s of %s requests to the %s (the cache had expired for %s, and outlived its time for %s); "+
			"%s restarted, %s read something else.\n",
			dollars(c.Recorded), number(c.Exact), number(c.Requests), unit, number(c.Expired), number(c.Outlived), number(c.Restarts), number(c.Others))
		fmt.Fprintf(&b, "By the model they cost %s (%+.2f%%; a request is off by $%.5f on average, by $%.4f at most). Replayed as recorded they cost %s.\n",
			dollars(c.Kept), 100*(c.Kept/c.Recorded-1), c.MeanError, c.LargestError, dollars(c.Replayed))
	}
	if c.Untimed > 0 {
		fmt.Fprintf(&b, "When %s requests were sent is not recorded: their cache is taken to have lasted unless they read nothing.\n", number(c.Untimed))
	}
	if c.Long > 0 {
		fmt.Fprintf(&b, "%.0f%% of what was written to the cache was written for the longer lifetime.\n", 100*c.Long)
	}
	if c.Factor > 0 {
		fmt.Fprintf(&b, "Tokens are the recorded model's: %.3f for each of o200k_base, and %s in each request that the recording does not have.\n",
			c.Factor, number(c.Fixed))
	}
	if c.Failed != "" {
		fmt.Fprintf(&b, "The check failed: %s.\n", c.Failed)
	}
	return b.String()
}

// timeOf returns the time of a record, "-" if it was not recorded.
func timeOf(rec importer.Record) string {
	if rec.Time.IsZero() {
		return "-"
	}
	return rec.Time.UTC().Format(time.RFC3339)
}

// checkTable returns a table with a row for each request with recorded usage.
func checkTable(c *replay.Check) table {
	t := table{columns: []column{
		{"request", "number of the request with recorded usage"},
		{"line", "of the recording with the answer"},
		{"time", "of the answer"},
		{"input", "tokens, as reported"},
		{"output", "tokens, as reported"},
		{"read", "tokens read from the cache, as reported"},
		{"foretold", "tokens read by the cost model, which knows where the cache was kept and lost"},
		{"outcome", "first: nothing is foretold; exact; expired: nothing read, as foretold; outlived: read although it should have expired; restart: nothing read; other"},
		{"recorded", "dollars of the reported usage"},
		{"model", "dollars by the cost model"},
		{"error", "the difference"},
	}}
	for i, q := range c.Checked {
		u, recorded, model := q.Record.Usage, c.Prices.Of(q.Record.Usage).Total(), c.Prices.Of(q.Foretold).Total()
		t.add(number(i+1), number(q.Record.Line), timeOf(q.Record), number(u.Input), number(u.Output), number(u.CacheRead), number(q.Foretold.CacheRead), q.Outcome,
			fmt.Sprintf("%.4f", recorded), fmt.Sprintf("%.4f", model), fmt.Sprintf("%+.4f", model-recorded))
	}
	return t
}
