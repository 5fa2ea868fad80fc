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
// Beside the summary stands an index of up to 4,000 tokens, an eighth of the budget at most: the names that the prompt no
// longer shows, each with an entry that has it (Index of [policy.Replace]). What stands for cleared output, and a preview,
// names in up to 300 tokens what it held (Names of [history.ClearRule] and [history.PreviewRule]). The fourteen recordings
// of docs/recordings.txt, six of which were held out, were replayed with an index of 1,000 tokens, no such names and a
// fifth of a small window kept word for word (before), with larger ones and 15% kept, and with 12% (now). Sessions of models
// without known prices have those of claude-sonnet-4-5:
//
//	index/names                      32,000   64,000   128,000   200,000
//	names needed again, not shown     35.0%    29.8%     31.0%     31.5%   before
//	2,000/0                           25.9%    23.5%     23.9%     23.8%
//	2,000/150                         22.4%    20.8%     18.1%     18.3%
//	3,000/150                         20.1%    15.1%     13.7%     13.6%
//	4,000/300                         13.1%    13.2%      9.5%      9.6%
//	4,000/300, 12% kept               13.8%    13.9%      9.5%      9.7%   now
//	such answers of 100 requests       13.3     13.6      11.3      11.4   before
//	4,000/300, 12% kept                 7.4      6.9       4.9       4.8   now
//	dollars with look-backs           52.59    79.15     79.09     79.21   before
//	2,000/0                           52.13    78.62     79.54     79.67
//	2,000/150                         52.32    79.10     79.92     80.13
//	3,000/150                         53.45    79.10     79.69     79.94
//	4,000/300                         53.61    79.98     80.11     80.64
//	4,000/300, 12% kept               52.27    79.46     80.09     80.62   now
//
// The six that were held out have 14.4%, 14.9%, 14.6% and 16.0% for 1.2%, 2.2%, 2.9% and 3.3% more dollars than before.
//
// One look-up finds 54% of the names that are not shown in 32,000 tokens (72% in the eight recordings that leave half
// of the window to the history), 70% in 64,000 and 79% in 200,000. No session costs more than 6.8% more than before. In the
// smallest window two of the fourteen have no room for their system prompt and tools and are left out, and four have 945 to
// 10,500 tokens beside them, in which an index finds hardly any. A name that is shown is not its content: 46 to 68 edits
// needed text that prompts no longer showed before, 56 to 73 do now.
//
// An index brought up to date at every clearing after the first compaction too was tried on six of these recordings, and
// left out: in 32,000 tokens (five of the six) 13.4% of the names needed again were not shown instead of 13.5%, for 0.3%
// more dollars. In 200,000 it was 4.4% instead of 5.6%, all but one of the 31 names of the gain in a single session, for 0.4% more.
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
//	frugal       $18.39   $18.38    $19.02    $19.39
//	next best    $19.43   $21.35    $26.33    $34.48   copilot-chat in the first two, stagewise in the others
//	shown          90%      85%       86%       86%    of what answers needed again, by frugal's prompts
//
// Eight public recordings (docs/recordings.txt), of which five have dollars and cost $78.03 by their usage, were replayed in
// 200,000 tokens on 28 November 2026:
//
//	              dollars   names shown   answers that missed one   edits that missed text
//	                                          of 100 requests          of 100 requests
//	frugal          39.21         94.3%                 3.7                   3.4
//	stagewise       58.68         42.8%                 7.6                   1.4
//	copilot-chat    66.44         50.6%                 5.3                   0.7
//	copilot-cli     68.10         50.6%                 5.3                   0.7
//	oh-my-pi        72.15         75.8%                 4.0                   0.2
//	a3s             75.00         89.2%                 2.6                   0.1
//
// So the halved bill is paid with more answers that miss something than under policies that seldom compact: three times
// as many edits as under stagewise, and forty times as many as under a3s, had to read again what they change.
// docs/replay.md has the table and the commands that make it.
//
// The larger the window, the more there is to save.
//
// Without prices the policy takes the usual proportions (read a tenth of the input, write 1¼, output 5 times), and the
// loss counts as if the input cost $3 a million. Without reported usage it works out the requests from the session. In
// a small window the condition of the rule is never met: the policy compacts at 80% of the window, keeps 12% of it,
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
