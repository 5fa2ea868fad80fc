// Package summarize compacts a conversation that no longer fits its context window: what is old is replaced by a summary that
// says where the full transcript lies.
//
//	compactor := &summarize.Compactor{
//		Session: session,
//		Target: summarize.Target{
//			Model: model, Name: "gpt-5.4", Tokenizer: tokenizer, Budget: budget, ContextWindow: window, Tools: tools,
//		},
//		Policy: copilotchat.Policy(),
//	}
//	defer compactor.Close()
//	result, err := compactor.Render(ctx, prompt) // messages that fit, or an error that says why not
//
// Three things are needed:
//
//   - A session, shown in the prompt by the elements of package history.
//   - A [Target]: the model, its tokenizer, and the budget of a prompt.
//   - A [Policy], which says when to compact and how: one of those in summarize/policies, changed or not.
//
// Package summarize/agent does this, asks the model and appends its answer, in one call.
//
// # Five steps
//
// [Compactor.Render] renders the prompt as package render does, and takes it through these steps:
//
//   - Measure: the prompt is rendered, its tokens are counted, and the count is held against the context window, by the ratio to
//     what the provider reported if the policy says so. The [Measurement] follows from the session, the prompt, the policy and the
//     time alone, so that a session that is opened in another process measures the same.
//   - Decide: [Policy.Decide] makes a [Decision] of it, and looks at nothing else. [Compactor.Explain] returns the last one with every
//     number that led to it and with its outcome.
//   - Plan: what is covered, what is kept, and the room of the summary, chosen by rendering the prompt with each cut before a model is
//     asked. The plan is an entry of the session ([history.Plan]).
//   - Summarise: models are asked. Nothing is locked and nothing is written meanwhile. An answer that is too long is shortened by the
//     model once, and then cut at a section.
//   - Place: the prompt is rendered with the summary. If it fits, the compaction is appended, with an entry that says how the
//     plan ended ([history.PlanEnd]).
//
// A condition with Background has the last two steps made later: a goroutine of the compactor, or a [Runner], summarises while
// the agent goes on, and a later render puts the summary in place. [Compactor.Wait] waits for it, and [Compactor.Close], which
// every compactor needs whose policy may work in the background, ends it.
//
// [Compactor.AfterTurn] looks at the same conditions once the agent has finished, [Compactor.Compact] is for somebody who asks,
// [Compactor.Recover] for a request that the provider refused, [Compactor.SwitchModel] for a model with a smaller window,
// [Compactor.Retarget] for a budget or tools that changed, and [Compactor.MemoryPressure] for an application that is short of
// memory.
//
// # What is pruned, and what is compacted
//
// A piece of the prompt is offered to pruning if a priority is set on it, or on an element that it stands in, and nothing there is
// required. Offered pieces go before history is compacted. What is not offered stays, and the history is compacted instead.
//
// Tools may be pieces of the prompt too ([elements.Tool]), in place of [Target.Tools]: declare those of the result ([render.Result]). A tool
// to which no priority was given, or which the history that is shown calls, is not offered. The tool that reads transcripts should have
// none, since summaries name it.
//
// Conditions are held against what the prompt takes without the offered pieces that are not history and with all the history
// that the view shows, tools included. [Measure] says whether that is our own count or the provider's. A condition holds only if
// a compaction would cover more than its summary may take; otherwise there is nothing to relieve.
//
// # What compaction costs
//
//   - A prompt is rendered once, as by package render, and counted once more with all its history. Only a compaction renders it
//     again: once for each cut that is tried, and once to place the summary.
//   - A summary is one request or more: those in pieces, and one to shorten it. If a policy works in the background and the prompt does
//     not fit, or its Wait ratio is reached, a render waits for the summary, a minute at most.
//   - Each compaction changes the start of the prompt, so that the provider reads the next request anew.
//   - The prompts of this package take about 350 tokens. Windows below 1,000 tokens are rarely worth compacting.
//
// # What a request costs
//
// If the target has prices ([Target.Prices]), each usage entry says what its request cost and holds a few digests of it. By
// them, the clock and the least size that is cached, a measurement foretells what the provider reads from its cache and
// writes to it. If a prompt begins otherwise than the one before, though nothing was compacted or cleared, an
// [EventCacheBreak] says what changed, what that costs, and the usual reasons: a clock in the system prompt, tools in another
// order, context in front of the history. After a compaction nothing is foretold until the next usage is reported.
//
// A [Condition] with Carry compacts once carrying the history has cost what compacting it costs ([sizing.Prices.Compacting]):
// later if reads are cheap, and earlier if the cache is cold and all is written anyway. [Clear] with Carry does the same with old tool
// output. [Compactor.Explain] has the sums.
//
// # Policies
//
// A [Policy] is a value of parts that combine: when to compact ([Trigger]), what to clear first ([Clear]), where to cut
// ([history.Cut]), how to ask and whom ([Ask]), what to put in place ([Place]) and what to do if nothing helps ([Overflow]).
// Packages beside this one hold the policies of five systems, each with a page about the system, and package frugal one that goes
// by what a session costs; package summarize/policies has them by name. Take one and change a field:
//
//	policy := stagewise.Policy()
//	policy.Trigger[0].Ratio = 0.5
//	policy.Clear = summarize.Clear{Rule: a3s.Policy().Clear.Rule}
//
// Cold and Jitter of a [Condition] are relative to its Ratio: they move with it. A prompt and a replacement are trees of elements
// made of a [Material], and know nothing else. The zero policy compacts if a prompt does not fit, and keeps the newest round.
// The command promptree replay compares policies on recorded sessions.
//
// # What holds for all of them
//
// History is replaced only by a summary that passed its checks, fits and is smaller than what it replaces, and only for what
// was summarised: what is said meanwhile stays. By a compaction no message of the user is neither shown, nor copied, nor covered
// by a summary. A summary is written once and replayed byte for byte, and a later compaction is shown it, and nothing that it
// covers. A request for a summary fits the model that is asked, with its answer; a larger history is summarised in pieces.
//
// # Failures
//
// A compaction that fails leaves what the session shows as it was. A model that failed is not asked again for the same
// compaction, and the next one is asked; the agent's own is asked last. Then there is a pause of 1 step of the agent, which
// doubles with each failure up to 64, or until the time that the provider named. If the prompt does not fit, one attempt is made
// per render whatever the pause, without the requests that were refused before; after it [Overflow].LastResort decides: the error, a
// [*FailedError] in which errors.AsType finds the [*render.BudgetExceededError], or a request without the oldest history, all of which
// the session keeps.
//
// What a provider says as it refuses a request as too large is an entry of the session ([history.Refusal]): its limit, and the
// ratio of its count to ours, hold for every later request to that model. [ContextLimit] lists what counts as such a refusal.
//
// Plans, how they ended, clearings, usage and refusals are all entries, so a process that ends in the middle loses the summary
// that was being made and nothing else. A plan that nobody carries out is dropped by the next one. In a store that several
// processes write to ([history.Session.Shared]), it is left alone until the time that it carries has passed.
//
// Functions of the caller's may panic, end their goroutine, return what they may not, or never return: hooks, listeners, the
// functions of a policy, models, tokenizers. Each ends in a [*CallbackError] or a [*TimeoutError] with its name, as the error of
// the call, as the reason of a compaction that failed, or as an event where the work goes on without it. What never returns
// is left behind a second after its context or its time limit ended, and the next call works.
//
// # Models
//
// Any [chat.Model] can write summaries; models.Remote is an HTTP endpoint. Two come for trying things out: models.Offline, which needs no
// network and makes a digest of what the messages hold on their surface, and models.Script, which answers what a test tells it to.
// What a provider's own compaction made of the same history ([chat.Response].Compaction) is kept beside the summary, as it came, if
// there is room for both; openai.Compaction and anthropic.Compaction, in the packages of render, are such models.
//
// # What is not here
//
// What outlives a session, such as a memory of lessons learnt that other sessions read, is not here; nor is anything that reads
// the databases of the five products.
package summarize
