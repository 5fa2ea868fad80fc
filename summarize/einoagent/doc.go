// Package einoagent brings promptree to agents of eino (github.com/cloudwego/eino, v0.9): what is said is kept in a session, the
// prompt is composed from a tree that fits its budget, and a conversation that does not fit is compacted.
//
//	session, err := history.Open("session.jsonl", history.Options{})
//	...
//	defer session.Close()
//	compactor := &summarize.Compactor{
//		Session: session, Policy: copilotcli.Policy(),
//		Target: summarize.Target{Model: einoagent.Model(chatModel), Tokenizer: tokenizer, Budget: 100_000},
//	}
//	defer compactor.Close()
//	middleware, err := einoagent.New(einoagent.Options{Compactor: compactor})
//	...
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		Model: chatModel, // and all that the agent had before
//		Handlers: []adk.ChatModelAgentMiddleware{middleware},
//	})
//
// Everything else stays as it is: tools, streaming, interrupts and checkpoints, sub-agents, retries.
//
// # What it does
//
// Before each request the middleware appends to the session what was said since, renders the prompt, compacts the session if the
// policy says so, and makes the prompt the agent's messages. The agent's instruction comes first, then the tree of
// [Options].Prompt. Instruction and tools count. After the request the answer is appended, with the usage that the model reported.
// If a model says that the request is too large, and the policy has a condition [summarize.OnContextLimit], as those of copilotcli
// and ohmypi have, the request is made again with less; nothing of the refusal reaches the agent.
//
// A policy whose summaries are made in the background asks while the agent goes on. With [Model] on the agent's own model that
// request has the agent's last one as its prefix, so that the provider's cache serves it.
//
// # What a run is given
//
// A run may be given only what is new, by runner.Query(ctx, question), and the session knows the rest. Applications that keep
// the conversation themselves may go on to pass it whole, with or without the rounds of tools, or its end. What the session has
// already is found by eino's ids of messages, or by role, text and calls, and is not appended again:
//
//   - If the conversation that is passed was edited or cut back, the session goes on from the last message that both have. What
//     came after it in the session is a branch that was left.
//   - If a process died amid a turn, ask the same again, or pass the same conversation: the session goes on where it was. A call whose
//     result was lost is answered by a note that it was interrupted.
//   - If a run was interrupted, resume it from its checkpoint, in this process or another. If the session has gone on since the
//     checkpoint was made, what it led to is a branch that was left.
//   - The same question again after it was answered is a new one.
//
// # Several conversations
//
// A session belongs to one agent: give sub-agents and agents to which others transfer middlewares with sessions of their own,
// or none. An agent that runs in a tool of another with the same middleware, as DeepAgent's general one does, has a session in memory
// until the tool returns. For a service, set [Options].Choose, and make an agent for each run. Agents of eino v0.9.21 are not for several runs at
// once, with or without this package, because they write to what the runs share. The middleware is.
//
//	type key struct{}
//	middleware, err := einoagent.New(einoagent.Options{Choose: func(ctx context.Context) (einoagent.Conversation, error) {
//		return conversationOf(ctx.Value(key{}).(string))
//	}})
//
// # Other handlers
//
// Handlers are called in their order. Put the middleware last, so that it records what the others add and composes what is
// sent. A system message that one of them adds amid the conversation is kept as the application's word
// ([history.CustomMessage]), which a model sees as the user's. With eino's own middlewares summarization and reduction the
// session would be told that the conversation begins anew: use a policy in their place.
//
// # What it costs
//
// Memory and checkpoints hold the prompt instead of the whole conversation. A request costs 2 to 4 ms if the prompt has 500 messages,
// and in proportion if it has more (BenchmarkRequest), and two writes to the session, each synced to disk unless [storage.FileOptions]
// say otherwise. A summary costs a request. The first request of a run reads as many messages back as the run is given.
// Beside eino's summarization and reduction on a recorded session, see bench/eino/README.md.
//
// # What goes wrong
//
// Errors end the run, and are found with errors.As in the error of eino's event:
//
//   - [*summarize.FailedError]: the prompt does not fit and could not be compacted.
//   - [*summarize.RecoveryError]: the model refuses however small the request is made.
//   - [*storage.ConflictError]: somebody else appended to the session while the model answered. The answer is not recorded.
//   - An Extra with a value of a type that is not registered with [schema.RegisterName], which cannot be kept.
//
// What the application itself appends to the session while a run goes on is left on a branch: say it through eino.
//
// eino stops an agent after 20 requests unless MaxIterations of its configuration says otherwise. The results that the last
// request was to see are not in the session then: their calls are answered by a note in the next run. What the policy
// says in the user's place after a turn ([summarize.Policy.Continue]) is not said, because eino's loop has ended.
//
// Tools for a model's own search (DeferredToolInfos) are passed on and not counted. Agents of [schema.AgenticMessage] are not
// supported.
package einoagent
