// Package frugal has a policy that makes a session as cheap as it can be without losing what matters.
//
//	policy := frugal.PolicyAt(0.30)                    // dollars that a compaction's loss is worth; Policy() has 0.10
//	target.Prices, err = sizing.PublishedPrices().Of("claude-opus-4-5")
//	compactor.Models = map[string]summarize.Target{"claude-haiku-4-5": {Model: haiku, Prices: …}}
//
// # The rule
//
// An agent sends its history again with each request, and pays for it each time, if only the rate of a cached read. Let a request
// take T tokens, and B with a compaction: the system prompt, a summary S and what is kept, K. Not to have compacted costs
//
//	(T − B) · read
//
// a request. To compact costs, once,
//
//	F = the request for the summary + (S + K) · (write − read) + loss
//
// because what stands behind the system prompt is written to the cache anew, and because what the summary leaves out is worth
// something. Nobody knows how long the session goes on. Who rents skis without knowing for how many days buys a pair once the rent
// has come to their price, and pays at most about twice what he would have known to. So the policy compacts once
//
//	Σ (T − B) · read ≥ 0.7 · F
//
// over the requests since the last compaction. With a history that grows by g a request the sum is g·read·n²/2, and the best is to
// compact every √(2F/(g·read)) requests; the rule comes to within a few per cent of that, and need not know g. The 0.7 is for
// bursts and pauses: on synthetic sessions of six shapes it costs 1.05 to 1.16 times the best that could be known afterwards,
// by the prices, and twice at worst.
//
// If the cache is cold, everything is written in any case, and F is what the summary costs less what need not be written:
// the policy compacts earlier then, and before the request, not beside it. Old tool output is cleared by the same rule, in
// batches, since each batch breaks the cache; all at once if the cache is cold or a compaction has broken it. What newer output
// made stale goes earlier, and long texts in old arguments go along. The summary is asked of whoever writes it for least: the
// agent's own model by a fork of its request, which reads the cache, or a model of [summarize.Compactor.Models] with prices.
//
// # What it does by prices
//
// The cache's lifetime moves little while the agent works. With 5 minutes a pause for thought is a cold moment, at which it compacts
// earlier; with 30 minutes there are fewer of them. A write for an hour costs twice the input, so that F is larger: by the rule a
// compaction comes some 10% later, and pauses seldom help.
//
// The read price moves it most. If the input costs $5 a million, a cheap model summarises and each request adds 500 tokens, by the rule T
// grows to about 11,000 tokens above B at a read price of 25% of the input, 18,000 at 10% and 38,000 at 2.5%. At 2.5% it saves little, and
// so does every other policy.
//
// A recorded session of 484 requests was replayed with summaries of 4,000 tokens by a cheap model and what had to be looked up again
// priced in, by seven lists of prices and in windows of 64,000 to 200,000 tokens: it cost 0.43 to 1.08 times what the cheapest of the
// five other policies did, and less in 23 of 28 cases. In 64,000 tokens, at the prices of most, stagewise costs the same; the larger
// the window, the more there is to save. Without any compaction it would have cost five times as much by the usual prices.
//
// Without prices it takes the usual proportions (read a tenth of the input, write 1¼, output 5 times), and the dial counts as if
// the input cost $3 a million. Without reported usage it tells the requests from the session. In a small window the rule never
// comes to hold: it compacts at 80% of the window, keeps a fifth of it, and truncates as the last resort.
//
// # When not to use it
//
//   - If you pay by the request or by the seat: a larger context then costs you nothing.
//   - If a loss is dear, such as in work on contracts or proofs: turn the dial to a dollar and more, or take another policy with a
//     large window.
//   - If requests are few: a session of twenty requests is over before anything pays.
//   - If prompts change by themselves, such as by a clock in the system prompt: then the cache is always cold, which
//     [summarize.EventCacheBreak] tells. Mend that first.
package frugal
