// Package replay replays a recorded session under a compaction policy, and says what the session would have cost and what
// its prompts would still have shown. It needs no model, no key and no network.
//
//	recording, err := importer.Read(file)
//	...
//	prices, err := modelinfo.Prices("claude-opus-4-5")
//	...
//	session := &replay.Session{Recording: recording, Prices: prices}
//	result, err := replay.Run(ctx, session, policy, replay.Options{ContextWindow: 64_000})
//	...
//	fmt.Printf("%d compactions, $%.2f\n", len(result.Compactions), result.Bill.Kept)
//
// Before each message of the recorded model the prompt is rendered as it would have been sent: a line of instructions and
// the session as the policy left it. The answers of the recorded model and the results of its calls are taken as they
// are. So a replay shows what a policy costs and keeps, but not whether the agent would have done well with it. Summaries
// are digests made without a model (models.Offline), unless [Options].Model names one.
//
// # How far the dollars hold
//
// If the recording has usage, the cost model is checked against it, and tokens are fitted to it, so that they are those
// of the recorded model. [Check] says how well. If it is off by more than 5%, or the usage has no cache figures, results
// have no dollars: a saving of a fifth cannot be told from an error of a fifth. The lifetime of the provider's cache is the
// one that each recorded request asked for; of a provider that caches by itself, the longest gap that the recording
// survived.
//
// A policy that cannot go on has a result too: [Result].Ended says where it stopped and why.
//
// The command `promptree replay` compares policies with this package. docs/replay.md says how to read it.
package replay
