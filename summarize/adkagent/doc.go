// Package adkagent is a plugin for agents of adk-go (google.golang.org/adk/v2). It keeps the conversation in a
// [history.Session], composes each prompt from a tree of elements that fits a token budget, and compacts the
// conversation when it no longer fits.
//
//	log, err := history.Open("session.jsonl", history.Options{})
//	...
//	defer log.Close()
//	compactor := &summarize.Compactor{
//		Session: log,
//		Policy:  copilotcli.Policy(),
//		Target: policy.Target{
//			Model: adkagent.Model(llm), Name: llm.Name(), Tokenizer: gemini.Tokenizer{}, Budget: 900_000,
//		},
//	}
//	defer compactor.Close()
//	p, err := adkagent.New(adkagent.Options{Agent: "coder", Compactor: compactor})
//	...
//	r, err := runner.New(runner.Config{
//		Agent: coder, SessionService: service, // and the rest of your configuration
//		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{p}},
//	})
//
// Here coder is adk's agent of that name, llm is its model, and gemini is promptree's render/gemini. For another model
// use a tokenizer of that model. A launcher takes the same PluginConfig. The program examples/adk is complete.
//
// Tools, streaming, long-running tools, confirmations and sub-agents work as before.
//
// # Beside adk's own
//
// adk-go v2.2.0, for which this package is written, has no compaction. v2.3 has a plain one (runner.Config.Compaction: a
// sliding window and a summary), which is not compared here.
//
//	                      adk-go v2.2.0                        this package
//	a prompt              the whole conversation, or a turn    what fits a budget, by any policy
//	its size              unknown before it is sent            counted, tools and instruction included
//	a refused request     ends the run                         is made smaller and sent again
//	old messages          all, or none                         a summary and a tail word for word; made in the background
//	old tool output       as it was                            cleared once, so that the cache holds; previews
//	what was left out     stays in adk's session, unread       two tools read and search it
//
// # What it does
//
// Before each request the plugin takes these steps:
//
//   - It appends to the log what was said since the last request.
//   - It renders the prompt: the agent's instruction, then the tree of [Options].Prompt. The instruction and the tools
//     count towards the budget.
//   - It compacts the log if the policy says so.
//   - It replaces the request's contents by the rendered prompt. Contents that are sent as they were said are adk's own.
//
// After the request it appends the answer and the usage that the model reported.
//
// If the model refuses a request as too large, the plugin makes a smaller request, under any policy
// ([summarize.Compactor.Recover]). It asks the model of the compactor's target, which
// must come from [Model], and the answer arrives in one piece even if the run streams.
//
// If the policy summarises in the background, the agent goes on meanwhile. If the target's model is [Model] of the
// agent's own model, that request for a summary repeats the agent's last request, tools included, and continues it. So
// the provider serves the repeated part from its cache.
//
// # adk's session and the log
//
// adk's own session keeps all events as before; only the requests change. adk builds the contents of each request from
// that session. The plugin compares them with the log by role, text and calls, and appends only what is new:
//
//   - After a crash, run again. On the same session of adk you may pass a nil message to continue. On a new session,
//     pass the same question. The log continues where it was. A call whose result was lost is answered by a note that
//     it was interrupted.
//   - When a long-running tool returns its result later, adk puts it in place of the first result and leaves out what
//     was said in between. The log then branches after the call.
//   - An interrupted run is resumed in another process if adk's session is kept too, by adk's own session/database: the
//     plugin works with any service of sessions.
//   - If events were removed from adk's session, the log continues from the last message that both have.
//
// # Looking up what is no longer shown
//
// Give the agent tools that read and search the whole conversation, and let the marks in its prompts name them:
//
//	session, err := history.Open("session.jsonl", history.Options{Recall: true})
//	...
//	options.Tools = []chat.Toolbox{recall.Tools{}} // skills, deferred tools and functions of agent.Tool go here too
//	tools, err := adkagent.Tools(options) // those of the plugin
//	...
//	llmagent.Config{Tools: append(mine, tools...)} // and the rest of your configuration
//
// # Several agents and conversations
//
// Each agent sees a conversation of its own: adk tells it in user messages what other agents did. So each agent needs
// its own log. With [Options].Agent, requests of other agents stay as they are. With [Options].Choose, your function
// returns the conversation of each request:
//
//	p, err := adkagent.New(adkagent.Options{Choose: func(ctx agent.ReadonlyContext) (mirror.Mirrored, error) {
//		return conversationOf(ctx.SessionID(), ctx.AgentName(), ctx.Branch())
//	}})
//
// An agent that runs as a task of another starts anew with each call, and adk does not tell a plugin which call it is.
// Let Choose return no conversation for it, unless its tasks may know of each other. The plugin cannot compact agents
// in an agenttool, which have their own runners without plugins, or live sessions (RunLive), which call no plugin
// before a request.
//
// # Other plugins
//
// adk calls plugins in their order, and the callbacks of agents after them. Put this plugin last, so that it records
// what the other plugins add and nothing changes the prompt after it.
//
// # What it costs
//
// With 500 messages in the prompt, the plugin takes no more processor time for a request than the 4 ms of adk itself
// (BenchmarkRequest): only new contents are converted, laid out and counted. Each request writes twice to the log, and
// each write is synced to disk unless [storage.FileOptions] says otherwise. A summary costs a request to a model.
//
// adk-go v2.2.0 has no compaction of its own. It sends the whole conversation, or with IncludeContents "none" only the
// current turn. Both were compared with each policy: 12 turns of five rounds each, 72 requests in all, and a budget of
// 10,000 tokens. Tokens sent for summaries are part of the input, and the summaries are digests that need no model. The
// last column counts the user's questions that the last request still shows:
//
//	                       largest       input   over budget   questions
//	adk, everything         35,238   1,276,645            52          12
//	adk, current turn        2,962     114,955             0           1
//	a3s                      9,930     510,152             0          12
//	copilot-chat             9,028     396,676             0          12
//	copilot-cli              8,797     383,740             0          12
//	frugal                   8,392     408,816             0          12
//	oh-my-pi                 9,996     463,538             0          12
//	stagewise                9,992     428,861             0          12
//
// The longer the run, the more compaction saves: without it the tokens sent grow with the square of the number of
// turns, and with it in proportion to that number.
//
// # What goes wrong
//
// An error ends the run. Find these with errors.As in the error that the runner yields:
//
//   - [*summarize.FailedError]: the prompt does not fit and could not be compacted.
//   - [*summarize.RecoveryError]: the model refuses the request however small it is made.
//   - [*storage.ConflictError]: another writer appended to the log while the model answered. The answer is not
//     recorded.
//
// A policy may say something in the user's place after a turn ([policy.Policy.Continue]). That text is dropped,
// because adk's loop has ended by then. Errors after a run, such as those of a summary that started then, appear in the
// compactor's events and in the next request.
//
// Tools that the provider runs, such as a search, are passed on but not counted. Fields of a function response that
// only live sessions have are left out.
package adkagent
