// Command service is an agent behind HTTP, to run and to copy: conversations that are kept and compacted, answered by server-sent
// events. Without a flag it keeps them in files and answers with a model that needs no network:
//
//	go run ./examples/service
//
//	curl -H 'Authorization: Bearer local' localhost:8080/v1/sessions -d '{"name": "first"}'
//	curl -H 'Authorization: Bearer local' localhost:8080/v1/sessions/first/messages -N -d '{"text": "Why does the build fail?"}'
//	curl -H 'Authorization: Bearer local' localhost:8080/v1/sessions/first
//
// With -database it keeps them in PostgreSQL. Any number of replicas serve any session, and summaries that need not be waited for
// are River jobs for the workers of all processes. Each process brings the schemas up to date as it starts:
//
//	service -database "$URL" -tokens tokens -listen :8080            # a replica with one worker
//	service -database "$URL" -tokens tokens -listen :8081 -work 0    # a replica alone
//	service -database "$URL" -serve=false -work 8                    # a worker alone
//
// The pool has as many connections as pool_max_conns in the URL says. Behind PgBouncer in transaction mode give -poll. -help lists
// all flags.
//
// A role that may only read and write rows suffices once the schemas are up to date, until a newer version changes them.
//
// # Requests
//
// All but /healthz and /readyz need a token, which names the tenant. A tenant sees only its own sessions. The file of -tokens has
// lines "TENANT TOKEN"; without it "local" is the token of the tenant "local", and only a loopback address is listened on. Put TLS
// in front of it. An error is {"error": {"type", "message"}}.
//
//	POST   /v1/sessions                    {"name"}             makes a session, of a random name if none is given
//	GET    /v1/sessions?after=&limit=                           lists them by name
//	POST   /v1/sessions/{name}/messages    {"text", "after"}    says something, and streams what is answered
//	POST   /v1/sessions/{name}/answer                           answers what was said last and has no answer
//	GET    /v1/sessions/{name}?after=&limit=                    the messages up to the leaf, whatever was compacted
//	POST   /v1/sessions/{name}/branch      {"entry"}            goes on from a message; "" is the beginning
//	POST   /v1/sessions/{name}/compact     {"instructions"}     summarises now
//	DELETE /v1/sessions/{name}                                  removes it with everything in it
//	GET    /healthz, /readyz, /metrics                          lives; takes requests and reaches its store; Prometheus
//
// /metrics counts what all tenants do in this process. With -monitor these three are answered on an address of their own without a
// token, which is not for the world; a worker alone answers there.
//
// An answer is a stream of these events. The last is an answer with "done": true, or an error:
//
//	said        {"entry"}                                       the message is kept
//	text        {"text"}                                        a piece of the answer
//	call        {"name", "arguments"}                           the model calls a tool
//	answer      {"entry", "text", "tokens", "budget", "done"}   it is kept; tokens is what its prompt took
//	result      {"entry", "text"}                               what the tool returned is kept; the text is how it begins
//	compaction  {"kind", "reason", "tokensBefore", "tokensAfter", "mode", "policy"}
//	                                                            tokensAfter is 0 unless the kind is done
//	retry       {}                                              the model failed in the middle: the text begins again
//	error       {"type", "message"}
//
// What was told by said, answer and result is kept, whatever happens. A client that was cut off reads the session. If its message is
// not there it says it again, with the newest message that it knows as after: if somebody else said something, or the message did
// arrive, that is refused as a conflict and nothing is written. If the message is there without an answer it asks for /answer.
//
// # Limits
//
//   - A session is worked on by one request at a time in each process; -queue others wait, and of one tenant as many as -steps.
//     More are status 429. Two replicas that answer in one session at once conflict: the second to append is told so.
//   - At most -steps messages and compactions are worked on at once; more are status 503 with Retry-After. A message has 10 minutes
//     and 20 requests to the model.
//   - A body has -max-body bytes, a text half of what a prompt may take in tokens, and a session to which something is said
//     less than -max-session bytes: else status 413.
//   - In files, -open sessions are open at once. Whose place is needed loses the summary that is being made for it, and nothing else.
//   - Reading a session goes through all of its path, page by page: a page costs what the session has, not what the page has.
//
// # What goes wrong
//
//   - A client that goes away ends its step, and so does one that does not read for 10 seconds or lets a megabyte wait. What was
//     answered until then is kept; an answer cut off in the middle is not.
//   - If the process is stopped (SIGTERM, Ctrl-C) requests are refused with status 503, and answers have 7 seconds to end before they
//     are cancelled: the clients are told an error of the type stopping. A second signal ends the process at once, which loses
//     no more than kill -9 does: what was not told yet.
//   - If the database or the disk cannot be reached or is full, that is an error of the type unavailable, until it can. If it cannot
//     be reached at the start the process ends with code 1.
//   - If a process is killed in the middle of a summary, another makes it: a job is taken up again after 2 minutes, and what a
//     request was making is given up after 5. -compaction sets both lower. A prompt that does not fit without it waits for a minute
//     at most, and is then compacted where it is.
//   - If no process has a worker, summaries are made only for prompts that do not fit, after they have waited for that minute.
//   - Logs are JSON on standard error, a line for each request and compaction. They hold nothing that was said, no token and no name of a
//     tenant; an error of the store may name the session. A client finds its line by X-Request-Id.
//
// # Code
//
// main.go starts and stops it, options.go and tokens.go read what it is given. http.go has the addresses, sessions.go and messages.go
// what they do, stream.go the events, problem.go the errors, turns.go who waits, metrics.go what is measured, monitor.go where that is asked for. assistant.go
// has the model, the prompt and the policy: begin there to make it yours; model.go is the model without a network and
// transcript.go the agent's tool. store.go is what keeps sessions: files.go, or database.go with workers.go.
package main
