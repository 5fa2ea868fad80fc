// Package einoagent is a middleware for agents of eino (github.com/cloudwego/eino). It keeps the conversation in
// a [history.Session], composes each prompt from a tree of elements that fits a token budget, and compacts the
// conversation when it no longer fits. It is written for eino v0.9.21; name that version, because @latest is an older one:
//
//	go get github.com/cloudwego/eino@v0.9.21
//	go get github.com/promptree-go/promptree/summarize/einoagent
//
//	session, err := history.Open("session.jsonl", history.Options{})
//	...
//	defer session.Close()
//	compactor := &summarize.Compactor{
//		Session: session,
//		Policy:  copilotcli.Policy(),
//		Target:  policy.Target{Model: einoagent.Model(chatModel), Tokenizer: tokenizer, Budget: 100_000},
//	}
//	defer compactor.Close()
//	middleware, err := einoagent.New(einoagent.Options{Compactor: compactor})
//	...
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		Model: chatModel, // and the rest of your configuration
//		Handlers: []adk.ChatModelAgentMiddleware{middleware},
//	})
//
// Tools, streaming, interrupts, checkpoints, sub-agents and retries work as before. For agents of
// [schema.AgenticMessage] use [NewAgentic] and [AgenticModel].
//
// # Beside eino's own middlewares
//
//	                         eino's summarization, reduction   this package
//	acts at                  a number of tokens or messages    any policy: part of the window, cost, overflow
//	counts                   4 characters a token by default   exact for known models, tools included
//	keeps word for word      the user's last messages          a tail cut at a round, what was pinned, the index
//	the agent waits          for each summary                  not if the policy summarises in the background
//	a failed summary         ends the run, after Retry and     leaves all as it was; tried again after a pause
//	                         Failover if they are set
//	a refused request        ends the run                      is made smaller and sent again
//	old tool output          cleared; large output to a file   cleared once, so that the cache holds; previews
//	what was left out        is gone, unless a file holds it   stays in the session; two tools read and search it
//	after a restart          what the application kept         the session, from a file or a database
//
// # What it does
//
// Before each request the middleware takes these steps:
//
//   - It appends to the session what was said since the last request.
//   - It renders the prompt: the agent's instruction, then the tree of [Options].Prompt. The instruction and the tools
//     count towards the budget.
//   - It compacts the session if the policy says so.
//   - It sends the rendered prompt. The agent's own messages stay as they are.
//
// After the request it appends the answer and the usage that the model reported.
//
// If the model refuses a request as too large, the middleware makes a smaller request, under any policy
// ([summarize.Compactor.Recover]). The agent does not see the refusal.
//
// If the policy summarises in the background, the agent goes on meanwhile. If the target's model is [Model] of the
// agent's own model, that request for a summary repeats the agent's last request and continues it. So the provider
// serves the repeated part from its cache.
//
// # What you pass to a run
//
// You may pass only the new message, as with runner.Query(ctx, question): the session has the rest. If your application
// keeps the conversation itself, it may still pass all of it, with or without the rounds of tools, or only its end. The
// middleware finds the messages that the session already has by role, text and calls, and appends only new ones:
//
//   - If the conversation was edited or shortened, the session continues from the last message that both have. What
//     came after that message remains in the session as another branch.
//   - After a crash within a turn, ask the same question again or pass the same conversation. The session continues
//     where it was. A call whose result was lost is answered by a note that it was interrupted.
//   - After an interrupt, resume from the checkpoint, in this process or another. If the session has continued since
//     the checkpoint was made, that continuation remains as another branch.
//   - The same question, asked again after it was answered, is a new question.
//
// # Looking up what is no longer shown
//
// Give the agent tools that read and search the whole conversation, and let the marks in its prompts name them:
//
//	session, err := history.Open("session.jsonl", history.Options{Recall: true})
//	...
//	options.Tools = []chat.Toolbox{recall.Tools{}} // skills, deferred tools and functions of agent.Tool go here too
//	tools, err := einoagent.Tools(options) // those of the middleware
//	...
//	config.ToolsConfig.Tools = append(mine, tools...)
//
// # Several agents and conversations
//
// A session belongs to one agent. Give sub-agents, and agents to which others transfer, middlewares with sessions of
// their own, or none. An agent that runs in a tool of another with the same middleware, as DeepAgent's general agent
// does, gets a session in memory that lasts until the tool returns.
//
// For a service, set [Options].Choose and create an agent for each run. An agent of eino v0.9.21 cannot serve several
// runs at a time, with or without this package, because its runs write to the same data. The middleware can:
//
//	type key struct{}
//	middleware, err := einoagent.New(einoagent.Options{Choose: func(ctx context.Context) (mirror.Mirrored, error) {
//		return conversationOf(ctx.Value(key{}).(string))
//	}})
//
// # Other handlers
//
// eino calls handlers in their order. Put this middleware last, so that it records what the other handlers add and
// nothing changes the prompt after it. A system message that another handler adds within the conversation is recorded
// as the application's ([entry.CustomMessage]), and the model sees it as a user message.
//
// Do not combine it with eino's own middlewares summarization and reduction: the session would record each summary of
// theirs as the start of a new conversation. Use a policy instead.
//
// # What it costs
//
// With 500 messages in the prompt, the middleware takes 2 ms of processor time for a request, in proportion to the
// messages (BenchmarkRequest). Only new messages are converted, laid out and counted. Each request writes twice to the
// session, and each write is synced to disk unless [storage.FileOptions] says otherwise. The first request of a run reads
// as many messages from the session as the run was passed. A summary costs a request to a model. Checkpoints hold the
// agent's messages, as they do without the middleware.
//
// bench/eino/README.md compares this with eino's summarization and reduction on a recorded session.
//
// # What goes wrong
//
// An error ends the run. Find these with errors.As in the error of eino's event:
//
//   - [*summarize.FailedError]: the prompt does not fit and could not be compacted.
//   - [*summarize.RecoveryError]: the model refuses the request however small it is made.
//   - [*storage.ConflictError]: another writer appended to the session while the model answered. The answer is not
//     recorded.
//
// A message whose Extra holds a value of an unregistered type cannot be stored, which is an error too. Register the
// type with [schema.RegisterName].
//
// Messages that your application appends to the session itself during a run end up on another branch. Pass them to eino
// instead.
//
// eino stops an agent after 20 requests unless MaxIterations says otherwise. Tool results that were meant for the next
// request are not in the session then, and the next run answers their calls by a note. A policy may say something in
// the user's place after a turn ([policy.Policy.Continue]). That text is dropped, because eino's loop has ended by
// then.
//
// Tools for a model's own search (DeferredToolInfos) are passed on but not counted. Of the calls in an agentic message,
// those that the provider runs itself stay where they are, and yours come after them when a message is restored from the
// session.
package einoagent
