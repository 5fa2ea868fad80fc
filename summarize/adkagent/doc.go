// Package adkagent brings promptree to agents of adk-go (google.golang.org/adk/v2): what is said is kept in a session, the prompt is
// composed from a tree that fits its budget, and a conversation that does not fit is compacted.
//
//	said, err := history.Open("session.jsonl", history.Options{})
//	...
//	defer said.Close()
//	compactor := &summarize.Compactor{
//		Session: said, Policy: copilotcli.Policy(),
//		Target: summarize.Target{Model: adkagent.Model(llm), Name: llm.Name(), Tokenizer: gemini.Tokenizer{}, Budget: 900_000},
//	}
//	defer compactor.Close()
//	p, err := adkagent.New(adkagent.Options{Agent: "coder", Compactor: compactor})
//	...
//	r, err := runner.New(runner.Config{
//		Agent: coder, SessionService: service, // and all that the runner had before
//		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{p}},
//	})
//
// The tokenizer is that of promptree's render/gemini; other models have others. A launcher has the same PluginConfig, and
// examples/adk is a whole program. Everything else stays as it is: tools, streaming, long-running tools and confirmations,
// sub-agents.
//
// # What it does
//
// Before each request the plugin appends to the log what was said since, renders the prompt, compacts the log if the policy
// says so, and makes the prompt the request's contents and instruction. The agent's instruction comes first, then the tree of
// [Options].Prompt. Instruction and tools count. After the request the answer is appended, with the usage that the model reported.
// If a model says that the request is too large, and the policy has a condition [summarize.OnContextLimit], as those of copilotcli
// and ohmypi have, the request is made again with less, and the answer comes in one piece. That asks the target's model, which
// must be one of [Model].
//
// A policy whose summaries are made in the background asks while the agent goes on. With [Model] on the agent's own model that
// request has the agent's last one as its prefix, tools included, so that the provider's cache serves it.
//
// adk's own session keeps all events as before; only what the model is sent changes. adk makes the contents of each request from
// that session anew. What the log has of them already is found by role, text and calls, and is not appended again:
//
//   - If a process died, run again: on the same session of adk, which takes a message of nil for going on, or on a new one with the same
//     question. The log goes on where it was. A call whose result was lost is answered by a note that it was interrupted.
//   - If the result of a long-running tool comes later, adk puts it in the place of the first and leaves out what was said
//     meanwhile. What the log has after the call is then a branch that was left.
//   - If events were taken out of adk's session, the log goes on from the last message that both have.
//
// # Sessions of adk
//
// A [Service] keeps adk's own sessions in logs too, as durable as files that are synced, so that a run that was interrupted is
// resumed in another process:
//
//	service := adkagent.NewService(adkagent.Files("sessions"))
//	defer service.Close()
//
// Any store will do, such as a database: [NewService] is given a function that opens a log by its name. Each session that was used
// keeps its log open until the service is closed. Any other service of adk will do as well.
//
// # Several agents and conversations
//
// Each agent sees a conversation of its own: of what others did it is told in the user's place. So each needs a log of its own. With
// [Options].Agent the others' requests are left as they are; with [Options].Choose each has the conversation that the function returns:
//
//	p, err := adkagent.New(adkagent.Options{Choose: func(ctx agent.ReadonlyContext) (adkagent.Conversation, error) {
//		return conversationOf(ctx.SessionID(), ctx.AgentName(), ctx.Branch())
//	}})
//
// An agent that is a task of another begins anew each time it is called, and adk does not tell a plugin which time that is: leave it
// as it is unless its tasks may know of each other. Agents in an agenttool have runners of their own, without plugins. Live
// sessions (RunLive) call no plugin before a request and are left as they are.
//
// # Other plugins
//
// Plugins are called in their order, and the callbacks of agents after them. Put this plugin last, so that it records what the others
// add and composes what is sent.
//
// # What it costs
//
// Of processor time, a request costs some 8 ms if the prompt has 500 messages, beside the 5 ms that adk takes, and in proportion if it has
// more (BenchmarkRequest). It costs two writes to the log, each synced to disk unless [storage.FileOptions] say otherwise. With a
// [Service] there is a write for each event besides. A summary costs a request.
//
// adk-go v2.2.0 has no compaction. It sends the whole conversation, or with IncludeContents "none" only the turn at hand. On 12
// turns of five rounds each, 72 requests in all, and with a budget of 10,000 tokens (TestWhatACompactionSaves; requests for summaries
// are in the input, and summaries are digests that need no model):
//
//	                       largest       input   over the budget   questions that the last request shows
//	adk, everything         35,238   1,276,645                52   12
//	adk, the turn at hand    2,962     114,955                 0    1
//	a3s                      9,930     510,152                 0   12
//	copilot-chat             9,028     396,676                 0   12
//	copilot-cli              8,797     383,740                 0   12
//	frugal                   8,392     408,816                 0   12
//	oh-my-pi                 9,996     463,538                 0   12
//	stagewise                9,992     428,861                 0   12
//
// The longer the run, the more it saves: what is sent without compaction grows with the square of the turns, and with it as they do.
//
// # What goes wrong
//
// Errors end the run, and are found with errors.As in the error that the runner yields:
//
//   - [*summarize.FailedError]: the prompt does not fit and could not be compacted.
//   - [*summarize.RecoveryError]: the model refuses however small the request is made.
//   - [*storage.ConflictError]: somebody else appended to the log while the model answered. The answer is not recorded.
//
// What the policy says in the user's place after a turn ([summarize.Policy.Continue]) is not said, because adk's loop has ended.
// What goes wrong after a run, such as a summary that was begun then, is told by the compactor's events and the next request.
//
// Tools that the provider runs, such as a search, are passed on and not counted. Fields of a function response that only live
// sessions have are left out.
package adkagent
