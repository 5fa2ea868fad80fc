// Command service is an agent behind HTTP, to run and to copy: stored conversations that are compacted, with answers as
// server-sent events. Without flags it stores them in files and answers with a model that needs no network:
//
//	go run ./examples/service
//
//	curl -H 'Authorization: Bearer local' localhost:8080/v1/sessions -d '{"name": "first"}'
//	curl -H 'Authorization: Bearer local' localhost:8080/v1/sessions/first/messages -N -d '{"text": "Why does the build fail?"}'
//	curl -H 'Authorization: Bearer local' localhost:8080/v1/sessions/first
//
// With -database it stores them in PostgreSQL. Any number of replicas serve any session, and summaries that no request
// waits for are River jobs, which the workers of all processes share. Each process migrates the schemas as it starts:
//
//	service -database "$URL" -tokens tokens -listen :8080            # a replica with one worker
//	service -database "$URL" -tokens tokens -listen :8081 -work 0    # only a replica
//	service -database "$URL" -serve=false -work 8                    # only workers
//
// pool_max_conns in the URL sets the number of connections. Behind PgBouncer in transaction mode, set -poll. -help
// lists all flags.
//
// A role that may only read and write rows suffices once the schemas are up to date. A newer version may change them.
//
// # Requests
//
// All addresses except /healthz and /readyz need a token, which identifies the tenant. A tenant sees only its own
// sessions. The file of -tokens has lines "TENANT TOKEN"; without it, "local" is the token of the tenant "local", and
// the service listens only on a loopback address. Put TLS in front of it. An error is {"error": {"type", "message"}}.
//
//	POST   /v1/sessions                    {"name"}             creates a session, with a random name if none is given
//	GET    /v1/sessions?after=&limit=                           lists them by name
//	POST   /v1/sessions/{name}/messages    {"text", "after"}    appends a message and streams the answer
//	POST   /v1/sessions/{name}/answer                           answers the last message if it has no answer
//	GET    /v1/sessions/{name}?after=&limit=                    the messages up to the leaf, compacted or not
//	POST   /v1/sessions/{name}/branch      {"entry"}            goes back to a message; "" is the beginning
//	POST   /v1/sessions/{name}/compact     {"instructions"}     summarises now
//	DELETE /v1/sessions/{name}                                  removes it with all its content
//	GET    /healthz, /readyz, /metrics                          it is running; it takes requests and reaches its store; Prometheus
//
// /metrics counts the work for all tenants in this process. -monitor serves these three on another address,
// without a token; that address must not be public. A process with only workers serves nothing else.
//
// An answer is a stream of these events. The last is an answer with "done": true, or an error:
//
//	said        {"entry"}                                       the message is stored
//	text        {"text"}                                        a piece of the answer
//	call        {"name", "arguments"}                           the model calls a tool
//	answer      {"entry", "text", "tokens", "budget", "done"}   the answer is stored; tokens is the size of its prompt
//	result      {"entry", "text"}                               the tool's result is stored; text is its beginning
//	compaction  {"kind", "reason", "tokensBefore", "tokensAfter", "mode", "policy"}
//	                                                            tokensAfter is 0 unless the kind is done
//	retry       {}                                              the model failed halfway: the text starts again
//	error       {"type", "message"}
//
// Everything that said, answer and result report is stored, whatever happens later. A client whose connection was lost
// reads the session. If its message is not there, the client sends it again, with the newest message that it knows as
// after. If somebody else has appended a message since, or the lost message did arrive, the service refuses with a
// conflict and writes nothing. If the message is there without an answer, the client asks for /answer.
//
// # Limits
//
//   - Each process handles one request of a session at a time; -queue more wait, and at most -steps of one tenant.
//     Further ones get status 429. If two replicas answer in one session at once, the second to append gets a conflict.
//   - At most -steps messages and compactions are handled at once; further ones get status 503 with Retry-After. A
//     message has 10 minutes and 20 requests to the model.
//   - A body may have -max-body bytes, a text half of the tokens of a prompt, and a session that takes messages
//     -max-session bytes; more is status 413.
//   - With files, -open sessions are open at once. One that must close for another loses the summary in progress and
//     nothing else.
//   - Reading a session walks its whole path for each page: a page costs as much as the session, not as the page.
//
// # What goes wrong
//
//   - A client that disconnects cancels its step, and so does one that does not read for 10 seconds or falls a megabyte
//     behind. Complete answers up to then are stored; an answer cut off halfway is not.
//   - On SIGTERM or Ctrl-C the process refuses requests with status 503. Answers have 7 seconds to finish before they
//     are cancelled; their clients get an error of the type stopping. A second signal ends the process at once, which
//     loses no more than kill -9 does: only what no event has reported.
//   - If the database or the disk cannot be reached or is full, requests get an error of the type unavailable until it
//     recovers. If it cannot be reached at the start, the process ends with code 1.
//   - If a process is killed during a summary, another one makes it: a job is taken up again after 2 minutes, and a
//     plan that a request was carrying out is given up after 5. A lower -compaction lowers both. A prompt that does not
//     fit without the summary waits for at most a minute, and is then compacted by the request itself.
//   - If no process has a worker, summaries are made only for prompts that do not fit, after that minute.
//   - Logs are JSON on standard error, a line for each request and compaction. They hold no content of conversations,
//     no token and no name of a tenant; an error of the store may name the session. A client finds its line by
//     X-Request-Id.
//
// # Code
//
// main.go starts and stops it; options.go and tokens.go read its configuration. http.go has the addresses, sessions.go
// and messages.go their handlers, stream.go the events, problem.go the errors, turns.go the queues, metrics.go the
// metrics, and monitor.go their address. assistant.go has the model, the prompt and the policy: start there to make it
// yours. model.go is the model without a network, transcript.go the agent's tool. store.go declares the store of
// sessions: files.go, or database.go with workers.go.
package main
