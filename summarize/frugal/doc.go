// Package frugal has a policy that makes a session as cheap as it can be without losing what matters.
//
//	p := frugal.PolicyAt(0.30)                    // dollars that a compaction's loss is worth; Policy() has 0
//	target.Prices, err = modelinfo.Prices("claude-opus-4-5")
//	compactor.Models = map[string]policy.Target{"claude-haiku-4-5": {Model: haiku, Prices: …}}
//
// # The rule
//
// An agent sends its history again with each request, and pays for it each time, if only at the rate of a cached read.
// Let a request take T tokens, and B tokens after a compaction: the system prompt, a summary S and the kept history K.
// Without a compaction each request costs
//
//	(T − B) · read
//
// more. The compaction costs, once,
//
//	F = the request for the summary + (S + K) · (write − read) + loss
//
// because everything after the system prompt is written to the cache anew, and because what the summary leaves out is
// worth something. Nobody knows how long the session will last. It is the problem of renting or buying skis: if you buy
// them once the rent paid equals their price, you pay at most about twice what you would have paid if you had known the
// number of days. So the policy compacts once
//
//	Σ (T − B) · read ≥ 0.7 · F
//
// over the requests since the last compaction. With a history that grows by g tokens a request the sum is g·read·n²/2,
// and it is best to compact every √(2F/(g·read)) requests; the rule comes within a few per cent of that without knowing
// g. The factor 0.7 allows for bursts and pauses: on synthetic sessions of six shapes the rule costs 1.05 to 1.22 times
// the best that could be known afterwards, 1.10 on average, and 1.5 times at worst, in bursts
// (TestTheRuleIsCloseToTheBestThatCouldBeKnownAfterwards prints it).
//
// The loss is 0 by default, because what is missed depends on how much has left the prompt, and hardly on how often: with
// $0.10 the recorded session below was compacted 11 times instead of 15 and had as many answers that missed something, and
// the synthetic sessions of each shape cost 1% to 3% more. A larger loss also keeps more word for word; that is what it buys.
//
// If the cache is cold, everything is written in any case, and F is the cost of the summary less the writes that it
// saves: then the policy compacts earlier, and before the request, not concurrently. Old tool output is cleared by the
// same rule, in batches, because each batch breaks the cache. All of it is cleared at once if the cache is cold or a
// compaction has broken it. A result of fewer than 200 tokens stays, and so does one that is not eight times as large
// as the note that would stand for it, which says how the agent reads it again. New output of more than 8,000 tokens is
// shown as a preview of 2,000 from the start ([history.PreviewRule]). Output that newer output made stale is
// cleared earlier, together with long texts in old arguments. The cheapest model is asked for the summary: the agent's
// own by a fork of its request, which reads the cache, or a model of [summarize.Compactor.Models] with prices.
//
// Beside the summary stands an index of up to 1,000 tokens: the names that the prompt no longer shows, each with an entry
// that has it (Index of [policy.Replace]). In three sessions that were replayed in a window of 32,000 tokens the prompt
// then showed 33% to 44% of the facts that agents needed again and that it did not show without one, and sessions cost
// 0.996 to 1.024 times as much, with what had to be looked up.
//
// # How prices change it
//
// The cache's lifetime makes little difference while the agent works. With a lifetime of 5 minutes the cache is cold
// after each pause for thought, and the policy compacts earlier; with 30 minutes there are fewer of these moments. A
// cache write for an hour costs twice the input, so that F is larger: by the rule a compaction comes some 10% later,
// and pauses seldom help.
//
// The read price makes the most difference. If the input costs $5 a million, a cheap model summarises and each request
// adds 500 tokens, by the rule T grows to about 11,000 tokens above B at a read price of 25% of the input, 18,000 at
// 10% and 38,000 at 2.5%. At 2.5% the policy saves little, and so does every other policy.
//
// A recorded session of 484 requests, which its own agent compacted twice and which cost $42.60 by its usage, was replayed
// in four windows: summaries by its own model, its restarts, the index and what had to be looked up again included. Without
// any compaction it would have cost $91.48.
//
//	window       32,000   64,000   128,000   200,000
//	frugal       $17.66   $18.08    $18.02    $18.31
//	next best    $19.43   $21.35    $26.33    $34.48   copilot-chat in the first two, stagewise in the others
//	shown          70%      61%       63%       62%    of what answers needed again, by frugal's prompts
//
// Eight public recordings (docs/recordings.txt), of which five have dollars and cost $78.03 by their usage, were replayed in
// 200,000 tokens on 28 November 2026: under frugal they cost $38.42, under the next best policy, stagewise, $58.68. Its
// prompts showed 69.8% of the names that answers needed again, stagewise's 42.8%; but 44 edits needed text that they no
// longer showed, and 18 of stagewise's. docs/replay.md has the table and the commands that make it.
//
// With a summariser at a fifth of the price it cost $17.37 in 200,000 tokens, and its prompts showed 53%. The larger the
// window, the more there is to save.
//
// Without prices the policy takes the usual proportions (read a tenth of the input, write 1¼, output 5 times), and the
// loss counts as if the input cost $3 a million. Without reported usage it works out the requests from the session. In
// a small window the condition of the rule is never met: the policy compacts at 80% of the window, keeps a fifth of it,
// and truncates as the last resort. A request that the provider refuses as too large is compacted, and truncated if
// that does not help.
//
// # When not to use it
//
//   - If you pay by the request or by the seat: a larger context then costs you nothing.
//   - If a loss is expensive, as in work on contracts or proofs: set the loss to a dollar or more, or take another
//     policy with a large window.
//   - If requests are few: a session of twenty requests is over before anything pays.
//   - If prompts change by themselves, such as by a clock in the system prompt: then the cache is always cold, which
//     [event.CacheBroken] reports. Fix that first.
package frugal
