// Package summarize compacts a conversation that no longer fits its context window: a summary replaces the old messages
// and says where the full transcript is stored.
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
// A compactor needs three things:
//
//   - A session, which the prompt shows by the elements of package history.
//   - A [policy.Target]: the model, its tokenizer, and the budget of a prompt.
//   - A [policy.Policy], which says when to compact and how. Package summarize/policies has six; take one as it is or
//     change its fields.
//
// Package summarize/agent renders the prompt, asks the model and appends its answer, in one call. Package
// summarize/mirror does it for messages that stay in a list of the application's.
//
// # Five steps
//
// [Compactor.Render] renders the prompt as package render does, in these steps:
//
//   - Measure: the prompt is rendered and its tokens are counted. If the policy says so, the count is multiplied by the
//     ratio of the provider's last count to ours. The [policy.Measurement] depends only on the session, the prompt, the
//     policy and the time, so another process that opens the session measures the same.
//   - Decide: [policy.Policy.Decide] turns the measurement, and nothing else, into a [policy.Decision].
//     [Compactor.Explain] returns the last decision with its outcome and every number that led to it.
//   - Plan: the compactor chooses which history to cover, which to keep, and the room of the summary. To choose, it
//     renders the prompt with each cut that it tries; no model is asked for that. The plan is an entry of the session
//     ([entry.Plan]).
//   - Summarise: models are asked. Meanwhile nothing is locked, and nothing is written but the answers for parts. If an
//     answer is too long, the model is asked once to shorten it; if it is still too long, it is cut at a section.
//   - Place: the prompt is rendered with the summary. If it fits, the compaction is appended, with an entry that says
//     how the plan ended ([entry.PlanEnd]).
//
// If a condition has Background set, the last two steps are made later: a goroutine of the compactor, or a [Runner],
// summarises while the agent goes on, and a later render puts the summary in place. [Compactor.Wait] waits for the
// summary. In any case a render waits a minute at most ([policy.Background].Timeout), and if the prompt can be sent
// without a summary only half of the time until its context's deadline. Such a prompt does not wait a second time for a
// summary, unless a part of it was answered meanwhile. The end of a render's context ends the waiting and never the
// work: the compactor goes on with the summary, and a later render puts it in place. The work ends with the context of
// Compact, Navigate or RunPlan, and with [Compactor.Abort] and [Compactor.Close]; call Close on every compactor.
//
// Other methods serve other occasions:
//
//   - [Compactor.AfterTurn] checks the same conditions once the agent has finished.
//   - [Compactor.Compact] compacts because a user asked for it.
//   - [Compactor.Recover] is for a request that the provider refused as too large, under any policy.
//   - [Compactor.RenderOrWait] waits for a summary without which the prompt does not fit.
//   - [Compactor.SwitchModel] is for a model with a smaller context window.
//   - [Compactor.Retarget] is for a budget or tools that changed.
//   - [Compactor.MemoryPressure] is for an application that is short of memory.
//
// # What is pruned, and what is compacted
//
// A piece of the prompt is offered to pruning if it, or an element around it, has a priority and neither is required.
// Offered pieces are pruned before history is compacted. Other pieces stay, and the history is compacted instead.
// History is never pruned: if it is Droppable, the last resort may leave it out while a compaction fails or is being
// made, and an event says so.
//
// A prompt must show the session's whole view, once and in order, as [history.All] does; else Render returns a
// [*history.ViewError], which names the entries and the element to place, before anything is sent. A [history.LeftOut]
// says what is left out on purpose. What is pruned, let go, cleared or compacted is not missing.
//
// Tools may be pieces of the prompt too ([elements.Tool]); declare those that are left ([render.Result].Tools) behind
// [policy.Target.Tools] in the request. A tool is not offered if it has no priority or if the history that is shown
// calls it. Give no priority to the tool that reads transcripts, because summaries name it.
//
// Conditions are compared with the tokens of the prompt, its tools and all history that the view shows, without the
// offered pieces that are not history. [policy.Counting] says whether our own count or the provider's is used. A
// condition holds only if a compaction would cover more tokens than its summary may take; otherwise there is nothing to
// relieve.
//
// # What compaction costs
//
//   - A prompt is rendered once, as by package render, and counted once more with all its history. Only a compaction
//     renders it again: once for each cut that is tried, and once to place the summary.
//   - A summary takes one request, more if the history is summarised in segments, and one more if the summary must be
//     shortened. If a summary is being made and the prompt does not fit, or reaches the policy's Wait ratio, the render
//     waits for it, a minute at most by default.
//   - Each compaction changes the start of the prompt, so the provider cannot read the next request from its cache.
//   - A policy's prompt takes 190 to 470 tokens of a request for a summary. Windows below 1,000 tokens are rarely worth
//     compacting.
//
// # What a request costs
//
// If the target has prices ([policy.Target.Prices]), each [entry.Usage] records the cost of its request and a few
// digests of it; what a summary used is in the event of its end ([event.Event].Usage). From the digests, the time and
// the provider's smallest cacheable size, a measurement predicts how many tokens the provider's cache serves. If the
// start of a prompt changed although nothing was compacted or cleared, an [event.CacheBreak] says what changed, what it
// costs, and the usual reasons: a clock in the system prompt, tools in another order, context in front of the history.
// After a compaction there is no prediction until the next usage is reported.
//
// A [policy.Condition] with CostFactor compacts once carrying the history has cost as much as compacting it costs
// ([sizing.Prices.Compacting]): later if reads from the cache are cheap, earlier if the cache is cold and everything is
// written anyway. [policy.Clear] with CostFactor does the same with old tool output. [Compactor.Explain] shows the
// costs.
//
// # Policies
//
// A [policy.Policy] is a value of parts that combine: when to compact ([policy.Trigger]), what to clear first
// ([policy.Clear]), where to cut ([history.Cut]), whom to ask and how ([policy.Ask]), what to put in place
// ([policy.Replace]) and what to do if nothing helps ([policy.Overflow]). Five packages below this one hold the
// policies of five systems, each with a page about its system. Package frugal holds one that goes by what a session
// costs. Package summarize/policies has all of them by name. Take one and change a field:
//
//	p := stagewise.Policy()
//	p.Trigger[0].Ratio = 0.5
//	p.Clear = policy.Clear{Rule: a3s.Policy().Clear.Rule}
//
// Cold and Jitter of a [policy.Condition] are relative to its Ratio: they move with it. Prompts and replacements are
// functions that make a tree of elements from a [policy.Material], and need nothing else; all of ours ask for a summary in
// the language of the conversation. The zero policy compacts if a prompt does not fit, and keeps the newest round. The
// command promptree replay compares policies on recorded sessions.
//
// # What holds for all policies
//
// History is replaced only by a summary that passed its checks, fits and is smaller than the history. The summary
// replaces only what was summarised: messages said meanwhile stay, and what it covers was shown to the model that wrote
// it, perhaps clipped, or stands in an earlier summary. Only a prompt with Drops may leave messages out, for want of
// room alone, and the compaction then says so ([entry.Compaction].Unseen). After a compaction, every user message is
// shown, copied or covered by a summary. A summary is written once and replayed byte for byte. A later compaction sees
// the summary instead of the history that it covers. A request for a summary, with its answer, fits the model that is
// asked.
//
// A history that does not fit is summarised in segments, each of half of what the model takes in and with the summary
// of those before it. A segment is halved if it is refused as too large, and if answers could not be used, or took too
// long, again and again; a single round is clipped. Each answer is an entry for its range of entries at once, from
// which the next prompt, model, plan or process goes on. If the prompt does not fit while segments are left to do, the
// summary of those that were answered is put in place, if the prompt fits with it or history is let go behind it
// ([policy.Ask].Whole turns that off). A session that has fallen behind, as after an outage, catches up that way: once a
// prompt waited in vain, each segment is put in place as soon as it is answered, and the next prompts wait for the rest.
// An earlier summary that has become too large, as for a smaller model, is summarised again, alone if nothing else can
// be covered.
//
// # Which answers are summaries
//
// An answer is judged by its form before it covers anything: what a model thought is cut off its front, and an apology,
// an error page, a call of a tool, an answer that was cut off or says one thing over and over, or one that is far too
// short for what it covers, or short without a form or a name of that, is not a summary ([policy.Judge] has the thresholds,
// and turns it off). The next prompt is tried then, and the next model. Text of some length that lacks the form in one
// respect only, such as a heading or the tag, or begins as talk does, is used once every way was tried, and the
// compaction says so ([entry.Compaction].Doubt). Summaries of hooks and a provider's own compaction are not judged.
//
// For a rule of your own, set Read of each prompt of the policy ([policy.Prompt]): its [*policy.SummaryError] makes the next
// prompt and model be asked. A summary that is in place is undone by [history.Session.Branch] to the Parent of its entry: the
// history is shown again, and what was said since is on another branch.
//
// # Failures
//
// A compaction that fails leaves what the session shows unchanged. If a model fails, the next one is asked, the agent's
// own last; no model that failed is asked again by the same attempt. If all fail, or no answer can be used as a
// summary, compaction pauses until the agent's next request was accepted, and for twice as many with each further
// failure: for 10 at most. If answers were unusable or requests refused, a new turn or a tenth more history ends it
// sooner, but each request beyond three is paid for by ten accepted ones; after the first attempt each makes one
// request, in another way each time. No pause lasts longer than ten minutes, or a minute while the prompt does not fit, whatever a provider names,
// and another model has none. After that the same is asked again, in smaller segments from the third unusable or late
// answer on. If the prompt does not fit meanwhile, [policy.Overflow].LastResort decides what is returned: a request
// without the oldest history, or the error, a [*FailedError] in which errors.AsType finds the
// [*render.BudgetExceededError]. If nothing can be sent without a summary, no request is accepted that would end a
// pause, and it lasts 0, 2, 6, 14 seconds and so on, a minute at most. A render within it fails at once. If a summary
// takes longer than a minute the error is a [*PendingError]. A compaction has no time limit, but each of its requests
// has ([policy.Ask].Timeout); the answers for segments are entries as soon as they arrive, and an attempt that failed
// behind them starts no pause. The session keeps all history in any case.
//
// If a provider refuses a request, for its size or for what it holds, its answer becomes an entry of the session
// ([entry.Refusal]). [entry.Remembered] lists what is learnt from it and when that is forgotten: a single refusal that
// names no limit bounds nothing, and any other bounds the agent's requests, or those for summaries, of that model at
// that server for some requests. A refused request is made smaller by leaving history out of it, and by cutting a
// newest result that is too large alone; compactions are planned within the nominal budget until the limit was
// confirmed by a second refusal. A limit of bytes is learnt and forgotten in the same way, or set
// ([policy.Target].MaxBytes): old pictures leave a prompt before its texts do. Explanations and events say how many
// bytes a request has, by what the adapters' answers say of theirs; [history.Options].Shrink makes pictures smaller
// before. A picture, a document or a message that the model's server refuses gets a line in its place in requests to
// that model there, and an event says so ([event.Withheld]); with several suspects one comes back with each accepted
// request, until it is known which. [Recoverable] lists which errors count, and [Compactor.Recover] says what is tried.
//
// What one bad moment costs, measured under all six policies, in the foreground and the background, with a restart and
// without, with a deadline and without, with summaries that take 15 or 90 seconds and an agent that answers in five. A
// model misbehaves for all its requests of one step, or is down for 50; a step that failed is tried again after 15
// seconds. The figures are those beyond the same session without the moment, in half of the cases and at most:
//
//	the model               failed steps      out of sight ten steps later   longest wait      requests for summaries
//	the agent's
//	  refuses, panics       1, at most 3      0, at most 0                   0, at most 20 s   0, at most 2
//	  answers nothing,      0, at most 3      0, at most 0                   0, at most 0      0, at most 4
//	    is cut off, calls
//	    a tool
//	  answers 10 MB         0, at most 10     0, at most 55%                 0, at most 45 s   0, at most 8
//	  hangs, does not stop  1, at most 1      0, at most 0                   14, 15 min        0, at most 3
//	  takes two minutes     1, at most 2      0, at most 0                   1, 2 min          0, at most 3
//	  is down for 50 steps  50                0, at most 0                   0, at most 5 s    fewer
//	the summary's
//	  refuses, in any way   0, at most 2      0, at most 36%                 0, at most 45 s   2, at most 6
//	  any useless answer    0, at most 2      0, at most 36%                 0, at most 30 s   2, at most 10
//	  hangs, takes two      0, at most 4      0, at most 36%                 0, at most 5 min  0, at most 2
//	    minutes
//	  is down for 50 steps  0, 43 without a   0, at most 62%                 0, at most 1 min  3, at most 29
//	                        last resort
//
// Ten steps later the budget is the nominal one. Most is out of sight where a summary is late and a last resort leaves
// history out. An agent's answer of 10 MB costs a policy without a last resort the steps until it is compacted.
//
// Plans, how they ended, clearings, usage and refusals are all entries, so a process that is killed loses only the
// summary that it was making. The next plan drops a plan that nobody runs. In a store that several processes write to,
// a lease outside the log shows within ten seconds that a process died ([history.Session.Claim]); without leases a
// pending plan is left alone until the time that it names has passed.
//
// Those who want to know are told: [Compactor].Observers, a list, hear of each event and of where work begins and ends.
// No render waits for one that is slow, and one that fails is not called again.
//
// What events, logs and errors quote is redacted as entries are ([history.Options].Redact).
//
// The caller's functions are hooks, observers, the functions of a policy, models and tokenizers. They may panic, end
// their goroutine, return invalid values, or never return. Each of these becomes a [*chat.CallbackError] or a
// [*policy.TimeoutError] with the function's name: as the error of the call, as the reason of a failed compaction, or
// as an event if the work goes on without the function. A function that never returns is left behind a second after its
// context or its time limit ended, and the next call works.
//
// # Models
//
// Any [chat.Model] can write summaries; models.Remote is an HTTP endpoint. Two others are for trying things out:
// models.Offline needs no network and makes a digest of the messages without understanding them, and models.Script
// gives the answers of a test. If a provider's own compaction ([chat.Response].Compaction) comes with a summary, it is
// kept beside the summary, byte for byte, if there is room for both. openai.CompactionModel and
// anthropic.CompactionModel, in the packages of render, are models that return one.
//
// # What is not here
//
// There is no memory beyond a session, for example of lessons for other sessions, and nothing reads the databases of
// the five systems.
package summarize
