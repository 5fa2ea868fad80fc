// Command service is an agent behind HTTP, to copy: stored conversations that are compacted, with answers as
// server-sent events. Any number of its processes serve any session, which PostgreSQL stores, and summaries that no
// request waits for are River jobs, which the workers of all processes share:
//
//	echo local secret >tokens
//	go run ./examples/service -database "$URL" -tokens tokens -migrate
//
//	curl -H 'Authorization: Bearer secret' localhost:8080/v1/sessions/first/messages -N -d '{"text": "Why does the build fail?"}'
//	curl -H 'Authorization: Bearer secret' localhost:8080/v1/sessions/first
//
// Only one process at a time may have -migrate; it suffices after an update. Without -migrate, a role that may only read
// and write rows suffices. pool_max_conns in the URL sets the number of connections. Behind PgBouncer in transaction
// mode, set -poll. A process with -work 0 makes no summaries but those that a request waits for. -help lists all flags.
//
// # Requests
//
// All addresses except /healthz need a token, which identifies the tenant. A tenant sees only its own sessions. The
// file of -tokens has lines "TENANT TOKEN". Put TLS in front of the service. An error is {"error": {"type", "message"}}.
//
//	POST   /v1/sessions/{name}/messages    {"text", "after"}    appends a message, to a new session if there is none, and streams the answer
//	GET    /v1/sessions/{name}?after=                           100 messages after one, on the path to the leaf, compacted or not
//	POST   /v1/sessions/{name}/branch      {"entry"}            goes back to a message; "" is the beginning
//	POST   /v1/sessions/{name}/compact     {"instructions"}     summarises now
//	DELETE /v1/sessions/{name}                                  removes it with all its content
//	GET    /v1/sessions?after=                                  100 names after one
//	GET    /healthz                                             the process reaches the database
//
// An answer is a stream of these events. The last is an answer with "done": true, or an error:
//
//	said        {"entry"}                                       the message is stored
//	text        {"text"}                                        a piece of the answer
//	answer      {"entry", "text", "calls", "tokens", "budget", "done"}
//	                                                            the answer is stored; tokens is the size of its prompt
//	result      {"entry", "text"}                               a tool's result is stored; text is its beginning
//	compaction  {"kind", "reason", "tokensBefore", "tokensAfter"}
//	retry       {}                                              the model failed halfway: the text starts again
//	error       {"type", "message"}
//
// Everything that said, answer and result report is stored, whatever happens later. A message that is said while another
// process answers in the session stands behind that answer then, as a new entry whose "of" is the one that was reported;
// either will do as after. A client whose connection was lost reads the session. If its message is not there, the client
// sends it again, with the newest message that it knows as after. If somebody else has appended a message since, or the
// lost message did arrive, the service refuses with a conflict and writes nothing. If the message is there without an
// answer, the client asks for one without a text.
//
// # Limits
//
//   - Each process handles one request of a session at a time, and 64 requests that change sessions; further ones get
//     status 429. If two processes answer the same message at once, the second to append gets a conflict.
//   - A body may have 1 MiB, a text half of the tokens of a prompt. A message has 10 minutes and 20 requests to the
//     model.
//   - Reading a session walks its whole path for each page.
//
// # What goes wrong
//
//   - A client that disconnects cancels its answer, and so does one that does not read for 10 seconds. What was stored
//     up to then stays; an answer cut off halfway is not.
//   - On SIGTERM or Ctrl-C the process takes no more connections. Answers have 7 seconds to finish before they are
//     cancelled; their clients get an error of the type stopping. A second signal ends the process at once, which loses
//     no more than kill -9 does: only what no event has reported.
//   - If the database cannot be reached or is full, requests get an error of the type unavailable until it recovers.
//   - If a process is killed during a summary, another one makes it: a job is taken up again after 2 minutes, and a
//     plan that a request was running is given up after 5. A lower -compaction lowers both. A prompt that does not
//     fit without the summary waits for at most a minute, and is then compacted by the request itself.
//   - Logs are JSON on standard error, a line for each request and compaction. They hold no message, no token and no
//     name of a tenant. A client finds its line by X-Request-Id. For metrics and traces, set the compactor's Tracer to
//     that of summarize/tracing.
//
// bench/faults kills and pauses its processes, and restarts, disconnects and fills its database.
//
// # Code
//
// main.go starts and stops it. assistant.go has the model, the prompt, the policy, the tool and the loop of an answer:
// start there to make it yours. service.go has the requests, http.go what they share, database.go the sessions and the
// workers.
package main
