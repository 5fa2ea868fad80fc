// Package summarize compacts a conversation that no longer fits its window: what is old is replaced by a summary that
// says where the full transcript lies.
//
//	compactor := &summarize.Compactor{
//		Session: session, Model: model, Tokenizer: tokenizer, Budget: budget,
//		Policy: summarize.CopilotChat(),
//	}
//	defer compactor.Close()
//	result, err := compactor.Render(ctx, prompt) // messages that fit, or an error that says why not
//
// # Policies
//
// A [Policy] is a value of parts that combine: when to compact ([Trigger]), what to leave out first, where to cut
// ([history.Cut]), what to ask ([Prompt]) and whom ([Models]), what to refuse ([Check]), what to put in place ([Replacement])
// and what to keep besides. [CopilotChat], [A3S], [CopilotCLI], [Stagewise] and [OhMyPi] are those of five systems, and
// [Policies] lists them. Take one and change a field:
//
//	policy := summarize.Stagewise()
//	policy.Trigger[0].Ratio = 0.5
//	policy.Before = history.A3SClear()
//
// A prompt and a replacement are trees of elements made of a [Material], and know nothing else. The zero policy compacts
// where a prompt does not fit, as Copilot Chat does. The program in bench/replay compares policies on recorded sessions.
//
// # When
//
// [Compactor.Render] renders the prompt as package render does, and looks at the trigger. A compaction is made before the
// prompt is given back, or in the background, to be put in place by a later render: [Compactor.Wait] waits for it, and
// [Compactor.Close] ends it, which every compactor needs whose policy may work in the background. [Compactor.AfterTurn] looks
// at the same conditions once the agent has finished, [Compactor.Compact] is for somebody who asks, [Compactor.Recover] for a
// request that the provider refused, [Compactor.SwitchModel] for a model with a smaller window, and [Compactor.MemoryPressure]
// for an application short of memory. [Compactor.Explain] says why it did or did not compact, and events tell of everything.
//
// # What holds for all of them
//
// History is replaced only by a summary that passed its checks, fits and is smaller than what it replaces, and only for what
// was summarised: what is said meanwhile stays. A compaction that fails leaves the session as it was, and is not tried again
// before something changed. A summary is written once and replayed byte for byte, and a later compaction is shown it, and
// nothing that it covers. A history larger than the summarising model's window is summarised in pieces.
//
// # Models
//
// Any [chat.Model] can write summaries. [Cascade], [Retry] and [Limit] are models made of others, and [Remote] is an HTTP
// endpoint. Two come for trying things out: [Offline], which needs no network and makes a digest of what the messages hold on
// their surface, and [Script], which answers what a test tells it to.
//
// # What is not here
//
// What outlives a session, such as a memory of lessons learnt that other sessions read, is not here; nor is anything that reads
// the databases of the five products.
package summarize
