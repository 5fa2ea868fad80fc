// Package mcp makes servers of the Model Context Protocol toolboxes of an agent, on the protocol's official SDK.
//
//	servers, notes, err := mcp.ReadFile("mcp.json", "GITHUB_TOKEN") // or servers := mcp.Servers{{Name: "files", Command: "npx", Args: …}}
//	defer servers.Close()
//	servers.Connect(ctx)
//	more := &tools.Deferred{Session: session, Toolboxes: servers.Toolboxes()}
//	prompt := el.Prompt(
//		el.System(el.Text("You help.")),
//		history.Compacted{Session: session},
//		tools.Found{Deferred: more},
//		history.Conversation{Session: session, TurnsOnly: true},
//		history.TurnStart{Session: session},
//		history.TurnRounds{Session: session},
//	)
//	steps := &agent.Agent{Compactor: compactor, Prompt: prompt, Tools: []chat.Toolbox{more}}
//
// The model searches the tools of all servers and calls what it finds, so that hundreds cost what a few do, and a server
// that changes its list does not change the prompt. A few tools may be declared at once instead: put the servers among the
// agent's tools.
//
// A tool is named after its server, as in files__read_file. A name that some provider would not take, or that might be
// another server's, ends in a digest. If a server has resources, a tool such as files__read_resource reads and lists them.
// [Resource] shows one in a prompt.
//
// # Asking a person
//
// Tools of servers may change anything. A type that embeds a *Server and has an Answer of its own asks a person before it calls
// the server's, as the example does. The names of a server's tools begin with its Name and two underscores.
//
// # What becomes of a result
//
//   - Texts, pictures and PDF files stay what they are. Texts of a resource stand between tags that they cannot close.
//   - A link is a line with the call that reads it, in parts if it is long.
//   - Structured content is shown as JSON, unless a text says the same: the same JSON value, or that of its only field.
//   - Audio, other files, and what is for the user alone are a line, and kept in the session if [Server].Session is set: as
//     a custom entry that the line names, which is erased with the result.
//   - A failure of the tool is a failed result. The text of a result is cut at [Server].MaxResult; a session shows a large
//     one as a preview with a handle, as with any tool.
//
// # What goes wrong
//
// A server that cannot be reached, ends, hangs, or sends too much or what is not the protocol's costs the call at hand,
// which is answered by an error. The next call connects anew, and steps leave the server alone for 10 seconds, at the
// second failure for 20, up to 10 minutes. [Server.Notes] says what is wrong, also with single tools. What the model has
// found stays found meanwhile.
//
// A server is not trusted: names, descriptions and schemas are brought into a form that providers take, secrets in how it
// is reached (keys, tokens, passwords in the environment, in headers, arguments and addresses) are hidden in all that it
// says, headers go to its own host only, and a process has no other environment than PATH, HOME and what is given. What it
// says may still instruct the model: connect only to servers whose texts may stand in your prompt.
//
// # What is left out
//
// Roots, sampling and logging are not offered; the protocol has deprecated them. Prompts of servers and subscriptions are
// not used. A server's question to the user is declined, unless [Server].Ask answers it. Numbers of structured content
// above 2^53 lose digits, as the SDK reads them, and the result says so.
package mcp
