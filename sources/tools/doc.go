// Package tools lets an agent have any number of tools of which its prompt holds only those that it has found.
//
//	more := &tools.Deferred{Session: session, Tools: found, Run: run}
//	prompt := el.Prompt(
//		el.System(el.Text("You are a coding agent.")),
//		history.Compacted{Session: session},
//		tools.Found{Deferred: more},
//		history.Conversation{Session: session, TurnsOnly: true},
//		history.TurnStart{Session: session},
//		history.TurnRounds{Session: session},
//	)
//	steps := &agent.Agent{Compactor: compactor, Prompt: prompt, Tools: []chat.Toolbox{more}}
//
// The agent declares the tools and answers their calls. A compactor refuses a prompt that shows found tools while none is
// declared, and one without [Found] whose agent has the Deferred among its tools. Without an agent, declare
// [Deferred.DeclaredFor] and call [Deferred.Answer].
//
// The model searches by [SearchTool], which ranks tools by the words of their names and descriptions. How it calls what
// it has found is the caller's choice:
//
//   - [ByCall], the default: the result of the search shows the definitions as text, and the model calls them by
//     [CallTool]. The declared tools never change, so the provider's cache stays valid.
//   - [Declared]: what was found is declared from the next request on. The model calls it like any tool, but each time
//     something is found the provider reads the whole prompt anew; [Deferred].OnChange says how much.
//   - [Native]: the provider searches by itself. Use it with the models of render/anthropic, and of render/openai in
//     Responses; with OpenAI the model sees all names of tools from the start. Other adapters declare all tools, which are
//     not counted.
//
// The tools are the caller's, or those of toolboxes ([Deferred].Toolboxes) such as servers of package sources/mcp, whose
// lists may change at any time.
//
// In each way, arguments are checked against the tool's schema before it is run. What does not fit is answered by a
// result that says so.
//
// # What it costs
//
// Until something is found, a twentieth of the prompt's budget at most; with that, the names of as many tools as fit.
// What was found takes at most a tenth, and one tool in any case; the longest unused is let go first, and the model may
// find it again.
//
// What was found is kept in the session, by custom entries: it outlives compactions and restarts. When the result that
// shows a definition is compacted or cleared, [Found] shows it, behind the summary. With Native, a tool that was called is
// declared like any other once the search that found it was compacted. What the provider's search brings into its context
// is not counted beforehand; the usage that it reports is.
//
// # What goes wrong
//
// Two tools with one name are an error of the render. A tool with a schema that cannot be read is called with any
// object. A request that only fits without some of the history may leave out a definition, as it may a skill. Names,
// descriptions and schemas are data: as text they cannot close the tags around them, nor open others of promptree's.
package tools
