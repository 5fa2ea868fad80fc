// Package mcp makes servers of the Model Context Protocol toolboxes of an agent.
//
//	servers, notes, err := mcp.ReadFile("mcp.json")
//	defer servers.Close()
//	more := &tools.Deferred{Session: session, Toolboxes: servers.Toolboxes()}
//	worker := &agent.Agent{Compactor: compactor, Tools: []chat.Toolbox{more}, Prompt: prompt} // with tools.Found{Deferred: more}
//
// A [Server] is reached by a process, over HTTP, or by a transport of the SDK (github.com/modelcontextprotocol/go-sdk). Its
// tools have its name in front, so that those of two servers never collide. With tools.Deferred hundreds of them cost a line
// each, a change of a list shows at the next step, and the cached prefix of the prompt stays; given to an agent directly, they
// are all declared.
//
// # Results
//
// Texts, pictures and embedded resources are shown; structured content is shown where it differs from the text. A link or a
// resource that is too large is named with an address, which one tool of the server reads, ranges included. What the server
// says is for the user alone is not shown to the model, and a result of nothing else says so in a line. Audio and other data
// that no model reads is said, and kept as a custom entry if [Server].Session is set. [Resource] shows a resource in a prompt.
//
// # Servers that misbehave
//
// A server that hangs, dies, floods or lies costs one result, which says what happened; the next call connects anew. Calls end
// after [Server].Timeout, answers and messages are bounded, and what a server calls itself or its tools is text of
// others: it is written as data. Values of Env and Headers, and secrets in addresses, are replaced in all that it says.
// A server that asks for authorisation is a note, unless HTTPClient or OAuth is set.
//
// A process gets PATH, HOME and what its row names, not the whole environment. [ReadFile] reads only the path that it is given,
// because its rows are commands.
//
// Prompts and subscriptions are not read. Roots, sampling and logging are not offered. A question to the user goes to
// [Server].Ask, and is declined without one.
package mcp
